"""A server that a script starts and measures: how it starts and is asked, what CPU time the kernel counts for it, and storms."""

import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from ports import free_port

READY_SECONDS = 60


def add_arguments(parser):
    parser.add_argument("--squall", default="target/release/squall", help="the server's program")
    parser.add_argument("--rounds", type=int, default=5, help="times that each server is measured")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--connections", type=int, default=64, help="of the load, `squall storm run`")


def turns(names, rounds):
    """The numbers of rounds with the names in turns: who comes first changes, as the machine may get faster or slower."""
    for number in range(rounds):
        for name in list(names) if number % 2 == 0 else list(reversed(list(names))):
            yield number + 1, name


def best(engine, sql, runs):
    """Milliseconds of the fastest run."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        engine(sql)
        times.append(time.perf_counter() - began)
    return min(times) * 1000


class MeasuredServer:
    """A server on a port of its own; what it prints goes into `folder`. As a context it ends with the block."""

    def __init__(self, command, port, folder):
        self.port = port
        # Whose `storm run` makes load.
        self.generator = command[0]
        with (folder / "output.txt").open("w") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                self.get("/ping")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"The server does not answer; see {folder}/output.txt")
                time.sleep(0.05)

    @classmethod
    def of(cls, program, folder):
        """One without a configuration, its data in `folder`/data."""
        folder, program = pathlib.Path(folder), pathlib.Path(program).resolve()
        port, tcp_port = free_port(), free_port()
        ports = ["--http-port", str(port), "--tcp-port", str(tcp_port)]
        server = cls([program, "server", *ports, "--path", folder / "data"], port, folder)
        server.tcp_port = tcp_port
        return server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, sql, **params):
        """The answer as text; an error of the server is a RuntimeError of its words."""
        try:
            return self.get(f"/?{urllib.parse.urlencode(params)}", sql.encode())
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def get(self, path, body=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", data=body, timeout=600) as response:
            return response.read().decode().strip()

    def cpu_ns(self):
        """CPU time so far, of all threads."""
        # The number of another process's CPU clock, as clock_getcpuclockid(3) makes it.
        return time.clock_gettime_ns(~self.process.pid << 3 | 2)

    def storm(self, path, seconds, connections):
        """How many requests were answered, and in how many seconds."""
        begun = time.monotonic()
        url = f"http://127.0.0.1:{self.port}{path}"
        command = [self.generator, "storm", "run", url, "-c", connections, "-d", seconds, "--format", "json"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        elapsed = time.monotonic() - begun
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        total = json.loads(done.stdout)["total"]
        if total["errors"]:
            sys.exit(done.stdout)
        return total["answers"], elapsed

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
