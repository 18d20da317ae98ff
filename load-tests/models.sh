#!/usr/bin/env bash
# Measures the cost of reading and rewriting the model of a request, beside a plain relay of the same
# bytes. load-tests/README.md describes the figures.
#
#   bash load-tests/models.sh            about five minutes, not counting a build
#   bash load-tests/models.sh --quick    about 90 seconds
#   bash load-tests/models.sh --peers    with either: also LiteLLM and SMG, from Python packages
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

quick="" programs=""
for each in "$@"; do
  case "$each" in
    --quick) quick=--quick ;;
    --peers) programs=1 ;;
    *) echo "$each: unknown option (expected: --quick, --peers)" >&2; exit 2 ;;
  esac
done
build_jar
compile_load_tests
descriptors 8192
own=$work/upstreams
rm -rf "$own"
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java -d "$own/classes" load-tests/upstreams/*.java
if [[ $programs ]]; then
  peers 'litellm[proxy]==1.106.2' smg==1.13.0
  programs=$venv/bin
fi
exec java -Xms512m -Xmx512m -XX:+UseG1GC -cp "target/berth.jar:$own/classes" \
  Models target/berth.jar "$work" "$(commit)" "$programs" $quick
