#!/usr/bin/env bash
# Proves that a change of src/main touches comments only: compiles the tree of a commit and the work
# tree with -g:none by one JDK, and compares each class byte for byte. Line numbers are not compared.
#
#   src/it/same-classes.sh [COMMIT]      COMMIT defaults to HEAD~1
#
# The jars of `mvn -B -q package -DskipTests` are the class path. Exit code 0: all classes are equal.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=$(git rev-parse --short "${1:-HEAD~1}")
jars=target/berth.jar:target/berth-cluster.jar
for jar in ${jars//:/ }; do
  [ -f "$jar" ] || { echo "$jar: missing (expected: mvn -B -q package -DskipTests)" >&2; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

digests() { # SOURCES OUT
  find "$1" -name '*.java' > "$work/files"
  javac -nowarn -g:none -proc:none --release 17 -encoding UTF-8 -cp "$jars" -d "$2" "@$work/files"
  (cd "$2" && find . -name '*.class' | LC_ALL=C sort | xargs sha256sum) > "$2.digests"
}

mkdir -p "$work/tree"
git archive "$commit" src/main/java | tar -x -C "$work/tree"
digests "$work/tree/src/main/java" "$work/before"
digests src/main/java "$work/now"
if ! diff "$work/before.digests" "$work/now.digests" > "$work/diff"; then
  sed -n 's/^[<>] [0-9a-f]*  /differs: /p' "$work/diff" | sort -u | head -20
  echo "same-classes: $commit and the work tree differ" >&2
  exit 1
fi
echo "same-classes: $(wc -l < "$work/now.digests") classes equal to those of $commit"
