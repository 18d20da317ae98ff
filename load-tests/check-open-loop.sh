#!/usr/bin/env bash
# Whether the open-loop client can be trusted: beside wrk, and against a stall that can be
# calculated. About two minutes; exit code 1 when it cannot.
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
