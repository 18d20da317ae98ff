#!/usr/bin/env bash
# Three nodes on this machine under an open loop of requests, bodies of 64 KiB and 1 MiB, streams and
# reservations. One is killed, stopped for 10 s, not read from, asked for heads that no message carries,
# releases slots unheard, is talked to by peers that never shake hands, restarted in its turn, starts
# with an empty disk or with another certificate, and does not get what others send, or late. Whatever happens: no request runs twice, each is answered by its deadline,
# no slot is taken beyond the bound, only what went through the faulty node fails, no other node is
# suspected, and at the end every slot is free. One line for each fault, a table, and "all held".
#
#   bash src/it/cluster.sh                   ten faults of each kind
#   bash src/it/cluster.sh --quick           one of each
#   bash src/it/cluster.sh --only=kill,stop  of these kinds (KINDS in cluster.py)
#   bash src/it/cluster.sh --rate=100        requests a second, 240 unless said otherwise
#   bash src/it/cluster.sh --no-namespaces   all on the loopback, with relays between the nodes, which is
#                                            also what happens where network namespaces are not permitted
#   bash src/it/cluster.sh --keep            leaves the logs
#   bash src/it/cluster.sh --attacks [NAME…] single attacks instead, src/it/cluster/NAME.py (fetched_code,
#                                            last_word, scale_down, sole_replica, throwing_start), against
#                                            an earlier commit (BEFORE) and against this one
#   bash src/it/cluster.sh --only=state      state directories that come back older, empty and damaged
#                                            (cluster_state.py): part of a run of all kinds; of --quick three
#   bash src/it/cluster.sh --only=state --before=JAR   each of these with an earlier berth.jar first
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
kinds=delay # unless told otherwise it is one of them
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
  echo "relays carry what nodes send"
  trial env
  exit
fi
need ip iproute2
need nft nftables
held=0
arguments+=(--namespaces)
trial unshare -n bash -c 'ip link set lo up; exec "$@"' _ || held=1
if [[ $kinds == *delay* ]] && ! unshare -n tc qdisc add dev lo root netem delay 1ms 2>/dev/null; then
  echo "relays carry what nodes send"
  arguments=("${arguments[@]/--namespaces/--only=delay}")
  trial env || held=1
fi
exit $held
