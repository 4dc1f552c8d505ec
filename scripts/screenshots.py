#!/usr/bin/env python3
"""Takes the pictures of docs/pages.md: fills a server that nobody else uses with a table, users and a minute of queries, and opens its
pages in Chromium. Needs tests/clients' environment (scripts/venv.sh) and Debian's chromium.

    target/release/squall server --path /tmp/pictures & .venv/bin/python scripts/screenshots.py
"""

import argparse
import pathlib
import shutil
import threading
import time
import urllib.parse
import urllib.request

from playwright.sync_api import sync_playwright

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/images"
TABLE = """CREATE TABLE IF NOT EXISTS rides (started DateTime, city LowCardinality(String), distance Float64, fare Float64)
    ENGINE = MergeTree ORDER BY started"""
FILL = """INSERT INTO rides SELECT toDateTime('2026-09-01 00:00:00') + number * 3 AS started,
    ['Lisbon', 'Porto', 'Braga', 'Faro'][1 + cityHash64(number) % 4 AS at] AS city,
    (1 + cityHash64(number, 1) % 9000 / 1000) * (1 + at / 9) * (1.3 + sin(number / 4584)) AS distance, 3 + distance * 0.9 AS fare
    FROM numbers(2000000)"""
# By user: a report that is always there, some that come and go, and many small ones.
LOAD = [
    ("reports", "SELECT city, quantiles(0.5, 0.9)(fare), uniq(distance) FROM rides GROUP BY city", 0.3),
    ("reports", "SELECT toStartOfHour(started) AS hour, sum(sqrt(fare)) FROM rides GROUP BY hour ORDER BY hour", 0.5),
    ("etl", "INSERT INTO archive SELECT * FROM rides WHERE city = 'Faro'", 0.7),
    ("anna", "SELECT count() FROM rides WHERE city = 'Porto' AND fare > 9", 0.1),
    ("anna", "SELECT max(fare), avg(distance) FROM rides WHERE started BETWEEN '2026-09-10' AND '2026-09-12'", 0.05),
]
CHART = """SELECT
    toStartOfInterval(started, INTERVAL 2 HOUR) AS hour,
    city,
    round(avg(fare), 2) AS fare
FROM rides
WHERE started < '2026-09-08'
GROUP BY hour, city
ORDER BY hour"""
TABLE_QUERY = "SELECT started, city, round(distance, 1) AS km, round(fare, 2) AS fare\nFROM rides\nORDER BY fare DESC\nLIMIT 100000"


def ask(url, sql, **parameters):
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(urllib.request.Request(f"{url}/?{query}", data=sql.encode()), timeout=300) as answer:
        return answer.read().decode()


def make_load(url, stop):
    def repeat(user, sql, pause):
        while not stop.wait(pause):
            ask(url, sql, user=user)

    threads = [threading.Thread(target=repeat, args=one) for one in LOAD]
    for thread in threads:
        thread.start()
    return threads


def pictures(page, url, output):
    def shot(name):
        page.screenshot(path=output / f"{name}.png")

    page.goto(f"{url}/play")
    page.get_by_role("textbox", name="Query").click()

    def run(sql):
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(sql)
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="Cancel").wait_for(state="hidden", timeout=120_000)

    run(TABLE_QUERY)
    page.get_by_text("default", exact=True).last.wait_for()
    page.wait_for_timeout(1_000)
    shot("play")
    page.get_by_role("textbox", name="Query").click()
    run(CHART)
    page.get_by_role("button", name="Chart").click()
    page.get_by_role("button", name="Dark colours").click()
    page.wait_for_timeout(1_000)
    shot("play-chart")
    page.get_by_role("button", name="Light colours").click()
    page.goto(f"{url}/scheduler")
    page.get_by_role("button", name="1 s", exact=True).click()
    page.wait_for_timeout(9_000)
    page.locator(".lanes canvas").focus()
    page.keyboard.press(" ")
    # One that waited.
    for _ in range(30):
        page.keyboard.press("ArrowDown")
        if page.locator(".details .sql").count() and page.locator(".details .cause").count() > 2:
            break
    page.locator("h3").first.click()
    page.wait_for_timeout(500)
    shot("scheduler")


def pictures_of_logs(page, url, output, end):
    page.goto(f"{url}/scheduler#replay={end - 20}-{end}")
    page.locator(".details .sql").wait_for()
    page.wait_for_timeout(2_000)
    page.screenshot(path=output / "scheduler-replay.png")
    page.goto(f"{url}/dashboard#minutes=3")
    page.wait_for_timeout(4_000)
    page.screenshot(path=output / "dashboard.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8123", help="the server (%(default)s)")
    parser.add_argument("--output", type=pathlib.Path, default=IMAGES, help="the folder (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="of load before the pictures (%(default)s)")
    arguments = parser.parse_args()
    url = arguments.url
    ask(url, TABLE)
    ask(url, "CREATE TABLE IF NOT EXISTS archive AS rides ENGINE = Null")
    if ask(url, "SELECT count() FROM rides") == "0\n":
        ask(url, FILL)
    for user in {user for user, _, _ in LOAD}:
        ask(url, f"CREATE USER IF NOT EXISTS {user}")
        ask(url, f"GRANT SELECT, INSERT, CREATE TEMPORARY TABLE ON *.* TO {user}")
    stop = threading.Event()
    threads = make_load(url, stop)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        try:
            time.sleep(arguments.seconds)
            pictures(page, url, arguments.output)
        finally:
            end = int(time.time())
            stop.set()
            for thread in threads:
                thread.join()
        ask(url, "SYSTEM FLUSH LOGS")
        pictures_of_logs(page, url, arguments.output, end)
        browser.close()


if __name__ == "__main__":
    main()
