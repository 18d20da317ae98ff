#!/usr/bin/env bash
# What a start and a controller's restart made of declared applications before, and make of them now.
#   src/it/restart.sh [NAME…]      names of src/it/restart/NAME.py; all of them by default
source "$(dirname "$0")/attacks.sh"
run_all src/it/restart "$@"
