#!/usr/bin/env bash
# Tests one route with several versions of the quickstart's digits under an open loop: split 90 to 10
# with a shadow, then 50 to 50, then without one of the two, then rolled back. No request may fail,
# each version must get its share, and a shard key must stay with its version. Prints one line for
# each claim, and "all held" at the end.
#
#   bash src/it/traffic.sh                 10 s of load for each change, about a minute and a half
#   bash src/it/traffic.sh --seconds=30    longer (minimum: 5)
#   bash src/it/traffic.sh --rate=400      requests per second (default: 150)
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

need python3 python3-minimal
build_jar
exec python3 src/it/traffic.py target/berth.jar target/berth-examples.jar "$@"
