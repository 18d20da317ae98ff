# The scripts of deploy/ and bin/ themselves.

fast scripts

check_scripts() {
  local file
  for file in "$ROOT/bin/berth" "$DEPLOY/check.sh" "$DEPLOY"/checks/*.sh; do
    bash -n "$file" || fail "$file: bash does not read it"
  done
  ok "bash reads them"
}
