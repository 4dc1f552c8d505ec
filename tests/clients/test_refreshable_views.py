"""Materialized views that are refreshed by a schedule: what readers see, what a restart leaves, and what people may do with them."""

import threading
import time

import pytest
from server import ServerError, wait_until


@pytest.fixture
def fresh(start_server):
    server = start_server(settings={"query_log": None})
    server.query("CREATE TABLE source (k UInt32) ENGINE = MergeTree ORDER BY k")
    server.query("INSERT INTO source SELECT number FROM numbers(10)")
    return server


def shown(server, view, columns="status, exception, retry"):
    return server.query(f"SELECT {columns} FROM system.view_refreshes WHERE view = '{view}'").strip("\n")


def test_a_view_is_filled_when_it_is_made_and_again_as_it_is_told(fresh):
    server = fresh
    server.query("CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR (k UInt32) ENGINE = MergeTree ORDER BY k AS SELECT k FROM source")
    server.query("SYSTEM WAIT VIEW v")
    assert server.query("SELECT count() FROM v") == "10\n"
    server.query("INSERT INTO source VALUES (100)")
    assert server.query("SELECT count() FROM v") == "10\n"
    server.query("SYSTEM REFRESH VIEW v")
    server.query("SYSTEM WAIT VIEW v")
    assert server.query("SELECT count() FROM v") == "11\n"
    next_year = time.gmtime().tm_year + 1
    assert shown(server, "v", "status, toString(next_refresh_time), last_success_time IS NOT NULL, exception") == f"Scheduled\t{next_year}-01-01 00:00:00\t1\t"
    assert "REFRESH EVERY 1 YEAR" in server.query("SHOW CREATE TABLE v")
    server.query("ALTER TABLE v MODIFY REFRESH EVERY 1 SECOND")
    server.query("INSERT INTO source VALUES (101)")
    wait_until(lambda: server.query("SELECT count() FROM v") == "12\n", "the view has followed its new schedule")
    for statement, code in [
        ("ALTER TABLE v MODIFY REFRESH EVERY 1 HOUR APPEND", 48),
        ("ALTER TABLE source MODIFY REFRESH EVERY 1 HOUR", 48),
        ("SYSTEM REFRESH VIEW source", 36),
        ("CREATE MATERIALIZED VIEW w REFRESH EVERY 1 MONTH 2 DAY ENGINE = Memory AS SELECT 1", 36),
        ("CREATE MATERIALIZED VIEW w REFRESH EVERY 1 HOUR OFFSET 2 HOUR ENGINE = Memory AS SELECT 1", 36),
    ]:
        assert server.error_code(statement) == code, statement
    server.query("DROP TABLE v SYNC")
    assert server.query("SHOW TABLES") == "source\n"


def test_readers_see_the_rows_of_one_refresh(fresh):
    server = fresh
    server.query("CREATE TABLE target (k UInt32, at UInt64) ENGINE = MergeTree ORDER BY k")
    server.query(
        "CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR TO target EMPTY AS "
        "SELECT number AS k, (SELECT toUInt64(generateSnowflakeID())) AS at FROM numbers(200000)"
    )
    assert server.query("SELECT count() FROM v") == "0\n"
    is_over = threading.Event()

    def refresh():
        for _ in range(8):
            server.query("SYSTEM REFRESH VIEW v")
            server.query("SYSTEM WAIT VIEW v")
        is_over.set()

    thread = threading.Thread(target=refresh)
    thread.start()
    seen = set()
    while not is_over.is_set():
        count, kinds, at = server.query("SELECT count(), uniqExact(at), max(at) FROM v").split()
        assert (count, kinds) in {("0", "0"), ("200000", "1")}
        seen.add(at)
    thread.join()
    assert len(seen) > 2


