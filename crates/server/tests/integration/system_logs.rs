//! Logs that are tables: what they say, that they outlive the server, that they stay bounded.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use squall_server::Server;
use squall_server::config::{Config, ConfigSource};
use squall_server::http::Pages;
use squall_server::logger::{Level, Logger, LoggerConfig};
use tokio::sync::Semaphore;

use crate::running::Running;

struct TestServer {
    address: SocketAddr,
    server: Arc<Server>,
    runtime: tokio::runtime::Runtime,
}

impl TestServer {
    fn start(path: &Path, overrides: &[(&str, &str)]) -> Self {
        let mut source = ConfigSource::default();
        source.overrides.push(("path".to_owned(), path.display().to_string()));
        source.overrides.extend(overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let Running { address, server, runtime } = Running::http(source);
        Self { address, server, runtime }
    }

    /// Runs a statement and gives the body, whatever the status.
    fn try_run(&self, parameters: &str, sql: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = sql.len();
        let head = format!("POST /?{parameters} HTTP/1.0\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{sql}").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn run(&self, sql: &str) -> String {
        let text = self.try_run("", sql);
        assert!(!text.contains("DB::Exception"), "{sql}: {text}");
        text.trim_end().to_owned()
    }

    fn stop(self) {
        self.server.shut_down();
        self.runtime.block_on(self.server.drain());
        self.server.system_logs.flush_last();
        self.runtime.shutdown_timeout(std::time::Duration::from_secs(5));
        // Threads of the logs may be in the middle of something.
        while Arc::strong_count(&self.server) > 1 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// Never by itself: a test says when.
const NEVER: &str = "1000000000";

#[test]
fn queries_are_logged_and_stay_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[("query_log.flush_interval_milliseconds", NEVER)]);
    assert_eq!(server.run("SELECT count() FROM system.query_log"), "0");
    server.try_run("query_id=one&log_comment=first", "SELECT 1 + 1");
    server.try_run("query_id=two", "SELECT throwIf(number = 3) FROM numbers(10)");
    server.try_run("query_id=three", "SELEC");
    server.try_run("query_id=four&log_queries=0", "SELECT 4");
    server.try_run("query_id=five&log_queries_min_type=QUERY_FINISH", "SELECT 5");
    server.run("SYSTEM FLUSH LOGS");
    let logged = "SELECT query_id, type, exception_code, result_rows, ProfileEvents['SelectQuery'], log_comment \
        FROM system.query_log WHERE length(query_id) < 6 ORDER BY query_id, type";
    let expected = "five\tQueryFinish\t0\t1\t1\t\n\
        one\tQueryStart\t0\t0\t0\tfirst\none\tQueryFinish\t0\t1\t1\tfirst\n\
        three\tExceptionBeforeStart\t62\t0\t0\t\n\
        two\tQueryStart\t0\t0\t0\t\ntwo\tExceptionWhileProcessing\t395\t0\t1";
    assert_eq!(server.run(logged), expected);
    // The flush itself has begun when it flushes.
    let flush = "SELECT count() FROM system.query_log WHERE query = 'SYSTEM FLUSH LOGS' AND type = 'QueryStart'";
    assert_eq!(server.run(flush), "1");
    server.try_run("query_id=last", "SELECT 6");
    server.stop();

    let server = TestServer::start(folder.path(), &[("query_log.flush_interval_milliseconds", NEVER)]);
    let one = "SELECT type, log_comment FROM system.query_log WHERE query_id = 'one' ORDER BY type";
    assert_eq!(server.run(one), "QueryStart\tfirst\nQueryFinish\tfirst");
    assert_eq!(server.run("SELECT count() FROM system.query_log WHERE query_id = 'last'"), "2");
    assert_eq!(server.run("SELECT engine FROM system.tables WHERE name = 'query_log'"), "MergeTree");
    server.stop();
}

#[test]
fn queries_say_what_they_use() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[]);
    server.try_run("query_id=creates", "CREATE TABLE t (a UInt64, b String, c UInt8) ENGINE = MergeTree ORDER BY a");
    server.try_run("query_id=inserts", "INSERT INTO t (a, b) VALUES (1, 'x'), (2, upper('y'))");
    let select = "SELECT b::LowCardinality(String), sumIf(a, a > 1), row_number() OVER (ORDER BY b) FROM t \
        WHERE a IN (SELECT number FROM numbers(3)) GROUP BY b FORMAT jsoneachrow";
    for at in 0..2 {
        server.try_run(&format!("query_id=selects{at}"), select);
        // The second time the plan is kept.
        server.try_run(&format!("query_id=folds{at}"), "SELECT lower('X') || toString(4)");
    }
    server.run("SYSTEM FLUSH LOGS");
    let of = |id: &str, columns: &str| {
        server.run(&format!("SELECT {columns} FROM system.query_log WHERE query_id = '{id}' AND type = 'QueryFinish'"))
    };
    assert_eq!(
        of("creates", "tables, used_storages, used_data_type_families"),
        "['default.t']\t['MergeTree']\t['String','UInt64','UInt8']"
    );
    let tables = "databases, tables, columns, used_formats";
    assert_eq!(of("inserts", tables), "['default']\t['default.t']\t['default.t.a','default.t.b']\t['Values']");
    for at in 0..2 {
        let id = format!("selects{at}");
        assert_eq!(
            of(
                &id,
                "has(tables, 'default.t'), has(columns, 'default.t.a'), has(columns, 'default.t.b'), \
            has(columns, 'default.t.c'), used_formats, used_table_functions"
            ),
            "1\t1\t1\t0\t['JSONEachRow']\t['numbers']"
        );
        assert_eq!(
            of(
                &id,
                "used_aggregate_functions, used_aggregate_function_combinators, used_data_type_families, \
            hasAll(used_functions, ['greater', 'CAST'])"
            ),
            "['row_number','sum']\t['If']\t['LowCardinality','String']\t1"
        );
        assert_eq!(of(&format!("folds{at}"), "used_functions, tables"), "['concat','lower','toString']\t[]");
    }
    server.stop();
}

