#!/usr/bin/env bash
# Measures batches against their budgets: answers of a handler of 10 ms beside LitServe and Ray Serve,
# one request at a time, the CPU time of a batched no-op, and the quickstart's digits.
# load-tests/README.md describes the figures.
#
#   bash load-tests/batching.sh            about five minutes, not counting a build
#   bash load-tests/batching.sh --quick    about two minutes
#   bash load-tests/batching.sh --no-peers                 with either: without LitServe and Ray Serve
#   bash load-tests/batching.sh --before=OTHER/berth.jar   with either: also requests of cost 1 of that jar
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

quick="" programs=1 before=""
for each in "$@"; do
  case "$each" in
    --quick) quick=--quick ;;
    --no-peers) programs="" ;;
    --before=*) before=${each#--before=} ;;
    *) echo "$each: unknown option (expected: --quick, --no-peers, --before=OTHER/berth.jar)" >&2; exit 2 ;;
  esac
done
build_jar
compile_load_tests
descriptors 8192
own=$work/batching
rm -rf "$own" "$work"/server-*-link-*
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar:target/berth-examples.jar -sourcepath load-tests/java -d "$own/classes" \
  load-tests/java/NoOp.java load-tests/batching/*.java
(cd "$own/classes" && jar --create --file ../handlers.jar NoOp*.class BatchApps*.class)
if [[ $programs ]]; then
  venv=$work/batching-venv
  if peers litserve==0.2.19 "$(grep ^ray load-tests/ray-requirements.txt)"; then
    programs=$venv/bin
  else
    echo "LitServe and Ray Serve are not available here; the report leaves them out" >&2
    programs=""
  fi
fi
export RAY_USAGE_STATS_ENABLED=0
exec java -Xms512m -Xmx512m -XX:+UseG1GC \
  -cp "target/berth.jar:target/berth-examples.jar:$own/classes" \
  Batching target/berth.jar "$work" "$(commit)" "$programs" "$before" $quick
