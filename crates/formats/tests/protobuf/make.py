"""Asks ClickHouse 26.9, in process as chdb, what Protobuf is like: writes cases.jsonl beside this file.

A case writes a query's rows, reads bytes into columns, or tells the columns of a schema, each with
what ClickHouse answers: bytes, rows as TSV, or the code of an error.
"""

import json
import os
import pathlib
import re
import struct
import sys
import tempfile

import chdb

CASES = []
PROTO3 = 'syntax="proto3"; '
GOOGLE = (
    "package google.protobuf; message StringValue{string value=1;} message Int32Value{int32 value=1;} "
    "message DoubleValue{double value=1;} "
)


def ask(query, answer_format):
    try:
        return {"bytes": chdb.query(query, answer_format).bytes()}
    except UnicodeDecodeError:
        # An error whose text chdb cannot tell.
        return None
    except Exception as error:  # noqa: BLE001
        code = re.search(r"Code: (\d+)", str(error))
        # Errors of schemas come without their code.
        return {"code": int(code.group(1)) if "CANNOT_PARSE_PROTOBUF_SCHEMA" not in str(error) else 434}


def text(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def settings(schema, message, more):
    chosen = {"format_schema_source": "string", "format_schema": schema, "format_schema_message_name": message}
    if not schema:
        chosen = {}
    chosen |= more
    return chosen, "".join(
        (" SETTINGS " if at == 0 else ", ") + name + "=" + text(str(value)) for at, (name, value) in enumerate(chosen.items())
    )


def full(schema):
    return schema if not schema or schema.startswith("syntax") else PROTO3 + schema


def add(case, answer):
    if answer is None:
        return
    if "bytes" in answer:
        case["hex"] = answer["bytes"].hex()
    else:
        case["code"] = answer["code"]
    CASES.append(case)


def write(select, schema, fmt="Protobuf", message="M", **more):
    chosen, clause = settings(full(schema), message, more)
    rows = ask(f"SELECT {select}", "RowBinaryWithNamesAndTypes")
    if "code" in rows:
        raise RuntimeError(f"{select}: {rows}")
    answer = ask(f"SELECT {select}{clause}", fmt)
    add({"write": select, "format": fmt, "settings": chosen, "rows": rows["bytes"].hex()}, answer)


def read(data, schema, structure, fmt="Protobuf", message="M", **more):
    chosen, clause = settings(full(schema), message, more)
    query = f"SELECT * FROM format({fmt}, {text(structure)}, unhex('{data.hex()}')){clause}"
    add({"read": data.hex(), "format": fmt, "settings": chosen, "columns": structure}, ask(query, "TSV"))


def describe(schema, fmt="Protobuf", message="M", **more):
    chosen, clause = settings(full(schema), message, more)
    clause += (", " if clause else " SETTINGS ") + "print_pretty_type_names=0"
    answer = ask(f"DESCRIBE format({fmt}, unhex('00')){clause}", "TSVRaw")
    if "bytes" in answer:
        lines = answer["bytes"].decode().splitlines()
        answer["bytes"] = "".join("\t".join(line.split("\t")[:2]) + "\n" for line in lines).encode()
    add({"describe": True, "format": fmt, "settings": chosen}, answer)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(field, value):
    if field in ("fixed32", "sfixed32"):
        content = b"\x0d" + struct.pack("<I", value & 0xFFFFFFFF)
    elif field in ("fixed64", "sfixed64"):
        content = b"\x09" + struct.pack("<Q", value & (2**64 - 1))
    elif field == "float":
        content = b"\x0d" + struct.pack("<f", value)
    elif field == "double":
        content = b"\x09" + struct.pack("<d", value)
    else:
        content = b"\x08" + varint(value & (2**64 - 1))
    return bytes([len(content)]) + content


FIELDS = [
    "int32", "sint32", "uint32", "int64", "sint64", "uint64", "fixed32", "sfixed32", "fixed64", "sfixed64", "float", "double",
    "bool", "string", "bytes", "E",
]
SHORT = ["int32", "fixed64", "double", "bool", "string", "E"]
ENUM = "enum E{X=0;A=1;B=5;} "


def write_matrix(is_short):
    values = [
        "toInt8(-1)", "toInt16(-1)", "toInt32(-1)", "toInt64(-1)", "toInt128(-1)", "toInt256(-1)", "toInt64(5)", "toUInt8(1)",
        "toUInt64(18446744073709551615)", "toUInt64(4294967296)", "toUInt32(4294967295)",
        "toInt128('170141183460469231731687303715884105727')", "toUInt256(5)", "toFloat64(-1.5)", "toFloat64(3e9)",
        "toFloat64(5e9)", "toFloat64(1e19)", "toFloat64(1e300)", "toFloat32(1.5)", "toFloat32(inf)", "toFloat64(inf)", "true",
        "false", "toDecimal32('1.25', 2)", "toDecimal64('-3.50', 4)", "toDecimal128('1', 10)", "toDecimal256('123456789.5', 3)",
        "toDate('2020-01-02')", "toDate32('1930-01-02')", "toDateTime('2020-01-02 03:04:05', 'Europe/Berlin')",
        "toDateTime64('2020-01-02 03:04:05.678', 3, 'UTC')", "toDateTime64('1960-01-02 03:04:05.678', 6, 'UTC')",
        "toIPv4('255.2.3.4')", "toIPv6('::1')", "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", "'5'", "'abc'", "'true'", "''",
        "'-7.5'", "'A'", "toFixedString('12', 4)", "CAST('A', 'Enum8(\\'A\\' = 5, \\'b\\' = 6)')",
        "CAST('b', 'Enum16(\\'A\\' = 5, \\'b\\' = 1000)')", "toIntervalDay(3)", "NULL::Nullable(Int32)", "7::Nullable(Int32)",
        "toLowCardinality('A')", "toLowCardinality(NULL::Nullable(String))", "[1, 2]", "(1, 2)", "map('a', 1)",
    ]
    for value in values:
        for field in SHORT if is_short else FIELDS:
            write(f"{value} AS a", f"message M{{{ENUM}{field} a=1;}}")
        if is_short:
            write(f"[{value}, {value}] AS a", f"message M{{{ENUM}repeated int64 a=1;}}")
            continue
        for field in ("int32", "fixed64", "string", "double", "E"):
            write(f"{value} AS a", f"message M{{{ENUM}repeated {field} a=1;}}")
            write(f"[{value}, {value}] AS a", f"message M{{{ENUM}repeated {field} a=1;}}")
            write(f"{value} AS a", f"message M{{{ENUM}optional {field} a=1;}}")


def read_matrix(is_short):
    types = [
        "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Int128", "UInt128", "Int256", "UInt256",
        "Float32", "Float64", "Bool", "Date", "Date32", "DateTime('UTC')", "DateTime64(3, 'UTC')", "Decimal(9, 2)",
        "Decimal(18, 2)", "Decimal(38, 2)", "Decimal(76, 2)", "String", "FixedString(24)", "IPv4", "IPv6", "UUID", "IntervalDay",
        "Enum8('X' = 0, 'a' = 1, 'c' = 5)", "Enum16('X' = 0, 'Y' = 300)", "Nullable(Int64)", "LowCardinality(String)",
        "LowCardinality(Nullable(String))", "Array(Int64)",
    ]
    for field in SHORT if is_short else FIELDS:
        if field in ("string", "bytes"):
            data = [b"\x00"] + [
                bytes([len(value) + 2, 10, len(value)]) + value
                for value in (b"5", b"-1.5", b"1x", b"true", b"A", b"2020-01-02", b"2020-01-02 03:04:05", b"1.2.3.4", b"\x01" * 16,
                              b"61f0c404-5cb3-11e7-907b-a6006ad3dba0", b"\xff\x00", b"2020-01-02 03:04:05.25")
            ]
        elif field in ("float", "double"):
            data = [b"\x00"] + [message(field, value) for value in (-1.5, 3e9, 300.0, 1.0)]
        else:
            data = [b"\x00"] + [message(field, value) for value in (-1, 300, 5, 1, 2**32 + 5, 2**63)]
        for item in data[:5] if is_short else data:
            for structure in types:
                # What ClickHouse makes of these texts is another format's business.
                if field in ("string", "bytes") and (structure.startswith(("DateTime", "Float")) and len(item) > 1):
                    continue
                read(item, f"message M{{{ENUM}{field} a=1;}}", f"a {structure}")


def writes():
    simple = [
        ("1::BFloat16 a", "message M{float a=1;}"),
        ("toTime(5) a", "message M{int32 a=1;}"),
        ("(1,2) a", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("(1,2)::Tuple(p Int32, q Int32) a", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("(1,2)::Tuple(q Int32, p Int32) a", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("(1,2)::Tuple(p Int32, q Int32) a", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}"),
        ("(1,2)::Tuple(r Int32, s Int32) a", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("(1,2,3) a", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("[1,2] a, [3,4] b", "message M{int32 a=1;}"),
        ("[[1,2],[3]] a", "message M{message T{repeated int32 p=1;} repeated T a=1;}"),
        ("[[1,2],[3]] a", "message M{repeated int32 a=1;}"),
        ("[[[1,2]],[[3],[4]]] a", "message M{message T{message U{repeated int32 u=1;} repeated U p=1;} repeated T a=1;}"),
        ("map('k',[1,2]) a", "message M{message T{repeated int32 p=1;} map<string,T> a=1;}"),
        ("map('k',1,'l',0) a", "message M{map<string,int32> a=1;}"),
        ("map(1,'') a", "message M{map<int64,bytes> a=1;}"),
        ("[map('k',1),map('l',2)] a", "message M{message T{map<string,int32> p=1;} repeated T a=1;}"),
        ("map('k',(1,'x')::Tuple(p Int32, q String)) a", "message M{message T{int32 p=1;string q=2;} map<string,T> a=1;}"),
        ("1 a_p, 2 `a.q`", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("[1] `a.p`, [2] `a.q`", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}"),
        ("[1,2] `a.p`, 2 `a.q`", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}"),
        ("[1,2] `a.p`, [2] `a.q`", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}"),
        ("[(1,'x'),(2,'')]::Nested(p Int32, q String) a", "message M{message T{int32 p=1;string q=2;} repeated T a=1;}"),
        ("[1,2] `a.p`, [['x'],['y','z']] `a.q`", "message M{message T{int32 p=1;repeated string q=2;} repeated T a=1;}"),
        ("[1,2]::Array(Int32) `a.p`, 5 b", "message M{message T{repeated int32 p=1; } T a=1; int32 b=3;}"),
        ("1 a_b, 2 a_b_c", "message M{message T{int32 b=1; message U{int32 c=1;} U b_c=2;} T a=1;}"),
        ("1 a_b_c_d", "message M{message T{message U{int32 d=1;} U b_c=2;} T a=1; message V{int32 q=1;} V a_b=2;}"),
        (
            "1 x, (2,(3,4))::Tuple(p Int32, q Tuple(r Int32, s Int32)) t",
            "message M{int32 x=9; message T{int32 p=1; message U{int32 r=1;int32 s=2;} U q=2;} T t=1;}",
        ),
        ("1 A, 2 B", "message M{int32 a=1;}"),
        ("1 a, 2 A", "message M{int32 a=1;}"),
        ("1 b", "message M{int32 a=1;}"),
        ("0.0 a, '' b", "message M{optional float a=1; optional string b=2;}"),
        ("-0.0 a", "message M{float a=1;}"),
        ("sumState(1) a", "message M{bytes a=1;}"),
        ("[NULL,1]::Array(Nullable(Int32)) a", "message M{repeated int32 a=1;}"),
        ("[NULL,'x']::Array(Nullable(String)) a", "message M{repeated string a=1;}"),
        ("[]::Array(Int32) a", "message M{repeated int32 a=1;}"),
        ("[1,2] a", 'syntax="proto2"; message M{repeated int32 a=1;}'),
        ("[1,2] a", 'syntax="proto2"; message M{repeated int32 a=1[packed=true];}'),
        ("[1,2] a", "message M{repeated int32 a=1[packed=false];}"),
        ("range(100) a", "message M{repeated int32 a=1;}"),
        ("range(200) a", "message M{message T{repeated int64 p=1;} T a=1;}"),
        ("repeat('x', 200) a", "message M{string a=1;}"),
        ("0 a", 'syntax="proto2"; message M{optional int32 a=1;}'),
        ("0 a", 'syntax="proto2"; message M{required int32 a=1; required int32 b=2;}'),
        ("0 a", 'syntax="proto2"; message M{required int32 a=1;}'),
        ("(1,2)::Tuple(p Int32, q Int32) g", 'syntax="proto2"; message M{optional group G=1{optional int32 p=1;optional int32 q=2;} }'),
        ("[(1,2),(0,3)]::Array(Tuple(p Int32, q Int32)) g", 'syntax="proto2"; message M{repeated group G=1{optional int32 p=1;optional int32 q=2;} }'),
        ("(0,0)::Tuple(p Int32, q Int32) a", "message M{message T{int32 p=1;int32 q=2;} T a=1;}"),
        ("[(0,0)]::Array(Tuple(p Int32, q Int32)) a", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}"),
        ("'' s, 0 i", "message M{oneof x{string s=1; int32 i=42;} int32 z=3;}"),
        ("1 a", "message M{int32 a=1000;}"),
        ("1 a", "message M{int32 a=536870911;}"),
        ("2 b, 1 a, 3 c", "message M{int32 c=1; int32 a=2; int32 b=3;}"),
        ("CAST('c','Enum8(\\'c\\'=1,\\'b\\'=6)') a", "message M{enum E{X=0;A=1;B=2;} E a=1;}"),
        ("CAST('c','Enum8(\\'c\\'=7)') a", "message M{enum E{X=0;A=1;B=2;} E a=1;}"),
        ("1 a", "message M{int32 a=1"),
    ]
    for select, schema in simple:
        write(select, schema)
    write("1 a", "message M{int32 a=1;}", message="N")
    write("1 a", "message N{message M{int32 a=1;}}")
    write("1 a", "package foo; message M{int32 a=1;}")
    write("1 a", "package foo; message M{int32 a=1;}", message="foo.M")
    for on in (0, 1):
        wrap = {"output_format_protobuf_nullables_with_google_wrappers": on}
        for select, schema in [
            ("'x' a, NULL::Nullable(String) b, ''::Nullable(String) c", "message M{StringValue a=1; StringValue b=2; StringValue c=3;}"),
            ("'' a, 0 b", "message M{StringValue a=1; Int32Value b=2; }"),
            ("'' a_value, 0 b_value", "message M{StringValue a=1; Int32Value b=2; }"),
            ("['',''] a", "message M{repeated StringValue a=1; }"),
            ("[NULL,'']::Array(Nullable(String)) a", "message M{repeated StringValue a=1; }"),
            ("('', 5)::Tuple(p Nullable(String), q Int32) a", "message M{message T{StringValue p=1; Int32Value q=2;} T a=1; }"),
            ("(NULL, 0)::Tuple(p Nullable(String), q Int32) a", "message M{message T{StringValue p=1; Int32Value q=2;} T a=1; }"),
            ("map('a', '') a", "message M{map<string, StringValue> a=1; }"),
            ("[1] a", "message M{message T {repeated int32 value=1;} T a=1; }"),
            ("tuple('')::Tuple(value String) a, 1::Nullable(Int32) b", "message M{StringValue a=1; Int32Value b=2;}"),
        ]:
            write(select, GOOGLE + schema, **wrap)
    for fmt in ("Protobuf", "ProtobufList", "ProtobufSingle"):
        for rows in (0, 1, 3):
            write(f"number a, toString(number) b FROM numbers({rows})", "message M{int32 a=1; string b=2;}", fmt=fmt)
    write("number a FROM numbers(100)", "message M{int32 a=1;}", fmt="ProtobufList")
    write("number a FROM numbers(2)", "message Envelope{message M{int32 a=1;}} message M{int32 a=9;}", fmt="ProtobufList")
    write("number a FROM numbers(2)", "message Envelope{message M{int32 a=1;}}", fmt="Protobuf")
    write("number a FROM numbers(2)", "message X{message M{int32 a=1;}}", fmt="ProtobufList")
    for select in [
        "1 AS a, 'x' AS b, [1,2] AS c, NULL::Nullable(Int32) AS d, (1,'x')::Tuple(p Int32, q String) AS t, map('k',1) AS m",
        "toDecimal32(1.25,3) f, toDateTime64('2020-01-01 00:00:00.123',3,'UTC') e, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') u, "
        "toIPv4('1.2.3.4') i4, toIPv6('::1') i6, toFixedString('ab',4) fs, true bo, toInt128(5) i128, toDate('2020-01-01') dd, "
        "toDate32('1960-01-01') d32, 1 AS ABc, [1,NULL] an, map(1,[1]) m",
        "CAST('y','Enum8(\\'x\\'=5,\\'y\\'=6)') a",
        "1 AS `a.b`, 2 `a.c`",
        "[(1,2)]::Nested(p Int32,q Int32) AS n, (1,2) u, [[1]] aa",
        "toIntervalDay(1) iv",
        "5 AS `1a`",
        "1 AS `a b`",
    ]:
        write(select, "")
        write(select, "", format_protobuf_use_autogenerated_schema=0)


def reads():
    for data, schema, structure in [
        (b"\x02\x08\x01", "message M{int32 a=1;}", "a Int32, b String"),
        (b"\x04\x08\x05\x08\x06", "message M{int32 a=1;}", "a Int32"),
        (b"\x04\x08\x05\x08\x06", "message M{repeated int32 a=1;}", "a Array(Int32)"),
        (b"\x06\x08\x05\x0a\x02\x06\x07", "message M{repeated int32 a=1;}", "a Array(Int32)"),
        (b"\x04\x0a\x02\x06\x07", "message M{repeated int32 a=1;}", "a Int32"),
        (b"\x04\x0a\x02\x06\x07", "message M{int32 a=1;}", "a Int32"),
        (b"\x04\x0a\x02\x06\x07", "message M{repeated int32 a=1;}", "a Tuple(Int32,Int32)"),
        (b"\x05\x0a\x03\x06\x07\x08", "message M{repeated int32 a=1;}", "a Tuple(Int32,Int32)"),
        (b"\x03\x0a\x01\x06", "message M{repeated int32 a=1;}", "a Tuple(Int32,Int32)"),
        (b"\x02\x0a\x00", "message M{string a=1;}", "a Nullable(String)"),
        (b"\x00", "message M{string a=1;}", "a Nullable(String)"),
        (
            b"\x00",
            'syntax="proto2"; message M{optional int32 a=1[default=7]; optional string b=2[default="zz"]; '
            "optional bool c=3[default=true]; enum E{X=3;Y=5;} optional E d=4[default=Y]; optional E e=5; "
            'optional float f=6[default=1.5]; optional bytes g=7[default="\\x01"]; optional int32 h=8; '
            'optional string i=9[default="2020-01-01"];}',
            "a Int32, b String, c Bool, d String, e Enum8('X'=3,'Y'=5), f Float64, g String, h Nullable(Int32), i Date",
        ),
        (
            b"\x00",
            'syntax="proto2"; message M{optional int32 a=1[default=7]; optional string b=2[default="zz"];}',
            "a Nullable(Int32), b LowCardinality(Nullable(String))",
        ),
        (b"\x04\x10\x05\x08\x06", "message M{int32 a=1;}", "a Int32"),
        (b"\x08\x1a\x02zz\x10\x05\x08\x06", "message M{int32 a=1;}", "a Int32"),
        (b"\x06\x0a\x04\x08\x01\x10\x02", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a Tuple(p Int32, q Int32)"),
        (b"\x06\x0a\x04\x08\x01\x10\x02", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a Tuple(p Int32, r Int32)"),
        (b"\x06\x0a\x04\x08\x01\x10\x02", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a Tuple(Int32, Int32)"),
        (b"\x06\x0a\x04\x08\x01\x10\x02", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a_p Int32, `a.q` Int32"),
        (b"\x06\x0a\x02\x08\x01\x0a\x00", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}", "a_p Array(Int32), `a.q` Array(Int32)"),
        (b"\x06\x0a\x02\x08\x01\x0a\x00", "message M{message T{int32 p=1;int32 q=2;} repeated T a=1;}", "a Array(Tuple(p Int32, q Int32))"),
        (b"\x08\x0a\x02\x08\x01\x0a\x02\x10\x05", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a Tuple(p Int32, q Int32)"),
        (b"\x08\x0a\x02\x08\x01\x0a\x02\x10\x05", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a_p Int32, a_q Int32"),
        (b"\x08\x0a\x02\x08\x01\x0a\x02\x08\x05", "message M{message T{repeated int32 p=1;int32 q=2;} T a=1;}", "a_p Array(Int32), a_q Int32"),
        (b"\x00", "message M{message T{int32 p=1;int32 q=2;} T a=1;}", "a Tuple(p Nullable(Int32), q Int32)"),
        (b"\x07\x0a\x05\x0a\x01k\x10\x05", "message M{map<string,int32> a=1;}", "a Map(String,Int32)"),
        (b"\x05\x0a\x03\x0a\x01k", "message M{map<string,int32> a=1;}", "a Map(String,Int32)"),
        (b"\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01\x05", "message M{message T{repeated int32 p=1;} map<string,T> a=1;}", "a Map(String,Array(Int32))"),
        (b"\x0c\x0a\x04\x0a\x02\x01\x02\x0a\x00\x0a\x02\x08\x03", "message M{message T{repeated int32 p=1;} repeated T a=1;}", "a Array(Array(Int32))"),
        (b"\x0e\x0a\x06\x08\x01\x10\x02\x10\x03\x0a\x04\x10\x04\x08\x05", "message M{message T{int32 p=1;repeated int32 q=2;} repeated T a=1;}", "a_p Array(Int32), a_q Array(Array(Int32))"),
        (b"\x06\x0b\x08\x01\x10\x02\x0c", 'syntax="proto2"; message M{optional group G=1{optional int32 p=1;optional int32 q=2;} }', "g Tuple(p Int32, q Int32)"),
        (b"\x06\x0b\x08\x01\x10\x02\x0c", 'syntax="proto2"; message M{repeated group G=1{optional int32 p=1;optional int32 q=2;} }', "g_p Array(Int32)"),
        (b"\x00", "message M{repeated int32 a=1; map<string,int32> m=2;}", "a Array(Int32), m Map(String,Int32), z Int32"),
        (b"\x00\x02\x08\x01\x00\x02\x08\x03", "message M{int32 a=1;}", "a Int32"),
        (b"", "message M{int32 a=1;}", "a Int32"),
        (b"\x00", "message M{int32 a=1;}", "b Int32"),
        (b"\x00", "message M{int32 a=1;}", "a Array(Int32)"),
        (b"\x00", "message M{int32 a=1;}", "a JSON"),
        (b"\x00", "message M{int32 a=1;}", "a UUID"),
        (b"\x03\x08\x05\x77", "message M{int32 a=1;}", "a Int32"),
        (b"\x03\x0a\x01\x05", "message M{double a=1;}", "a Float64"),
        (b"\x0a\x0a\x08\x01\0\0\0\0\0\0\0", "message M{bytes a=1;}", "a SimpleAggregateFunction(anyLast, String)"),
    ]:
        read(data, schema, structure)
    for on in (0, 1):
        flat = {"input_format_protobuf_flatten_google_wrappers": on}
        schema = GOOGLE + "message M{StringValue a=1; StringValue b=2; Int32Value c=3;}"
        for data in (b"\x00", b"\x02\x0a\x00", b"\x05\x0a\x03\x0a\x01x", b"\x08\x0a\x00\x12\x00\x1a\x02\x08\x05"):
            read(data, schema, "a String, b Nullable(String), c Nullable(Int32)", **flat)
            read(data, schema, "a_value String, b_value Nullable(String), c_value Nullable(Int32)", **flat)
        read(b"\x04\x0a\x00\x0a\x00", GOOGLE + "message M{repeated StringValue a=1;}", "a Array(String)", **flat)
        read(b"\x04\x0a\x00\x0a\x00", GOOGLE + "message M{repeated StringValue a=1;}", "a Array(Nullable(String))", **flat)
        read(b"\x07\x0a\x05\x0a\x01k\x12\x00", GOOGLE + "message M{map<string,StringValue> a=1;}", "a Map(String,String)", **flat)
        read(b"\x04\x0a\x02\x0a\x00", GOOGLE + "message M{message T{StringValue p=1; Int32Value q=2;} T a=1;}", "a Tuple(p Nullable(String), q Nullable(Int32))", **flat)
    for fmt in ("ProtobufList", "ProtobufSingle"):
        for data in (b"\x0a\x0a\x00\x0a\x02\x08\x01\x0a\x02\x08\x02", b"\x00", b"", b"\x08\x05"):
            if (fmt == "ProtobufList") == (len(data) > 2 or len(data) == 0 or data == b"\x00") and not (fmt == "ProtobufSingle" and data == b"\x00"):
                read(data, "message M{int32 a=1;}", "a Int32", fmt=fmt)
    oneof = "message M{oneof x{string s=1; int32 i=42;} int32 z=3;}"
    present = {"input_format_protobuf_oneof_presence": 1}
    for data in (b"\x00", b"\x03\x0a\x01a", b"\x03\xd0\x02\x05", b"\x06\xd0\x02\x05\x0a\x01a"):
        for kind in ("Enum8('no'=0,'h'=1,'w'=42)", "UInt16", "Int64"):
            read(data, oneof, f"s String, i Int32, x {kind}", **present)
            read(data, oneof, f"s String, i Int32, x {kind}")
    read(b"\x00", oneof, "x UInt16", **present)
    read(b"\x00", oneof, "s String, x String", **present)
    read(b"\x00", oneof, "s String, x Nullable(UInt8)", **present)
    read(b"\x00", oneof, "s String, x Enum8('no'=0,'h'=1)", **present)
    read(b"\x05\x0a\x03\xd0\x02\x05", "message M{message T{oneof x{string s=1; int32 i=42;}} T t=1;}", "t Tuple(s String, i Int32, x Int8)", **present)
    read(b"\x02\x08\x01", "", "a UInt32, b String")
    read(b"\x02\x08\x01", "", "a Enum8('x'=5,'y'=6)")
    read(b"\x02\x08\x01", "", "a UInt32, d JSON")


def describes():
    skip = {"input_format_protobuf_skip_fields_with_unsupported_types_in_schema_inference": 1}
    for schema in [
        "message M{int32 a=1; sint64 b=2; fixed32 c=3; sfixed64 d=4; bool e=5; float f=6; double g=7; string h=8; bytes i=9; uint64 j=10; "
        "fixed64 k=11; sint32 l=12; sfixed32 m=13; int64 n=14; uint32 o=15;}",
        "message M{int32 b=2; int32 a=1;}",
        "message M{enum E{X=0;A=1;} E a=1; repeated E b=2; enum F{P=0;Q=1000;} F f=3;}",
        "message M{enum E{X=0;A=100000;} E a=1; int32 b=2;}",
        "message M{message T{int32 p=1;} T a=1; message U{int32 p=1; string q=2;} U u=2; repeated U v=3; repeated T w=4; map<string,U> x=5; "
        "map<int32,string> y=6;}",
        "message M{message T{} T a=1; int32 b=2;}",
        "message M{message T{} T a=1;}",
        "message M{M a=1; int32 b=2;}",
        "message M{repeated M a=1;}",
        "message M{optional int32 a=1; oneof x{int32 b=2; string c=3;}}",
        'syntax="proto2"; message M{optional int32 a=1[default=5]; required string b=2; repeated group G=3{optional int32 p=1;} }',
        "message M{message T{message U{int32 z=1;} U u=1;} T a=1; message V{T p=1; int32 q=2;} V v=2;}",
        "message M{repeated int32 a=1; message T{repeated int32 p=1;} repeated T t=2;}",
        GOOGLE + "message M{StringValue a=1;}",
        "",
    ]:
        describe(schema)
        describe(schema, **skip)
        describe(schema, input_format_protobuf_oneof_presence=1)
    describe("message Envelope{message M{int32 a=1;}}", fmt="ProtobufList")
    describe("message M{int32 a=1;}", fmt="ProtobufList")
    describe("message M{int32 a=1;}", fmt="ProtobufSingle")
    describe("message M{int32 a=1;}", message="N")


def main():
    # All pairs of types take a quarter of an hour, and megabytes: some of them are kept.
    is_short = "--all" not in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        describes()
        writes()
        reads()
        write_matrix(is_short)
        read_matrix(is_short)
        os.chdir("/")
    path = pathlib.Path(__file__).with_name("cases.jsonl" if is_short else "all.jsonl")
    path.write_text("".join(json.dumps(case, separators=(",", ":")) + "\n" for case in CASES))
    print(len(CASES), "cases")


main()