#[test]
fn a_query_that_runs_is_logged_before_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[]);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.try_run("query_id=slow", "SELECT count() FROM system.numbers"));
        while server.run("SELECT count() FROM system.processes WHERE query_id = 'slow'") == "0" {}
        server.run("SYSTEM FLUSH LOGS");
        let types = "SELECT type FROM system.query_log WHERE query_id = 'slow' ORDER BY type";
        assert_eq!(server.run(types), "QueryStart");
        server.run("KILL QUERY WHERE query_id = 'slow' SYNC");
        slow.join().unwrap();
        server.run("SYSTEM FLUSH LOGS");
        assert_eq!(server.run(types), "QueryStart\nExceptionWhileProcessing");
    });
    server.stop();
}

#[test]
fn metrics_are_logged_at_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[("metric_log.collect_interval_milliseconds", "10")]);
    let sums =
        "SELECT sum(ProfileEvent_Query) >= 3, max(CurrentMetric_Query) >= 0, count() >= 3 FROM system.metric_log";
    while server.run(sums) != "1\t1\t1" {
        server.run("SYSTEM FLUSH LOGS");
    }
    let load = "SELECT count() > 0, min(value) >= 0 FROM system.asynchronous_metric_log WHERE metric = 'LoadAverage1'";
    assert_eq!(server.run(load), "1\t1");
    server.stop();
}

