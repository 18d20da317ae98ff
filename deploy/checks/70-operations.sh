# The commands of docs/guide/operations.md, against running instances.

full operations

# Runs each block of commands in order, with the ports of the page in a network of its own.
check_operations() {
  need_jar
  need promtool prometheus
  need ip iproute2
  need openssl
  unshare -rn true 2>/dev/null || skip "no network namespaces (unshare -rn)"
  mkdir bin target
  printf '#!/bin/sh\nexec java -Xmx256m -jar "%s" "$@"\n' "$JAR" >bin/berth
  chmod +x bin/berth
  ln -s "$(dirname "$JAR")/berth-examples.jar" target/
  cp -r "$ROOT/conf" "$DEPLOY" .
  sed -n '/^```sh$/,/^```$/p' "$ROOT/docs/guide/operations.md" | grep -v '^```' >commands
  # Each command of `berth` that the text names is one of those that run.
  local named
  for named in $(grep -o '`berth [a-z]*' "$ROOT/docs/guide/operations.md" | cut -d' ' -f2 | sort -u); do
    grep -q "berth $named" commands || echo "$named"
  done >unused
  [ ! -s unused ] || fail "docs/guide/operations.md names commands that no block runs: $(tr '\n' ' ' <unused)"
  cat >run <<'END'
ip link set lo up
trap 'kill $(jobs -p) 2>/dev/null || :; wait' EXIT
set -x
. ./commands
set +x
echo "the commands ended"
END
  PATH=$PWD/bin:$PATH timeout 600 unshare -rn bash -eu -o pipefail run >output 2>&1 || { cat output *.log; fail "$(grep '^+ ' output | tail -n 1)"; }
  cat output
  grep -q '^the commands ended' output || fail "the commands did not end"
  ok "$(grep -cE '^\++ berth ' output) commands of berth, and those beside them"
}
