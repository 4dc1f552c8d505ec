"""Plans that are kept: for the same text, and for texts that differ in constants alone. Answers must be those of a plan made anew."""

import random

import pytest

HITS = "SELECT ProfileEvents['PlanCacheHits'] FROM system.query_log WHERE query_id = '{}' AND type = 'QueryFinish'"


@pytest.fixture(name="kept")
def fixture_kept(server):
    """Whether the plan of a query was a kept one, and the query's answer."""
    numbers = iter(range(1_000_000))
    prefix = f"plan_{random.getrandbits(32):x}"

    def run(query):
        query_id = f"{prefix}_{next(numbers)}"
        answer = server.http(query, query_id=query_id).body.decode()
        server.query("SYSTEM FLUSH LOGS")
        return server.query(HITS.format(query_id)).strip() == "1", answer

    return run


@pytest.fixture(name="rows")
def fixture_rows(server, table):
    server.query(f"CREATE TABLE {table} (id UInt64, s String, f FixedString(8), n Int32) ENGINE = MergeTree ORDER BY id")
    server.query(
        f"INSERT INTO {table} SELECT number * 1000, concat('string_', toString(number)), leftPad(toString(number), 8, '0'), -number"
        " FROM numbers(100)"
    )
    return table


def test_the_same_text_is_planned_once(server, kept, rows):
    query = f"SELECT s FROM {rows} WHERE id = 7000"
    assert kept(query) == (False, "string_7\n")
    assert kept(query) == (True, "string_7\n")
    # Rows that come later are seen, and a table that comes to the name.
    server.query(f"INSERT INTO {rows} VALUES (7000, 'another', '', 0)")
    assert kept(query)[0] and sorted(kept(query)[1].split()) == ["another", "string_7"]
    server.query(f"DROP TABLE {rows}")
    server.query(f"CREATE TABLE {rows} (s UInt8, id UInt64) ENGINE = MergeTree ORDER BY id")
    server.query(f"INSERT INTO {rows} VALUES (1, 7000)")
    assert kept(query) == (False, "1\n")


def test_other_constants_need_no_other_plan(kept, rows):
    answers = [kept(f"SELECT s FROM {rows} WHERE id = {number * 1000}") for number in range(30, 40)]
    assert [answer for _, answer in answers] == [f"string_{number}\n" for number in range(30, 40)]
    assert [is_kept for is_kept, _ in answers] == [False, False] + [True] * 8
    # An integer of another type is another shape.
    assert kept(f"SELECT s FROM {rows} WHERE id = 70000") == (False, "string_70\n")
    assert kept(f"SELECT s FROM {rows} WHERE id = 71000") == (False, "string_71\n")


def test_strings_too(kept, rows):
    for column, values in (("s", [f"string_{n}" for n in range(10, 20)]), ("f", [f"{n:08}" for n in range(10, 20)])):
        answers = [kept(f"SELECT id FROM {rows} WHERE {column} = '{value}'") for value in values]
        assert [answer for _, answer in answers] == [f"{number}000\n" for number in range(10, 20)]
        assert [is_kept for is_kept, _ in answers][2:] == [True] * 8


def test_what_a_constant_changes_besides_is_planned_anew(server, kept, rows):
    """Constants in LIMIT, in names, in functions that are computed while planning, and comparisons that planning decides."""
    queries = [
        lambda n: f"SELECT id = {n} FROM {rows} WHERE id = {n} FORMAT CSVWithNames",
        lambda n: f"SELECT count() FROM {rows} WHERE id < {n} LIMIT {n}",
        lambda n: f"SELECT s FROM {rows} WHERE id = {n} + 1000",
        lambda n: f"SELECT s FROM {rows} WHERE id = {n} OR {n} = 5000",
        lambda n: f"SELECT s FROM {rows} WHERE id = {n} AND {n} > 4500",
        lambda n: f"SELECT s FROM {rows} WHERE n = -{n}",
        lambda n: f"SELECT s FROM {rows} WHERE id IN ({n}, {n + 1000})",
        lambda n: f"SELECT s FROM {rows} WHERE toString(id) = '{n}'",
        lambda n: f"SELECT s FROM {rows} WHERE id BETWEEN {n} AND {n + 2000} ORDER BY id LIMIT 2",
        lambda n: f"SELECT sum(id) FROM {rows} WHERE id >= {n} GROUP BY id > {n} ORDER BY 1",
        lambda n: f"SELECT s FROM {rows} PREWHERE id = {n} WHERE id != {n + 1}",
        lambda n: f"SELECT s, (SELECT max(id) FROM {rows} WHERE id < {n}) FROM {rows} WHERE id = {n}",
        lambda n: f"SELECT s FROM (SELECT * FROM {rows} WHERE id = {n}) WHERE id = {n}",
        lambda n: f"SELECT substring(s, 1, {n}) FROM {rows} WHERE id = {n}",
        lambda n: f"SELECT count() FROM {rows} WHERE 300 = {n} OR 400 = {n}",
    ]
    for query in queries:
        for number in (3000, 4000, 5000, 6000, 3000, 300, 400):
            text = query(number)
            # A comment makes another shape, which nobody has seen.
            fresh = server.query(text.replace("SELECT", f"SELECT /* {random.getrandbits(64)} */", 1))
            assert kept(text)[1] == fresh, text


