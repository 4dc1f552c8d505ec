"""The table function postgresql(), the engine PostgreSQL and dictionaries over it, against a server of PostgreSQL."""

import threading
import time

import pytest
from foreign_servers import PASSWORD, Postgres
from server import USERS_XML, ServerError, installed, wait_until

pytestmark = pytest.mark.skipif(bool(Postgres.missing()), reason=f"not installed: {', '.join(Postgres.missing())}")

ALLOWED = {"remote_url_allow_hosts": "<host>127.0.0.1</host>"}
ADMIN = USERS_XML.replace(
    "<access_management>1", "<named_collection_control>1</named_collection_control><access_management>1", 1
)
QUOTED = PASSWORD.replace("'", "\\'")

TYPES = """
CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
CREATE TABLE kinds (
    i2 smallint, i4 integer, i8 bigint NOT NULL, s4 serial, f4 real, f8 double precision, n numeric, d numeric(9, 2), w numeric(60, 10),
    b boolean, t text, v varchar(10), c char(5), bytes bytea, j json, jb jsonb, u uuid, day date, ts timestamp, tz timestamptz,
    m mood, ip inet, span interval, a integer[], aa text[][], an numeric(5, 1)[] NOT NULL, at timestamp[]
);
INSERT INTO kinds VALUES (
    -2, -3, 5000000000, 1, 1.5, -2.25, 12.5, -7.25, 12345678901234567890123456789012345678901234567890.5,
    true, E'it''s \\\\ a\\nline\\tß€😀', 'vv', 'pad', '\\x00ff27', '{"a": 1}', '{"b":[2]}', '61f0c404-5cb3-11e7-907b-a6006ad3dba0',
    '2024-02-29', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.5+02', 'it''s ok', '10.0.0.1/8', '1 day 02:00',
    '{1,NULL,3}', '{{"a b",NULL},{"\\"q","{}"}}', '{1.5}', '{2024-02-29 12:00:00}'
);
INSERT INTO kinds (i8, an) VALUES (-1, '{}');
"""

DESCRIBED = {
    "i2": "Nullable(Int16)",
    "i4": "Nullable(Int32)",
    "i8": "Int64",
    "s4": "Int32",
    "f4": "Nullable(Float32)",
    "f8": "Nullable(Float64)",
    "n": "Nullable(Decimal(38, 19))",
    "d": "Nullable(Decimal(9, 2))",
    "w": "Nullable(Decimal(60, 10))",
    "b": "Nullable(UInt8)",
    "t": "Nullable(String)",
    "v": "Nullable(String)",
    "c": "Nullable(String)",
    "bytes": "Nullable(String)",
    "j": "Nullable(String)",
    "jb": "Nullable(String)",
    "u": "Nullable(UUID)",
    "day": "Nullable(Date)",
    "ts": "Nullable(DateTime64(6))",
    "tz": "Nullable(DateTime64(6))",
    "m": "Nullable(String)",
    "ip": "Nullable(String)",
    "span": "Nullable(String)",
    "a": "Array(Nullable(Int32))",
    "aa": "Array(Array(Nullable(String)))",
    "an": "Array(Decimal(5, 1))",
    "at": "Array(Nullable(DateTime64(6)))",
}


@pytest.fixture(scope="module")
def postgres():
    server = Postgres().start()
    server.sql(TYPES)
    yield server
    server.remove()


@pytest.fixture
def squall(start_server):
    return start_server(settings=ALLOWED, users_xml=ADMIN)


def call(postgres, table, *more, password=QUOTED):
    rest = "".join(f", '{argument}'" for argument in more)
    return f"postgresql('127.0.0.1:{postgres.port}', 'postgres', '{table}', 'squall', '{password}'{rest})"


