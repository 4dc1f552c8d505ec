"""The table function mysql(), the engine MySQL and dictionaries over it, against a server of MariaDB."""

import contextlib
import subprocess
import threading
import time

import pytest
from foreign_servers import PASSWORD, MariaDb
from server import USERS_XML, ServerError, wait_until

pytestmark = pytest.mark.skipif(bool(MariaDb.missing()), reason=f"not installed: {', '.join(MariaDb.missing())}")

ALLOWED = {"remote_url_allow_hosts": "<host>127.0.0.1</host>"}
ADMIN = USERS_XML.replace(
    "<access_management>1", "<named_collection_control>1</named_collection_control><access_management>1", 1
)
QUOTED = PASSWORD.replace("'", "\\'")

TYPES = r"""
CREATE TABLE shop.kinds (
    i1 TINYINT, u1 TINYINT UNSIGNED, i2 SMALLINT, u2 SMALLINT UNSIGNED, i3 MEDIUMINT, u3 MEDIUMINT UNSIGNED, i4 INT, u4 INT UNSIGNED,
    i8 BIGINT NOT NULL, u8 BIGINT UNSIGNED, f4 FLOAT, f8 DOUBLE, d DECIMAL(9, 2), w DECIMAL(60, 10), b BOOLEAN, bits BIT(12), y YEAR,
    day DATE, dt DATETIME, dt6 DATETIME(6) NOT NULL, ts TIMESTAMP NULL, ts3 TIMESTAMP(3) NULL, tm TIME(2), c CHAR(5), v VARCHAR(100), t TEXT,
    bin BINARY(4), vb VARBINARY(10), bl BLOB, e ENUM('small', 'it''s big'), s SET('a', 'b'), j JSON
);
SET time_zone = '+00:00';
INSERT INTO shop.kinds VALUES (
    -1, 255, -2, 65535, -3, 16777215, -4, 4294967295, -5000000000, 18446744073709551615, 1.5, -2.25, -7.25,
    12345678901234567890123456789012345678901234567890.5, true, b'100000000001', 1999, '1945-05-08', '2024-02-29 12:34:56',
    '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '-26:03:04.05', 'pad', 'it''s \\ a\nline\tß€😀', 'text',
    x'00ff', x'00ff27', x'00', 'it''s big', 'a,b', '{"a": 1}'
);
INSERT INTO shop.kinds (i8, dt6) VALUES (1, '1970-01-01 00:00:00');
"""

DESCRIBED = {
    "i1": "Nullable(Int8)",
    "u1": "Nullable(UInt8)",
    "i2": "Nullable(Int16)",
    "u2": "Nullable(UInt16)",
    "i3": "Nullable(Int32)",
    "u3": "Nullable(UInt32)",
    "i4": "Nullable(Int32)",
    "u4": "Nullable(UInt32)",
    "i8": "Int64",
    "u8": "Nullable(UInt64)",
    "f4": "Nullable(Float32)",
    "f8": "Nullable(Float64)",
    "d": "Nullable(Decimal(9, 2))",
    "w": "Nullable(Decimal(60, 10))",
    "b": "Nullable(Int8)",
    "bits": "Nullable(UInt64)",
    "y": "Nullable(String)",
    "day": "Nullable(Date32)",
    "dt": "Nullable(DateTime64(0))",
    "dt6": "DateTime64(6)",
    "ts": "Nullable(DateTime)",
    "ts3": "Nullable(DateTime64(3))",
    "tm": "Nullable(String)",
    "c": "Nullable(String)",
    "v": "Nullable(String)",
    "t": "Nullable(String)",
    "bin": "Nullable(FixedString(4))",
    "vb": "Nullable(String)",
    "bl": "Nullable(String)",
    "e": "Nullable(String)",
    "s": "Nullable(String)",
    "j": "Nullable(String)",
}


@pytest.fixture(scope="module")
def mariadb():
    server = MariaDb().start()
    server.sql(TYPES)
    yield server
    server.remove()


@pytest.fixture
def squall(start_server):
    return start_server(settings=ALLOWED, users_xml=ADMIN)


def call(mariadb, table, *more, password=QUOTED):
    rest = "".join(f", {argument}" for argument in more)
    return f"mysql('127.0.0.1:{mariadb.port}', 'shop', '{table}', 'squall', '{password}'{rest})"


@contextlib.contextmanager
def locked(mariadb, table):
    """Holds a lock of a table, in a session of its own."""
    command = ["mariadb", "--no-defaults", f"--socket={mariadb.socket}", "--user=root", "--unbuffered"]
    session = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        session.stdin.write(f"LOCK TABLES shop.{table} WRITE; SELECT 'held';\n")
        session.stdin.flush()
        assert "held" in session.stdout.readline() + session.stdout.readline()
        yield
    finally:
        session.stdin.close()
        session.wait()


