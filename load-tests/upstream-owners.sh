#!/usr/bin/env bash
# Counts the requests at an upstream of three nodes while nodes are killed, stopped, drained and
# restarted. load-tests/README.md describes the figures.
#
#   bash load-tests/upstream-owners.sh                  about 15 minutes, not counting a build
#   bash load-tests/upstream-owners.sh --long           one stop lasts 300 s in place of 60 s
#   bash load-tests/upstream-owners.sh --owners=2       one number of owners (default: 1,2)
#   bash load-tests/upstream-owners.sh --faults=kill,stop   some of kill, stop, long, term, roll,
#                                                       drain, control, both, second, move
#   --seed=N --slices=N --port=N                        30 ports from N (default: 18500)
set -euo pipefail
cd "$(dirname "$0")/.."
. load-tests/prepare.sh

long=60 owners=1,2 faults=all seed=$RANDOM slices=15 port=18500
for each in "$@"; do
  case "$each" in
    --long) long=300 ;;
    --owners=* | --faults=* | --seed=* | --slices=* | --port=*) declare "${each:2}" ;;
    *) echo "$each: unknown option (expected: one of the head of this file)" >&2; exit 2 ;;
  esac
done
echo "seed $seed"

build_jar
compile_load_tests
own=$work/upstream-owners
rm -rf "$own"
mkdir -p "$own/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp target/berth.jar -sourcepath load-tests/java:load-tests/upstreams -d "$own/classes" \
  load-tests/upstreams/UpstreamOwners.java
for node in 0 1 2; do
  first=$((port + 10 * node)) role=worker peers="join: ['127.0.0.1:$((port + 2))']"
  if ((node == 0)); then role=control peers="control: ['n0@127.0.0.1:$((port + 4))']"; fi
  cat >"$own/n$node.yaml" <<YAML
http_options: {host: 127.0.0.1, port: $first}
berth:
  admin: {port: $((first + 1))}
  state_dir: $PWD/$own/state$node
  event_loops: 1
  cluster:
    name: owners
    node: n$node
    role: $role
    $peers
    bind: 127.0.0.1
    insecure: true
    ports: {control: $((first + 2)), data: $((first + 3)), consensus: $((first + 4)), https: $((first + 5)), bus: $((first + 6))}
YAML
done
end() { # also after the measuring process was killed
  for pid in $runner $(cat "$own/pids" 2>/dev/null); do
    if grep -qs upstream-owners "/proc/$pid/cmdline"; then
      kill -KILL "$pid"
    fi
  done
}
java -Xms256m -Xmx256m -cp "target/berth.jar:$own/classes" UpstreamOwners target/berth.jar "$own" \
  "$(commit)" "$seed" "$long" "$owners" "$faults" "$slices" "$port" &
runner=$!
trap end EXIT
trap 'exit 130' INT TERM
wait "$runner"
