#!/usr/bin/env python3
"""Writes NOTICE: the libraries that are linked into squall, with their licences and copyright lines, and the text of each licence once.

    scripts/notice.py            # writes
    scripts/notice.py --check    # fails where it would write something else
"""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
# Crates that compile a C library of their own without saying what they link.
WITH_C = ("lzzzz",)
FILES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# A line with a name or a year, not one of a licence's own sentences.
COPYRIGHT = re.compile(r"^\W*(copyright\s+(\(c\)|©|\d{4}|[A-Z]).*|\(c\) \d{4}.*)$", re.IGNORECASE)
SENTENCES = re.compile(r"copyright (notice|holder|owner|license|law|statement|interest|and)|\[yyyy\]|\{yyyy\}|<year>|copyright \[", re.IGNORECASE)
HEAD = """Squall
Licensed under the Apache License, Version 2.0: see LICENSE.

Squall contains the libraries below. Each is under the licence beside its name; where a name has several, Squall uses the
first of Apache-2.0, MIT, BSD, ISC, Zlib and others that is offered. scripts/notice.py makes this file.
"""


def packages():
    """What the program links on any of the targets: the normal dependencies of squall-cli, without those of the build and of tests."""
    found = {}
    for target in TARGETS:
        command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
        metadata = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        by_id = {package["id"]: package for package in metadata["packages"]}
        waiting = [package["id"] for package in metadata["packages"] if package["name"] == "squall-cli"]
        seen = set(waiting)
        while waiting:
            for dependency in nodes[waiting.pop()]["deps"]:
                is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
                if is_linked and dependency["pkg"] not in seen:
                    seen.add(dependency["pkg"])
                    waiting.append(dependency["pkg"])
        found |= {key: by_id[key] for key in seen if by_id[key]["source"]}
    return sorted(found.values(), key=lambda package: (package["name"], package["version"]))


def pages():
    """What the pages in the browser are made of, which are in the program too: the npm packages of the lock file that are no tools."""
    web = ROOT / "web"
    if not web.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(web / name, folder)
        subprocess.run(["npm", "ci", "--omit=dev", "--ignore-scripts", "--silent"], cwd=folder, check=True)
        for path, package in sorted(json.loads((web / "package-lock.json").read_text())["packages"].items()):
            if path and not package.get("dev"):
                texts = [file.read_text() for file in (pathlib.Path(folder) / path).iterdir() if FILES.match(file.name)]
                yield f"{path.removeprefix('node_modules/')} {package['version']}: {package.get('license', 'see its file')}", copyrights(texts)


def licence_files(package):
    """Those of the crate, and of a C library that it brings along."""
    folder = pathlib.Path(package["manifest_path"]).parent
    folders = [folder] if not package["links"] and package["name"] not in WITH_C else [folder, *folder.glob("*/"), *folder.glob("*/*/"), *folder.glob("*/*/*/")]
    return sorted(path for some in folders for path in some.iterdir() if path.is_file() and path.suffix != ".sh" and FILES.match(path.name))


def is_copyright(line):
    return bool(COPYRIGHT.match(line.strip(" \t#*/"))) and not SENTENCES.search(line)


def copyrights(texts):
    lines = (line for text in texts for line in text.splitlines() if is_copyright(line))
    return list(dict.fromkeys(line.strip(" \t#*/") for line in lines))


# How a licence's text is known.
KINDS = [
    ("Apache-2.0", "Apache License"),
    ("MIT", "Permission is hereby granted, free of charge"),
    ("BSD-3-Clause", "Neither the name"),
    ("BSD-2-Clause", "Redistributions in binary form"),
    ("ISC", "Permission to use, copy, modify, and"),
    ("Zlib", "This software is provided 'as-is'"),
    ("Unicode-3.0", "UNICODE LICENSE V3"),
    ("BSL-1.0", "Boost Software License"),
    ("MPL-2.0", "Mozilla Public License"),
    ("Unlicense", "free and unencumbered software"),
    ("CC0-1.0", "CC0 1.0 Universal"),
    ("CDLA-Permissive-2.0", "Community Data License Agreement"),
]


def kind_of(text):
    return next((kind for kind, mark in KINDS if re.sub(r"\s+", " ", mark).lower() in re.sub(r"\s+", " ", text).lower()), None)


def notice():
    out, texts, unknown = [HEAD], collections.defaultdict(list), []
    for package in packages():
        licence = package["license"] or "see its file"
        out.append(f"{package['name']} {package['version']}: {licence}")
        files = {path: path.read_text(errors="replace") for path in licence_files(package)}
        # zstd is offered under the GPL as well as under the BSD licence that we take; tools beside liblzma are under GPL and LGPL.
        files = {path: text for path, text in files.items() if not re.search("GNU (LESSER )?GENERAL PUBLIC LICENSE", text)}
        out += [f"    {line}" for line in copyrights(files.values())]
        for path, text in files.items():
            kind = kind_of(text)
            if kind:
                texts[kind].append(text)
            elif path.name.lower().startswith("notice"):
                out += [f"    {line}".rstrip() for line in text.strip().splitlines()]
            else:
                unknown.append((package, path, text))
    for line, lines in pages():
        out += [line, *(f"    {line}" for line in lines)]
    for kind, _ in KINDS:
        if texts[kind]:
            # The text that most of them have.
            without_names = ("\n".join(line for line in text.strip().splitlines() if not is_copyright(line)).strip() for text in texts[kind])
            kept = collections.Counter(without_names).most_common(1)[0][0]
            out += ["", "=" * 100, f"{kind}", "=" * 100, "", kept]
    for package, path, text in unknown:
        out += ["", "=" * 100, f"{package['name']} {package['version']}, {path.name}", "=" * 100, "", text.strip()]
    return "\n".join(line.rstrip() for line in "\n".join(out).splitlines()) + "\n"


def main():
    text = notice()
    path = ROOT / "NOTICE"
    if sys.argv[1:] == ["--check"]:
        if not path.exists() or path.read_text() != text:
            sys.exit("NOTICE is not that of these dependencies: run scripts/notice.py")
        return
    path.write_text(text)
    print(f"NOTICE: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
