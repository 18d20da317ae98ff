#!/usr/bin/env bash
# Makes lib/berth.jsa, the archive of classes beside berth.jar: train.sh HOME
# A control node with the quickstart serves requests and ends; the JVM writes the classes it loaded.
set -euo pipefail
home=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BERTH_JAVA_OPTS=-XX:-UsePerfData BERTH_TMPDIR=$work/tmp
sed "s|\.\./lib/|$home/lib/|" "$home/conf/quickstart.yaml" >"$work/train.yaml"
cat >>"$work/train.yaml" <<END
  state_dir: $work/state
  cluster:
    name: train
    node: n1
    role: control
    control: ['n1@127.0.0.1:7420']
    bind: 127.0.0.1
    insecure: true
    ports: {control: 7420, bus: 7421, data: 7422, consensus: 7423, https: 7424}
END

"$home/bin/berth" "-J-XX:ArchiveClassesAtExit=$work/berth.jsa" run "$work/train.yaml" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 300); do
  ! grep -q 'started in' "$work/log" || break
  kill -0 "$server" || { cat "$work/log" >&2 && exit 1; }
  sleep 0.2
done

# PATH TYPE FILE of a body
post() {
  exec 3<>/dev/tcp/127.0.0.1/8000
  printf 'POST %s HTTP/1.1\r\nHost: train\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %s\r\n\r\n' \
    "$1" "$2" "$(wc -c <"$3")" >&3
  cat "$3" >&3
  cat <&3 >"$work/answer"
  exec 3>&-
  grep -aq '^HTTP/1.1 200' "$work/answer" || { cat "$work/answer" "$work/log" >&2 && exit 1; }
}

for _ in 1 2 3; do
  post /classify image/png "$home/examples/images/7-3.png"
  post /echo text/plain "$home/LICENSE"
done
"$home/bin/berth" status >"$work/answer"
kill "$server"
wait "$server"
[ -s "$work/berth.jsa" ] || { cat "$work/log" >&2 && exit 1; }
chmod 644 "$work/berth.jsa"
mv "$work/berth.jsa" "$home/lib/berth.jsa"
