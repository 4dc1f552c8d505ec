package main

// What panels, variables and annotations of a dashboard ask: the macros, and what the query builder makes for series and tables.
var dashboards = []question{
	{"$__timeFilter", table, "SELECT count() AS n FROM grafana.points WHERE $__timeFilter(t)", "3601", "n:uint64"},
	{"$__timeFilter_ms", table, "SELECT count() FROM grafana.points WHERE $__timeFilter_ms(ms)", "3601", ""},
	{"$__dateFilter", table, "SELECT count() FROM grafana.points WHERE $__dateFilter(day)", "7200", ""},
	{"$__dateTimeFilter", table, "SELECT count() FROM grafana.points WHERE $__dateTimeFilter(day, t)", "3601", ""},
	{"$__dt", table, "SELECT count() FROM grafana.points WHERE $__dt(day, t)", "3601", ""},
	{"$__timeFrom and $__timeTo", table, "SELECT count() FROM grafana.points WHERE $__timeFrom(t) AND $__timeTo(t)", "3601", ""},
	{"the ends of the time", table, "SELECT $__fromTime AS a, $__toTime AS b, $__fromTime_ms AS c, $__toTime_ms AS d, $__interval_s AS e",
		"10:00:00 11:00:00 10:00:00 11:00:00 1200", "a:time.Time b:time.Time c:time.Time d:time.Time e:uint16"},
	{"$__interval and $__interval_ms", table, "SELECT '$__interval' AS a, $__interval_ms AS b", "20m 1200000", ""},
	{"$__timeGroup", series, "SELECT $__timeGroup(t, 30m) AS time, max(value) FROM grafana.points WHERE $__timeFilter(t) GROUP BY time ORDER BY time",
		"10:00:00 3599 | 10:30:00 5399 | 11:00:00 5400", ""},

	// The alias "time" is meant in WHERE too, so the last point has all of its twenty minutes.
	{"a trend", series, `SELECT $__timeInterval(t) as "time", avg(value) FROM "grafana"."points" WHERE ( time >= $__fromTime AND time <= $__toTime )
		GROUP BY time ORDER BY time ASC LIMIT 1000`,
		"10:00:00 2399.5 | 10:20:00 3599.5 | 10:40:00 4799.5 | 11:00:00 5999.5", "time:time.Time avg(value):float64"},
	{"milliseconds", series, "SELECT $__timeInterval_ms(ms) AS time, count() AS n FROM grafana.points WHERE $__timeFilter_ms(ms) GROUP BY time ORDER BY time",
		"10:00:00 1200 | 10:20:00 1200 | 10:40:00 1200 | 11:00:00 1", "time:time.Time n:uint64"},
	{"values as they are", series, `SELECT t as "time", value FROM "grafana"."points" WHERE ( time >= $__fromTime AND time <= $__toTime )
		ORDER BY time ASC LIMIT 2`, "10:00:00 1800 | 10:00:01 1801", "time:time.Time value:float64"},
	{"a series for each host", series, `SELECT $__timeInterval(t) AS time, host, count() AS n FROM grafana.points WHERE $__timeFilter(t)
		GROUP BY time, host ORDER BY time`,
		"10:00:00 400 400 400 | 10:20:00 400 400 400 | 10:40:00 400 400 400 | 11:00:00 1 null null",
		"time:time.Time n:*uint64{host=a} n:*uint64{host=b} n:*uint64{host=c}"},
	{"gaps filled", series, `SELECT toStartOfInterval(t, INTERVAL $__interval_s SECOND) AS time, count() AS n FROM grafana.points
		WHERE $__timeFilter(t) AND toMinute(t) NOT BETWEEN 20 AND 39 GROUP BY time ORDER BY time WITH FILL STEP $__interval_s`,
		"10:00:00 1200 | 10:20:00 0 | 10:40:00 1200 | 11:00:00 1", ""},
	{"$__conditionalAll of all", table, "SELECT count() FROM grafana.points WHERE $__timeFilter(t) AND 1=1", "3601", ""},
	{"$__conditionalAll of some", table, "SELECT count() FROM grafana.points WHERE $__timeFilter(t) AND host IN ('a','b')", "2401", ""},

	// What $__rateColumns, $__perSecondColumns, $__increaseColumns and $__lttb stand for.
	{"a rate", series, `SELECT $__timeInterval(t) AS at, toString(host) AS metric,
		if((at - lagInFrame(at, 1, at) OVER w) = 0, nan, count() / (at - lagInFrame(at, 1, at) OVER w)) AS rate FROM grafana.points
		WHERE $__timeFilter(t) AND host = 'a' GROUP BY at, metric
		WINDOW w AS (PARTITION BY metric ORDER BY at ASC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY at, metric`,
		"10:00:00 NaN | 10:20:00 0.3333333333333333 | 10:40:00 0.3333333333333333 | 11:00:00 0.0008333333333333334", ""},
	{"an increase", series, `SELECT $__timeInterval(t) AS at, toString(host) AS metric, if((at - lagInFrame(at, 1, at) OVER w) = 0
		OR (max(counter) - lagInFrame(max(counter), 1, max(counter)) OVER w) < 0, nan,
		toFloat64(max(counter) - lagInFrame(max(counter), 1, max(counter)) OVER w)) AS increase FROM grafana.points
		WHERE $__timeFilter(t) AND (host IN ('a', 'b')) GROUP BY at, metric
		WINDOW w AS (PARTITION BY metric ORDER BY at ASC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY at, metric`,
		"10:00:00 NaN NaN | 10:20:00 2400 2400 | 10:40:00 2400 2400 | 11:00:00 6 null", ""},
	{"fewer points", series, `SELECT point.1 AS t, point.2 AS value FROM (SELECT arrayJoin(lttb(4)(t, value % 700)) AS point FROM grafana.points
		WHERE $__timeFilter(t)) ORDER BY t`, "10:00:00 400 | 10:05:00 0 | 10:51:40 0 | 11:00:00 500", "t:time.Time value:float64"},

	{"a table", table, `SELECT t, host, value FROM "grafana"."points" WHERE ( note IS NOT NULL ) AND ( value >= 10 ) AND ( NOT ( host LIKE '%c%' ) )
		ORDER BY value DESC LIMIT 2`, "11:29:57 a 7197 | 11:29:55 b 7195", "t:time.Time host:string value:float64"},
	{"an aggregate", table, `SELECT host, count(*) as d, avg(value) as mean FROM "grafana"."points" WHERE ( host IN ('a', 'b') ) AND ( note = 'odd' )
		GROUP BY host ORDER BY d DESC, host LIMIT 1000`, "a 1200 3600 | b 1200 3598", ""},
	{"a quoted alias", table, `SELECT count() as "Number of points" FROM grafana.points;`, "7200", "Number of points:uint64"},

	{"an ad hoc filter", table, `SELECT count() FROM "grafana"."points" settings additional_table_filters={'grafana.points' : ' host = \'a\' '}`,
		"2400", ""},
	{"an ad hoc filter by a pattern", table, `SELECT count() FROM grafana.points
		settings additional_table_filters={'grafana.points' : ' host REGEXP \'^[ab]$\' AND value > \'100\' '}`, "4732", ""},
	{"an ad hoc filter of some", table, `SELECT count() FROM grafana.points settings additional_table_filters={'grafana.points' : ' host IN (\'a\',\'b\') '}`,
		"4800", ""},
	{"an ad hoc filter by an attribute", table, `SELECT Body FROM grafana.otel_logs
		settings additional_table_filters={'grafana.otel_logs' : ' LogAttributes[\'http.method\'] = \'POST\' '}`, "it's late", ""},

	{"a variable", table, "SELECT DISTINCT host FROM grafana.points WHERE $__timeFilter(t) ORDER BY host", "a | b | c", ""},
	{"a variable with keys", table, "SELECT host AS __text, max(counter) AS __value FROM grafana.points GROUP BY host ORDER BY host",
		"a 14394 | b 14396 | c 14398", ""},
	{"annotations", table, `SELECT t AS time, t + 5 AS timeEnd, concat('value ', toString(value)) AS text, host AS tags FROM grafana.points
		WHERE $__timeFilter(t) AND value % 1800 = 0`,
		"10:00:00 10:00:05 value 1800 a | 10:30:00 10:30:05 value 3600 a | 11:00:00 11:00:05 value 5400 a", ""},
	{"annotations of changes", table, `SELECT time, ServiceName AS tags, concat(ServiceName, ' is now ', version, if(before != '', concat(' (was ', before, ')'), '')) AS text
		FROM (SELECT $__timeInterval(Timestamp) AS time, ServiceName, topK(1)(Body)[1] AS version,
			lagInFrame(topK(1)(Body)[1]) OVER (PARTITION BY ServiceName ORDER BY time) AS before
			FROM "grafana"."otel_logs" WHERE $__timeFilter(Timestamp) AND Body != '' GROUP BY ServiceName, time ORDER BY ServiceName, time)
		WHERE before != '' AND before != version ORDER BY time`, "10:20:00 worker worker is now ended (was slow)", ""},
	{"no rows", table, "SELECT t, value FROM grafana.points WHERE value < 0", "", ""},
	{"a comment", table, "-- it's one\nSELECT /* one */ 1 AS one", "1", "one:uint8"},
}

