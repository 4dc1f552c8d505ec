#!/usr/bin/env python3
"""Writes tests/clients/access_cases.tsv: who may run which statement, as ClickHouse itself says (chdb of PyPI, in process).

Each user's grants become those of chdb's own user, which then runs every statement: what is refused with ACCESS_DENIED is not allowed;
any other answer is. Nothing of the network is used. Run it with a Python that has chdb: `python scripts/access_cases.py`.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

OUT = pathlib.Path(__file__).parent.parent / "tests" / "clients" / "access_cases.tsv"

SETUP = [
    "CREATE DATABASE IF NOT EXISTS d",
    "CREATE DATABASE IF NOT EXISTS e",
    "CREATE DATABASE IF NOT EXISTS f",
    "CREATE TABLE IF NOT EXISTS d.t (a Int32, b Int32, c Int32) ENGINE = MergeTree ORDER BY a",
    "CREATE TABLE IF NOT EXISTS d.u (x Int32) ENGINE = Memory",
    "CREATE TABLE IF NOT EXISTS e.t (x Int32) ENGINE = Memory",
    "CREATE TABLE IF NOT EXISTS d.gone (x Int32) ENGINE = Memory",
    "CREATE TABLE IF NOT EXISTS d.empty (x Int32) ENGINE = Memory",
    "CREATE TABLE IF NOT EXISTS d.empty2 (a Int32, b Int32, c Int32) ENGINE = MergeTree ORDER BY a",
    "CREATE TABLE IF NOT EXISTS d.o (x Int32) ENGINE = MergeTree ORDER BY x",
    "CREATE TABLE IF NOT EXISTS d.old (x Int32) ENGINE = Memory",
    "CREATE DICTIONARY IF NOT EXISTS d.dict (k UInt64, v String) PRIMARY KEY k"
    " SOURCE(NULL()) LAYOUT(FLAT()) LIFETIME(0)",
    "CREATE TABLE IF NOT EXISTS d.j (k Int32, v Int32, w Int32) ENGINE = Join(ANY, LEFT, k)",
    "CREATE TABLE IF NOT EXISTS d.al (a Int32, b Int32, s Int32 ALIAS a + b, m Int32 MATERIALIZED b * 2)"
    " ENGINE = MergeTree ORDER BY a",
]

USERS = {
    "nobody": [],
    "reader": ["GRANT SELECT ON d.*"],
    "all_reader": ["GRANT SELECT ON *.*"],
    "columns": ["GRANT SELECT(a) ON d.t"],
    "but_b": ["GRANT SELECT ON d.t", "REVOKE SELECT(b) ON d.t"],
    "but_table": ["GRANT SELECT ON *.*", "REVOKE SELECT ON d.t"],
    "writer": ["GRANT INSERT ON d.*"],
    "writer_a": ["GRANT INSERT(a) ON d.t"],
    "shower": ["GRANT SHOW ON *.*"],
    "maker": ["GRANT CREATE ON d.*", "GRANT DROP ON d.*"],
    "copier": ["GRANT CREATE TABLE, INSERT, SELECT ON d.*"],
    "mover": ["GRANT SELECT, INSERT, CREATE TABLE, DROP TABLE ON d.*"],
    "owner": ["GRANT ALL ON d.*"],
    "all_but_d": ["GRANT ALL ON *.*", "REVOKE ALL ON d.*"],
    "operator": ["GRANT SYSTEM ON *.*", "GRANT KILL QUERY ON *.*"],
    "flusher": ["GRANT SYSTEM FLUSH LOGS, OPTIMIZE, TRUNCATE ON *.*"],
    "security": ["GRANT ACCESS MANAGEMENT ON *.*"],
    "auditor": ["GRANT SHOW USERS, SHOW ROLES ON *.*"],
    "recruiter": ["GRANT CREATE USER ON fresh*"],
    "prefix": ["GRANT SELECT ON d*.*"],
    "table_prefix": ["GRANT SELECT ON d.t*"],
    "member": ["GRANT r"],
    "looker": ["GRANT dictGet ON d.dict"],
    "prober": ["GRANT INTROSPECTION ON *.*"],
    "source": ["GRANT SELECT(a, b) ON d.al"],
    "joiner": ["GRANT SELECT(k, v) ON d.j"],
    "but_w": ["GRANT SELECT ON d.*", "REVOKE SELECT(w) ON d.j", "REVOKE SELECT(b) ON d.t"],
    "far": ["GRANT SELECT(a) ON d.t", "GRANT READ ON REMOTE", "GRANT CREATE TEMPORARY TABLE ON *.*"],
    "root": ["GRANT ALL ON *.*"],
}

STATEMENTS = [
    "SELECT 1",
    "SELECT a FROM d.t",
    "SELECT b FROM d.t",
    "SELECT a, b FROM d.t",
    "SELECT * FROM d.t",
    "SELECT count() FROM d.t",
    "SELECT a FROM (SELECT * FROM d.t)",
    "SELECT a FROM d.t WHERE b = 1",
    "SELECT a FROM d.t ORDER BY b",
    "SELECT max(b) FROM d.t",
    "SELECT x FROM d.u",
    "SELECT x FROM e.t",
    "SELECT number FROM numbers(3)",
    # Rows of other tables by another name.
    "SELECT joinGet('d.j', 'v', toInt32(1))",
    "SELECT joinGet('d.j', 'w', toInt32(1))",
    "SELECT joinGet(d.j, 'w', toInt32(1))",
    "SELECT joinGetOrNull('d.j', 'w', toInt32(1))",
    "SELECT v FROM (SELECT 1::Int32 AS k) AS l ANY LEFT JOIN d.j AS j USING k",
    "SELECT w FROM (SELECT 1::Int32 AS k) AS l ANY LEFT JOIN d.j AS j USING k",
    "SELECT v FROM d.j",
    "SELECT w FROM d.j",
    "SELECT 1 IN d.u",
    "SELECT a FROM d.t WHERE a IN d.u",
    "SELECT x FROM e.t WHERE x NOT IN d.u",
    "SELECT a FROM merge('d', '^t$')",
    "SELECT b FROM merge('d', '^t$')",
    "SELECT a FROM merge('d', '^(t|u)$')",
    "SELECT _table FROM merge('d', '^t$')",
    "SELECT count() FROM merge('d', '^t$')",
    "SELECT count() FROM merge('d', '^u$')",
    "SELECT a FROM remote('127.0.0.1', d.t)",
    "SELECT b FROM remote('127.0.0.1', d.t)",
    "SELECT * FROM view(SELECT a FROM d.t)",
    "SELECT * FROM view(SELECT b FROM d.t)",
    "SELECT k FROM d.dict",
    "SELECT dictHas('d.dict', toUInt64(1))",
    "SELECT dictGetOrDefault('d.dict', 'v', toUInt64(1), 'x')",
    "SELECT m FROM d.al",
    "SELECT a + b FROM d.al",
    # Columns that something needs, wherever it stands.
    "SELECT 1 FROM d.t",
    "SELECT count(b) FROM d.t",
    "SELECT count() FROM d.t WHERE b = 1",
    "SELECT ignore(b) FROM d.t",
    "SELECT a FROM d.t PREWHERE b = 1",
    "SELECT a FROM d.t GROUP BY a, b",
    "SELECT a FROM d.t GROUP BY a HAVING max(b) > 0",
    "SELECT a FROM d.t QUALIFY row_number() OVER (ORDER BY b) = 1",
    "SELECT a FROM d.t LIMIT 1 BY b",
    "SELECT a FROM d.t ARRAY JOIN [b] AS z",
    "SELECT t.a FROM d.t AS t JOIN d.t AS s ON t.a = s.b",
    "SELECT t.a FROM d.t AS t JOIN (SELECT b AS a FROM d.t) AS s USING a",
    "SELECT 1 FROM d.t, d.u",
    "SELECT * EXCEPT (b, c) FROM d.t",
    "SELECT COLUMNS('a') FROM d.t",
    "SELECT a FROM d.t UNION ALL SELECT b FROM d.t",
    "SELECT exists(SELECT b FROM d.t)",
    "SELECT exists(SELECT 1 FROM d.t WHERE b = 1)",
    "WITH (SELECT max(b) FROM d.t) AS m SELECT m",
    "SELECT arrayMap(x -> x + b, [a]) FROM d.t",
    "EXPLAIN SYNTAX SELECT b FROM d.t",
    "EXPLAIN AST SELECT b FROM d.t",
    "EXPLAIN PIPELINE SELECT b FROM d.t",
    "SHOW COLUMNS FROM d.t",
    "SHOW TABLES FROM d",
    "SHOW CREATE DICTIONARY d.dict",
    "SELECT 1 IN (SELECT b FROM d.t)",
    "SELECT (SELECT max(b) FROM d.t)",
    "SELECT t.a FROM d.t AS t JOIN d.u AS u ON t.a = u.x",
    "SELECT a FROM d.t UNION ALL SELECT x FROM e.t",
    "WITH q AS (SELECT b FROM d.t) SELECT 1 FROM q",
    "EXPLAIN SELECT b FROM d.t",
    "DESCRIBE TABLE d.t",
    "DESCRIBE (SELECT b FROM d.t)",
    "SHOW CREATE TABLE d.t",
    "EXISTS TABLE d.t",
    "EXISTS TABLE e.t",
    "EXISTS DATABASE e",
    "SHOW CREATE DATABASE e",
    "USE d",
    "USE e",
    "INSERT INTO d.t (a) SELECT 1",
    "INSERT INTO d.t SELECT 1, 2, 3",
    "INSERT INTO d.t (a) SELECT x FROM d.u",
    "CREATE TABLE d.new (a Int32) ENGINE = Memory",
    "CREATE TABLE d.copy AS d.t",
    "CREATE TABLE d.filled ENGINE = Memory AS SELECT a FROM d.t",
    "CREATE TABLE d.cloned CLONE AS d.t",
    "CREATE TABLE d.filled ENGINE = Memory AS SELECT b FROM d.t",
    "CREATE TABLE d.fn AS merge('d', '^t$')",
    "INSERT INTO d.u SELECT b FROM d.t",
    "INSERT INTO d.t (a) SELECT b FROM d.t",
    "ALTER TABLE d.empty2 ATTACH PARTITION ALL FROM d.t",
    "ALTER TABLE d.empty2 REPLACE PARTITION tuple() FROM d.t",
    "ALTER TABLE d.t MOVE PARTITION tuple() TO TABLE d.empty2",
    "KILL QUERY WHERE query_id = (SELECT toString(max(b)) FROM d.t) TEST",
    "CREATE DATABASE fresh",
    "CREATE DICTIONARY d.di (k UInt64, v String) PRIMARY KEY k SOURCE(NULL()) LAYOUT(FLAT()) LIFETIME(0)",
    "SELECT dictGet('d.dict', 'v', toUInt64(1))",
    "SELECT demangle('_Z1f') SETTINGS allow_introspection_functions = 1",
    "SET max_threads = 1",
    "KILL QUERY WHERE query_id = 'none'",
    "SYSTEM FLUSH LOGS",
    "SYSTEM RELOAD DICTIONARIES",
    "SYSTEM CLEAR QUERY CACHE",
    "SYSTEM RELOAD ASYNCHRONOUS METRICS",
    "CREATE USER fresh_user",
    "CREATE ROLE fresh_role",
    "CREATE ROW POLICY p ON d.t USING 1",
    "CREATE QUOTA q",
    "CREATE SETTINGS PROFILE pr",
    "DROP USER other",
    "DROP ROLE r2",
    "GRANT SELECT ON d.t TO other",
    "GRANT r2 TO other",
    "SELECT count() FROM system.users",
    "SELECT count() FROM system.roles",
    "SELECT count() FROM system.grants",
    "SELECT count() FROM system.row_policies",
    "SELECT count() FROM system.quotas",
    "SELECT count() FROM system.settings_profiles",
    "SELECT count() FROM system.tables",
    "SELECT count() FROM system.columns",
    "SELECT count() FROM system.parts",
    "SELECT count() FROM system.processes",
    "SELECT count() FROM system.mutations",
    "SELECT count() FROM system.dictionaries",
    "SELECT count() FROM system.warnings",
    "SHOW USERS",
    "SHOW ROLES",
    "SHOW ACCESS",
    "SHOW GRANTS",
    "SHOW GRANTS FOR other",
    "SHOW CREATE USER other",
    "OPTIMIZE TABLE d.o",
    "TRUNCATE TABLE d.empty",
    "RENAME TABLE d.old TO d.new_name",
    "DROP TABLE d.gone",
    "DROP DICTIONARY d.dict",
    "DROP DATABASE f",
]

RUN = r"""
import json, sys
import chdb
path, statements = json.load(sys.stdin)
connection = chdb.connect(path)
answers = []
for statement in statements:
    try:
        connection.query(statement, "Null")
        answers.append("")
    except Exception as error:
        answers.append(str(error))
