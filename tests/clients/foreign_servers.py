"""Servers of PostgreSQL and MariaDB for tests, on a port and in a folder of their own. They refuse to run as root, so root runs them as the
users of their packages."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from ports import free_port

READY_SECONDS = 60
PASSWORD = "s3cret pass'word"


def debian_program(name):
    """A program of PostgreSQL's newest version that is installed, or of anybody else; None where there is none."""
    versions = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(versions[-1]) if versions else shutil.which(name)


class ForeignServer:
    """What both have: a folder, a port, a process and a user who runs it."""

    def __init__(self, owner):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"squall-{owner}-"))
        self.port = free_port()
        self.process = None
        self.as_user = []
        if os.getuid() == 0:
            user = pwd.getpwnam(owner)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]

    def run(self, *command, **options):
        subprocess.run([*self.as_user, *command], check=True, capture_output=True, cwd=self.folder, **options)

    def spawn(self, *command):
        with open(self.folder / "output.log", "ab") as out:
            self.process = subprocess.Popen([*self.as_user, *command], stdout=out, stderr=out, cwd=self.folder)

    def until_ready(self):
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return self.sql("SELECT 1")
            except subprocess.CalledProcessError as error:
                assert self.process.poll() is None, (self.folder / "output.log").read_text()
                assert time.monotonic() < deadline, error.stderr
                time.sleep(0.1)

    def start(self):
        self.start_process()
        self.until_ready()
        return self

    def kill(self):
        """Ends the process and what it has started, at once."""
        self.process.send_signal(self.quick_end)
        self.process.wait()

    def remove(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_since(self, begin):
        """What the log says since it had so many characters."""
        return self.log()[begin:]


class Postgres(ForeignServer):
    quick_end = signal.SIGQUIT

    @staticmethod
    def missing():
        return [name for name in ("initdb", "postgres", "psql") if debian_program(name) is None]

    def __init__(self):
        super().__init__("postgres")
        self.more = []
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self.data = self.folder / "data"
        self.run(
            debian_program("initdb"), f"--pgdata={self.data}", "--username=squall", f"--pwfile={password}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip

    def insist_on_tls(self):
        """From the next start on it takes no connection without TLS."""
        key, certificate = self.data / "server.key", self.data / "server.crt"
        self.run(
            "openssl", "req", "-new", "-x509", "-days", "2", "-nodes", "-subj", "/CN=nobody",
            "-newkey", "rsa:2048", "-keyout", str(key), "-out", str(certificate),
        )  # fmt: skip
        self.run("chmod", "600", str(key))
        (self.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        self.more = ["--ssl=on"]

    def start_process(self):
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "log_statement": "all",
            "shared_buffers": "32MB",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        self.spawn(debian_program("postgres"), "-D", str(self.data), "-p", str(self.port), *options, *self.more)

    def sql(self, sql):
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        command = ["psql", "--no-psqlrc", "--host=127.0.0.1", f"--port={self.port}", "--username=squall", "--dbname=postgres"]
        command += ["--set=ON_ERROR_STOP=1", "--quiet", "--tuples-only", "--no-align"]
        done = subprocess.run(command, input=sql, text=True, capture_output=True, check=True, env=environment)
        return done.stdout.rstrip("\n")

    def log(self):
        return (self.folder / "output.log").read_text(errors="replace")


class MariaDb(ForeignServer):
    quick_end = signal.SIGKILL

    @staticmethod
    def missing():
        return [name for name in ("mariadb-install-db", "mariadbd", "mariadb") if shutil.which(name) is None]

    def __init__(self):
        super().__init__("mysql")
        self.data = self.folder / "data"
        self.socket = self.folder / "s.sock"
        self.run(
            "mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )  # fmt: skip
        self.general_log = self.folder / "general.log"

    def start_process(self):
        self.spawn(
            shutil.which("mariadbd"), "--no-defaults", f"--datadir={self.data}", f"--port={self.port}",
            "--bind-address=127.0.0.1", f"--socket={self.socket}", "--general-log", f"--general-log-file={self.general_log}",
            f"--pid-file={self.folder}/pid", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=256M",
            "--character-set-server=utf8mb4",
        )  # fmt: skip

    def start(self):
        super().start()
        quoted = PASSWORD.replace("'", "''")
        self.sql(
            f"CREATE USER IF NOT EXISTS squall@'127.0.0.1' IDENTIFIED BY '{quoted}'; GRANT ALL ON *.* TO squall@'127.0.0.1'; "
            "CREATE DATABASE IF NOT EXISTS shop"
        )
        return self

    def sql(self, sql, database=None):
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", "--skip-column-names", "--batch", "--raw"]
        command += ["--default-character-set=utf8mb4", *([database] if database else [])]
        return subprocess.run(command, input=sql, text=True, capture_output=True, check=True).stdout.rstrip("\n")

    def log(self):
        return self.general_log.read_text(errors="replace")
