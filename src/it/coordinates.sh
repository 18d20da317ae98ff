#!/usr/bin/env bash
# Installs Berth into a separate repository, with sources and Javadoc. Builds the project in
# src/it/coordinates/sample against it by coordinates alone, starts the result by the launcher and the
# installed jar, and sends one request. It installs nothing into ~/.m2. The project's own test with
# the test kit is part of each "mvn verify" (maven-invoker-plugin), and does not run here.
#
#   src/it/coordinates.sh [--twice] [MAVEN OPTION…]      for example: src/it/coordinates.sh -o
#
# --twice builds two clones of the last commit in folders of different names instead, compares the
# digests of the installed files, and continues with the first clone; this takes about two minutes of
# CPU. Plugins and dependencies come from ~/.m2 (or $M2), where a build of Berth stored them.
set -euo pipefail
cd "$(dirname "$0")/../.."
twice=
if [ "${1-}" = --twice ]; then
  twice=yes
  shift
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/berth by coordinates.XXXXXX")
server=
ended() { # status, last command; printed because a signal, for example of a time limit, gives no reason
  [ "$1" = 0 ] || echo "coordinates: ended with status $1 at: $2" >&2
  [ -z "$server" ] || kill "$server" 2>/dev/null || :
  rm -rf "$work"
}
trap 'ended $? "$BASH_COMMAND"' EXIT
trap 'exit 143' TERM

install() { # folder of the project, repository
  (cd "$1" && mvn -B -q install -DskipTests -DlocalRepositoryPath="$2" ${options[@]+"${options[@]}"})
}

digests() { # repository
  (cd "$1" && find . -name '*.jar' -o -name '*.pom' | sort | xargs sha256sum)
}

options=("$@")
had=${M2:-$HOME/.m2}/repository
had=${had// /%20}
if [ -n "$twice" ]; then
  for name in one "another one"; do
    git clone -q . "$work/$name"
    install "$work/$name" "$work/$name.repository"
    digests "$work/$name.repository" >"$work/$name.digests"
  done
  cat "$work/one.digests"
  diff "$work/one.digests" "$work/another one.digests"
  echo "two builds have the same bytes"
  mv "$work/one.repository" "$work/repository"
else
  install . "$work/repository"
fi
# Berth comes from the new repository, other artifacts from Maven's repository.
sed "s|@localRepositoryUrl@|file://$had|" src/it/coordinates/settings.xml >"$work/settings.xml"
cp -r src/it/coordinates/sample "$work/sample"
rm -rf "$work/sample/target"
(cd "$work/sample" && mvn -B -q -s "$work/settings.xml" -Dmaven.repo.local="$work/repository" \
  -Daether.offline.protocols=file package -DskipTests ${options[@]+"${options[@]}"})

mkdir -p "$work/server/bin" "$work/server/lib"
cp bin/berth "$work/server/bin"
cp "$work"/repository/dev/berth/berth/*/berth-*[!sc].jar "$work/server/lib/berth.jar"
ln -s "$work/server/bin/berth" "$work/berth"
port=${PORT:-$((20000 + RANDOM % 10000))}
BERTH_JAVA_OPTS="-Xmx128m" "$work/berth" -J-Dberth.sample=yes run "$work/sample/berth.yaml" \
  --state-dir "$work/state" --set http_options.port="$port" --set berth.admin.port=$((port + 1)) \
  >"$work/log" 2>&1 &
server=$!
answer=$(curl -s --retry 40 --retry-delay 1 --retry-all-errors --max-time 5 "localhost:$port/greeting?name=world") || :
[ "$answer" = "hello world" ] || { cat "$work/log" >&2; echo "response: $answer (expected: hello world)" >&2; exit 1; }
kill "$server"
wait "$server" || :
server=
echo "$answer: built by coordinates"