def test_types_are_postgresqls(postgres, squall):
    kinds = call(postgres, "kinds")
    described = {line[0]: line[1] for line in squall.rows(f"DESCRIBE TABLE {kinds}")}
    assert described == DESCRIBED
    rows = squall.query(f"SELECT * EXCEPT (t, bytes) FROM {kinds} ORDER BY i8 DESC FORMAT TSVRaw").splitlines()
    assert rows[0].split("\t") == [
        "-2", "-3", "5000000000", "1", "1.5", "-2.25", "12.5", "-7.25", "12345678901234567890123456789012345678901234567890.5",
        "1", "vv", "pad  ", '{"a": 1}', '{"b": [2]}', "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "2024-02-29",
        "2024-02-29 12:34:56.789012", "2024-02-29 10:34:56.500000", "it's ok", "10.0.0.1/8", "1 day 02:00:00", "[1,NULL,3]",
        "[['a b',NULL],['\"q','{}']]", "[1.5]", "['2024-02-29 12:00:00.000000']",
    ]  # fmt: skip
    assert rows[1].split("\t") == ["\\N", "\\N", "-1", "1", *["\\N"] * 17, "[]", "[]", "[]", "[]"] or rows[1].split("\t")[3] == "2"
    assert squall.value(f"SELECT t = 'it\\'s \\\\ a\\nline\\tß€😀', hex(bytes) FROM {kinds} WHERE i2 = -2") == "1\t00FF27"
    plain = squall.rows(f"DESCRIBE TABLE {kinds}", external_table_functions_use_nulls=0)
    assert {line[0]: line[1] for line in plain}["i2"] == "Int16"
    # What is NULL there and a default here is not looked for there.
    assert squall.value(f"SELECT count() FROM {kinds} WHERE i2 = 0", external_table_functions_use_nulls=0) == "1"


def test_times_are_those_of_the_servers_zone(postgres, start_server):
    server = start_server(settings={**ALLOWED, "timezone": "Europe/Berlin"})
    kinds = call(postgres, "kinds")
    shown = server.query(f"SELECT ts, tz, toTimeZone(ts, 'UTC') FROM {kinds} WHERE tz > '2024-02-29 11:34:56' AND ts < '2024-02-29 12:34:57'")
    assert shown == "2024-02-29 12:34:56.789012\t2024-02-29 11:34:56.500000\t2024-02-29 11:34:56.789012\n"
    postgres.sql("DROP TABLE IF EXISTS zoned; CREATE TABLE zoned (ts timestamp, tz timestamptz)")
    server.query(f"INSERT INTO FUNCTION {call(postgres, 'zoned')} SELECT toDateTime('2024-07-01 10:00:00', 'UTC') AS ts, ts")
    assert postgres.sql("SELECT ts, tz AT TIME ZONE 'UTC' FROM zoned") == "2024-07-01 12:00:00|2024-07-01 10:00:00"


