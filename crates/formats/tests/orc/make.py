"""Makes the files of this folder: ORC as ClickHouse (PyPI `chdb`) and Arrow's C++ library (`pyarrow`) write it, and how ClickHouse reads
it. Of each file there are the columns that are asked for, the rows under them, and the columns that are inferred."""

import json
import pathlib

import chdb
import pyarrow as arrow
from pyarrow import orc

FOLDER = pathlib.Path(__file__).parent
MANY, STEP = 1000, 37

TYPES = r"""number % 2 = 1 AS b, toInt8(number * 77) AS i8, toUInt8(number * 77) AS u8, toInt16(number * 7777) AS i16,
    toUInt16(number * 7777) AS u16, toInt32(number * 777777777) AS i32, toUInt32(number * 777777777) AS u32,
    toInt64(number * 7777777777777777777) AS i64, number * 7777777777777777777 AS u64, toInt128(number) * -1234567890123456789 AS i128,
    toUInt128(number) AS u128, toInt256(number) * -1 AS i256, toUInt256(number) AS u256, toFloat32(number / 3) AS f32,
    number = 3 ? nan : number / 7 AS f64, toDecimal32(number * 1.25, 2) AS d32, toDecimal64(number * -1.25, 5) AS d64,
    toDecimal128(number * 123456789.125, 12) AS d128, toDecimal256(number * -1.5, 20) AS d256, repeat('a\xff', number) AS s,
    toFixedString(substring('abcdef', 1, number % 4), 4) AS f, toDate('1970-01-01') + number * 3000 AS d,
    toDate32('1900-01-01') + number * 14000 AS d32_, toDateTime(number * 429496729, 'UTC') AS t,
    toDateTime64('1960-01-01 00:00:00.123', 3, 'UTC') + number * 400000000 AS t3,
    fromUnixTimestamp64Nano(toInt64(number * 1000000007) - 3000000000, 'UTC') AS t9, toIPv4(number * 40000000) AS ip4,
    toIPv6(toString(toIPv4(number))) AS ip6, CAST(number % 2 + 1, 'Enum8(\'x\' = 1, \'y\' = 2)') AS e8,
    CAST(number % 2 * 999 - 500, 'Enum16(\'x\' = -500, \'y\' = 499)') AS e16, toLowCardinality(toString(number % 3)) AS l,
    CAST((number, number / 2), 'Point') AS p"""
NULLABLE = """if(number % 3 = 0, NULL, toInt8(number)) AS i8, if(number % 4 = 0, NULL, toString(number)) AS s,
    if(number % 2 = 0, NULL, toDateTime64(number, 9, 'UTC')) AS t, if(number % 5 = 0, NULL, toDecimal128(number, 3)) AS d,
    if(number % 3 = 1, NULL, number % 2 = 0) AS b, if(number % 3 = 1, NULL, toFloat64(number)) AS f, toNullable(number) AS n,
    CAST(NULL, 'Nullable(Int32)') AS none, if(number % 3 = 2, NULL, toLowCardinality(toString(number))) AS l,
    if(number % 3 = 2, NULL, toInt128(number)) AS i128, if(number % 3 = 2, NULL, toIPv6('::1')) AS ip6"""
NESTED = """range(number % 5) AS a, arrayMap(x -> if(x % 2 = 0, NULL, toString(x)), range(number % 4)) AS an,
    arrayMap(x -> range(x), range(number % 4)) AS aa, map('k', number, 'l', 2) AS m,
    (number, toString(number))::Tuple(x UInt64, y String) AS t, (number, [(1, 'x')]) AS tt,
    map(number, [(number, if(number % 2 = 0, NULL, number))::Tuple(a UInt64, b Nullable(UInt64))]) AS mt,
    if(number % 3 = 0, NULL, (number, 'x')::Tuple(x UInt64, y Nullable(String))) AS nt, [map('a', [toLowCardinality('b')])] AS ma,
    arrayMap(x -> (x, toDate('2024-01-01') + x), range(number % 3))::Array(Tuple(a UInt8, b Date)) AS at"""
NUMBERS = """number AS up, 9000 - number AS down, intDiv(number, 1000) AS runs, toInt64(cityHash64(number)) AS hash, number * number AS sq,
    toInt32(cityHash64(number) % 1000) AS small, if(number % 100 = 0, 100000000000, number % 100) AS outliers, number % 7 = 0 AS bit,
    toInt64(number % 17) - 8 AS sign, if(number % 10 = 0, NULL, number) AS gaps, toString(number) AS s"""
