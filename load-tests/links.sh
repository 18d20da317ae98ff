#!/usr/bin/env bash
# Measures the cost of a message between two nodes with mutual TLS 1.3: Berth's own frames over a
# socket, the same in one HTTP/2 stream, a stream for each message, and the clustered event bus. Tests
# whether a link to a node that does not read, or does not shake hands, can be ended.
# load-tests/README.md describes the figures.
#
#   bash load-tests/links.sh            about five minutes; six on a busy machine
#   bash load-tests/links.sh --quick    one start of each process
#   bash load-tests/links.sh --facts    only the tests of ending links: one minute
set -euo pipefail
cd "$(dirname "$0")/.."

starts=2
rounds=10
measured=1
case "${1:-}" in
  "") ;;
  --quick) starts=1 ;;
  --facts) measured= ;;
  *) echo "$1: unknown option (expected: --quick, --facts or none)" >&2; exit 2 ;;
esac

work=target/load-tests/links
mkdir -p "$work"
if [[ ! -d $work/lib || pom.xml -nt $work/lib ]]; then
  rm -rf "$work/lib"
  mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DexcludeGroupIds=ch.qos.logback,org.slf4j \
    -DexcludeArtifactIds=vertx-micrometer-metrics -DoutputDirectory="$PWD/$work/lib"
fi
rm -rf "$work/classes"
javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -implicit:class \
  -cp "$work/lib/*" -sourcepath load-tests/java -d "$work/classes" load-tests/links/*.java

# Creates ca.pem, and node.pem with node-key.pem signed by it. They are throw-away keys.
certificates() {
  local request=(openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
  "${request[@]}" -x509 -days 2 -subj /CN=links -keyout "$work/ca-key.pem" -out "$work/ca.pem"
  "${request[@]}" -subj /CN=node -keyout "$work/node-key.pem" -out "$work/node.csr"
  openssl x509 -req -days 2 -in "$work/node.csr" -CA "$work/ca.pem" -CAkey "$work/ca-key.pem" \
    -CAcreateserial -extfile <(echo "subjectAltName=IP:127.0.0.1,DNS:localhost") \
    -out "$work/node.pem"
}
certificates 2>"$work/openssl.log" || { cat "$work/openssl.log" >&2; exit 1; }

run=(java "-Dcertificates=$work" -cp "$work/classes:$work/lib/*")
"${run[@]}" Facts 2>"$work/facts.log" || { cat "$work/facts.log" >&2; exit 1; }
if [[ -n $measured ]]; then
  "${run[@]}" Links "$starts" "$rounds" 100 "$work/links.md"
fi
