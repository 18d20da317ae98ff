#!/usr/bin/env bash
# Checks the open-loop client against wrk, and against a stall whose p99 can be calculated. Takes about
# two minutes; the exit code is 1 when the client is wrong.
#
#   bash load-tests/check-open-loop.sh
#   ROUNDS=7 SECONDS_EACH=4 bash load-tests/check-open-loop.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh

need wrk wrk
build_jar
compile_load_tests
exec java -Xms256m -Xmx256m -cp "$classes" OpenLoopCheck target/berth.jar "$work" "${ROUNDS:-5}" \
  "${SECONDS_EACH:-3}"
