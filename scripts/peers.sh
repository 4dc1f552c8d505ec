#!/bin/sh
# One GROUP BY with one client, on Squall and on the engines of ClickHouse's newest release (PyPI's chdb) and DuckDB, in turns in
# one invocation. Installs the peers in .venv-peers. Arguments: see scripts/peers.py --help.
set -eu
cd "$(dirname "$0")/.."
scripts/venv.sh .venv-peers scripts/peers-requirements.txt
exec .venv-peers/bin/python scripts/peers.py "$@"
