#!/usr/bin/env python3
"""Random set operations, grouping sets, LIMITs, correlated subqueries and WITH FILL over random rows, here and in ClickHouse 26.9 (PyPI chdb):
the same rows, or the same code of an error.

    python3 tests/slt/random_clauses.py http://127.0.0.1:8123/ [seed] [queries] [SETTINGS …]
"""

from random_comparison import Comparison, main

ROWS = [0, 1, 5, 40, 400]
KEYS = ["a", "b", "s", "d", "n", "a % 3", "toString(b % 2)", "l"]
AGGREGATES = ["count()", "sum(a)", "sum(n)", "min(s)", "max(d)", "avg(b)", "uniqExact(s)", "countIf(b > 3)", "any(a) IS NULL"]
NOT_IMPLEMENTED = 48
# What ClickHouse says where it cannot join a subquery.
REFUSED = {f"error {code}" for code in (1, NOT_IMPLEMENTED, 36, 215)}


class Clauses(Comparison):
    database = "rc"
    queries_of_each = 25

    def is_same(self, theirs, ours):
        return super().is_same(theirs, ours) or theirs in REFUSED

    def make(self):
        self.execute(["DROP TABLE IF EXISTS rc.t", "DROP TABLE IF EXISTS rc.u"])
        for table in "tu":
            rows, spread = self.random.choice(ROWS), self.random.choice([3, 7, 50])
            self.execute([
                f"CREATE TABLE rc.{table} (id UInt32, a Int32, b UInt8, n Nullable(Int64), s String, d Date, l LowCardinality(String)) "
                "ENGINE = MergeTree ORDER BY id",
                f"INSERT INTO rc.{table} SELECT number, toInt32(cityHash64(number, 1) % {spread}) - 2, cityHash64(number, 2) % {spread}, "
                f"if(cityHash64(number, 3) % 4 = 0, NULL, cityHash64(number, 4) % {spread}), toString(cityHash64(number, 5) % {spread}), "
                f"toDate('2020-01-01') + cityHash64(number, 6) % {spread}, toString(cityHash64(number, 7) % 4) FROM numbers({rows})",
            ])  # fmt: skip

    def query(self):
        return self.random.choice([self.sets, self.grouping, self.limit, self.correlated, self.correlated, self.fill])()

    def where(self, table=""):
        column = self.random.choice(["a", "b", "n", "id % 5"])
        return self.random.choice(["", f"WHERE {column} {self.random.choice(['<', '>=', '='])} {self.random.randint(0, 4)}"])

    def sets(self):
        choose = self.random
        columns = choose.sample(["a", "b", "n", "s", "d", "l"], choose.randint(1, 2))

        def operand(depth):
            if depth < 2 and choose.random() < 0.3:
                return f"({operation(depth + 1)})"
            return f"SELECT {', '.join(columns)} FROM rc.{choose.choice('tu')} {self.where()}"

        def operation(depth):
            text = operand(depth)
            for _ in range(choose.randint(1, 2)):
                name = choose.choice(["UNION ALL", "UNION DISTINCT", "EXCEPT", "EXCEPT ALL", "EXCEPT DISTINCT", "INTERSECT", "INTERSECT DISTINCT"])
                text = f"{text} {name} {operand(depth)}"
            return text

        return f"SELECT * FROM ({operation(0)})"

    def grouping(self):
        choose = self.random
        keys = choose.sample(KEYS, choose.randint(1, 3))
        kind = choose.choice(["ROLLUP", "CUBE", "SETS"])
        if kind == "SETS":
            sets = [choose.sample(keys, choose.randint(1, len(keys))) for _ in range(choose.randint(1, 3))]
            sets += [[key] for key in keys]
            by = "GROUPING SETS (" + ", ".join(f"({', '.join(keys)})" for keys in sets) + ")"
        else:
            by = f"{kind}({', '.join(keys)})"
        selected = [*keys, *choose.sample(AGGREGATES, 2)]
        if choose.random() < 0.4:
            selected.append(f"grouping({', '.join(choose.sample(keys, choose.randint(1, len(keys))))})")
        having = choose.choice(["", "", "HAVING count() > 1"])
        settings = choose.choice(["", "SETTINGS group_by_use_nulls = 1"])
        return f"SELECT {', '.join(selected)} FROM rc.t {self.where()} GROUP BY {by} {having} {settings}"

    def limit(self):
        choose = self.random
        number = lambda: choose.choice([0, 1, 3, 10, -1, -3, -10, 0.1, 0.5, 0.33])  # noqa: E731
        offset = choose.choice(["", f"OFFSET {number()}"])
        order = choose.choice(["id", "id DESC", "b, id", "s, id DESC"])
        if choose.random() < 0.4:
            rows = choose.choice([1, 2, -1, -2])
            return f"SELECT id, b FROM rc.t {self.where()} ORDER BY {order} LIMIT {rows} {choose.choice(['', 'OFFSET 1', 'OFFSET -1'])} BY b"
        if choose.random() < 0.3:
            # Which rows come is not settled by the order, but their keys are.
            return f"SELECT b FROM rc.t {self.where()} ORDER BY b LIMIT {choose.choice([1, 3, 0.2, -2])} WITH TIES"
        return f"SELECT id FROM rc.t {self.where()} ORDER BY {order} LIMIT {number()} {offset}"

    def correlated(self):
        choose = self.random
        pair = lambda: choose.choice(["u.a = t.a", "u.b = t.b", "u.n = t.n", "u.s = t.s", "u.a = t.a + 1", "u.d = t.d", "u.a = t.n"])  # noqa: E731
        other = lambda: choose.choice(["u.b > t.b", "u.a <> t.a", "u.n < t.b", "u.id = t.id", "u.b > 2", "t.b > 2", "u.s > t.s"])  # noqa: E731
        conditions = [pair()] + [choose.choice([pair, other])() for _ in range(choose.randint(0, 2))]
        where = " AND ".join(conditions)
        kind = choose.choice(["scalar", "scalar", "exists", "compare", "count"])
        if kind == "exists":
            word = choose.choice(["EXISTS", "NOT EXISTS"])
            more = choose.choice(["", "AND t.b < 5", "OR t.b = 1"])
            return f"SELECT id FROM rc.t AS t WHERE {word} (SELECT * FROM rc.u AS u WHERE {where}) {more}"
        aggregate = choose.choice(["max(u.a)", "sum(u.n)", "min(u.s)", "count()", "avg(u.b)", "max(u.b + u.a)"])
        subquery = f"(SELECT {aggregate} FROM rc.u AS u WHERE {where})"
        if kind == "compare":
            aggregate = choose.choice(["max(u.a)", "avg(u.b)", "sum(u.n)", "count()"])
            return f"SELECT id FROM rc.t AS t WHERE t.b {choose.choice(['>', '<=', '='])} (SELECT {aggregate} FROM rc.u AS u WHERE {where})"
        if kind == "count":
            return f"SELECT count(), sum(id) FROM rc.t AS t WHERE EXISTS (SELECT 1 FROM rc.u AS u WHERE {where}) AND t.a >= 0"
        return f"SELECT * FROM (SELECT id, {subquery} FROM rc.t AS t)"

    def fill(self):
        choose = self.random
        key, low, high, step = choose.choice([
            ("a", "-5", "12", str(choose.choice([1, 2, 3]))),
            ("d", "toDate('2019-12-30')", "toDate('2020-01-20')", choose.choice(["1", "2", "INTERVAL 1 WEEK", "INTERVAL 3 DAY"])),
            ("b", "0", "20", str(choose.choice([1, 5]))),
        ])  # fmt: skip
        descends = choose.random() < 0.3
        if descends:
            low, high, step = high, low, step.replace("INTERVAL ", "INTERVAL -") if "INTERVAL" in step else f"-{step}"
        parts = [f"FROM {low}"] if choose.random() < 0.4 else []
        parts += [f"TO {high}"] if choose.random() < 0.4 else []
        parts += [f"STEP {step}"] if choose.random() < 0.6 or descends else []
        if not parts or "FROM" not in parts[0]:
            parts += [f"STALENESS {'-3' if descends else '3'}"] if choose.random() < 0.2 and key != "d" else []
        prefix = choose.choice(["", "", "l, "])
        interpolate = choose.choice(["", "INTERPOLATE (c)", "INTERPOLATE (c AS c + 1)"])
        rows = f"SELECT {prefix}{key}, count() AS c FROM rc.t {self.where()} GROUP BY {prefix}{key}"
        order = f"ORDER BY {prefix}{key}{' DESC' if descends else ''} WITH FILL {' '.join(parts)} {interpolate}"
        return f"SELECT * FROM ({rows}) {order} LIMIT 1000"


if __name__ == "__main__":
    main(Clauses, 500)
