#!/usr/bin/env python3
"""Random joins of random tables, here and in ClickHouse 26.9 (PyPI chdb): the same rows, or the same code of an error.

    python3 tests/slt/random_joins.py http://127.0.0.1:8123/ [seed] [queries]
"""

import re

from random_comparison import Comparison, main

TYPES = [
    "UInt8", "UInt32", "UInt64", "Int8", "Int32", "String", "FixedString(3)", "Nullable(UInt32)", "Nullable(String)",
    "LowCardinality(String)", "LowCardinality(Nullable(String))", "Date", "UUID", "Float64", "Nullable(Int16)", "Nullable(UInt64)",
]  # fmt: skip
CONDITIONS = ["x.xv > y.yv", "x.xv % 3 = 0", "y.yv % 2 = 1", "x.xv + y.yv < 30", "x.xs < y.ys"]
FILTERS = ["", "", "", "WHERE xv % 2 = 0", "WHERE yv > 3", "WHERE xv % 2 = 0 AND yv < 10", "WHERE xs IS NULL"]


def family(data_type):
    for word, letter in (("String", "s"), ("Date", "d"), ("UUID", "u"), ("Float", "f")):
        if word in data_type:
            return letter
    return "n"


def has_supertype(left, right):
    """Integers that no type holds all of can be keys, but ClickHouse refuses to show them as one column."""
    return ("UInt64" in left) == ("UInt64" in right) or not any(re.search(r"\bInt", data_type) for data_type in (left, right))


def comparable(left, right):
    families = {family(left), family(right)}
    return len(families) == 1 or families == {"f", "n"} and "64" not in (left + right).replace("Float64", "")


