#!/usr/bin/env bash
# Measures the cost of reading and rewriting the model of a request, beside a plain relay of the same
# bytes. load-tests/README.md describes the figures.
#
#   bash load-tests/models.sh            about three minutes, not counting a build
#   bash load-tests/models.sh --quick    about 40 seconds
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

case "${1-}" in
  "" | --quick) ;;
  *) echo "$1: unknown option (expected: --quick)" >&2; exit 2 ;;
esac
build_jar
compile_load_tests
descriptors 8192
own=$work/upstreams
rm -rf "$own"
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java -d "$own/classes" load-tests/upstreams/*.java
exec java -Xms512m -Xmx512m -XX:+UseG1GC -cp "target/berth.jar:$own/classes" \
  Models target/berth.jar "$work" "$(commit)" ${1+"$1"}
