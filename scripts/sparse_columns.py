#!/usr/bin/env python3
"""Columns of mostly zeros, held whole and sparse: two tables of the same rows in one server, with `ratio_of_defaults_for_sparse_serialization`
1 and 0.9375, here and in ClickHouse 26.9 (chdb, in process). The queries go to the four in turns on one machine: medians, and how many times
as fast the sparse form is. The data has the shares of ClickBench's table: 3 % of AdvEngineID and 5.5 % of MobilePhoneModel are set.

    python3 scripts/sparse_columns.py target/release/squall [rows] [runs]

The interpreter needs PyPI's `chdb`.
"""

import statistics
import sys
import tempfile
import time

import chdb.session

from measured_server import MeasuredServer

RATIOS = {"whole": 1, "sparse": 0.9375}
COLUMNS = {
    "UserID": ("UInt64", "intHash64(intDiv(number, 7) % 1000003)"),
    "ResolutionWidth": ("UInt16", "arrayElement([0, 1024, 1280, 1366, 1440, 1600, 1638, 1750, 1920, 2560], 1 + intHash32(number) % 10)"),
    "AdvEngineID": ("UInt8", "if(intHash32(number + 1) % 100 < 3, 1 + intHash32(number) % 60, 0)"),
    "MobilePhoneModel": ("String", "if(intHash32(number + 2) % 1000 < 55, concat('Model ', toString(intHash32(number) % 150)), '')"),
    "ParamPrice": ("Int64", "if(intHash32(number + 3) % 1000 < 2, toInt64(intHash32(number) % 100000), 0)"),
}
QUERIES = {
    "Q2: count, AdvEngineID <> 0": "SELECT count() FROM {t} WHERE AdvEngineID <> 0",
    "Q3: sum, count, avg": "SELECT sum(AdvEngineID), count(), avg(ResolutionWidth) FROM {t}",
    "Q8: by AdvEngineID <> 0": "SELECT AdvEngineID, count() FROM {t} WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY count() DESC, AdvEngineID",
    "Q11: users by MobilePhoneModel <> ''": (
        "SELECT MobilePhoneModel, uniqExact(UserID) AS u FROM {t} WHERE MobilePhoneModel <> ''"
        " GROUP BY MobilePhoneModel ORDER BY u DESC, MobilePhoneModel LIMIT 10"
    ),
    "sum(AdvEngineID)": "SELECT sum(AdvEngineID) FROM {t}",
    "sum, min, max, uniqExact(ParamPrice)": "SELECT sum(ParamPrice), min(ParamPrice), max(ParamPrice), uniqExact(ParamPrice) FROM {t}",
    "count, MobilePhoneModel LIKE '%77%'": "SELECT count() FROM {t} WHERE MobilePhoneModel LIKE '%77%'",
    "sum(length(MobilePhoneModel))": "SELECT sum(length(MobilePhoneModel)) FROM {t}",
    "sum(ParamPrice) by ResolutionWidth": "SELECT ResolutionWidth, sum(ParamPrice) FROM {t} GROUP BY ResolutionWidth ORDER BY ResolutionWidth",
    "by AdvEngineID, all rows": "SELECT AdvEngineID, count() FROM {t} GROUP BY AdvEngineID ORDER BY AdvEngineID",
    "two columns in one function": "SELECT max(AdvEngineID * ResolutionWidth) FROM {t}",
    "avg(ResolutionWidth), not sparse": "SELECT avg(ResolutionWidth) FROM {t}",
}
ROWS_AT_ONCE = 10_000_000


def fill(server, form, rows):
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    values = ", ".join(sql for _, sql in COLUMNS.values())
    ratio = f"ratio_of_defaults_for_sparse_serialization = {RATIOS[form]}"
    server(f"CREATE TABLE {form} ({columns}) ENGINE = MergeTree ORDER BY tuple() SETTINGS {ratio}")
    for first in range(0, rows, ROWS_AT_ONCE):
        server(f"INSERT INTO {form} SELECT {values} FROM numbers({first}, {min(ROWS_AT_ONCE, rows - first)})")
    server("SELECT " + ", ".join(f"max({name})" for name in COLUMNS) + f" FROM {form}")


def held(squall):
    """Bytes in the column cache."""
    return int(squall("SELECT value FROM system.metrics WHERE metric = 'ColumnCacheBytes'"))


def table(squall, clickhouse, runs):
    titles = ("ClickHouse: whole", "sparse", "gain", "Squall: whole", "sparse", "gain")
    print(f"{'ms, one thread':38}" + "".join(f"{title:>18}" if ":" in title else f"{title:>9}" for title in titles))
    for name, query in QUERIES.items():
        times, results = {}, set()
        for _ in range(runs):
            for server in (clickhouse, squall):
                for form in RATIOS:
                    began = time.perf_counter()
                    results.add(server(f"{query.format(t=form)} SETTINGS max_threads = 1"))
                    times.setdefault((server, form), []).append(time.perf_counter() - began)
        assert len(results) == 1, f"{name}: the results differ: {results}"
        line = f"{name:38}"
        for server in (clickhouse, squall):
            whole, sparse = (statistics.median(times[server, form]) * 1000 for form in RATIOS)
            line += f"{whole:18.1f}{sparse:9.1f}{whole / sparse:9.2f}"
        print(line, flush=True)


def main():
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as oracle_folder,
        MeasuredServer.of(sys.argv[1], folder) as server,
    ):
        session = chdb.session.Session(oracle_folder)

        def clickhouse(sql):
            return session.query(sql, "TSV").data().strip()

        print(f"{rows} rows, medians of {runs} runs in turns")
        for form in RATIOS:
            before = held(server.ask)
            fill(server.ask, form, rows)
            print(f"Squall's column cache holds {(held(server.ask) - before) / 1e6:.0f} MB of the {form} table")
            fill(clickhouse, form, rows)
        table(server.ask, clickhouse, runs)
        session.close()


if __name__ == "__main__":
    main()
