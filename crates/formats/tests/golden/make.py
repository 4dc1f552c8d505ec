"""Makes the files of this folder: tables in every format, as ClickHouse itself writes them (PyPI `chdb`)."""

import json
import pathlib
import re

import chdb

FOLDER = pathlib.Path(__file__).parent
FORMATS = """CSV CSVWithNames CSVWithNamesAndTypes JSON JSONCompact JSONCompactEachRow JSONCompactEachRowWithNames
JSONCompactEachRowWithNamesAndTypes JSONCompactStrings JSONCompactStringsEachRow JSONEachRow JSONStrings JSONStringsEachRow
LineAsString Markdown Native Pretty PrettyCompact PrettySpace RowBinary RowBinaryWithNames RowBinaryWithNamesAndTypes TSKV TSV TSVRaw
TSVWithNames TSVWithNamesAndTypes Values Vertical XML""".split()
TABLES = {
    "numbers": """SELECT toUInt8(number) u8, toInt8(-number) i8, toUInt16(number * 999) u16, toInt16(-number * 999) i16,
        toUInt32(number * 99999999) u32, toInt32(-number * 99999999) i32, number * 4611686018427387903 u64,
        toInt64(-number * 2305843009213693951) i64, toFloat32(number / 3) f32, exp(number * 100) - 1 f64,
        if(number = 1, NULL, number) n, number = 2 AND 1 b, toIntervalDay(number) i FROM numbers(4)""",
    "strings": r"""SELECT 'a\tb\nc\\d\'e"f/g\0h\bi\fj\rk\x01\x7f<&>,;=' s, 'привет' `ключ`, 'ab\0'::FixedString(4) f,
        toLowCardinality(['x', '', 'y', 'x'][number + 1]) l, if(number = 2, NULL, toLowCardinality(toString(number % 2))) ln,
        CAST(number % 2 + 1, 'Enum8(\'x\' = 1, \'y\\\'z\' = 2)') e, if(number = 0, NULL, 'q') q, CAST(NULL, 'Nullable(Nothing)') z
        FROM numbers(4)""",
    "invalid": r"SELECT 'x\xff\x80y\xe2\x82' s, 1 n",
    "times": """SELECT toDate('2020-02-29') + number * 9000 d, toDate32('1901-01-02') + number * 40000 d32,
        toDateTime('2020-03-29 00:30:00', 'Europe/Berlin') + number * 3600 dt, toDateTime(number * 1234567890, 'UTC') du,
        toDateTime64('1969-12-31 23:59:59.999', 3, 'Asia/Tokyo') + number d3, toDateTime64('2262-04-11 23:47:16', 9, 'UTC') d9,
        toDateTime64('1950-01-01 00:00:00', 0, 'UTC') d0 FROM numbers(3)""",
    "addresses": """SELECT toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') u, toIPv4('1.2.3.4') i4, toIPv6('::ffff:1.2.3.4') a,
        toIPv6('2001:db8::1') b, toIPv6('::') c, true t""",
    "nested": r"""SELECT range(number) a, arrayMap(x -> 'i\'"' || toString(x), range(number)) s, [[['x']], []] aaa,
        if(number = 1, [NULL, 'x'], [])::Array(Nullable(String)) an, (1, 'x', [1.5, nan]) t, (1, 'x')::Tuple(a UInt8, b String) nt,
        map('k', 1, 'l"', number) m, map(1, ['x']) ma, [(1, 'x')::Tuple(a UInt8, b String)] ant,
        map('a', (1, 'x')::Tuple(a UInt8, b String)) mt, map(toDate('2020-01-01'), [true]) md, [toLowCardinality('z')] al,
        ((1, 2), [('a', NULL::Nullable(UInt8))]) tt FROM numbers(3)""",
    "many": "SELECT number n, number * 700000 `n * 700000 of a long name that is cut`, 'a\\nb' l FROM numbers(60)",
    "wide": "SELECT 1 a, 2 b, 3 c, 4 d, repeat('x', 260) e, '日本' f",
}

for name, query in TABLES.items():
    meta = json.loads(chdb.query(f"SELECT * FROM ({query}) LIMIT 0", "JSONCompact").bytes())["meta"]
    columns = ", ".join(f"`{column['name']}` {column['type']}" for column in meta)
    (FOLDER / f"{name}.columns").write_text(f"Tuple({columns})")
    for format_name in FORMATS:
        written = chdb.query(query, format_name).bytes()
        # Elapsed time and what was read differ from run to run.
        written = re.sub(rb'"elapsed": [^,]*,\n(\s*)"rows_read": \d+,\n(\s*)"bytes_read": \d+',
                         rb'"elapsed": 0,\n\1"rows_read": 0,\n\2"bytes_read": 0', written)
        written = re.sub(rb"<elapsed>.*?</elapsed>(\s*)<rows_read>\d+</rows_read>(\s*)<bytes_read>\d+</bytes_read>",
                         rb"<elapsed>0</elapsed>\1<rows_read>0</rows_read>\2<bytes_read>0</bytes_read>", written)
        (FOLDER / f"{name}.{format_name}").write_bytes(written)
