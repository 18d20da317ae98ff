# Kubernetes: the overlays of Kustomize and the Helm chart.

fast kubernetes-rules
full kustomize-build
full helm-lint
full helm-names
full kubernetes-same
full kubernetes-fields
full kubernetes-custom-resources
full kubernetes-config
full kubernetes-pods
full kubernetes-cluster

# The overlays, and the values of the chart that render the same.
overlays=(one cluster cluster-managed)
declare -A values=(
  [one]="--set cluster.enabled=false"
  [cluster]=""
  [cluster-managed]="--set certificates.certManager=true,monitoring.serviceMonitor=true,monitoring.rules=true"
)

overlay() { "$TOOLS/bin/kustomize" build "$DEPLOY/kubernetes/overlays/$1"; }
chart() { "$TOOLS/bin/helm" template "$1" "$DEPLOY/helm/berth" --kube-version 1.34.0 "${@:2}"; }
need_kustomize() { need_go kustomize sigs.k8s.io/kustomize/kustomize/v5@v5.6.0; }
need_helm() { need_go helm helm.sh/helm/v3/cmd/helm@v3.18.6; }
need_schemas() { need_pip kubernetes-validate kubernetes-validate==1.34.1; }

# What pods.py needs.
need_sandboxes() {
  need ip iproute2
  need bwrap bubblewrap
  [ "$(id -u)" = 0 ] || skip "network namespaces need root"
  unshare -n -m ip link add b0 type bridge || skip "no bridge in a network namespace"
}

python() { PYTHONPATH=$DEPLOY/checks "$TOOLS/venv/bin/python3" "$@"; }

check_kubernetes_rules() {
  "$DEPLOY/kubernetes/rules.sh" --check || fail "the alerts differ from deploy/prometheus/alerts.yml: deploy/kubernetes/rules.sh copies them"
  ok "$(grep -c 'alert:' "$DEPLOY/helm/berth/files/alerts.yml") alerts are those of deploy/prometheus/alerts.yml"
}

check_kustomize_build() {
  need_kustomize
  local each
  for each in "${overlays[@]}"; do
    overlay "$each" >"$each.yaml" || fail "the overlay $each: $(last)"
  done
  ok "${overlays[*]}: $(cat ./*.yaml | grep -c '^kind:') objects"
}

# refused WORDS OPTION…: the chart must not render with these options, and must say the words.
refused() {
  chart berth "${@:2}" >out 2>&1 && fail "the chart takes ${*:2}"
  grep -qF "$1" out || fail "${*:2}: not refused for $1: $(tail -n 3 out)"
}

check_helm_lint() {
  need_helm
  "$TOOLS/bin/helm" lint --strict --quiet "$DEPLOY/helm/berth" >out 2>&1 || fail "helm lint: $(grep -m 1 -E '\[(ERROR|WARNING)\]' out || tail -n 1 out)"
  # Values that no overlay has.
  chart berth --set service.type=LoadBalancer,http.tlsSecret=web,image.tag=x,javaOptions=-Xlog:gc,networkPolicy.enabled=false,control.adopt=a:1,persistence.storageClass=fast,podAnnotations.a=b,nodeSelector.c=d \
    --set 'image.pullSecrets[0].name=registry,extraVolumes[0].name=s,extraVolumes[0].secret.secretName=s,extraVolumeMounts[0].name=s,extraVolumeMounts[0].mountPath=/s' \
    --set config.berth.limits.max_body_bytes=1073741824 >other.yaml
  grep -q '"max_body_bytes": 1073741824' other.yaml || fail "a large integer of config does not stay one"
  refused 'workerz' --set workerz.replicas=2
  refused 'replicas' --set workers.replicas=two
  refused 'memoryMiB' --set resources.memoryMiB=64
  refused 'state_dir' --set config.berth.state_dir=/tmp
  refused 'ssl_ca_certs' --set config.http_options.ssl_ca_certs=/ca
  refused 'expected: more than' --set config.http_options.request_timeout_s=68
  local tls=config.berth.admin.tls.ssl_keyfile=/a/tls.key,config.berth.admin.tls.ssl_certfile=/a/tls.crt
  chart berth --set "$tls,monitoring.serviceMonitor=true,monitoring.tlsConfig.serverName=admin" >tls.yaml
  grep -A 2 'scheme: https' tls.yaml | grep -q 'serverName: admin' || fail "a ServiceMonitor without https for an admin port with TLS"
  refused 'fullnameOverride' --set fullnameOverride=A
  "$TOOLS/bin/helm" template a.b "$DEPLOY/helm/berth" --kube-version 1.34.0 >out 2>&1 && fail "the chart takes the release a.b"
  grep -qF 'release name a.b' out || fail "$(cat out)"
  # Helm shows the notes at an installation only; here they are the content of an object.
  cp -r "$DEPLOY/helm/berth" noted
  { echo '{{- define "notes" -}}' && cat noted/templates/NOTES.txt && echo '{{- end -}}'; } >noted/templates/_notes.tpl
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata:\n  notes: |\n    {{- include "notes" . | nindent 4 }}\n' >noted/templates/notes.yaml
  local cluster_notes instance_notes
  cluster_notes=$("$TOOLS/bin/helm" template shop noted --kube-version 1.34.0 --show-only templates/notes.yaml)
  instance_notes=$("$TOOLS/bin/helm" template shop noted --kube-version 1.34.0 --show-only templates/notes.yaml --set cluster.enabled=false)
  [[ $cluster_notes == *"The control node is a single point of failure."*"--host n1=shop-control-0"* ]] || fail "the notes of a cluster: $cluster_notes"
  [[ $instance_notes != *control* ]] || fail "the notes of an instance: $instance_notes"
  echo "$cluster_notes"
  ok "lint, 8 wrong values refused, the notes name the single point of failure"
}

