#!/usr/bin/env python3
"""Random dictionaries over random tables, here and in ClickHouse 26.9 (PyPI chdb): the same answers, or the same code of an error.

    python3 tests/slt/random_dictionaries.py http://127.0.0.1:8123/ [seed] [queries]
"""

from random_comparison import Comparison, main

SIMPLE = ["FLAT()", "HASHED()", "SPARSE_HASHED()", "HASHED_ARRAY()", "CACHE(SIZE_IN_CELLS 7)", "DIRECT()"]
COMPLEX = ["COMPLEX_KEY_HASHED()", "COMPLEX_KEY_SPARSE_HASHED()", "COMPLEX_KEY_HASHED_ARRAY()", "COMPLEX_KEY_CACHE(SIZE_IN_CELLS 5)", "COMPLEX_KEY_DIRECT()"]  # fmt: skip
KEYS = {"UInt32": "{0}", "Int64": "{0}", "String": "'k{0}'", "Date": "toDate('2020-01-{1:02}')", "UInt8": "{0}", "UUID": "toUUID('00000000-0000-0000-0000-0000000000{0:02}')"}  # fmt: skip
RANGES = {"Date": "toDate('2020-01-{1:02}')", "UInt32": "{0}", "Int16": "{0} - 12", "DateTime": "toDateTime(86400 * {0}, 'UTC')", "Float64": "{0} / 4"}  # fmt: skip
ATTRIBUTES = {"String": "'v{0}'", "UInt64": "{0}", "Float64": "{0} / 2", "Nullable(Int32)": "{0} - 5", "Date": "toDate('2021-02-{1:02}')", "Array(UInt8)": "[{1}]"}  # fmt: skip
NETWORKS = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3", "0.0.0.0/0", "192.168.0.0/16", "2001:db8::/32", "2001:db8:1::/48", "::/0", "10.1.2.128/25"]  # fmt: skip
ADDRESSES = ["10.1.2.3", "10.1.2.200", "10.9.9.9", "192.168.3.4", "8.8.8.8", "2001:db8::7", "2001:db8:1::7", "fe80::1", "::1"]


def literal(form, number):
    return form.format(number, number % 27 + 1)


