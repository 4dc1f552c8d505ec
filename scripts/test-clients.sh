#!/bin/sh
# Runs tests/clients: real clients against the release binary. Installs the PyPI clients in .venv, and says so first. Debian's programs
# are the system's, so they are only installed where SQUALL_INSTALL=1 says that they may be; otherwise it says what is skipped.
# Arguments go to pytest:
#   scripts/test-clients.sh tests/clients/test_http.py -k keep_alive
set -eu
cd "$(dirname "$0")/.."

packages="clickhouse-client clickhouse-tools prometheus tmux chromium fonts-dejavu-core postgresql mariadb-server"
missing=
for program in clickhouse-client clickhouse-benchmark prometheus tmux chromium psql mariadbd; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ] && [ "${SQUALL_INSTALL:-0}" = 1 ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing Debian's $packages on this system, since SQUALL_INSTALL=1"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    if { apt-get update && apt-get install --yes --no-install-recommends $packages; } >/tmp/squall-apt.log 2>&1; then
        missing=
    else
        tail -n 5 /tmp/squall-apt.log
    fi
fi
[ -z "$missing" ] || echo "SKIPPED: the tests of$missing (Debian's $packages; SQUALL_INSTALL=1 as root installs them)"

scripts/venv.sh
[ $# -gt 0 ] || set -- tests/clients
exec .venv/bin/python -m pytest --quiet -p no:cacheprovider "$@"
