"""Who gets how much of the CPU: users by their weights, queries beside background work."""

import threading
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


# CPU time after which a query has come down to the lowest priority.
SETTLED_US = 200_000


def test_users_share_by_their_weights(start_server):
    files = {f"users.d/{name}.xml": USER.format(name=name, weight=weight) for name, weight in (("light", 1), ("heavy", 3))}
    server = start_server(files=files, users_xml=USERS_XML)
    threads = start_queries(server, "light", 5) + start_queries(server, "heavy", 2)

    def used_us():
        """CPU time of the queries of both users, as the scheduler counts it; of each user all, and the least of a query."""
        of = "SELECT user, sum(cpu_us), min(cpu_us) FROM system.scheduler AS s JOIN system.processes AS p ON s.query_id = p.query_id"
        rows = server.rows(f"{of} WHERE user IN ('light', 'heavy') GROUP BY user")
        return {user: (int(all_us), int(least_us)) for user, all_us, least_us in rows}

    wait_until(lambda: all(least > SETTLED_US for _, least in used_us().values()), "all have the lowest priority", seconds=120)
    before = used_us()

    def since(user):
        return used_us()[user][0] - before[user][0]

    wait_until(lambda: since("light") > 1_500_000, "time has passed", seconds=300)
    light, heavy = since("light"), since("heavy")
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
    asked = 0

    def is_merged_and_seen():
        nonlocal asked
        for _ in range(5):
            server.query("SELECT 1", query_id=uuid.uuid4().hex)
            asked += 1
        server.query("SYSTEM FLUSH LOGS")
        merged = server.value("SELECT count() FROM system.parts WHERE table = 'query_log' AND active AND level > 0")
        return merged != "0" and any(query_id.startswith("system.query_log") for query_id, _ in list(seen))

    wait_until(is_merged_and_seen, "the log is merged, and the scheduler says so", seconds=120)
    is_over.set()
    watching.join()
    logged = server.value("SELECT count() FROM system.query_log WHERE query = 'SELECT 1' AND type = 'QueryFinish'")
    server.query(f"KILL QUERY WHERE query = '{HEAVY}' SYNC")
    for thread in threads:
        thread.join(30)
    assert logged == str(asked)
    assert all(weight <= 0.1 for _, weight in seen), seen
