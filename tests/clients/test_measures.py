"""system.events, system.metrics and a query's ProfileEvents: what happens is counted; and where memory is taken, in system.trace_log."""

import pytest
from server import wait_until

LOGGED = {"query_log": "", "trace_log": ""}


def events(server, **params):
    return {name: int(value) for name, value in server.rows("SELECT event, value FROM system.events", **params)}


def profile_events(server, query_id):
    server.query("SYSTEM FLUSH LOGS")
    sql = f"SELECT mapKeys(ProfileEvents), mapValues(ProfileEvents) FROM system.query_log WHERE query_id = '{query_id}' AND type != 'QueryStart'"
    rows = server.rows(f"SELECT key, value FROM ({sql}) ARRAY JOIN `mapKeys(ProfileEvents)` AS key, `mapValues(ProfileEvents)` AS value")
    return {name: int(value) for name, value in rows}


def test_a_query_counts_what_it_reads_and_writes(start_server):
    server = start_server(settings=LOGGED)
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100")
    server.query("INSERT INTO t SELECT 9999 - number, toString(number) FROM numbers(10000)", query_id="insert")
    inserted = profile_events(server, "insert")
    assert (inserted["InsertedRows"], inserted["SelectedRows"]) == (10000, 10000) and inserted["InsertedBytes"] > 0
    assert (inserted["MergeTreeDataWriterRows"], inserted["MergeTreeDataWriterBlocks"]) == (10000, 1)
    assert inserted["MergeTreeDataWriterCompressedBytes"] > 0 and "MergeTreeDataWriterBlocksAlreadySorted" not in inserted
    server.query("INSERT INTO t SELECT number + 10000, '' FROM numbers(1000)", query_id="sorted", max_threads=1)
    assert profile_events(server, "sorted")["MergeTreeDataWriterBlocksAlreadySorted"] == 1
    server.query("SELECT count() FROM t WHERE k BETWEEN 500 AND 549 AND s != ''", query_id="select")
    selected = profile_events(server, "select")
    assert (selected["SelectedParts"], selected["SelectedPartsTotal"], selected["SelectedMarksTotal"]) == (1, 2, 110)
    assert (selected["SelectedRanges"], selected["SelectQueriesWithPrimaryKeyUsage"], selected["FilterTransformPassedRows"]) == (1, 1, 50)
    assert selected["InitialSelectQuery"] == selected["Query"] == 1 and selected["QueryAnalysisMicroseconds"] > 0
    server.http(body=b"SELECT throwIf(1)", query_id="failed")
    assert profile_events(server, "failed")["FailedInitialSelectQuery"] == 1
    server.query("OPTIMIZE TABLE t FINAL", query_id="merge")
    merged = profile_events(server, "merge")
    assert (merged["MergedRows"], merged["MergeWrittenRows"]) == (11000, 11000)


def test_the_process_counts_files_locks_networks_and_logs(start_server):
    server = start_server(settings=LOGGED)
    before = events(server)
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    server.query("INSERT INTO t SELECT number, toString(number) FROM numbers(200000)")
    server.query("SELECT sleep(0.01)")
    after = events(server)
    grown = [
        "FileOpen", "WriteBufferFromFileDescriptorWrite", "WriteBufferFromFileDescriptorWriteBytes", "FileSync", "DirectorySync",
        "DiskWriteElapsedMicroseconds", "ContextLock", "RWLockAcquiredWriteLocks", "NetworkSendBytes", "NetworkReceiveBytes",
        "InterfaceHTTPSendBytes", "InterfaceHTTPReceiveBytes", "HTTPServerConnectionsCreated", "LogDebug", "AsyncLoggingFileLogTotalMessages",
        "LoggerElapsedNanoseconds", "QueryParseMicroseconds", "SleepFunctionCalls", "SleepFunctionElapsedMicroseconds", "OSReadChars",
        "ConcurrentQuerySlotsAcquired", "OtherQueryTimeMicroseconds",
    ]  # fmt: skip
    for name in grown:
        assert after.get(name, 0) > before.get(name, 0), name
    assert before["ServerStartupMilliseconds"] > 0 and "InterfaceNativeSendBytes" not in before
    server.query("SYSTEM RELOAD CONFIG")
    assert events(server)["MainConfigLoads"] == 1
    # The parts are read again: from disk, as the cache is gone.
    server.restart()
    server.query("SELECT sum(k) FROM t")
    read = events(server)
    assert read["ReadBufferFromFileDescriptorReadBytes"] > 0 and read["LoadedDataParts"] > 0 and read["UncompressedCacheMisses"] > 0
    metrics = dict(server.rows("SELECT metric, value FROM system.metrics"))
    assert metrics["VersionInteger"] == "26009002" and metrics["QueryNonInternal"] == metrics["Query"] == "1"
    assert int(metrics["PartsActive"]) > 0 and int(metrics["AttachedTable"]) > 50 and int(metrics["QueryThread"]) > 0


