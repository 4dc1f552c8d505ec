#!/bin/sh
# Installs the .deb of `make dist` into a clean Debian of its own, as a new user would, starts the server there and asks it; then
# removes the package. As root, for chroot; Debian's packages come from deb.debian.org by debootstrap.
#
#   scripts/test-dist.sh [FOLDER OF THE PACKAGES] [RELEASE OF DEBIAN]
set -eu
cd "$(dirname "$0")/.."
folder=${1:-dist}
release=${2:-bookworm}
package=$(ls "$folder"/squall_*.deb)
command -v debootstrap > /dev/null || { echo "NOT TESTED: debootstrap is missing (apt-get install debootstrap)"; exit 1; }

root=$(mktemp -d /tmp/squall-root.XXXXXX)
# Others than root must get in: this is their /.
chmod 755 "$root"
server=
finish() {
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2> /dev/null || true
    umount --lazy "$root/proc" 2> /dev/null || true
    # Never into what is still mounted.
    rm -rf --one-file-system "$root" "$root.log"
}
trap finish EXIT
echo "Making a clean $release in $root ..."
debootstrap --variant=minbase --include=ca-certificates "$release" "$root" > "$root.log" 2>&1 || { tail "$root.log"; exit 1; }
mount -t proc proc "$root/proc"
# Every installed system has this file, debootstrap's does not.
echo '127.0.0.1 localhost' > "$root/etc/hosts"
cp "$package" "$root/squall.deb"
in_root() { chroot "$root" "$@"; }

began=$(date +%s)
in_root dpkg --install /squall.deb
in_root squall --version
[ "$(in_root stat -c %U:%a /var/lib/squall)" = squall:750 ]
[ "$(in_root stat -c %G:%a /etc/squall/config.xml)" = squall:640 ]
in_root squall check-config /etc/squall/config.xml

# There is no systemd in a chroot: the command of its unit, as its user, on ports of its own.
command=$(sed -n 's/^ExecStart=//p' packaging/squall.service)
chroot --userspec=squall:squall "$root" $command -- --http_port=28123 --tcp_port=29000 &
server=$!
for _ in $(seq 100); do
    in_root squall client --port 29000 --query 'SELECT 1' > /dev/null 2>&1 && break
    kill -0 "$server" || { tail "$root/var/log/squall/squall.err.log"; exit 1; }
    sleep 0.1
done

# Three commands, from the package to an answer over one's own CSV: install (above), start (above), ask.
printf 'city,people\nBasel,178000\nBern,134000\nZug,31000\n' > "$root/tmp/cities.csv"
answer=$(in_root squall local --query "SELECT sum(people) FROM '/tmp/cities.csv'")
[ "$answer" = 343000 ] || { echo "squall local answered $answer"; exit 1; }
in_root squall client --port 29000 --query 'CREATE TABLE cities (city String, people UInt64) ORDER BY city'
in_root sh -c "squall client --port 29000 --query 'INSERT INTO cities FORMAT CSVWithNames' < /tmp/cities.csv"
answer=$(in_root squall client --port 29000 --query 'SELECT max(people) FROM cities')
[ "$answer" = 178000 ] || { echo "The server answered $answer"; exit 1; }
echo "From the package to both answers: $(($(date +%s) - began)) s"

kill "$server"
wait "$server"
server=
in_root dpkg --purge squall
[ -d "$root/var/lib/squall" ] || { echo "The purge took the data"; exit 1; }
[ ! -e "$root/usr/bin/squall" ]
echo "The package installs, runs and leaves."
