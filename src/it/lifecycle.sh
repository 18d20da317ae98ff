#!/usr/bin/env bash
# Tests rolling updates, reconfiguration, scaling, failing versions, a killed replica and a controller
# restart, each under requests at half of the capacity. No request may be lost, except those that the
# killed replica was executing. Prints one line for each change, with latencies, CPU and replicas.
#
#   bash src/it/lifecycle.sh                 12 s of load for each change, about three minutes
#   bash src/it/lifecycle.sh --seconds=30    longer; minimum 12, because a version is on probation
#                                            for 10 s before a rollback may return to it
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

seconds=12
for option in "$@"; do
  case $option in
    --seconds=*) seconds=${option#*=} ;;
    *) echo "$option: unknown option (expected: --seconds=N)" >&2; exit 2 ;;
  esac
done
if [[ ! $seconds =~ ^[1-9][0-9]{0,4}$ ]] || ((seconds < 12)); then
  echo "--seconds: $seconds (expected: whole number from 12; a version is on probation for 10 s)" >&2
  exit 2
fi
build_jar
compile_load_tests
exec java -Xms128m -Xmx128m -cp "$classes" Lifecycle target/berth.jar "$work" \
  "$work/handlers.jar" "$seconds"
