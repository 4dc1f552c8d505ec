#!/usr/bin/env python3
"""Writes docs/reference from what a server says of itself: functions, settings, system tables, formats, types, engines, metrics and
configuration. Examples of functions are those of tests/slt/function_examples.slt, with the answers that this test expects.

    scripts/reference.py --squall target/release/squall
    /path/with/chdb/bin/python scripts/reference.py --clickhouse    # first writes clickhouse-names.tsv anew, which needs PyPI's chdb

docs/reference/clickhouse-names.tsv has the names that ClickHouse knows; missing.md lists those that Squall does not.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile
import textwrap
import time

from measured_server import MeasuredServer

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
NAMES = REFERENCE / "clickhouse-names.tsv"
ACCESS_CASES = ROOT / "tests/clients/access_cases.tsv"
EXAMPLES = ROOT / "tests/slt/function_examples.slt"

# What is compared: the title, and ClickHouse's statement that gives names and, where there are any, their groups.
KINDS = {
    "functions": ("Functions", "SELECT name, categories FROM system.functions WHERE alias_to = '' AND NOT is_aggregate"),
    "aggregate functions": ("Aggregate functions", "SELECT name, '' FROM system.functions WHERE alias_to = '' AND is_aggregate"),
    "combinators": (
        "Combinators of aggregate functions",
        "SELECT name, '' FROM system.aggregate_function_combinators WHERE NOT is_internal",
    ),
    "table functions": ("Table functions", "SELECT name, '' FROM system.table_functions"),
    "table engines": ("Table engines", "SELECT name, '' FROM system.table_engines"),
    "data types": ("Data types", "SELECT name, '' FROM system.data_type_families WHERE alias_to = ''"),
    "formats": ("Formats", "SELECT name, multiIf(is_input AND is_output, 'both', is_input, 'input', 'output') FROM system.formats"),
    "settings": ("Settings", "SELECT name, '' FROM system.settings WHERE NOT is_obsolete AND alias_for = ''"),
    "MergeTree settings": ("MergeTree settings", "SELECT name, '' FROM system.merge_tree_settings WHERE NOT is_obsolete"),
    "server settings": ("Server settings", "SELECT name, '' FROM system.server_settings WHERE NOT is_obsolete"),
    "system tables": ("System tables", "SELECT name, '' FROM system.tables WHERE database = 'system'"),
}
# Statements and clauses that are tried out, each in a database with the tables t (MergeTree) and u.
STATEMENTS = [
    ("UPDATE", "ALTER TABLE t UPDATE b = 1 WHERE a = 1"),
    ("Lightweight UPDATE", "UPDATE t SET b = 1 WHERE a = 1"),
    ("ALTER TABLE … DELETE", "ALTER TABLE t DELETE WHERE a = 1"),
    ("Lightweight DELETE", "DELETE FROM t WHERE a = 1"),
    ("ALTER TABLE … ADD COLUMN", "ALTER TABLE t ADD COLUMN c UInt8"),
    ("ALTER TABLE … MODIFY COLUMN (type)", "ALTER TABLE t MODIFY COLUMN b UInt16"),
    ("ALTER TABLE … DROP COLUMN", "ALTER TABLE t DROP COLUMN b"),
    ("ALTER TABLE … MODIFY SETTING", "ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 10"),
    ("ALTER TABLE … DROP PARTITION", "ALTER TABLE t DROP PARTITION tuple()"),
    ("OPTIMIZE TABLE", "OPTIMIZE TABLE t"),
    ("EXCHANGE TABLES", "EXCHANGE TABLES t AND u"),
    ("CREATE OR REPLACE TABLE", "CREATE OR REPLACE TABLE r (x UInt8) ENGINE = Memory"),
    ("CREATE TEMPORARY TABLE", "CREATE TEMPORARY TABLE tt (x UInt8)"),
    ("CREATE VIEW", "CREATE VIEW v AS SELECT 1"),
    ("CREATE MATERIALIZED VIEW", "CREATE MATERIALIZED VIEW mv ENGINE = Memory AS SELECT a FROM t"),
    ("CREATE DICTIONARY", "CREATE DICTIONARY d (a UInt64, b UInt8) PRIMARY KEY a SOURCE(CLICKHOUSE(TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)"),
    ("CREATE FUNCTION", "CREATE FUNCTION f AS x -> x + 1"),
    ("CREATE NAMED COLLECTION", "CREATE NAMED COLLECTION n AS a = 1"),
    ("CREATE USER", "CREATE USER someone IDENTIFIED WITH no_password"),
    ("TTL of tables", "CREATE TABLE ttl (x Date) ENGINE = MergeTree ORDER BY x TTL x + INTERVAL 1 DAY"),
    ("Skip indexes", "CREATE TABLE i (x UInt8, INDEX i x TYPE minmax) ENGINE = MergeTree ORDER BY x"),
    ("Projections", "CREATE TABLE p (x UInt8, PROJECTION p (SELECT x ORDER BY x)) ENGINE = MergeTree ORDER BY x"),
    ("Constraints", "CREATE TABLE c (x UInt8, CONSTRAINT c CHECK x > 0) ENGINE = MergeTree ORDER BY x"),
    ("MATERIALIZED and ALIAS columns", "CREATE TABLE m (x UInt8, y UInt8 MATERIALIZED x, z UInt8 ALIAS x) ENGINE = Memory"),
    ("Correlated subqueries", "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)"),
    ("Recursive WITH", "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT x FROM r"),
    ("INTERSECT and EXCEPT", "SELECT 1 INTERSECT SELECT 1"),
    ("WITH ROLLUP, CUBE", "SELECT a, count() FROM t GROUP BY a WITH ROLLUP"),
    ("GROUPING SETS", "SELECT a, count() FROM t GROUP BY GROUPING SETS ((a), ())"),
    ("WITH TOTALS", "SELECT a, count() FROM t GROUP BY a WITH TOTALS"),
    ("ORDER BY … WITH FILL", "SELECT a FROM t ORDER BY a WITH FILL"),
    ("LIMIT BY, WITH TIES", "SELECT a FROM t ORDER BY a LIMIT 1 WITH TIES"),
    ("QUALIFY", "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1"),
    ("ASOF JOIN", "SELECT t.a FROM t ASOF JOIN u ON t.b = u.b AND t.a >= u.a"),
    ("SAMPLE BY", "CREATE TABLE s (x UInt32) ENGINE = MergeTree ORDER BY x SAMPLE BY x"),
    ("PREWHERE", "SELECT a FROM t PREWHERE b = 1"),
    ("EXPLAIN PLAN, PIPELINE, SYNTAX, AST", "EXPLAIN PIPELINE SELECT a FROM t"),
    ("EXPLAIN ANALYZE", "EXPLAIN ANALYZE SELECT a FROM t"),
    ("INSERT INTO FUNCTION", "INSERT INTO FUNCTION null('x UInt8') SELECT 1"),
    ("Lambdas", "SELECT arrayMap(x -> x + 1, [1])"),
    ("Aggregate states", "SELECT sumState(a) FROM t"),
    ("BACKUP", "BACKUP TABLE t TO File('nowhere')"),
]
# A description that more settings than this share says that they are taken for compatibility, and how.
SHARED = 5
# Codes of errors that say of a name that nothing is known by it: of a function, a storage, a type, a setting and so on.
UNKNOWN = {"46", "56", "47", "50", "63", "48"}


def clickhouse_names():
    """Lines of kind, name and group, as ClickHouse in process tells them."""
    import chdb.session

    session = chdb.session.Session()
    lines = [f"version\t{session.query('SELECT version()', 'TSV').bytes().decode().strip()}\t"]
    for kind, (_, sql) in KINDS.items():
        rows = session.query(f"{sql} ORDER BY name", "TSV").bytes().decode().splitlines()
        lines += [f"{kind}\t{row}" for row in rows]
    return "\n".join(lines) + "\n"


def cell(text):
    """A text within a table of Markdown."""
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|").replace("<", "&lt;").strip()


def code(text):
    text = re.sub(r"\s+", " ", str(text)).strip()
    if not text:
        return ""
    # A bar ends a cell of a table also within code.
    return f"`` {text} ``".replace("|", "\\|") if "`" in text else f"`{text}`".replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def wrapped(text):
    """Paragraphs in lines of 100 columns; tables, headings and blocks of code as they are."""
    lines, in_code = [], False
    for line in text.split("\n"):
        in_code ^= line.startswith("```")
        if in_code or len(line) <= 100 or line.startswith(("|", "#", "```")):
            lines.append(line)
            continue
        # A span of code stays on one line.
        whole = re.sub(r"`[^`]*`", lambda span: span[0].replace(" ", "\0"), line)
        indent = "  " if line.startswith("- ") else ""
        filled = textwrap.wrap(whole, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += [part.replace("\0", " ") for part in filled]
    return "\n".join(lines)


def write(name, text):
    (REFERENCE / name).write_text(wrapped(re.sub(r"\n{3,}", "\n\n", text.strip())) + "\n")
    print(f"docs/reference/{name}")


def examples():
    """Expressions with what they give: a test of its own has at least one for each function."""
    found = []
    for record in EXAMPLES.read_text().split("\n\n"):
        match = re.match(r"query \w+\nSELECT (.*?)\n----\n(.*)", record, re.DOTALL)
        if match:
            statement = f"SELECT {match[1]}" if " FROM " in match[1] else match[1]
            rows = match[2].strip("\n").replace("(empty)", "''").replace("\t", ", ").split("\n")
            found.append((statement, "; ".join(rows)))
    return found


class Reference:
    def __init__(self, server, squall):
        self.server, self.squall = server, squall
        self.clickhouse = collections.defaultdict(dict)
        for line in NAMES.read_text().splitlines():
            kind, name, group = line.split("\t")
            self.clickhouse[kind][name] = group
        self.version = next(iter(self.clickhouse.pop("version")))

    def rows(self, sql):
        answer = self.server.ask(sql + " FORMAT JSONCompactEachRow", output_format_json_quote_64bit_integers=0)
        return [json.loads(line) for line in answer.splitlines()]

    def names(self, sql):
        return [row[0] for row in self.rows(sql)]

    def is_known(self, sql):
        """Whether a statement fails, if it fails, for another reason than that a name is unknown."""
        try:
            self.server.ask(sql)
        except RuntimeError as error:
            return (
                re.match(r"Code: (\d+)", str(error))[1] not in UNKNOWN
                and "UNKNOWN" not in str(error)
                and "NOT_IMPLEMENTED" not in str(error)
                and "SUPPORT_IS_DISABLED" not in str(error)
            )
        return True

    def known_table_functions(self):
        return [name for name in sorted(self.clickhouse["table functions"]) if self.is_known(f"EXPLAIN SELECT * FROM {name}()")]

    def known_table_engines(self):
        def tries(name):
            keyed = "MergeTree" in name
            options = {"Join": "(ANY, LEFT, x)", "Dictionary": "(d)"}.get(name, "")
            self.server.ask("DROP TABLE IF EXISTS reference_try")
            return self.is_known(f"CREATE TABLE reference_try (x UInt8) ENGINE = {name}{options}" + (" ORDER BY x" if keyed else ""))

        found = [name for name in sorted(self.clickhouse["table engines"]) if tries(name)]
        self.server.ask("DROP TABLE IF EXISTS reference_try")
        return found

    def known_combinators(self):
        tries = {
            "If": "sumIf(1, 1)",
            "Array": "sumArray([1])",
            "Map": "sumMap(map('a', 1))",
            "ForEach": "sumForEach([1])",
            "Resample": "sumResample(0, 2, 1)(1, 1)",
            "ArgMin": "sumArgMin(1, 1)",
            "ArgMax": "sumArgMax(1, 1)",
            "Merge": "sumMerge(s) FROM (SELECT sumState(1) AS s)",
            "MergeState": "finalizeAggregation(sumMergeState(s)) FROM (SELECT sumState(1) AS s)",
        }
        return [name for name in self.clickhouse["combinators"] if self.is_known(f"SELECT {tries.get(name, f'sum{name}(1)')}")]

    def functions(self):
        sql = "SELECT name, is_aggregate, case_insensitive, alias_to, deterministic, higher_order FROM system.functions ORDER BY name"
        all_functions = self.rows(sql)
        aliases = collections.defaultdict(list)
        for name, _, _, own, _, _ in all_functions:
            if own:
                aliases[own].append(name)
        known_examples = examples()

        def example(name):
            first = re.compile(rf"(SELECT )?{re.escape(name)}\(")
            call = re.compile(rf"(?<!\w){re.escape(name)}\(")
            return next(
                (found for pattern in (first.match, call.search) for found in known_examples if pattern(found[0])), ("", "")
            )

        groups, counts = collections.defaultdict(list), [0, 0]
        for name, is_aggregate, in_any_case, own, deterministic, takes_lambda in all_functions:
            if own:
                continue
            theirs = self.clickhouse["functions"].get(name, "")
            group = "Aggregate" if is_aggregate else theirs.split(",")[0].strip() or "Other"
            said, answer = next((found for found in map(example, [name, *aliases[name]]) if found[0]), ("", ""))
            counts[0] += 1
            counts[1] += bool(said)
            notes = []
            if in_any_case:
                notes.append("any case")
            if takes_lambda:
                notes.append("takes a lambda")
            if deterministic == 0:
                notes.append("not deterministic")
            groups[group].append(
                [code(name), code(said), code(answer), ", ".join(map(code, aliases[name])), ", ".join(notes)]
            )
        text = f"""# Functions

