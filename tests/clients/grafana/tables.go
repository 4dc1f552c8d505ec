package main

import (
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// The tables of the checks: points of a second each, half an hour before the dashboard's hour until half an hour after it, and what
// OpenTelemetry's collector writes, with attributes as maps or as JSON.
var tables = []string{
	`DROP DATABASE IF EXISTS grafana`,
	`CREATE DATABASE grafana`,

	`CREATE TABLE grafana.points (t DateTime, ms DateTime64(3), day Date, host LowCardinality(String), value Float64, counter UInt64,
		note Nullable(String)) ORDER BY t`,
	`INSERT INTO grafana.points SELECT toDateTime('2024-03-15 09:30:00') + number AS at, at, at, ['a', 'b', 'c'][number % 3 + 1], number, number * 2,
		if(number % 2 = 0, NULL, 'odd') FROM numbers(7200)`,

	`CREATE TABLE grafana.otel_logs (Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)), TimestampTime DateTime DEFAULT toDateTime(Timestamp),
		TraceId String CODEC(ZSTD(1)), SpanId String, TraceFlags UInt8, SeverityText LowCardinality(String), SeverityNumber UInt8,
		ServiceName LowCardinality(String), Body String, ResourceSchemaUrl LowCardinality(String),
		ResourceAttributes Map(LowCardinality(String), String), ScopeSchemaUrl LowCardinality(String), ScopeName String,
		ScopeVersion LowCardinality(String), ScopeAttributes Map(LowCardinality(String), String),
		LogAttributes Map(LowCardinality(String), String), INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
		INDEX idx_body Body TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8)
		ENGINE = MergeTree PARTITION BY toDate(TimestampTime) PRIMARY KEY (ServiceName, TimestampTime)
		ORDER BY (ServiceName, TimestampTime, Timestamp)`,
	`INSERT INTO grafana.otel_logs (Timestamp, TraceId, SeverityText, ServiceName, Body, ResourceAttributes, LogAttributes) VALUES
		('2024-03-15 10:00:01.000000001', 't1', 'INFO', 'api', 'request took 5 ms', {'service.version': '1'}, {'http.method': 'GET'}),
		('2024-03-15 10:05:00', 't1', 'ERROR', 'api', 'it\'s late', {'service.version': '1'}, {'http.method': 'POST', 'code': '500'}),
		('2024-03-15 10:06:00', 't2', 'Warning', 'worker', 'slow', {'service.version': '2'}, {}),
		('2024-03-15 10:30:00', '', 'fatal', 'worker', 'ended', {'service.version': '2'}, {'code': '1'}),
		('2024-03-15 12:00:00', '', 'INFO', 'api', 'after the hour', {}, {})`,

	`CREATE TABLE grafana.otel_traces (Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
		SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
		ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
		SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode LowCardinality(String), StatusMessage String,
		Events Nested(Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
		Links Nested(TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String)))
		ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))`,
	`CREATE TABLE grafana.otel_traces_trace_id_ts (TraceId String, Start DateTime, End DateTime) ENGINE = MergeTree ORDER BY (TraceId, Start)`,
	`CREATE MATERIALIZED VIEW grafana.otel_traces_trace_id_ts_mv TO grafana.otel_traces_trace_id_ts AS
		SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End FROM grafana.otel_traces WHERE TraceId != '' GROUP BY TraceId`,
	`INSERT INTO grafana.otel_traces (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes,
		SpanAttributes, Duration, StatusCode, Events.Timestamp, Events.Name, Events.Attributes, Links.TraceId, Links.SpanId,
		Links.TraceState, Links.Attributes) VALUES
		('2024-03-15 10:00:00.5', 't1', 's1', '', 'GET /', 'Server', 'api', {'host.name': 'h'}, {'http.method': 'GET'}, 3000000, 'Ok',
			['2024-03-15 10:00:00.501'], ['start'], [{'k': 'v'}], ['t2'], ['s9'], [''], [{'why': 'retry'}]),
		('2024-03-15 10:00:00.6', 't1', 's2', 's1', 'query', 'Client', 'db', {}, {}, 1500000, 'Error', [], [], [], [], [], [], []),
		('2024-03-15 10:10:00', 't2', 's9', '', 'job', 'Internal', 'worker', {}, {}, 9000000, 'Unset', [], [], [], [], [], [], [])`,

	`CREATE TABLE grafana.events (t DateTime, attributes JSON) ORDER BY t`,
	`INSERT INTO grafana.events VALUES ('2024-03-15 10:00:00', '{"user": "u1", "http": {"status": 200}}'),
		('2024-03-15 10:01:00', '{"user": "u2", "http": {"status": 504}}'), ('2024-03-15 10:02:00', '{"level": "info"}')`,

	`CREATE TABLE grafana.aliases (alias String, select String, type String) ORDER BY alias`,
	`INSERT INTO grafana.aliases VALUES ('Status', 'attributes.http.status', 'Int64')`,
}

// execute runs statements that no data source would.
func execute(protocol, port string, statements ...string) error {
	options := &clickhouse.Options{Addr: []string{"127.0.0.1:" + port}, Auth: clickhouse.Auth{Username: "default"}}
	if protocol == "http" {
		options.Protocol = clickhouse.HTTP
	}
	database := clickhouse.OpenDB(options)
	defer database.Close()
	for _, statement := range statements {
		if _, err := database.Exec(statement); err != nil {
			return fmt.Errorf("%w: %s", err, statement)
		}
	}
	return nil
}
