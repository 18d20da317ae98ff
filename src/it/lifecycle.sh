#!/usr/bin/env bash
# Rolling updates, reconfiguration, scaling, versions that fail, a killed replica and a controller
# that starts anew, each under requests at half of the capacity: none may be lost, but those that the
# killed replica was working on. One line for each change, with latencies, CPU and replicas.
#
#   bash src/it/lifecycle.sh                 12 s of load for each change, about three minutes
#   bash src/it/lifecycle.sh --seconds=30    more; 12 is the least: a version is on trial for
#                                            10 s, and only then one that is rolled back to
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

seconds=12
for option in "$@"; do
  case $option in
    --seconds=*) seconds=${option#*=} ;;
    *) echo "$option (expected: --seconds=N)" >&2; exit 2 ;;
  esac
done
if [[ ! $seconds =~ ^[1-9][0-9]{0,4}$ ]] || ((seconds < 12)); then
  echo "--seconds: $seconds (expected: a whole number from 12, as a version is on trial for 10 s)" >&2
  exit 2
fi
build_jar
compile_load_tests
exec java -Xms128m -Xmx128m -cp "$classes" Lifecycle target/berth.jar "$work" \
  "$work/handlers.jar" "$seconds"