Squall has {counts[0]} functions under {len(all_functions)} names. {counts[1]} of them have an example here. A test runs each
example (`tests/slt/function_examples.slt`) and expects the answer of ClickHouse {self.version}. Names are case-sensitive
unless the table says "any case". Groups are ClickHouse's categories.

"""
        for group in sorted(groups, key=lambda group: (group == "Other", group)):
            title = {"Aggregate": "Aggregate and window functions"}.get(group, group)
            text += f"## {title}\n\n" + table(["function", "example", "gives", "aliases", "notes"], groups[group]) + "\n"
        combinators = ", ".join(map(code, sorted(self.known_combinators())))
        text += f"## Combinators\n\nAn aggregate function's name may end in one or more of these: {combinators}.\n"
        write("functions.md", text)

    def carried_out(self, table_name):
        """The settings of a system table that do something here, as rows, and the others' names by what is said of them: many share it."""
        rows = self.rows(f"SELECT name, type, default, description FROM system.{table_name} ORDER BY name")
        times = collections.Counter(row[3] for row in rows)
        others = collections.defaultdict(list)
        for name, _, _, said in rows:
            if times[said] > SHARED:
                others[said].append(name)
        return [row for row in rows if times[row[3]] <= SHARED], others

    def settings(self):
        text = "# Settings\n\n"
        for table_name, title, how in [
            (
                "settings",
                "Settings of queries",
                "Set them with `SET name = value`, in the SETTINGS clause of a query, in the URL over HTTP, in a profile, or with\n"
                "ALTER USER. A setting whose description begins with \"Squall\" is not ClickHouse's.",
            ),
            (
                "merge_tree_settings",
                "Settings of MergeTree tables",
                "Give them in CREATE TABLE … SETTINGS, or change them with ALTER TABLE … MODIFY SETTING.",
            ),
        ]:
            rows, others = self.carried_out(table_name)
            text += f"## {title}\n\n{how}\n\n"
            text += table(["setting", "type", "default", "what it does"], [[code(n), cell(t), code(d), cell(w)] for n, t, d, w in rows])
            for said, names in sorted(others.items()):
                text += f"\n**{cell(said)}** " + ", ".join(map(code, names)) + "\n"
            text += "\n"
        write("settings.md", text)

    def configuration(self):
        changes = {"No": "restart", "Yes": "at once", "IncreaseOnly": "at once, only up", "DecreaseOnly": "at once, only down"}
        rows = self.rows("SELECT name, type, default, changeable_without_restart, description FROM system.server_settings ORDER BY name")
        text = """# Configuration

Squall reads ClickHouse's config.xml, with `config.d`, users.xml and `users.d` beside it. Each of the following
settings is an element of config.xml. The column "takes effect" says whether a change needs a restart.

"""
        text += table(
            ["element", "type", "default", "takes effect", "what it does"],
            [[code(n), cell(t), code(d), changes.get(c, cell(c)), cell(w)] for n, t, d, c, w in rows],
        )
        verdicts = self.verdicts()
        text += """
## Other elements of ClickHouse's configuration

`squall check-config FILE` says for your own file what each element does. This is what it says of every server setting that
ClickHouse knows.

"""
        for title, heading, explanation in [
            ("Stops the start", "Elements that stop the start", "They protect something that Squall would not protect."),
            ("Warned of", "Elements that are ignored with a warning", "What they ask for is not done."),
            ("Without effect", "Elements that need no effect", "Squall has nothing that they could change."),
        ]:
            found = verdicts.get(title, {})
            text += f"### {heading}\n\n{explanation}\n\n"
            rows = [[", ".join(map(code, sorted(names))), cell(why)] for why, names in sorted(found.items())]
            text += table(["elements", "why"], rows) + "\n"
        write("configuration.md", text)

    def verdicts(self):
        """What `squall check-config` says of each of ClickHouse's server settings: by title, then by reason, names."""
        titles = ("Stops the start", "Warned of", "Without effect")
        known = set(self.names("SELECT name FROM system.server_settings"))
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.xml"
            for name in sorted(set(self.clickhouse["server settings"]) - known):
                said = {}
                # An element that protects something stops the start by one of the two.
                for value in ("1", "0"):
                    path.write_text(f"<clickhouse><{name}>{value}</{name}></clickhouse>\n")
                    checked = subprocess.run([self.squall, "check-config", path], capture_output=True, text=True, check=False).stdout
                    for title, reason in re.findall(r"(?m)^(\w+ \w+(?: \w+)?).*:\n .*?<\w+>(?: is ignored)?:? ?(.*)$", checked):
                        said.setdefault(next(known for known in titles if title.startswith(known)), reason or "unknown to Squall")
                title = next((title for title in titles if title in said), None)
                if title:
                    found[title][said[title]].append(name)
        return found

    def system_tables(self):
        tables = self.rows("SELECT name, engine FROM system.tables WHERE database = 'system' ORDER BY name")
        columns = collections.defaultdict(list)
        for name, column, kind in self.rows(
            "SELECT table, name, type FROM system.columns WHERE database = 'system' ORDER BY table, position"
        ):
            columns[name].append((column, kind))
        text = f"""# System tables

The database `system` has {len(tables)} tables here. The log tables are there once the server has written to them.

"""
        for name, _ in tables:
            kinds = [f"{code(column)} {cell(kind)}" for column, kind in columns[name]]
            text += f"## system.{name}\n\n" + ("; ".join(kinds) or "No columns.") + "\n\n"
        write("system-tables.md", text)

    def metrics(self):
        # Measured for the first time some seconds after the start.
        for _ in range(300):
            if self.rows("SELECT 1 FROM system.asynchronous_metrics LIMIT 1"):
                break
            time.sleep(0.1)
        text = "# Events and metrics\n\n"
        for title, what, sql in [
            (
                "Events",
                "Counters in `system.events`, in `ProfileEvents` of the query logs, and as `ProfileEvent_…` in `system.metric_log`.",
                "SELECT event, description FROM system.events ORDER BY event SETTINGS system_events_show_zero_values = 1",
            ),
            (
                "Metrics",
                "Gauges in `system.metrics`, and as `CurrentMetric_…` in `system.metric_log`.",
                "SELECT metric, description FROM system.metrics ORDER BY metric",
            ),
            (
                "Asynchronous metrics",
                "Measured each second, in `system.asynchronous_metrics` and `system.asynchronous_metric_log`. Names with a number "
                "are one for each CPU or device.",
                "SELECT DISTINCT replaceRegexpOne(metric, '(CPU|_)[0-9]+$', '\\\\1N') AS name, any(description) "
                "FROM system.asynchronous_metrics GROUP BY name ORDER BY name",
            ),
            (
                "Histograms",
                "In `system.histogram_metrics` and `/metrics`.",
                "SELECT metric, any(description) FROM system.histogram_metrics GROUP BY metric ORDER BY metric",
            ),
        ]:
            text += f"## {title}\n\n{what}\n\n"
            text += table(["name", "what it is"], [[code(name), cell(said)] for name, said in self.rows(sql)]) + "\n"
        write("metrics.md", text)

    def formats(self):
        rows = self.rows("SELECT name, is_input, is_output FROM system.formats ORDER BY name")
        mark = {0: "", 1: "yes"}
        text = f"# Formats\n\nSquall has {len(rows)} formats, under ClickHouse's names.\n\n"
        text += table(["format", "reads", "writes"], [[code(name), mark[reads], mark[writes]] for name, reads, writes in rows])
        write("formats.md", text)

    def types_and_engines(self):
        rows = self.rows("SELECT name, case_insensitive, alias_to FROM system.data_type_families ORDER BY name")
        aliases = collections.defaultdict(list)
        for name, _, own in rows:
            if own:
                aliases[own].append(name)
        text = "# Types and engines\n\n## Data types\n\n"
        own = [[code(name), ", ".join(map(code, aliases[name]))] for name, _, alias_to in rows if not alias_to]
        text += table(["type", "aliases"], own)
        text += "\n## Table engines\n\n" + ", ".join(map(code, self.known_table_engines())) + "\n"
        text += "\n## Table functions\n\n" + ", ".join(map(code, self.known_table_functions())) + "\n"
        write("types-and-engines.md", text)

    def statements(self):
        """A table of what became of each statement."""
        rows = []
        for title, sql in STATEMENTS:
            for statement in (
                "DROP DATABASE IF EXISTS reference_try",
                "CREATE DATABASE reference_try",
                "CREATE TABLE reference_try.t (a UInt64, b UInt8) ENGINE = MergeTree ORDER BY a",
                "CREATE TABLE reference_try.u (a UInt64, b UInt8) ENGINE = MergeTree ORDER BY a",
                "INSERT INTO reference_try.t VALUES (1, 1)",
            ):
                self.server.ask(statement)
            found = ""
            try:
                self.server.ask(sql, database="reference_try")
            except RuntimeError as error:
                found = re.findall(r"\(([A-Z_]+)\)", str(error))[-1]
            # A backup needs a place first, which this server has not.
            is_there = not found or found == "INVALID_CONFIG_PARAMETER"
            rows.append([title, "yes" if is_there else "", "" if is_there else code(found), code(sql)])
        self.server.ask("DROP DATABASE IF EXISTS reference_try")
        self.server.ask("DROP USER IF EXISTS someone")
        return table(["statement or clause", "works", "error", "tried with"], rows)

    def missing(self):
        here = {
            "functions": self.names("SELECT name FROM system.functions"),
            "aggregate functions": self.names("SELECT name FROM system.functions WHERE is_aggregate"),
            "combinators": self.known_combinators(),
            "table functions": self.known_table_functions(),
            "table engines": self.known_table_engines(),
            "data types": self.names("SELECT name FROM system.data_type_families"),
            "formats": self.names("SELECT name FROM system.formats"),
            "settings": [row[0] for row in self.carried_out("settings")[0]],
            "MergeTree settings": [row[0] for row in self.carried_out("merge_tree_settings")[0]],
            "server settings": self.names("SELECT name FROM system.server_settings"),
            "system tables": self.names("SELECT name FROM system.tables WHERE database = 'system'"),
        }
        text = f"""# What is missing

A script makes this page from a running server and from ClickHouse {self.version}.

## Statements and clauses

{self.statements()}
## Names

The table compares names with ClickHouse {self.version}. A name that both have need not behave alike in every case, and a
missing name may be one that nobody needs here. Settings count as missing if Squall only accepts them for compatibility
([settings](settings.md)).

"""
        summary, lists = [], ""
        for kind, names in here.items():
            title, theirs = KINDS[kind][0], self.clickhouse[kind]
            missing = sorted(set(theirs) - set(names), key=str.lower)
            if "functions" in kind and kind != "table functions":
                # What is part of the language, as arrayJoin is, is in no list.
                missing = [name for name in missing if not self.is_known(f"EXPLAIN SELECT {name}()")]
            own = sorted(set(names) - set(theirs), key=str.lower) if kind in ("settings", "server settings", "system tables") else []
            summary.append([f"[{title}](#{title.lower().replace(' ', '-')})", str(len(theirs)), str(len(theirs) - len(missing)), str(len(missing))])
            lists += f"## {title}\n\n"
            groups = collections.defaultdict(list)
            for name in missing:
                groups[theirs[name].split(",")[0].strip() if kind == "functions" else ""].append(code(name))
            for group in sorted(groups):
                lists += (f"**{cell(group)}**: " if group else "") + ", ".join(groups[group]) + "\n\n"
            if own:
                lists += "Only in Squall: " + ", ".join(map(code, own)) + "\n\n"
        text += table(["names", f"ClickHouse {self.version}", "also in Squall", "missing"], summary) + "\n" + lists
        text += f"## What the tests compare\n\n{self.conformance()}\n"
        write("missing.md", text)

    def conformance(self):
        """How many answers of ClickHouse the tests expect of Squall."""
        scripts = [path.read_text() for path in EXAMPLES.parent.glob("*.slt")]
        theirs = [script for script in scripts if script.startswith("# Written by generate.py")]
        statements = sum(len(re.findall(r"(?m)^(query|statement) ", script)) for script in theirs)
        cases = sum(1 for line in ACCESS_CASES.read_text().splitlines() if line.endswith(("\tallowed", "\tdenied")))
        return (
            f"Every release must give the answers that ClickHouse gave to {statements:,} statements (`tests/slt`), and its "
            f"verdict in {cases:,} cases of access control (`tests/clients/access_cases.tsv`)."
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", default="target/release/squall", help="the server's program")
    parser.add_argument("--clickhouse", action="store_true", help="ask ClickHouse (chdb) for its names anew")
    args = parser.parse_args()
    REFERENCE.mkdir(exist_ok=True)
    if args.clickhouse:
        NAMES.write_text(clickhouse_names())
    with tempfile.TemporaryDirectory() as folder, MeasuredServer.of(args.squall, folder) as server:
        server.ask("SYSTEM FLUSH LOGS")
        reference = Reference(server, pathlib.Path(args.squall).resolve())
        reference.functions()
        reference.settings()
        reference.configuration()
        reference.system_tables()
        reference.metrics()
        reference.formats()
        reference.types_and_engines()
        reference.missing()


if __name__ == "__main__":
    main()
