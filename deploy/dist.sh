#!/usr/bin/env bash
# Lays out an installation from the jars of a build: deploy/dist.sh [DIR]; default: target/dist.
# The Dockerfile, the profiles "image" (Jib) and "deb", and deploy/release.sh take this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=${1:-target/dist}
jars=${BERTH_DIST_JARS:-target}

rm -rf "$dist"
mkdir -p "$dist"/{bin,lib,conf,examples/images}
cp -p bin/berth "$dist/bin/"
cp -p "$jars"/berth.jar "$jars"/berth-cluster.jar "$jars"/berth-examples.jar "$dist/lib/"
cp -p LICENSE NOTICE THIRD-PARTY "$dist/"
cp -p deploy/java-options "$dist/lib/"
for file in conf/*.yaml; do
  sed 's|\.\./target/|../lib/|; s|target/berth\.jar|lib/berth.jar|' "$file" >"$dist/$file"
done
cp -p src/examples/images/?-3.png "$dist/examples/images/"
# The archive of classes and Jib compare or copy these.
find "$dist" -type d -exec chmod 755 {} +
find "$dist" -type f -exec chmod 644 {} +
chmod 755 "$dist/bin/berth"
