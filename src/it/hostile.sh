#!/usr/bin/env bash
# What clients and applications that harm others came to before, and come to now.
#   src/it/hostile.sh [NAME…]      names of src/it/hostile/NAME.py; all of them by default
source "$(dirname "$0")/attacks.sh"
run_all src/it/hostile "$@"
