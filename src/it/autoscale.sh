#!/usr/bin/env bash
# Tests autoscaling under an open loop that doubles, falls, stops and comes back: undisturbed, with a
# rolling update in the middle, and with a controller restart. No request may be lost, and the number
# of replicas must follow within the delays. Prints one line for each change.
#
#   bash src/it/autoscale.sh                 about five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

if (($# > 0)); then
  echo "$1: unexpected argument (expected: none)" >&2
  exit 2
fi
build_jar
compile_load_tests
exec java -Xms128m -Xmx128m -cp "$classes" Autoscale target/berth.jar "$work" "$work/handlers.jar"
