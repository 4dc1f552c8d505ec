"""squall local: queries over files and standard input in the client's own process."""

import gzip
import subprocess

import pytest
from server import BINARY


def run(folder, *arguments, stdin=None, expect=0):
    """What it prints on standard output, or on standard error where it is to fail."""
    given = {"input": stdin.encode()} if stdin is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run([BINARY, "local", *arguments], cwd=folder, capture_output=True, timeout=120, **given)
    assert done.returncode == expect, f"{done.returncode}: {done.stderr.decode()}"
    return (done.stderr if expect else done.stdout).decode()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "weather.csv").write_text(
        "city,day,degrees\nOslo,2026-07-01,21.5\nRome,2026-07-01,31.5\nRome,2026-07-02,33\n"
    )
    days = tmp_path / "days"
    days.mkdir()
    for at in (1, 2):
        (days / f"{at}.csv").write_text(f"{at},a\n{at},b\n")
        (days / f"{at}.csv.gz").write_bytes(gzip.compress(f"{at},a\n{at},b\n".encode()))
    (tmp_path / "pairs.txt").write_text("1,3\n2,4\n")
    return tmp_path


def test_files_are_tables(folder):
    ask = "SELECT city, max(degrees) FROM 'weather.csv' GROUP BY city ORDER BY city"
    assert run(folder, "-q", ask) == "Oslo\t21.5\nRome\t33\n"
    assert run(folder, "--query", "SELECT count() FROM 'days/*.csv'") == "4\n"
    ask = "SELECT _file, count() FROM 'days/{1..2}.csv.gz' GROUP BY _file ORDER BY _file"
    assert run(folder, "-q", ask) == "1.csv.gz\t2\n2.csv.gz\t2\n"
    assert run(folder, "-q", "SELECT sum(b) FROM file('pairs.txt', CSV, 'a UInt8, b Int64')") == "7\n"
    absolute = f"SELECT count() FROM '{folder}/weather.csv' AS w JOIN 'pairs.txt' AS p ON w.degrees > p.c1"
    assert run(folder, "-q", absolute) == "6\n"
    described = run(folder, "-q", "DESCRIBE TABLE 'weather.csv'", "--output-format", "TSV")
    assert [line.split("\t")[:2] for line in described.splitlines()] == [
        ["city", "Nullable(String)"],
        ["day", "Nullable(Date)"],
        ["degrees", "Nullable(Float64)"],
    ]


def test_standard_input_is_a_table(folder):
    assert run(folder, "-q", "SELECT sum(c1) FROM table", stdin="1,a\n2,b\n") == "3\n"
    assert run(folder, "-q", "SELECT max(a) FROM table", stdin='{"a":1}\n{"a":7}\n') == "7\n"
    given = ("--input-format", "CSV", "--structure", "n UInt8, s String", "--table", "t")
    assert run(folder, *given, "-q", "SELECT s FROM t", stdin="1,a\n") == "a\n"
    # What nobody asks for is not read.
    assert run(folder, "-q", "SELECT 1", stdin="x" * 10) == "1\n"
    assert "only once" in run(folder, "-q", "SELECT * FROM table; SELECT * FROM table", stdin="1\n", expect=33)


def test_where_queries_come_from(folder):
    assert run(folder, stdin="SELECT 1; SELECT 2") == "1\n2\n"
    (folder / "one.sql").write_text("SELECT 1;\n-- a comment\nSELECT 2;")
    assert run(folder, "--queries-file", "one.sql") == "1\n2\n"
    assert run(folder, "-q", "SELECT 1", "-q", "SELECT 2") == "1\n2\n"
    assert run(folder, "--param_x", "5", "-q", "SELECT {x:UInt8}") == "5\n"
    assert run(folder, "--max_threads", "3", "-q", "SELECT getSetting('max_threads')") in ("3\n", "'3'\n")


