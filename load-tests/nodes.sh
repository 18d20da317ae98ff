#!/usr/bin/env bash
# Measures the cost of cluster nodes: a hop between two nodes over several carriers, a routed request
# compared with nginx, slots of one to three nodes, a peer that does not read, starts.
# load-tests/README.md describes the figures.
#
#   bash load-tests/nodes.sh                     all parts
#   bash load-tests/nodes.sh hops memory         some of starts, hops, nginx, slots, memory
#   bash load-tests/nodes.sh --rounds=3 starts   3 rounds (default: 7)
#   bash load-tests/nodes.sh --before=OTHER/berth.jar starts
#   bash load-tests/nodes.sh --archives starts
#
# The ports are those of `berth cluster init`: 7420 to 7444, 8000 to 8002, 8265 to 8267.
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

need python3 python3-minimal
build_jar
compile_load_tests
rm -rf "$work/nodes"
mkdir -p "$work/nodes/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java -d "$work/nodes/classes" \
  load-tests/nodes/*.java load-tests/links/NamedNodes.java
jar --create --file "$work/nodes/handlers.jar" -C "$work/nodes/classes" .

options=() parts=()
for each in "$@"; do
  if [[ $each == --* ]]; then options+=("$each"); else parts+=("$each"); fi
done
((${#parts[@]})) || parts=(all)
if [[ " ${parts[*]} " =~ " nginx "|" all " ]]; then need nginx nginx; fi
if [[ " ${parts[*]} " =~ " memory "|" all " ]]; then need curl curl; fi
exec python3 load-tests/nodes.py target/berth.jar "$work/nodes/handlers.jar" "$work/nodes" \
  "${parts[@]}" "${options[@]}"
