#!/usr/bin/env bash
# Runs h2spec (https://github.com/summerwind/h2spec) against the packaged jar, without and with TLS,
# and compares the failed cases with the table in docs/http.md. The exit status is 1 when they differ.
#   src/it/h2spec.sh               installs h2spec by Go into a temporary folder
#   H2SPEC=FILE src/it/h2spec.sh   uses an existing binary
#   PORT=N                         first of two ports (default: 21020)
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
PORT=${PORT:-21020}
WORK=$(mktemp -d)
SERVERS=()
trap 'for server in "${SERVERS[@]}"; do kill "$server"; done 2>/dev/null; wait; rm -rf "$WORK"' EXIT

[ -f target/berth.jar ] || mvn -B -q package -DskipTests || exit 2
if [ -z "${H2SPEC:-}" ]; then
  GOBIN=$WORK GOPATH=$WORK/go GOFLAGS=-modcacherw \
    go install github.com/summerwind/h2spec/cmd/h2spec@v2.6.0 || exit 2
  H2SPEC=$WORK/h2spec
fi
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
  -keyout "$WORK/key.pem" -out "$WORK/certificate.pem" 2>/dev/null || exit 2

# serve PORT HTTP_OPTION…: starts an instance with the quickstart's echo and waits until it is ready
serve() {
  local port=$1 log=$WORK/$1.log
  shift
  java -Xmx256m -jar target/berth.jar run conf/quickstart.yaml --set http_options.host=127.0.0.1 \
    --set http_options.port="$port" --set berth.admin.port=0 --set berth.ephemeral=true "$@" \
    >"$log" 2>&1 &
  SERVERS+=($!)
  for _ in $(seq 120); do
    curl -sfko /dev/null "$SCHEME://127.0.0.1:$port/-/readyz" && return
    sleep 0.5
  done
  tail -20 "$log"
  exit 2
}

# cases OPTION…: runs h2spec; prints failed cases, one per line, and its summary to stderr
cases() {
  timeout 900 "$H2SPEC" -h 127.0.0.1 -P /echo -o 2 -j "$WORK/report.xml" "$@" >"$WORK/out" 2>&1
  python3 - "$WORK/report.xml" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
cases = [(suite.get('package'), case) for suite in suites.iter('testsuite') for case in suite]
failed = [f"{package}: {case.get('classname')}" for package, case in cases
          if case.find('failure') is not None or case.find('error') is not None]
print('\n'.join(sorted(failed)))
PYTHON
  grep -a ' passed' "$WORK/out" >&2
}

# known PROTOCOL: prints the cases that the table lists as failing for the protocol
known() {
  sed -n 's/^| `\([^`]*\)` | \([a-zA-Z0-9, ]*\) |.*/\1|\2/p' docs/http.md | grep -w "$1" | cut -d'|' -f1 | sort
}

status=0
for protocol in h2c TLS; do
  echo "== $protocol"
  if [ $protocol = h2c ]; then
    SCHEME=http serve "$PORT"
    cases -p "$PORT" >"$WORK/failed"
  else
    SCHEME=https serve $((PORT + 1)) --set http_options.ssl_keyfile="$WORK/key.pem" \
      --set http_options.ssl_certfile="$WORK/certificate.pem"
    cases -p $((PORT + 1)) -t -k >"$WORK/failed"
  fi
  cat "$WORK/failed"
  diff <(known $protocol) "$WORK/failed" >"$WORK/difference" || { sed 's/^/differs: /' "$WORK/difference"; status=1; }
done
exit $status
