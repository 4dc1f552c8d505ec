#!/usr/bin/env python3
"""Random aggregations over joins of a large table with small ones, with the planner's rules for them and without: both give the same. Needs no
ClickHouse.

    python3 tests/slt/random_plans.py http://127.0.0.1:8123/ [seed] [queries]
"""

import random
import sys
import urllib.request

RULES = ("query_plan_eager_aggregation", "query_plan_convert_outer_join_to_inner_join", "query_plan_convert_any_join_to_semi_or_anti_join")
TABLES = [
    "CREATE OR REPLACE TABLE sales (customer Nullable(UInt32), item UInt32, day Date, place LowCardinality(String), amount Int32, price Decimal(9, 2),"
    " discount Nullable(Int16)) ENGINE = MergeTree ORDER BY {key}",
    "INSERT INTO sales WITH intHash64(number + {seed}) AS r SELECT if(r % 41 = 0, NULL, r % {customers}), intDiv(r, 1000) % {items}, toDate('2026-01-01') + r % 90,"
    " 'p' || r % 7, r % 1000 - 300, (r % 10000) / 100, if(r % 5 = 0, NULL, r % 50) FROM numbers({rows})",
    # Some customers are there twice, some not at all.
    "CREATE OR REPLACE TABLE customers (customer UInt32, name String, city LowCardinality(Nullable(String)), age Nullable(UInt8), referrer Nullable(UInt32))"
    " ENGINE = MergeTree ORDER BY customer",
    "INSERT INTO customers SELECT number % {different}, 'customer ' || number, if(number % 13 = 0, NULL, 'c' || number % 30), if(number % 9 = 0, NULL, number % 80),"
    " if(number % 4 = 0, NULL, intHash32(number) % {customers}) FROM numbers({customers})",
    "CREATE OR REPLACE TABLE items (item UInt32, kind String, weight Decimal(5, 1)) ENGINE = MergeTree ORDER BY item",
    "INSERT INTO items SELECT number * 2, 'kind ' || number % 50, number % 100 FROM numbers({items})",
]  # fmt: skip
FROM = [
    "sales AS s {} JOIN customers AS c ON s.customer = c.customer",
    "customers AS c {} JOIN sales AS s ON c.customer = s.customer",
    "sales AS s {} JOIN customers AS c ON s.customer = c.customer AND s.discount = c.age",
    "sales AS s {} JOIN customers AS c ON s.customer = c.customer {} JOIN items AS i ON s.item = i.item",
    "sales AS s {} JOIN items AS i ON s.item = i.item {} JOIN customers AS c ON c.customer = s.customer",
    "sales AS s {} JOIN customers AS c ON s.customer = c.customer {} JOIN customers AS r ON c.referrer = r.customer",
    "customers AS r {} JOIN (SELECT * FROM sales WHERE day = '2026-02-03' OR amount > -100) AS s ON r.customer = s.customer {} JOIN items AS i ON i.item = s.item",
]
KEYS = {
    "s": ["s.customer", "s.day", "s.place", "toMonth(s.day)", "s.item % 10", "s.discount"],
    "c": ["c.name", "c.city", "c.age", "c.customer", "concat(c.name, toString(c.age))"],
    "r": ["r.city", "r.name"],
    "i": ["i.kind", "i.weight"],
}
CALLS = {
    "s": ["sum(s.amount)", "count(s.discount)", "min(s.price)", "max(s.day)", "sum(s.price)", "sum(s.discount)", "countIf(s.amount > 0)", "sumIf(s.amount, s.place = 'p3')",
          "avg(s.amount)", "groupBitOr(s.item)", "uniqExact(s.item)", "max(s.place)"],
    "c": ["sum(c.age)", "max(c.name)", "count(c.city)"],
    "r": ["count(r.city)", "max(r.age)"],
    "i": ["sum(i.weight)", "min(i.kind)"],
}  # fmt: skip
FILTERS = {
    "s": ["s.day = '2026-01-17'", "s.day IN ('2026-01-17', '2026-02-03')", "s.amount > 500", "s.discount IS NULL", "s.place != 'p2'"],
    "c": ["c.age > 40", "c.city = 'c7'", "c.name LIKE '%5%'", "c.city IS NULL"],
    "r": ["r.age < 60"],
    "i": ["i.kind = 'kind 3'", "i.weight > 20"],
}
JOINS = ["INNER", "INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL"]


def query(pick):
    source = pick.choice(FROM)
    while "{}" in source:
        source = source.replace("{}", pick.choice(JOINS), 1)
    tables = [name for name in "scri" if f" AS {name} " in f"{source} "]
    some = lambda of, most: list(dict.fromkeys(pick.choice(of[pick.choice(tables)]) for _ in range(pick.randint(0, most))))  # noqa: E731
    keys, where = some(KEYS, 3), some(FILTERS, 2)
    calls = some(CALLS if pick.random() < 0.3 else {name: CALLS["s"] for name in tables}, 4) + pick.choice([["count()"], []])
    if not keys and not calls:
        calls = ["count()"]
    sql = f"SELECT {', '.join(keys + calls)} FROM {source}"
    sql += f" WHERE {' AND '.join(where)}" if where else ""
    sql += f" GROUP BY {', '.join(keys)}" if keys else ""
    sql += f" HAVING {pick.choice(calls)} > {pick.choice([0, 10])}" if calls and pick.random() < 0.1 and "place)" not in sql and "name)" not in sql and "kind)" not in sql and "day)" not in sql else ""
    # Sums of results tell all rows of them.
    return f"SELECT count(), sum(cityHash64(*)) FROM ({sql})"


def main():
    url, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    queries = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    pick = random.Random(seed)

    def run(sql):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, sql.encode())).read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()[:10]

    failed = 0
    for asked in range(queries):
        if asked % 50 == 0:
            customers = pick.choice([300, 3000, 20_000])
            sizes = {"seed": seed + asked, "rows": pick.choice([50_000, 150_000, 400_000]), "customers": customers, "different": customers * pick.choice([2, 3]) // 3,
                     "items": pick.choice([50, 5000]), "key": pick.choice(["day", "tuple()", "item"])}  # fmt: skip
            for statement in TABLES:
                assert run(statement.format(**sizes)) == "", statement.format(**sizes)
        sql, shared = query(pick), f"join_use_nulls = {pick.choice([0, 1])}, max_threads = {pick.choice([1, 2, 8])}"
        answers = [run(f"{sql} SETTINGS {shared}" + "".join(f", {rule} = {is_on}" for rule in RULES)) for is_on in (1, 0)]
        if answers[0] != answers[1]:
            failed += 1
            print(f"{sql} SETTINGS {shared}\n  with the rules: {answers[0]}  without: {answers[1]}")
    for table in ("sales", "customers", "items"):
        run(f"DROP TABLE {table}")
    print(f"{queries} queries, {failed} differ")
    sys.exit(failed > 0)


main()
