#!/usr/bin/env bash
# A deployment that follows its load, under an open loop that doubles, falls, stops and comes back:
# as it is, with a rolling update in the middle, and with a controller that starts anew. None may be
# lost, and the number of replicas follows within the delays. One line for each.
#
#   bash src/it/autoscale.sh                 about five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

if (($# > 0)); then
  echo "$1 (expected: nothing)" >&2
  exit 2
fi
build_jar
compile_load_tests
exec java -Xms128m -Xmx128m -cp "$classes" Autoscale target/berth.jar "$work" "$work/handlers.jar"
