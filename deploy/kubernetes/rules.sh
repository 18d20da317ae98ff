#!/usr/bin/env bash
# Copies the alerts of ../prometheus/alerts.yml into the component monitoring and into the chart.
#
#   deploy/kubernetes/rules.sh            writes both
#   deploy/kubernetes/rules.sh --check    exit code 1, and the difference, if they are others
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
alerts=../prometheus/alerts.yml
chart=../helm/berth/files/alerts.yml
component=components/monitoring/prometheusrule.yaml

rule() {
  cat <<'RULE'
# The alerts of deploy/prometheus/alerts.yml, written by deploy/kubernetes/rules.sh.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: berth-alerts
spec:
RULE
  sed -e 's/^/  /' -e 's/[[:blank:]]*$//' "$alerts"
}

if [ "${1-}" = --check ]; then
  cmp "$alerts" "$chart" && diff <(rule) "$component"
else
  cp "$alerts" "$chart"
  rule >"$component"
fi