# Releases in one namespace share no name and no selector.
check_helm_names() {
  need_helm
  need_schemas
  local long=a-release-with-a-name-as-long-as-helm-allows-here
  local release releases=(berth a a-berth a-control a-workers a-nodes a-http "$long-1"  "${long}-2")
  for release in "${releases[@]}"; do
    chart "$release" ${values[cluster-managed]} >"$release.yaml"
  done
  python - "${releases[@]}" <<'PYTHON' || fail "two releases share a name, or a name is too long: $(last)"
import sys, yaml
owners, wrong = {}, []
for release in sys.argv[1:]:
    instances = set()
    for each in yaml.safe_load_all(open(release + ".yaml")):
        if each:
            key = each["kind"], each["metadata"]["name"]
            if owners.setdefault(key, release) != release:
                wrong.append((key, release, owners[key]))
            if len(key[1]) > (52 if key[0] == "StatefulSet" else 63):
                wrong.append((key, "too long"))
            instances.add(each["metadata"]["labels"]["app.kubernetes.io/instance"])
    (instance,) = instances
    if owners.setdefault(instance, release) != release:
        wrong.append((instance, release))
print(len(owners), wrong)
sys.exit(bool(wrong))
PYTHON
  ok "${#releases[@]} releases in one namespace share no name"
}

check_kubernetes_same() {
  need_kustomize
  need_helm
  need_schemas
  local each
  for each in "${overlays[@]}"; do
    overlay "$each" >overlay.yaml
    chart berth ${values[$each]} >chart.yaml
    python "$DEPLOY/checks/same_objects.py" overlay.yaml chart.yaml || fail "the overlay $each and the chart differ: $(last)"
    python "$DEPLOY/checks/same_objects.py" --plant chart.yaml || fail "$each: a changed field was not found"
  done
  chart berth --set preStopSeconds=16 >other.yaml
  python "$DEPLOY/checks/same_objects.py" <(overlay cluster) other.yaml && fail "another value was not found"
  # A change of the configuration restarts the pods.
  [ "$(chart berth | grep checksum)" != "$(chart berth --set config.http_options.request_timeout_s=59 | grep checksum)" ] || fail "the checksum does not follow the configuration"
  ok "${overlays[*]}: equal to the chart; each field changed in turn is found"
}

