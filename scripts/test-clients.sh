#!/bin/sh
# Runs tests/clients: real clients against the release binary. Installs what it needs: the PyPI clients in .venv, and Debian's ClickHouse
# programs where apt-get is at hand and we are root; says what is skipped where they are missing. Arguments go to pytest:
#   scripts/test-clients.sh tests/clients/test_http.py -k keep_alive
set -eu
cd "$(dirname "$0")/.."

missing=
for program in clickhouse-client clickhouse-benchmark; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing Debian's clickhouse-client and clickhouse-tools"
    export DEBIAN_FRONTEND=noninteractive
    if { apt-get update && apt-get install --yes --no-install-recommends clickhouse-client clickhouse-tools; } >/tmp/squall-apt.log 2>&1; then
        missing=
    else
        tail -n 5 /tmp/squall-apt.log
    fi
fi
[ -z "$missing" ] || echo "SKIPPED: the tests of$missing, which could not be installed (Debian packages clickhouse-client, clickhouse-tools)"

scripts/venv.sh
[ $# -gt 0 ] || set -- tests/clients
exec .venv/bin/python -m pytest --quiet -p no:cacheprovider "$@"
