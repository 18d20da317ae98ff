# Sourced after prepare.sh: draws the JSON of a folder.
#
#   draw_charts FOLDER

# The chart library stands in an environment of its own; nothing else of Python is needed.
draw_charts() {
  local python=${CHART_PYTHON:-$work/venv/bin/python}
  if ! "$python" -c 'import matplotlib' 2>/dev/null; then
    echo "installing matplotlib"
    python=$work/venv/bin/python
    python3 -m venv "$work/venv" 2>/dev/null || {
      debian python3-venv # which Debian keeps apart from Python
      python3 -m venv "$work/venv"
    }
    "$python" -m pip install -q --disable-pip-version-check -r load-tests/requirements.txt
  fi
  "$python" load-tests/draw.py "$1"
}
