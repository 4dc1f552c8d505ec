#!/usr/bin/env python3
"""How far the planner's estimates are from the truth: runs the queries of a workload with EXPLAIN ANALYZE and compares each step's rows.

usage: cardinality.py URL QUERIES.sql [DATABASE]

QUERIES.sql holds statements that end with `;` or stand one a line, as `shared/checks/analytics.py` lays them out (bench/queries/tpch.sql). The q-error of
a step is estimate / actual or its inverse, whichever is above 1, both counted from one row. A line a query: its largest q-error and the step that has it; then,
over all steps, the median, the 90th percentile and the largest."""

import re
import sys
import urllib.parse
import urllib.request


def rows(text):
    units = {"": 1, " thousand": 1e3, " million": 1e6, " billion": 1e9}
    number, unit = re.fullmatch(r"([\d.]+)( \w+)?", text.strip()).groups()
    return float(number) * units[unit or ""]


def steps(plan):
    """The steps of a plan that say both, each with its title."""
    titles = {}
    for line in plan.splitlines():
        body = re.sub(r"^[│└├─ ]*", "", line)
        depth = len(line) - len(body)
        if found := re.match(r"Output rows: estimated (.+?) · actual (.+)$", body):
            title = titles.get(max((at for at in titles if at <= depth), default=-1), "?")
            yield title, rows(found[1]), rows(found[2])
        elif ":" not in body and body and not body.startswith("time "):
            titles = {at: known for at, known in titles.items() if at < depth} | {depth: body.strip()}


def main():
    if len(sys.argv) not in (3, 4) or "--help" in sys.argv:
        sys.exit(__doc__)
    url, path = sys.argv[1:3]
    database = sys.argv[3] if len(sys.argv) > 3 else re.sub(r".*/|\..*", "", path)
    text = re.sub(r"(?m)^\s*--.*$", "", open(path).read())
    queries = [query.strip() for query in (text.split(";") if ";" in text else text.splitlines()) if query.strip()]
    errors = []
    for number, query in enumerate(queries):
        target = f"{url.rstrip('/')}/?{urllib.parse.urlencode({'database': database})}"
        try:
            plan = urllib.request.urlopen(urllib.request.Request(target, f"EXPLAIN ANALYZE {query}".encode())).read().decode()
        except urllib.error.HTTPError as error:
            print(f"q{number:<3} {error.read().decode()[:100]}")
            continue
        plan = plan.encode().decode("unicode_escape", "ignore") if "\\n" in plan else plan
        found = [(max(e, 1) / max(a, 1) if e > a else max(a, 1) / max(e, 1), title, e, a) for title, e, a in steps(plan)]
        errors += [error for error, *_ in found]
        if found:
            error, title, estimate, actual = max(found)
            print(f"q{number:<3} {error:10.1f}  {title}: {estimate:.0f} for {actual:.0f}")
    errors.sort()
    if errors:
        at = lambda share: errors[min(int(share * len(errors)), len(errors) - 1)]
        print(f"{len(errors)} steps: median {at(0.5):.2f}, 90th percentile {at(0.9):.1f}, largest {errors[-1]:.0f}")


if __name__ == "__main__":
    main()
