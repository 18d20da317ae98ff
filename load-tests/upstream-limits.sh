#!/usr/bin/env bash
# Counts the requests at an upstream behind Berth, LiteLLM and SMG with the same limit, while a third
# of the clients leave at random moments. load-tests/README.md describes the figures.
#
#   bash load-tests/upstream-limits.sh              about six minutes, not counting installations
#   bash load-tests/upstream-limits.sh --quick      about 90 seconds
#   bash load-tests/upstream-limits.sh --seed=7     another random load
#   bash load-tests/upstream-limits.sh --only=berth,smg    some of berth, litellm, smg
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

quick="" seed=$RANDOM only=berth,litellm,smg
for each in "$@"; do
  case "$each" in
    --quick) quick=--quick ;;
    --seed=*) seed=${each#*=} ;;
    --only=*) only=${each#*=} ;;
    *) echo "$each: unknown option (expected: --quick, --seed=N, --only=NAMES)" >&2; exit 2 ;;
  esac
done
echo "seed $seed"

build_jar
compile_load_tests
descriptors 8192
own=$work/upstreams
rm -rf "$own"
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java -d "$own/classes" load-tests/upstreams/*.java
venv=""
if [[ $only == *litellm* ]]; then peers 'litellm[proxy]==1.106.2'; fi
if [[ $only == *smg* ]]; then peers smg==1.13.0; fi
exec java -Xms512m -Xmx512m -cp "target/berth.jar:$own/classes" \
  UpstreamLimits target/berth.jar "$work" "$(commit)" "$venv/bin" "$seed" "$only" $quick
