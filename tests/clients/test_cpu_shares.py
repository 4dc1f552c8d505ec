"""Who gets how much of the CPU: users by their weights, queries beside background work."""

import threading
import time
import uuid

from server import USERS_XML, wait_until

USER = """<clickhouse><profiles><{name}><weight>{weight}</weight><inline_rows_limit>0</inline_rows_limit></{name}></profiles>
<users><{name}><password></password><networks><ip>127.0.0.1</ip></networks><profile>{name}</profile></{name}></users></clickhouse>"""
HEAVY = "SELECT max(sipHash64(number)) FROM numbers_mt(1000000000000)"


def start_queries(server, user, count):
    """Endless queries of a user; gives the threads that wait for them."""

    def run():
        server.http(HEAVY, user=user)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    running = f"SELECT countIf(query = '{HEAVY}') FROM system.processes WHERE user = '{user}'"
    wait_until(lambda: server.value(running) == str(count), f"{count} queries of {user} run")
    return threads


def read_rows(server, user):
    return int(server.value(f"SELECT sum(read_rows) FROM system.processes WHERE user = '{user}'"))


def test_users_share_by_their_weights(start_server):
    files = {f"users.d/{name}.xml": USER.format(name=name, weight=weight) for name, weight in (("light", 1), ("heavy", 3))}
    server = start_server(files=files, users_xml=USERS_XML)
    threads = start_queries(server, "light", 5) + start_queries(server, "heavy", 2)
    # Until all have come down to the lowest priority.
    wait_until(lambda: read_rows(server, "light") > 0 and read_rows(server, "heavy") > 0, "both run")
    time.sleep(2)
    before = [read_rows(server, user) for user in ("light", "heavy")]
    time.sleep(6)
    light, heavy = (read_rows(server, user) - rows for user, rows in zip(("light", "heavy"), before))
    server.query("KILL QUERY WHERE user IN ('light', 'heavy') SYNC")
    for thread in threads:
        thread.join(30)
    assert 2.2 < heavy / light < 4, (light, heavy)


def test_background_work_is_in_the_scheduler(start_server):
    """Logs are flushed and merged beside queries that take every CPU, in the background's share."""
    server = start_server(settings={"query_log": "<flush_interval_milliseconds>1000000</flush_interval_milliseconds>"})
    threads = start_queries(server, "default", 4)
    seen = set()
    is_over = threading.Event()

    def watch():
        while not is_over.is_set():
            for query_id, weight in server.rows("SELECT query_id, weight FROM system.scheduler WHERE weight < 0.2"):
                seen.add((query_id, float(weight)))

    watching = threading.Thread(target=watch)
    watching.start()
    for _ in range(40):
        for _ in range(5):
            server.query("SELECT 1", query_id=uuid.uuid4().hex)
        server.query("SYSTEM FLUSH LOGS")
    is_over.set()
    watching.join()
    logged = server.value("SELECT count() FROM system.query_log WHERE query = 'SELECT 1' AND type = 'QueryFinish'")
    merged = int(server.value("SELECT count() FROM system.parts WHERE table = 'query_log' AND active AND level > 0"))
    server.query(f"KILL QUERY WHERE query = '{HEAVY}' SYNC")
    for thread in threads:
        thread.join(30)
    assert logged == "200" and merged > 0
    assert any(query_id.startswith("system.query_log") for query_id, _ in seen), seen
    assert all(weight <= 0.1 for _, weight in seen), seen
