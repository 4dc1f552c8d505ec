"""Apache Superset with clickhouse-connect, set up and served by gunicorn as its documentation says. Its configuration is in superset/.

The tests send what the browser sends: the form that logs in, its cookie, the token against forged requests, and then the REST API. Flask's
test client would save little, since importing Superset takes the time, and would leave out threads that share connections. Superset offers
no cancel, no estimates and no validation of SQL for ClickHouse, so these are not tried."""

import collections
import concurrent.futures
import csv
import datetime
import itertools
import json
import os
import re
import shutil
import subprocess
import types
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from ports import free_port
from program import environment, has_environment, source
from server import wait_until

pytestmark = [
    pytest.mark.skipif(not has_environment("superset"), reason="NOT TESTED: `make test-superset` installs Superset"),
    pytest.mark.usefixtures("server"),
    # The first test waits until all is set up.
    pytest.mark.timeout(1200),
]

# Each of Superset's programs first imports all of it, and here beside other work.
START_SECONDS = 300
PASSWORD = "secret"

START = datetime.datetime(2024, 1, 1)
END = datetime.datetime(2025, 1, 1)
CREATE_SALES = """CREATE TABLE {} (
    id UInt64, at DateTime COMMENT 'when it was sold', day Date, country LowCardinality(String), city Nullable(String),
    amount Decimal(10, 2), paid Bool, tags Array(String) DEFAULT [country], INDEX amounts amount TYPE minmax
) ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY (country, at)"""


def sale(number):
    """A row of the table that the charts are about."""
    at = START + datetime.timedelta(seconds=number * 10_807)
    country = ("AT", "DE", "CH", "AT", "DE", "AT")[number % 6]
    city = f"{country}-{number % 5}" if number % 4 else None
    return types.SimpleNamespace(id=number, at=at, day=at.date(), country=country, city=city, amount=number / 4, paid=number % 7 < 3)


# They go on after END.
SALES = [sale(number) for number in range(3_000)]


class Superset:
    """A browser that is logged in to Superset, and its connection to the database of a server."""

    def __init__(self, port, server, schema):
        self.address = f"http://127.0.0.1:{port}"
        self.schema = schema
        self.headers = {"Referer": self.address}
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        token = re.search(r'id="csrf_token"\s+value="([^"]+)"', self.get("/login/", str))[1]
        form = {"username": "admin", "password": PASSWORD, "csrf_token": token}
        self.send("POST", "/login/", urllib.parse.urlencode(form).encode())
        self.headers |= {"X-CSRFToken": self.get("/api/v1/security/csrf_token/")["result"], "Content-Type": "application/json"}
        self.database_id = self.connect(server)
        self.database = f"/api/v1/database/{self.database_id}"

    def send(self, method, path, body=None):
        """The status and the text of a response."""
        request = urllib.request.Request(self.address + path, body, self.headers, method=method)
        try:
            with self.opener.open(request, timeout=120) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def get(self, path, read=json.loads):
        return self.answer(read, "GET", path)

    def post(self, path, document, read=json.loads):
        return self.answer(read, "POST", path, json.dumps(document).encode())

    def answer(self, read, *request):
        status, text = self.send(*request)
        assert status in (200, 201), f"{request}: {status} {text}"
        return read(text)

    def refusal(self, path, document):
        """What a request fails with, as the user reads it."""
        status, text = self.send("POST", path, json.dumps(document).encode())
        assert status >= 400, text
        answer = json.loads(text)
        return answer["message"] if "message" in answer else answer["errors"][0]["message"]

    # --- the database ---

    def connect(self, server):
        """Creates the database as the form for ClickHouse does; returns its number."""
        parameters = {"host": "127.0.0.1", "port": server.http_port, "username": "default", "password": "", "database": self.schema}
        document = {
            "database_name": "Squall",
            "engine": "clickhousedb",
            "driver": "connect",
            "configuration_method": "dynamic_form",
            "parameters": parameters | {"encryption": False, "query": {}},
        }
        assert self.post("/api/v1/database/validate_parameters/", document) == {"message": "OK"}
        rights = {"expose_in_sqllab": True, "allow_ctas": True, "allow_cvas": True, "allow_dml": True}
        return self.post("/api/v1/database/", document | rights)["id"]

    def statement(self, sql, limit=1000, **options):
        return {"database_id": self.database_id, "schema": self.schema, "sql": sql, "queryLimit": limit, "runAsync": False, **options}

    def execute(self, sql, limit=1000, **options):
        """What SQL Lab shows of a statement."""
        return self.post("/api/v1/sqllab/execute/", self.statement(sql, limit, **options))

    def create_dataset(self, name, **options):
        document = {"database": self.database_id, "schema": self.schema, "table_name": name, **options}
        return self.post("/api/v1/dataset/", document)["id"]

    def dataset_columns(self, dataset):
        """The types of its columns by their names."""
        columns = self.get(f"/api/v1/dataset/{dataset}")["result"]["columns"]
        return {column["column_name"]: column["type"] for column in columns}

    # --- charts ---

    def charts(self, dataset, *queries, read=json.loads, **options):
        document = {"datasource": {"id": dataset, "type": "table"}, "force": True, "queries": queries, **options}
        return self.post("/api/v1/chart/data", document, read)

    def chart(self, dataset, **query):
        """The rows of a chart with one query."""
        return self.charts(dataset, query)["result"][0]["data"]


