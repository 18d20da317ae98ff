# shellcheck shell=bash
# The Debian package, built by the profile "deb", in a chroot by debootstrap.

full deb-build
full deb-install
full deb-quickstart
full deb-purge

# Processes that are started here see another root.
inside() { chroot "$TOOLS/chroot" "$@"; }

# Java finds its libraries by it; check_deb_purge unmounts it.
mount_proc() { mountpoint -q "$TOOLS/chroot/proc" || mount -t proc proc "$TOOLS/chroot/proc"; }

check_deb_build() {
  need_jar
  command -v mvn >/dev/null || skip "mvn is not installed"
  command -v dpkg-deb >/dev/null || skip "no dpkg-deb"
  need man man-db
  (cd "$ROOT" && deploy/debian/stage.sh && mvn -B -q -Pdeb jdeb:jdeb@deb) || fail "jdeb: $(grep -m 1 ERROR "$LOGS/deb-build.log" || last)"
  local deb=$ROOT/target/berth.deb path
  dpkg-deb -I "$deb"
  dpkg-deb -c "$deb" >list
  for path in usr/bin/berth usr/share/berth/lib/berth.jar usr/share/berth/lib/berth-cluster.jar etc/berth/berth.yaml etc/default/berth \
    usr/lib/systemd/system/berth.service usr/lib/systemd/system/berth-control.service usr/lib/systemd/system/berth-worker.service \
    usr/share/man/man1/berth.1.gz usr/share/bash-completion/completions/berth usr/share/doc/berth/copyright usr/share/doc/berth/THIRD-PARTY; do
    grep -q " \./$path\( \|$\)" list || fail "no $path in the package"
  done
  grep -q '^-rwxr-xr-x root/root .* \./usr/share/berth/bin/berth$' list || fail "bin/berth: $(grep bin/berth list)"
  man --warnings -E UTF-8 -l -Tutf8 -Z "$ROOT/target/deb/usr/share/man/man1/berth.1.gz" 2>warnings >/dev/null
  [ ! -s warnings ] || fail "man: $(head -n 1 warnings)"
  [ "$(zcat "$ROOT/target/deb/usr/share/man/man1/berth.1.gz" | grep -c '^\.SH BERTH ')" -gt 15 ] || fail "berth(1) lacks commands"
  bash -c ". $ROOT/target/deb/usr/share/bash-completion/completions/berth && complete -p berth" || fail "the completion completes nothing"
  ok "$(dpkg-deb -f "$deb" Package Version Architecture | tr '\n' ' ')$(du -m "$deb" | cut -f1) MB, $(wc -l <list) entries"
}

check_deb_install() {
  [ "$(id -u)" = 0 ] || skip "only root makes a chroot"
  [ -f "$ROOT/target/berth.deb" ] || skip "no package (the check that builds it made none)"
  need debootstrap
  if [ ! -d "$TOOLS/chroot/usr/lib/jvm" ]; then
    [ -d "$TOOLS/chroot/bin" ] || debootstrap --variant=minbase --include=adduser bookworm "$TOOLS/chroot" || skip "debootstrap did not finish"
    mount_proc
    inside apt-get install -qy --no-install-recommends openjdk-17-jre-headless || skip "no Java was installed in the chroot"
  fi
  mount_proc
  cp "$ROOT/target/berth.deb" "$TOOLS/chroot/tmp/"
  inside dpkg --purge berth || true
  inside apt-get install -qy --no-install-recommends /tmp/berth.deb || fail "apt-get: $(tail -n 1 "$LOGS/deb-install.log")"
  inside getent passwd berth | grep -q ':/var/lib/berth:/usr/sbin/nologin$' || fail "no user berth"
  [ "$(inside stat -c '%U %G %a' /var/lib/berth /etc/berth/tls | tr '\n' ' ')" = "berth berth 750 root berth 750 " ] || fail "folders: $(inside stat -c '%n %U %G %a' /var/lib/berth /etc/berth/tls)"
  [ "$(inside dpkg-query -W -f '${Conffiles}' berth | grep -c /etc/)" = 2 ] || fail "conffiles"
  inside berth validate /etc/berth/berth.yaml || fail "/etc/berth/berth.yaml is not valid"
  ok "apt-get installs it with its user, its folders and two conffiles"
}

# Like the unit: its user, its variables, its command.
as_service() {
  mount_proc
  exec chroot --userspec=berth:berth "$TOOLS/chroot" env -i PATH=/usr/bin:/bin BERTH_TMPDIR=/var/lib/berth/tmp \
    bash -c 'cd /var/lib/berth && exec /usr/bin/berth "$@"' berth "$@"
}

deb_start() {
  (as_service run /etc/berth/berth.yaml --port "$port" --admin-port "$admin") >log 2>&1 &
  started=$!
  until_ok 90 grep -q 'started in' log || fail "not started: $(tail -n 1 log)"
}

deb_stop() {
  kill -TERM "$started"
  wait "$started" || fail "exit code $? after SIGTERM: $(tail -n 1 log)"
}

check_deb_quickstart() {
  [ -L "$TOOLS/chroot/usr/bin/berth" ] || skip "no package is installed in the chroot"
  port=$(free_port)
  admin=$(free_port)
  grep -q '^ExecStart=/usr/bin/berth run /etc/berth/berth.yaml$' "$TOOLS/chroot/usr/lib/systemd/system/berth.service" || fail "the unit has another command"
  deb_start
  inside berth deploy /usr/share/berth/conf/quickstart.yaml --wait --address "http://127.0.0.1:$admin" || fail "deploy"
  deb_digit() { curl -s -m 20 -H 'content-type: image/png' --data-binary "@$TOOLS/chroot/usr/share/berth/examples/images/7-3.png" "localhost:$port/classify" | grep -q '"digit":7'; }
  deb_digit || fail "/classify does not recognize the digit"
  inside berth health "127.0.0.1:$admin" || fail "berth health"
  local load
  python3 "$DEPLOY/checks/load.py" "$port" 12 >load.out 2>load.err &
  load=$!
  sleep 4
  kill -USR1 "$load"
  sleep 2
  deb_stop
  wait "$load" || fail "$(cat load.out): $(head -n 1 load.err)"
  deb_start
  until_ok 30 deb_digit || fail "the deployed application does not answer after a restart"
  deb_stop
  ok "README's quickstart answers as user berth; SIGTERM under load: $(cat load.out); a restart keeps what was deployed"
}

check_deb_purge() {
  [ -L "$TOOLS/chroot/usr/bin/berth" ] || skip "no package is installed in the chroot"
  echo '# a line of an operator' >>"$TOOLS/chroot/etc/berth/berth.yaml"
  inside dpkg --remove berth || fail "dpkg --remove"
  [ ! -e "$TOOLS/chroot/usr/share/berth" ] || fail "files of /usr/share/berth stay after --remove"
  grep -q 'a line of an operator' "$TOOLS/chroot/etc/berth/berth.yaml" || fail "--remove took the configuration"
  [ -d "$TOOLS/chroot/var/lib/berth/state" ] || fail "--remove took the state"
  inside dpkg --purge berth || fail "dpkg --purge"
  local left
  left=$(cd "$TOOLS/chroot" && ls -d etc/berth etc/default/berth var/lib/berth usr/bin/berth 2>/dev/null || true)
  [ -z "$left" ] || fail "--purge leaves $left"
  ! inside getent passwd berth || fail "--purge leaves the user"
  umount "$TOOLS/chroot/proc" || true
  ok "--remove keeps the configuration and the state, --purge leaves nothing"
}
