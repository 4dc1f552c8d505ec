"""What ClickHouse 26.9 does with a Squall server through its table function remote(). Each check prints a line: "ok NAME", or
"FAILED NAME: why". Arguments: the native port, a folder for ClickHouse's own tables."""

import sys

from chdb import session

PORT, FOLDER = sys.argv[1:]
ADDRESS = f"127.0.0.1:{PORT}"
REMOTE = f"remote('{ADDRESS}', default.chdb_remote)"
BOTH = f"remote('{ADDRESS},{ADDRESS}', default.chdb_remote)"
COLUMNS = """a UInt64, b String, c Nullable(Int32), d Array(String), e DateTime64(3), f Map(String, UInt8), g LowCardinality(String),
    h Tuple(x UInt8, y String), i UUID, k Enum8('a' = 1), l Bool, m Date, n FixedString(3), o IPv6"""
ROWS = """number, toString(number), if(number % 2 = 0, NULL, number), [toString(number)], toDateTime64(number, 3), map('k', 1), 'lc', (1, 'y'),
    toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), 'a', true, toDate('2024-01-02'), 'abc', '::1'"""

clickhouse = session.Session(FOLDER)
failed = False


def ask(sql):
    return str(clickhouse.query(sql, "TSV"))


def check(name, sql, expected=None, error=None):
    global failed
    try:
        found = ask(sql)
        well = error is None and (expected is None or found == expected)
    except Exception as exception:
        found = str(exception)
        well = error is not None and error in found
    failed = failed or not well
    print(f"ok {name}" if well else f"FAILED {name}: {found!r:.300}", flush=True)


check("select", f"SELECT * FROM remote('{ADDRESS}', system.one)", "0\n")
check("table functions", f"SELECT count(), sum(number) FROM remote('{ADDRESS}', numbers(1000000))", "1000000\t499999500000\n")
check("views", f"SELECT * FROM remote('{ADDRESS}', view(SELECT 1 AS x))", "1\n")
check("version", f"SELECT version() FROM remote('{ADDRESS}', system.one)")
check("describe", f"DESCRIBE {REMOTE} FORMAT Null", "")
for number in range(3):
    check(f"insert {number}", f"INSERT INTO FUNCTION {REMOTE} SELECT {ROWS} FROM numbers({number * 50000}, 50000)", "")
check("insert zstd", f"INSERT INTO FUNCTION {REMOTE} SELECT {ROWS} FROM numbers(10) SETTINGS network_compression_method = 'ZSTD'", "")
check("every type", f"SELECT * FROM {REMOTE} WHERE a = 50005", ask("SELECT " + ROWS.replace("number", "50005")))
check("filter", f"SELECT g, f['k'], h FROM {REMOTE} WHERE a = 50005", "lc\t1\t(1,'y')\n")
check("subcolumns", f"SELECT h.y, d.size0 FROM {REMOTE} WHERE a = 50005", "y\t1\n")
check("groups", f"SELECT a % 3 AS k, count(), sum(a), max(b) FROM {REMOTE} WHERE a >= 10 GROUP BY k ORDER BY k LIMIT 1", "0\t49996\t3749924982\t99999\n")
check("totals", f"SELECT a % 2 AS k, count() FROM {REMOTE} WHERE a >= 10 GROUP BY k WITH TOTALS ORDER BY k", "0\t74995\n1\t74995\n\n0\t149990\n")
check("joins", f"SELECT count() FROM {REMOTE} AS r JOIN numbers(10, 10) AS n ON r.a = n.number", "10\n")
check("sets", f"SELECT count() FROM {REMOTE} WHERE a IN (SELECT number FROM numbers(10, 10))", "10\n")
check("global sets", f"SELECT count() FROM {REMOTE} WHERE a GLOBAL IN (SELECT number FROM numbers(10, 10))", "10\n")
check("order", f"SELECT a FROM {REMOTE} ORDER BY a DESC LIMIT 2 OFFSET 2", "149997\n149996\n")
check("windows", f"SELECT a, row_number() OVER (ORDER BY a) FROM {REMOTE} WHERE a >= 10 ORDER BY a LIMIT 1", "10\t1\n")
check("distinct", f"SELECT DISTINCT a % 2 FROM {REMOTE} ORDER BY 1", "0\n1\n")
check("error", f"SELECT throwIf(a = 50000) FROM {REMOTE} FORMAT Null", error="FUNCTION_THROW_IF_VALUE_IS_NON_ZERO")
check("no such table", f"SELECT * FROM remote('{ADDRESS}', default.no_such)", error="There is no table")
check("copy", f"CREATE TABLE copied ENGINE = MergeTree ORDER BY a AS SELECT * FROM {REMOTE} WHERE a >= 10", "")
check("copied", "SELECT count() FROM copied", "149990\n")
check("two servers", f"SELECT a FROM {BOTH} WHERE a = 50005", "50005\n50005\n")
check("order of two servers", f"SELECT b FROM {BOTH} WHERE a > 10 ORDER BY a DESC LIMIT 3 OFFSET 1", "149999\n149998\n149998\n")
check("order by an expression", f"SELECT a + 1, upper(g) FROM {BOTH} WHERE a > 10 ORDER BY a % 1000, a LIMIT 2", "1001\tLC\n1001\tLC\n")
check("limit of two servers", f"SELECT g FROM {BOTH} LIMIT 2", "lc\nlc\n")
check("distinct of two servers", f"SELECT DISTINCT l FROM {BOTH}", "true\n")
check("limit by", f"SELECT a FROM {BOTH} WHERE a IN (20, 21) ORDER BY a LIMIT 1 BY a", "20\n21\n")
# What needs the states of aggregate functions says so.
check("groups of two servers", f"SELECT count() FROM {BOTH}", error="is not implemented")
check("again", f"SELECT 1 FROM {REMOTE} LIMIT 1", "1\n")
sys.exit(failed)