@pytest.fixture(scope="module")
def superset(direct_server, tmp_path_factory):
    programs = environment("superset")
    folder = tmp_path_factory.mktemp("superset")
    metadata = folder / "metadata.db"
    variables = {
        "SUPERSET_CONFIG_PATH": str(source("superset") / "superset_config.py"),
        "SUPERSET_HOME": str(folder),
        "SUPERSET_METADATA": str(metadata),
    }

    def run(*arguments):
        command = [programs / "superset", *arguments]
        ended = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=START_SECONDS, check=False)
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]

    # The metadata of a new Superset takes a minute to make, so they are kept beside the environment that they belong to.
    kept = programs.parent / "metadata.db"
    if not kept.exists() or kept.stat().st_mtime < (programs.parent / "installed.txt").stat().st_mtime:
        run("db", "upgrade")
        run("fab", "create-admin", "--username=admin", "--firstname=A", "--lastname=B", "--email=a@example.com", f"--password={PASSWORD}")
        run("init")
        shutil.copy(metadata, kept.with_suffix(".new"))
        kept.with_suffix(".new").rename(kept)
    shutil.copy(kept, metadata)

    port = free_port()
    schema = f"superset_{uuid.uuid4().hex[:8]}"
    command = [programs / "gunicorn", f"--bind=127.0.0.1:{port}", "--worker-class=gthread", "--threads=4", "superset.app:create_app()"]
    with open(folder / "gunicorn.log", "wb") as log:
        gunicorn = subprocess.Popen(command, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until(lambda: gunicorn.poll() is not None or answers(port), "Superset answers", START_SECONDS)
        assert gunicorn.poll() is None, (folder / "gunicorn.log").read_text()[-4000:]
        direct_server.query(f"CREATE DATABASE {schema}")
        yield Superset(port, direct_server, schema)
    finally:
        gunicorn.terminate()
        gunicorn.wait(60)
        direct_server.query(f"DROP DATABASE IF EXISTS {schema}")


def answers(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10).read() == b"OK"
    except OSError:
        return False


@pytest.fixture(scope="module")
def sales(superset, direct_server):
    """The dataset of SALES."""
    table = f"{superset.schema}.sales"
    direct_server.query(CREATE_SALES.format(table))
    direct_server.query(f"INSERT INTO {table} FORMAT JSONEachRow\n" + "\n".join(json.dumps(vars(sale), default=str) for sale in SALES))
    return superset.create_dataset("sales")


def metric(aggregate, column):
    return {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column}, "label": f"{aggregate} {column}"}


def axis(column, grain):
    return {"columnType": "BASE_AXIS", "expressionType": "SQL", "sqlExpression": column, "label": column, "timeGrain": grain}


