#!/usr/bin/env bash
# Tests batches on a started server: 16 requests at once are one batch on one of two replicas, a killed
# replica loses its running batch only, handlers with wrong results fail their batch only, 10 000 cancels
# and 200 changes of all keys under load lose no request and no slot. Prints one line for each claim.
#
#   bash src/it/batching.sh      about a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

need python3 python3-minimal
build_jar
exec python3 src/it/batching.py target/berth.jar
