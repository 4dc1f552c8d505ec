#!/usr/bin/env python3
"""Writes NAME.slt from queries/NAME.sql with the rows that ClickHouse 26.9 (PyPI chdb) gives."""

import pathlib
import re
import sys
import tempfile

import chdb.session

HERE = pathlib.Path(__file__).parent
# What SELECT-like statements begin with; others give no rows.
QUERY = re.compile(r"^(select|with|show|describe|desc|exists|explain|\()", re.IGNORECASE)


def statements(text):
    """Statements of a script: each ends with `;` at the end of a line. Comment lines are dropped."""
    lines, skipped = [], False
    for line in text.splitlines():
        if line.startswith("-- squall:"):
            skipped = True
            continue
        if line.startswith("--") or not line.strip():
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            statement = "\n".join(lines).rstrip().rstrip(";")
            if not skipped:
                yield statement
            lines, skipped = [], False
    if lines:
        raise SystemExit(f"unfinished statement: {lines}")


def cell(text):
    return text if text.strip() else "(empty)"


def record(session, statement):
    try:
        result = session.query(statement, "TabSeparated")
    except Exception as error:  # chdb raises RuntimeError for everything
        code = re.search(r"Code: (\d+)", str(error))
        return f"statement error Code: {code.group(1)}\\.\n{statement}\n"
    if not QUERY.match(statement):
        return f"statement ok\n{statement}\n"
    rows = result.bytes().decode("utf-8", "replace").split("\n")[:-1]
    columns = rows[0].count("\t") + 1 if rows else 1
    rows = ["\t".join(cell(value) for value in row.split("\t")) for row in rows]
    return f"query {'T' * columns}\n{statement}\n----\n" + "".join(row + "\n" for row in rows)


def main():
    names = sys.argv[1:] or sorted(path.stem for path in (HERE / "queries").glob("*.sql"))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            session = chdb.session.Session(folder)
            script = (HERE / "queries" / f"{name}.sql").read_text()
            records = [record(session, text) for text in statements(script)]
            session.close()
        header = f"# Written by generate.py from queries/{name}.sql with ClickHouse 26.9; do not edit.\n"
        if script.startswith("-- long\n"):
            header += "# long\n"
        (HERE / f"{name}.slt").write_text(f"{header}\n" + "\n".join(records))
        print(f"{name}: {len(records)} records")


if __name__ == "__main__":
    main()
