#!/usr/bin/env bash
# Checks the files of deploy/, and prints one line for each check:
#
#   ok NAME: RESULT | FAILED NAME: CAUSE | not checked NAME: REASON
#
#   deploy/check.sh [--fast] [--list] [GLOB…]     as: deploy/check.sh 'image-*' 'deb-*'
#
# --fast runs the checks that need no network, no tool except those of a build, and a few seconds.
# The others install tools by package name, as root, and take about half an hour. --list prints the
# names of the checks. The log of a check is target/deploy-check/NAME.log. The exit code is 1 if a
# check failed, and 2 for wrong usage. `mvn -B package -DskipTests` makes target/berth.jar first.
#
# Variables:
#   BERTH_JAR              berth.jar; default: target/berth.jar
#   BERTH_CHECK_TOOLS      the folder of installed tools; default: target/deploy-check/tools
#   BERTH_CHECK_JDK        a JDK 25 for the images; default: the first of /usr/lib/jvm/*25*
#   BERTH_CHECK_STORAGE    the storage driver of buildah; default: overlay
#
# A file checks/*.sh declares its checks, `fast NAME` or `full NAME`, in the order of their runs,
# and each has a function check_NAME with _ for -. The function runs in a shell of its own with
# -eu -o pipefail, in an empty folder. It ends with `ok RESULT`, `fail CAUSE` or `skip REASON`; a
# command that fails ends it, too. The variables: ROOT, the project; DEPLOY, its deploy; JAR,
# berth.jar; TOOLS, a folder that stays between runs; WORK, one that the checks of a run share.
set -uo pipefail

DEPLOY=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
ROOT=$(dirname "$DEPLOY")
JAR=${BERTH_JAR:-$ROOT/target/berth.jar}
LOGS=$ROOT/target/deploy-check
TOOLS=${BERTH_CHECK_TOOLS:-$LOGS/tools}
export DEPLOY ROOT JAR LOGS TOOLS

speeds=()
names=()
fast() { speeds+=(fast) && names+=("$1"); }
full() { speeds+=(full) && names+=("$1"); }

# --- the words of a check ---

ok() { finish ok "$*"; }
fail() { finish FAILED "$*"; }
skip() { finish "not checked" "$*"; }

finish() {
  printf '%s\n%s\n' "$1" "$2" >"$RESULT"
  exit 0
}

# The last line of the log of the check.
last() { grep -v '^[[:space:]]*$' "$log" | tail -n 1 | cut -c1-200; }

# need COMMAND [PACKAGE]: the command, from a Debian package if it is not there.
need() {
  command -v "$1" >/dev/null && return
  [ "$(id -u)" = 0 ] || skip "$1 is not installed, and only root installs ${2-$1}"
  command -v apt-get >/dev/null || skip "$1 is not installed, and there is no apt-get"
  [ -f "$TOOLS/.updated" ] || { apt-get update -q && touch "$TOOLS/.updated"; } || skip "apt-get update failed"
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${2-$1}" || skip "the package ${2-$1} was not installed"
}

# need_pip COMMAND PACKAGE==VERSION: the command, from PyPI; $TOOLS/venv/bin/COMMAND runs it.
need_pip() {
  [ -x "$TOOLS/venv/bin/$1" ] && return
  need python3
  [ -x "$TOOLS/venv/bin/python3" ] || python3 -m venv "$TOOLS/venv" || skip "no venv: python3-venv is not installed"
  "$TOOLS/venv/bin/pip" install -q --disable-pip-version-check "$2" || skip "pip did not install $2"
}

# need_go COMMAND MODULE@VERSION [COMMAND OF THE MODULE]: built by go install as $TOOLS/bin/COMMAND.
need_go() {
  [ -x "$TOOLS/bin/$1" ] && return
  command -v go >/dev/null || skip "go is not installed"
  mkdir -p "$TOOLS/bin" "$TOOLS/gobin"
  GOFLAGS=-mod=mod GOBIN=$TOOLS/gobin go install "$2" || skip "go install $2 failed"
  mv "$TOOLS/gobin/${3-$1}" "$TOOLS/bin/$1"
}

need_jar() { [ -f "$JAR" ] || skip "$JAR does not exist (mvn -B package -DskipTests makes it)"; }

# until_ok SECONDS COMMAND…: whether the command succeeded in time; it runs ten times a second.
until_ok() {
  local end=$((SECONDS + $1))
  shift
  while ! "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# --- the run ---

for file in "$DEPLOY"/checks/*.sh; do
  # shellcheck source=/dev/null
  . "$file"
done

only=
list=
globs=()
for word in "$@"; do
  case $word in
    --fast) only=fast ;;
    --list) list=1 ;;
    --help) sed -n '2,/^# A file checks/{/^# A file/q;s/^# \{0,1\}//p}' "$DEPLOY/check.sh" && exit ;;
    -*) echo "usage: deploy/check.sh [--fast] [--list] [GLOB…] (--help: more)" >&2 && exit 2 ;;
    *) globs+=("$word") ;;
  esac
done

chosen() {
  local glob
  [ -z "$only" ] || [ "$only" = "${speeds[$1]}" ] || return 1
  [ ${#globs[@]} -gt 0 ] || return 0
  for glob in "${globs[@]}"; do
    # shellcheck disable=SC2053  # a pattern
    [[ ${names[$1]} == $glob ]] && return 0
  done
  return 1
}

mkdir -p "$LOGS" "$TOOLS"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/berth-check.XXXXXX") || exit 2
export WORK
trap 'rm -rf "$WORK"' EXIT
counts=(0 0 0)
found=
for i in "${!names[@]}"; do
  chosen "$i" || continue
  found=1
  name=${names[$i]}
  if [ -n "$list" ]; then
    echo "${speeds[$i]} $name"
    continue
  fi
  RESULT=$WORK/$name.result
  mkdir -p "$WORK/$name"
  log=$LOGS/$name.log
  (
    set -eu -o pipefail
    cd "$WORK/$name"
    "check_${name//-/_}"
    fail "the check ended without a result"
  ) >"$log" 2>&1 </dev/null
  code=$?
  state=FAILED
  reason="exit code $code: $(last)"
  [ ! -f "$RESULT" ] || { read -r state && IFS= read -r reason; } <"$RESULT"
  echo "$state $name: $reason"
  case $state in
    ok) counts[0]=$((counts[0] + 1)) ;;
    FAILED) counts[1]=$((counts[1] + 1)) ;;
    *) counts[2]=$((counts[2] + 1)) ;;
  esac
done
[ -n "$found" ] || { echo "deploy/check.sh: no such check: ${globs[*]}" >&2 && exit 2; }
[ -z "$list" ] || exit 0
echo "${counts[0]} ok, ${counts[1]} FAILED, ${counts[2]} not checked"
[ "${counts[1]}" = 0 ]
