"""The query condition cache: which granules hold no match of a condition is found out once, and never wrong."""

import random

ROWS = 600_000
FIRST_PART = "SELECT min(name) FROM system.parts WHERE active AND table = 't'"
OFF = {"use_query_condition_cache": "0"}

# Rows that match lie together, all over the table, or nowhere.
CONDITIONS = [
    "cluster = 3",
    "v = 77",
    "s LIKE '%needle%'",
    "s LIKE '%needle%' AND v % 2 = 0",
    "cluster = 5 OR v = 12",
    "low IN ('c5', 'c9')",
    "maybe IS NULL AND cluster > 8",
    "s = 'nowhere'",
    "NOT (cluster < 9)",
]


# Its rows lie together in the eighth tenth.
NEEDLE = "s LIKE '%needle%'"


def filled(server):
    server.query(
        "CREATE TABLE t (k UInt64, cluster UInt32, v UInt32, s String, low LowCardinality(String), maybe Nullable(Int32)) "
        "ENGINE = MergeTree ORDER BY k"
    )
    server.query("SYSTEM STOP MERGES t")
    insert(server, 0)


def insert(server, first):
    server.query(
        f"INSERT INTO t (k, cluster, v, s, low, maybe) SELECT number + {first} AS k, intDiv(number, {ROWS // 10}) AS cluster, sipHash64(k) % 10007,"
        f" if(cluster = 7 AND v % 3 = 0, 'a needle in ' || toString(v), 'hay ' || toString(v)), 'c' || toString(cluster),"
        f" if(cluster = 9 AND v % 2 = 0, NULL, v) FROM (SELECT number, sipHash64(number + {first}) % 10007 AS v FROM numbers({ROWS}))"
    )


def answer(server, condition, **settings):
    return server.value(f"SELECT count(), sum(k), max(s), any(low) != '' FROM t WHERE {condition}", **settings)


def hits_of(server, condition):
    """How many rows a query read, and how many parts knew of its condition."""
    query_id = f"q{random.getrandbits(64)}"
    answer(server, condition, query_id=query_id)
    server.query("SYSTEM FLUSH LOGS")
    return [
        int(number)
        for number in server.rows(
            "SELECT read_rows, ProfileEvents['QueryConditionCacheHits'] FROM system.query_log "
            f"WHERE query_id = '{query_id}' AND type = 'QueryFinish'"
        )[0]
    ]


def test_granules_without_a_match_are_not_read_again(start_server):
    server = start_server(settings={"query_log": "<database>system</database><table>query_log</table>"})
    filled(server)
    expected = answer(server, NEEDLE, **OFF)
    assert server.value("SELECT count() FROM system.query_condition_cache") == "0"
    assert hits_of(server, NEEDLE) == [ROWS, 0]
    rows, hits = hits_of(server, NEEDLE)
    parts = int(server.value("SELECT count() FROM system.parts WHERE active AND table = 't'"))
    assert hits == parts and ROWS // 10 <= rows < ROWS // 10 + 2 * parts * 8192
    assert answer(server, NEEDLE) == expected
    marks = "sum(length(matching_marks)), sum(countSubstrings(matching_marks, '1')), count()"
    marks, with_match, entries = map(int, server.rows(f"SELECT {marks} FROM system.query_condition_cache")[0])
    assert ROWS // 8192 <= marks <= ROWS // 8192 + parts and 7 <= with_match <= 8 + 2 * parts and entries == parts
    # Another literal, and other settings, are another condition.
    assert hits_of(server, "s LIKE '%needle in 1%'") == [ROWS, 0]
    assert server.value("SELECT value FROM system.metrics WHERE metric = 'QueryConditionCacheEntries'") == str(2 * parts)
    server.query("SYSTEM CLEAR QUERY CONDITION CACHE")
    assert server.value("SELECT count() FROM system.query_condition_cache") == "0"
    assert hits_of(server, NEEDLE) == [ROWS, 0]
    # What most granules match is not remembered to hold anything.
    assert hits_of(server, "v < 5000")[0] == ROWS
    assert hits_of(server, "v < 5000")[0] == ROWS


def test_nothing_is_remembered_without_room(start_server):
    server = start_server(settings={"query_condition_cache_size": "0"})
    filled(server)
    answer(server, NEEDLE)
    assert server.value("SELECT count() FROM system.query_condition_cache") == "0"


def test_answers_stay_right_whatever_happens_to_the_table(start_server):
    server = start_server()
    filled(server)
    changes = [
        lambda: insert(server, ROWS),
        lambda: server.query("DELETE FROM t WHERE cluster = 3 AND k % 3 = 0"),
        lambda: server.query("ALTER TABLE t UPDATE cluster = 3, s = 'a needle' WHERE v = 77", mutations_sync="2"),
        lambda: server.query("ALTER TABLE t ADD COLUMN more UInt32 DEFAULT 5"),
        lambda: server.query("ALTER TABLE t MODIFY COLUMN more UInt32 DEFAULT cluster"),
        lambda: [
            server.query(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
            for old, new in [("v", "w"), ("cluster", "v"), ("w", "cluster")]
        ],
        lambda: server.query("SYSTEM START MERGES t"),
        lambda: server.query("OPTIMIZE TABLE t FINAL"),
        lambda: insert(server, 2 * ROWS),
        lambda: server.query(f"ALTER TABLE t DROP PART '{server.value(FIRST_PART)}'"),
        lambda: server.restart(),
    ]
    has_more = False
    for at, change in enumerate([lambda: None, *changes]):
        change()
        has_more |= at >= 4
        for condition in [*CONDITIONS, *(["more = 5", "more = 3 AND s LIKE '%n%'"] if has_more else [])]:
            right = answer(server, condition, **OFF)
            for turn in range(2):
                assert answer(server, condition) == right, (at, turn, condition)


def test_random_conditions(start_server):
    server = start_server()
    filled(server)
    insert(server, 10 * ROWS)
    rng = random.Random(17)
    atoms = [
        lambda: f"cluster {rng.choice(['=', '<', '>=', '!='])} {rng.randrange(11)}",
        lambda: f"v {rng.choice(['=', '<', '>'])} {rng.choice([5, 77, 5000, 10001])}",
        lambda: f"s LIKE '{rng.choice(['%needle%', 'hay 1%', '%99', 'a%7', '%zzz%'])}'",
        lambda: f"low = 'c{rng.randrange(12)}'",
        lambda: rng.choice(["maybe IS NULL", "maybe IS NOT NULL", "maybe = 12", "k % 100003 = 7", "k BETWEEN 5000 AND 90000"]),
    ]

    def condition(depth):
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(atoms)()
        if rng.random() < 0.15:
            return f"NOT ({condition(depth - 1)})"
        return f"({condition(depth - 1)}) {rng.choice(['AND', 'OR'])} ({condition(depth - 1)})"

    for _ in range(60):
        text = condition(3)
        right = answer(server, text, **OFF)
        for turn in range(2):
            assert answer(server, text) == right, (turn, text)
        # An order and a limit, and a column that the condition does not read.
        limited = f"SELECT k, cluster FROM t WHERE {text} ORDER BY v, k LIMIT 5"
        assert server.query(limited) == server.query(limited, **OFF), text
