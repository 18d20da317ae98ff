#!/usr/bin/env bash
# Runs the load tests: measures the cost of Berth compared with a raw Vert.x server against the
# budgets, or compared with another berth.jar. load-tests/README.md describes the figures.
#
#   bash load-tests/run.sh                            everything, about 20 minutes
#   bash load-tests/run.sh --quick                    about three minutes
#   bash load-tests/run.sh --before=OTHER/berth.jar   the rows of that jar and of this one in turn
#   bash load-tests/run.sh --only=one-loop,two-loops  the cost of routing only
#   bash load-tests/run.sh --starts=3 --rounds=48 --slice=250   longer
#   bash load-tests/run.sh --write                    also writes the figures to README and docs
#   bash load-tests/run.sh --check-age                measures nothing: exit code 1 if the figures of
#                                                     docs/performance.md are older than 100 commits
#                                                     of src/main, 2 if their commit is unknown
#   bash load-tests/run.sh --help                     prints this text
#
# Names for --only: one-loop, two-loops, echo, calls, streams, large, upload, upload-streamed,
# refusals, tls, quickstart, remote, messages, vertx-metrics, traffic, start, idle.
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

most_commits=100

# Compares the commit that docs/performance.md names with HEAD.
check_age() {
  local named commits
  named=$(sed -n '/^<!-- cost: begin/,/^<!-- cost: end/s/.*commit \([0-9a-f]\{7,40\}\).*/\1/p' \
    docs/performance.md | head -n 1)
  if [[ -z $named ]] || ! git cat-file -e "$named^{commit}" 2>/dev/null; then
    echo "docs/performance.md: commit ${named:-none} (expected: a commit of this repository)" >&2
    return 2
  fi
  commits=$(git rev-list --count "$named..HEAD" -- src/main) || return 2
  if ((commits > most_commits)); then
    echo "docs/performance.md: $commits commits of src/main since $named (expected: at most" \
      "$most_commits; bash load-tests/run.sh --write measures again)" >&2
    return 1
  fi
  echo "docs/performance.md: $commits commits of src/main since $named, at most $most_commits"
}

before='' write='' quick='' options=()
for option in "$@"; do
  case $option in
    --before=*) before=${option#*=} ;;
    --write) write=1 ;;
    --check-age) check_age && exit || exit $? ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"; exit ;;
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
java -cp "$classes" SelfCheck # proves that the verdict rule can fail
certificate
descriptors 16384

if [[ -n $before ]]; then
  # Compiles the handlers against that jar, from the same sources except where its API is older.
  child=java
  if javap -cp "$before" dev.berth.api.DeploymentHandle | grep -q ' within('; then child=before; fi
  rm -rf "$work/before"
  mkdir -p "$work/before/classes"
  javac --release 17 -proc:none -nowarn -cp "$before" -d "$work/before/classes" \
    load-tests/java/{NoOp,Calls,Streams,Uploads}.java load-tests/$child/Child.java
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
