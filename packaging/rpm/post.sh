# After unpacking: the user that the server runs as, and its folders.
getent passwd squall > /dev/null ||
    useradd --system --user-group --home-dir /var/lib/squall --no-create-home --shell /sbin/nologin squall
for folder in /var/lib/squall /var/log/squall; do
    install --directory --owner=squall --group=squall --mode=0750 "$folder"
done
chgrp squall /etc/squall /etc/squall/*.xml /etc/squall/config.d /etc/squall/users.d
chmod 0750 /etc/squall /etc/squall/config.d /etc/squall/users.d
chmod 0640 /etc/squall/*.xml
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
