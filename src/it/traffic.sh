#!/usr/bin/env bash
# One route of several versions of the quickstart's digits, under an open loop: split 90 to 10 with a
# shadow, then 50 to 50, then without one of the two, then rolled back. None may fail, each side must
# have its share, and a shard key must stay where it is. One line for each, and "all held" at the end.
#
#   bash src/it/traffic.sh                 10 s of load for each change, about a minute and a half
#   bash src/it/traffic.sh --seconds=30    more; 5 is the least
#   bash src/it/traffic.sh --rate=400      requests a second, 150 unless said otherwise
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

need python3 python3-minimal
build_jar
exec python3 src/it/traffic.py target/berth.jar target/berth-examples.jar "$@"
