#!/usr/bin/env bash
# What the possibility of explaining a request costs those that are not explained, and what it costs
# those that are: a server from before it, the same again for what the machine alone makes of equal
# things (A/A), this one, and this one with every request explained. One event loop, in turn.
#
#   bash load-tests/explain-cost.sh BEFORE.jar [AFTER.jar] [--rounds=7] [--seconds=6]
#
# BEFORE.jar is the berth.jar of another commit, as `mvn package -DskipTests` makes it there.
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

jars=() options=()
for argument in "$@"; do
  case $argument in
    --*) options+=("$argument") ;;
    *) jars+=("$argument") ;;
  esac
done
if ((${#jars[@]} < 1 || ${#jars[@]} > 2)); then
  echo "${#jars[@]} jars (expected: BEFORE.jar, and perhaps AFTER.jar)" >&2
  exit 2
fi
need wrk wrk
build_jar
compile_load_tests
exec java -Xmx256m -cp "$classes" ExplainCost "${jars[0]}" "${jars[1]:-target/berth.jar}" "$work" \
  "$(commit)" "${options[@]}"
