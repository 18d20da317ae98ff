#!/usr/bin/env bash
# Runs Ray Serve's unmodified command line against a running Berth: deploy, status, config and
# shutdown, and their output on errors.
#
#   mvn -B package -DskipTests && bash src/it/ray-cli.sh
#   bash src/it/ray-cli.sh --cluster   # against a worker with a separate control node
#   bash src/it/ray-cli.sh --record    # also stores its requests for RayCommandsTest
#
# Needs Python 3.9 or newer and Java 17 or newer. Installs Ray once into the folder BERTH_RAY_CACHE,
# or into a temporary folder that is removed at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."

ray='ray[serve]==2.60.0'
here=src/it/ray-cli

for jar in target/berth.jar target/berth-examples.jar; do
  [ -f "$jar" ] || { echo "$jar: missing (expected: run mvn package -DskipTests)" >&2; exit 2; }
done

if [ -n "${BERTH_RAY_CACHE:-}" ]; then
  cache=$BERTH_RAY_CACHE
  mkdir -p "$cache"
else
  cache=$(mktemp -d)
  trap 'rm -rf "$cache"' EXIT
fi
python=$cache/venv/bin/python
if ! "$python" -c 'import ray; assert ray.__version__ == "2.60.0"' 2>/dev/null; then
  echo "installing $ray into $cache/venv"
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install --quiet --disable-pip-version-check "$ray"
fi

"$python" "$here/models.py" | cmp - src/test/resources/ray-cli/models.json \
  || { echo "models.json: differs (expected: output of models.py)" >&2; exit 1; }
echo "PASS the models of Ray equal those that the tests check Berth's responses with"
"$python" "$here/scenario.py" "$@"