// What the plugin's own dashboards ask of system tables, with joins of them, in shorter words.
var administration = []question{
	{"tables with their columns", table, `SELECT concatAssumeInjective(table.database, '.', name) as name, counted.columns as columns
		FROM system.tables table LEFT JOIN (SELECT database, table, count() as columns FROM system.columns GROUP BY table, database) as counted
		ON table.name = counted.table AND counted.database = table.database WHERE database IN ('grafana') AND table IN ('points') AND name != ''`,
		"grafana.points 7", "name:string columns:uint64"},
	{"sizes of tables", table, `SELECT name, sizes.total_rows, bytes_on_disk > 0 as stored, columns FROM system.tables table
		LEFT JOIN (SELECT table, database, sum(bytes_on_disk) as bytes_on_disk, sum(rows) as total_rows, max(columns) as columns FROM system.parts as parts
			LEFT JOIN (SELECT database, table, count() as columns FROM system.columns GROUP BY table, database) as counted
			ON parts.table = counted.table AND parts.database = counted.database WHERE active GROUP BY table, database) AS sizes
		ON table.name = sizes.table AND table.database = sizes.database WHERE database IN ('grafana') AND table IN ('points')`,
		"points 7200 1 7", ""},
	{"parts in a partition", table, `SELECT concatAssumeInjective(database, '.', table) as name, count() "partitions", max(parts) "most" FROM
		(SELECT database, table, count() "parts" FROM system.parts WHERE database IN ('grafana') AND active AND table IN ('otel_logs')
		GROUP BY database, table, partition) by_partition GROUP BY database, table`, "grafana.otel_logs 1 1", ""},
	{"merges", table, `SELECT round(100 * progress, 1) "progress", is_mutation, partition_id, result_part_path, source_part_paths, num_parts,
		formatReadableSize(total_size_bytes_compressed), formatReadableSize(bytes_read_uncompressed), formatReadableSize(bytes_written_uncompressed),
		columns_written, formatReadableSize(memory_usage), thread_id FROM system.merges WHERE database IN ('grafana')`, "", ""},
	{"mutations", table, `SELECT mutation_id, command, create_time, parts_to_do_names, is_done, latest_failed_part,
		if(latest_fail_time = '1970-01-01 00:00:00', '-', CAST(latest_fail_time, 'String')) as failed, latest_fail_reason FROM system.mutations
		WHERE database IN ('grafana') ORDER BY is_done ASC, create_time DESC LIMIT 10`, "", ""},
	{"replicas", table, `SELECT table, is_leader, is_readonly, absolute_delay, queue_size, inserts_in_queue, merges_in_queue FROM system.replicas
		ORDER BY absolute_delay DESC LIMIT 10`, "", ""},
	{"clusters", table, "SELECT cluster, shard_num, replica_num, is_local, errors_count, slowdowns_count FROM system.clusters WHERE cluster = 'default'",
		"default 1 1 1 0 0", ""},
	{"disks", table, "SELECT name, free_space > 0, total_space > 0, 1 - free_space / total_space < 1 FROM system.disks WHERE name = 'default'",
		"default 1 1 1", ""},
	{"queries by their kind", table, `SELECT any(normalizeQuery(query)) = 'SELECT ?' AS same FROM system.query_log WHERE query LIKE 'SELECT \'who asks%'
		AND type IN ('QueryFinish') AND query_kind IN ('Select') AND initial_user IN ('default') AND normalized_query_hash IN
		(SELECT normalized_query_hash FROM system.query_log GROUP BY normalized_query_hash) GROUP BY normalized_query_hash`, "1", ""},
}