def test_conditions_are_sent(postgres, squall):
    postgres.sql(
        """
        DROP TABLE IF EXISTS many CASCADE;
        CREATE TABLE many (n integer NOT NULL, s text, d date NOT NULL, ts timestamp NOT NULL, f double precision, x numeric(9, 2), u uuid);
        INSERT INTO many SELECT n, CASE n % 3 WHEN 0 THEN NULL ELSE 'text ' || n END, date '2024-01-01' + n, timestamp '2024-01-01' + n * interval '1 second',
            n / 4.0, n / 4.0, NULL FROM generate_series(0, 999) AS n;
        CREATE FUNCTION fails(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE 'row % is read', n; END $$;
        """
    )
    many = call(postgres, "many")
    for condition, sent in {
        "n = 5": '"n" = 5',
        "7 > n": '"n" < 7',
        "n IN (1, 2, 3000)": '"n" IN (1, 2, 3000)',
        "n BETWEEN 10 AND 20": '"n" >= 10 AND "n" <= 20',
        "s = 'text 5'": "\"s\" = 'text 5'",
        "s >= 'text 99'": "\"s\" COLLATE \"C\" >= 'text 99'",
        "s IS NULL AND n < 10": '"s" IS NULL',
        "n = 1 OR s = 'it\\'s \\\\'": "(\"n\" = 1 OR \"s\" = E'it''s \\\\')",
        "d > '2026-01-01'": "\"d\" > '2026-01-01'",
        "ts < '2024-01-01 00:00:03'": "\"ts\" < '2024-01-01 00:00:03.000000'",
        "f > 248.5 AND n % 2 = 0": '"f" > 248.5',
        "x = 1.25": '"x" = 1.25',
    }.items():
        begin = len(postgres.log())
        found = squall.value(f"SELECT count(), sum(n) FROM {many} WHERE {condition}")
        everything = squall.value(f"SELECT count(), sum(n) FROM (SELECT * FROM {many} LIMIT 1000) WHERE {condition}")
        assert found == everything, condition
        assert f"WHERE {sent}" in postgres.log_since(begin).replace("statement: ", ""), (condition, postgres.log_since(begin))
    # Only columns that are needed are asked for.
    begin = len(postgres.log())
    squall.query(f"SELECT s FROM {many} WHERE n = 7")
    assert 'COPY (SELECT "n", "s" FROM' in postgres.log_since(begin) or 'COPY (SELECT "s", "n" FROM' in postgres.log_since(begin)
    # What cannot be said is filtered here.
    assert squall.value(f"SELECT count() FROM {many} WHERE n % 10 = 3 AND length(s) > 5") == squall.value(
        f"SELECT count() FROM (SELECT * FROM {many} LIMIT 1000) WHERE n % 10 = 3 AND length(s) > 5"
    )
    postgres.sql("CREATE VIEW careful AS SELECT CASE WHEN n > 500 THEN fails(n) ELSE n END AS value, n FROM many")
    assert squall.value(f"SELECT sum(value) FROM {call(postgres, 'careful')} WHERE n <= 10") == "55"
    with pytest.raises(ServerError, match="is read"):
        squall.query(f"SELECT sum(value) FROM {call(postgres, 'careful')}")


def test_a_limit_ends_the_reading_early(postgres, squall):
    postgres.sql("CREATE VIEW endless AS SELECT n, repeat('x', 1000) AS s FROM (SELECT generate_series(1, 100000000) AS n) AS t")
    endless = call(postgres, "endless")
    begin = time.monotonic()
    assert len(squall.query(f"SELECT n FROM {endless} LIMIT 3").splitlines()) == 3
    assert squall.value(f"SELECT n FROM {endless} WHERE n % 1000 = 999 LIMIT 1") == "999"
    assert time.monotonic() - begin < 30
    postgres.sql("CREATE TABLE million AS SELECT n FROM generate_series(1, 1000000) AS n")
    assert squall.query(f"SELECT count(), sum(n) FROM {call(postgres, 'million')}") == "1000000\t500000500000\n"
    assert squall.value(f"SELECT count() FROM {call(postgres, 'million')}") == "1000000"
    # A query that is killed, or out of time, ends there, too.
    assert squall.error_code(f"SELECT count() FROM {endless} WHERE n % 2 = 3", max_execution_time=1) == 159
    # So does one that has not sent anything yet.
    postgres.sql("CREATE VIEW silent AS SELECT pg_sleep(1000)::text AS s")
    assert squall.error_code(f"SELECT * FROM {call(postgres, 'silent')}", max_execution_time=1) == 159
    asleep = "SELECT count() FROM pg_stat_activity WHERE application_name = 'squall' AND state <> 'idle'".replace("count()", "count(*)")
    wait_until(lambda: postgres.sql(asleep) == "0", "no statement runs there")