def test_tables_last_as_long_as_they_are_told_to(folder):
    made = "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a; INSERT INTO t VALUES (2), (1); SELECT a FROM t"
    assert run(folder, "-q", made) == "1\n2\n"
    assert run(folder, "-q", "CREATE TABLE m (a UInt8) ENGINE = Memory; INSERT INTO m VALUES (7); SELECT a FROM m") == "7\n"
    run(folder, "--path", "lake", "-q", made)
    assert run(folder, "--path", "lake", "-q", "SELECT sum(a) FROM t") == "3\n"
    run(folder, "--path", "lake", "-q", "INSERT INTO t FORMAT CSV", stdin="10\n20\n")
    assert run(folder, "--path", "lake", "-q", "SELECT sum(a) FROM t") == "33\n"


def test_errors_are_sentences_and_codes(folder):
    assert "none.csv" in run(folder, "-q", "SELECT * FROM 'none.csv'", expect=107)
    for query, code in [("SELECT", 62), ("SELECT * FROM nothing", 60), ("SELECT x", 47), ("SELECT throwIf(1)", 395 % 256)]:
        told = run(folder, "-q", query, expect=code)
        assert "DB::Exception" not in told and len(told.splitlines()) <= 2, told
    assert run(folder, "-q", "SELECT 1; SELECT nothing; SELECT 2", expect=47)


def test_formats(folder):
    assert run(folder, "-q", "SELECT 1 AS a FORMAT JSONEachRow") == '{"a":1}\n'
    assert run(folder, "--output-format", "CSVWithNames", "-q", "SELECT 1 AS a") == '"a"\n1\n'
    copied = subprocess.run(
        [BINARY, "local", "-q", "SELECT number AS n FROM numbers(1000) FORMAT Parquet"], stdout=subprocess.PIPE, check=True,
        stdin=subprocess.DEVNULL,
    ).stdout
    (folder / "n.parquet").write_bytes(copied)
    assert run(folder, "-q", "SELECT sum(n), count() FROM 'n.parquet'") == "499500\t1000\n"
    assert run(folder, "-q", "SELECT count() FROM 'n.parquet' WHERE n % 2 = 0") == "500\n"


def test_results_go_to_files_and_rows_come_from_them(folder):
    run(folder, "-q", "SELECT number AS n FROM numbers(5) INTO OUTFILE 'made.csv.gz' FORMAT CSV")
    assert gzip.decompress((folder / "made.csv.gz").read_bytes()) == b"0\n1\n2\n3\n4\n"
    taken = "CREATE TABLE t (n UInt8, m UInt8 DEFAULT n * 2) ENGINE = Memory; INSERT INTO t (n) FROM INFILE 'made.csv.gz' FORMAT CSV; SELECT sum(n), sum(m) FROM t"
    assert run(folder, "-q", taken) == "10\t20\n"
    assert run(folder, "-q", "CREATE TABLE t (d Date) ENGINE = Memory; INSERT INTO t VALUES (toDate('2024-01-01') + 1); SELECT d FROM t") == "2024-01-02\n"


def test_a_terminal_gets_a_shell(folder):
    import os
    import pty
    import select
    import time

    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm"
        os.execv(BINARY, [BINARY])
    shown = b""

    def until(text):
        nonlocal shown
        deadline = time.monotonic() + 60
        while text not in shown:
            assert time.monotonic() < deadline, shown
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 65536)
                # The line editor asks the terminal where its cursor is.
                if b"\x1b[6n" in shown:
                    shown = shown.replace(b"\x1b[6n", b"")
                    os.write(terminal, b"\x1b[1;1R")

    try:
        until(b"local")
        os.write(terminal, b"SELECT max(degrees) * 2 FROM 'weather.csv';\r")
        until(b"66")
        os.write(terminal, b"exit\r")
        os.waitpid(process, 0)
        process = 0
    finally:
        if process:
            os.kill(process, 9)
            os.waitpid(process, 0)
