"""Asks ClickHouse (PyPI chdb) for names, types and errors of the queries in queries.sql and writes analyzer.tsv.

    python generate.py < queries.sql > analyzer.tsv

A line that starts with `code:` keeps only the error's code: the rest of the message is not promised. Lines that start with `--`
and empty lines are passed over.
"""

import re
import sys

import chdb.session

TABLES = """
CREATE TABLE t (a UInt8, b Int32, c String, d Date, e DateTime, f Float64, n Nullable(Int32), lc LowCardinality(String), arr Array(UInt16), tup Tuple(x UInt8, y String)) ENGINE = MergeTree ORDER BY a
CREATE TABLE u (a UInt8, k Int64, s String) ENGINE = MergeTree ORDER BY a
CREATE DATABASE d
CREATE TABLE d.t (x UInt8, y UInt16) ENGINE = MergeTree ORDER BY x
CREATE TABLE w (id UInt32, day Date, name String DEFAULT toString(id), low String MATERIALIZED lower(name), code UInt64 ALIAS id * 2) ENGINE = MergeTree ORDER BY id
CREATE VIEW v AS SELECT a, b + 1 AS b1 FROM t WHERE a > 1
SET param_x = '5'
SET param_s = 'abc'
SET param_t = 'u'
SET param_c = 'a'
"""

session = chdb.session.Session()
for statement in TABLES.strip().splitlines():
    session.query(statement)


def unescape(field):
    """A field of TSV, except that backslashes, tabs and line breaks stay escaped."""
    return field.replace("\\'", "'")


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


for line in sys.stdin:
    query = line.rstrip("\n")
    if not query.strip() or query.startswith("--"):
        continue
    code_only = query.startswith("code:")
    query = query.removeprefix("code:").strip()
    try:
        result = session.query(query, "TSVWithNamesAndTypes").bytes().decode("utf-8", "replace")
        names, types = (line.split("\t") for line in result.split("\n")[:2])
        print(query, "\x1f".join(map(unescape, names)), "\x1f".join(map(unescape, types)), sep="\t")
    except Exception as error:
        code, message = re.match(r"Code: (\d+)\. DB::Exception: (.*) \([A-Z_0-9]+\)", str(error), re.S).groups()
        message = message.removesuffix(".")
        if code_only:
            print(query, "error", code, sep="\t")
        else:
            print(query, "error", code, escape(message), sep="\t")