#[test]
fn prometheus_is_told_what_the_tables_say() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[]);
    server.run("SELECT 1");
    server.run("SYSTEM RELOAD ASYNCHRONOUS METRICS");
    let get = |port: SocketAddr, path: &str| {
        let mut stream = TcpStream::connect(port).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.0\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    let page = get(server.address, "/metrics");
    let value = |name: &str| {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {page}")).parse::<f64>().unwrap()
    };
    assert!(value("ClickHouseProfileEvents_Query") >= 2.0);
    assert!(value("ClickHouseMetrics_HTTPConnection") >= 1.0);
    let measured = "SELECT count() FROM system.asynchronous_metrics WHERE metric IN ('LoadAverage15', 'OSIdleTimeNormalized', \
        'OSUserTimeCPU0', 'OSThreadsRunnable', 'OSContextSwitches', 'MemoryResident', 'TotalPartsOfMergeTreeTables', 'Uptime')";
    assert_eq!(server.run(measured), "8");
    assert!(value("ClickHouseAsyncMetrics_MemoryResident") > 0.0);
    assert!(page.contains("# TYPE ClickHouseErrorMetric_ALL counter\n"));
    // A port of its own serves nothing else.
    let _entered = server.runtime.enter();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap();
    let semaphore = Arc::new(Semaphore::new(10));
    server.runtime.spawn(squall_server::http::serve(
        server.server.clone(),
        listener.try_into().unwrap(),
        semaphore,
        Pages::Metrics,
    ));
    assert!(get(port, "/metrics").starts_with("HTTP/1.0 200"));
    assert!(get(port, "/?query=SELECT+1").starts_with("HTTP/1.0 404"));
    server.stop();
}

#[test]
fn a_slow_query_is_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[]);
    let periods = "query_profiler_real_time_period_ns=5000000&query_profiler_cpu_time_period_ns=5000000";
    let found =
        "SELECT uniqExact(trace_type), max(length(trace) > 3) FROM system.trace_log WHERE query_id LIKE 'sampled%'";
    let mut number = 0;
    while server.run(found) != "2\t1" {
        number += 1;
        assert!(number < 300, "no samples: {}", server.run(found));
        let parameters = format!("query_id=sampled{number}&{periods}");
        server.try_run(&parameters, "SELECT sum(cityHash64(number)) FROM numbers(3000000)");
        server.run("SYSTEM FLUSH LOGS");
    }
    let symbols = "SELECT count() > 0 FROM (SELECT demangle(addressToSymbol(arrayJoin(trace))) AS name FROM system.trace_log) \
        WHERE name LIKE '%squall_%'";
    assert_eq!(server.try_run("allow_introspection_functions=1", symbols), "1\n");
    assert!(server.try_run("", symbols).contains("FUNCTION_NOT_ALLOWED"));
    server.stop();
}

#[test]
fn every_thread_shows_its_stack() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[]);
    assert_eq!(server.run("SELECT count() > 2, max(length(trace)) > 3 FROM system.stack_trace"), "1\t1");
    let names =
        "SELECT countDistinct(thread_name) FROM system.stack_trace WHERE thread_name IN ('SystemLogs', 'Metrics')";
    assert_eq!(server.run(names), "2");
    server.stop();
}

#[test]
fn threads_are_logged_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[]);
    server.try_run("query_id=threads&log_query_threads=1", "SELECT sum(number) FROM numbers(2000000)");
    server.try_run("query_id=other", "SELECT sum(number) FROM numbers(2000000)");
    let waiting = "SELECT count() FROM numbers(10) WHERE number IN (SELECT number FROM numbers(1000000))";
    server.try_run("query_id=planned&log_query_threads=1", waiting);
    server.run("SYSTEM FLUSH LOGS");
    for query in ["threads", "planned"] {
        let of_threads = format!(
            "SELECT arraySort(groupArray(thread_id)) = (SELECT any(thread_ids) FROM system.query_log \
            WHERE query_id = '{query}' AND type = 'QueryFinish'), min(ProfileEvents['RealTimeMicroseconds']) > 0, \
            min(event_time_microseconds >= query_start_time_microseconds) FROM system.query_thread_log \
            WHERE query_id = '{query}'"
        );
        assert_eq!(server.run(&of_threads), "1\t1\t1", "{query}");
    }
    let sums = "SELECT sum(read_rows), sum(read_bytes), sum(written_rows), min(thread_name != '') \
        FROM system.query_thread_log WHERE query_id = 'threads'";
    assert_eq!(server.run(sums), "2000000\t16000000\t0\t1");
    server.run("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    server.try_run("query_id=writing&log_query_threads=1", "INSERT INTO t SELECT number FROM numbers(100000)");
    server.run("SYSTEM FLUSH LOGS");
    let written =
        "SELECT sum(written_rows), sum(written_bytes) FROM system.query_thread_log WHERE query_id = 'writing'";
    assert_eq!(server.run(written), "100000\t800000");
    assert_eq!(server.run("SELECT count() FROM system.query_thread_log WHERE query_id = 'other'"), "0");
    server.stop();
}

