#!/usr/bin/env python3
"""Random windows over random rows, here and in ClickHouse 26.9 (PyPI chdb): the same rows, or the same code of an error.

    python3 tests/slt/random_windows.py http://127.0.0.1:8123/ [seed] [queries] [SETTINGS …]

The rows go through several blocks, and partitions from one row to all of them. The key `id` is unique and makes the order of rows whole
where a function would tell peers apart.
"""

from random_comparison import Comparison, main

ROWS = [0, 1, 7, 1000, 9000, 30000]
# Functions of any order of peers.
OF_PEERS = [
    "count()", "count(n)", "sum(i)", "sum(n)", "min(s)", "max(f)", "avg(i)", "uniqExact(s)", "sumIf(i, i % 3 = 0)", "countIf(n > 2)",
    "sumOrNull(n)", "sumDistinct(i)", "rank()", "dense_rank()", "minOrDefault(n)", "quantileExact(0.5)(i)", "sumArray(a)",
]  # fmt: skip
# Functions that ask in which order rows come.
OF_ROWS = [
    "row_number()", "first_value(s)", "last_value(n)", "first_value(n) RESPECT NULLS", "last_value(s) RESPECT NULLS", "nth_value(s, 3)",
    "nth_value(n, 1)", "lagInFrame(i)", "leadInFrame(s, 2)", "lagInFrame(n, 3)", "leadInFrame(i, 2, 77)", "groupArray(3)(i)", "argMax(s, id)",
    "any(l)", "lagInFrame(l, 2)", "nth_value(i, id % 5 + 1)", "lagInFrame(a)",
]  # fmt: skip
OF_PARTITIONS = ["lag(i)", "lead(s)", "lag(n, 5)", "lead(i, 9000, 5)", "lag(s, id % 7)", "ntile(4)", "percent_rank()", "cume_dist()", "lead(l, 3)"]
OF_ROWS_WITHOUT_BOUND = 400
NOT_FOUND_COLUMN_IN_BLOCK = 10


class Windows(Comparison):
    database = "rw"
    queries_of_each = 25

    def is_same(self, theirs, ours):
        # ClickHouse loses a column where several windows need different sorts.
        return theirs == ours or theirs == f"error {NOT_FOUND_COLUMN_IN_BLOCK}"

    def description(self):
        return f"{self.rows} rows"

    def make(self):
        choose = self.random
        self.rows = choose.choice(ROWS)
        salt, few, many = choose.randint(0, 1 << 30), choose.choice([1, 2, 5, 40]), choose.choice([3, 100, 5000, 100000])

        def some(number, count):
            return f"cityHash64(number, {salt + number}) % {count}"

        columns = [
            "number AS id",
            f"{some(1, few)} AS p",
            f"{some(2, many)} AS q",
            f"toInt32({some(3, 50)}) - 20 AS i",
            f"if({some(4, 6)} = 0, NULL, {some(5, 9)}) AS n",
            f"multiIf({some(6, 30)} = 0, nan, {some(7, 400)} / 4 - 30) AS f",
            f"toString({some(8, 60)}) AS s",
            f"toLowCardinality(toString({some(9, 5)})) AS l",
            f"range({some(10, 4)}) AS a",
            f"if({some(11, 20)} = 0, NULL, toInt64({some(12, 300)}) - 100) AS k",
            f"{some(13, 4)} AS o",
        ]
        select = f"SELECT {', '.join(columns)} FROM numbers({self.rows})"
        self.execute(["DROP TABLE IF EXISTS rw.t", f"CREATE TABLE rw.t ENGINE = MergeTree ORDER BY id AS {select}"])

    def bounds(self):
        choose = self.random
        offset = choose.choice([0, 1, 2, 5, 30, 300])
        further = offset + choose.choice([0, 1, 20])
        return choose.choice([
            ("UNBOUNDED PRECEDING", "CURRENT ROW"),
            ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING"),
            ("UNBOUNDED PRECEDING", f"{offset} PRECEDING"),
            ("UNBOUNDED PRECEDING", f"{offset} FOLLOWING"),
            (f"{offset} PRECEDING", "CURRENT ROW"),
            (f"{offset} PRECEDING", f"{further} FOLLOWING"),
            (f"{further} PRECEDING", f"{offset} PRECEDING"),
            (f"{offset} FOLLOWING", f"{further} FOLLOWING"),
            ("CURRENT ROW", f"{offset} FOLLOWING"),
            ("CURRENT ROW", "CURRENT ROW"),
            ("CURRENT ROW", "UNBOUNDED FOLLOWING"),
            (f"{offset} PRECEDING", "UNBOUNDED FOLLOWING"),
            (f"{offset} FOLLOWING", "UNBOUNDED FOLLOWING"),
        ])  # fmt: skip

    def window(self):
        """A window's definition, and the functions that it may have."""
        choose = self.random
        partition = choose.choice(["", "", "PARTITION BY p", "PARTITION BY q", "PARTITION BY s, p", "PARTITION BY n", "PARTITION BY l"])
        kind = choose.choice(["rows", "rows", "partition", "range", "groups", "plain"])
        direction = choose.choice(["", "DESC", "NULLS FIRST", "DESC NULLS FIRST"])
        if kind == "partition":
            return f"{partition} ORDER BY {choose.choice(['i', 's', 'k'])}, id", OF_PARTITIONS
        begin, end = self.bounds()
        while self.rows > OF_ROWS_WITHOUT_BOUND and end == "UNBOUNDED FOLLOWING" and begin != "UNBOUNDED PRECEDING":
            # Squares of rows.
            begin, end = self.bounds()
        if kind == "rows":
            order = choose.choice(["id", f"k {direction}, id", "s DESC, id DESC", f"f {direction}, id"])
            return f"{partition} ORDER BY {order} ROWS BETWEEN {begin} AND {end}", OF_PEERS + OF_ROWS
        if kind == "range":
            # Where offsets meet NULLs, ClickHouse takes them for less than every value; here they see each other alone.
            has_offset = any(character.isdigit() for character in begin + end)
            key = choose.choice(["i", "o", "id"] if has_offset else ["k", "i", "f"])
            return f"{partition} ORDER BY {key} {direction} RANGE BETWEEN {begin} AND {end}", OF_PEERS
        if kind == "groups":
            key = choose.choice(["k", "i", "o, p", "f", "s"])
            return f"{partition} ORDER BY {key} GROUPS BETWEEN {begin} AND {end}", OF_PEERS
        return f"{partition} {choose.choice(['', 'ORDER BY o', 'ORDER BY k, s', 'ORDER BY f DESC'])}", OF_PEERS

    def query(self):
        choose = self.random
        named, columns = [], []
        for number in range(choose.choice([1, 1, 2, 3])):
            window, functions = self.window()
            over = f"({window})"
            if choose.random() < 0.5:
                named.append(f"w{number} AS ({window})")
                over = f"w{number}"
            columns += [f"{function} OVER {over}" for function in choose.sample(functions, choose.randint(1, 4))]
        where = choose.choice(["", "", "WHERE id % 3 = 0"])
        names = f"WINDOW {', '.join(named)}" if named else ""
        return f"SELECT id, {', '.join(columns)} FROM rw.t {where} {names} ORDER BY id"


if __name__ == "__main__":
    main(Windows, 500)
