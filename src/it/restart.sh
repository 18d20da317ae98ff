#!/usr/bin/env bash
# Compares starts and controller restarts with declared applications between an earlier commit and now.
#   src/it/restart.sh [NAME…]      names of src/it/restart/NAME.py (default: all)
source "$(dirname "$0")/attacks.sh"
run_all src/it/restart "$@"
