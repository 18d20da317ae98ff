# Sourced after prepare.sh. Draws charts of the JSON files of a folder.
#
#   draw_charts FOLDER

# Installs the chart library, the only Python dependency, in a separate virtual environment.
draw_charts() {
  local python=${CHART_PYTHON:-$work/venv/bin/python}
  if ! "$python" -c 'import matplotlib' 2>/dev/null; then
    echo "installing matplotlib"
    python=$work/venv/bin/python
    python3 -m venv "$work/venv" 2>/dev/null || {
      debian python3-venv # a separate package in Debian
      python3 -m venv "$work/venv"
    }
    "$python" -m pip install -q --disable-pip-version-check -r load-tests/requirements.txt
  fi
  "$python" load-tests/draw.py "$1"
}
