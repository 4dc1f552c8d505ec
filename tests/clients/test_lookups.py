"""Tables of the engine Join and dictionaries through restarts, kills, reloads and changes of their names."""

import pytest
from server import ServerError, wait_until


def test_join_table_survives_kill_9(start_server):
    server = start_server()
    server.query("CREATE TABLE j (k UInt64, v String, w Nullable(Int32)) ENGINE = Join(ANY, LEFT, k)")
    server.query("CREATE TABLE all_rows (k UInt64, v UInt64) ENGINE = Join(ALL, INNER, k) SETTINGS join_use_nulls = 0")
    server.query("CREATE TABLE gone (k UInt64, v UInt64) ENGINE = Join(ANY, LEFT, k) SETTINGS persistent = 0")
    server.query("INSERT INTO j VALUES (1, 'one', NULL), (2, 'two', 22), (1, 'again', 11)")
    server.query("INSERT INTO all_rows SELECT number % 1000, number FROM numbers(30000)")
    server.query("INSERT INTO gone VALUES (1, 1)")
    server.kill()
    server.start()
    assert server.rows("SELECT * FROM j ORDER BY k") == [["1", "one", "\\N"], ["2", "two", "22"]]
    assert server.value("SELECT joinGet('j', 'v', toUInt64(1))") == "one"
    joined = "SELECT count(), sum(v) FROM (SELECT number AS k FROM numbers(500)) AS l JOIN all_rows USING k"
    assert server.rows(joined) == [["15000", str(sum(n for n in range(30000) if n % 1000 < 500))]]
    assert server.value("SELECT count() FROM gone") == "0"
    # What is inserted after the start is found beside what was before.
    server.query("INSERT INTO j VALUES (3, 'three', 3)")
    server.kill()
    server.start()
    assert server.value("SELECT joinGet('j', 'v', toUInt64(3)) || joinGet('j', 'v', toUInt64(2))") == "threetwo"
    server.query("TRUNCATE TABLE j")
    server.restart()
    assert server.value("SELECT count() FROM j") == "0"


def test_dictionary_survives_restart_and_is_loaded_when_asked(start_server):
    server = start_server()
    server.query("CREATE TABLE source (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
    server.query("INSERT INTO source VALUES (1, 'one')")
    server.query(
        "CREATE DICTIONARY d (id UInt64, v String DEFAULT 'none') PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'source')) "
        "LAYOUT(HASHED()) LIFETIME(0)"
    )
    status = "SELECT status FROM system.dictionaries WHERE name = 'd'"
    assert server.value(status) == "NOT_LOADED"
    look = "SELECT dictGet('d', 'v', toUInt64(1)), dictGet('d', 'v', toUInt64(2))"
    assert server.rows(look) == [["one", "none"]]
    assert server.value(status) == "LOADED"
    server.kill()
    server.start()
    assert server.value(status) == "NOT_LOADED"
    assert server.rows(look) == [["one", "none"]]
    # The same text again and again: what was found is not kept with it.
    server.query("INSERT INTO source VALUES (2, 'two')")
    assert server.rows(look) == [["one", "none"]]
    server.query("SYSTEM RELOAD DICTIONARY d")
    assert server.rows(look) == [["one", "two"]]
    server.query("DROP DICTIONARY d")
    with pytest.raises(ServerError, match="not found"):
        server.rows(look)
    server.query(
        "CREATE DICTIONARY d (id UInt64, v String DEFAULT 'other') PRIMARY KEY id "
        "SOURCE(CLICKHOUSE(QUERY 'SELECT id, upper(v) FROM default.source')) LAYOUT(FLAT()) LIFETIME(0)"
    )
    assert server.rows(look) == [["ONE", "TWO"]]


def test_dictionary_is_reloaded_when_its_lifetime_is_over(start_server):
    server = start_server()
    server.query("CREATE TABLE source (id UInt64, v String) ENGINE = Memory")
    server.query("INSERT INTO source VALUES (1, 'one')")
    server.query(
        "CREATE DICTIONARY d (id UInt64, v String) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'source')) "
        "LAYOUT(SPARSE_HASHED()) LIFETIME(1)"
    )
    assert server.value("SELECT dictGet('d', 'v', toUInt64(1))") == "one"
    server.query("INSERT INTO source VALUES (1, 'later')")
    wait_until(lambda: server.value("SELECT dictGet('d', 'v', toUInt64(1))") == "later", "the dictionary is loaded again", seconds=60)
    # A source that fails leaves what was loaded.
    server.query("DROP TABLE source SETTINGS check_table_dependencies = 0")
    wait_until(lambda: server.value("SELECT error_count FROM system.dictionaries") != "0", "loading it has failed", seconds=60)
    assert server.value("SELECT dictGet('d', 'v', toUInt64(1))") == "later"


def test_dictionaries_that_need_each_other_say_so(start_server):
    server = start_server()
    for one, other in (("a", "b"), ("b", "a")):
        server.query(
            f"CREATE DICTIONARY {one} (id UInt64, v String) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE '{other}')) "
            "LAYOUT(HASHED()) LIFETIME(0)"
        )
    with pytest.raises(ServerError, match="needed to load itself"):
        server.query("SELECT dictGet('a', 'v', toUInt64(1))")
    assert server.value("SELECT 1") == "1"
