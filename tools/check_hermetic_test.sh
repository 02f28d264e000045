#!/bin/bash
# Tests check_hermetic.sh: check_hermetic_test.sh PATH_OF_CHECK_HERMETIC
set -u
check=$PWD/$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() {  # NAME CODE TEXT
  output=$("$check" "$work" 2>&1)
  code=$?
  if [ "$code" != "$2" ] || ! grep -qF -- "$3" <<< "$output"; then
    echo "FAILED $1: exit code $code, output: $output"
    failures=$((failures + 1))
  fi
}

expect FailsWithoutDependencyFiles 1 "build first"

mkdir -p "$work/k8-opt/a"
printf 'a.o: model/a.cc \\\n external/debian_gcc12/usr/include/stdio.h\n' > "$work/k8-opt/a/a.d"
expect AcceptsPinnedHeaders 0 "1 compilations"

printf 'b.o: model/b.cc \\\n /usr/include/absl/strings/string_view.h\n' > "$work/k8-opt/a/b.d"
expect NamesAHeaderOfTheMachine 1 "b.d:2: /usr/include/absl/strings/string_view.h"

printf 'b.o: /usr/include/stdio.h\n' > "$work/k8-opt/a/b.d"
expect NamesAHeaderOnTheFirstLine 1 "/usr/include/stdio.h"

echo "$failures failures"
[ "$failures" = 0 ]