def test_types_are_mysqls(mariadb, squall):
    kinds = call(mariadb, "kinds")
    assert {line[0]: line[1] for line in squall.rows(f"DESCRIBE TABLE {kinds}")} == DESCRIBED
    rows = squall.query(f"SELECT * EXCEPT (v, bin, vb, bl) FROM {kinds} ORDER BY i8 FORMAT TSVRaw").splitlines()
    assert rows[0].split("\t") == [
        "-1", "255", "-2", "65535", "-3", "16777215", "-4", "4294967295", "-5000000000", "18446744073709551615", "1.5", "-2.25", "-7.25",
        "12345678901234567890123456789012345678901234567890.5", "1", "2049", "1999", "1945-05-08", "2024-02-29 12:34:56",
        "2024-02-29 12:34:56.789012", "2024-02-29 12:34:56", "2024-02-29 12:34:56.789", "-26:03:04.05", "pad", "text", "it's big", "a,b",
        '{"a": 1}',
    ]  # fmt: skip
    assert rows[1].split("\t") == [*["\\N"] * 8, "1", *["\\N"] * 10, "1970-01-01 00:00:00.000000", *["\\N"] * 8]
    found = squall.value(f"SELECT v = 'it\\'s \\\\ a\\nline\\tß€😀', hex(bin), hex(vb), hex(bl) FROM {kinds} WHERE i1 = -1")
    assert found == "1\t00FF0000\t00FF27\t00"
    narrow = squall.rows(f"DESCRIBE TABLE {kinds}", mysql_datatypes_support_level="geometry", external_table_functions_use_nulls=0)
    narrow = {line[0]: line[1] for line in narrow}
    assert (narrow["d"], narrow["day"], narrow["dt6"], narrow["i1"]) == ("String", "Date", "DateTime", "Int8")
    assert squall.value(f"SELECT count() FROM {kinds} WHERE i1 = 0", external_table_functions_use_nulls=0) == "1"
    query = f"mysql('127.0.0.1:{mariadb.port}', 'shop', (SELECT * FROM kinds), 'squall', '{QUOTED}')"
    of_query = {line[0]: line[1] for line in squall.rows(f"DESCRIBE TABLE {query}")}
    assert of_query == DESCRIBED


def test_times_are_those_of_the_servers_zone(mariadb, start_server):
    server = start_server(settings={**ALLOWED, "timezone": "Europe/Berlin"})
    kinds = call(mariadb, "kinds")
    shown = server.query(f"SELECT dt6, toTimeZone(dt6, 'UTC'), ts3, ts FROM {kinds} WHERE dt6 > '2024-02-29 12:34:56'")
    assert shown == "2024-02-29 12:34:56.789012\t2024-02-29 11:34:56.789012\t2024-02-29 13:34:56.789\t2024-02-29 13:34:56\n"
    # An instant is told in UTC there.
    begin = len(mariadb.log())
    assert server.value(f"SELECT count() FROM {kinds} WHERE ts3 >= '2024-02-29 13:34:56.000'") == "1"
    assert "`ts3` >= '2024-02-29 12:34:56.000'" in mariadb.log_since(begin)
    begin = len(mariadb.log())
    assert server.value(f"SELECT count() FROM {kinds} WHERE ts = '2024-02-29 13:34:56'") == "1"
    assert "`ts` = '2024-02-29 12:34:56'" in mariadb.log_since(begin)
    mariadb.sql("CREATE OR REPLACE TABLE shop.zoned (dt DATETIME, ts TIMESTAMP)")
    server.query(f"INSERT INTO FUNCTION {call(mariadb, 'zoned')} SELECT toDateTime('2024-07-01 10:00:00', 'UTC') AS dt, dt")
    assert mariadb.sql("SET time_zone = '+00:00'; SELECT * FROM shop.zoned") == "2024-07-01 12:00:00\t2024-07-01 10:00:00"


