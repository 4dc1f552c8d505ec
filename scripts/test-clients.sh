#!/bin/sh
# Runs tests/clients: real clients against the release binary. Installs the PyPI clients in .venv, and says so first. Debian's programs
# are the system's, so they are only installed where SQUALL_INSTALL=1 says that they may be; otherwise it says what is skipped.
# Without arguments it runs all of them, two files at a time. Arguments go to pytest:
#   scripts/test-clients.sh tests/clients/test_http.py -k keep_alive
set -eu
cd "$(dirname "$0")/.."

packages="clickhouse-client clickhouse-tools prometheus tmux chromium fonts-dejavu-core postgresql mariadb-server"
programs="clickhouse-client clickhouse-benchmark prometheus tmux chromium psql mariadbd"
# A system has rsyslog or syslog-ng, not both.
if ! command -v rsyslogd >/dev/null; then
    packages="$packages syslog-ng-core syslog-ng-mod-http"
    programs="$programs syslog-ng"
fi
missing=
for program in $programs; do
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
[ $# -eq 0 ] || exec .venv/bin/python -m pytest --quiet -p no:cacheprovider "$@"

# Most tests wait more than they compute, so two files run at a time. Some measure time or memory: what failed beside others decides alone.
cache="cache_dir=${CARGO_TARGET_DIR:-$PWD/target}/pytest"
status=0
.venv/bin/python -m pytest --quiet -o "$cache" --numprocesses 2 --dist loadfile tests/clients || status=$?
[ $status -eq 1 ] || exit $status
echo "Runs what failed again, one test at a time"
exec .venv/bin/python -m pytest --quiet -o "$cache" --last-failed --last-failed-no-failures none tests/clients