def time_range(column, start=START, end=END):
    return {"col": column, "op": "TEMPORAL_RANGE", "val": f"{start:%Y-%m-%d} : {end:%Y-%m-%d}"}


def milliseconds(at):
    return at.replace(tzinfo=datetime.UTC).timestamp() * 1000


def total(sales):
    return sum(sale.amount for sale in sales)


# --- the database ---


def test_connections(server, superset):
    def connection(user, database="default"):
        return {"database_name": "another", "sqlalchemy_uri": f"clickhousedb://{user}@127.0.0.1:{server.http_port}/{database}"}

    path = "/api/v1/database/test_connection/"
    assert superset.post(path, connection("reader:secret")) == {"message": "OK"}
    assert "AUTHENTICATION_FAILED" in superset.refusal(path, connection("reader:wrong"))
    assert "UNKNOWN_DATABASE" in superset.refusal(path, connection("default:", "no_such_database"))


def test_schemas_and_tables(server, superset, sales):
    server.query(f"CREATE VIEW {superset.schema}.austrian AS SELECT * FROM {superset.schema}.sales WHERE country = 'AT'")
    assert {"default", "system", superset.schema} <= set(superset.get(f"{superset.database}/schemas/")["result"])
    tables = superset.get(f"{superset.database}/tables/?q=(force:!t,schema_name:{superset.schema})")["result"]
    assert {"austrian", "sales"} <= {table["value"] for table in tables}
    system = superset.get(f"{superset.database}/tables/?q=(schema_name:system)")["result"]
    assert {"columns", "functions", "parts", "tables"} <= {table["value"] for table in system}


def test_columns_of_a_table(superset, sales):
    described = superset.get(f"{superset.database}/table_metadata/?name=sales&schema={superset.schema}")
    assert {column["name"]: column["longType"] for column in described["columns"]} == {
        "id": "UInt64",
        "at": "DateTime",
        "day": "Date",
        "country": "LowCardinality(String)",
        "city": "Nullable(String)",
        "amount": "Decimal(10, 2)",
        "paid": "Bool",
        "tags": "Array(String)",
    }
    assert [column["comment"] for column in described["columns"] if column["comment"]] == ["when it was sold"]
    # The dialect knows none of these for ClickHouse.
    assert (described["indexes"], described["foreignKeys"], described["primaryKey"]) == ([], [], {})
    shown = superset.execute(described["selectStar"])
    assert [column["name"] for column in shown["columns"]] == list(vars(SALES[0])) + ["tags"]
    assert len(shown["data"]) == 100


def test_functions(superset):
    names = superset.get(f"{superset.database}/function_names/")["function_names"]
    assert {"toStartOfMonth", "uniqExact", "numbers"} <= set(names)


# --- SQL Lab ---

