#!/usr/bin/env bash
# The load tests: what Berth costs beside a raw Vert.x server, held against the budgets. What is
# measured and how to read it: load-tests/README.md.
#
#   bash load-tests/run.sh                            all of it, about a quarter of an hour
#   bash load-tests/run.sh --quick                    under two minutes; too short to judge by
#   bash load-tests/run.sh --only=one-loop,two-loops  what routing costs, and nothing else
#   bash load-tests/run.sh --rounds=7 --seconds=6     longer
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

need wrk wrk
need h2load nghttp2-client
need openssl openssl
build_jar
compile_load_tests
certificate
descriptors 16384

exec java -Xmx256m -cp "$classes" LoadTests target/berth.jar "$work" "$(commit)" "$@"
