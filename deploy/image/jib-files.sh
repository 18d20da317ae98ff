#!/usr/bin/env bash
# Lays out the files of the image of Jib in target/jib, for the profile "image".
set -euo pipefail
cd "$(dirname "$0")/../.."
rm -rf target/jib
mkdir -p target/jib/{etc/berth,var/lib/berth}
deploy/dist.sh target/jib/opt/berth
cp deploy/image/berth.yaml target/jib/etc/berth/