def test_rows_are_inserted(postgres, squall):
    postgres.sql("CREATE TABLE target (n integer PRIMARY KEY, s text, b bytea, a integer[], aa text[][], d numeric(9, 2), ts timestamp, f boolean)")
    target = call(postgres, "target")
    squall.query(
        f"INSERT INTO FUNCTION {target} SELECT 1, 'it\\'s \\\\ a\\nline\\t\\rß€', unhex('00FF5C'), [1, NULL], [['a\"b', '\\\\'], ['', 'NULL']],"
        " 1.25, toDateTime64('2024-01-01 01:02:03.456789', 6), true"
    )
    read = squall.query(f"SELECT n, s = 'it\\'s \\\\ a\\nline\\t\\rß€', hex(b), a, aa, d, ts, f FROM {target} FORMAT TSVRaw")
    assert read == "1\t1\t00FF5C\t[1,NULL]\t[['a\"b','\\\\'],['','NULL']]\t1.25\t2024-01-01 01:02:03.456789\t1\n"
    squall.query(f"INSERT INTO FUNCTION {target} (n, s) SELECT number + 2, if(number % 2, NULL, toString(number)) FROM numbers(100000)")
    assert postgres.sql("SELECT count(*), count(s), sum(n) FROM target") == "100001|50001|5000150001"
    squall.query(f"INSERT INTO FUNCTION {target} (n, s) VALUES (-1, 'a'), (-2, NULL)")
    assert postgres.sql("SELECT n, s FROM target WHERE n < 0 ORDER BY n") == "-2|\n-1|a"
    # A failed INSERT leaves nothing.
    with pytest.raises(ServerError, match="duplicate key"):
        squall.query(f"INSERT INTO FUNCTION {target} (n) SELECT 200000 - number FROM numbers(199999)")
    with pytest.raises(ServerError, match="Value passed|throwIf"):
        squall.query(f"INSERT INTO FUNCTION {target} (n) SELECT 200000 + number + throwIf(number = 90000) FROM numbers(100000)")
    with pytest.raises(ServerError, match="invalid byte sequence"):
        squall.query(f"INSERT INTO FUNCTION {target} (n, s) SELECT 200000, 'a\\0b'")
    assert postgres.sql("SELECT count(*) FROM target") == "100003"
    # What is there already is looked at.
    squall.query(f"INSERT INTO FUNCTION {call(postgres, 'target', '', 'ON CONFLICT DO NOTHING')} (n, s) VALUES (1, 'no'), (-3, 'yes')")
    update = call(postgres, "target", "public", "ON CONFLICT (n) DO UPDATE SET s = EXCLUDED.s || target.s")
    squall.query(f"INSERT INTO FUNCTION {update} (n, s) VALUES (-1, 'b'), (-1, 'c')")
    assert postgres.sql("SELECT n, s FROM target WHERE n < 0 ORDER BY n") == "-3|yes\n-2|\n-1|cba"
    assert postgres.sql("SELECT s LIKE 'it%' FROM target WHERE n = 1") == "t"


def test_tables_of_the_engine(postgres, squall):
    postgres.sql("CREATE SCHEMA other; CREATE TABLE other.items (id bigint NOT NULL, name text); INSERT INTO other.items VALUES (1, 'one'), (2, NULL)")
    arguments = call(postgres, "items", "other").removeprefix("postgresql")
    squall.query(f"CREATE TABLE e ENGINE = PostgreSQL{arguments}")
    squall.query(f"CREATE TABLE narrow (id Int32, name String) ENGINE = PostgreSQL{arguments}")
    for _ in range(2):
        assert squall.query("SELECT * FROM e ORDER BY id") == "1\tone\n2\t\\N\n"
        assert squall.query("SELECT toTypeName(id), name FROM narrow ORDER BY id") == "Int32\tone\nInt32\t\n"
        squall.restart()
    squall.query("INSERT INTO e VALUES (3, 'three')")
    squall.query("INSERT INTO narrow SELECT number, toString(number) FROM numbers(4, 2)")
    assert postgres.sql("SELECT id, name FROM other.items WHERE id > 2 ORDER BY id") == "3|three\n4|4\n5|5"
    assert squall.value("SELECT engine FROM system.tables WHERE name = 'e'") == "PostgreSQL"
    for shown in (
        squall.query("SHOW CREATE TABLE e"),
        squall.query("SELECT create_table_query, engine_full FROM system.tables WHERE name IN ('e', 'narrow')"),
    ):
        assert "s3cret" not in shown and "[HIDDEN]" in shown
    squall.query(f"CREATE NAMED COLLECTION pg AS host = '127.0.0.1', port = {postgres.port}, database = 'postgres', user = 'squall', password = '{QUOTED}'")
    assert squall.value("SELECT count() FROM postgresql(pg, schema = 'other', table = 'items')") == "5"
    squall.query("CREATE TABLE c (id Int64) ENGINE = PostgreSQL(pg, schema = 'other', table = 'items')")
    assert squall.value("SELECT max(id) FROM c") == "5"
    squall.query("INSERT INTO FUNCTION postgresql(pg, schema = 'other', table = 'items') VALUES (6, 'six')")
    assert squall.value("SELECT sum(id) FROM postgresql(pg, query = 'SELECT id FROM other.items WHERE id > 4')") == "11"
    assert squall.value(f"SELECT sum(n) FROM postgresql('127.0.0.1:{postgres.port}', 'postgres', (SELECT id * 2 AS n FROM other.items WHERE id > 4), 'squall', '{QUOTED}')") == "22"


