# Sourced by the scripts of this folder, from the project's folder. Installs and builds their
# requirements. Sets `work`, the output folder, and `classes`, the class path.
#
#   need COMMAND PACKAGE    installs a Debian package unless the command exists
#   debian PACKAGE          installs a Debian package
#   build_jar               builds target/berth.jar unless it is newer than its sources
#   compile_load_tests      compiles java/ and packages handlers.jar and probe.jar
#   peers PACKAGE==VERSION  installs Python packages; sets `venv`, their virtual environment

work=target/load-tests
classes=target/berth.jar:$work/classes

need() { # command, package
  command -v "$1" >/dev/null || debian "$2"
}

debian() { # package
  echo "installing $1"
  local as_root=""
  if [[ $(id -u) -ne 0 ]]; then as_root=sudo; fi
  if ! $as_root apt-get install -y -q --no-install-recommends "$1" >/dev/null 2>&1; then
    $as_root apt-get update -q >/dev/null
    $as_root apt-get install -y -q --no-install-recommends "$1" >/dev/null
  fi
}

build_jar() {
  if [[ -f target/berth.jar && -f target/berth-examples.jar &&
    -z $(find pom.xml src/main src/examples -newer target/berth.jar -type f -print -quit) ]]; then
    return
  fi
  echo "building target/berth.jar"
  mkdir -p "$work"
  mvn -B -q package -DskipTests >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; return 1; }
  touch target/berth.jar # a build without changes keeps the old time
}

compile_load_tests() {
  rm -rf "$work/classes"
  mkdir -p "$work/classes"
  javac --release 17 -proc:none -Xlint:all,-classfile,-processing,-serial -cp target/berth.jar \
    -d "$work/classes" load-tests/java/*.java
  # The handlers, which an application's class loader loads, apart from the measuring classes.
  local handlers=()
  local name
  for name in NoOp Calls Child Streams Uploads SoakApps FlowApp RecordsApp; do
    handlers+=($(cd "$work/classes" && ls | grep -E "^$name(\\$.*)?\.class$"))
  done
  (cd "$work/classes" && jar --create --file ../handlers.jar "${handlers[@]}" &&
    jar --create --file ../probe.jar --manifest=<(echo "Premain-Class: Probe") Probe*.class)
}

# Creates cert.pem and key.pem for 127.0.0.1. They are throw-away keys.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
}

# Raises the limit of open files and sockets of this shell and its children.
descriptors() { # minimum
  if [[ $(ulimit -n) != unlimited ]] && (($(ulimit -n) < $1)); then
    ulimit -n "$1" || { echo "ulimit -n: at most $(ulimit -Hn) (expected: $1)" >&2; exit 2; }
  fi
}

# Prints the commit of the sources, with +changes if files differ from it.
commit() {
  local id
  id=$(git rev-parse --short=12 HEAD 2>/dev/null) || { echo unknown; return; }
  if [[ -n $(git status --porcelain --untracked-files=no 2>/dev/null) ]]; then id+="+changes"; fi
  echo "$id"
}

# Installs Python packages into a virtual environment, whose path is in `venv`; a script may set it.
peers() { # package==version...
  venv=${venv:-$work/upstreams-venv}
  if [[ ! -x $venv/bin/pip ]]; then
    need python3 python3-minimal
    python3 -m venv "$venv" || { debian python3-venv; python3 -m venv "$venv"; }
  fi
  echo "checking $*"
  "$venv/bin/pip" install -q --disable-pip-version-check "$@"
}
