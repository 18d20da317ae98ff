#!/usr/bin/env bash
# From the start of a process to its first 200: plain, and with an archive of its classes.
# What it measures: load-tests/README.md.
#
#   bash load-tests/startup.sh --rounds 9 --java /path/to/jdk-17 --java /path/to/jdk-25
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 load-tests/startup.py "$@"
