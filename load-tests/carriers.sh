#!/usr/bin/env bash
# Measures the CPU time of a message over each carrier of Berth: the mailboxes and the event bus of
# an instance, a data link and the event bus between two nodes, with mutual TLS 1.3.
# load-tests/README.md describes the figures.
#
#   bash load-tests/carriers.sh            about three minutes, not counting a build
#   bash load-tests/carriers.sh --quick    less than one minute
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

case "${1:-}" in
  "" | --quick) ;;
  *) echo "$1: unknown option (expected: --quick or none)" >&2; exit 2 ;;
esac

build_jar
own=$work/carriers
rm -rf "$own"
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java -d "$own/classes" load-tests/carriers/*.java
java -jar target/berth.jar cluster init "$own/nodes" --nodes=2 >/dev/null
java -Xms512m -Xmx512m -XX:+UseG1GC -XX:-UseDynamicNumberOfCompilerThreads \
  -cp "target/berth.jar:target/berth-cluster.jar:$own/classes" \
  Carriers "$own/nodes" "$own/carriers.md" "$(commit)" "$@" 2>"$own/carriers.log" ||
  { cat "$own/carriers.log" >&2; exit 1; }
