"""Ports for servers that scripts and tests start."""

import itertools
import os
import socket

# Below the ports that Linux gives to clients: one of those may be a client's before the server listens.
SERVER_PORTS = range(10_240, 32_768)
PORT_NUMBERS = itertools.count(os.getpid() * 97)


def free_port():
    """A port for a server, another one at each call."""
    for number in itertools.islice(PORT_NUMBERS, len(SERVER_PORTS)):
        port = SERVER_PORTS[number % len(SERVER_PORTS)]
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError(f"no port of {SERVER_PORTS} is free")
