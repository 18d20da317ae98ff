#!/usr/bin/env bash
# Measures the server's memory while bodies far larger than it pass through: a slow reader of a
# response and a slow handler of an upload, over HTTP/1.1 and HTTP/2. Fails when the resident memory
# of the warm server grows by GROWTH_MIB or more. load-tests/README.md describes the figures.
#
#   bash load-tests/memory.sh           1 GiB per direction and protocol, about two minutes
#   MIB=256 bash load-tests/memory.sh   a shorter run
set -euo pipefail
cd "$(dirname "$0")/.."

MIB=${MIB:-1024}
WARM_MIB=${WARM_MIB:-256}
RATE=${RATE:-64M}            # bytes per second of the slow reader
GROWTH_MIB=${GROWTH_MIB:-20} # maximum growth of the resident memory
PROTOCOLS=${PROTOCOLS:---http1.1 --http2-prior-knowledge}

if [[ ! -f target/berth.jar ]]; then
  mvn -B -q package -DskipTests
fi
work=target/load-tests/memory
rm -rf "$work"
mkdir -p "$work/classes"
javac --release 17 -cp target/berth.jar -d "$work/classes" load-tests/java/Bulk.java
jar --create --file "$work/bulk.jar" -C "$work/classes" .
cat >"$work/bulk.yaml" <<YAML
applications:
  - name: bulk
    route_prefix: /
    import_path: Bulk:build
    runtime_env: {jars: [bulk.jar]}
YAML
truncate -s "${MIB}M" "$work/upload"
truncate -s "${WARM_MIB}M" "$work/warm"

java -Xmx128m -XX:MaxDirectMemorySize=64m -jar target/berth.jar run "$work/bulk.yaml" \
  --host=127.0.0.1 --port=0 --admin-port=0 >"$work/server.log" 2>&1 &
server=$!
sampler=
trap 'kill $server $sampler 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  grep -q ' started in ' "$work/server.log" && break
  kill -0 $server || { cat "$work/server.log"; exit 1; }
  read -rt 0.1 <> <(:) || true
done
port=$(sed -nE 's/.* listens on [^ ]+:([0-9]+), admin on .*/\1/p' "$work/server.log" | head -1)
url=http://127.0.0.1:$port/

rss_kib() { awk '/^VmRSS/ {print $2}' "/proc/$server/status"; }

# Downloads $2 MiB over protocol $1 and fails unless every byte arrives.
download() { # protocol, mib
  local got
  got=$(curl -sS "$1" --limit-rate "$RATE" -o /dev/null -w '%{http_code} %{size_download}' "$url?mib=$2")
  [[ $got == "200 $(($2 << 20))" ]] || { echo "download: $got"; exit 1; }
}
upload() { # protocol, file, mib
  local got
  got=$(curl -sS "$1" -T "$2" "$url")
  [[ $got == "$(($3 << 20))" ]] || { echo "upload: $got"; exit 1; }
}

for protocol in $PROTOCOLS; do
  for _ in 1 2; do
    download "$protocol" "$WARM_MIB"
    upload "$protocol" "$work/warm" "$WARM_MIB"
  done
done

failed=0
measure() { # name, command…
  local name=$1 before after most
  shift
  before=$(rss_kib)
  (while sleep 0.5; do rss_kib; done) >"$work/samples" &
  sampler=$!
  local begun=$SECONDS
  "$@"
  kill $sampler
  wait $sampler 2>/dev/null || true
  after=$(rss_kib)
  echo "$after" >>"$work/samples"
  most=$(sort -n "$work/samples" | tail -1)
  printf '%-36s %4d s  RSS KiB: before %d, maximum %d, after %d, growth %d\n' \
    "$name" $((SECONDS - begun)) "$before" "$most" "$after" $((most - before))
  tr '\n' ' ' <"$work/samples" | fold -s -w 96 | sed 's/^/    /'
  echo
  if ((most - base >= GROWTH_MIB * 1024)); then
    echo "    FAILED: $((most - base)) KiB above the warm server's $base (expected: under $((GROWTH_MIB * 1024)))"
    failed=1
  fi
}

base=$(rss_kib)
echo "warm: RSS $base KiB"
for protocol in $PROTOCOLS; do
  measure "slow reader of $MIB MiB, ${protocol#--}" download "$protocol" "$MIB"
  measure "slow handler of $MIB MiB, ${protocol#--}" upload "$protocol" "$work/upload" "$MIB"
done
rm -f "$work/upload" "$work/warm"
if ((failed)); then
  exit 1
fi
echo "passed: the resident memory grew by less than $GROWTH_MIB MiB"
