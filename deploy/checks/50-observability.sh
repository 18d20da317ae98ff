# The files of deploy/prometheus and deploy/grafana.

fast prometheus-runbooks
fast prometheus-metrics
full prometheus-alerts
full grafana

alert_names() { sed -n 's/^ *- alert: //p' "$DEPLOY/prometheus/alerts.yml" | sort -u; }

# Each alert has a heading of its name in the operations guide, and its annotation names that heading.
check_prometheus_runbooks() {
  alert_names >alerts
  sed -n 's/^### \(Berth[A-Za-z]*\)$/\1/p' "$ROOT/docs/guide/operations.md" | sort >headings
  diff alerts headings >difference || fail "the alerts (<) and the runbooks (>) of docs/guide/operations.md differ: $(sed -n 2p difference)"
  sed -n '/^ *- alert: /{s///;h};/^ *runbook: /{s///;H;x;s/\n/ /p}' "$DEPLOY/prometheus/alerts.yml" | sort -u >links
  sed 's|.*|& docs/guide/operations.md#\L&|' alerts | diff - links >difference || fail "an alert has (>) another runbook than its own (<): $(sed -n 2p difference)"
  ok "$(wc -l <alerts) alerts, each with its runbook"
}

# Alerts, dashboard and guide name no metric that Berth does not export.
check_prometheus_metrics() {
  grep -ohE '\b(berth|serve|gen_ai)_[a-z_]+' "$DEPLOY/prometheus/alerts.yml" "$DEPLOY/grafana/berth.json" \
    "$DEPLOY/prometheus/alerts_test.yml" "$ROOT/docs/guide/operations.md" | sort -u >named
  sed -n 's/^| `\([a-z_]*\)`.*/\1/p' "$ROOT/docs/metrics.md" | sort -u >known
  local name unknown=()
  while read -r name; do
    grep -qx -e "$name" -e "${name%_bucket}" -e "${name%_sum}" -e "${name%_count}" known || unknown+=("$name")
  done <named
  [ ${#unknown[@]} = 0 ] || fail "not in docs/metrics.md: ${unknown[*]}"
  ok "$(wc -l <named) metrics, all in docs/metrics.md"
}

check_prometheus_alerts() {
  need promtool prometheus
  cp "$DEPLOY"/prometheus/*.yml .
  echo sixteen-characters >berth-token
  promtool check config prometheus.yml
  promtool test rules alerts_test.yml >tests 2>&1 || { cat tests; fail "a test fails: $(grep -m 1 -A 1 ' exp:' tests | tr -s '[:space:]' ' ')"; }
  local alert
  for alert in $(alert_names); do
    grep -q "alertname=\"$alert\"" alerts_test.yml || fail "$alert: no test in alerts_test.yml"
  done
  # A test that cannot fail proves nothing: without `for`, each rule that had it fires too early.
  sed -i '/^        for: /d' alerts.yml
  promtool test rules alerts_test.yml >early 2>&1 || true
  for alert in $(sed -n '/^ *- alert: /{s///;h};/^        for: /{x;p}' "$DEPLOY/prometheus/alerts.yml" | sort -u); do
    grep -q "got:.*alertname=\"$alert\"" early || fail "$alert: no test of its 'for' in alerts_test.yml"
  done
  # With each `> 0` turned around, tests fail.
  sed -i 's/ > 0/ < 0/' alerts.yml
  ! promtool test rules alerts_test.yml >/dev/null || fail "the tests pass with wrong alerts"
  ok "$(grep -c -- '- alert:' alerts.yml) rules, $(grep -c -- '- name:' alerts_test.yml) tests"
}

check_grafana() {
  need_jar
  need prometheus
  need promtool prometheus
  python3 "$DEPLOY/checks/grafana.py" --jar "$JAR" --folder "$PWD" >result 2>&1 || { cat result; fail "$(tail -n 1 result)"; }
  ok "$(tail -n 1 result)"
}