def test_conditions_are_sent(mariadb, squall):
    mariadb.sql(
        """
        USE shop;
        CREATE TABLE shop.many (n INT NOT NULL, s VARCHAR(20), d DATE NOT NULL, dt DATETIME(6) NOT NULL, f DOUBLE, x DECIMAL(9, 2), e ENUM('b', 'a'));
        INSERT INTO shop.many SELECT seq, CASE seq % 3 WHEN 0 THEN NULL WHEN 1 THEN CONCAT('text ', seq) ELSE CONCAT('TEXT ', seq) END,
            DATE_ADD('2024-01-01', INTERVAL seq DAY), DATE_ADD('2024-01-01', INTERVAL seq SECOND), seq / 4, seq / 4, IF(seq % 2, 'a', 'b')
            FROM seq_0_to_999;
        """
    )
    many = call(mariadb, "many")
    for condition, sent in {
        "n = 5": "`n` = 5",
        "7 > n": "`n` < 7",
        "n IN (1, 2, 3000)": "`n` IN (1, 2, 3000)",
        "n BETWEEN 10 AND 20": "`n` >= 10 AND `n` <= 20",
        "s = 'text 5'": "`s` = 'text 5'",
        "s != 'text 4' AND n < 9": "CAST(CONVERT(`s` USING utf8mb4) AS BINARY) <> 'text 4'",
        "s >= 'U'": "CAST(CONVERT(`s` USING utf8mb4) AS BINARY) >= 'U'",
        "s IS NULL AND n < 10": "`s` IS NULL",
        "n = 1 OR s = 'it\\'s \\\\'": "(`n` = 1 OR `s` = 'it''s \\\\\\\\')",
        "d > '2026-01-01'": "`d` > '2026-01-01'",
        "dt < '2024-01-01 00:00:03'": "`dt` < '2024-01-01 00:00:03.000000'",
        "f > 248.5 AND n % 2 = 0": "`f` > 248.5",
        "x = 1.25": "`x` = 1.25",
        "e < 'b'": "CAST(CONVERT(`e` USING utf8mb4) AS BINARY) < 'b'",
    }.items():
        begin = len(mariadb.log())
        found = squall.value(f"SELECT count(), sum(n) FROM {many} WHERE {condition}")
        everything = squall.value(f"SELECT count(), sum(n) FROM (SELECT * FROM {many} LIMIT 1000) WHERE {condition}")
        assert found == everything, condition
        log = mariadb.log_since(begin).replace("\\\\", "\\") if "\\" not in sent else mariadb.log_since(begin)
        assert sent in log or sent.replace("\\\\", "\\") in log, (condition, log)
    begin = len(mariadb.log())
    squall.query(f"SELECT s FROM {many} WHERE n = 7")
    assert "SELECT `s`, `n` FROM" in mariadb.log_since(begin) or "SELECT `n`, `s` FROM" in mariadb.log_since(begin)


def test_a_limit_ends_the_reading_early(mariadb, squall):
    mariadb.sql("USE shop; CREATE VIEW shop.endless AS SELECT seq AS n, REPEAT('x', 1000) AS s FROM seq_1_to_100000000")
    endless = call(mariadb, "endless")
    begin = time.monotonic()
    assert len(squall.query(f"SELECT n FROM {endless} LIMIT 3").splitlines()) == 3
    assert squall.value(f"SELECT n FROM {endless} WHERE n % 1000 = 999 LIMIT 1") == "999"
    assert time.monotonic() - begin < 30
    mariadb.sql("USE shop; CREATE VIEW shop.million AS SELECT seq AS n FROM seq_1_to_1000000")
    assert squall.query(f"SELECT count(), sum(n) FROM {call(mariadb, 'million')}") == "1000000\t500000500000\n"
    assert squall.value(f"SELECT count() FROM {call(mariadb, 'million')}") == "1000000"
    assert squall.error_code(f"SELECT count() FROM {endless} WHERE n % 2 = 3", max_execution_time=1) == 159
    # So does one that has not sent anything yet.
    mariadb.sql("CREATE VIEW shop.silent AS SELECT SLEEP(1000) AS s")
    assert squall.error_code(f"SELECT * FROM {call(mariadb, 'silent')}", max_execution_time=1) == 159
    asleep = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'squall'"
    wait_until(lambda: mariadb.sql(asleep) == "0", "no statement runs there")


