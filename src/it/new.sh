#!/usr/bin/env bash
# Creates a project of each variant by "berth new", builds it with its test, serves its jars by
# "berth run" and its sources by "berth dev", changes a line and waits for it. Prints the median time
# from the save of a line to its response, of 20 saves in a project of 50 classes.
#
#   src/it/new.sh [--repository DIR] [VARIANT…]      VARIANT: java, kotlin, gradle; all by default
#
# DIR has Berth's artifacts; without it, the script installs them into a folder of its own. Nothing
# is installed into ~/.m2, which serves the plugins and dependencies that it has; others come from
# Maven Central. The variant gradle needs Gradle 7 or later, and is named unchecked without it.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/berth-new.XXXXXX")
server=
ended() { # status, last command
  [ "$1" = 0 ] || { echo "new: ended with status $1 at: $2" >&2; tail -30 "$work/log" >&2 || :; }
  [ -z "$server" ] || kill "$server" 2>/dev/null || :
  rm -rf "$work"
}
trap 'ended $? "$BASH_COMMAND"' EXIT
trap 'exit 143' TERM INT
repository=$work/repository
if [ "${1-}" = --repository ]; then
  cp -r "$2" "$repository"
  shift 2
else
  mvn -B -q install -DskipTests -DlocalRepositoryPath="$repository"
fi
had=${M2:-$HOME/.m2}/repository
cat >"$work/settings.xml" <<EOF
<settings>
  <profiles><profile>
    <id>had</id>
    <repositories><repository><id>had</id><url>file://${had// /%20}</url></repository></repositories>
    <pluginRepositories><pluginRepository><id>had</id><url>file://${had// /%20}</url></pluginRepository></pluginRepositories>
  </profile></profiles>
  <activeProfiles><activeProfile>had</activeProfile></activeProfiles>
</settings>
EOF
jar=$(ls "$repository"/dev/berth/berth/*/berth-*.jar 2>/dev/null | grep -v 'sources\|javadoc' | head -1) || :
[ -n "$jar" ] || jar=$PWD/target/berth.jar
port=${PORT:-$((20000 + RANDOM % 10000))}

berth() { java -Xmx512m -jar "$jar" "$@"; }

start() { # command, options
  java -Xmx512m -jar "$jar" "$@" --set http_options.port="$port" --set berth.admin.port=$((port + 1)) >"$work/log" 2>&1 &
  server=$!
}

stop() {
  kill "$server"
  wait "$server" || :
  server=
}

item() { curl -s --max-time 5 "localhost:$port/items/1" || :; }

await() { # text
  for _ in $(seq 600); do
    case "$(item)" in *"$1"*) return ;; esac
    sleep 0.1
  done
  echo "response: $(item) (expected: $1)" >&2
  return 1
}

median() { # file; changes the name of the item 20 times
  python3 - "$1" "http://localhost:$port/items/1" <<'EOF'
import re, statistics, sys, time, urllib.error, urllib.request

path, url = sys.argv[1:]
text = open(path, encoding="utf-8").read()
times, last = [], "bread"
for turn in range(20):
    name = f"bread{turn}"
    text = text.replace(f'"{last}"', f'"{name}"')
    last = name
    began = time.monotonic()
    with open(path, "w", encoding="utf-8") as source:
        source.write(text)
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                if f'"{name}"' in response.read().decode():
                    break
        except urllib.error.HTTPError:
            pass
        if time.monotonic() - began > 60:
            sys.exit(f"{name}: not live")
        time.sleep(0.01)
    times.append(time.monotonic() - began)
    time.sleep(0.5)
print(f"from save to response: median {statistics.median(times):.2f} s, longest {max(times):.2f} s, of 20")
EOF
}

more() { # folder; 49 further classes
  for i in $(seq 49); do
    printf 'package %s;\n\n/** Part %s. */\nfinal class Part%s {\n  record Line(String name, long cents) {}\n\n  static long total(java.util.List<Line> lines) {\n    return lines.stream().mapToLong(Line::cents).sum() + %s;\n  }\n}\n' \
      "$(basename "$1")" "$i" "$i" "$i" >"$1/Part$i.java"
  done
}

for variant in "${@:-java kotlin gradle}"; do for variant in $variant; do
  if [ "$variant" = gradle ]; then
    version=$( (gradle --version 2>/dev/null || :) | sed -n 's/^Gradle \([0-9]*\).*/\1/p')
    if [ "${version:-0}" -lt 7 ]; then
      echo "gradle: unchecked: no Gradle of version 7 or later"
      continue
    fi
  fi
  option=--$variant
  [ "$variant" != java ] || option=
  (cd "$work" && berth new "shop-$variant" $option >/dev/null)
  project=$work/shop-$variant
  mkdir "$project/.mvn"
  printf -- '-s\n%s\n-Dmaven.repo.local=%s\n' "$work/settings.xml" "$repository" >"$project/.mvn/maven.config"
  (cd "$project" && if [ "$variant" = gradle ]; then
    gradle -q -Dmaven.repo.local="$repository" build
  else
    mvn -B -q package
  fi)
  start run "$project/berth.yaml" --ephemeral
  await bread
  stop
  source=$(ls "$project"/src/main/*/app/Shop.*)
  [ "$variant" = kotlin ] || more "$(dirname "$source")"
  start dev "$project/berth.yaml"
  await bread
  sed -i.before 's/"bread"/"cake"/' "$source" && rm "$source.before"
  await cake
  if [ "$variant" != kotlin ]; then
    sed -i.before 's/"cake"/"bread"/' "$source" && rm "$source.before"
    await bread
    median "$source"
  fi
  stop
  [ ! -e "$project/berth-state" ] || { echo "berth-state: exists" >&2; exit 1; }
  echo "$variant: created, built, tested, served, and a changed line is live"
done; done
