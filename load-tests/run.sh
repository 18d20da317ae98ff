#!/usr/bin/env bash
# Runs the load tests: measures the cost of Berth compared with a raw Vert.x server against the
# budgets, or compared with another berth.jar. load-tests/README.md describes the figures.
#
#   bash load-tests/run.sh                            everything, about a quarter of an hour
#   bash load-tests/run.sh --quick                    under three minutes
#   bash load-tests/run.sh --before=OTHER/berth.jar   the rows of that jar and of this one in turn
#   bash load-tests/run.sh --only=one-loop,two-loops  the cost of routing only
#   bash load-tests/run.sh --starts=3 --rounds=48 --slice=250   longer
#   bash load-tests/run.sh --write                    also writes the figures to README and docs
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

before='' write='' quick='' options=()
for option in "$@"; do
  case $option in
    --before=*) before=${option#*=} ;;
    --write) write=1 ;;
    *) options+=("$option"); [[ $option == --quick ]] && quick=1 ;;
  esac
done
if [[ -n $before && ! -f $before ]]; then
  echo "--before=$before: no such file (expected: path of a berth.jar)" >&2
  exit 2
fi
need openssl openssl
build_jar
compile_load_tests
java -cp "$classes" ClaimCheck # proves that the verdict rule can fail
certificate
descriptors 16384

if [[ -n $before ]]; then
  # Compiles the handlers against that jar, from the same sources except where its API is older.
  child=java
  if javap -cp "$before" dev.berth.api.DeploymentHandle | grep -q ' within('; then child=before; fi
  rm -rf "$work/before"
  mkdir -p "$work/before/classes"
  javac --release 17 -proc:none -nowarn -cp "$before" -d "$work/before/classes" \
    load-tests/java/{NoOp,Calls,Streams}.java load-tests/$child/Child.java
  jar --create --file "$work/before/handlers.jar" -C "$work/before/classes" .
  cp "$work"/{probe.jar,cert.pem,key.pem} "$work/before"
  options+=("--before=$before")
fi

failed=0
java -Xms512m -Xmx512m -cp "$classes" LoadTests target/berth.jar "$work" "$(commit)" \
  "${options[@]}" || failed=$?
if [[ -n $write && $failed -le 1 ]]; then
  name=${before:+before}
  cp "$work/${name:-run}.json" docs/performance/
  python3 load-tests/tables.py docs/performance docs/performance.md README.md
fi
exit $failed
