#!/usr/bin/env python3
"""Checks the project's Markdown: no line goes beyond column 100 (but tables, and one long word such as an address), and every link
to a file or heading of the project leads somewhere, as does every `path/to/a_source.rs`.

    scripts/check_markdown.py
"""

import pathlib
import re
import subprocess
import sys

COLUMNS = 100
ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a script writes is as wide as it likes.
GENERATED = ROOT / "docs/reference"
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


def is_too_long(line):
    if len(line) <= COLUMNS or line.lstrip().startswith("|"):
        return False
    # Where a blank could end the line before the limit, it could have been broken.
    text = re.sub(r"^\s*([-*+>]|\d+\.)?\s*", "", line)
    return " " in text[: COLUMNS + 1 - (len(line) - len(text))]


def without_code(text):
    """The text without blocks and spans of code, with as many lines."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", lambda code: "\n" * code.group().count("\n"), text)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """What the headings of a page are called in links, by the rule that GitHub and mdbook share."""
    seen, names = {}, set()
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", path.read_text())
    for heading in re.findall(r"(?m)^#+ +(.*)$", text):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        times = seen.get(name, 0)
        seen[name] = times + 1
        names.add(f"{name}-{times}" if times else name)
    return names


def dead_links(name):
    path = ROOT / name
    for number, line in enumerate(without_code(path.read_text()).splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            to = (path.parent / file).resolve() if file else path
            if not to.exists() or anchor and to.suffix == ".md" and anchor not in anchors(to):
                yield f"{name}:{number}: the link {target} leads nowhere"


def dead_sources(name, sources):
    """Source files that a page names and that are not there."""
    for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
        for path in re.findall(r"`((?:\w+/)*\w+\.rs)`", line):
            if not any(source.endswith("/" + path) for source in sources):
                yield f"{name}:{number}: there is no file {path}"


def main():
    tracked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.rs"]
    files = subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in files if (ROOT / name).exists()]
    names = [name for name in files if name.endswith(".md")]
    sources = ["/" + name for name in files if name.endswith(".rs")]
    wrong = [
        f"{name}:{number}: {len(line)} columns, where {COLUMNS} are the most"
        for name in names
        if not (ROOT / name).is_relative_to(GENERATED)
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if is_too_long(line)
    ]
    wrong += [found for name in names for found in dead_links(name)]
    wrong += [found for name in names for found in dead_sources(name, sources)]
    print("\n".join(wrong))
    if wrong:
        sys.exit(f"{len(wrong)} faults in Markdown")


if __name__ == "__main__":
    main()
