#!/usr/bin/env bash
# Lays out the tree of the Debian package in target/deb, for the profile "deb".
set -euo pipefail
cd "$(dirname "$0")/../.."
root=target/deb
rm -rf "$root"
mkdir -p "$root"/etc/berth "$root"/etc/default "$root"/usr/lib/systemd/system
mkdir -p "$root"/usr/share/{bash-completion/completions,doc/berth,man/man1}
deploy/dist.sh "$root/usr/share/berth"
mv "$root/usr/share/berth/LICENSE" "$root/usr/share/doc/berth/copyright"
mv "$root"/usr/share/berth/{NOTICE,THIRD-PARTY} "$root/usr/share/doc/berth/"
# A share of a machine that has other work, too: Java's own quarter.
rm "$root/usr/share/berth/lib/java-options"
cp deploy/debian/berth.yaml "$root/etc/berth/"
cp deploy/debian/default "$root/etc/default/berth"
cp deploy/systemd/*.service "$root/usr/lib/systemd/system/"
bin/berth completion >"$root/usr/share/bash-completion/completions/berth"
deploy/debian/man.sh | gzip -9n >"$root/usr/share/man/man1/berth.1.gz"
