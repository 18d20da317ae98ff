#!/usr/bin/env bash
# Declares a thousand applications of two deployments in one PUT. Measures the time until all are
# healthy, the CPU of the idle control loop, memory, and the cost of changing one application among
# them, compared with one among ten.
#
#   bash load-tests/many-applications.sh                      about two minutes
#   bash load-tests/many-applications.sh --many=100 --few=10  fewer
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh

many=1000
few=10
for option in "$@"; do
  case $option in
    --many=*) many=${option#*=} ;;
    --few=*) few=${option#*=} ;;
    *) echo "$option: unknown option (expected: --many=N or --few=N)" >&2; exit 2 ;;
  esac
done
build_jar
compile_load_tests
exec java -Xms128m -Xmx256m -cp "$classes" ManyApplications target/berth.jar "$work" \
  "$work/handlers.jar" "$many" "$few"
