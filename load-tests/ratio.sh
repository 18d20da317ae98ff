#!/usr/bin/env bash
# A first ratio: a routed no-op request against a raw Vert.x server that returns the same bytes.
# What it measures and how to read it: load-tests/README.md. Takes under five minutes.
#
#   bash load-tests/ratio.sh            the whole run
#   ROUNDS=7 SECONDS_EACH=4 bash load-tests/ratio.sh
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -f target/berth.jar ]]; then
  mvn -B -q package -DskipTests
fi
if ! command -v wrk >/dev/null; then
  echo "installing wrk"
  as_root=""
  if [[ $(id -u) -ne 0 ]]; then as_root=sudo; fi
  $as_root apt-get update -q >/dev/null
  $as_root apt-get install -y -q --no-install-recommends wrk >/dev/null
fi

work=target/load-tests
rm -rf "$work/classes" "$work/handler"
mkdir -p "$work/classes" "$work/handler"
javac --release 17 -cp target/berth.jar -d "$work/classes" \
  load-tests/java/RawServer.java load-tests/java/Ratio.java
javac --release 17 -cp target/berth.jar -d "$work/handler" load-tests/java/NoOp.java
jar --create --file "$work/no-op.jar" -C "$work/handler" .

exec java -Xmx64m -cp "$work/classes" Ratio \
  target/berth.jar "$work" "${ROUNDS:-5}" "${SECONDS_EACH:-4}"
