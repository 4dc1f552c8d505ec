#!/usr/bin/env python3
"""Makes an OCI image of Squall without a daemon: an image layout in a tar file, which podman, docker and skopeo load.

    packaging/oci_image.py --binary squall --architecture amd64 --version 0.1.0 --output squall-0.1.0-oci.tar

The image has two layers: the C library and the authorities' certificates from Debian's packages, as apt gives them, and Squall
with its configuration. There is no shell. The same input gives the same bytes: times and owners are fixed.
"""

import argparse
import gzip
import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The server's user and group in the image.
USER = 101

IMAGE_CONFIG = b"""<clickhouse>
    <logger>
        <log remove="1"/>
        <errorlog remove="1"/>
        <console>1</console>
    </logger>
    <listen_host replace="1">0.0.0.0</listen_host>
</clickhouse>
"""

# Whoever reaches the container reaches the server: it does not start without a password.
IMAGE_USERS = b"""<clickhouse>
    <users>
        <default>
            <password from_env="CLICKHOUSE_PASSWORD" replace="1"/>
            <networks replace="1"><ip>::/0</ip></networks>
        </default>
    </users>
</clickhouse>
"""


class Layer:
    """A tar file in the making, whose entries have neither times nor names of owners."""

    def __init__(self):
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.GNU_FORMAT)
        self._names = set()

    def _add(self, entry, data=None):
        name = entry.name.lstrip("./")
        parent = str(Path(name).parent)
        if parent != "." and parent not in self._names:
            self.folder(parent)
        if not name or name in self._names:
            return
        self._names.add(name)
        entry.name, entry.mtime, entry.uname, entry.gname = name, 0, "", ""
        self._tar.addfile(entry, data)

    def folder(self, name, mode=0o755, owner=0):
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
        self._add(entry)

    def file(self, name, data, mode=0o644, owner=0):
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.uid, entry.gid = len(data), mode, owner, owner
        self._add(entry, io.BytesIO(data))

    def link(self, name, target):
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._add(entry)

    def take(self, package, is_wanted):
        """Adds the files of a .deb that are wanted."""
        with tempfile.TemporaryFile() as unpacked:
            subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=unpacked)
            unpacked.seek(0)
            with tarfile.open(fileobj=unpacked) as archive:
                for entry in archive:
                    if not entry.isdir() and is_wanted(entry.name.lstrip("./")):
                        self._add(entry, archive.extractfile(entry) if entry.isfile() else None)

    def bytes(self):
        self._tar.close()
        return self._bytes.getvalue()


class Layout:
    """The folder of an OCI image, as a tar file."""

    def __init__(self):
        self._blobs = {}

    def blob(self, media_type, data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self._blobs[digest] = data
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def json(self, media_type, value):
        return self.blob(media_type, json.dumps(value, sort_keys=True).encode())

    def write(self, path, index):
        layer = Layer()
        layer.file("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        layer.file("index.json", json.dumps(index, sort_keys=True).encode())
        for digest, data in sorted(self._blobs.items()):
            layer.file("blobs/" + digest.replace(":", "/"), data)
        Path(path).write_bytes(layer.bytes())


def debian_package(name, folder):
    subprocess.run(["apt-get", "download", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(Path(folder).glob(f"{name}_*.deb"))


def base_layer():
    layer = Layer()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        layer.take(debian_package("libc6", folder), lambda name: name.startswith(("lib/", "lib64/", "usr/lib/")))
        authorities = Path(folder) / "authorities"
        subprocess.run(["dpkg-deb", "-x", debian_package("ca-certificates", folder), authorities], check=True)
        certificates = sorted((authorities / "usr/share/ca-certificates/mozilla").glob("*.crt"))
        layer.file("etc/ssl/certs/ca-certificates.crt", b"".join(file.read_bytes() for file in certificates))
    layer.file("etc/passwd", f"root:x:0:0::/:\nsquall:x:{USER}:{USER}::/var/lib/squall:\n".encode())
    layer.file("etc/group", f"root:x:0:\nsquall:x:{USER}:\n".encode())
    layer.folder("tmp", 0o1777)
    return layer.bytes()


def squall_layer(binary):
    layer = Layer()
    layer.file("usr/bin/squall", Path(binary).read_bytes(), 0o755)
    for name in ["config.xml", "users.xml"]:
        layer.file(f"etc/squall/{name}", (HERE / name).read_bytes())
    layer.file("etc/squall/config.d/image.xml", IMAGE_CONFIG)
    layer.file("etc/squall/users.d/image.xml", IMAGE_USERS)
    for folder in ["var/lib/squall", "var/log/squall"]:
        layer.folder(folder, 0o750, USER)
    return layer.bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", required=True, help="the program")
    parser.add_argument("--architecture", required=True, help="amd64 or arm64")
    parser.add_argument("--version", required=True, help="the image's tag")
    parser.add_argument("--output", required=True, help="the tar file")
    arguments = parser.parse_args()

    layout = Layout()
    layers = [base_layer(), squall_layer(arguments.binary)]
    packed = [
        layout.blob("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(layer, 6, mtime=0)) for layer in layers
    ]
    config = layout.json(
        "application/vnd.oci.image.config.v1+json",
        {
            "architecture": arguments.architecture,
            "os": "linux",
            "config": {
                "User": f"{USER}:{USER}",
                "Entrypoint": ["/usr/bin/squall"],
                "Cmd": ["server", "--config-file", "/etc/squall/config.xml"],
                "ExposedPorts": {"8123/tcp": {}, "9000/tcp": {}},
                "Volumes": {"/var/lib/squall": {}},
                "WorkingDir": "/var/lib/squall",
                "Labels": {"org.opencontainers.image.title": "squall", "org.opencontainers.image.version": arguments.version},
            },
            "rootfs": {
                "type": "layers",
                "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers],
            },
        },
    )
    manifest_type = "application/vnd.oci.image.manifest.v1+json"
    manifest = layout.json(manifest_type, {"schemaVersion": 2, "mediaType": manifest_type, "config": config, "layers": packed})
    manifest["annotations"] = {"org.opencontainers.image.ref.name": f"squall:{arguments.version}"}
    manifest["platform"] = {"architecture": arguments.architecture, "os": "linux"}
    layout.write(
        arguments.output,
        {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]},
    )
    size = sum(len(layer) for layer in layers)
    print(f"{arguments.output}: {size / 1e6:.1f} MB unpacked")


if __name__ == "__main__":
    main()