TYPES = {
    "Int64": ("-9223372036854775808", str(-(2**63))),
    "UInt64": ("9223372036854775807", str(2**63 - 1)),
    "Int128": ("'-170141183460469231731687303715884105728'", str(-(2**127))),
    "Float64": ("0.1", 0.1),
    "Nullable(Int32)": ("NULL", None),
    "Nullable(Float64)": ("1.5", 1.5),
    "LowCardinality(String)": ("'it''s'", "it's"),
    "LowCardinality(Nullable(String))": ("NULL", None),
    "FixedString(3)": ("'abc'", "abc"),
    "DateTime": ("'2024-02-29 12:34:56'", "2024-02-29T12:34:56"),
    "DateTime64(3)": ("'2024-02-29 12:34:56.789'", "2024-02-29T12:34:56.789000"),
    "Nullable(DateTime)": ("NULL", None),
    "Date": ("'2024-02-29'", "2024-02-29"),
    "Decimal(10, 2)": ("'-12.34'", -12.34),
    "Decimal(38, 9)": ("'0.000000001'", 0.000000001),
    "UUID": ("'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    "Bool": ("true", True),
    "Enum8('no' = 0, 'yes' = 1)": ("'yes'", "yes"),
    "IPv4": ("'10.0.0.1'", "10.0.0.1"),
    "IPv6": ("'::1'", "::1"),
    "Array(Int32)": ("[1, 2]", "[1, 2]"),
    "Array(Nullable(String))": ("['a', NULL]", '["a", null]'),
    "Map(String, UInt8)": ("map('a', 1)", "{'a': 1}"),
    "Tuple(UInt8, String)": ("(1, 'a')", '[1, "a"]'),
}


def test_types(superset):
    columns = ", ".join(f"CAST({literal} AS {name}) AS c{number}" for number, (name, (literal, _)) in enumerate(TYPES.items()))
    shown = superset.execute(f"SELECT {columns}")
    assert [column["type"] for column in shown["columns"]] == list(TYPES)
    assert list(shown["data"][0].values()) == [value for _, value in TYPES.values()]


def test_limits(superset):
    shown = superset.execute("SELECT number FROM numbers(100)", limit=10)
    assert [row["number"] for row in shown["data"]] == list(range(10))
    assert shown["query"]["limitingFactor"] == "DROPDOWN"
    shown = superset.execute("SELECT number FROM numbers(100) LIMIT 5", limit=10)
    assert (len(shown["data"]), shown["query"]["limitingFactor"]) == (5, "QUERY")
    assert superset.execute("WITH few AS (SELECT 1 AS a WHERE 0) SELECT a FROM few")["data"] == []


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nope", "Code: 47. DB::Exception: Unknown expression identifier `nope`"),
        ("SELECT * FROM no_such_table", "(UNKNOWN_TABLE)"),
        ("SELECT no_such_function(1)", "(UNKNOWN_FUNCTION)"),
        ("SELECT 'a' + 1", "(ILLEGAL_TYPE_OF_ARGUMENT)"),
        ("SELECT toDate('nonsense')", "(CANNOT_PARSE_DATE)"),
        ("SELECT 1 AS a SETTINGS no_such_setting = 1", "(UNKNOWN_SETTING)"),
        # Rows before it are on their way already.
        ("SELECT number, throwIf(number = 90000, 'too far') FROM numbers(100000)", "too far"),
    ],
)
def test_errors(superset, sql, message):
    assert message in superset.refusal("/api/v1/sqllab/execute/", superset.statement(sql, limit=100_000))
    assert superset.execute("SELECT 1 AS a")["data"] == [{"a": 1}]


def test_statements(superset, sales):
    create = "CREATE TABLE words (id UInt32, word String) ENGINE = MergeTree ORDER BY id"
    superset.execute(f"{create}; INSERT INTO words VALUES (1, 'one'), (2, 'two')")
    assert superset.execute("SELECT word FROM words ORDER BY id")["data"] == [{"word": "one"}, {"word": "two"}]
    assert superset.execute("SHOW TABLES LIKE 'words'")["data"] == [{"name": "words"}]
    assert [row["name"] for row in superset.execute("DESCRIBE TABLE words")["data"]] == ["id", "word"]
    assert superset.execute("EXPLAIN SELECT * FROM words")["data"]
    for method in "TABLE", "VIEW":
        grouped = "SELECT country, count() AS number FROM sales GROUP BY country"
        superset.execute(grouped, select_as_cta=True, ctas_method=method, tmp_table_name=f"as_{method.lower()}")
        shown = superset.execute(f"SELECT country, number FROM as_{method.lower()}")["data"]
        assert {row["country"]: row["number"] for row in shown} == collections.Counter(sale.country for sale in SALES)


def test_export_of_a_result(superset, sales):
    superset.execute("SELECT id, day, city FROM sales WHERE id < 2 ORDER BY id", client_id="exported")
    text = superset.get("/api/v1/sqllab/export/exported/", str)
    assert text.lstrip("\ufeff").splitlines() == ["id,day,city", "0,2024-01-01,", "1,2024-01-01,DE-1"]


# --- datasets ---