// Each type as a field.
var types = []question{
	{"type Bool", table, "SELECT true AS a, NULL::Nullable(Bool) AS b", "true null", "a:bool b:*bool"},
	{"type UInt8", table, "SELECT 200::UInt8 AS a, 200::Nullable(UInt8) AS b", "200 200", "a:uint8 b:*uint8"},
	{"type Int64", table, "SELECT -5::Int64 AS a, NULL::Nullable(Int64) AS b", "-5 null", "a:int64 b:*int64"},
	{"type UInt256", table, "SELECT 7::UInt256 AS a, NULL::Nullable(Int128) AS b, -3::Int128 AS c",
		"7 null -3", "a:float64 b:*float64 c:float64"},
	{"type Float32", table, "SELECT 1.5::Float32 AS a, -2.5::Nullable(Float64) AS b", "1.5 -2.5", "a:float32 b:*float64"},
	{"type Decimal", table, "SELECT 1.25::Decimal(18, 4) AS a, NULL::Nullable(Decimal(9, 2)) AS b", "1.25 null", "a:float64 b:*float64"},
	{"type String", table, "SELECT 'it\\'s' AS a, 'x'::Nullable(String) AS b, 'abc'::FixedString(3) AS c",
		"it's x abc", "a:string b:*string c:string"},
	{"type LowCardinality", table, "SELECT 'x'::LowCardinality(String) AS a, NULL::LowCardinality(Nullable(String)) AS b",
		"x null", "a:string b:*string"},
	{"type Enum", table, "SELECT 'b'::Enum8('a' = 1, 'b' = 2) AS a, NULL::Nullable(Enum16('a' = 1)) AS b", "b null", "a:string b:*string"},
	{"type Date", table, "SELECT '2024-03-15'::Date AS a, '1950-01-02'::Date32 AS b, NULL::Nullable(Date) AS c", "00:00:00 00:00:00 null",
		"a:time.Time b:time.Time c:*time.Time"},
	{"type DateTime", table, "SELECT '2024-03-15 10:00:01'::DateTime('Asia/Tokyo') AS a, '2024-03-15 10:00:01.123456789'::DateTime64(9, 'UTC') AS b",
		"01:00:01 10:00:01.123456789", "a:time.Time b:time.Time"},
	{"type UUID", table, "SELECT '61f0c404-5cb3-11e7-907b-a6006ad3dba0'::UUID AS a", "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "a:*string"},
	{"type IP", table, "SELECT '1.2.3.4'::IPv4 AS a, '2001:db8::1'::IPv6 AS b, NULL::Nullable(IPv4) AS c",
		"1.2.3.4 2001:db8::1 null", "a:string b:string c:*string"},
	{"type Array", table, "SELECT [1, 2]::Array(UInt16) AS a, [[('x', 1)]] AS b",
		`[1,2] [[["x",1]]]`, "a:json.RawMessage b:json.RawMessage"},
	{"type Tuple", table, "SELECT (1, 'x') AS a, (1, 'x')::Tuple(n UInt8, s String) AS b", `[1,"x"] {"n":1,"s":"x"}`, ""},
	{"type Map", table, "SELECT map('k', 1) AS a", `{"k":1}`, "a:json.RawMessage"},
	{"type Point", table, "SELECT (1, 2)::Point AS a", "[1,2]", "a:json.RawMessage"},
}