VARIANT = """arrayJoin([5::Variant(Int8, String, Array(Int32)), 'x'::Variant(Int8, String, Array(Int32)), NULL, [1, 2]::Array(Int32), 7::Int8])
    AS v, [v] AS a"""

CASES = {
    "types": f"SELECT {TYPES} FROM numbers(10)",
    "nullable": f"SELECT {NULLABLE} FROM numbers(30) SETTINGS allow_suspicious_low_cardinality_types = 1",
    "nested": f"SELECT {NESTED} FROM numbers(30) SETTINGS allow_experimental_nullable_tuple_type = 1",
    "numbers": f"SELECT {NUMBERS} FROM numbers(9000)",
    "variant": f"SELECT {VARIANT}",
    "empty": "SELECT 1 AS a, 'x' AS b WHERE 0",
    "zone": "SELECT toDateTime('2020-07-02 03:04:05', 'UTC') AS t SETTINGS output_format_orc_writer_time_zone_name = 'Europe/Berlin'",
    "bytes": "SELECT 'x' AS s SETTINGS output_format_orc_string_as_string = 0",
    "dictionary": """SELECT toString(number % 10) AS s, if(number % 3 = 0, NULL, toString(number % 7)) AS n, [s] AS a FROM numbers(1000)
        SETTINGS output_format_orc_dictionary_key_size_threshold = 1""",
}
for method in ["none", "zlib", "snappy", "lz4"]:
    setting = f"output_format_orc_compression_method = '{method}', output_format_orc_compression_block_size = 65536"
    CASES[f"compressed_{method}"] = f"SELECT number AS n, repeat(toString(number), 4) AS s FROM numbers(6000) SETTINGS {setting}"


def columns(query):
    rows = chdb.query(f"DESCRIBE {query}", "JSONCompact").data()
    named = [f"`{row[0]}` {row[1]}" for row in json.loads(rows)["data"]]
    return f"Tuple({', '.join(named)})"


def describe(name, wanted):
    path = FOLDER / f"{name}.orc"
    inferred = columns(f"file('{path}')")
    wanted = wanted or inferred
    (FOLDER / f"{name}.columns").write_text(wanted)
    (FOLDER / f"{name}.inferred").write_text(inferred)
    structure = wanted.removeprefix("Tuple(").removesuffix(")").replace("\\", "\\\\").replace("'", "\\'")
    rows = chdb.query(f"SELECT * FROM file('{path}', 'ORC', '{structure}')", "TSV").bytes()
    lines = rows.splitlines(keepends=True)
    # Of many rows some say enough.
    (FOLDER / f"{name}.tsv").write_bytes(b"".join(lines if len(lines) <= MANY else lines[::STEP]))


for name, query in CASES.items():
    (FOLDER / f"{name}.orc").write_bytes(chdb.query(query, "ORC").bytes())
    describe(name, columns(f"({query})"))

table = arrow.table({
    "l": arrow.array([[1], None, [], [2, None]], arrow.list_(arrow.int32())),
    "s": arrow.array([{"x": 1, "y": [1]}, None, {"x": None, "y": None}, {"x": 2, "y": []}],
                     arrow.struct([("x", arrow.int32()), ("y", arrow.list_(arrow.int8()))])),
    "m": arrow.array([[("a", 1)], None, [], [("b", None)]], arrow.map_(arrow.string(), arrow.int32())),
    "b": arrow.array([b"\xff", None, b"", b"x"]),
    "i": arrow.array([1, None, -1, 1577934245123456789], arrow.timestamp("ns", "UTC")),
    "d": arrow.array([1, None, -2, 3], arrow.decimal128(20, 3)),
    "n": arrow.array([1, 1, 1, 70000], arrow.int64()),
})  # fmt: skip
orc.write_table(table, FOLDER / "arrow.orc", dictionary_key_size_threshold=1, compression="zlib")
describe("arrow", "")
# Runs of the first version.
many = arrow.table({
    "n": arrow.array(range(5000), arrow.int64()),
    "r": arrow.array([number * number % 1013 for number in range(5000)], arrow.int32()),
    "e": arrow.array([number // 700 for number in range(5000)], arrow.int16()),
    "s": arrow.array([str(number % 13) for number in range(5000)]),
    "t": arrow.array([number * 86399999 for number in range(5000)], arrow.timestamp("ms")),
})  # fmt: skip
orc.write_table(many, FOLDER / "old.orc", file_version="0.11", dictionary_key_size_threshold=1)
describe("old", "")
orc.write_table(many.slice(0, 3000), FOLDER / "stripes.orc", stripe_size=1024, batch_size=500)
describe("stripes", "")
assert orc.ORCFile(FOLDER / "stripes.orc").nstripes > 2
