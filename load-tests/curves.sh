#!/usr/bin/env bash
# Throughput and latency over concurrency and over the offered rate, as JSON, SVG and tables of
# docs/performance.md. What is measured and how to read it: load-tests/README.md.
#
#   bash load-tests/curves.sh            the whole: under eight minutes, writes docs/performance
#   bash load-tests/curves.sh --quick    a look: under 90 seconds, writes target/load-tests only
#   bash load-tests/curves.sh --draw     measures nothing: draws docs/performance anew from its JSON
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh
source load-tests/chart.sh

case "${1:-}" in
  "") extent=full to=docs/performance ;;
  --quick) extent=quick to=$work/performance ;;
  --draw) extent='' to=docs/performance ;;
  *) echo "$1 (expected: --quick, --draw or nothing)" >&2; exit 2 ;;
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
