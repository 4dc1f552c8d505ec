#!/usr/bin/env python3
"""Random WITH FILL, INTERPOLATE, WITH RECURSIVE and totals after HAVING, here and in ClickHouse 26.9 (PyPI chdb): the same rows, or the
same code of an error.

    python3 tests/slt/random_fill.py http://127.0.0.1:8123/ [seed] [queries] [SETTINGS …]
"""

from random_comparison import Comparison, main

DATE_TIME = "DateTime('UTC')"


def rows(choice):
    """A subquery of a few rows: g, a key k of some type, a number v, a text s."""
    kind = choice.choice(["UInt8", "Int16", "Int64", "UInt64", "Float64", "Date", "DateTime('UTC')", "DateTime64(2, 'UTC')", "Nullable(Int32)"])
    values = []
    for _ in range(choice.randrange(0, 7)):
        key = choice.randrange(-9, 20) if kind in ("Int16", "Int64", "Float64", "Nullable(Int32)") else choice.randrange(0, 25)
        if kind == "Nullable(Int32)" and choice.random() < 0.2:
            key = "NULL"
        if kind == "Float64":
            key = key / 2
        values.append(f"({choice.randrange(3)}, {key}, {choice.randrange(9)}, '{choice.choice('xyz')}')")
    if not values:
        values, where = ["(0, 0, 0, '')"], " WHERE v > 100"
    else:
        where = ""
    base = {"Date": "toDate('2024-01-30') + k0", "DateTime('UTC')": "toDateTime('2024-02-28 23:00:00', 'UTC') + k0 * 900",
            "DateTime64(2, 'UTC')": "toDateTime64('2024-02-28 23:00:00', 2, 'UTC') + k0"}.get(kind)
    key = base or f"CAST(k0, '{kind}')"
    stored = "Nullable(Float64)" if kind in ("Float64", "Nullable(Int32)") else "Int64"
    return kind, f"SELECT g, {key} AS k, v, s FROM values('g UInt8, k0 {stored}, v UInt32, s String', {', '.join(values)}){where}"


def fill(choice, kind, descending):
    sign = -1 if descending else 1
    parts = ["WITH FILL"]
    time = "Date" in kind
    bound = {"Date": lambda n: f"toDate('2024-01-30') + {n}", "DateTime('UTC')": lambda n: f"toDateTime('2024-02-28 23:00:00', 'UTC') + {n * 900}",
             "DateTime64(2, 'UTC')": lambda n: f"toDateTime64('2024-02-28 23:00:00', 2, 'UTC') + {n}"}.get(kind, str)
    has_from = choice.random() < 0.4
    low, high = choice.randrange(0, 10), choice.randrange(8, 26)
    if descending:
        low, high = high, low
    if has_from:
        parts.append(f"FROM {bound(low)}")
    if choice.random() < 0.5:
        parts.append(f"TO {bound(high)}")
    if choice.random() < 0.5 or kind == "DateTime('UTC')":
        if time and choice.random() < 0.6:
            units = {"Date": ["DAY", "WEEK", "MONTH"], "DateTime('UTC')": ["MINUTE", "HOUR", "DAY"]}.get(kind, ["SECOND", "MINUTE"])
            parts.append(f"STEP INTERVAL {sign * choice.randrange(1, 4)} {choice.choice(units)}")
        elif kind == "Float64":
            parts.append(f"STEP {sign * choice.choice([0.25, 0.5, 1, 1.5])}")
        else:
            parts.append(f"STEP {sign * choice.randrange(1, 5) * (300 if kind == DATE_TIME else 1)}")
    if not has_from and choice.random() < 0.2:
        parts.append(f"STALENESS {sign * choice.randrange(1, 6) * (600 if kind == DATE_TIME else 1)}")
    return " ".join(parts)


def statement(choice):
    shape = choice.randrange(10)
    if shape == 0:
        mode = choice.choice(["before_having", "after_having_exclusive", "after_having_inclusive", "after_having_auto"])
        function = choice.choice(["sum(number)", "uniqExact(number % 5)", "avg(number)", "groupArraySorted(9)(number)", "max(toString(number))", "any(7)"])
        return (f"SELECT number % {choice.randrange(1, 5)} AS k, count() AS c, {function} AS f FROM numbers({choice.randrange(0, 30)}) GROUP BY k "
                f"WITH TOTALS HAVING c {choice.choice(['>', '<', '='])} {choice.randrange(1, 9)} ORDER BY k SETTINGS totals_mode = '{mode}'")
    if shape == 1:
        step = choice.choice(["n + 1", "n * 2", "n + 3"])
        return (f"WITH RECURSIVE t AS (SELECT {choice.randrange(1, 4)} AS n, 'a' AS s UNION ALL SELECT {step}, s || '{choice.choice('bc')}' FROM t "
                f"WHERE n < {choice.randrange(1, 40)}) SELECT * FROM t ORDER BY n, s")
    kind, source = rows(choice)
    descending = choice.random() < 0.3
    direction = " DESC" if descending else ""
    order = []
    if choice.random() < 0.4:
        order.append("g")
    order.append(f"k{direction} {fill(choice, kind, descending)}")
    if choice.random() < 0.3:
        order.append(f"v {fill(choice, 'UInt32', False)}" if choice.random() < 0.7 else "v")
    order.append("s")
    interpolate = ""
    if choice.random() < 0.3:
        interpolate = choice.choice([" INTERPOLATE (s)", " INTERPOLATE (s AS s || '+')", " INTERPOLATE (s AS 'new')", " INTERPOLATE (s AS toString(v))"])
        order[-1] = "v"
    limit = f" LIMIT {choice.randrange(1, 9)}" if choice.random() < 0.2 else ""
    prefix = " SETTINGS use_with_fill_by_sorting_prefix = 0" if choice.random() < 0.3 else ""
    # Rows that are equal in all keys come in any order: they are to be equal.
    order += ["g", "v"]
    return f"SELECT DISTINCT g, k, v, s FROM ({source}) ORDER BY {', '.join(order)}{interpolate}{limit}{prefix}"


class Fills(Comparison):
    database = "rf"
    queries_of_each = 100

    def make(self):
        pass

    def query(self):
        return statement(self.random)


if __name__ == "__main__":
    main(Fills, 500)
