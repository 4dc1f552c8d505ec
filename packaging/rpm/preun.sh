# Before removal, but not before an update.
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
    systemctl --no-reload disable --now squall.service
fi