def test_columns_of_a_dataset(server, superset):
    server.query(f"CREATE TABLE {superset.schema}.growing (id UInt64, at DateTime) ENGINE = MergeTree ORDER BY id")
    dataset = superset.create_dataset("growing")
    assert superset.dataset_columns(dataset) == {"id": "UINT64", "at": "DATETIME"}
    assert superset.get(f"/api/v1/dataset/{dataset}")["result"]["main_dttm_col"] == "at"
    server.query(f"ALTER TABLE {superset.schema}.growing ADD COLUMN word Nullable(String)")
    superset.answer(json.loads, "PUT", f"/api/v1/dataset/{dataset}/refresh")
    assert superset.dataset_columns(dataset) == {"id": "UINT64", "at": "DATETIME", "word": "NULLABLE(STRING)"}


def test_virtual_dataset(superset, sales):
    sql = "SELECT country, toStartOfMonth(at) AS month, sum(amount) AS amount FROM sales GROUP BY country, month"
    dataset = superset.create_dataset("per_month", sql=sql)
    assert superset.dataset_columns(dataset) == {"country": "LowCardinality(String)", "month": "Date", "amount": "Decimal(38, 2)"}
    rows = superset.chart(dataset, columns=[axis("month", "P1Y")], metrics=[metric("SUM", "amount")], orderby=[["month", True]])
    assert [row["SUM amount"] for row in rows] == [total(sale for sale in SALES if (sale.at >= END) == later) for later in (False, True)]


def test_samples(superset, sales):
    samples = superset.post(f"/datasource/samples?datasource_type=table&datasource_id={sales}&per_page=3&page=2", {})["result"]
    assert (samples["total_count"], samples["rowcount"]) == (len(SALES), 3)
    assert set(samples["colnames"]) == {*vars(SALES[0]), "tags"}


def test_values_for_a_filter(superset, sales):
    values = superset.get(f"/api/v1/datasource/table/{sales}/column/city/values/")["result"]
    assert collections.Counter(values) == collections.Counter({sale.city for sale in SALES})


def test_expressions_of_users(superset, sales):
    path = f"/api/v1/datasource/table/{sales}/validate_expression/"
    assert superset.post(path, {"expression": "sum(amount)", "expression_type": "metric"})["result"] == []
    wrong = superset.post(path, {"expression": "sum(nope)", "expression_type": "metric"})["result"]
    assert "UNKNOWN_IDENTIFIER" in wrong[0]["message"]


# --- charts ---


def whole(**span):
    """Cuts times to whole minutes, hours, days or weeks: the first day that Python knows was a Monday."""
    return lambda at: at - (at - datetime.datetime.min) % datetime.timedelta(**span)


GRAINS = {
    "PT1M": whole(minutes=1),
    "PT5M": whole(minutes=5),
    "PT10M": whole(minutes=10),
    "PT15M": whole(minutes=15),
    "PT30M": whole(minutes=30),
    "PT1H": whole(hours=1),
    "P1D": whole(days=1),
    "P1W": whole(weeks=1),
    "P1M": lambda at: datetime.datetime(at.year, at.month, 1),
    "P3M": lambda at: datetime.datetime(at.year, at.month - (at.month - 1) % 3, 1),
    "P1Y": lambda at: datetime.datetime(at.year, 1, 1),
}


def test_all_time_grains_are_tried(superset, sales):
    offered = superset.get(f"/api/v1/dataset/{sales}")["result"]["time_grain_sqla"]
    assert {grain for grain, _ in offered} == set(GRAINS)


@pytest.mark.parametrize("column", ["at", "day"])
@pytest.mark.parametrize("grain", GRAINS)
def test_time_series(superset, sales, grain, column):
    rows = superset.chart(sales, columns=[axis(column, grain)], metrics=["count"], filters=[time_range(column)], orderby=[[column, True]])
    times = (sale.at if column == "at" else whole(days=1)(sale.at) for sale in SALES)
    counts = collections.Counter(GRAINS[grain](at) for at in times)
    # Superset names the expression like the column. So WHERE sees times that are cut already, as in ClickHouse.
    assert [(row[column], row["count"]) for row in rows] == [(milliseconds(at), counts[at]) for at in sorted(counts) if START <= at < END]