def test_rows_are_inserted(mariadb, squall):
    mariadb.sql(
        "CREATE TABLE shop.target (n INT PRIMARY KEY, s TEXT, b BLOB, d DECIMAL(9, 2), f DOUBLE, dt DATETIME(6), ts TIMESTAMP NULL, bits BIT(12), flag BOOLEAN)"
    )
    target = call(mariadb, "target")
    squall.query(
        f"INSERT INTO FUNCTION {target} SELECT 1, 'it\\'s \\\\ a\\nline\\t\\rß€\\0', unhex('00FF5C'), -1.25, 1e300,"
        " toDateTime64('2024-01-01 01:02:03.456789', 6), toDateTime('2024-01-01 00:00:00'), 2049, true"
    )
    read = squall.query(f"SELECT n, s = 'it\\'s \\\\ a\\nline\\t\\rß€\\0', hex(b), d, f, dt, ts, bits, flag FROM {target} FORMAT TSVRaw")
    assert read == "1\t1\t00FF5C\t-1.25\t1e300\t2024-01-01 01:02:03.456789\t2024-01-01 00:00:00\t2049\t1\n"
    squall.query(f"INSERT INTO FUNCTION {target} (n, s) SELECT number + 2, if(number % 2, NULL, toString(number)) FROM numbers(100000)")
    assert mariadb.sql("SELECT COUNT(*), COUNT(s), SUM(n) FROM shop.target") == "100001\t50001\t5000150001"
    squall.query(f"INSERT INTO FUNCTION {target} (n, s) VALUES (-1, 'a'), (-2, NULL)")
    # A failed INSERT leaves nothing.
    with pytest.raises(ServerError, match="Duplicate entry"):
        squall.query(f"INSERT INTO FUNCTION {target} (n) SELECT 200000 - number FROM numbers(199999)")
    with pytest.raises(ServerError, match="throwIf"):
        squall.query(f"INSERT INTO FUNCTION {target} (n) SELECT 200000 + number + throwIf(number = 90000) FROM numbers(100000)")
    assert mariadb.sql("SELECT COUNT(*) FROM shop.target") == "100003"
    # One that waits for a lock there ends when it is told to.
    with locked(mariadb, "target"):
        assert squall.error_code(f"INSERT INTO FUNCTION {target} (n) VALUES (-9)", max_execution_time=1) == 159
    assert mariadb.sql("SELECT COUNT(*) FROM shop.target") == "100003"
    squall.query(f"INSERT INTO FUNCTION {call(mariadb, 'target', 1)} (n, s) VALUES (1, 'new')")
    assert mariadb.sql("SELECT s, d FROM shop.target WHERE n = 1") == "new\tNULL"
    update = call(mariadb, "target", 0, "'UPDATE s = CONCAT(VALUES(s), s)'")
    squall.query(f"INSERT INTO FUNCTION {update} (n, s) VALUES (-1, 'b'), (-1, 'c')")
    assert mariadb.sql("SELECT s FROM shop.target WHERE n = -1") == "cba"
    assert squall.error_code(f"INSERT INTO FUNCTION {call(mariadb, 'target', 1, chr(39) + 'UPDATE n = 1' + chr(39))} (n) VALUES (1)") == 36


def test_tables_of_the_engine(mariadb, squall):
    mariadb.sql("CREATE TABLE shop.items (id BIGINT NOT NULL, name TEXT); INSERT INTO shop.items VALUES (1, 'one'), (2, NULL)")
    arguments = call(mariadb, "items").removeprefix("mysql")
    squall.query(f"CREATE TABLE e ENGINE = MySQL{arguments}")
    squall.query(f"CREATE TABLE narrow (id Int32, name String) ENGINE = MySQL{arguments}")
    for _ in range(2):
        assert squall.query("SELECT * FROM e ORDER BY id") == "1\tone\n2\t\\N\n"
        assert squall.query("SELECT toTypeName(id), name FROM narrow ORDER BY id") == "Int32\tone\nInt32\t\n"
        squall.restart()
    squall.query("INSERT INTO e VALUES (3, 'three')")
    squall.query("INSERT INTO narrow SELECT number, toString(number) FROM numbers(4, 2)")
    assert mariadb.sql("SELECT id, name FROM shop.items WHERE id > 2 ORDER BY id") == "3\tthree\n4\t4\n5\t5"
    for shown in (
        squall.query("SHOW CREATE TABLE e"),
        squall.query("SELECT create_table_query, engine_full FROM system.tables WHERE name IN ('e', 'narrow')"),
    ):
        assert "s3cret" not in shown and "[HIDDEN]" in shown
    squall.query(f"CREATE NAMED COLLECTION my AS host = '127.0.0.1', port = {mariadb.port}, database = 'shop', user = 'squall', password = '{QUOTED}'")
    assert squall.value("SELECT count() FROM mysql(my, table = 'items')") == "5"
    squall.query("INSERT INTO FUNCTION mysql(my, table = 'items', replace_query = 1) VALUES (6, 'six')")
    assert squall.value("SELECT sum(id) FROM mysql(my, query = 'SELECT id FROM items WHERE id > 4')") == "11"


