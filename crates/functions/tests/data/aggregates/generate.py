#!/usr/bin/env python3
"""Writes ClickHouse's own answers behind the calls of aggregates.tsv.

Run with a Python that has `chdb`: `python generate.py`, or with `--new` to answer only lines without an answer. The file begins with a table: `@ column TAB Type` for each column, then
`> value TAB value …` for each row, as TabSeparated writes it. A line after that is

    call TAB type TAB value over all rows TAB value over no rows        or        call TAB ERR TAB code

and only the call is read: to add one, add a line with nothing else.
"""
import pathlib
import sys

import chdb

SETTINGS = "session_timezone = 'UTC', max_threads = 1, use_variant_as_common_type = 0, allow_suspicious_low_cardinality_types = 1"


def quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def main():
    file = pathlib.Path(__file__).parent / "aggregates.tsv"
    lines = file.read_text().split("\n")
    columns = [line[2:].replace("\t", " ") for line in lines if line.startswith("@ ")]
    rows = "".join(line[2:] + "\n" for line in lines if line.startswith("> "))
    table = f"format(TSV, {quote(', '.join(columns))}, {quote(rows)})"

    def answer(call):
        try:
            query = f"SELECT toTypeName({call}), {call} FROM {table} WHERE "
            whole = chdb.query(query + f"1 SETTINGS {SETTINGS}", "TSV").data().rstrip("\n")
            empty = chdb.query(query + f"0 SETTINGS {SETTINGS}", "TSV").data().rstrip("\n")
            return whole + "\t" + empty.split("\t", 1)[1]
        except Exception as error:  # chdb raises RuntimeError with the server's message
            message = str(error)
            return "ERR\t" + (message.split(".")[0].split(" ")[-1] if message.startswith("Code: ") else message)

    out = []
    for line in lines:
        call = line.split("\t")[0]
        out.append(line if not call or line[:2] in ("@ ", "> ", "# ") or "--new" in sys.argv and "\t" in line else call + "\t" + answer(call))
    file.write_text("\n".join(out))


if __name__ == "__main__":
    main()
