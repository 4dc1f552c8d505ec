"""squall client against the server: scripts and pipes, and the shell in a real terminal (tmux). Where clickhouse-client 18.16 is installed
and has the same feature, both must say the same."""

import gzip
import os
import shutil
import subprocess
import uuid

import pytest
from server import BINARY, installed, wait_until
from test_tls import Secure


@pytest.fixture
def home(tmp_path):
    """A home without anybody's configuration."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def client(server, home):
    """Runs squall client: client('-q', 'SELECT 1')."""

    def run(*args, stdin=None, environment=None, cwd=None, connects=True):
        place = ["--host=127.0.0.1", f"--port={server.native_port}"] if connects else []
        return subprocess.run(
            [BINARY, "client", *place, *args],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=60,
            cwd=cwd or home,
            env={**clean_environment(home), **(environment or {})},
            check=False,
        )

    return run


def clean_environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLICKHOUSE_")}
    return {**kept, "HOME": str(home)}


def ok(outcome):
    assert outcome.returncode == 0, outcome.stderr.decode()
    return outcome.stdout.decode()


def failed(outcome, code):
    assert outcome.returncode == code % 256, (outcome.returncode, outcome.stdout, outcome.stderr)
    return outcome.stderr.decode()


# Scripts and pipes.


BOTH = [
    ["-q", "SELECT 1 + 1, 'two'"],
    ["-q", "SELECT toUInt8(number) AS n, toString(n) AS s FROM numbers(3) FORMAT JSONEachRow"],
    ["--format=CSV", "-q", "SELECT 1, 'a,b', NULL"],
    ["--vertical", "-q", "SELECT 1 AS n, 'x' AS s"],
    ["--max_threads=1", "-q", "SELECT value FROM system.settings WHERE name = 'max_threads'"],
    ["--multiquery", "-q", "SELECT 1; SELECT 2;"],
    ["-q", "SELECT count() FROM numbers(1000) WHERE number < 10"],
    ["-q", "EXISTS TABLE system.one"],
]


@pytest.mark.skipif(not installed("clickhouse-client"), reason="clickhouse-client is not installed")
@pytest.mark.parametrize("args", BOTH, ids=lambda args: args[-1][:30])
def test_says_what_clickhouse_client_says(server, client, args):
    assert ok(client(*args)) == ok(server.client(*args))


@pytest.mark.skipif(not installed("clickhouse-client"), reason="clickhouse-client is not installed")
@pytest.mark.parametrize("query", ["SELECT * FROM no_such_table", "SELEC 1", "SELECT throwIf(1)"])
def test_exit_codes_are_those_of_clickhouse_client(server, client, query):
    assert client("-q", query).returncode == server.client("-q", query).returncode != 0


def test_errors_are_sentences(client):
    said = failed(client("-q", "SELECT * FROM no_such_table"), 60)
    assert said.rstrip().endswith("(UNKNOWN_TABLE, 60)") and "DB::Exception" not in said and "Code:" not in said
    assert "(NETWORK_ERROR, 210)" in failed(client("--host=127.0.0.1", "--port=1", "-q", "SELECT 1", connects=False), 210)
    assert "AUTHENTICATION_FAILED" in failed(client("--user=reader", "--password=wrong", "-q", "SELECT 1"), 516)


def test_several_queries(client, home):
    assert ok(client("-q", "SELECT 1; SELECT ';'; -- nothing\n", "-q", "SELECT 3")) == "1\n;\n3\n"
    assert ok(client(stdin=b"SELECT 1;\nSELECT 2")) == "1\n2\n"
    (home / "f.sql").write_text("SELECT 4;\n/* ; */ SELECT 5;")
    assert ok(client("--queries-file", "f.sql")) == "4\n5\n"


def test_the_first_error_ends_a_script_unless_told_otherwise(client):
    outcome = client("-q", "SELECT 1; SELECT throwIf(1); SELECT 2")
    failed(outcome, 395)
    assert outcome.stdout == b"1\n"
    outcome = client("--ignore-error", "-q", "SELECT 1; SELECT throwIf(1); SELECT 2")
    failed(outcome, 395)
    assert outcome.stdout == b"1\n2\n"


def test_parameters_and_settings(client):
    query = "SELECT {n:UInt8} + 1, {s:String}, {l:Array(UInt8)}"
    args = ["--param_n=41", "--param_s", "it's\\ta\\\\b", "--param_l=[1,2]", "-q", query]
    assert ok(client(*args)) == "42\tit\\'s\\ta\\\\b\t[1,2]\n"
    assert ok(client("--max-block-size", "7", "-q", "SELECT getSetting('max_block_size')")) == "7\n"
    assert ok(client("-q", "SET max_block_size = 9; SELECT getSetting('max_block_size')")) == "9\n"
    # Formats are the client's, and so are their settings.
    assert ok(client("-q", "SELECT 1::UInt64 AS a FORMAT JSONEachRow SETTINGS output_format_json_quote_64bit_integers = 1")) == '{"a":"1"}\n'
    assert ok(client("--output_format_json_quote_64bit_integers", "-q", "SELECT 1::UInt64 AS a FORMAT JSONEachRow")) == '{"a":"1"}\n'


def test_insert(client, table, home):
    ok(client("-q", f"CREATE TABLE {table} (a UInt32, b String DEFAULT concat('d', toString(a))) ENGINE = MergeTree ORDER BY a"))
    ok(client("-q", f"INSERT INTO {table} FORMAT CSV", stdin=b'1,"x"\n2,"y"\n'))
    # Literals are read here, expressions by the server; a row that leaves out a column has its default.
    ok(client("-q", f"INSERT INTO {table} VALUES (3, 'z'), (2 + 2, upper('w'))"))
    ok(client("-q", f"INSERT INTO {table} FORMAT JSONEachRow", stdin=b'{"a":5}\n{"a":6,"b":"v"}\n{"a":7}\n'))
    ok(client("-q", f"INSERT INTO {table} (a) VALUES (8); INSERT INTO {table} SELECT 9, 's'"))
    ok(client(stdin=f"INSERT INTO {table} VALUES (10, ';');SELECT 1 FORMAT Null".encode()))
    rows = ok(client("-q", f"SELECT * FROM {table} ORDER BY a"))
    assert rows == "1\tx\n2\ty\n3\tz\n4\tW\n5\td5\n6\tv\n7\td7\n8\td8\n9\ts\n10\t;\n"
    said = failed(client("-q", f"INSERT INTO {table} FORMAT CSV", stdin=b"1,a\nx,b\n"), 6)
    assert said.startswith("standard input: ")
    assert ok(client("-q", f"SELECT count() FROM {table}")) == "10\n"


def test_files(client, table, home):
    ok(client("-q", f"CREATE TABLE {table} (a UInt32, b String) ENGINE = MergeTree ORDER BY a"))
    (home / "1.csv").write_text("1,x\n2,y\n")
    (home / "2.csv.gz").write_bytes(gzip.compress(b"3,z\n"))
    ok(client("-q", f"INSERT INTO {table} FROM INFILE '*.csv*'"))
    assert "(FILE_DOESNT_EXIST, 107)" in failed(client("-q", f"INSERT INTO {table} FROM INFILE 'no.csv'"), 107)
    query = f"SELECT * FROM {table} ORDER BY a"
    for name in ("o.tsv", "o.parquet", "o.csv.zst", "o.jsonl.gz", "o.csv.lz4", "o.csv.br", "o.csv.xz", "o.csv.bz2"):
        ok(client("-q", f"{query} INTO OUTFILE '{name}'"))
        ok(client("-q", f"TRUNCATE TABLE {table}; INSERT INTO {table} FROM INFILE '{name}'"))
        assert ok(client("-q", query)) == "1\tx\n2\ty\n3\tz\n", name
    assert gzip.decompress((home / "o.jsonl.gz").read_bytes()).startswith(b'{"a":1')
    assert "TRUNCATE" in failed(client("-q", "SELECT 1 INTO OUTFILE 'o.tsv'"), 76)
    ok(client("-q", "SELECT 1 INTO OUTFILE 'o.tsv' TRUNCATE"))
    assert ok(client("-q", "SELECT 2 INTO OUTFILE 'o.tsv' APPEND; SELECT 3 INTO OUTFILE 'p' AND STDOUT")) == "3\n"
    assert (home / "o.tsv").read_text() == "1\n2\n"
    ok(client("-q", "SELECT 1 AS n INTO OUTFILE 'q' COMPRESSION 'gzip' LEVEL 1 FORMAT TSVWithNames"))
    assert gzip.decompress((home / "q").read_bytes()) == b"n\n1\n"


def test_external_tables(client, home):
    (home / "ids.csv").write_text("1,a\n3,c\n")
    args = ["--external", "--file=ids.csv", "--name=ids", "--structure=id UInt8, s String"]
    args += ["--external", "--file", "-", "--types=UInt64"]
    query = "SELECT s, (SELECT sum(_1) FROM _data) FROM ids WHERE id > 1"
    assert ok(client("-q", query, *args, stdin=b"4\n5\n")) == "c\t9\n"
    assert "--structure" in failed(client("-q", "SELECT 1", "--external", "--file=ids.csv"), 36)


def test_where_to_connect(server, client, home):
    port = str(server.native_port)
    me = "SELECT currentUser(), currentDatabase()"
    environment = {"CLICKHOUSE_HOST": "127.0.0.1", "CLICKHOUSE_USER": "reader", "CLICKHOUSE_PASSWORD": "secret"}
    assert ok(client("--port", port, "-q", me, environment=environment, connects=False)) == "reader\tdefault\n"
    address = f"clickhouse://reader:secret@127.0.0.1:{port}/system"
    assert ok(client(address, "-q", me, connects=False)) == "reader\tsystem\n"
    (home / ".clickhouse-client").mkdir()
    (home / ".clickhouse-client" / "config.yaml").write_text(
        f"host: 127.0.0.1\nport: {port}\nconnections_credentials:\n  connection:\n"
        f"    - {{name: here, hostname: 127.0.0.1, port: {port}, user: reader, password: secret, database: system}}\n"
    )
    assert ok(client("-q", me, connects=False)) == "default\tdefault\n"
    assert ok(client("--connection=here", "-q", me, connects=False)) == "reader\tsystem\n"
    assert ok(client("-h", "here", "-d", "default", "-q", me, connects=False)) == "reader\tdefault\n"
    (home / "c.xml").write_text(f"<config><host>127.0.0.1</host><port>{port}</port><user>reader</user><password>secret</password></config>")
    assert ok(client("--config-file=c.xml", "-q", me, connects=False)) == "reader\tdefault\n"
    assert "no connection 'there'" in failed(client("--connection=there", "-q", me, connects=False), 139)


def test_tls(start_server, tmp_path, client):
    secure = Secure(start_server, tmp_path)
    place = ["--host=localhost", f"--port={secure.native_port}", "-q", "SELECT 1"]
    assert ok(client("--secure", f"--ca-cert={secure.ca_file}", *place, connects=False)) == "1\n"
    assert ok(client("--secure", "--accept-invalid-certificate", *place, connects=False)) == "1\n"
    assert "certificate" in failed(client("--secure", *place, connects=False), 210)


def test_times_logs_and_progress(client):
    outcome = client("--time", "-q", "SELECT 1")
    assert ok(outcome) == "1\n"
    assert float(outcome.stderr) >= 0
    outcome = client("--send_logs_level=debug", "--query_id=told", "-q", "SELECT 1")
    assert ok(outcome) == "1\n"
    assert "{told} <Debug>" in outcome.stderr.decode()
    outcome = client("-q", "SELECT 1 FORMAT Null; SELECT 2", "--echo")
    assert outcome.stderr.decode().splitlines() == ["SELECT 1 FORMAT Null", "SELECT 2"]


def test_nobody_reading_ends_it(server, home):
    command = f"'{BINARY}' client --host=127.0.0.1 --port={server.native_port} -q 'SELECT number FROM system.numbers' | head -n 2"
    outcome = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, b"0\n1\n", b"")


def test_settings_that_do_not_exist_are_named(client):
    assert "--no_such_setting" in failed(client("--no_such_setting=1", "-q", "SELECT 1"), 2)


def test_completions_and_pages(tmp_path):
    for shell, mark in (("bash", "complete -F _squall"), ("zsh", "#compdef squall"), ("fish", "complete -c squall")):
        outcome = subprocess.run([BINARY, "completions", shell], capture_output=True, timeout=60, check=True)
        assert mark in outcome.stdout.decode()
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=outcome.stdout, timeout=60, check=True)
    subprocess.run([BINARY, "man", tmp_path / "man"], timeout=60, check=True)
    page = (tmp_path / "man" / "squall-client.1").read_text()
    assert "--queries\\-file" in page or "\\-\\-queries\\-file" in page


# The shell in a terminal.


class Terminal:
    """A terminal of a width and height in which a program runs."""

    def __init__(self, command, home, width=100, height=40):
        self.server = f"squall-{uuid.uuid4().hex[:8]}"
        environment = {**clean_environment(home), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "LINES": "", "COLUMNS": ""}
        arguments = ["new-session", "-d", "-s", "t", "-x", str(width), "-y", str(height), command]
        subprocess.run(["tmux", "-L", self.server, "-f", "/dev/null", *arguments], env=environment, cwd=home, check=True)

    def tmux(self, *args):
        outcome = subprocess.run(["tmux", "-L", self.server, *args], capture_output=True, timeout=20, check=False)
        return outcome.stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def write(self, text):
        """Types without Enter."""
        # A semicolon at its end would end tmux's own command.
        self.tmux("send-keys", "-t", "t", "-l", text[:-1] + "\\;" if text.endswith(";") else text)

    def type(self, text):
        self.write(text)
        self.keys("Enter")

    @property
    def lines(self):
        """What can be seen, line by line."""
        return self.tmux("capture-pane", "-p", "-t", "t").splitlines()

    @property
    def screen(self):
        """What can be seen, lines that were too long in one piece."""
        return self.tmux("capture-pane", "-p", "-J", "-t", "t").rstrip()

    @property
    def colours(self):
        return self.tmux("capture-pane", "-p", "-e", "-t", "t")

    def until(self, text, times=1):
        try:
            wait_until(lambda: self.screen.count(text) >= times, f"{text!r} stands on the screen {times} times")
        except AssertionError as error:
            raise AssertionError(f"{error}, which is:\n{self.screen}") from None

    def ended(self):
        return self.tmux("list-panes", "-t", "t") == ""

    def close(self):
        self.tmux("kill-server")


@pytest.fixture
def shell(server, home):
    """Opens a shell in a terminal: shell('--pager=cat', width=60)."""
    if shutil.which("tmux") is None:
        pytest.skip("NOT TESTED: the shell in a terminal, since tmux is not installed (scripts/test-clients.sh installs it)")
    opened = []

    def open_shell(*args, ready=":)", **size):
        words = [BINARY, "client", "--host=127.0.0.1", f"--port={server.native_port}", *args]
        command = " ".join(f"'{word}'" for word in words)
        terminal = Terminal(command, home, **size)
        opened.append(terminal)
        terminal.until(ready)
        return terminal

    yield open_shell
    for terminal in opened:
        terminal.close()


def test_shell_runs_statements(shell):
    terminal = shell()
    terminal.type("SELECT 1 + 1 AS n, 'two' AS s;")
    terminal.until("1 row in set.")
    assert "┌─n─┬─s───┐" in terminal.screen and "│ 2 │ two │" in terminal.screen
    assert "Elapsed:" in terminal.screen and "Query id:" in terminal.screen
    # A statement goes on until it ends with a semicolon.
    terminal.type("SELECT")
    terminal.until(":-]")
    terminal.type("'wor' ||")
    terminal.type("'ld' AS hello;")
    terminal.until("│ world │")
    terminal.type("SELECT 7 AS seven\\G")
    terminal.until("seven: 7")
    terminal.type("SELECT * FROM no_such_table;")
    terminal.until("(UNKNOWN_TABLE, 60)")
    terminal.type("exit")
    wait_until(terminal.ended, "the shell has ended")


def test_shell_commands(shell, server, table):
    server.query(f"CREATE TABLE {table} (number_of_it UInt8, s String) ENGINE = MergeTree ORDER BY number_of_it")
    terminal = shell()
    terminal.type(".help")
    terminal.until(".schema [TABLE]")
    terminal.type(f".tables {table}%")
    terminal.until(table, times=2)
    terminal.type(f".schema {table}")
    terminal.until("CREATE TABLE")
    terminal.type(f"\\d {table}")
    terminal.until("number_of_it", times=2)
    terminal.type(".databases")
    # Other tests have databases of their own.
    terminal.until("system\nSquall :)")
    terminal.type(".mode JSONEachRow")
    terminal.type(".timer off")
    terminal.until("Times are off.")
    terminal.type("SELECT 1 AS one;")
    terminal.until('{"one":1}')
    terminal.type(".nonsense")
    terminal.until("There is no command .nonsense")
    terminal.type(".quit")
    wait_until(terminal.ended, "the shell has ended")


def test_shell_completes_and_remembers(shell, server, table, home):
    server.query(f"CREATE TABLE {table} (unusual_column UInt8) ENGINE = Memory")
    terminal = shell()
    terminal.write("sel")
    terminal.keys("Tab")
    terminal.until("select")
    terminal.write(f" {table}.unus")
    terminal.keys("Tab")
    terminal.until("unusual_column")
    terminal.type(f" from {table};")
    terminal.until("0 rows in set.")
    # Words of the grammar have a colour.
    terminal.type("SELECT 'remembered';")
    terminal.until("│ remembered")
    assert "\x1b[1m" in terminal.colours or "\x1b[1;" in terminal.colours
    terminal.keys("C-d")
    wait_until(terminal.ended, "the shell has ended")
    assert "SELECT 'remembered';" in (home / ".squall-history").read_text()
    again = shell()
    again.keys("Up")
    again.until("SELECT 'remembered';")


def test_shell_cancels_with_ctrl_c(shell, server):
    terminal = shell()
    terminal.type("SELECT count() FROM system.numbers;")
    # The line of progress: rows, bytes, rates.
    terminal.until("rows/s.")
    assert server.value("SELECT count() FROM system.processes WHERE query LIKE '%system.numbers;' OR query LIKE 'SELECT count() FROM system.numbers%'") == "1"
    terminal.keys("C-c")
    terminal.until("(QUERY_WAS_CANCELLED, 394)")
    assert "rows/s." not in terminal.screen
    # The session goes on, with what was set in it.
    terminal.type("SELECT 'still ' || 'here';")
    terminal.until("still here")
    # What is half typed is taken back.
    terminal.write("SELECT half")
    terminal.until("SELECT half")
    terminal.keys("C-c")
    terminal.until(":)", times=4)
    terminal.type("SELECT 'whole ' || 'again';")
    terminal.until("whole again")


def test_shell_fits_the_terminal(shell):
    terminal = shell(width=60)
    terminal.type("SELECT repeat('x', 200) AS long, 1234567890 AS n, 'short' AS s;")
    terminal.until("1 row in set.")
    lines = [line for line in terminal.lines if line.strip("1. ").startswith(("┌", "│", "└"))]
    assert len(lines) == 3 and all(len(line) <= 60 for line in lines)
    assert "x⋯" in terminal.screen and "1234567890" in terminal.screen
    columns = ", ".join(f"1000000{n} AS column{n}" for n in range(10, 30))
    terminal.type(f"SELECT {columns};")
    terminal.until("out of 20 columns.")
    assert "column10" in terminal.screen and "column29" in terminal.screen and "column20 " not in terminal.screen.split("out of")[0].split("Query id")[-1]


def test_shell_pages(shell):
    terminal = shell("--pager=sed s/^/paged:/")
    terminal.type("SELECT 5 AS five;")
    terminal.until("paged:1. │    5 │")
    # Who leaves the pager before the end of the result is told of no error.
    terminal.type(".pager head -n 1 > /dev/null")
    terminal.type("SELECT number, 'unread' FROM numbers(1000000) FORMAT TSV;")
    terminal.until(":)", times=4)
    terminal.type(".pager off")
    terminal.until(":)", times=5)
    terminal.type("SELECT 'all ' || 'well';")
    terminal.until("all well")
    assert "CANNOT_WRITE" not in terminal.screen


def test_shell_survives_a_server_that_restarts(start_server, home):
    if shutil.which("tmux") is None:
        pytest.skip("NOT TESTED: the shell in a terminal, since tmux is not installed (scripts/test-clients.sh installs it)")
    own = start_server()
    terminal = Terminal(f"'{BINARY}' client --host=127.0.0.1 --port={own.native_port}", home)
    try:
        terminal.until(":)")
        terminal.type("USE system;")
        terminal.until("Ok.")
        own.restart()
        terminal.type("SELECT currentDatabase() AS d;")
        terminal.until("│ system │")
    finally:
        terminal.close()