def test_dictionaries(postgres, squall):
    postgres.sql("CREATE TABLE words (id bigint, word text, lang text); INSERT INTO words VALUES (1, 'one', 'en'), (2, 'zwei', 'de'), (3, NULL, 'en')")
    server = f"HOST '127.0.0.1' PORT {postgres.port} USER 'squall' PASSWORD '{QUOTED}' DB 'postgres'"
    for name, layout, source in (
        ("flat", "LIFETIME(0) LAYOUT(FLAT())", "TABLE 'words' WHERE 'lang = ''en'''"),
        ("hashed", "LIFETIME(1) LAYOUT(HASHED())", "TABLE 'words' SCHEMA 'public' INVALIDATE_QUERY 'SELECT count(*) FROM words'"),
        ("direct", "LAYOUT(DIRECT())", "TABLE 'words'"),
        ("cached", "LIFETIME(100) LAYOUT(CACHE(SIZE_IN_CELLS 10))", "QUERY 'SELECT id, upper(word) AS word FROM words'"),
    ):
        squall.query(
            f"CREATE DICTIONARY {name} (id UInt64, word String DEFAULT '?') PRIMARY KEY id SOURCE(POSTGRESQL({server} {source})) {layout}"
        )
    found = "SELECT dictGet('{}', 'word', number) FROM numbers(4)"
    assert squall.query(found.format("flat")) == "?\none\n?\n?\n"
    assert squall.query(found.format("hashed")) == "?\none\nzwei\n?\n"
    assert squall.query(found.format("direct")) == "?\none\nzwei\n?\n"
    assert squall.query(found.format("cached")) == "?\nONE\nZWEI\n?\n"
    postgres.sql("INSERT INTO words VALUES (0, 'null', 'de')")
    wait_until(lambda: squall.query(found.format("hashed")).startswith("null\n"), "the dictionary is loaded again")
    assert "s3cret" not in squall.query("SHOW CREATE DICTIONARY flat")
    begin = len(postgres.log())
    squall.query("SELECT dictGet('direct', 'word', 2)")
    assert "IN ((2))" in postgres.log_since(begin)


