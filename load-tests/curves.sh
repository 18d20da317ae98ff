#!/usr/bin/env bash
# Measures throughput and latency over concurrency and over the offered rate. Writes JSON, SVG and
# tables of docs/performance.md. load-tests/README.md describes the figures.
#
#   bash load-tests/curves.sh            full run: under eight minutes, writes docs/performance
#   bash load-tests/curves.sh --quick    short run: under 90 seconds, writes target/load-tests only
#   bash load-tests/curves.sh --draw     measures nothing: redraws docs/performance from its JSON
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh
source load-tests/chart.sh

case "${1:-}" in
  "") extent=full to=docs/performance ;;
  --quick) extent=quick to=$work/performance ;;
  --draw) extent='' to=docs/performance ;;
  *) echo "$1: unknown option (expected: --quick, --draw or none)" >&2; exit 2 ;;
esac

mkdir -p "$work" "$to"
failed=0
if [[ -n $extent ]]; then
  need wrk wrk
  build_jar
  compile_load_tests
  descriptors 16384 # 4 096 connections, in the servers and in wrk
  java -Xms256m -Xmx256m -cp "$classes" Curves target/berth.jar "$work" "$extent" "$(commit)" ||
    failed=1
  cp "$work/curves.json" "$to/curves.json"
fi
draw_charts "$to"
if [[ $to == docs/performance ]]; then
  python3 load-tests/tables.py docs/performance docs/performance.md README.md
fi
exit $failed
