"""`squall doctor` against real servers."""

import json
import subprocess
import threading

from server import BINARY, wait_until

SLOW = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)"


def doctor(url, *args):
    return subprocess.run([BINARY, "doctor", "--url", url, *args], capture_output=True, text=True, timeout=120, check=False)


def test_a_healthy_server_is_called_so(start_server):
    server = start_server()
    done = doctor(f"http://127.0.0.1:{server.http_port}", "--seconds", "2", "--json")
    verdicts = {finding["symptom"]: finding["verdict"] for finding in json.loads(done.stdout)["findings"]}
    assert len(verdicts) > 3
    # What the test's machine does besides is none of the server's.
    of_the_machine = verdicts.pop("High load average with low CPU utilization")
    assert "found" not in verdicts.values(), done.stdout
    assert done.returncode == (of_the_machine == "found"), done.stdout + done.stderr
    in_words = doctor(f"http://127.0.0.1:{server.http_port}", "--seconds", "1")
    assert in_words.returncode == 1 or "No symptom was found." in in_words.stdout


def test_a_crowd_is_found_with_its_remedy(start_server):
    server = start_server()
    crowd = [
        threading.Thread(target=server.http, kwargs={"body": SLOW.encode(), "query_id": f"crowd{number}", "max_threads": 1})
        for number in range(50)
    ]
    for client in crowd:
        client.start()
    running = "SELECT count() FROM system.processes WHERE startsWith(query_id, 'crowd')"
    wait_until(lambda: server.value(running) == "50", "all run")
    done = doctor(f"http://127.0.0.1:{server.http_port}", "--seconds", "2", "--json")
    server.query("KILL QUERY WHERE query_id LIKE 'crowd%' SYNC")
    for client in crowd:
        client.join(60)
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads(done.stdout)
    many = report["findings"][1]
    assert (many["symptom"], many["verdict"]) == ("Many simultaneous queries", "found")
    assert "max_concurrent_queries_for_user" in " ".join(many["remedies"])
    assert report["evidence"]["looks"][-1]["queries"] >= 50


def test_a_server_that_is_not_there(start_server):
    done = doctor("http://127.0.0.1:1", "--seconds", "1")
    assert done.returncode == 2
    assert "Cannot ask 127.0.0.1:1" in done.stderr
    assert doctor("nonsense").returncode == 2
