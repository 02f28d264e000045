#!/bin/sh
# Runs the pinned Python with its gRPC: run_pinned_python.sh PROTOS SCRIPT [ARGUMENT...]. PROTOS is the folder of the generated stubs.
set -e
root=$(cd "$TEST_SRCDIR/debian_python" && pwd -P)
protos=$(cd "$1" && pwd)
script=$2
shift 2
export LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu"
export PYTHONHOME="$root/usr"
export PYTHONPATH="$root/usr/lib/python3/dist-packages:$protos:${script%/*}"
export PYTHONDONTWRITEBYTECODE=1
exec "$root/usr/bin/python3.11" -s "$script" "$@"
