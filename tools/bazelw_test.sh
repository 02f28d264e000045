#!/bin/bash
# Tests bazelw with made-up programs on the PATH: bazelw_test.sh PATH_OF_BAZELW
set -u

repository=$(cd "$(dirname "$1")" && pwd)
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A PATH with the shell's own programs and nothing else.
new_path() {
  bin=$work/$1
  mkdir "$bin"
  for program in sh env dirname id head; do
    ln -s "$(command -v "$program")" "$bin/$program"
  done
}

# fake NAME FILE: a program that reports version FILE and prints its arguments one a line.
fake() {
  cat > "$bin/$1" << END
#!/bin/sh
if [ "\${1-}" = --version ]; then echo "$2"; exit; fi
echo "$1 ran"
for argument; do echo "[\$argument]"; done
END
  chmod +x "$bin/$1"
}

run() {
  output=$(cd "$repository" && env -i PATH="$bin" ./bazelw "$@" 2>&1)
  code=$?
}

expect() {
  if ! grep -qF -- "$2" <<< "$output"; then
    echo "FAILED $1: no '$2' in:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

expect_code() {
  if [ "$code" != "$2" ]; then
    echo "FAILED $1: exit code $code, not $2"
    failures=$((failures + 1))
  fi
}

name=RunsDebiansBazelWithTheArgumentsUnchanged
new_path $name
fake bazel "bazel no_version"
run run //:phyllo -- run "Once upon a time"
expect_code $name 0
expect $name "bazel ran"
expect $name "[Once upon a time]"

name=PutsBazelSevenIntoWorkspaceMode
new_path $name
fake bazel "bazel 7.7.1"
run build //x
expect $name "workspace_mode.bazelrc]"
expect $name "[//x]"

name=PrefersBazeliskToBazelNine
new_path $name
fake bazel "bazel 9.0.0"
fake bazelisk "bazelisk"
run build //x
expect $name "bazelisk ran"

name=ExplainsWhenThereIsNoApt
new_path $name
run build //x
expect_code $name 1
expect $name "no apt-get"
expect $name "https://bazel.build/install"

name=InstallsWithAptAndSaysSo
new_path $name
fake template "bazel no_version"
cat > "$bin/apt-get" << END
#!/bin/sh
if [ "\$1" = install ]; then "$(command -v mv)" "$bin/template" "$bin/bazel"; fi
END
chmod +x "$bin/apt-get"
rm "$bin/id" && printf '#!/bin/sh\necho 0\n' > "$bin/id" && chmod +x "$bin/id"
run build //x
expect_code $name 0
expect $name "installing bazel-bootstrap"
expect $name "[//x]"

name=NeedsRootOrSudo
new_path $name
printf '#!/bin/sh\nexit 0\n' > "$bin/apt-get" && chmod +x "$bin/apt-get"
rm "$bin/id" && printf '#!/bin/sh\necho 1000\n' > "$bin/id" && chmod +x "$bin/id"
run build //x
expect_code $name 1
expect $name "needs root"

echo "$failures failures"
[ "$failures" = 0 ]
