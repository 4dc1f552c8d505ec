#!/usr/bin/env python3
"""Writes ClickHouse's own answers behind the expressions of the .tsv files beside this script.

Run with a Python that has `chdb`: `python generate.py [file …]`. A line is

    expression TAB type TAB value        or        expression TAB ERR TAB code

and only the expression is read: to add one, add a line with nothing else. `--new` answers only lines without an answer.
"""
import pathlib
import sys

import chdb

SETTINGS = "session_timezone = 'UTC', use_variant_as_common_type = 0, allow_suspicious_low_cardinality_types = 1"


def answer(expression):
    try:
        query = f"SELECT toTypeName({expression}), {expression} SETTINGS {SETTINGS}"
        return chdb.query(query, "TSV").bytes().rstrip(b"\n")
    except Exception as error:  # chdb raises RuntimeError with the server's message
        message = str(error)
        code = message.split(".")[0].split(" ")[-1] if message.startswith("Code: ") else message
        return b"ERR\t" + code.encode()


def main():
    only_new = "--new" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--new"]
    files = [pathlib.Path(name) for name in names] or sorted(pathlib.Path(__file__).parent.glob("*.tsv"))
    for file in files:
        lines = []
        for line in file.read_bytes().split(b"\n"):
            expression = line.split(b"\t")[0]
            if not expression or expression.startswith(b"#") or only_new and b"\t" in line:
                lines.append(line)
            else:
                lines.append(expression + b"\t" + answer(expression.decode()))
        file.write_bytes(b"\n".join(lines))


if __name__ == "__main__":
    main()
