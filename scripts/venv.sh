#!/bin/sh
# Makes a virtual environment in FOLDER and installs what the REQUIREMENTS file pins; does nothing when that was done already. Without
# arguments: .venv, the one of the Python tests and scripts.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-.venv}
mkdir -p "$(dirname "$folder")"
requirements=${2:-tests/clients/requirements.txt}
if ! cmp -s "$requirements" "$folder/installed.txt"; then
    echo "Installing into $folder from PyPI: $(grep -v '^#' "$requirements" | tr '\n' ' ')"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    cp "$requirements" "$folder/installed.txt"
fi
