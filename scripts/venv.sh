#!/bin/sh
# Makes .venv, the virtual environment of the Python tests and scripts, and installs what tests/clients/requirements.txt pins. Does
# nothing when that was done already.
set -eu
cd "$(dirname "$0")/.."
requirements=tests/clients/requirements.txt
if ! cmp -s "$requirements" .venv/installed.txt; then
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    cp "$requirements" .venv/installed.txt
fi
