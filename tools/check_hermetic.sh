#!/bin/sh
# Proves from the compiler's own dependency files that no header of the machine was used: check_hermetic.sh [FOLDER]
# FOLDER (default bazel-out) holds the .d files of a build with the pinned compiler; an absolute path in one is a finding.
set -eu
folder=${1:-$(dirname "$0")/../bazel-out}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find -L "$folder" -name '*.d' -size +0 > "$list"
count=$(wc -l < "$list")
if [ "$count" = 0 ]; then
  echo "no .d files in $folder: build first" >&2
  exit 1
fi
if tr '\n' '\0' < "$list" | xargs -0 grep -HnE '(^|[[:space:]])/'; then
  echo "headers of the machine were used" >&2
  exit 1
fi
echo "$count compilations, none used a header of the machine"