@pytest.mark.parametrize(
    ("column", "operator", "value", "holds"),
    [
        ("country", "==", "AT", lambda sale: sale.country == "AT"),
        ("country", "!=", "AT", lambda sale: sale.country != "AT"),
        ("country", "IN", ["AT", "CH"], lambda sale: sale.country in ("AT", "CH")),
        ("country", "NOT IN", ["AT", "CH"], lambda sale: sale.country == "DE"),
        ("city", "IN", [None, "AT-1"], lambda sale: sale.city in (None, "AT-1")),
        ("city", "!=", "AT-1", lambda sale: sale.city not in (None, "AT-1")),
        ("city", "LIKE", "AT-%", lambda sale: sale.city and sale.country == "AT"),
        ("city", "NOT LIKE", "AT-%", lambda sale: sale.city and sale.country != "AT"),
        ("city", "ILIKE", "at-%", lambda sale: sale.city and sale.country == "AT"),
        ("city", "NOT ILIKE", "at-%", lambda sale: sale.city and sale.country != "AT"),
        ("city", "IS NULL", None, lambda sale: sale.city is None),
        ("city", "IS NOT NULL", None, lambda sale: sale.city is not None),
        ("id", ">", 1000, lambda sale: sale.id > 1000),
        ("id", ">=", 1000, lambda sale: sale.id >= 1000),
        ("id", "<", 1000, lambda sale: sale.id < 1000),
        ("id", "<=", 1000, lambda sale: sale.id <= 1000),
        ("amount", "==", 0.25, lambda sale: sale.amount == 0.25),
        ("day", "==", "2024-02-29", lambda sale: sale.day == datetime.date(2024, 2, 29)),
        ("at", ">", "2024-02-29 12:00:00", lambda sale: sale.at > datetime.datetime(2024, 2, 29, 12)),
        ("paid", "IS TRUE", None, lambda sale: sale.paid),
        ("paid", "IS FALSE", None, lambda sale: not sale.paid),
        ("at", "TEMPORAL_RANGE", "2024-02-29T12:00:00 : ", lambda sale: sale.at >= datetime.datetime(2024, 2, 29, 12)),
        ("day", "TEMPORAL_RANGE", "DATEADD(DATETIME('2024-03-01'), -1, month) : 2024-03-01", lambda sale: f"{sale.day:%Y-%m}" == "2024-02"),
    ],
)
def test_filters(superset, sales, column, operator, value, holds):
    rows = superset.chart(sales, metrics=["count"], filters=[{"col": column, "op": operator, "val": value}])
    assert rows == [{"count": sum(bool(holds(sale)) for sale in SALES)}]


def test_table_with_totals(superset, sales):
    share = {"expressionType": "SQL", "sqlExpression": "countIf(paid) / count()", "label": "share"}
    metrics = ["count", metric("SUM", "amount"), metric("AVG", "amount"), metric("MAX", "at"), metric("COUNT_DISTINCT", "city"), share]
    query = {"columns": ["country"], "metrics": metrics, "orderby": [[metrics[1], False]], "row_limit": 2}
    table, totals, number = superset.charts(
        sales, query, {"columns": [], "metrics": metrics}, {"columns": ["country"], "metrics": metrics, "is_rowcount": True}
    )["result"]

    def row(sales):
        return {
            "count": len(sales),
            "SUM amount": total(sales),
            "AVG amount": pytest.approx(total(sales) / len(sales)),
            "MAX at": milliseconds(max(sale.at for sale in sales)),
            "COUNT_DISTINCT city": len({sale.city for sale in sales} - {None}),
            "share": pytest.approx(sum(sale.paid for sale in sales) / len(sales)),
        }

    countries = [[sale for sale in SALES if sale.country == country] for country in ("AT", "DE", "CH")]
    countries.sort(key=total, reverse=True)
    assert table["data"] == [{"country": country[0].country, **row(country)} for country in countries[:2]]
    assert totals["data"] == [row(SALES)]
    assert number["data"] == [{"rowcount": 3}]


def test_big_number(superset, sales):
    assert superset.chart(sales, metrics=[metric("SUM", "amount")], filters=[time_range("at")]) == [
        {"SUM amount": total(sale for sale in SALES if sale.at < END)}
    ]


