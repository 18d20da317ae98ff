#!/usr/bin/env bash
# The steps of `mvn -Prelease` beside Maven's own; docs/RELEASING.md describes a release.
#
#   deploy/release.sh begin VERSION FIGURES           refuses a version or figures of no release
#   deploy/release.sh files VERSION TIMESTAMP [KEY]   completes target/release
#
# target/release then has
#   repository/                      the artifacts as Maven Central requires them: POM, jar, sources
#                                    and javadoc, each with checksums, and with a signature by KEY
#   berth-VERSION.tar.gz             bin, lib, conf, examples and the licences, to unpack and run
#   berth-VERSION-cyclonedx.{json,xml}   the components of all jars
#   berth-VERSION-bundle.zip         repository/ for the upload
#   SHA256SUMS, SHA512SUMS           of these files, and of the artifacts
# All of it is the same for the same commit, except signatures and the bundle with them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C TZ=UTC
release=target/release

begin() { # version, figures
  case $1 in
    *-SNAPSHOT) echo "version: $1 (expected: a version without -SNAPSHOT, in pom.xml)" >&2 && exit 1 ;;
  esac
  grep -q "^## $1\b" docs/CHANGELOG.md || { echo "docs/CHANGELOG.md: no section ## $1" >&2 && exit 1; }
  if [ "$2" = true ]; then
    bash load-tests/run.sh --check-age
  fi
}

# Ant's jars have the times and the order of files on the disk.
repack() { # jar, result, timestamp
  local folder=target/release.jar result
  result=$(readlink -f "$(dirname "$2")")/$(basename "$2")
  rm -rf "$folder" && mkdir -p "$folder/jar"
  (cd "$folder/jar" && jar --extract --file "../../$(basename "$1")" && find . -type f ! -path ./META-INF/MANIFEST.MF |
    sort | sed 's|^\./||' >../entries && jar --create --file "$result" --manifest META-INF/MANIFEST.MF --date="$3" @../entries)
  rm -r "$folder"
}

archive() { # version, timestamp
  local name=berth-$1 folder=$release/berth-$1
  deploy/dist.sh "$folder"
  repack target/berth-examples.jar "$folder/lib/berth-examples.jar" "$2"
  # As in the Debian package: the JVM's own share of the memory of a machine.
  rm "$folder/lib/java-options"
  chmod -R u=rwX,go=rX "$folder"
  tar --sort=name --mtime="$2" --owner=0 --group=0 --numeric-owner -C "$release" -cf - "$name" | gzip -n9 >"$folder.tar.gz"
  rm -r "$folder"
}

# Central requires md5 and sha1 beside each file.
checksums() {
  local kind
  for kind in md5 sha1 sha256 sha512; do
    "${kind}sum" "$1" | cut -d' ' -f1 | tr -d '\n' >"$1.$kind"
  done
}

files() { # version, timestamp, key
  local key=${3-} file
  rm -rf "$release"/berth-* "$release"/*SUMS
  find "$release/repository" \( -name 'maven-metadata*' -o -name '_remote.repositories' \
    -o -name '*.md5' -o -name '*.sha*' -o -name '*.asc' \) -delete
  for file in json xml; do
    cp "target/berth-cyclonedx.$file" "$release/berth-$1-cyclonedx.$file"
    cp "target/berth-cyclonedx.$file" "$release/repository/dev/berth/berth/$1/berth-$1-cyclonedx.$file"
  done
  archive "$1" "$2"
  (cd "$release" && find . -type f ! -name '*SUMS' | sort | sed 's|^\./||' >../release.files)
  (cd "$release" && xargs -d '\n' sha256sum <../release.files >SHA256SUMS)
  (cd "$release" && xargs -d '\n' sha512sum <../release.files >SHA512SUMS)
  rm target/release.files
  find "$release/repository" -type f | sort >target/release.artifacts
  while IFS= read -r file; do
    checksums "$file"
  done <target/release.artifacts
  if [ -n "$key" ]; then
    { cat target/release.artifacts && ls "$release"/*SUMS "$release"/*.tar.gz; } | while IFS= read -r file; do
      gpg --batch --yes --quiet --local-user "$key" --armor --detach-sign --output "$file.asc" "$file"
    done
  fi
  (cd "$release/repository" && find . -type f | sort | sed 's|^\./||' >../../release.artifacts &&
    jar --create --no-manifest --no-compress --date="$2" --file "../berth-$1-bundle.zip" @../../release.artifacts)
  rm target/release.artifacts
  echo "release: $release: $(find "$release" -type f | wc -l) files${key:+, signed by $key}"
}

case ${1-} in
  begin) begin "$2" "$3" ;;
  files) files "$2" "$3" "${4-}" ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && exit 2 ;;
esac
