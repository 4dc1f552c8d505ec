package main

// What Explore and its panels ask of OpenTelemetry's tables: logs, their volume and context, traces and spans.
var explore = []question{
	{"logs", logs, `SELECT Timestamp as "timestamp", Body as "body", SeverityText as "level", TraceId as "traceID", ResourceAttributes, LogAttributes
		FROM "grafana"."otel_logs" WHERE ( TimestampTime >= $__fromTime AND TimestampTime <= $__toTime ) AND ( level IN ('ERROR', 'INFO') )
		ORDER BY (TimestampTime, timestamp) DESC LIMIT 1000`,
		`10:05:00 it's late ERROR t1 {"service.version":"1"} {"code":"500","http.method":"POST"} | ` +
			`10:00:01.000000001 request took 5 ms INFO t1 {"service.version":"1"} {"http.method":"GET"}`,
		"timestamp:time.Time body:string level:string traceID:string ResourceAttributes:json.RawMessage LogAttributes:json.RawMessage"},
	{"logs by their text and attributes", logs, `SELECT Timestamp as "timestamp", Body as "body", LogAttributes['code'] FROM "grafana"."otel_logs"
		WHERE ( timestamp >= $__fromTime AND timestamp <= $__toTime ) AND ( LogAttributes['code'] != '' ) AND ( NOT ( ServiceName ILIKE '%WORK%' ) )
		AND (body LIKE '%late%') ORDER BY timestamp DESC LIMIT 100`, "10:05:00 it's late 500", ""},
	{"log volume", series, `SELECT toStartOfInterval("Timestamp", INTERVAL 1 HOUR) as "time",
		sum(multiSearchAny(toString("SeverityText"), ['critical','fatal','CRITICAL','FATAL','Critical','Fatal'])) as critical,
		sum(multiSearchAny(toString("SeverityText"), ['error','err','ERROR','ERR','Error','Err'])) as error,
		sum(multiSearchAny(toString("SeverityText"), ['warn','warning','WARN','WARNING','Warn','Warning'])) as warn,
		sum(multiSearchAny(toString("SeverityText"), ['info','INFO','Info'])) as info
		FROM "grafana"."otel_logs" WHERE ( time >= $__fromTime AND time <= $__toTime ) GROUP BY time ORDER BY time ASC`,
		"10:00:00 1 1 1 1", "time:time.Time critical:uint64 error:uint64 warn:uint64 info:uint64"},
	{"log volume by level", series, `SELECT toStartOfInterval(Timestamp, INTERVAL $__interval_s second) AS time, SeverityText AS metric, count() AS count
		FROM grafana.otel_logs WHERE $__timeFilter(Timestamp) AND 1=1 AND positionCaseInsensitive(Body, 'LATE') > 0 GROUP BY time, metric ORDER BY time`,
		"10:00:00 1", ""},
	{"logs around a line", logs, `SELECT Timestamp as "timestamp", Body as "body" FROM "grafana"."otel_logs"
		WHERE ( timestamp <= fromUnixTimestamp64Nano(1710497160000000000) ) AND ( ServiceName = 'api' ) ORDER BY timestamp DESC LIMIT 1`,
		"10:05:00 it's late", ""},

	{"traces found", table, `SELECT "TraceId" as traceID, "ServiceName" as serviceName, "SpanName" as operationName, "Timestamp" as startTime,
		multiply("Duration", 0.000001) as duration FROM "grafana"."otel_traces" WHERE ( ParentSpanId = '' )
		AND ( startTime >= $__fromTime AND startTime <= $__toTime ) AND ( duration > 1 ) ORDER BY startTime DESC, duration DESC LIMIT 1000`,
		"t2 worker job 10:10:00 9 | t1 api GET / 10:00:00.5 3",
		"traceID:string serviceName:string operationName:string startTime:time.Time duration:float64"},
	{"a trace", traces, spans + ` FROM "grafana"."otel_traces" WHERE traceID = 't1' ORDER BY "Timestamp"`, trace, ""},
	{"a trace by its time", traces, `WITH 't1' as wanted, (SELECT min(Start) FROM "grafana"."otel_traces_trace_id_ts" WHERE TraceId = wanted) as first,
		(SELECT max(End) + 1 FROM "grafana"."otel_traces_trace_id_ts" WHERE TraceId = wanted) as last ` + spans + `
		FROM "grafana"."otel_traces" WHERE traceID = wanted AND "Timestamp" >= first AND "Timestamp" <= last ORDER BY "Timestamp"`, trace, ""},
	{"a map of services", table, `SELECT concat(parent.ServiceName, '-', child.ServiceName) AS id, parent.ServiceName AS source, child.ServiceName AS target,
		concat(toString(count()), ' calls') AS mainstat FROM grafana.otel_traces AS child INNER JOIN grafana.otel_traces AS parent
		ON child.ParentSpanId = parent.SpanId AND child.TraceId = parent.TraceId WHERE $__timeFilter(child.Timestamp)
		AND $__timeFilter(parent.Timestamp) AND parent.ServiceName != child.ServiceName GROUP BY source, target ORDER BY count() DESC LIMIT 50`,
		"api-db api db 1 calls", ""},
	{"rates of errors", series, `SELECT toStartOfInterval(Timestamp, INTERVAL $__interval_s second) AS time,
		countIf(StatusCode IN ('Error', 'STATUS_CODE_ERROR')) / count() AS errors, quantile(0.5)(Duration) AS p50, count() / $__interval_s AS rps
		FROM grafana.otel_traces WHERE $__timeFilter(Timestamp) GROUP BY time ORDER BY time`,
		"10:00:00 0.3333333333333333 3e+06 0.0025", ""},

	{"a path of JSON", table, "SELECT toString(attributes.user) AS u, attributes.`http`.`status`::Nullable(String) AS s FROM grafana.events " +
		"WHERE ( attributes.`http`.`status`::Nullable(String) IN ('504', '505') )", "u2 504", ""},
	{"JSON where a path is missing", table, "SELECT t, attributes FROM grafana.events WHERE ( attributes.`user`::Nullable(String) IS NULL )",
		`10:02:00 {"level":"info"}`, "t:time.Time attributes:json.RawMessage"},
	{"JSON in a span's events", table, `SELECT arrayMap((a, n) -> tuple(n, [map('key', 'json', 'value', toJSONString(a))])::Tuple(name String,
		fields Array(Map(String, String))), [attributes], ['x']) AS logs FROM grafana.events LIMIT 1`,
		`[{"fields":[{"key":"json","value":"{\"http\":{\"status\":200},\"user\":\"u1\"}"}],"name":"x"}]`, ""},
}

