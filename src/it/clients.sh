#!/usr/bin/env bash
# Compares the answers that unmodified clients of OpenAI's and Anthropic's APIs get from a server
# directly and through Berth, field by field, and prints a table with all differences.
#
#   src/it/fetch-models.sh && ~/.cache/berth/llm/serve-smollm2 --port 8081 &
#   java -jar target/berth.jar run conf/llm.yaml &
#   src/it/clients.sh --direct http://127.0.0.1:8081 --berth http://127.0.0.1:8000
#
#   --direct URL           base URL of the server, without /v1
#   --berth URL            base URL of Berth, without /v1 (default: the server again, as a self-check)
#   --direct-model NAME    name of the model at the server (default: SmolLM2-135M)
#   --berth-model NAME     name of the model at Berth (default: smol)
#   --key KEY              API key for Berth (default: unused)
#   --only NAME,NAME       clients: curl, openai-python, openai-python-1, anthropic-python, litellm,
#                          openai-node, langchain4j, springai, litellm-proxy (default: all)
#   --work FOLDER          folder of the installed clients, about 1.4 GB for all, never inside the
#                          repository (default: $XDG_CACHE_HOME/berth/clients or ~/.cache/berth/clients)
#   --detail               prints the fields of explained differences too, and 25 of a call instead of 5
#   --record FOLDER        stores requests and answers as files instead of a comparison; the tests'
#                          are src/test/resources/dialect, recorded from the server directly
#
# Each client makes the same calls at temperature 0, with a seed and few tokens; ids and times are not
# compared. A server in front (clients/front.py) also refuses a request as a full queue does, to
# show the retries of each client. Clients that do not install here are named. Needs Python 3.10, and
# for their clients npm, Maven with Java 17, and curl. Exit status: 0 all equal or explained, 1
# otherwise, 2 wrong arguments. All clients take about six minutes on two cores after installation.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd -P)
here=$repository/src/it/clients
all=curl,openai-python,openai-python-1,anthropic-python,litellm,openai-node,langchain4j,springai,litellm-proxy

refuse() { # message
  echo "clients: $1" >&2
  exit 2
}

only=$all
work=${XDG_CACHE_HOME:-$HOME/.cache}/berth/clients
direct=
passed=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --detail) passed+=("$1") ;;
    --direct | --berth | --direct-model | --berth-model | --key | --record | --only | --work)
      [ $# -ge 2 ] || refuse "$1: value missing"
      case $1 in
        --only) only=$2 ;;
        --work) work=$2 ;;
        --direct) direct=${2%/}; passed+=("$1" "$direct") ;;
        --berth) passed+=("$1" "${2%/}") ;;
        *) passed+=("$1" "$2") ;;
      esac
      shift ;;
    *) refuse "$1: unknown (expected: see --help)" ;;
  esac
  shift
done
[ -n "$direct" ] || refuse "--direct: missing (expected: base URL of the server, such as http://127.0.0.1:8081)"
for client in ${only//,/ }; do
  case ,$all, in *,"$client",*) ;; *) refuse "$client: unknown client (expected: of $all)" ;; esac
done
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || refuse "python3: missing or older than 3.10"
mkdir -p "$work" || refuse "$work: not a writable folder"
work=$(cd "$work" && pwd -P)
case $work/ in
  "$repository"/*) rmdir "$work" 2>/dev/null || :; refuse "$work: inside the repository (expected: another folder)" ;;
esac

wants() { # client
  case ,$only, in *,"$1",*) return 0 ;; *) return 1 ;; esac
}

python_client() { # packages of a new environment in the present folder
  python3 -m venv . && bin/pip install --disable-pip-version-check --only-binary :all: "$@"
}

node_client() { # the newest client needs a newer Node than some machines have; the registry has it, too
  cp "$here/openai_calls.mjs" . && npm install --no-audit --no-fund node@22 openai@latest
}

java_client() { # folder of the project
  cp "$here/$1"/* . && mkdir -p classes \
    && mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
      -Dmdep.outputFile=classpath \
    && javac -nowarn -encoding UTF-8 -d classes -cp "$(cat classpath)" ./*.java
}

curl_client() {
  command -v curl
}

install() { # client, command…: runs once per client and state of its sources; a failure is recorded
  local client=$1 folder=$work/$1 stamp
  shift
  stamp="$* $({ declare -f "$1"; cat "$here/$client"/* "$here"/*.mjs 2>/dev/null || :; } | sha256sum | cut -c1-16)"
  [ "$(cat "$work/$client.installed" 2>/dev/null)" != "$stamp" ] || return 0
  echo "$client: installing"
  rm -rf "$folder" "$work/$client.failed" "$work/$client.installed"
  mkdir -p "$folder"
  if (cd "$folder" && "$@") >"$work/$client.log" 2>&1; then
    echo "$stamp" >"$work/$client.installed"
  else
    grep -m1 -iE 'error|not found' "$work/$client.log" >"$work/$client.failed" \
      || tail -1 "$work/$client.log" >"$work/$client.failed"
    echo "$client: not installed: $(cat "$work/$client.failed")"
  fi
}

wants curl && install curl curl_client
if wants openai-python || wants litellm-proxy; then install openai-python python_client openai; fi
wants openai-python-1 && install openai-python-1 python_client 'openai<2'
wants anthropic-python && install anthropic-python python_client anthropic
if wants litellm || wants litellm-proxy; then install litellm python_client 'litellm[proxy]' tenacity; fi
wants openai-node && install openai-node node_client
wants langchain4j && install langchain4j java_client langchain4j
wants springai && install springai java_client springai
exec python3 "$here/compare.py" --work "$work" --only "$only" "${passed[@]}"