def test_who_may_ask_whom(postgres, start_server):
    server = start_server()
    kinds = call(postgres, "kinds")
    # Neighbours are asked only where the configuration names them.
    assert server.error_code(f"SELECT * FROM {kinds}") == 491
    assert server.error_code(f"INSERT INTO FUNCTION {kinds} (i8) VALUES (1)") == 491
    assert server.error_code(f"SELECT * FROM {kinds.replace('127.0.0.1', 'localhost')}") == 491
    source = f"SOURCE(POSTGRESQL(HOST '127.0.0.1' PORT {postgres.port} USER 'squall' DB 'postgres' TABLE 'words'))"
    server.query(f"CREATE DICTIONARY d (id UInt64, word String) PRIMARY KEY id {source} LAYOUT(FLAT()) LIFETIME(0)")
    assert server.error_code("SELECT dictGet('d', 'word', 1)") == 491
    named = start_server(settings={**ALLOWED, "query_log": "<flush_interval_milliseconds>100</flush_interval_milliseconds>"})
    assert named.error_code(f"SELECT * FROM {kinds.replace('127.0.0.1', 'localhost')}") == 491
    named.query("CREATE USER poor IDENTIFIED WITH no_password")
    named.query("GRANT CREATE TEMPORARY TABLE, CREATE TABLE, CREATE DICTIONARY ON *.* TO poor")
    for statement in (
        f"SELECT * FROM {kinds}",
        f"INSERT INTO FUNCTION {kinds} (i8) VALUES (1)",
        f"CREATE TABLE e (x Int8) ENGINE = PostgreSQL{kinds.removeprefix('postgresql')}",
        f"CREATE DICTIONARY d (id UInt64, word String) PRIMARY KEY id {source} LAYOUT(FLAT()) LIFETIME(0)",
    ):
        assert named.error_code(statement, user="poor") == 497, statement
    named.query("GRANT POSTGRES ON *.* TO poor")
    assert named.value(f"SELECT count() FROM {kinds}", user="poor") == "2"
    # A password is nowhere to be seen.
    named.query("SYSTEM FLUSH LOGS")
    assert "s3cret" not in named.query("SELECT * FROM system.query_log")
    assert "[HIDDEN]" in named.query("SELECT query FROM system.query_log WHERE query LIKE '%postgresql%'")
    assert "s3cret" not in named.log


def test_errors_say_what_is_wrong(postgres, squall):
    kinds = call(postgres, "kinds")
    for sql, code, message in (
        (f"SELECT * FROM {call(postgres, 'kinds', password='wrong')}", 614, "password authentication failed"),
        (f"SELECT * FROM {call(postgres, 'none')}", 60, "does not exist"),
        (f"SELECT * FROM {kinds.replace(str(postgres.port), '1')}", 614, "refused"),
        ("SELECT * FROM postgresql('127.0.0.1', 'd', 't', 'u')", 42, "from 5 to 7"),
        ("CREATE TABLE e (x Int8) ENGINE = PostgreSQL('127.0.0.1', 'd', 't', 'u')", 42, "from 5 to 7"),
        (f"INSERT INTO FUNCTION {call(postgres, 'none')} VALUES (1)", 60, "does not exist"),
    ):
        with pytest.raises(ServerError, match=message) as failed:
            squall.query(sql)
        assert failed.value.code == code, sql
        assert "s3cret" not in str(failed.value) and "wrong'" not in str(failed.value)


@pytest.mark.skipif(not installed("openssl"), reason="not installed: openssl")
def test_a_server_that_insists_on_tls(start_server):
    postgres = Postgres()
    try:
        postgres.insist_on_tls()
        postgres.start()
        squall = start_server(settings=ALLOWED)
        postgres.sql("CREATE TABLE t AS SELECT n, repeat('x', 100) AS s FROM generate_series(1, 100000) AS n")
        table = call(postgres, "t")
        assert squall.query(f"SELECT count(), sum(n), sum(length(s)) FROM {table}") == "100000\t5000050000\t10000000\n"
        squall.query(f"INSERT INTO FUNCTION {table} SELECT number, 'y' FROM numbers(10000)")
        assert postgres.sql("SELECT count(*) FROM t") == "110000"
    finally:
        postgres.remove()


def test_a_server_that_goes_away_is_an_error(start_server):
    postgres = Postgres().start()
    try:
        squall = start_server(settings=ALLOWED)
        postgres.sql("CREATE VIEW slow AS SELECT n, pg_sleep(0.0001)::text FROM generate_series(1, 10000000) AS n")
        said = []

        def read():
            said.append(squall.error_code(f"SELECT sum(n) FROM {call(postgres, 'slow')}", query_id="gone"))

        reader = threading.Thread(target=read)
        reader.start()
        squall.until_running("gone")
        time.sleep(1)
        postgres.kill()
        reader.join(30)
        assert said == [614]
    finally:
        postgres.remove()