def test_pivot_table_with_totals(superset, sales):
    options = {"index": ["country"], "columns": ["paid"], "aggregates": {"count": {"operator": "sum"}}}
    totals = {"marginal_distributions": True, "marginal_distribution_name": "all"}
    steps = [{"operation": "pivot", "options": options | totals}, {"operation": "flatten"}]
    rows = superset.chart(sales, columns=["country", "paid"], metrics=["count"], post_processing=steps)
    counted = collections.Counter(pair for sale in SALES for pair in itertools.product((sale.country, "all"), (sale.paid, "all")))
    assert rows == [
        {"country": country} | {f"count, {paid}": counted[country, paid] for paid in (False, True, "all")}
        for country in ("AT", "CH", "DE", "all")
    ]


def test_series_limit(superset, sales):
    amount = metric("SUM", "amount")
    series = {"series_columns": ["country"], "series_limit": 2, "series_limit_metric": amount, "order_desc": True}
    rows = superset.chart(
        sales,
        columns=[axis("at", "P1Y"), "country"],
        metrics=[amount],
        filters=[time_range("at")],
        orderby=[["country", True]],
        **series,
    )
    # CH, with the smallest amount, is left out.
    assert [(row["country"], row["SUM amount"]) for row in rows] == [
        (country, total(sale for sale in SALES if sale.country == country and sale.at < END)) for country in ("AT", "DE")
    ]


def test_time_comparison(superset, sales):
    march = [datetime.datetime(2024, 3, day) for day in range(1, 16)]
    rows = superset.chart(
        sales,
        columns=[axis("at", "P1D")],
        metrics=[metric("SUM", "amount")],
        filters=[time_range("at", march[0], march[-1])],
        orderby=[["at", True]],
        time_offsets=["1 month ago"],
    )

    def sold(day):
        return total(sale for sale in SALES if sale.day == day.date())

    assert [tuple(row.values()) for row in rows] == [(milliseconds(day), sold(day), sold(day.replace(month=2))) for day in march[:-1]]


def test_dashboard(superset, sales):
    """Its charts ask at the same time."""
    countries = ["AT", "DE", "CH"] * 4
    with concurrent.futures.ThreadPoolExecutor(6) as browser:
        filters = [{"metrics": ["count"], "filters": [{"col": "country", "op": "==", "val": country}]} for country in countries]
        shown = list(browser.map(lambda query: superset.chart(sales, **query), filters))
    counts = collections.Counter(sale.country for sale in SALES)
    assert shown == [[{"count": counts[country]}] for country in countries]


def test_export_of_a_chart(superset, sales):
    query = {"columns": ["id", "at", "city", "amount", "tags"], "metrics": [], "orderby": [["id", True]], "row_limit": 2}
    text = superset.charts(sales, query, read=str, result_format="csv")
    assert list(csv.reader(text.splitlines())) == [
        ["id", "at", "city", "amount", "tags"],
        ["0", "2024-01-01 00:00:00", "", "0.00", '["AT"]'],
        ["1", "2024-01-01 03:00:07", "DE-1", "0.25", '["DE"]'],
    ]


def test_expressions_in_charts(superset, sales):
    rows = superset.chart(
        sales,
        columns=[{"expressionType": "SQL", "sqlExpression": "concat(country, ': ', if(paid, 'paid', 'open'))", "label": "state"}],
        metrics=["count"],
        extras={"where": "id >= 1000", "having": "count() > 300"},
        orderby=[["state", True]],
    )
    counts = collections.Counter(f"{sale.country}: {'paid' if sale.paid else 'open'}" for sale in SALES[1000:])
    assert rows == [{"state": state, "count": counts[state]} for state in sorted(counts) if counts[state] > 300]
    query = {"metrics": [{"expressionType": "SQL", "sqlExpression": "sum(nope)", "label": "nope"}]}
    document = {"datasource": {"id": sales, "type": "table"}, "queries": [query]}
    assert "UNKNOWN_IDENTIFIER" in superset.refusal("/api/v1/chart/data", document)
