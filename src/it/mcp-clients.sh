#!/usr/bin/env bash
# Compares the answers that unmodified SDKs of the Model Context Protocol get from a server directly
# and through Berth (berth:mcp), field by field, and prints a table with all unexplained differences.
#
#   mvn -B -q package -DskipTests && src/it/mcp-clients.sh
#
#   --jar FILE             jar of Berth (default: target/berth.jar)
#   --only NAME,NAME       clients: python (package mcp), typescript-1 (@modelcontextprotocol/sdk),
#                          typescript-2 (@modelcontextprotocol/client); default: all
#   --work FOLDER          folder of the installed clients, about 150 MB for all, never inside the
#                          repository (default: $XDG_CACHE_HOME/berth/mcp or ~/.cache/berth/mcp)
#   --python FOLDER        virtual environment with the package mcp, used instead of a new one
#
# Starts two servers of the Python SDK and Berth with the limit 2 for the tool "search", on free ports
# of the loopback address. Each client makes the same calls in each revision that it speaks; ids are
# not compared. Three checks follow: a session stays with its server, a killed server ends its sessions,
# and six clients of the limited tool. Clients that do not install here are named. Needs Python 3.10,
# Java 17, and for the TypeScript SDK Node 20 and npm. Exit status: 0 all equal or explained, 1
# otherwise, 2 wrong arguments. All clients take about one minute on two cores, and one more to install.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd -P)
here=$repository/src/it/mcp
all=python,typescript-1,typescript-2

refuse() { # message
  echo "mcp-clients: $1" >&2
  exit 2
}

only=$all
work=${XDG_CACHE_HOME:-$HOME/.cache}/berth/mcp
jar=$repository/target/berth.jar
python=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --jar | --only | --work | --python)
      [ $# -ge 2 ] || refuse "$1: value missing"
      case $1 in
        --jar) jar=$2 ;;
        --only) only=$2 ;;
        --work) work=$2 ;;
        --python) python=$2 ;;
      esac
      shift ;;
    *) refuse "$1: unknown (expected: see --help)" ;;
  esac
  shift
done
for client in ${only//,/ }; do
  case ,$all, in *,"$client",*) ;; *) refuse "$client: unknown client (expected: of $all)" ;; esac
done
[ -f "$jar" ] || refuse "$jar: missing (expected: jar of Berth, see --help)"
jar=$(cd "$(dirname "$jar")" && pwd -P)/$(basename "$jar")
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || refuse "python3: missing or older than 3.10"
mkdir -p "$work" || refuse "$work: not a writable folder"
work=$(cd "$work" && pwd -P)
case $work/ in
  "$repository"/*) rmdir "$work" 2>/dev/null || :; refuse "$work: inside the repository (expected: another folder)" ;;
esac

python_client() {
  if [ -n "$python" ]; then
    ln -s "$python"/* .
  else
    python3 -m venv . && bin/pip install --disable-pip-version-check --only-binary :all: mcp
  fi
}

node_client() { # package
  npm install --no-audit --no-fund "$1@latest"
}

install() { # client, command…: a failure is recorded
  local client=$1 folder=$work/$1
  shift
  rm -f "$work/$client.failed"
  [ "$(cat "$work/$client.installed" 2>/dev/null)" != "$* $python" ] || return 0
  echo "$client: installing"
  rm -rf "$folder" "$work/$client.installed"
  mkdir -p "$folder"
  if (cd "$folder" && "$@") >"$work/$client.log" 2>&1; then
    echo "$* $python" >"$work/$client.installed"
  else
    grep -m1 -iE 'error|not found' "$work/$client.log" >"$work/$client.failed" \
      || tail -1 "$work/$client.log" >"$work/$client.failed"
    echo "$client: not installed: $(cat "$work/$client.failed")"
  fi
}

install python python_client # the servers need it, too
[ ! -f "$work/python.failed" ] || exit 1
for client in typescript-1 typescript-2; do
  case ,$only, in *,"$client",*) ;; *) continue ;; esac
  [ $client = typescript-1 ] && package=@modelcontextprotocol/sdk || package=@modelcontextprotocol/client
  install $client node_client $package
  cp "$here/typescript_calls.mjs" "$work/$client/"
done
exec python3 "$here/compare.py" --work "$work" --jar "$jar" --only "$only"
