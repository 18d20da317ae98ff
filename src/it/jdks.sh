#!/usr/bin/env bash
# Builds and verifies a clean clone of this checkout's last commit with each installed JDK from 17 to
# 25, one after the other, and prints a table. Run it before any claim about a JDK: classes of another
# JDK in target/ hide compile errors.
#
#   src/it/jdks.sh [--quick] [MAVEN OPTION…]
#
# --quick builds without tests, by the README's first command. The script searches JDKs in $JDKS
# (homes, separated by colons), $JAVA_HOME, /usr/lib/jvm and SDKMAN's folder. Exit status: 1 when a
# build fails, 2 without a JDK. Logs, and the clones of failed builds, stay in target/jdks.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
goals=(verify)
if [ "${1-}" = --quick ]; then
  goals=(package -DskipTests)
  shift
fi
logs=$PWD/target/jdks
mkdir -p "$logs" || exit 2
[ -z "$(git status --porcelain)" ] || echo "work tree: uncommitted changes: not part of the build" >&2

# Prints the homes of JDKs, without duplicates.
homes() {
  local home
  IFS=: read -ra given <<<"${JDKS-}"
  for home in "${given[@]}" "${JAVA_HOME-}" /usr/lib/jvm/* "${SDKMAN_DIR:-$HOME/.sdkman}"/candidates/java/*; do
    [ -n "$home" ] && [ -x "$home/bin/javac" ] && realpath "$home"
  done | awk '!seen[$0]++'
}

version_of() { # home; prints for example 17.0.15
  "$1/bin/javac" -version 2>&1 | sed -n 's/^javac //p'
}

build() { # home, folder
  git clone -q --no-checkout . "$2" && git -C "$2" checkout -q "$commit" || return 1
  cd "$2" || return 1
  export JAVA_HOME=$1
  mvn -B -q "${goals[@]}" "${options[@]}" && "$1/bin/java" -jar target/berth.jar validate conf/quickstart.yaml
}

options=("$@")
commit=$(git rev-parse HEAD) || exit 2
rows=() failed=0
while read -r home; do
  version=$(version_of "$home")
  major=${version%%[.-]*}
  [[ $major =~ ^[0-9]+$ ]] && ((major >= 17 && major <= 25)) || continue
  name=$(basename "$home")
  log=$logs/$name.log
  clone=$logs/$name
  rm -rf "$clone"
  echo "building with $home …" >&2
  began=$SECONDS
  if (build "$home" "$clone") </dev/null >"$log" 2>&1; then
    result=ok
    rm -rf "$clone"
  else
    result="failed, see $log"
    failed=1
  fi
  rows+=("$(printf '%-10s %-44s %6s  %s' "$version" "$home" "$((SECONDS - began))" "$result")")
done < <(homes)
if [ ${#rows[@]} -eq 0 ]; then
  echo "JDK: none from 17 to 25 (expected: in JDKS, JAVA_HOME, /usr/lib/jvm or SDKMAN's folder)" >&2
  exit 2
fi
printf '%-10s %-44s %6s  %s\n' JDK home s "mvn -B -q ${goals[*]} of ${commit:0:12}"
printf '%s\n' "${rows[@]}"
exit $failed