// spans is the plugin's SELECT of a trace's spans, with the names that the trace panel wants.
const spans = `SELECT "TraceId" as traceID, "SpanId" as spanID, "ParentSpanId" as parentSpanID, "ServiceName" as serviceName,
	multiply(toUnixTimestamp64Nano("Timestamp"), 0.000001) as startTime, multiply("Duration", 0.000001) as duration,
	arrayMap(k -> map('key', k, 'value', "SpanAttributes"[k]), mapKeys("SpanAttributes")) as tags,
	if("StatusCode" IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) as statusCode,
	arrayMap((name, at, attributes) -> tuple(name, toString(toUnixTimestamp64Milli(at)), arrayMap(k -> map('key', k, 'value', attributes[k]),
		mapKeys(attributes)))::Tuple(name String, timestamp String, fields Array(Map(String, String))),
		"Events".Name, "Events".Timestamp, "Events".Attributes) AS logs,
	arrayMap((traceID, spanID, attributes) -> tuple(traceID, spanID, arrayMap(k -> map('key', k, 'value', attributes[k]),
		mapKeys(attributes)))::Tuple(traceID String, spanID String, tags Array(Map(String, String))),
		"Links".TraceId, "Links".SpanId, "Links".Attributes) AS references`

const trace = `t1 s1  api 1.7104968005e+12 3 [{"key":"http.method","value":"GET"}] 0 ` +
	`[{"fields":[{"key":"k","value":"v"}],"name":"start","timestamp":"1710496800501"}] ` +
	`[{"spanID":"s9","tags":[{"key":"why","value":"retry"}],"traceID":"t2"}] | ` +
	`t1 s2 s1 db 1.7104968006e+12 1.5 [] 2 [] []`