print(json.dumps(answers))
"""


def run(folder, grants, statements):
    queries = "".join(f"<query>{query}</query>" for query in grants or [])
    rights = "" if grants is None else f"<grants>{queries}</grants>"
    config = folder / "config.xml"
    anywhere = "<password/><networks><ip>::/0</ip></networks>"
    config.write_text(
        f"<clickhouse><user_directories><users_xml><path>{config}</path></users_xml></user_directories>"
        "<profiles><default/></profiles><quotas><default/></quotas>"
        "<roles><r><grants><query>GRANT SELECT ON d.t</query></grants></r><r2/></roles>"
        f"<users><default>{anywhere}{rights}</default><other>{anywhere}<grants><query>GRANT r2</query></grants></other></users>"
        "</clickhouse>"
    )
    job = json.dumps([f"{folder}/data?config-file={config}", statements])
    done = subprocess.run([sys.executable, "-c", RUN], input=job, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    lines = ["# Made by scripts/access_cases.py of chdb (ClickHouse 26.9): user, statement, allowed?"]
    lines += [f"setup\t{statement}\t" for statement in SETUP]
    for user, grants in USERS.items():
        lines += [f"grant {user}\t{grant}\t" for grant in grants or ["GRANT NONE ON *.*"]]
    for user, grants in USERS.items():
        folder = pathlib.Path(tempfile.mkdtemp())
        for error in filter(None, run(folder, None, SETUP)):
            sys.exit(error)
        for statement, error in zip(STATEMENTS, run(folder, grants or ["GRANT NONE ON *.*"], STATEMENTS)):
            lines.append(f"{user}\t{statement}\t{'denied' if 'ACCESS_DENIED' in error else 'allowed'}")
        shutil.rmtree(folder)
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{OUT}: {len(USERS) * len(STATEMENTS)} cases")


if __name__ == "__main__":
    main()