def test_a_count_is_never_kept(server, kept, rows):
    query = f"SELECT count(), min(id), max(id) FROM {rows}"
    assert kept(query)[1] == "100\t0\t99000\n"
    server.query(f"INSERT INTO {rows} VALUES (100000, '', '', 0)")
    assert kept(query)[1] == "101\t0\t100000\n"
    grouped = f"SELECT n % 10 AS k, count() FROM {rows} GROUP BY k ORDER BY k DESC LIMIT 1"
    assert kept(grouped)[1] == "0\t11\n"
    server.query(f"INSERT INTO {rows} VALUES (1, '', '', 2009)")
    assert kept(grouped)[1] == "9\t1\n"


def test_what_is_of_one_run_is_not_kept(server, kept):
    """Functions that ask when, by whom and as what a query runs, or that count its rows."""
    for query in ("SELECT queryID()", "SELECT now64(9)", "SELECT randConstant()", "SELECT concat('q', upper(queryID()))"):
        first, second = kept(query), kept(query)
        assert not second[0] and first[1] != second[1], query
    for query in ("SELECT currentUser()", "SELECT today()", "SELECT uptime() >= 0", "SELECT 1 WHERE now() > toDateTime('2020-01-01')"):
        assert not kept(query)[0] and not kept(query)[0], query
    for query in ("SELECT rowNumberInAllBlocks() FROM numbers(3)", "SELECT blockNumber() FROM numbers(3)"):
        first, second = kept(query), kept(query)
        assert not second[0] and first[1] == second[1], query


def test_random_numbers_of_a_kept_plan_are_new(kept):
    for query in ("SELECT rand64()", "SELECT generateUUIDv4()", "SELECT max(x) FROM (SELECT rand64() AS x FROM numbers(10))"):
        first, second = kept(query), kept(query)
        assert second[0] and first[1] != second[1], query


def test_names_that_sound_like_functions_of_the_moment(server, kept, table):
    server.query(f"CREATE TABLE {table} (user_id UInt64, session_date Date, query String) ENGINE = MergeTree ORDER BY user_id")
    server.query(f"INSERT INTO {table} SELECT number * 1000, toDate('2026-11-01') + number, 'now()' FROM numbers(20)")
    answers = [kept(f"SELECT session_date, query FROM {table} WHERE user_id = {number * 1000}") for number in range(5, 10)]
    assert [answer for _, answer in answers] == [f"2026-11-{number + 1:02}\tnow()\n" for number in range(5, 10)]
    assert [is_kept for is_kept, _ in answers] == [False, False, True, True, True]


def test_join_tables(server, kept, table):
    server.query(f"CREATE TABLE {table} (id UInt64, s String) ENGINE = Join(ANY, LEFT, id)")
    server.query(f"INSERT INTO {table} SELECT number, toString(number) FROM numbers(10)")
    query = f"SELECT number AS id, s FROM numbers(9, 3) ANY LEFT JOIN {table} USING (id) ORDER BY id"
    assert kept(query) == (False, "9\t9\n10\t\n11\t\n")
    server.query(f"INSERT INTO {table} VALUES (10, 'ten')")
    assert kept(query) == (True, "9\t9\n10\tten\n11\t\n")
    server.query(f"DROP TABLE {table}")
    server.query(f"CREATE TABLE {table} (s UInt8, id UInt64) ENGINE = Join(ANY, LEFT, id)")
    assert kept(query) == (False, "9\t0\n10\t0\n11\t0\n")


def test_a_kept_plan_is_its_users(server, rows):
    """What one user may read, another may not have a plan of."""
    text = f"SELECT s FROM {rows} WHERE id = 9000"
    for _ in range(3):
        assert server.http(text).body == b"string_9\n"
    response = server.http(text, user="nobody_such")
    assert response.status == 403
