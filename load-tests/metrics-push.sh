#!/usr/bin/env bash
# What it costs to tell the controller of many handles: one message from each instance, against one
# for each handle, and Ray Serve's own controller where Ray can be installed. Writes the figures,
# their picture and docs/performance.md. What it means: load-tests/README.md.
#
#   bash load-tests/metrics-push.sh             about three minutes
#   bash load-tests/metrics-push.sh --no-ray    without Ray Serve: one minute
#   bash load-tests/metrics-push.sh --draw      measures nothing: draws and writes from the figures
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh
source load-tests/chart.sh

ray=1
measured=1
case "${1:-}" in
  "") ;;
  --no-ray) ray= ;;
  --draw) measured= ;;
  *) echo "$1 (expected: --no-ray, --draw or nothing)" >&2; exit 2 ;;
esac

# An environment of its own; Ray Serve is skipped, and that is said, where it cannot be had.
ray_python() {
  python=${RAY_PYTHON:-$work/ray/bin/python}
  "$python" -c 'from ray import serve' 2>/dev/null && return
  echo "installing Ray Serve"
  python3 -m venv "$work/ray" && "$work/ray/bin/pip" install -q --disable-pip-version-check \
    -r load-tests/ray-requirements.txt && python=$work/ray/bin/python
}

to=docs/performance
failed=0
if [[ -n $measured ]]; then
  build_jar
  compile_load_tests
  java -Xms1g -Xmx2g -cp "$classes" MetricsPush "$work/metrics-push.json" || failed=1
  cp "$work/metrics-push.json" "$to/metrics-push.json"
  if [[ -n $ray ]]; then
    if ray_python; then
      for applications in 20 100; do
        "$python" load-tests/metrics-push-ray.py "$to/metrics-push-ray.json" $applications ||
          echo "Ray Serve did not run to the end: its figures are those of before, if any"
      done
    else
      echo "Ray Serve cannot be installed here: skipped"
    fi
  fi
fi
draw_charts "$to"
python3 load-tests/tables.py "$to" docs/performance.md README.md
exit $failed
