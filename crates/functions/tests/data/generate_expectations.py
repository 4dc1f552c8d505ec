#!/usr/bin/env python3
"""Writes expectations.txt: what ClickHouse itself answers for scalar functions over pairs of types.

Run with a Python that has `chdb`: `python generate_expectations.py > expectations.txt`. Each block is

    @ <type> | <type> ...          the arguments' types; `const <type> = <text>` is a constant argument
    > <field> TAB <field> ...      a row of the others, as TabSeparated writes it
    <function>; <function> ... => <type> : <field> TAB <field> ...   the result's type and its value for each row
    <function>; <function> ... => ERR <code>
"""
import itertools
import sys

import chdb

VALUES = {
    "UInt8": ["200", "3", "0"],
    "UInt16": ["60000", "7", "1"],
    "UInt32": ["4000000000", "5", "200"],
    "UInt64": ["18446744073709551615", "9", "200"],
    "Int8": ["-5", "100", "-128"],
    "Int16": ["-300", "30000", "3"],
    "Int32": ["-2000000000", "70000", "0"],
    "Int64": ["-9223372036854775808", "12", "-5"],
    "Float32": ["1.5", "-0.25", "nan"],
    "Float64": ["1e10", "-2.5", "3"],
    "Bool": ["true", "false", "true"],
    "String": ["abc", "", "3"],
    "FixedString(3)": ["abc", "x", "3"],
    "Date": ["2020-02-29", "1970-01-01", "2149-06-06"],
    "Date32": ["1950-06-15", "2020-02-29", "2200-01-01"],
    "DateTime": ["2020-02-29 12:34:56", "1970-01-01 00:00:00", "2020-02-29 00:00:00"],
    "DateTime('Europe/Berlin')": ["2020-02-29 12:34:56", "2021-03-28 04:00:00", "2020-02-29 00:00:00"],
    "DateTime64(3)": ["2020-02-29 12:34:56.789", "1950-06-15 00:00:00.001", "2020-02-29 00:00:00.000"],
    "Enum8('a' = 1, 'b' = 2)": ["a", "b", "a"],
    "Enum16('a' = 1, 'c' = 300)": ["a", "c", "a"],
    "UUID": ["61f0c404-5cb3-11e7-907b-a6006ad3dba0", "00000000-0000-0000-0000-000000000000", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"],
    "IPv4": ["1.2.3.4", "0.0.0.0", "255.255.255.255"],
    "IPv6": ["::1", "2001:db8::1", "::ffff:1.2.3.4"],
    "IntervalDay": ["3", "-1", "0"],
    "IntervalMonth": ["13", "-1", "0"],
    "Nullable(UInt8)": ["7", "\\N", "0"],
    "Nullable(Int64)": ["-7", "\\N", "\\N"],
    "Nullable(Float64)": ["1.5", "\\N", "3"],
    "Nullable(String)": ["abc", "\\N", "3"],
    "LowCardinality(String)": ["abc", "x", "3"],
    "LowCardinality(Nullable(String))": ["abc", "\\N", "3"],
    "Array(UInt8)": ["[1,2]", "[]", "[3]"],
    "Array(Int16)": ["[1,2]", "[-1]", "[3,3,4]"],
    "Array(String)": ["['a','b']", "[]", "['abc']"],
    "Array(Nullable(UInt8))": ["[1,NULL]", "[]", "[NULL,3]"],
    "Tuple(UInt8, String)": ["(1,'a')", "(0,'')", "(3,'abc')"],
    "Tuple(a UInt8, b Int16)": ["(1,-1)", "(0,0)", "(3,300)"],
    "Map(String, UInt8)": ["{'a':1}", "{}", "{'x':2,'y':3}"],
}
NUMBERS = ["UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64", "Bool"]
# Types that are paired with these only, so that the file stays small.
SECONDARY = {"Enum16('a' = 1, 'c' = 300)", "IntervalMonth", "DateTime('Europe/Berlin')", "Nullable(Float64)", "Array(Int16)", "IPv6", "UUID",
             "Date32", "LowCardinality(Nullable(String))", "Tuple(a UInt8, b Int16)"}
CORE = {"UInt8", "Int64", "Float64", "String", "Date", "DateTime", "Array(UInt8)"}

BINARY = ["plus", "minus", "multiply", "divide", "intDiv", "intDivOrZero", "modulo", "moduloOrZero", "positiveModulo", "gcd", "lcm",
          "min2", "max2", "bitAnd", "bitOr", "bitXor", "bitShiftLeft", "bitShiftRight", "bitTest", "equals", "notEquals", "less",
          "greater", "lessOrEquals", "greaterOrEquals", "and", "or", "xor", "greatest", "least", "ifNull", "nullIf", "coalesce",
          "pow", "atan2", "hypot", "array", "tuple", "map"]
UNARY = ["negate", "abs", "bitNot", "bitCount", "not", "isNull", "isNotNull", "isNaN", "isFinite", "isInfinite", "isZeroOrNull",
         "assumeNotNull", "toNullable", "materialize", "identity", "toTypeName", "toString", "toUInt8", "toUInt16", "toUInt32",
         "toUInt64", "toInt8", "toInt16", "toInt32", "toInt64", "toFloat32", "toFloat64", "toDate", "toDate32", "toDateTime",
         "toBool", "toUUID", "toIPv4", "toIPv6", "toLowCardinality", "toIntervalDay", "toIntervalMonth", "reinterpretAsUInt8",
         "reinterpretAsUInt32", "reinterpretAsInt64", "reinterpretAsFloat32", "reinterpretAsFloat64", "reinterpretAsString",
         "reinterpretAsDate", "reinterpretAsDateTime", "toUInt8OrZero", "toUInt8OrNull", "toInt32OrZero", "toInt64OrNull",
         "toFloat64OrZero", "toFloat64OrNull", "toDateOrZero", "toDateOrNull", "toDateTimeOrZero", "toDateTimeOrNull",
         "toUInt8OrDefault", "toInt64OrDefault", "round", "floor", "ceil", "trunc", "roundBankers", "roundToExp2", "roundDuration",
         "roundAge", "sqrt", "cbrt", "exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
         "tanh", "asinh", "acosh", "atanh", "log1p", "erf", "erfc", "tgamma", "lgamma", "sign", "degrees", "radians", "factorial",
         "intExp2", "intExp10", "length", "empty", "notEmpty", "array", "tuple", "arrayReverse", "arraySort", "arrayReverseSort", "arrayUniq", "arrayDistinct",
         "arrayEnumerate", "arrayStringConcat", "arraySum", "arrayMin", "arrayMax", "arrayAvg", "arrayConcat", "range", "mapKeys", "mapValues",
         "arrayPopBack", "arrayPopFront", "arrayCompact", "arrayProduct", "arrayFlatten", "emptyArrayToSingle", "isNullable", "bar", "ignore", "if",
         "arrayCumSum", "arrayDifference", "arrayEnumerateUniq", "bitPositionsToArray", "bitmaskToArray", "byteSwap",
         "isNotDistinctFrom", "toStartOfDay", "reverse", "negate", "multiIf", "tupleNegate", "untuple", "arrayExists", "arrayAll",
         "arrayCount", "arrayShiftLeft", "defaultValueOfArgumentType", "blockSize", "toColumnTypeName", "sqr"]
DROPPED = {"untuple", "toStartOfDay", "reverse", "blockSize", "toColumnTypeName", "isNotDistinctFrom", "arrayShiftLeft", "bar", "if", "multiIf"}
ARRAY_BINARY = ["arrayElement", "has", "indexOf", "countEqual", "arrayPushBack", "arrayPushFront", "arrayConcat", "hasAny", "hasAll",
                "arraySlice", "arrayResize", "arrayIntersect", "hasSubstr", "mapContains", "tupleElement", "arrayStringConcat"]
CASTS = ["UInt8", "UInt64", "Int16", "Int64", "Float32", "Float64", "Bool", "String", "FixedString(3)", "FixedString(40)", "Date", "Date32", "DateTime",
         "DateTime('Europe/Berlin')", "DateTime64(3)", "DateTime64(6, 'America/New_York')", "Enum8('a' = 1, 'b' = 2)",
         "Enum16('a' = 1, 'c' = 300)", "UUID", "IPv4", "IPv6", "IntervalDay", "Nullable(UInt8)", "Nullable(String)", "LowCardinality(String)",
         "LowCardinality(Nullable(String))", "Array(UInt8)", "Array(String)", "Tuple(UInt8, String)", "Map(String, UInt8)"]


def quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def run(query):
    try:
        return chdb.query(query, "TSV").data().rstrip("\n").split("\n")
    except Exception as error:  # chdb raises RuntimeError with the server's message
        message = str(error)
        return int(message.split(".")[0].split(" ")[1]) if message.startswith("Code: ") else -1


def source(types, rows):
    """A table of the rows, its columns a, b, c …; and the arguments' expressions."""
    names = [chr(ord("a") + at) for at in range(len(types))]
    columns, arguments = [], []
    for name, data_type in zip(names, types):
        if data_type.startswith("const "):
            data_type, text = data_type[len("const "):].split(" = ", 1) if "Enum" not in data_type else data_type[len("const "):].rsplit(" = ", 1)
            arguments.append(f"CAST({quote(text)}, {quote(data_type)})")
        else:
            columns.append(f"{name} {data_type}")
            arguments.append(name)
    text = "\n".join("\t".join(row) for row in rows) + "\n"
    return f"format(TSV, {quote(', '.join(columns))}, {quote(text)})", arguments


def block(types, rows, functions, call=None):
    table, arguments = source(types, rows)
    results = {}  # the functions by their answer
    for function in functions:
        expression = call(function, arguments) if call else f"{function}({', '.join(arguments)})"
        lines = run(f"SELECT toTypeName({expression}) AS t, {expression} AS r FROM {table} SETTINGS use_variant_as_common_type = 0, session_timezone = 'UTC', allow_suspicious_low_cardinality_types = 1, input_format_tsv_detect_header = 0")
        if isinstance(lines, int):
            if lines > 0:
                results.setdefault(f"ERR {lines}", []).append(function)
        else:
            fields = [line.split("\t", 1) for line in lines]
            if len(fields) != len(rows) or any(len(field) != 2 for field in fields):
                continue
            name = fields[0][0].replace("\\'", "'").replace(",\\n    ", ", ").replace("\\n    ", "").replace("\\\\", "\\")
            values = "\t".join(field[1] for field in fields)
            if any(word in name for word in ("Decimal", "Int128", "UInt128", "Int256", "UInt256", "Variant", "Dynamic", "Nullable(Tuple", "Nullable(Array", "BFloat", "Time(", "Time64")):
                continue
            # `range` of large numbers says nothing that small ones do not.
            if len(values) < 1000:
                results.setdefault(f"{name} : {values}", []).append(function)
    if not results:
        return
    print("@ " + " | ".join(types))
    for row in rows:
        print("> " + "\t".join(row))
    for answer, answered in results.items():
        print("; ".join(answered) + " => " + answer)
    sys.stdout.flush()


def is_paired(left, right):
    secondary = {left, right} & SECONDARY
    return not secondary or left == right or bool({left, right} & CORE)


def main():
    unary = [name for name in dict.fromkeys(UNARY) if name not in DROPPED]
    for data_type, values in VALUES.items():
        rows = [[value] for value in values]
        block([data_type], rows, unary)
        # Casts carry their target in the name: `CAST:UInt8`.
        block([data_type], rows, [f"{how}:{target}" for target in CASTS for how in ("CAST", "accurateCastOrNull")],
              lambda function, arguments: "{}({}, {})".format(function.split(":")[0], arguments[0], quote(function.split(":", 1)[1])))
        rows_of_one = [[value] for value in values[:1]]
        block([data_type], rows_of_one, [f"accurateCast:{target}" for target in CASTS],
              lambda function, arguments: "{}({}, {})".format(function.split(":")[0], arguments[0], quote(function.split(":", 1)[1])))
    for left, right in itertools.product(VALUES, VALUES):
        if not is_paired(left, right):
            continue
        rows = [[l, r] for l, r in zip(VALUES[left], VALUES[right])]
        functions = BINARY if left in NUMBERS and right in NUMBERS else [name for name in BINARY if name not in ("pow", "atan2", "hypot", "map", "min2", "max2", "gcd", "lcm", "positiveModulo", "moduloOrZero", "intDivOrZero")]
        if left.startswith(("Array", "Tuple", "Map")):
            functions = functions + list(dict.fromkeys(ARRAY_BINARY))
        block([left, right], rows, functions)
        if right in ("String", "UInt8", "Int8", "Float64") and (left not in SECONDARY or left.startswith(("DateTime", "UUID"))):
            for text in {"String": ["2020-02-29", "a", "3"], "UInt8": ["3"], "Int8": ["-5"], "Float64": ["2.5"]}[right]:
                block([left, f"const {right} = {text}"], [[value] for value in VALUES[left]],
                      ["equals", "less", "greaterOrEquals", "plus", "intDiv", "modulo"] + (["arrayElement", "tupleElement", "has"] if left.startswith(("Array", "Tuple", "Map")) else []))
    conditions()
    sets()


def conditions():
    """`if`, `multiIf`, `CASE` and their like, which take more than two arguments."""
    values = {name: VALUES[name] for name in ("UInt8", "Int64", "Float64", "String", "FixedString(3)", "Date", "DateTime", "Nullable(UInt8)",
                                              "Nullable(String)", "LowCardinality(String)", "Array(UInt8)", "Tuple(UInt8, String)")}
    for condition in ("UInt8", "Nullable(UInt8)", "Bool", "Int8"):
        flags = {"UInt8": ["1", "0", "5"], "Nullable(UInt8)": ["1", "\\N", "0"], "Bool": ["true", "false", "true"], "Int8": ["1", "0", "1"]}[condition]
        for left, right in itertools.product(values, values):
            block([condition, left, right], list(zip(flags, values[left], values[right])), ["if"])
            if left == right or condition == "UInt8" and right == "String":
                block([condition, left, condition, left, right], list(zip(flags, values[left], reversed(flags), reversed(values[left]), values[right])), ["multiIf"])
                block([left, left, right, left, right, right], list(zip(values[left], reversed(values[left]), values[right], values[left], reversed(values[right]), values[right])), ["caseWithExpression"])
            block([left, right, left], list(zip(values[left], values[right], reversed(values[left]))), ["coalesce", "greatest", "least"])


def sets():
    """`IN` with constants."""
    for left, right in (("UInt8", "Tuple(UInt8, UInt8) = (3,200)"), ("Int64", "Tuple(Int8, UInt64) = (-5,18446744073709551615)"),
                        ("UInt64", "Tuple(Int8, UInt8) = (-1,9)"), ("Float64", "Tuple(Float64, UInt8) = (-2.5,3)"),
                        ("String", "Tuple(String, String) = ('abc','')"), ("FixedString(3)", "Tuple(String, String) = ('abc','3')"),
                        ("Date", "Tuple(String, String) = ('2020-02-29','1970-01-01')"), ("DateTime", "Tuple(String, String) = ('2020-02-29 12:34:56','1970-01-01 00:00:00')"),
                        ("LowCardinality(String)", "Tuple(String, String) = ('abc','3')"), ("Nullable(UInt8)", "Tuple(UInt8, UInt8) = (7,0)"),
                        ("Nullable(String)", "Tuple(String, String) = ('abc','x')"), ("LowCardinality(Nullable(String))", "Tuple(String, String) = ('abc','x')"),
                        ("Enum8('a' = 1, 'b' = 2)", "Tuple(String, String) = ('a','a')"), ("Array(UInt8)", "Array(Array(UInt8)) = [[1,2],[]]"),
                        ("Tuple(UInt8, String)", "Tuple(Tuple(UInt8, String), Tuple(UInt8, String)) = ((1,'a'),(3,'x'))"),
                        ("UInt8", "Array(UInt16) = [3,300]"), ("UInt16", "UInt16 = 7"), ("UUID", "Tuple(String) = ('61f0c404-5cb3-11e7-907b-a6006ad3dba0')")):
        block([left, "const " + right], [[value] for value in VALUES[left]], ["in", "notIn"])


if __name__ == "__main__":
    main()
