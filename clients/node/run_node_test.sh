#!/bin/sh
# Runs the test of the example with the machine's node and the packages of package-lock.json: run_node_test.sh FAKE_GATEWAY.
set -e
packages=$TEST_SRCDIR/node_packages
if [ -e "$packages/unavailable" ]; then
  echo "SKIPPED: $(cat "$packages/unavailable")"
  exit 0
fi
# The sources are links: node would look for packages beside their targets.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -L clients/node/*.js "$work"
cp -RL "$packages/node_modules" "$work"
export FAKE_GATEWAY="$PWD/$1"
export PHYLLO_PROTO_ROOT="$PWD/proto"
node --test "$work/phyllo_client_test.js"
