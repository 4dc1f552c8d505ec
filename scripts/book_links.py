#!/usr/bin/env python3
"""A preprocessor of mdbook. Links of a page that includes a file of another folder are relative to that file: they become relative to
the page. A link to a file that is no page, such as a source or a test, becomes its text.

    mdbook calls it, by docs/book.toml
"""

import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Blocks and spans of code first: what looks like a link in them is none.
LINK = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]*`|(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^()\s]+)\)")


def chapters(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            yield chapter
            yield from chapters(chapter["sub_items"])


def source_of(page):
    """The file whose text a page shows: another one where it includes one, otherwise itself."""
    included = re.fullmatch(r"\{\{#include (.*)\}\}\s*", page.read_text())
    return (page.parent / included[1]).resolve() if included else page


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    items = book.get("items", book.get("sections"))
    pages = {source_of(DOCS / chapter["source_path"]): chapter["path"] for chapter in chapters(items) if chapter["path"]}
    for chapter in chapters(items):
        if not chapter["path"]:
            continue
        source = source_of(DOCS / chapter["source_path"])
        here = pathlib.Path(chapter["path"]).parent

        def link(match, source=source, here=here):
            if match[3] is None:
                return match[0]
            file, _, anchor = match[3].partition("#")
            if not file or re.match(r"[a-z]+:", file):
                return match[0]
            target = (source.parent / file).resolve()
            if target in pages:
                file = os.path.relpath(pages[target], here)
            elif match[1] and target.is_relative_to(DOCS):
                file = os.path.relpath(target.relative_to(DOCS), here)
            else:
                return match[2]
            return f"{match[1]}[{match[2]}]({file}{'#' + anchor if anchor else ''})"

        chapter["content"] = LINK.sub(link, chapter["content"])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