def test_views_depend_on_others_and_append(fresh):
    server = fresh
    server.query("CREATE TABLE log (n UInt64) ENGINE = MergeTree ORDER BY n")
    server.query("CREATE MATERIALIZED VIEW first REFRESH EVERY 2 SECOND ENGINE = Memory AS SELECT count() AS n FROM source")
    server.query("CREATE MATERIALIZED VIEW second REFRESH EVERY 2 SECOND DEPENDS ON first APPEND TO log AS SELECT n FROM first")
    server.query("CREATE MATERIALIZED VIEW orphan REFRESH EVERY 1 SECOND DEPENDS ON nosuch ENGINE = Memory AS SELECT 1 AS x")
    wait_until(lambda: int(server.query("SELECT count() FROM log")) >= 2, "the second view has followed the first")
    assert server.query("SELECT DISTINCT n FROM log") == "10\n"
    assert shown(server, "orphan", "status, next_refresh_time") == "WaitingForDependencies\t\\N"


def test_failures_are_tried_again_and_shown(fresh):
    server = fresh
    server.query(
        "CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR SETTINGS refresh_retries = 1, refresh_retry_initial_backoff_ms = 10 "
        "ENGINE = Memory AS SELECT throwIf(count() < 11) AS x FROM source"
    )
    with pytest.raises(ServerError) as error:
        server.query("SYSTEM WAIT VIEW v")
    assert error.value.code == 730 and "395" in str(error.value)
    status, exception, retry = shown(server, "v").split("\t")
    assert (status, retry) == ("Scheduled", "2") and "FUNCTION_THROW_IF" in exception
    server.query("INSERT INTO source VALUES (10)")
    server.query("SYSTEM REFRESH VIEW v")
    server.query("SYSTEM WAIT VIEW v")
    assert shown(server, "v") == "Scheduled\t\t0"
    assert server.query("SHOW TABLES LIKE '.tmp%'") == ""


def test_a_view_is_stopped_started_and_cancelled(fresh):
    server = fresh
    server.query("CREATE MATERIALIZED VIEW v REFRESH EVERY 1 SECOND ENGINE = Memory AS SELECT k, sleepEachRow(0.2) AS s FROM source")
    wait_until(lambda: shown(server, "v", "status") == "Running", "it runs")
    server.query("SYSTEM STOP VIEW v")
    wait_until(lambda: shown(server, "v", "status") == "Disabled", "it is stopped")
    time.sleep(1.2)
    assert server.query("SELECT count() FROM v") == "0\n" and server.query("SHOW TABLES LIKE '.tmp%'") == ""
    server.query("SYSTEM START VIEW v")
    wait_until(lambda: server.query("SELECT count() FROM v") == "10\n", "it has been refreshed")
    server.query("DROP TABLE v SYNC")
    wait_until(lambda: server.query("SHOW TABLES") == "source\n", "all of the view is gone")


def test_the_schedule_and_the_rows_outlast_kills(fresh):
    server = fresh
    server.query("CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR ENGINE = MergeTree ORDER BY k AS SELECT k FROM source")
    server.query("SYSTEM WAIT VIEW v")
    server.query("CREATE MATERIALIZED VIEW slow REFRESH EVERY 1 YEAR ENGINE = MergeTree ORDER BY k AS SELECT k, sleepEachRow(0.1) AS s FROM source")
    server.query("CREATE MATERIALIZED VIEW short REFRESH AFTER 3 SECOND EMPTY ENGINE = MergeTree ORDER BY k AS SELECT k FROM source")
    state = "toString(last_success_time), last_success_duration_ms, next_refresh_time"
    before = shown(server, "v", state)
    wait_until(lambda: shown(server, "slow", "status") == "Running", "it runs")
    server.kill()
    time.sleep(3)
    server.start()
    assert shown(server, "v", state) == before
    server.query("INSERT INTO source VALUES (77)")
    # What was missed comes at once; what was not, does not.
    wait_until(lambda: server.query("SELECT count() FROM short") in {"10\n", "11\n"}, "the one whose time has come is refreshed")
    server.query("SYSTEM WAIT VIEW slow")
    assert server.query("SELECT count() FROM slow") in {"10\n", "11\n"}
    assert server.query("SELECT count() FROM v") == "10\n"
    assert server.query("SHOW TABLES LIKE '.tmp%'") == ""