def test_dictionaries(mariadb, squall):
    mariadb.sql("CREATE TABLE shop.words (id BIGINT, word TEXT, lang TEXT); INSERT INTO shop.words VALUES (1, 'one', 'en'), (2, 'zwei', 'de'), (3, NULL, 'en')")
    server = f"HOST '127.0.0.1' PORT {mariadb.port} USER 'squall' PASSWORD '{QUOTED}' DB 'shop'"
    for name, layout, source in (
        ("flat", "LIFETIME(0) LAYOUT(FLAT())", "TABLE 'words' WHERE 'lang = ''en'''"),
        ("hashed", "LIFETIME(1) LAYOUT(HASHED())", "TABLE 'words' INVALIDATE_QUERY 'SELECT count(*) FROM words'"),
        ("direct", "LAYOUT(DIRECT())", "TABLE 'words'"),
        ("cached", "LIFETIME(100) LAYOUT(CACHE(SIZE_IN_CELLS 10))", "QUERY 'SELECT id, upper(word) AS word FROM words'"),
    ):
        squall.query(f"CREATE DICTIONARY {name} (id UInt64, word String DEFAULT '?') PRIMARY KEY id SOURCE(MYSQL({server} {source})) {layout}")
    found = "SELECT dictGet('{}', 'word', number) FROM numbers(4)"
    assert squall.query(found.format("flat")) == "?\none\n?\n?\n"
    assert squall.query(found.format("hashed")) == "?\none\nzwei\n?\n"
    assert squall.query(found.format("direct")) == "?\none\nzwei\n?\n"
    assert squall.query(found.format("cached")) == "?\nONE\nZWEI\n?\n"
    mariadb.sql("INSERT INTO shop.words VALUES (0, 'null', 'de')")
    wait_until(lambda: squall.query(found.format("hashed")).startswith("null\n"), "the dictionary is loaded again")
    assert "s3cret" not in squall.query("SHOW CREATE DICTIONARY flat")


def test_who_may_ask_whom(mariadb, start_server):
    server = start_server()
    kinds = call(mariadb, "kinds")
    assert server.error_code(f"SELECT * FROM {kinds}") == 491
    assert server.error_code(f"INSERT INTO FUNCTION {kinds} (i8) VALUES (1)") == 491
    named = start_server(settings={**ALLOWED, "query_log": "<flush_interval_milliseconds>100</flush_interval_milliseconds>"})
    named.query("CREATE USER poor IDENTIFIED WITH no_password")
    named.query("GRANT CREATE TEMPORARY TABLE, CREATE TABLE ON *.* TO poor")
    for statement in (
        f"SELECT * FROM {kinds}",
        f"INSERT INTO FUNCTION {kinds} (i8) VALUES (1)",
        f"CREATE TABLE e (x Int8) ENGINE = MySQL{kinds.removeprefix('mysql')}",
    ):
        assert named.error_code(statement, user="poor") == 497, statement
    named.query("GRANT MYSQL ON *.* TO poor")
    assert named.value(f"SELECT count() FROM {kinds}", user="poor") == "2"
    named.query("SYSTEM FLUSH LOGS")
    assert "s3cret" not in named.query("SELECT * FROM system.query_log")
    assert "s3cret" not in named.log


def test_errors_say_what_is_wrong(mariadb, squall):
    kinds = call(mariadb, "kinds")
    for sql, code, message in (
        (f"SELECT * FROM {call(mariadb, 'kinds', password='wrong')}", 279, "Access denied"),
        (f"SELECT * FROM {call(mariadb, 'none')}", 60, "doesn't exist"),
        (f"SELECT * FROM {kinds.replace(str(mariadb.port), '1')}", 279, "refused"),
        ("SELECT * FROM mysql('127.0.0.1', 'd', 't', 'u')", 42, "from 5 to 7"),
        (f"SELECT * FROM mysql('127.0.0.1:{mariadb.port}', 'shop', 'squall', '{QUOTED}', query = 'SELEC')", 1000, "syntax"),
    ):
        with pytest.raises(ServerError, match=message) as failed:
            squall.query(sql)
        assert failed.value.code == code, sql
        assert "s3cret" not in str(failed.value)


def test_a_server_that_goes_away_is_an_error(start_server):
    mariadb = MariaDb().start()
    try:
        squall = start_server(settings=ALLOWED)
        mariadb.sql("USE shop; CREATE VIEW shop.endless AS SELECT seq AS n, REPEAT('x', 1000) AS s FROM seq_1_to_100000000")
        said = []

        def read():
            said.append(squall.error_code(f"SELECT sum(n), max(s) FROM {call(mariadb, 'endless')}", query_id="gone"))

        reader = threading.Thread(target=read)
        reader.start()
        squall.until_running("gone")
        time.sleep(1)
        mariadb.kill()
        reader.join(30)
        assert said == [210]
    finally:
        mariadb.remove()