#[test]
fn lines_of_the_log_are_a_table_where_it_is_on() {
    let config = LoggerConfig { console: Some(false), level: Level::Error, ..LoggerConfig::default() };
    let _logger = Logger::start(&config, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[("text_log.level", "debug")]);
    server.try_run("query_id=logged", "SELECT 'hello'");
    server.run("SYSTEM FLUSH LOGS");
    let lines = "SELECT min(level), any(logger_name), max(message LIKE '%hello%'), min(source_line) > 0 FROM system.text_log \
        WHERE query_id = 'logged'";
    assert_eq!(server.run(lines), "Debug\texecuteQuery\t1\t1");
    server.stop();
}

#[test]
fn old_rows_go_and_parts_stay_few() {
    let folder = tempfile::tempdir().unwrap();
    let overrides = [
        ("query_log.flush_interval_milliseconds", NEVER),
        ("query_log.ttl", "event_date + INTERVAL 0 SECOND"),
        ("metric_log.flush_interval_milliseconds", NEVER),
        ("metric_log.collect_interval_milliseconds", "1"),
    ];
    let server = TestServer::start(folder.path(), &overrides);
    let rows = "SELECT rows FROM system.parts WHERE table = 'metric_log' AND name NOT LIKE '%\\_0' LIMIT 1";
    // Sixteen small parts have become one.
    while server.run(rows).is_empty() {
        server.run("SYSTEM FLUSH LOGS");
    }
    let parts: usize = server.run("SELECT count() FROM system.parts WHERE table = 'metric_log'").parse().unwrap();
    assert!(parts < 100, "{parts}");
    // Everything older than this second is gone from the other log, or goes with the next flush.
    let old = "SELECT count() FROM system.query_log WHERE event_time < now() - 2";
    while server.run(old) != "0" {
        server.run("SYSTEM FLUSH LOGS");
    }
    server.stop();
}

#[test]
fn a_table_of_other_columns_is_kept_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path(), &[("metric_log.flush_interval_milliseconds", NEVER)]);
    server.run("DROP TABLE system.metric_log");
    server.run("CREATE TABLE system.metric_log (n UInt8) ENGINE = MergeTree ORDER BY n");
    server.run("INSERT INTO system.metric_log VALUES (7)");
    while server.run("SELECT count() > 1 FROM system.metric_log") != "1" {
        server.run("SYSTEM FLUSH LOGS");
    }
    assert_eq!(server.run("SELECT n FROM system.metric_log_0"), "7");
    assert_ne!(server.run("SELECT count() FROM system.metric_log"), "0");
    // A log that an operator dropped comes back.
    server.run("DROP TABLE system.query_log");
    server.run("SYSTEM FLUSH LOGS");
    assert_ne!(server.run("SELECT count() FROM system.query_log"), "0");
    server.stop();
}

#[test]
fn with_a_configuration_only_the_named_logs_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.xml");
    std::fs::write(&file, "<clickhouse><metric_log/></clickhouse>").unwrap();
    let overrides = vec![("path".to_owned(), folder.path().join("data").display().to_string())];
    let config = Config::load(&ConfigSource { config_file: Some(file), overrides, ..ConfigSource::default() }).unwrap();
    let server = Server::start(config, ConfigSource::default()).unwrap();
    let tables: Vec<bool> =
        ["query_log", "metric_log"].iter().map(|table| server.databases.has_table("system", table)).collect();
    assert_eq!(tables, [false, true]);
}
