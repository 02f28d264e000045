#!/bin/bash
# What a change must pass before it is sent, beside the tests: tools/presubmit.sh
# Checks the whole tree. A check whose program is not on this machine is skipped, visibly.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=0

# check NAME COMMAND...: runs one check and says how it went.
check() {
  local name=$1
  shift
  if output=$("$@" 2>&1); then
    echo "ok       $name: $(tail -n 1 <<< "$output")"
  else
    echo "FAILED   $name"
    echo "  ${output//$'\n'/$'\n'  }"
    failed=1
  fi
}

skip() {
  echo "SKIPPED  $1: $2"
}

files() {
  git ls-files -z -co --exclude-standard -- "$@" ':!third_party/*/distdir/*'
}

cpp_layout() {
  files '*.h' '*.cc' | xargs -0 clang-format --dry-run --Werror && echo "laid out by .clang-format"
}

build_layout() {
  # Off: warnings that ask for what Bazel 4 has not got; macros of WORKSPACE have no name.
  local warnings=-module-docstring,-unnamed-macro,-native-proto,-native-cc-proto,-native-proto-info
  warnings+=,-native-proto-lang-toolchain,-native-cc-toolchain,-native-cc-toolchain-suite,-native-sh-binary,-native-sh-test
  files '*BUILD.bazel' '*.bzl' '*.BUILD' WORKSPACE |
    xargs -0 npx --yes @bazel/buildifier@8.2.1 -mode=check -lint=warn \
      -warnings="$warnings" && echo "laid out by buildifier"
}

shell_scripts() {
  files '*.sh' bazelw tools/bazel .ci/run | xargs -0 shellcheck --severity=warning && echo "no findings"
}

check "rules of the sources" python3 tools/check_sources.py
if command -v clang-format > /dev/null; then
  check "clang-format" cpp_layout
else
  skip "clang-format" "apt-get install clang-format"
fi
if command -v npx > /dev/null; then
  check "buildifier" build_layout
else
  skip "buildifier" "apt-get install npm"
fi
if command -v shellcheck > /dev/null; then
  check "shellcheck" shell_scripts
else
  skip "shellcheck" "apt-get install shellcheck"
fi
if [ -e bazel-out ]; then
  check "hermetic build" tools/check_hermetic.sh
else
  skip "hermetic build" "build first: ./bazelw build //..."
fi
exit "$failed"