class Dictionaries(Comparison):
    queries_of_each = 12

    def description(self):
        return self.ddl

    def make(self):
        choose = self.random
        self.kind = kind = choose.choice(["simple", "complex", "range", "complex range", "network"])
        self.key_types = ["UInt64"] if kind in ("simple", "range") else [choose.choice(list(KEYS)) for _ in range(choose.randint(1, 3))]
        if kind == "network":
            self.key_types = ["String"]
        self.range_type = choose.choice(list(RANGES)) if "range" in kind else None
        # ClickHouse has no NULLs and arrays in an IP_TRIE.
        types = [data_type for data_type in ATTRIBUTES if kind != "network" or data_type[:5] not in ("Nulla", "Array")]
        self.attribute_types = [choose.choice(types) for _ in range(choose.randint(1, 3))]
        self.largest = choose.choice([3, 12, 40])
        keys = [(f"k{at}", data_type) for at, data_type in enumerate(self.key_types)]
        bounds = [("first", self.range_type), ("last", self.range_type)] if self.range_type else []
        attributes = [(f"a{at}", data_type) for at, data_type in enumerate(self.attribute_types)]
        source = keys + [(name, f"Nullable({data_type})") for name, data_type in bounds] + attributes
        rows = []
        if kind == "network":
            for network in choose.sample(NETWORKS, choose.randint(1, len(NETWORKS))):
                rows.append([f"'{network}'"] + [literal(ATTRIBUTES[t], choose.randint(0, 40)) for t in self.attribute_types])
        seen = set()
        for _ in range(0 if kind == "network" else choose.choice([0, 1, 10, 60])):
            key = [choose.randint(0, self.largest) for _ in keys]
            if kind not in ("range", "complex range") and tuple(number % 27 for number in key) in seen:
                continue
            seen.add(tuple(number % 27 for number in key))
            row = [literal(KEYS.get(data_type, "{0}"), number) for (_, data_type), number in zip(keys, key)]
            if bounds:
                first = choose.randint(1, 20)
                last = first + choose.choice([0, 1, 5, 10])
                # ClickHouse's open lower bound of floats is the smallest positive one.
                nulls = 0.1 if self.range_type != "Float64" else 0
                range_of = [None if choose.random() < nulls else bound for bound in (first, last)]
                if (tuple(key), *range_of) in seen:
                    continue
                seen.add((tuple(key), *range_of))
                row += ["NULL" if bound is None else literal(RANGES[self.range_type], bound) for bound in range_of]
            row += [literal(ATTRIBUTES[data_type], choose.randint(0, 40)) for data_type in self.attribute_types]
            rows.append(row)
        declared = ", ".join(f"{name} {data_type}" for name, data_type in source)
        statements = ["DROP DICTIONARY IF EXISTS rj.d", "DROP TABLE IF EXISTS rj.src", f"CREATE TABLE rj.src ({declared}) ENGINE = Memory"]
        if rows:
            statements.append("INSERT INTO rj.src VALUES " + ", ".join(f"({', '.join(row)})" for row in rows))
        defaults = [f"{name} {data_type}" for name, data_type in keys + bounds]
        for name, data_type in attributes:
            value = {"String": "'none'", "UInt64": "77", "Float64": "0.5"}.get(data_type) if choose.random() < 0.5 else None
            defaults.append(f"{name} {data_type}" + (f" DEFAULT {value}" if value else ""))
        strategy = choose.choice(["", "RANGE_LOOKUP_STRATEGY 'max'", "CONVERT_NULL_RANGE_BOUND_TO_OPEN 0"])
        layout = {
            "simple": choose.choice(SIMPLE),
            "complex": choose.choice(COMPLEX),
            "range": f"RANGE_HASHED({strategy})",
            "complex range": f"COMPLEX_KEY_RANGE_HASHED({strategy})",
            "network": "IP_TRIE()",
        }[kind]
        lifetime = "" if "DIRECT" in layout else "LIFETIME(MIN 0 MAX 1000)"
        self.is_partial = "CACHE" in layout
        range_clause = "RANGE(MIN first MAX last)" if bounds else ""
        self.ddl = (
            f"CREATE DICTIONARY rj.d ({', '.join(defaults)}) PRIMARY KEY {', '.join(name for name, _ in keys)} "
            f"SOURCE(CLICKHOUSE(DB 'rj' TABLE 'src')) LAYOUT({layout}) {range_clause} {lifetime}"
        )
        self.execute([*statements, self.ddl])

    def key(self):
        choose = self.random
        if self.kind == "network":
            address = choose.choice(ADDRESSES)
            key = f"toIPv6('{address}')" if ":" in address or choose.random() < 0.3 else f"toIPv4('{address}')"
            return f"tuple({key})" if choose.random() < 0.5 else key
        number = choose.randint(0, self.largest + 2)
        if self.kind in ("simple", "range"):
            return choose.choice([f"toUInt64({number})", f"toUInt8({number})", f"toInt32({number})", f"materialize(toUInt64({number}))"])
        key = ", ".join(literal(KEYS[data_type], choose.randint(0, self.largest + 1)) for data_type in self.key_types)
        return f"tuple({key})"

    def point(self):
        return ", " + literal(RANGES[self.range_type], self.random.randint(0, 32)) if self.range_type else ""

    def query(self):
        choose = self.random
        attribute = choose.randrange(len(self.attribute_types))
        name, data_type = f"a{attribute}", self.attribute_types[attribute]
        key, point = self.key(), self.point()
        default = literal(ATTRIBUTES[data_type], 99)
        calls = [
            f"dictGet('rj.d', '{name}', {key}{point})",
            f"dictGetOrDefault('rj.d', '{name}', {key}{point}, {default})",
            f"dictHas('rj.d', {key}{point})",
        ]
        if data_type != "Array(UInt8)":
            calls.append(f"dictGetOrNull('rj.d', '{name}', {key}{point})")
        if data_type in ("String", "UInt64", "Float64"):
            calls.append(f"dictGet{data_type}('rj.d', '{name}', {key}{point})")
        several = [f"'a{at}'" for at in range(len(self.attribute_types))]
        calls.append(f"dictGet('rj.d', ({', '.join(several)},), {key}{point})")
        selects = [f"SELECT {', '.join(choose.sample(calls, 3))}"]
        if self.kind in ("simple", "range"):
            selects.append(f"SELECT number, dictGet('rj.d', '{name}', number{point}) FROM numbers({self.largest + 3})")
            selects.append(f"SELECT sum(dictHas('rj.d', number % 17{point})) FROM numbers(100000)")
        # ClickHouse puts the columns of complex keys behind those of the range.
        if not self.is_partial and self.kind != "complex range":
            selects += ["SELECT * FROM rj.d", "SELECT count() FROM dictionary('rj.d')"]
        return choose.choice(selects)


if __name__ == "__main__":
    main(Dictionaries, 2400)
