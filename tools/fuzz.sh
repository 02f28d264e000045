#!/bin/sh
# Fuzzes one target with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer:
#   tools/fuzz.sh //tests/fuzz:config_fuzz_test 60 [libFuzzer options]
# Needs the machine's clang: apt-get install clang libclang-rt-dev g++ (g++ for the C++ library and the linker).
# New inputs are kept in ~/.cache/phyllo/fuzz/<target>; a crashing one is written to the current folder.
set -eu
if [ $# -lt 2 ]; then
  sed -n '2,5s/^# *//p' "$0" >&2
  exit 2
fi
target=$1
seconds=$2
shift 2
if ! command -v clang > /dev/null; then
  echo "$0: needs clang: apt-get install clang libclang-rt-dev g++" >&2
  exit 1
fi
top=$(cd "$(dirname "$0")/.." && pwd)
name=${target##*:}
package=${target#//}
package=${package%%:*}
(cd "$top" && ./bazelw build --config=fuzz "$target")

# A copy: the next ordinary build replaces the binary.
inputs=${XDG_CACHE_HOME:-$HOME/.cache}/phyllo/fuzz/$name
mkdir -p "$inputs"
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
cp "$top/bazel-bin/$package/$name" "$binary"
chmod u+x "$binary"

# The corpus in the repository seeds the run and is not written to.
seeds=$(mktemp -d)
trap 'rm -rf "$binary" "$seeds"' EXIT
(cd "$top" && ./bazelw query "labels(srcs, ${target}_corpus)" 2> /dev/null) | sed 's#^//##; s#:#/#' |
  while read -r file; do cp "$top/$file" "$seeds/"; done
"$binary" -max_total_time="$seconds" "$@" "$inputs" "$seeds"
