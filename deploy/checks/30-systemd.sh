# shellcheck shell=bash
# The units, and the datagrams that systemd receives.

fast systemd-units
full systemd-verify
full systemd-notify
full systemd-service

check_systemd_units() {
  local unit role wrong
  for unit in berth berth-control berth-worker; do
    [ -f "$DEPLOY/systemd/$unit.service" ] || fail "no $unit.service"
    grep -qx "ExecStart=/usr/bin/berth run /etc/berth/${unit#berth-}.yaml" "$DEPLOY/systemd/$unit.service" || fail "$unit.service: another ExecStart"
    wrong=$(grep -nEv -m 1 '^($|#|\[(Unit|Service|Install)\]$|[A-Z][A-Za-z]*=)' "$DEPLOY/systemd/$unit.service" || true)
    [ -z "$wrong" ] || fail "$unit.service: line $wrong"
  done
  # The three differ in their files, their texts and their limits of time, and in nothing else.
  for role in control worker; do
    wrong=$(diff "$DEPLOY/systemd/berth.service" "$DEPLOY/systemd/berth-$role.service" |
      grep '^[<>]' | grep -Ev -m 1 '^[<>] (#|Description=|ExecStart=|TimeoutStartSec=|Conflicts=)' || true)
    [ -z "$wrong" ] || fail "berth-$role.service differs from berth.service: $wrong"
  done
  ok "three units, one hardening"
}

check_systemd_verify() {
  command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
  local unit level worst=0
  for unit in berth berth-control berth-worker; do
    # With a command that is here.
    sed 's|^ExecStart=/usr/bin/berth |ExecStart=/bin/true |' "$DEPLOY/systemd/$unit.service" >"$unit.service"
    systemd-analyze verify --man=no "./$unit.service" >out 2>&1 || fail "$unit: $(head -n 1 out)"
    [ ! -s out ] || fail "$unit: $(head -n 1 out)"
    level=$(systemd-analyze security --no-pager --offline=yes "./$unit.service" | sed -n 's/.*exposure level for .*: \([0-9.]*\).*/\1/p')
    worst=$(printf '%s\n' "$level" "$worst" | sort -n | tail -n 1)
  done
  [ "${worst%.*}" -le 1 ] || fail "exposure level $worst (expected: below 2)"
  ok "systemd-analyze verify finds nothing, and the exposure level is at most $worst of 10"
}

check_systemd_notify() {
  need_jar
  need python3
  python3 "$DEPLOY/checks/notify.py" "$ROOT/bin/berth" >out || fail "$(tail -n 1 out)"
  ok "$(tail -n 1 out)"
}

check_systemd_service() {
  need_jar
  [ -d /run/systemd/system ] || skip "systemd is not process 1: notify.py received the messages of a server in its place"
  [ "$(id -u)" = 0 ] || skip "only root starts a unit"
  local admin
  admin=$(free_port)
  # Returns after READY=1.
  systemd-run -q --unit="berth-check-$$" --service-type=notify -p WatchdogSec=30 -p NotifyAccess=main \
    "$ROOT/bin/berth" run --ephemeral --port "$(free_port)" --admin-port "$admin" || fail "systemd-run"
  trap 'systemctl stop "berth-check-$$"' EXIT
  "$ROOT/bin/berth" health "127.0.0.1:$admin" || fail "berth health"
  ok "systemd starts a server with Type=notify and a watchdog"
}
