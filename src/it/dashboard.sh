#!/usr/bin/env bash
# Drives the page of an instance under load in Chromium: each view in light, dark and narrow, a scale, a
# traffic move, a deploy and a rollback by mouse, names with HTML, tokens, a lost connection, frames and
# scripts of other sites, an hour of simulated news, 1 000 applications and 10 000 replicas. `cluster` drives
# the page of a worker: a drain under requests, and the loss and return of the control node. Prints one line
# for each claim.
#
#   bash src/it/dashboard.sh              about ten minutes; pictures in target/load-tests/dashboard
#   bash src/it/dashboard.sh --pictures   also writes docs/pictures
#   bash src/it/dashboard.sh views acts   only these parts, of: views acts tokens sites long many idle cluster
set -euo pipefail
cd "$(dirname "$0")/../.."
source load-tests/prepare.sh

need chromium chromium
need node nodejs
need npm npm
build_jar
folder=$work/dashboard
mkdir -p "$folder/classes"
if [[ ! -d $folder/node_modules/axe-core ]]; then
  PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-save --no-audit --no-fund --prefix "$folder" \
    puppeteer-core@24.43.1 axe-core@4.14.1
fi
javac --release 17 -cp target/berth.jar -d "$folder/classes" src/it/dashboard/Demo.java
jar --create --file "$folder/demo.jar" -C "$folder/classes" .
exec node src/it/dashboard/check.mjs target/berth.jar "$folder" "$@"