def test_events_that_have_not_happened_are_shown_where_that_is_wanted(server):
    zero = "SELECT value FROM system.events WHERE event = 'BackupsOpenedForRead'"
    assert server.query(zero) == ""
    assert server.value(zero, system_events_show_zero_values=1) == "0"
    assert server.value(zero + " SETTINGS system_events_show_zero_values = 1") == "0"
    count = "SELECT count() FROM system.events"
    assert int(server.value(count, system_events_show_zero_values=1)) > int(server.value(count)) + 50


def test_every_name_is_clickhouses_or_says_that_it_is_ours(server):
    names = server.rows("SELECT event, description FROM system.events SETTINGS system_events_show_zero_values = 1")
    names += server.rows("SELECT metric, description FROM system.metrics")
    assert all(description for _, description in names) and len({name for name, _ in names}) > 150


def test_memory_is_profiled(start_server):
    server = start_server(settings=LOGGED)
    heavy = "SELECT length(groupArray(number)) FROM numbers(20000000) SETTINGS max_threads = 1"
    server.query(heavy, query_id="steps", memory_profiler_step=8 << 20)
    server.query(heavy, query_id="large", memory_profiler_step=0, memory_profiler_sample_probability=1, memory_profiler_sample_min_allocation_size=1 << 20)
    server.query(heavy, query_id="none", memory_profiler_step=0)
    # Last, as these may be more than wait to be logged: what comes after them is dropped.
    server.query(heavy, query_id="samples", memory_profiler_step=0, memory_profiler_sample_probability=1, max_untracked_memory=65536)
    traces = "SELECT count(), min(size), max(size), min(length(trace)), max(ptr) FROM system.trace_log WHERE query_id = '{}' AND trace_type = '{}'"

    def seen(query_id, kind):
        server.query("SYSTEM FLUSH LOGS")
        return [int(number) for number in server.rows(traces.format(query_id, kind))[0]]

    wait_until(lambda: seen("steps", "Memory")[0] > 5, "the steps are in the log")
    count, least, most, frames, _ = seen("steps", "Memory")
    # 160 MB of numbers, in steps of 8 MiB; some may pass several at once.
    assert count <= 60 and least > 0 and most > 0 and frames > 1
    assert seen("steps", "MemoryPeak")[0] > 0 and seen("steps", "MemorySample")[0] == 0
    wait_until(lambda: seen("samples", "MemorySample")[0] > 5, "the samples are in the log")
    count, least, most, frames, pointer = seen("samples", "MemorySample")
    assert least < 0 < most and frames > 1 and pointer > 0
    wait_until(lambda: seen("large", "MemorySample")[0] > 0, "large samples are in the log")
    sizes = server.value("SELECT min(abs(size)) FROM system.trace_log WHERE query_id = 'large' AND trace_type = 'MemorySample'")
    assert int(sizes) >= 1 << 20
    assert server.value("SELECT count() FROM system.trace_log WHERE query_id = 'none' AND trace_type LIKE 'Memory%'") == "0"


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_columns_of_parts(start_server, is_partitioned):
    server = start_server(settings={"query_log": None})
    partition = "PARTITION BY d" if is_partitioned else ""
    server.query(
        f"CREATE TABLE t (k UInt64, s String DEFAULT 'x', n Nullable(Int32), d Date, a UInt8 ALIAS 1) ENGINE = MergeTree {partition} ORDER BY k"
    )
    server.query("INSERT INTO t (k, n, d) SELECT number, number % 2 ? NULL : number, '2026-11-23' FROM numbers(1000)")
    rows = server.rows(
        "SELECT column, type, column_position, default_kind, default_expression, serialization_kind, `estimates.min`, `estimates.max`,"
        " `estimates.null_count` FROM system.parts_columns WHERE table = 't' ORDER BY column_position"
    )
    assert rows == [
        ["k", "UInt64", "1", "", "", "Default", "0", "999", "0"],
        ["s", "String", "2", "DEFAULT", "\\'x\\'", "Default", "x", "x", "0"],
        ["n", "Nullable(Int32)", "3", "", "", "Default", "0", "998", "500"],
        ["d", "Date", "4", "", "", "Default", "2026-11-23", "2026-11-23", "0"],
    ]
    sums = "SELECT sum(column_bytes_on_disk), any(bytes_on_disk), any(rows), any(part_name), min(modification_time) > 0 FROM system.parts_columns WHERE table = 't'"
    of_columns, of_part, count, name, has_time = server.rows(sums)[0]
    assert 0 < int(of_columns) < int(of_part) and (count, has_time) == ("1000", "1")
    assert name == server.value("SELECT name FROM system.parts WHERE table = 't'")
