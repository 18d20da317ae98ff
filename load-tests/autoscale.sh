#!/usr/bin/env bash
# Compares three autoscalers on the same traces and a simulated clock: Berth's, Ray Serve's loop and
# Knative's, each with its defaults. Prints time to meet the target, overshoot, wasted
# replica-seconds and late requests; writes the figures, their chart and docs/performance.md.
#
#   bash load-tests/autoscale.sh              some seconds, once the jar is built
#   bash load-tests/autoscale.sh --draw       runs nothing: draws and writes existing figures
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh
source load-tests/chart.sh

# The first half existed when the rules were written; the second half was drawn after they were fixed.
seeds=(1 2 3 4 2852 37345 43953 19692)
to=docs/performance
case "${1:-}" in
  "")
    build_jar
    rm -rf "$work/autoscale"
    mkdir -p "$work/autoscale"
    traces=src/test/java/dev/berth/controller/autoscaling
    javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -cp target/berth.jar \
      -d "$work/autoscale" load-tests/autoscale/*.java "$traces"/{Rules,Trace}.java
    java -cp "$work/autoscale:target/berth.jar" dev.berth.controller.autoscaling.Compared \
      "$to/autoscale.json" "${seeds[@]}"
    ;;
  --draw) ;;
  *) echo "$1: unknown option (expected: --draw or none)" >&2; exit 2 ;;
esac
draw_charts "$to"
python3 load-tests/tables.py "$to" docs/performance.md README.md
sed -n '/<!-- autoscale: begin -->/,/<!-- autoscale: end -->/p' docs/performance.md
