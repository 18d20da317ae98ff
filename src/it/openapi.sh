#!/usr/bin/env bash
# A client generated from the OpenAPI document of an application talks to that application.
#
#   mvn -B -q package -DskipTests && src/it/openapi.sh
#
#   --jar FILE      berth.jar (default: target/berth.jar)
#   --work FOLDER   folder of the generated client and of the jars (default: a new one, removed)
#
# The application (openapi/ItApplication.java) uses hibernate-validator and Swagger UI. The client is
# that of openapi-generator from Maven, for java.net.http. Needs JDK 17, Maven with 40 MB of
# downloads, and curl. Takes about a minute. Exit status: 0 all checks hold, 1 otherwise.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd -P)
here=$repository/src/it/openapi
jar=$repository/target/berth.jar
work=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --jar) jar=$2; shift ;;
    --work) work=$2; shift ;;
    *) echo "openapi: $1: unknown (expected: see --help)" >&2; exit 2 ;;
  esac
  shift
done
server=
temporary=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  if [ -n "$temporary" ]; then rm -rf "$temporary"; fi
}
trap finish EXIT
if [ -z "$work" ]; then
  temporary=$(mktemp -d)
  work=$temporary
fi
mkdir -p "$work/application"
mvn -B -q -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
generator=$(ls "$work"/jars/openapi-generator-cli-*.jar)
libraries=$(ls "$work"/jars/*.jar | grep -v openapi-generator-cli | paste -sd: -)

javac -parameters -d "$work/application" -cp "$jar:$libraries" "$here/ItApplication.java"
jar --create --file "$work/application.jar" -C "$work/application" .
jars=$(ls "$work"/jars/*.jar | grep -v 'openapi-generator-cli\|databind-nullable\|jakarta.annotation\|jsr305' | paste -sd, -)
cat > "$work/things.yaml" <<YAML
applications:
  - name: things
    route_prefix: /things-api
    import_path: ItApplication:build
    runtime_env: {jars: [$work/application.jar, $jars]}
YAML
java -jar "$jar" run "$work/things.yaml" --host=127.0.0.1 --port=0 --admin-port=0 \
  --set=berth.ephemeral=true > "$work/berth.log" 2>&1 &
server=$!
for _ in $(seq 120); do
  if grep -q 'started in' "$work/berth.log" || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.5
done
url=$(sed -n 's/.*started in.*: \(http[^;]*\);.*/\1/p' "$work/berth.log")
[ -n "$url" ] || { tail -20 "$work/berth.log" >&2; exit 1; }

curl -sS -f "$url/openapi.json" > "$work/openapi.json"
curl -sS -f -o /dev/null "$url/docs/swagger-ui-bundle.js"
java -jar "$generator" validate -i "$work/openapi.json"
rm -rf "$work/client"
java -jar "$generator" generate -i "$work/openapi.json" -g java --library native -o "$work/client" \
  --additional-properties=invokerPackage=it.client,apiPackage=it.client.api,modelPackage=it.client.model,hideGenerationTimestamp=true \
  --global-property=apis,models,supportingFiles,apiTests=false,modelTests=false > "$work/generator.log"
javac -nowarn -proc:none -d "$work/client/classes" -cp "$libraries" \
  $(find "$work/client/src/main/java" -name '*.java') "$here/Calls.java"
java -cp "$work/client/classes:$libraries" Calls "$url"
