#!/usr/bin/env bash
# Three nodes on this machine under an open loop, one of which is killed, stopped for 10 s, talked to
# by peers that never shake hands, restarted in its turn, starts with an empty disk or with another
# certificate; and, where network namespaces are permitted, does not get what others send. Whatever
# happens: no request runs twice, each is answered by its deadline, no other node is lost, and at the
# end every slot is free. One line for each fault, a table, and "all held".
#
#   bash src/it/cluster.sh                 ten faults of each kind and node
#   bash src/it/cluster.sh --quick         one of each
#   bash src/it/cluster.sh --only=kill     kill, stop, handshake, roll, emptied, certificates; deaf,
#                                          led, loss, silenced
#   bash src/it/cluster.sh --rate=300      requests a second, 150 unless said otherwise
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

need python3 python3-minimal
build_jar
compile_load_tests
arguments=(target/berth.jar "$work/handlers.jar" "$@")
if unshare -n true 2>/dev/null; then
  need nft nftables
  exec unshare -n bash -c 'ip link set lo up; exec python3 src/it/cluster.py "$@" --namespaces' _ "${arguments[@]}"
fi
echo "no network namespaces here: nobody is cut off"
exec python3 src/it/cluster.py "${arguments[@]}"
