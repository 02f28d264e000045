#!/bin/sh
# Makes Python's stubs of the gateway's protos in the folder $1, with Debian's python3-grpc-tools (or pip's grpcio-tools).
set -e
out=$(realpath -m "${1:?usage: generate_protos.sh FOLDER}")
cd "$(dirname "$0")/../../proto"
mkdir -p "$out"
python3 -m grpc_tools.protoc -I. --python_out="$out" --grpc_python_out="$out" phyllo/common/v1/*.proto phyllo/gateway/v1/*.proto
