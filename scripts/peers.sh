#!/bin/sh
# The seed's query with one client, on Squall and on the engines of ClickHouse's newest release (PyPI's chdb) and DuckDB, in turns in
# one invocation. Installs the peers in .venv-peers. Arguments: see scripts/peers.py --help.
set -eu
cd "$(dirname "$0")/.."
if [ ! -f .venv-peers/installed ]; then
    python3 -m venv .venv-peers
    .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check chdb==4.4.0 duckdb==2.0.0 clickhouse-driver==0.2.11
    touch .venv-peers/installed
fi
exec .venv-peers/bin/python scripts/peers.py "$@"
