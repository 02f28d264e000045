#!/bin/sh
# Runs compare.py with the pinned Python: ./bazelw run //tests/benchmark:compare -- OPTIONS. Starts in the folder of the runfiles,
# where the paths of the arguments that Bazel adds begin. processes.py keeps these variables from the programs that are measured.
set -e
root=$(cd ../debian_python && pwd -P)
export LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu"
export PYTHONHOME="$root/usr"
export PYTHONDONTWRITEBYTECODE=1
exec "$root/usr/bin/python3.11" -s tests/benchmark/comparison/compare.py "$@"
