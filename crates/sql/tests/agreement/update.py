"""Writes the expected texts of `tests/integration/corpus.rs`: runs every statement of the corpus through ClickHouse (chdb) and through
`examples/format`, and keeps those on which both agree. Run after `cargo build --example format`:
    python update.py path/to/target/debug/examples/format
Prints how many agree, and with -v the differences."""

import pathlib
import re
import subprocess
import sys

import chdb

HERE = pathlib.Path(__file__).parent
MODES = {
    "one_line": ("one-line", "select formatQuerySingleLine('{}')"),
    "lines": ("lines", "select formatQuery('{}')"),
    "dump": ("dump", "EXPLAIN AST {}"),
}


def ask(query):
    try:
        return str(chdb.query(query, "TSVRaw")).rstrip("\n")
    except Exception:
        return None


def main():
    statements = []
    for corpus in sorted((HERE.parent / "corpus").glob("*.sql")):
        statements += [line for line in corpus.read_text().split("\n") if line]
    for name, (mode, query) in MODES.items():
        ours = subprocess.run([sys.argv[1], mode], input="\n".join(statements), capture_output=True, text=True, check=True).stdout
        ours = re.split(r"^>> .*\n", ours, flags=re.M)[1:]
        agreed = []
        for statement, our in zip(statements, ours):
            text = statement if name == "dump" else statement.replace("\\", "\\\\").replace("'", "\\'")
            theirs = ask(query.format(text))
            if theirs == our.rstrip("\n"):
                agreed.append(f">> {statement}\n{theirs}\n")
            elif "-v" in sys.argv and theirs is not None:
                print(f"{statement}\nClickHouse: {theirs}\nours:       {our}")
        (HERE / f"{name}.txt").write_text("\n".join(agreed))
        print(name, len(agreed), "of", len(statements))


main()
