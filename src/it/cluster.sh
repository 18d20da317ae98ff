#!/usr/bin/env bash
# Disturbs three nodes on this machine under an open loop of requests, bodies of 64 KiB and 1 MiB,
# streams and reservations. Faults of a node: kill, stop for 10 s, blocked event loops, response heads
# too large for a message, releases while unreachable, peers that never shake hands, restart, start
# with an empty disk or with another certificate, and lost or delayed traffic.
#
# These claims must hold: no request runs twice, each completes by its deadline, no slot is acquired
# beyond the bound, only requests through the faulty node fail, no other node is suspected, and at the
# end every slot is free. Prints one line for each fault, a table, and "all held".
#
#   bash src/it/cluster.sh                   ten faults of each kind
#   bash src/it/cluster.sh --quick           one fault of each kind
#   bash src/it/cluster.sh --only=kill,stop  only these kinds (KINDS in cluster_faults.py)
#   bash src/it/cluster.sh --messages=event_bus  messages on the event bus of Vert.x (default: direct)
#   bash src/it/cluster.sh --rate=100        requests per second (default: 240)
#   bash src/it/cluster.sh --no-namespaces   all nodes on the loopback, with relays between them; also
#                                            the fallback where network namespaces are not permitted
#   bash src/it/cluster.sh --keep            does not delete the logs
#   bash src/it/cluster.sh --attacks [NAME…] single attacks instead, src/it/cluster/NAME.py (fetched_code,
#                                            last_word, scale_down, sole_replica, throwing_start), against
#                                            an earlier commit (BEFORE) and against this one
#   bash src/it/cluster.sh --only=state      only outdated, empty and damaged state directories
#                                            (cluster_state.py); part of a full run, three of them of --quick
#   bash src/it/cluster.sh --only=state --before=JAR   each of these first with an earlier berth.jar
set -euo pipefail
if [[ ${1-} == --attacks ]]; then
  BEFORE=${BEFORE-1b7467ba}
  source "$(dirname "$0")/attacks.sh"
  run_all src/it/cluster "${@:2}"
  exit
fi
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

need python3 python3-minimal
need openssl openssl
build_jar
compile_load_tests
arguments=()
namespaces=yes
kinds=delay # a run of all kinds includes it
state=(target/berth.jar target/berth-examples.jar)
for argument in "$@"; do
  case $argument in
    --no-namespaces) namespaces=no ;;
    --before=*) state+=("$argument") ;;
    --only=state) kinds=state ;;
    --quick) state+=(--only=forward,emptied,flipped) arguments+=("$argument") ;;
    --only=*) kinds=$argument arguments+=("$argument") ;;
    *) arguments+=("$argument") ;;
  esac
done
trial() { "$@" python3 src/it/cluster.py target/berth.jar "$work/handlers.jar" "${arguments[@]}"; }
if [[ $kinds == state || $kinds == delay ]]; then
  python3 src/it/cluster_state.py "${state[@]}"
fi
if [[ $kinds == state ]]; then
  exit
fi
if [[ $namespaces == no ]] || ! unshare -n true 2>/dev/null; then
  echo "no network namespaces: relays connect the nodes"
  trial env
  exit
fi
need ip iproute2
need nft nftables
held=0
arguments+=(--namespaces)
trial unshare -n bash -c 'ip link set lo up; exec "$@"' _ || held=1
if [[ $kinds == *delay* ]] && ! unshare -n tc qdisc add dev lo root netem delay 1ms 2>/dev/null; then
  echo "kernel without netem: relays delay the traffic"
  arguments=("${arguments[@]/--namespaces/--only=delay}")
  trial env || held=1
fi
exit $held
