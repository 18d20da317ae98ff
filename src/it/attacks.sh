#!/usr/bin/env bash
# Sourced. run_all DIRECTORY [NAME…]: runs each attack of the directory twice, against the jar of an
# earlier commit and against the current jar, and prints both. An attack is `NAME.py --jar JAR`; it
# prints a line per figure and exits with 0 when its claims hold. The current jar decides the exit
# status.
#
#   BEFORE=COMMIT   commit to compare with; empty: none (default: the commit before these attacks)
set +e -uo pipefail # a failed attack must not end the run, regardless of the caller's options
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
BEFORE=${BEFORE-decda4a}

# Builds the jar of a commit once; prints its path, or nothing if it cannot be built.
jar_of() {
  local commit tree
  commit=$(git rev-parse --verify --quiet "$1^{commit}") || return 0
  tree=$PWD/target/before/$commit
  if [ ! -f "$tree/target/berth.jar" ]; then
    echo "building $1 …" >&2
    rm -rf "$tree" && mkdir -p "$tree" && git archive "$commit" | tar -x -C "$tree"
    (cd "$tree" && mvn -B -q package -DskipTests) >"$tree.log" 2>&1 ||
      { echo "$1: build failed: see $tree.log" >&2; return 0; }
  fi
  echo "$tree/target/berth.jar"
}

run_all() {
  local directory=$1 failed=() attack name before jar
  shift
  jar=$PWD/target/berth.jar
  [ -f "$jar" ] || mvn -B -q package -DskipTests || exit 2
  before=${BEFORE:+$(jar_of "$BEFORE")}
  for attack in "$directory"/*.py; do
    name=$(basename "$attack" .py)
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    echo "== $name"
    if [ -n "$before" ]; then
      timeout 1800 python3 "$attack" --jar "$before" 2>&1 | sed 's/^/before  /'
    fi
    timeout 1800 python3 "$attack" --jar "$jar" 2>&1 | sed 's/^/now     /'
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed+=("$name")
  done
  if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    return 1
  fi
  echo "all held"
}
