#!/usr/bin/env bash
# Measures the time from process start to the first 200, plain and with an archive of the classes.
# load-tests/README.md describes the figures.
#
#   bash load-tests/startup.sh --rounds 9 --java /path/to/jdk-17 --java /path/to/jdk-25
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 load-tests/startup.py "$@"
