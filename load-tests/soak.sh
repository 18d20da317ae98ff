#!/usr/bin/env bash
# Runs minutes at half load, with failing handlers, clients that die and unused reservations. At the
# end no slot, no byte and no error may be left over. load-tests/README.md describes the requests.
#
#   bash load-tests/soak.sh                         five minutes
#   bash load-tests/soak.sh --seconds=1800          longer
#   bash load-tests/soak.sh --quick                 40 s, too short to judge memory
#   bash load-tests/soak.sh --seed=7                another random load
set -euo pipefail
cd "$(dirname "$0")/.."
source load-tests/prepare.sh

seconds=300
seed=1
for option in "$@"; do
  case $option in
    --quick) seconds=40 ;;
    --seconds=*) seconds=${option#*=} ;;
    --seed=*) seed=${option#*=} ;;
    *) echo "$option: unknown option (expected: --quick, --seconds=N or --seed=N)" >&2; exit 2 ;;
  esac
done
build_jar
compile_load_tests
descriptors 4096
exec java -Xms256m -Xmx256m -cp "$classes" Soak target/berth.jar "$work" "$(commit)" \
  "$seconds" "$seed"
