# Docker Compose: three nodes with Prometheus and Grafana.

full compose
full compose-config
full compose-nodes
full compose-docker

check_compose() {
  need_go compose-spec github.com/compose-spec/compose-go/v2/cmd@v2.6.0 cmd
  cp -r "$DEPLOY/compose" .
  cd compose || fail "no folder compose"
  "$TOOLS/bin/compose-spec" compose.yaml >model.yaml || fail "compose-go does not take compose.yaml: $(last)"
  sed 's/read_only:/readonly:/' compose.yaml >wrong.yaml
  "$TOOLS/bin/compose-spec" wrong.yaml && fail "a wrong key was not found"
  local source
  for source in $(sed -n 's/^ *- \(\.\.\?\/[^:]*\):.*/\1/p' compose.yaml); do
    [ -e "$DEPLOY/compose/$source" ] || fail "compose.yaml mounts $source, which does not exist"
  done
  ok "compose-go takes $(grep -c '^    image:' compose.yaml) services and a template of three; every mounted file exists"
}

# The commands of the service "certificates", and the files of the nodes with what they made.
check_compose_config() {
  need_jar
  need_schemas
  need promtool prometheus
  umask 022
  mkdir -p opt/bin tls
  printf '#!/bin/sh\nexec java -jar "%s" "$@"\n' "$JAR" >opt/bin/berth
  chmod +x opt/bin/berth
  python - "$DEPLOY/compose/compose.yaml" >make.sh <<'PYTHON'
import sys, yaml
with open(sys.argv[1]) as file:
    (script,) = yaml.safe_load(file)["services"]["certificates"]["command"]
print(script.replace("$$", "$").replace("/var/lib/berth", "tls").replace("/opt/berth", "../opt"))
PYTHON
  bash -euc "$(cat make.sh)" || fail "the service certificates"
  local before after each
  before=$(cat tls/operator)
  bash -euc "$(cat make.sh)" || fail "the service certificates, again"
  after=$(cat tls/operator)
  [ "$before" = "$after" ] && [ "${#before}" = 48 ] || fail "a second start makes other tokens"
  [ "$(stat -c %a tls tls/operator tls/prometheus tls/n1-key.pem | xargs)" = "711 600 644 600" ] || fail "modes: $(stat -c '%a %n' tls tls/*)"
  for each in control worker; do
    sed 's,/etc/berth/,,' "$DEPLOY/compose/$each.yaml" >"$each.yaml"
  done
  java -jar "$JAR" validate control.yaml --set berth.cluster.node=n1 || fail "control.yaml: $(last)"
  java -jar "$JAR" validate worker.yaml --set berth.cluster.node=n2 --set berth.cluster.advertise=n2 || fail "worker.yaml: $(last)"
  promtool check config --syntax-only "$DEPLOY/compose/prometheus.yml" || fail "prometheus.yml: $(last)"
  rm -rf "$WORK/compose-tls"
  cp -r tls "$WORK/compose-tls"
  ok "berth validate takes both files with the certificates and tokens of the first service"
}

# The nodes as processes, with the certificates and tokens of the check before.
check_compose_nodes() {
  need_jar
  need_schemas
  need_sandboxes
  [ -d "$WORK/compose-tls" ] || skip "it needs what compose-config made"
  local home=$PWD/home
  (cd "$ROOT" && BERTH_DIST_JARS=$(dirname "$JAR") deploy/dist.sh "$home") || fail "deploy/dist.sh"
  cp -r "$DEPLOY/compose" compose
  cp -r "$WORK/compose-tls" tls
  chmod a+rx . && chmod -R a+rX home compose
  timeout 1800 unshare -n -m --propagation private "$TOOLS/venv/bin/python3" "$DEPLOY/checks/compose_nodes.py" compose "$home" "$PWD" tls >out ||
    { cat out; fail "$(grep -m 1 -E '^FAILED|Error' out || tail -n 1 out)"; }
  cat out
  ok "three nodes as processes: $(grep -c '^ok' out) steps"
}

check_compose_docker() {
  docker info >info 2>&1 || skip "no Docker daemon: processes took the place of the nodes, and the containers of Prometheus and Grafana did not run"
  docker compose -f "$DEPLOY/compose/compose.yaml" config --quiet || fail "docker compose does not take compose.yaml"
  ok "docker compose takes compose.yaml"
}
