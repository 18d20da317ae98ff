#!/usr/bin/env bash
# Measures the cost of reporting metrics of many handles to the controller: one message from each
# instance, compared with one for each handle, and with Ray Serve's controller if Ray can be
# installed. Writes the figures, their chart and docs/performance.md. load-tests/README.md describes
# the figures.
#
#   bash load-tests/metrics-push.sh             about three minutes
#   bash load-tests/metrics-push.sh --no-ray    without Ray Serve: one minute
#   bash load-tests/metrics-push.sh --draw      measures nothing: draws and writes existing figures
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
  *) echo "$1: unknown option (expected: --no-ray, --draw or none)" >&2; exit 2 ;;
esac

# Sets `python` to an interpreter with Ray Serve, installed in a separate environment if needed. Fails
# if Ray Serve cannot be installed; the caller then prints so and skips it.
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
          echo "Ray Serve: run failed: its earlier figures, if any, are unchanged"
      done
    else
      echo "Ray Serve: not installable: skipped"
    fi
  fi
fi
draw_charts "$to"
python3 load-tests/tables.py "$to" docs/performance.md README.md
exit $failed
