#!/usr/bin/env bash
# Ray Serve's own command line, unmodified, against a started Berth: deploy, status, config and
# shutdown, and what they say when something is wrong.
#
#   mvn -B package -DskipTests && bash src/it/ray-cli.sh
#   bash src/it/ray-cli.sh --cluster   # against a worker, whose control node is another
#   bash src/it/ray-cli.sh --record    # and keep its requests for RayCommandsTest
#
# Python 3.9 or newer and Java 17 or newer. Ray is installed once, into the folder that
# BERTH_RAY_CACHE names, or else into a temporary one that is removed at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."

ray='ray[serve]==2.60.0'
here=src/it/ray-cli

for jar in target/berth.jar target/berth-examples.jar; do
  [ -f "$jar" ] || { echo "$jar: missing (expected: made by mvn package -DskipTests)" >&2; exit 2; }
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
  || { echo "models.json: another (expected: what models.py prints)" >&2; exit 1; }
echo "PASS the models of Ray are those that the tests check our answers with"
"$python" "$here/scenario.py" "$@"
