#!/usr/bin/env bash
# Measures the processor time of an idle instance with many applications: without a viewer of its
# live feed, with one, and with ten.
#
#   bash load-tests/dashboard.sh                                      about eleven minutes
#   bash load-tests/dashboard.sh --applications=100 --seconds=10 --rounds=1
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh

applications=1000
seconds=60
rounds=2
for option in "$@"; do
  case $option in
    --applications=*) applications=${option#*=} ;;
    --seconds=*) seconds=${option#*=} ;;
    --rounds=*) rounds=${option#*=} ;;
    *) echo "$option: unknown option (expected: --applications=N, --seconds=N or --rounds=N)" >&2; exit 2 ;;
  esac
done
build_jar
compile_load_tests
exec java -Xms128m -Xmx256m -cp "$classes" Dashboard target/berth.jar "$work" \
  "$work/handlers.jar" "$applications" "$seconds" "$rounds"
