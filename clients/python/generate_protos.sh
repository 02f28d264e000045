#!/bin/sh
# Makes Python's stubs of the gateway's protos in the folder $1: with Debian's protobuf-compiler, protobuf-compiler-grpc and libprotobuf-dev, else with pip's
# grpcio-tools. (Debian 12's python3-grpc-tools is too old: it does not know `optional`.)
set -e
out=$(realpath -m "${1:?usage: generate_protos.sh FOLDER}")
cd "$(dirname "$0")/../../proto"
mkdir -p "$out"
set -- phyllo/common/v1/*.proto phyllo/gateway/v1/*.proto
if command -v protoc > /dev/null && plugin=$(command -v grpc_python_plugin); then
  exec protoc -I. --python_out="$out" --grpc_out="$out" --plugin=protoc-gen-grpc="$plugin" "$@"
fi
exec python3 -m grpc_tools.protoc -I. --python_out="$out" --grpc_python_out="$out" "$@"
