"""The pages for browsers in a real Chromium: /play, /scheduler and /dashboard, as a person uses them."""

import re
import shutil
import threading

import pytest
from server import ROOT, USERS_XML, ServerError, wait_until

playwright = pytest.importorskip("playwright.sync_api", reason="PyPI's playwright is not installed")
expect = playwright.expect
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MOD = "Control"
PLAIN = {"/play": "plain.html", "/pages/plain.js": "plain.js", "/pages/plain.css": "plain.css"}
TYPES = {"html": "text/html; charset=UTF-8", "n.js": "text/javascript", ".css": "text/css"}
HEAVY = "SELECT count() FROM numbers(100000000000) WHERE NOT ignore(cityHash64(number))"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens pages of a server: nothing may go wrong on them, and nothing may be asked of anybody else."""
    contexts = []
    wrong = []

    def open_page(server, path, **options):
        context = browser.new_context(viewport={"width": 1360, "height": 860}, **options)
        contexts.append(context)
        page = context.new_page()
        own = f"http://127.0.0.1:{server.http_port}/"
        page.on("pageerror", lambda error: wrong.append(f"{error}\n{error.stack}"))
        page.on("console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None)
        page.on("request", lambda request: None if request.url.startswith((own, "data:", "blob:")) else wrong.append(request.url))
        page.goto(own.rstrip("/") + path)
        if page.locator("form textarea[name=query]").count():
            pytest.skip("the server was built without Node.js: its pages are plain ones")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong, wrong


def write(page, sql):
    """Writes a query in the place of what the editor holds."""
    page.get_by_role("textbox", name="Query").click()
    page.keyboard.press(f"{MOD}+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(sql)


def run(page, sql):
    write(page, sql)
    page.keyboard.press(f"{MOD}+Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden(timeout=30_000)


def cells(page, row=1):
    return page.locator(f'.grid .row[aria-rowindex="{row}"] .cell:not(.place)').all_text_contents()


def test_a_query_by_keyboard(server, open_page):
    page = open_page(server, "/play")
    run(page, "SELECT number AS n, toString(number) AS s, NULL AS nothing, 18446744073709551615 AS big FROM numbers(3)")
    assert cells(page, 2) == ["1", "1", "NULL", "18446744073709551615"]
    assert [text.strip() for text in page.locator(".grid-head .name").all_text_contents()] == ["n", "s", "nothing", "big"]
    expect(page.get_by_role("status")).to_contain_text("3 rows")
    run(page, r"SELECT 'a\tb\nc\\d' AS text")
    assert cells(page) == ["a\tb\nc\\d"]
    page.keyboard.press(f"{MOD}+j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator("pre")).to_have_text("a\tb\nc\\d", use_inner_text=False)


def test_a_hundred_thousand_rows_scroll(server, open_page):
    page = open_page(server, "/play")
    run(page, "SELECT number, number * 7 AS seven, hex(number) AS text FROM numbers(1000000)")
    expect(page.get_by_role("status")).to_contain_text("100,000 rows (the first")
    grid = page.get_by_role("grid")
    assert grid.get_attribute("aria-rowcount") == "100000"
    page.keyboard.press(f"{MOD}+j")
    page.keyboard.press(f"{MOD}+End")
    expect(page.locator('.grid .row[aria-rowindex="100000"]')).to_be_visible()
    assert cells(page, 100_000)[:2] == ["99999", "699993"]
    # However many rows there are, few are in the page.
    assert page.locator(".grid .row").count() < 120
    page.locator(".grid-head .cell", has_text="seven").click()
    page.locator(".grid-head .cell", has_text="seven").click()
    page.keyboard.press(f"{MOD}+j")
    page.keyboard.press(f"{MOD}+Home")
    assert cells(page)[1] == "699993"


def test_errors_are_shown_where_they_are(server, open_page):
    page = open_page(server, "/play")
    for sql, marked, words in [
        ("SELECT 1;\nSELECT 'ü', 2 FORM numbers(3)", "numbers", "SYNTAX_ERROR"),
        ("SELECT\n    number,\n    numbre + 1\nFROM numbers(3)", "numbre", "UNKNOWN_IDENTIFIER"),
        ("SELECT * FROM there_is_none", "there_is_none", "UNKNOWN_TABLE"),
    ]:
        run(page, sql)
        expect(page.get_by_role("alert")).to_contain_text(words)
        expect(page.locator(".cm-lintRange-error").first).to_have_text(marked)
    run(page, "SELECT 1")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    # An error after rows have been sent.
    run(page, "SELECT throwIf(number = 3000000, 'too far') FROM numbers(4000000) SETTINGS max_block_size = 1000")
    assert page.get_by_role("alert").count() or "100,000 rows" in page.get_by_role("status").inner_text()


def test_statements_parameters_and_settings(server, open_page, table):
    page = open_page(server, "/play")
    write(page, f"CREATE TABLE {table} (k UInt8, s String) ORDER BY k;\nINSERT INTO {table} VALUES (1, 'a;b'), (2, 'c');\nSET max_threads = 1;\nSELECT s, getSetting('max_threads') FROM {table} ORDER BY k")
    page.keyboard.press(f"{MOD}+Shift+Enter")
    expect(page.get_by_role("tab", name="4")).to_have_attribute("aria-selected", "true", timeout=30_000)
    expect(page.locator('.grid .row[aria-rowindex="1"]')).to_be_visible()
    assert cells(page) == ["a;b", "1"]
    # The new table is in the schema, with its columns.
    page.get_by_role("searchbox").fill(table)
    page.get_by_role("treeitem").filter(has_text=table).click()
    expect(page.locator(".item.column")).to_have_count(2)
    page.locator(".item.column").first.click()
    write(page, f"SELECT s FROM {table} WHERE k = {{key:UInt8}}")
    page.locator("[data-parameter=key]").fill("2")
    page.keyboard.press("Enter")
    expect(page.locator('.grid .row[aria-rowindex="1"]')).to_contain_text("c")
    # The one at the cursor, of several.
    run(page, "SELECT 'first';\n\nSELECT 'second'")
    assert cells(page) == ["second"]


def test_progress_and_cancelling(server, open_page):
    page = open_page(server, "/play")
    write(page, HEAVY)
    page.keyboard.press(f"{MOD}+Enter")
    expect(page.get_by_role("status")).to_contain_text("of memory", timeout=30_000)
    count = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT count() FROM numbers(100000000000)%'"
    assert server.value(count) == "1"
    page.keyboard.press("Escape")
    expect(page.get_by_role("status")).to_contain_text("cancelled after")
    wait_until(lambda: server.value(count) == "0", "the query has ended")


def test_charts_links_and_history(server, open_page):
    page = open_page(server, "/play")
    sql = "SELECT toDateTime('2026-01-01 00:00:00') + number * 3600 AS hour, sin(number / 9) AS sine, cos(number / 9) AS cosine\nFROM numbers(200)"
    run(page, sql)
    page.get_by_role("button", name="Chart").click()
    expect(page.locator(".plot canvas")).to_be_visible()
    assert page.locator(".u-legend .u-series").count() == 3
    page.locator(".choices select").first.select_option("bar")
    expect(page.locator(".plot canvas")).to_be_visible()
    assert "view=chart" in page.url
    # Who follows the link finds the query, which is not run.
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_role("textbox", name="Query")).to_contain_text("cosine")
    expect(other.get_by_role("status")).to_be_empty()
    other.get_by_role("button", name="History").click()
    expect(other.locator(".entry").first).to_contain_text("sine")
    other.close()


def test_downloads(server, open_page):
    page = open_page(server, "/play")
    run(page, "SELECT number AS n FROM numbers(200000)")
    with page.expect_download() as saved:
        page.get_by_label("Download").select_option("CSVWithNames")
    assert saved.value.suggested_filename == "result.csv"
    with open(saved.value.path()) as file:
        lines = file.read().splitlines()
    assert (lines[0], len(lines)) == ('"n"', 200_001)


def test_a_user_with_a_password(start_server, open_page):
    users = """<clickhouse><profiles><default/><readonly><readonly>1</readonly></readonly></profiles><users><default>
        <password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>readonly</profile></default></users></clickhouse>"""
    server = start_server(users_xml=users)
    page = open_page(server, "/play")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("is wrong")
    dialog.get_by_label("Password").fill("secret")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    # A user who may change no setting can do all that reads.
    run(page, "SELECT currentUser()")
    assert cells(page) == ["default"]
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    assert "secret" not in kept and "secret" not in page.url
    page.reload()
    expect(dialog.get_by_label("Password")).to_be_visible()


def test_dark_and_light(server, open_page):
    page = open_page(server, "/play", color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.get_by_role("button", name="Light colours").click()
    light = page.evaluate(background)
    assert dark != light
    page.reload()
    assert page.evaluate(background) == light


def test_the_plain_page(start_server, browser):
    """What a build without Node.js has instead, under the policy that the server sends."""
    users = USERS_XML.replace("<profile>readonly</profile>", "<profile>default</profile>")
    server = start_server(users_xml=users)
    own = f"http://127.0.0.1:{server.http_port}"
    policy = {"Content-Security-Policy": server.http(path="/play", method="GET").headers["Content-Security-Policy"]}
    context = browser.new_context()
    page = context.new_page()

    def answer(route):
        file = PLAIN.get(route.request.url.removeprefix(own))
        if file is None:
            route.continue_()
        else:
            route.fulfill(path=ROOT / "crates/pages/plain" / file, headers=policy | {"Content-Type": TYPES[file[-4:]]})

    page.route("**/*", answer)
    page.goto(f"{own}/play")
    page.get_by_label("User").fill("reader")
    page.get_by_label("Password").fill("secret")
    page.get_by_label("Query").fill("SELECT currentUser(), 6 * 7")
    page.keyboard.press(f"{MOD}+Enter")
    expect(page.locator("pre")).to_contain_text("reader")
    expect(page.locator("pre")).to_contain_text("42")
    page.get_by_label("Query").fill("SELECT nothing")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("pre.error")).to_contain_text("UNKNOWN_IDENTIFIER")
    context.close()


def load(server, stop, queries):
    """Runs queries beside each other until it is told to stop."""

    def repeat(sql):
        while not stop.is_set():
            try:
                server.query(sql)
            except (ServerError, OSError):
                return

    threads = [threading.Thread(target=repeat, args=[sql]) for sql in queries]
    for thread in threads:
        thread.start()
    return threads


# Queries of several morsels, and one that is there whenever the page asks which queries run, however the server was built.
REPORTS = [
    "SELECT sum(sqrt(number)) FROM numbers(100000000000) SETTINGS max_execution_time = 3, timeout_overflow_mode = 'break'",
    "SELECT number % 1000 AS g, uniq(cityHash64(number)) FROM numbers(1000000) GROUP BY g ORDER BY g LIMIT 5",
    "SELECT sum(sqrt(number)) FROM numbers(3000000)",
    "SELECT max(sipHash64(toString(number))) FROM numbers(300000)",
    "SELECT count() FROM numbers(200000) WHERE toString(number) LIKE '%7%'",
]


def test_the_scheduler_at_work(server, open_page):
    page = open_page(server, "/scheduler")
    stop = threading.Event()
    threads = load(server, stop, REPORTS)
    try:
        expect(page.locator(".tile", has_text="queries with the workers").locator("strong")).not_to_have_text("0", timeout=20_000)
        assert int(server.value("SELECT count() FROM system.scheduler_steps WHERE duration_us > 0 AND query_id != ''")) > 0
        # A lane is chosen by the keyboard, and its query is told of.
        page.wait_for_timeout(2_500)
        page.locator(".lanes canvas").focus()
        for _ in range(40):
            page.keyboard.press("ArrowDown")
            if page.locator(".details .sql", has_text="FROM numbers").count():
                break
        expect(page.locator(".details .sql")).to_contain_text("FROM numbers")
        expect(page.locator(".details")).to_contain_text("Who had the workers meanwhile")
        expect(page.locator(".legend")).to_contain_text("Worker 0")
        page.keyboard.press(" ")
        expect(page.get_by_role("button", name="Go on")).to_be_visible()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_an_incident_is_replayed(start_server, open_page):
    collect = "<collect_interval_milliseconds>100</collect_interval_milliseconds>"
    server = start_server(settings={"metric_log": collect, "scheduler_log": ""})
    stop = threading.Event()
    threads = load(server, stop, REPORTS)
    for _ in range(10):
        server.query("SELECT count() FROM numbers(300000) WHERE sipHash64(number) % 7 = 3")
    stop.set()
    for thread in threads:
        thread.join()
    server.query("SYSTEM FLUSH LOGS")
    # What workers were busy with is what queries computed, but for what is over for long and what was never logged.
    logged = "SELECT count() FROM system.scheduler_log WHERE busy_us > 0 AND query_id IN (SELECT query_id FROM system.query_log)"
    assert int(server.value(logged)) > 0
    assert server.value("SELECT max(busy_us) < 60000000, max(cpu_us) > 0, uniq(worker) > 0 FROM system.scheduler_log") == "1\t1\t1"
    page = open_page(server, "/scheduler")
    page.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="5 min").click()
    expect(page.locator(".summary")).to_contain_text("queries, 0 failed")
    expect(page.locator(".details .sql")).to_contain_text("FROM numbers")
    expect(page.locator(".details .cause").first).to_be_visible()
    assert re.search(r"#replay=\d+-\d+", page.url)
    page.get_by_label("Queries that").select_option("took")
    expect(page.locator(".summary")).to_contain_text("queries")


def test_dashboards(start_server, open_page):
    collect = "<collect_interval_milliseconds>200</collect_interval_milliseconds>"
    server = start_server(
        settings={"metric_log": collect, "asynchronous_metric_log": "", "asynchronous_metrics_update_period_s": 1}
    )
    for _ in range(10):
        server.query("SELECT count() FROM numbers(300000) WHERE sipHash64(number) % 7 = 3")
    wait_until(lambda: server.value("SYSTEM FLUSH LOGS") == "" and int(server.value("SELECT count() FROM system.metric_log")) > 15, "metrics")
    page = open_page(server, "/dashboard")
    names = server.rows("SELECT DISTINCT dashboard FROM system.dashboards")
    assert ["Overview"] in names
    for (name,) in names:
        page.get_by_role("button", name=name, exact=True).click()
        charts = int(server.value(f"SELECT count() FROM system.dashboards WHERE dashboard = '{name}'"))
        expect(page.locator(".card.chart")).to_have_count(charts)
        expect(page.locator(".card.chart canvas")).to_have_count(charts, timeout=30_000)
    page.get_by_role("button", name="15 min").click()
    assert "minutes=15" in page.url
    page.locator("input[type=datetime-local]").first.fill("2020-01-01T00:00:00")
    page.locator("input[type=datetime-local]").last.fill("2020-01-01T01:00:00")
    expect(page.locator(".plot.empty").first).to_contain_text("nothing of this time")
