#!/usr/bin/env python3
"""Random queries on tables with random projections, read with them and without: both give the same, whatever parts lack a projection and
whatever was merged, deleted or updated meanwhile. Needs no ClickHouse.

    python3 tests/slt/random_projections.py http://127.0.0.1:8123/ [seed] [tables]
"""

import sys
import urllib.error
import urllib.request

from random_indexes import COLUMNS, KEYS, PARTITIONS, ROWS, Conditions

GROUPS = [
    "u", "s", "l", "n", "e", "d", "b", "p", "c", "i", "f", "toStartOfHour(t)", "toYYYYMM(d)", "u % 7", "lower(s)", "intDiv(i, 10)", "toDate(m)",
    "toDayOfWeek(d)", "length(a)", "k['k1']",
]
AGGREGATES = [
    "count()", "sum(u)", "sum(c)", "avg(i)", "min(t)", "max(m)", "uniqExact(s)", "uniq(u)", "count(n)", "sum(n)", "min(l)", "max(f)",
    "sumIf(u, i > 3)", "countIf(b)", "quantileExact(0.75)(i)", "groupBitXor(u)", "anyLast(1)", "max(d)", "argMin(1, u)", "groupUniqArray(3)(e) = []",
    "sum(u + i)", "stddevPop(i)", "sumMap(map(e, u))", "minIf(i, s != '')",
]
NAMES = ["u", "i", "f", "s", "l", "n", "d", "t", "m", "x", "p", "c", "e", "a", "k", "b"]
ORDERS = ["u", "s", "i, s", "l", "n, u", "d", "t", "m", "x", "p", "c", "e, u", "toStartOfHour(t)", "u % 11", "lower(s)", "-i", "b, d", "cityHash64(u) % 7"]

DELETED = ["u = 7", "i = 3 AND u > 20", "s = 'ab cd' AND n = 1", "d = '2020-02-01'", "u < 20"]


def main():
    url, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tables = int(sys.argv[3]) if len(sys.argv) > 3 else 30

    def run(sql):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, sql.encode())).read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode().split(" (version")[0]

    conditions, failed, asked, refused, used = Conditions(seed), 0, 0, 0, 0
    random = conditions.random
    pick = random.choice
    run("CREATE DATABASE IF NOT EXISTS rp")

    known = []

    def projection(name):
        if random.random() < 0.5:
            columns, order = random.sample(NAMES, random.randrange(2, 12)), pick(ORDERS)
            columns = NAMES if random.random() < 0.3 else columns
            known.append((columns, None, order))
            return f"{name} (SELECT {', '.join(columns)} ORDER BY {order})"
        keys = random.sample(GROUPS, random.randrange(5))
        aggregates = random.sample(AGGREGATES, random.randrange(1, 8))
        known.append((keys, aggregates, None))
        return f"{name} (SELECT {', '.join(keys + aggregates)}{' GROUP BY ' if keys else ''}{', '.join(keys)})"

    def query():
        """Of what a projection may have, as often as not."""
        where = f" WHERE {conditions.condition()}" if random.random() < 0.6 else ""
        keys, aggregates, order = pick(known) if known and random.random() < 0.7 else (GROUPS, AGGREGATES, None)
        some = lambda items, most: random.sample(items, min(len(items), random.randrange(most)))
        if aggregates is None:
            columns = some(keys, 4) or keys[:1]
            key = order.split(",")[0]
            if random.random() < 0.8:
                where = f" WHERE {key} {pick(['=', '<', '>='])} (SELECT argMin({key}, cityHash64(m, u, i, s)) FROM rp.t){pick(['', '', ' AND u > 3', ' OR b'])}"
            return f"SELECT count(), sum(cityHash64({', '.join(columns)})) FROM rp.t{where}"
        chosen = some(keys, 4)
        if keys is not GROUPS:
            where = f" WHERE {pick(keys)} != {pick(keys)}" if keys and random.random() < 0.2 else where if random.random() < 0.2 else ""
            if chosen and random.random() < 0.3:
                where = f" WHERE isNotNull({chosen[0]})"
        selected = ", ".join(chosen + (some(aggregates, 4) or aggregates[:1]))
        return f"SELECT {selected} FROM rp.t{where}{' GROUP BY ' if chosen else ''}{', '.join(chosen)}{' ORDER BY ALL' if chosen else ''}"

    def must(sql):
        answer = run(sql)
        if "Code:" in answer:
            sys.exit(f"{sql}\n{answer}")

    for _ in range(tables):
        run("DROP TABLE IF EXISTS rp.t SYNC")
        known.clear()
        declared = [projection(f"p{at}") for at in range(random.randrange(4))]
        create = f"CREATE TABLE rp.t ({COLUMNS}{''.join(', PROJECTION ' + one for one in declared)}) ENGINE = MergeTree PARTITION BY {pick(PARTITIONS)} ORDER BY {pick(KEYS)} SETTINGS index_granularity = {pick([8, 32, 100])}, lightweight_mutation_projection_mode = 'rebuild'"
        must(create)
        history = [create]

        def step(sql):
            must(sql)
            history.append(sql)

        for at in range(6):
            step(f"INSERT INTO rp.t ({', '.join(NAMES)}) {ROWS} FROM numbers({at * 700}, {pick([1, 300, 700])})")
            kind = random.randrange(11)
            if kind == 0:
                step("OPTIMIZE TABLE rp.t FINAL")
            elif kind == 1:
                name = f"q{at}"
                step(f"ALTER TABLE rp.t ADD PROJECTION {projection(name)}")
                if random.random() < 0.5:
                    step(f"ALTER TABLE rp.t MATERIALIZE PROJECTION {name}")
            elif kind == 2:
                step(f"ALTER TABLE rp.t DELETE WHERE {pick(['u < 5', 'i = 3', 'b', 'n IS NULL'])} SETTINGS mutations_sync = 2")
            elif kind in (9, 10):
                step("DELETE FROM rp.t WHERE " + pick(DELETED))
            elif kind == 3:
                step(f"ALTER TABLE rp.t UPDATE a = ['zz'], k = map('k1', 'y') WHERE {pick(['u > 30', 'NOT b'])} SETTINGS mutations_sync = 2")
            elif kind == 4 and declared:
                step("ALTER TABLE rp.t CLEAR PROJECTION p0")
            elif kind == 5:
                step(f"ALTER TABLE rp.t ADD COLUMN z{at} UInt8 DEFAULT u % 3")
            for _ in range(8):
                sql = query()
                plain, read = (run(f"{sql} SETTINGS optimize_use_projections = {use}") for use in (0, 1))
                asked += 1
                used += "584" not in run(f"EXPLAIN {sql} SETTINGS force_optimize_projection = 1")
                if "Code:" in plain and "Code:" in read:
                    refused += 1
                elif plain != read:
                    failed += 1
                    print("\n".join(history) + f"\n{sql}\n  without {plain.strip()[:500]}\n  with    {read.strip()[:500]}", flush=True)
    print(f"{asked} queries, {used} read projections, {refused} refused, {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