// What the editor asks to suggest names.
var schema = []question{
	{"databases", table, "SELECT name FROM (SELECT name FROM system.databases) WHERE name = 'grafana'", "grafana", "name:string"},
	{"tables", table, `SHOW TABLES FROM "grafana"`,
		"aliases | events | otel_logs | otel_traces | otel_traces_trace_id_ts | otel_traces_trace_id_ts_mv | points", "name:string"},
	{"tables of system.tables", table, "SELECT name FROM system.tables WHERE database IN ('grafana') AND name LIKE 'otel_t%' AND engine = 'MergeTree' ORDER BY name",
		"otel_traces | otel_traces_trace_id_ts", ""},
	{"columns", table, `DESC TABLE "grafana"."points"`,
		"t DateTime      | ms DateTime64(3)      | day Date      | host LowCardinality(String)      | value Float64      | counter UInt64      | note Nullable(String)     ",
		"name:string type:string default_type:string default_expression:string comment:string codec_expression:string ttl_expression:string"},
	{"columns of system.columns", table, "SELECT name, type, table FROM system.columns WHERE database IN ('grafana') AND table = 'events'",
		"t DateTime events | attributes JSON events", ""},
	{"keys of a map", table, `SELECT DISTINCT arrayJoin(mapKeys("LogAttributes")) as keys FROM (SELECT "LogAttributes" FROM "grafana"."otel_logs" LIMIT 100000)
		ORDER BY keys LIMIT 1000`, "code | http.method", "keys:string"},
	{"values of a map", table, `SELECT DISTINCT "LogAttributes"['code'] FROM "grafana"."otel_logs" WHERE mapContains("LogAttributes", 'code') ORDER BY 1 LIMIT 1000`,
		"1 | 500", ""},
	{"values of a column", table, `SELECT DISTINCT "ServiceName" FROM "grafana"."otel_logs" WHERE "ServiceName" IS NOT NULL ORDER BY 1 LIMIT 1000`,
		"api | worker", ""},
	{"paths of JSON", table, `SELECT DISTINCT arrayJoin(JSONAllPaths("attributes")) as path FROM "grafana"."events" ORDER BY path LIMIT 1000`,
		"http.status | level | user", ""},
	{"paths of JSON with types", table, `SELECT arrayJoin(distinctJSONPathsAndTypes(attributes)) FROM "grafana"."events" SETTINGS max_execution_time=10`,
		`{"keys":"http.status","values":["Int64"]} | {"keys":"level","values":["String"]} | {"keys":"user","values":["String"]}`, ""},
	{"a table of aliases", table, `SELECT alias, select, "type" FROM "grafana"."aliases"`, "Status attributes.http.status Int64", ""},
	{"functions", table, `SELECT name, is_aggregate, case_insensitive, alias_to, origin, description != '' AS described, syntax, arguments, returned_value,
		examples, categories FROM system.functions WHERE name IN ('count', 'toStartOfInterval') ORDER BY name LIMIT 0`, "", ""},
	{"functions by their kind", table, "SELECT name, is_aggregate, toString(origin) FROM system.functions WHERE name IN ('sum', 'length') ORDER BY name LIMIT 10000",
		"length 0 System | sum 1 System", ""},
	{"the version", table, "SELECT toUInt8(splitByChar('.', version())[1]) >= 26 AS new", "1", ""},
	{"the build", table, "SELECT uptime() >= 0, currentDatabase(), timezone()", "1 default UTC", ""},
}
