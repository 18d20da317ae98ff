#!/usr/bin/env bash
# Runs harmful clients and applications against an earlier commit and against this one.
#   src/it/hostile.sh [NAME…]      names of src/it/hostile/NAME.py (default: all)
source "$(dirname "$0")/attacks.sh"
run_all src/it/hostile "$@"
