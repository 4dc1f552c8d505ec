"""The table function executable() and the engine Executable: what programs print, who may run which, and how they end."""

import os
import time

import pytest
from server import ServerError, wait_until

PROGRAMS = {
    "lines.sh": '#!/bin/sh\nfor i in 1 2 3; do printf "%s\\tv%s\\n" "$i" "$1"; done\n',
    "double.py": "#!/usr/bin/env python3\nimport sys\nfor line in sys.stdin:\n    print(int(line) * 2)\n",
    "chunks.py": (
        "#!/usr/bin/env python3\nimport sys\n"
        "while header := sys.stdin.readline():\n"
        "    print(sum(int(sys.stdin.readline()) for _ in range(int(header))), flush=True)\n"
    ),
    "first.sh": "#!/bin/sh\nhead -n 1\n",
    "fails.sh": "#!/bin/sh\necho 1\necho no good >&2\nexit 3\n",
    "endless.sh": "#!/bin/sh\nsleep 1000.PORT &\nwhile :; do echo 7; done\n",
    "silent.sh": "#!/bin/sh\nsleep 1000.PORT\n",
}


@pytest.fixture
def server(start_server):
    server = start_server()
    folder = server.data / "user_scripts"
    folder.mkdir(exist_ok=True)
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text.replace("PORT", str(server.http_port)))
        (folder / name).chmod(0o755)
    return server


def children(server):
    """The command lines of programs that the server runs, and of what these have started."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{server.data}/user_scripts/" in line or f"sleep 1000.{server.http_port}" in line:
            found.append(line)
    return found


def test_what_programs_print(server):
    assert server.query("SELECT * FROM executable('lines.sh x', 'TSV', 'a Int32, b String')") == "1\tvx\n2\tvx\n3\tvx\n"
    assert server.query("SELECT b FROM executable('lines.sh', TabSeparated, 'a Int32, b String') WHERE a = 2") == "v\n"
    assert server.value("SELECT count() FROM executable('lines.sh', 'TSV', 'a Int32, b String')") == "3"
    doubled = "SELECT count(), sum(n) FROM executable('double.py', 'TSV', 'n Int64', (SELECT number FROM numbers(100000)))"
    assert server.query(doubled) == "100000\t9999900000\n"
    chunks = (
        "SELECT sum(n) FROM executable('chunks.py', 'TSV', 'n Int64', (SELECT number FROM numbers(1000)), "
        "SETTINGS send_chunk_header = true)"
    )
    assert server.value(chunks) == "499500"
    # A program need not read everything.
    first = "SELECT * FROM executable('first.sh', 'TSV', 'n Int64', (SELECT number + 5 FROM numbers(1000000)))"
    assert server.query(first) == "5\n"
    assert server.query("SELECT * FROM executable('endless.sh', 'TSV', 'n Int64') LIMIT 3") == "7\n7\n7\n"
    wait_until(lambda: not children(server), "the programs end")


def test_what_is_refused(server):
    os.symlink("/bin/echo", server.data / "user_scripts" / "link")
    for sql, code in {
        "SELECT * FROM executable('none.sh', 'TSV', 'n Int64')": 1,
        "SELECT * FROM executable('../catalog.sqlite', 'TSV', 'n Int64')": 1,
        "SELECT * FROM executable('/bin/echo 1', 'TSV', 'n Int64')": 1,
        "SELECT * FROM executable('link 1', 'TSV', 'n Int64')": 1,
        "SELECT * FROM executable('lines.sh', 'TSV')": 42,
        "SELECT * FROM executable('lines.sh', 'NoFormat', 'n Int64')": 73,
        "SELECT * FROM executable('lines.sh', 'TSV', 'n Int64', SETTINGS no_such = 1)": 115,
        "SELECT * FROM executable('lines.sh', 'TSV', 'n Date')": 38,
        "SELECT * FROM executable('lines.sh', 'TSV', 'n Int64', (SELECT 1), (SELECT 2))": 48,
        "SELECT * FROM executable('double.py', 'TSV', 'n Int64', (SELECT throwIf(number = 5) FROM numbers(10)))": 395,
        "SELECT * FROM executable('fails.sh', 'TSV', 'n Int64', SETTINGS check_exit_code = 1)": 302,
        "SELECT * FROM executable('fails.sh', 'TSV', 'n Int64', SETTINGS stderr_reaction = 'throw')": 1,
        "SELECT * FROM executable('silent.sh', 'TSV', 'n Int64', SETTINGS command_read_timeout = 300)": 159,
        "INSERT INTO FUNCTION executable('lines.sh', 'TSV', 'n Int64') VALUES (1)": 48,
    }.items():
        assert server.error_code(sql) == code, sql
    assert server.query("SELECT * FROM executable('fails.sh', 'TSV', 'n Int64')") == "1\n"
    wait_until(lambda: not children(server), "the programs end")


def test_a_query_that_ends_ends_its_program(server):
    for program in ("endless.sh", "silent.sh"):
        began = time.monotonic()
        with pytest.raises(ServerError) as error:
            server.query(f"SELECT count() FROM executable('{program}', 'TSV', 'n Int64')", max_execution_time=1)
        assert error.value.code == 159
        assert time.monotonic() - began < 10
    wait_until(lambda: not children(server), "the programs end")


def test_a_table_of_the_engine_runs_its_program(server):
    server.query("CREATE TABLE given (n UInt64) ENGINE = MergeTree ORDER BY n AS SELECT number FROM numbers(10)")
    server.query("CREATE TABLE e (a Int32, b String) ENGINE = Executable('lines.sh x', 'TSV')")
    server.query(
        "CREATE TABLE d (n Int64) ENGINE = Executable('chunks.py', TabSeparated, (SELECT n FROM default.given)) "
        "SETTINGS send_chunk_header = 1"
    )
    for _ in range(2):
        assert server.query("SELECT b, a FROM e LIMIT 1") == "vx\t1\n"
        assert server.value("SELECT n FROM d") == "45"
        server.kill()
        server.start()
    assert server.error_code("CREATE TABLE f (a Int32) ENGINE = Executable('lines.sh')") == 42
    assert server.error_code("CREATE TABLE f (a Int32) ENGINE = Executable('x', 'TSV') SETTINGS no_such = 1") == 115
    server.query("CREATE USER u IDENTIFIED WITH no_password")
    server.query("GRANT SELECT ON d TO u")
    run = "SELECT count() FROM executable('lines.sh', 'TSV', 'a Int32, b String')"
    assert server.error_code(run, user="u") == 497
    assert server.error_code("SELECT n FROM d", user="u") == 497
    server.query("GRANT CREATE TEMPORARY TABLE ON *.* TO u")
    assert server.value(run, user="u") == "3"
    # The program is given what the user may read.
    assert server.error_code("SELECT n FROM d", user="u") == 497
    server.query("GRANT SELECT ON given TO u")
    assert server.value("SELECT n FROM d", user="u") == "45"