def test_a_view_reads_with_its_definers_rights(fresh):
    server = fresh
    server.query("CREATE USER maker")
    server.query("GRANT CREATE VIEW, CREATE TABLE, INSERT, SELECT ON default.* TO maker")
    server.query("CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR ENGINE = Memory AS SELECT k FROM source", user="maker")
    server.query("SYSTEM WAIT VIEW v")
    assert server.query("SELECT count() FROM v") == "10\n"
    server.query("REVOKE SELECT ON default.* FROM maker")
    server.query("SYSTEM REFRESH VIEW v")
    with pytest.raises(ServerError) as error:
        server.query("SYSTEM WAIT VIEW v")
    assert "497" in str(error.value)


def test_rows_are_appended_once_whenever_the_server_is_killed(fresh):
    server = fresh
    for attempt in range(4):
        server.query(f"CREATE TABLE log{attempt} (k UInt32) ENGINE = MergeTree ORDER BY k")
        server.query(f"CREATE MATERIALIZED VIEW v{attempt} REFRESH EVERY 1 YEAR APPEND TO log{attempt} AS SELECT k FROM source")
        # The rows are there a moment before the view's schedule goes on.
        while server.query(f"SELECT count() FROM log{attempt}") == "0\n":
            pass
        server.kill()
        server.start()
        server.query(f"SYSTEM WAIT VIEW v{attempt}")
        assert server.query(f"SELECT count() FROM log{attempt}") == "10\n"
        assert shown(server, f"v{attempt}", "status, last_success_time IS NOT NULL") == "Scheduled\t1"


def test_refreshes_are_in_the_query_log_as_the_servers_own(start_server):
    server = start_server()
    server.query("CREATE TABLE source (k UInt32) ENGINE = MergeTree ORDER BY k")
    server.query("CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR SETTINGS refresh_retries = 1, refresh_retry_initial_backoff_ms = 10 "
                 "ENGINE = MergeTree ORDER BY k AS SELECT throwIf(count() = 0) AS k FROM source")
    with pytest.raises(ServerError):
        server.query("SYSTEM WAIT VIEW v")
    server.query("INSERT INTO source VALUES (1)")
    server.query("SYSTEM REFRESH VIEW v")
    server.query("SYSTEM WAIT VIEW v")
    server.query("SYSTEM FLUSH LOGS")
    log = server.query(
        "SELECT type, query_kind, is_internal, exception_code, log_comment FROM system.query_log "
        "WHERE log_comment LIKE 'refresh of %' ORDER BY event_time_microseconds, type"
    )
    failed = "ExceptionWhileProcessing\tInsert\t1\t395\trefresh of default.v"
    start = "QueryStart\tInsert\t1\t0\trefresh of default.v"
    assert log.splitlines() == [start, failed, start + " (attempt 2/2)", failed + " (attempt 2/2)", start, "QueryFinish\tInsert\t1\t0\trefresh of default.v"]


def test_a_view_of_a_user_called_as_the_server_calls_itself_has_that_users_rights(fresh):
    server = fresh
    server.query("CREATE TABLE target (k UInt32) ENGINE = MergeTree ORDER BY k")
    server.query("CREATE TABLE secret (k UInt32) ENGINE = MergeTree ORDER BY k")
    # A refresh without a definer inserts in the server's name, which is called `default`.
    server.query("CREATE USER maker")
    server.query("GRANT CREATE VIEW, CREATE TABLE, INSERT, SELECT ON default.* TO maker")
    server.query("CREATE MATERIALIZED VIEW follows TO secret DEFINER = maker SQL SECURITY DEFINER AS SELECT k FROM target")
    server.query("CREATE MATERIALIZED VIEW v REFRESH EVERY 1 YEAR APPEND TO target SQL SECURITY NONE AS SELECT k FROM source")
    server.query("SYSTEM WAIT VIEW v")
    assert server.query("SELECT count() FROM secret") == "10\n"
    server.query("REVOKE INSERT ON default.secret FROM maker")
    server.query("SYSTEM REFRESH VIEW v")
    with pytest.raises(ServerError) as error:
        server.query("SYSTEM WAIT VIEW v")
    assert "497" in str(error.value) and server.query("SELECT count() FROM target") == "10\n"
