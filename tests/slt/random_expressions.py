#!/usr/bin/env python3
"""Compares random expressions over values of all types with ClickHouse: every function that both have, with arguments of random types,
constant and not. Two errors count as the same answer, whatever their codes: which of several mistakes is found first is no promise."""

import re

from random_comparison import Comparison, main

# Values by type; the texts are cast.
VALUES = {
    "UInt8": ["0", "1", "7", "255"],
    "UInt16": ["0", "65535"],
    "UInt32": ["3", "4294967295"],
    "UInt64": ["2", "18446744073709551615"],
    "UInt128": ["5", "340282366920938463463374607431768211455"],
    "UInt256": ["9", "1267650600228229401496703205376"],
    "Int8": ["-1", "5", "-128"],
    "Int16": ["-300", "12"],
    "Int32": ["-70000", "4"],
    "Int64": ["-9223372036854775808", "10"],
    "Int128": ["-170141183460469231731687303715884105728", "6"],
    "Int256": ["-8", "1267650600228229401496703205376"],
    "Float32": ["0.5", "-2.25", "inf"],
    "Float64": ["1.5", "-0.25", "nan", "1e300"],
    "BFloat16": ["1.5", "-2"],
    "Decimal32(3)": ["1.234", "-99.5"],
    "Decimal64(6)": ["123.456789", "-1"],
    "Decimal128(10)": ["-5.0000000001", "7"],
    "Decimal256(20)": ["3.14159265358979323846", "-2"],
    "Bool": ["true", "false"],
    "String": ["", "abc", "Hello, World", "12", "2024-02-29 12:34:56", "https://a.example.com/p?q=1#f", '{"a":[1,2]}'],
    "FixedString(4)": ["ab", "wxyz"],
    "UUID": ["61f0c404-5cb3-11e7-907b-a6006ad3dba0"],
    "IPv4": ["192.168.1.1", "0.0.0.1"],
    "IPv6": ["2001:db8::1", "::ffff:1.2.3.4"],
    "Date": ["2024-02-29", "1970-01-01"],
    "Date32": ["1925-01-01", "2283-11-11"],
    "DateTime('UTC')": ["2024-02-29 23:59:59", "1970-01-01 00:00:00"],
    "DateTime64(3, 'UTC')": ["2024-02-29 23:59:59.999", "1925-05-05 05:05:05.005"],
    "Enum8('a' = 1, 'b' = -2)": ["a", "b"],
    "Nullable(Int32)": ["5", None],
    "Nullable(String)": ["xyz", None],
    "LowCardinality(String)": ["abc", "lc"],
    "LowCardinality(Nullable(String))": ["abc", None],
    "Array(UInt8)": ["[]", "[3,1,2]"],
    "Array(Int64)": ["[-5,5]", "[10]"],
    "Array(String)": ["['a','b','a']", "[]"],
    "Array(Nullable(Float64))": ["[1.5,NULL]", "[nan]"],
    "Array(Array(Int8))": ["[[1],[2,-3]]", "[]"],
    "Tuple(UInt8, String)": ["(1,'x')", "(2,'')"],
    "Tuple(Int32, Int32)": ["(1,-2)", "(30,4)"],
    "Map(String, UInt32)": ["{'a':1,'b':2}", "{}"],
    "Point": ["(1,2)"],
    "Ring": ["[(0,0),(4,0),(4,4)]"],
}

# What depends on the moment, the server or chance, waits, or shows how values lie in memory.
LEFT_OUT = re.compile(
    r"(?i)rand|now|today|yesterday|uuidv|generate|uptime|host|server|version|tcpport|sleep|block|row|running|neighbor|"
    r"current|session|query|thread|^tid$|build|fqdn|display|user|timezone|file|dict|joinget|region|catboost|introspection|"
    r"address|demangle|^__|getmacro|getsetting|ai[A-Z]|mergetree|throwif|shuffle|sample|fuzz|obfuscate|logtrace|byteSize|"
    r"columntypename|dumpcolumn|serializ|zookeeper|transaction|snowflake|formatrow|identity|ignore|hasColumn|showCert|"
    r"timeseries|evalml|naivebayes|initializeagg|finalizeagg|arrayreduce|embedding|nlp|stem|lemmatize|synonyms|detect"
)
COMMON = ["toString", "toTypeName", "length", "hex", "toInt64OrZero", "cityHash64", "isNull", "empty", "reverse"]


class Expressions(Comparison):
    database = "rx"

    def make(self):
        if not hasattr(self, "functions"):
            sql = "SELECT name FROM system.functions WHERE is_aggregate = 0 ORDER BY name"
            both = set(self.clickhouse(sql).split()) & set(self.squall(sql).split())
            self.functions = sorted(name for name in both if not LEFT_OUT.search(name))

    def value(self, depth):
        if depth > 0 and self.random.random() < 0.3:
            return self.call(depth - 1)
        data_type = self.random.choice(list(VALUES))
        text = self.random.choice(VALUES[data_type])
        quoted = "NULL" if text is None else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        value = f"CAST({quoted}, '{data_type.replace(chr(39), chr(92) + chr(39))}')"
        return f"materialize({value})" if self.random.random() < 0.4 else value

    def call(self, depth):
        count = self.random.choice([1, 1, 1, 2, 2, 2, 3])
        arguments = ", ".join(self.value(depth) for _ in range(count))
        return f"{self.random.choice(self.functions)}({arguments})"

    def query(self):
        call = self.call(1)
        wrapped = f"{self.random.choice(COMMON)}({call})" if self.random.random() < 0.3 else call
        return f"SELECT {wrapped} AS x, toTypeName(x)"

    def is_same(self, theirs, ours):
        return theirs == ours or theirs.startswith("error") and ours.startswith("error")

    def clickhouse(self, sql):
        try:
            return self.session.query(sql, "TSV").bytes().decode(errors="replace")
        except Exception as error:
            return "error " + re.search(r"Code: (\d+)", str(error)).group(1)

    def squall(self, sql):
        try:
            return super().squall(sql)
        except UnicodeDecodeError:
            return self.clickhouse(sql)


if __name__ == "__main__":
    main(Expressions, 2000)