check_kubernetes_fields() {
  need_kustomize
  need_helm
  need_schemas
  local each version
  overlay one >one.yaml
  overlay cluster >cluster.yaml
  chart berth --set http.tlsSecret=web,persistence.storageClass=fast,podAnnotations.a=b >chart.yaml
  for version in 1.27 1.31 1.34; do
    "$TOOLS/venv/bin/kubernetes-validate" --quiet --strict -k "$version" ./*.yaml || fail "Kubernetes $version: a field is unknown: $(last)"
  done
  sed 's/seccompProfile/secompProfile/' cluster.yaml >wrong.yaml
  "$TOOLS/venv/bin/kubernetes-validate" --quiet --strict -k 1.34 wrong.yaml && fail "a wrong field was not found"
  ok "Kubernetes 1.27, 1.31 and 1.34 know every field"
}

check_kubernetes_custom_resources() {
  need_kustomize
  command -v go >/dev/null || skip "go is not installed"
  if [ ! -x "$TOOLS/bin/custom-resources" ]; then
    cp "$DEPLOY"/checks/custom-resources/* .
    { go mod tidy && go build -o "$TOOLS/bin/custom-resources" .; } || skip "the Go types of the operators were not built"
  fi
  overlay cluster-managed >all.yaml
  "$TOOLS/bin/custom-resources" all.yaml >out 2>&1 || fail "a field is unknown to the operators: $(head -n 1 out)"
  sed 's/dnsNames/dnsName/' all.yaml >wrong.yaml
  "$TOOLS/bin/custom-resources" wrong.yaml && fail "a wrong field was not found"
  ok "$(cat out): their Go types know every field"
}

# Every file of a ConfigMap, with the files that it names at the same paths below a folder.
check_kubernetes_config() {
  need_jar
  need_kustomize
  need_schemas
  mkdir -p etc/tokens etc/tls
  echo operator-0123456789abcdef >etc/tokens/operator
  echo prometheus-0123456789ab >etc/tokens/prometheus
  java -jar "$JAR" cluster init certificates --nodes 2 --worker-cert --name berth --host n1=berth-control-0
  local each count=0
  for each in one cluster; do
    overlay "$each" >all.yaml
    python - <<'PYTHON'
import yaml
for each in yaml.safe_load_all(open("all.yaml")):
    if each["kind"] == "ConfigMap":
        for name, text in each["data"].items():
            open(name, "w").write(text.replace("/etc/berth/", "etc/"))
PYTHON
  done
  for each in instance control worker; do
    local node=() certificate=n1
    [ "$each" = instance ] || node=(--set berth.cluster.bind=10.0.0.1 --set berth.cluster.node=berth-control-0)
    [ "$each" != worker ] || node[3]=berth.cluster.node=berth-workers-5b6-x7k2 certificate=worker.berth
    cp "certificates/$certificate.pem" etc/tls/tls.crt
    cp "certificates/$certificate-key.pem" etc/tls/tls.key
    cp certificates/ca.pem etc/tls/ca.crt
    java -jar "$JAR" validate "$each.yaml" "${node[@]}" || fail "$each.yaml: $(last)"
    count=$((count + 1))
  done
  sed 's/startup_s/startup/' control.yaml >wrong.yaml
  java -jar "$JAR" validate wrong.yaml --set berth.cluster.bind=10.0.0.1 --set berth.cluster.node=berth-control-0 && fail "a wrong key was not found"
  ok "berth validate takes the $count files of the ConfigMaps"
}

# The pods as processes, each in a network namespace: rehearsal.py.
check_kubernetes_pods() {
  need_jar
  need_helm
  need_schemas
  need openssl
  need_sandboxes
  local home=$PWD/home
  (cd "$ROOT" && BERTH_DIST_JARS=$(dirname "$JAR") deploy/dist.sh "$home") || fail "deploy/dist.sh"
  chmod -R a+rX .
  chart berth >cluster.yaml
  chart berth ${values[one]} >instance.yaml
  timeout 3000 unshare -n -m --propagation private "$TOOLS/venv/bin/python3" "$DEPLOY/checks/rehearsal.py" cluster.yaml instance.yaml "$home" "$PWD" >out ||
    { cat out; fail "$(grep -m 1 -E '^FAILED|Error' out || tail -n 1 out)"; }
  cat out
  ok "an instance, and one control node with two workers: $(grep -c '^ok' out) steps; $(grep -o '[0-9]* requests answered' out | tail -n 1), none lost"
}

check_kubernetes_cluster() {
  kubectl get --raw /version >version 2>&1 || skip "no cluster: no API server has seen the objects, and processes took the place of pods"
  local each
  for each in one cluster; do
    kubectl apply --dry-run=server -k "$DEPLOY/kubernetes/overlays/$each" || fail "the API server refuses the overlay $each"
  done
  ok "the API server takes the overlays one and cluster (nothing was stored)"
}
