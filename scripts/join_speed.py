#!/usr/bin/env python3
"""Joins, here and in ClickHouse 26.9 (chdb, in process), one after the other on the same machine: medians and their ratio.

    python3 scripts/join_speed.py target/release/squall [runs]

The interpreter needs PyPI's `chdb` and `duckdb`.
"""

import sys

from side_by_side import beside_clickhouse

TABLES = [
    "CREATE TABLE big (k UInt64, v UInt64) ENGINE = Memory",
    "CREATE TABLE million (k UInt64, v UInt64) ENGINE = Memory",
    "CREATE TABLE other (k UInt64, w UInt64) ENGINE = Memory",
    "CREATE TABLE thousand (k UInt64, w UInt64, s String) ENGINE = Memory",
    "CREATE TABLE ticks (k UInt32, many UInt32, at DateTime, v UInt64) ENGINE = Memory",
    "CREATE TABLE prices (k UInt32, many UInt32, at DateTime, w UInt64) ENGINE = Memory",
    "INSERT INTO ticks SELECT intHash64(number) % 1000, intHash64(number) % 100000, 1600000000 + intHash64(number + 1) % 10000000, number FROM numbers(1000000)",
    "INSERT INTO prices SELECT number % 1000, number % 100000, 1600000000 + number * 7919 % 10000019, number FROM numbers(1000000)",
    "INSERT INTO big SELECT number * 7919 % 10000, number FROM numbers(10000000)",
    "INSERT INTO million SELECT number * 7919 % 1000003, number FROM numbers(1000000)",
    "INSERT INTO other SELECT number * 104729 % 1000003, number FROM numbers(1000000)",
    "INSERT INTO thousand SELECT number * 10, number, toString(number) FROM numbers(1000)",
]
QUERIES = {
    "1M x 1M, sum": "SELECT count(), sum(v), sum(w) FROM million JOIN other USING k",
    "1M x 1M, LEFT": "SELECT count(), sum(w) FROM million LEFT JOIN other USING k",
    "10M x 1k, sum": "SELECT count(), sum(v), sum(w) FROM big JOIN thousand USING k",
    "1M x 1M, ASOF 1000": "SELECT count(), sum(v), sum(w) FROM ticks AS t ASOF JOIN prices AS p ON t.k = p.k AND t.at >= p.at",
    "1M x 1M, ASOF 100k": "SELECT count(), sum(v), sum(w) FROM ticks AS t ASOF LEFT JOIN prices AS p ON t.many = p.many AND t.at > p.at",
    "10M x 1k, GROUP BY": "SELECT s, count() AS c FROM big JOIN thousand USING k GROUP BY s ORDER BY c DESC, s LIMIT 10",
}


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    beside_clickhouse(sys.argv[1], TABLES, QUERIES, runs, (1, 0))


if __name__ == "__main__":
    main()
