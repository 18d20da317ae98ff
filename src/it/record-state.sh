#!/usr/bin/env bash
# Records the state directories of a version for ReleasedStateIT: of an instance and of a control
# node, each with a changed, a deleted and a failing application.
#
#   src/it/record-state.sh BERTH_JAR VERSION      writes src/test/resources/released-states/VERSION
#
# berth-cluster.jar must be beside the jar. The state names no host and no folder of the recording.
set -euo pipefail
cd "$(dirname "$0")/../.."
jar=$(readlink -f "$1")
target=$PWD/src/test/resources/released-states/$2
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
cd "$work"

cat >applications.json <<'END'
{"applications": [
  {"name": "files", "route_prefix": "/files", "import_path": "berth:proxy", "deployments": [
    {"name": "files", "berth": {"upstreams": [{"url": "http://127.0.0.1:9", "max_ongoing_requests": 4}]}}]},
  {"name": "deleted", "route_prefix": "/deleted", "import_path": "berth:proxy", "deployments": [
    {"name": "deleted", "berth": {"upstreams": [{"url": "http://127.0.0.1:10", "max_ongoing_requests": 1}]}}]}
]}
END
address=http://127.0.0.1:18265

# await PATH PATTERN: until the response has the pattern, for at most a minute.
await() {
  local tries
  for tries in $(seq 300); do
    ! curl -sf "$address$1" | grep -q "$2" || return 0
    sleep 0.2
  done
  echo "record-state.sh: $1 after a minute: $(curl -s "$address$1") (expected: $2)" >&2
  return 1
}

# deploy FILE REVISION: declares a file as `berth deploy` does, without the host and the folder of
# this run, until the application "files" runs the revision.
deploy() {
  curl -sf -X PUT "$address/api/v1/applications" -H 'content-type: application/json' \
    -H 'berth-file: file://recorded/applications.json' --data-binary "@$1" -w "\n"
  await /api/v1/applications/files/history "\"revision\":$2,[^{]*\"state\":\"RUNS\""
}

# Starts with the options, runs the commands and stops.
record() { # name, file
  java -Xmx128m -jar "$jar" run "$2" >"$1.log" 2>&1 &
  server=$!
  await /-/healthz .
  deploy applications.json 1
  sed 's/max_ongoing_requests": 4/max_ongoing_requests": 7/' applications.json >changed.json
  deploy changed.json 3
  curl -sf -X DELETE "$address/api/v1/applications/deleted"
  curl -s -X PUT "$address/api/v1/applications/broken" -H 'content-type: application/json' \
    -d '{"name": "broken", "route_prefix": "/broken", "import_path": "missing.Type:build"}' || :
  await /api/v1/serve DEPLOY_FAILED
  java -Xmx128m -jar "$jar" status --address "$address" || :
  kill "$server"
  wait "$server" || :
  server=
}

printf 'http_options: {host: 127.0.0.1, port: 18000}\nberth: {state_dir: instance, admin: {port: 18265}}\n' >instance.yaml
record instance instance.yaml
cat >control.yaml <<'END'
http_options: {host: 127.0.0.1, port: 18000}
berth:
  state_dir: control
  admin: {port: 18265}
  cluster:
    name: recorded
    node: n1
    role: control
    control: ["n1@127.0.0.1:17420"]
    bind: 127.0.0.1
    insecure: true
    ports: {control: 17420, data: 17422, consensus: 17423, https: 17424, bus: 17421}
END
record control control.yaml
rm -rf "$target"
mkdir -p "$target"
cp -r instance control "$target"
if grep -rlF -e "//$(hostname)/" -e "$work" "$target"; then
  echo "record-state.sh: the state names this machine (expected: file://recorded only)" >&2
  exit 1
fi
find "$target" -type f -exec ls -l {} +
