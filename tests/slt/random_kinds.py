#!/usr/bin/env python3
"""Random rows in tables of the kinds of MergeTree, here and in ClickHouse 26.9 (PyPI chdb): the same rows of inserts, of FINAL, and after
OPTIMIZE … FINAL.

    python3 tests/slt/random_kinds.py http://127.0.0.1:8123/ [seed] [queries] [SETTINGS …]
"""

from random_comparison import Comparison, main

NUMBER = ["-1", "0", "0", "1"]
MAYBE = ["NULL", "-1", "0", "1"]
TEXT = ["'a'", "'b'", "'a text that is longer than a view holds inline'"]
# Of each engine the columns behind the key, with what may stand in them.
VERSIONS = [("v Int32", ["-2", "0", "3"]), ("d UInt8", ["0", "0", "1"]), ("x String", TEXT), ("n Nullable(Int32)", MAYBE)]
KINDS = [
    ("ReplacingMergeTree", VERSIONS),
    ("ReplacingMergeTree(v)", VERSIONS),
    ("ReplacingMergeTree(v, d)", VERSIONS),
    ("CollapsingMergeTree(s)", [("s Int8", ["-1", "1"]), ("x UInt8", ["1", "2", "3"])]),
    ("VersionedCollapsingMergeTree(s, v)", [("s Int8", ["-1", "1"]), ("v Int16", ["-1", "0", "2"]), ("x UInt8", ["1", "2", "3"])]),
    ("SummingMergeTree", [("a Int8", NUMBER), ("b Nullable(Int16)", MAYBE), ("f Float64", ["0", "0.5", "-0.5"]), ("x String", TEXT)]),
    ("SummingMergeTree(a)", [("a Decimal(9, 2)", NUMBER), ("b Int8", NUMBER)]),
    ("SummingMergeTree", [("`mMap.k` Array(UInt8)", ["[1, 2]", "[2, 1]", "[3, 3]"]), ("`mMap.v` Array(Int32)", ["[0, 1]", "[1, -1]", "[-1, 5]"])]),
    ("AggregatingMergeTree", [
        ("a SimpleAggregateFunction(sum, Int64)", NUMBER), ("b SimpleAggregateFunction(min, Nullable(Int32))", MAYBE),
        ("c SimpleAggregateFunction(anyLast, String)", TEXT), ("d SimpleAggregateFunction(groupArrayArray, Array(UInt8))", ["[]", "[1]", "[2, 3]"]),
    ]),
    ("CoalescingMergeTree", [("a Nullable(Int8)", MAYBE), ("c Int8", NUMBER), ("l LowCardinality(Nullable(String))", ["NULL", *TEXT])]),
]
KEYS = [[("k UInt8", ["0", "1", "2", "3"])], [("k String", TEXT)], [("k Int64", NUMBER), ("j String", TEXT)]]


class Kinds(Comparison):
    database = "rk"
    queries_of_each = 3

    def make(self):
        engine, columns = self.random.choice(KINDS)
        key = self.random.choice(KEYS)
        self.asked = 0
        columns = key + columns
        names = ", ".join(name.split()[0] for name, _ in key)
        self.execute([
            "DROP TABLE IF EXISTS rk.t SYNC",
            f"CREATE TABLE rk.t ({', '.join(name for name, _ in columns)}) ENGINE = {engine} ORDER BY ({names})",
            # What ClickHouse merges by itself would depend on when.
            "SYSTEM STOP MERGES rk.t",
        ])
        for _ in range(self.random.randrange(1, 5)):
            rows = [", ".join(self.random.choice(values) for _, values in columns) for _ in range(self.random.randrange(1, 13))]
            # Of a part in which a row that takes away comes before one of the same key ClickHouse keeps both in some merges.
            is_plain = engine.startswith("Collapsing") or self.random.random() < 0.3
            settings = " SETTINGS optimize_on_insert = 0" if is_plain else ""
            self.execute([f"INSERT INTO rk.t{settings} VALUES {', '.join(f'({row})' for row in rows)}"])

    def query(self):
        self.asked += 1
        if self.asked == 1:
            return "SELECT * FROM rk.t"
        if self.asked == 2:
            return "SELECT * FROM rk.t FINAL"
        self.execute(["SYSTEM START MERGES rk.t", "OPTIMIZE TABLE rk.t FINAL"])
        return "SELECT * FROM rk.t"


if __name__ == "__main__":
    main(Kinds, 500)
