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

case "${1:-}" in
  "") extent=full to=docs/performance ;;
  --quick) extent=quick to=$work/performance ;;
  --draw) extent='' to=docs/performance ;;
  *) echo "$1 (expected: --quick, --draw or nothing)" >&2; exit 2 ;;
esac

# The chart library stands in an environment of its own; nothing else of Python is needed.
draw() {
  local python=$work/venv/bin/python
  if ! "$python" -c 'import matplotlib' 2>/dev/null; then
    echo "installing matplotlib"
    python3 -m venv "$work/venv" 2>/dev/null || {
      debian python3-venv # which Debian keeps apart from Python
      python3 -m venv "$work/venv"
    }
    "$work/venv/bin/pip" install -q --disable-pip-version-check -r load-tests/requirements.txt
  fi
  "$python" load-tests/draw.py "$to"
  if [[ $to == docs/performance ]]; then
    python3 load-tests/tables.py docs/performance docs/performance.md README.md
  fi
}

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
draw
exit $failed
