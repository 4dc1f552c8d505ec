#!/usr/bin/env python3
"""How hard documentation is to read, beside that of others: Flesch's reading ease (higher is easier) and Flesch and Kincaid's school
grade (lower is easier), by PyPI's `textstat==0.7.3`; words a sentence; and of a hundred sentences, how many have a passive verb or a
relative clause, counted by their forms. Prose alone counts: no code, tables, headings or links' addresses.

    python3 scripts/readability.py README.md docs [OTHER-FOLDER ...]

Each argument is a file or a folder of Markdown, and becomes a row.
"""

import pathlib
import re
import sys

import textstat

# Forms of "be" or "get" with a participle behind them, adverbs between: "is written", "were not yet read".
IRREGULAR = (
    "built|bound|brought|bought|caught|chosen|cut|done|drawn|driven|fed|found|forgotten|given|gone|grown|held|hidden|hit|kept|known|laid|led|left|"
    "lent|let|lost|made|met|meant|put|paid|read|run|said|seen|sent|set|shown|shut|spent|split|taken|taught|thrown|told|thought|understood|won|written"
)
PASSIVE = re.compile(rf"\b(?:is|are|was|were|be|been|being|gets?|got)\s+(?:(?:not|also|only|never|\w+ly)\s+)*(?:\w+ed|{IRREGULAR})\b", re.I)
# "that", "which", "who" or "whose" behind a noun begins a relative clause. Behind a verb of saying, "that" does not.
SAYING = "says?|said|means?|tells?|shows?|so|ensures?|assumes?|notes?|given|see|know|knows|make sure|provided|now|such"
RELATIVE = re.compile(rf"\b(?!(?:{SAYING})\b)\w+,?\s+(?:that|which|who|whose|whom)\s+\w+", re.I)


def prose(markdown):
    """The sentences of a file."""
    text = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.S)
    text = re.sub(r"```.*?```|~~~.*?~~~|<!--.*?-->|\{%.*?%\}|<[^>]+>", "\n\n", text, flags=re.S)
    kept = []
    for line in text.splitlines():
        line = line.rstrip()
        if re.match(r"\s*(\||#|    \S|\[[^\]]+\]:|!\[|>\s*$)", line):
            kept.append("")
            continue
        kept.append(re.sub(r"^\s*(?:[-*+]|\d+\.)\s+", "\n", line).lstrip("> "))
    text = "\n".join(kept)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    # What stands between backticks is a name: one word.
    text = re.sub(r"`[^`]*`", "name", text)
    text = re.sub(r"[*_]{1,2}", "", text)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    sentences = (sentence for part in paragraphs for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z])", part))
    return [sentence for sentence in sentences if len(sentence.split()) >= 4]


def measured(path):
    path = pathlib.Path(path)
    files = sorted(path.rglob("*.md")) if path.is_dir() else [path]
    sentences = [sentence for file in files for sentence in prose(file.read_text(errors="replace"))]
    text = "\n".join(sentence if sentence[-1] in ".!?" else sentence.rstrip(":;,") + "." for sentence in sentences)
    words = sum(len(sentence.split()) for sentence in sentences)
    share = lambda pattern: 100 * sum(bool(pattern.search(sentence)) for sentence in sentences) / len(sentences)
    return (
        len(sentences),
        words / len(sentences),
        textstat.flesch_reading_ease(text),
        textstat.flesch_kincaid_grade(text),
        share(PASSIVE),
        share(RELATIVE),
    )


def main():
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        print(__doc__)
        return
    print(f"{'':32} sentences  words  reading ease  grade  passive %  relative %")
    for path in sys.argv[1:]:
        count, words, ease, grade, passive, relative = measured(path)
        print(f"{path[-32:]:32} {count:9} {words:6.1f} {ease:13.1f} {grade:6.1f} {passive:10.1f} {relative:11.1f}")


if __name__ == "__main__":
    main()
