#!/usr/bin/env python3
"""Says which lines of the project's Markdown go beyond column 100: none may, but those of tables, and one long word (an address).

    scripts/check_markdown.py
"""

import pathlib
import re
import subprocess
import sys

COLUMNS = 100
ROOT = pathlib.Path(__file__).resolve().parent.parent


def is_too_long(line):
    if len(line) <= COLUMNS or line.lstrip().startswith("|"):
        return False
    # Where a blank could end the line before the limit, it could have been broken.
    text = re.sub(r"^\s*([-*+>]|\d+\.)?\s*", "", line)
    return " " in text[: COLUMNS + 1 - (len(line) - len(text))]


def main():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    long = [
        f"{name}:{number}: {len(line)} columns"
        for name in names
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if is_too_long(line)
    ]
    print("\n".join(long))
    if long:
        sys.exit(f"{len(long)} lines of Markdown end after column {COLUMNS}")


if __name__ == "__main__":
    main()