class Joins(Comparison):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.columns = {}

    def description(self):
        return f"tables: {self.columns}"

    def value(self, data_type, number):
        if "Nullable" in data_type and self.random.random() < 0.2:
            return "NULL"
        return {
            "s": f"'k{number}'",
            "d": f"toDate('2020-01-{number % 27 + 1:02}')",
            "u": f"toUUID('00000000-0000-0000-0000-0000000000{number:02}')",
            "f": f"{number}.5" if self.random.random() < 0.2 else str(number),
            "n": str(number),
        }[family(data_type)]

    def make(self):
        choose = self.random
        for table in "xyz":
            columns = [(f"k{at}", choose.choice(TYPES)) for at in (1, 2, 3)]
            columns += [(f"{table}v", "UInt32"), (f"{table}s", "Nullable(String)")]
            self.columns[table] = columns
            declared = ", ".join(" ".join(column) for column in columns)
            statements = [f"DROP TABLE IF EXISTS rj.{table}", f"CREATE TABLE rj.{table} ({declared}) ENGINE = Memory"]
            rows, largest = choose.choice([0, 1, 3, 20, 60]), choose.choice([1, 3, 10, 40])
            lines = []
            for row in range(rows):
                keys = [self.value(data_type, choose.randint(0, largest)) for _, data_type in columns[:3]]
                text = "NULL" if choose.random() < 0.1 else f"'{table}{row}'"
                lines.append(f"({', '.join(keys)}, {row}, {text})")
            if lines:
                statements.append(f"INSERT INTO rj.{table} VALUES {', '.join(lines)}")
            self.execute(statements)

    def pairs(self, left, right, count):
        keys = [(a, b) for a, left_type in self.columns[left][:3] for b, right_type in self.columns[right][:3] if comparable(left_type, right_type)]
        return [f"{left}.{a} = {right}.{b}" for a, b in self.random.sample(keys, min(count, len(keys)))]

    def asof(self):
        """The nearest row: of several of one value nobody promises which, so that then only the value is asked for."""
        choose = self.random
        types = dict(self.columns["x"]), dict(self.columns["y"])
        ordered = [
            (a, b)
            for a in ("k1", "k2", "k3")
            for b in ("k1", "k2", "k3")
            if {family(types[0][a]), family(types[1][b])} <= {"n", "d", "f"}
            and comparable(types[0][a], types[1][b])
            and has_supertype(types[0][a], types[1][b])
        ]
        keys = self.pairs("x", "y", choose.randint(1, 2))
        kind = choose.choice(["", "LEFT"])
        if not keys:
            return None
        common = [key for key in ("k1", "k2", "k3") if comparable(types[0][key], types[1][key]) and has_supertype(types[0][key], types[1][key])]
        if len(common) > 1 and choose.random() < 0.3 and family(types[0][common[-1]]) in "ndf":
            return f"SELECT x.xv, {common[-1]}, y.{common[-1]} FROM rj.x AS x ASOF {kind} JOIN rj.y AS y USING ({', '.join(common)})"
        operator = choose.choice(["<", "<=", ">", ">="])
        if not ordered or choose.random() < 0.5:
            selected, conditions = "*", keys + [choose.choice([f"x.xv {operator} y.yv", f"y.yv {operator} x.xv + 3"])]
        else:
            left, right = choose.choice(ordered)
            selected, conditions = f"x.xv, x.xs, y.{right}", keys + [f"x.{left} {operator} y.{right}"]
        conditions += choose.sample(["x.xv % 3 = 0", "y.yv % 2 = 1"], choose.choice([0, 0, 1, 2]))
        choose.shuffle(conditions)
        where = choose.choice(FILTERS)
        return f"SELECT {selected} FROM rj.x AS x ASOF {kind} JOIN rj.y AS y ON {' AND '.join(conditions)} {where}"

    def paste(self):
        choose = self.random
        limit = choose.choice(["", f"LIMIT {choose.randint(0, 70)}"])
        left = f"(SELECT * FROM rj.x ORDER BY xv {choose.choice(['', 'DESC'])} {limit}) AS x"
        right = f"(SELECT * FROM rj.y WHERE yv % {choose.randint(1, 3)} = 0 ORDER BY yv) AS y"
        selected = choose.choice(["*", "x.xv, y.yv", "count()", "y.ys"])
        return f"SELECT {selected} FROM {left} PASTE JOIN {right} {choose.choice(FILTERS)}"

    def query(self):
        choose = self.random
        if choose.random() < 0.25:
            sql = self.asof() if choose.random() < 0.8 else self.paste()
            return sql and f"{sql} SETTINGS join_use_nulls = {choose.choice([0, 1])}"
        strictness = choose.choice(["", "", "", "", "ANY", "SEMI", "ANTI", "ALL"])
        kind = choose.choice(["LEFT", "RIGHT"] if strictness in ("SEMI", "ANTI") else ["INNER", "LEFT", "RIGHT", "FULL"])
        if strictness == "ANY" and kind == "FULL":
            kind = "LEFT"
        types = dict(self.columns["x"]), dict(self.columns["y"])
        if choose.random() < 0.3:
            common = [key for key in ("k1", "k2", "k3") if comparable(types[0][key], types[1][key]) and has_supertype(types[0][key], types[1][key])]
            if not common:
                return None
            constraint = f"USING ({', '.join(choose.sample(common, choose.randint(1, len(common))))})"
        else:
            conditions = self.pairs("x", "y", choose.randint(1, 3))
            if not conditions:
                return None
            if strictness in ("", "ALL") and choose.random() < 0.4:
                conditions += choose.sample(CONDITIONS, choose.randint(1, 2))
            choose.shuffle(conditions)
            constraint = "ON " + " AND ".join(conditions)
        where = choose.choice(FILTERS)
        selected = "*"
        if strictness in ("ANY", "SEMI"):
            # Which of several rows is taken nobody promises.
            side = {"LEFT": "x", "RIGHT": "y", "INNER": None}[kind]
            selected = f"{side}v, {side}s" if side else "count()"
            where = "" if strictness == "ANY" else where
        sql = f"SELECT {selected} FROM rj.x AS x {strictness} {kind} JOIN rj.y AS y {constraint} {where}"
        second = self.pairs("y", "z", 1)
        if strictness == "" and second and choose.random() < 0.25:
            other = choose.choice(["INNER", "LEFT", "RIGHT", "FULL"])
            joined = f"rj.x AS x {kind} JOIN rj.y AS y {constraint} {other} JOIN rj.z AS z ON {second[0]}"
            sql = f"SELECT x.*, y.yv, z.* FROM {joined} {where}"
        elif choose.random() < 0.15:
            conditions = " AND ".join([where.removeprefix("WHERE ")] * bool(where) + self.pairs("x", "y", 1)) or "1"
            sql = f"SELECT count(), sum(xv), sum(yv) FROM rj.x AS x, rj.y AS y WHERE {conditions}"
        return f"{sql} SETTINGS join_use_nulls = {choose.choice([0, 1])}"


if __name__ == "__main__":
    main(Joins, 1000)
