"""ClickHouse's configuration files, as they are."""

import json
import os
import re
import subprocess
import threading
import time

import lz4.frame
import pytest
from ports import free_port
from server import BINARY, ROOT, ServerError, installed, wait_until


def setting(server, name):
    return server.value(f"SELECT value FROM system.server_settings WHERE name = '{name}'")


def test_config_d_merges(start_server):
    server = start_server(
        settings={"max_connections": 100, "keep_alive_timeout": 3, "max_concurrent_queries": 50},
        files={
            "config.d/10_first.xml": "<yandex><max_connections>200</max_connections></yandex>",
            "config.d/20_second.xml": '<clickhouse><keep_alive_timeout remove="1"/>'
            "<max_concurrent_queries>60</max_concurrent_queries></clickhouse>",
        },
    )
    assert setting(server, "max_connections") == "200"
    assert setting(server, "max_concurrent_queries") == "60"
    assert setting(server, "keep_alive_timeout") != "3"


def test_users_d_and_profiles(start_server):
    server = start_server(
        files={
            "users.d/more.xml": "<clickhouse><profiles><default><max_threads>3</max_threads><max_block_size>1000</max_block_size>"
            "</default></profiles><users><extra><password>e</password><networks><ip>::/0</ip></networks><profile>default</profile>"
            "</extra></users></clickhouse>"
        }
    )
    names = "'max_threads', 'max_block_size'"
    values = server.rows(f"SELECT value FROM system.settings WHERE name IN ({names}) ORDER BY name")
    assert values == [["1000"], ["3"]]
    assert server.value("SELECT currentUser()", user="extra", password="e") == "extra"


def test_from_env(start_server):
    os.environ["SQUALL_TEST_CONNECTIONS"] = "123"
    try:
        server = start_server(files={"config.d/env.xml": '<clickhouse><max_connections from_env="SQUALL_TEST_CONNECTIONS"/></clickhouse>'})
    finally:
        del os.environ["SQUALL_TEST_CONNECTIONS"]
    assert setting(server, "max_connections") == "123"


def test_unknown_element_is_a_warning(start_server):
    server = start_server(settings={"no_such_element": "1"})
    server.until_logged("no_such_element")


def test_bad_value_is_an_error_with_file_and_element(start_server):
    server = start_server(settings={"max_connections": "plenty"}, wait=False)
    server.spawn()
    assert server.process.wait(30) != 0
    assert "max_connections" in server.log and "config.xml" in server.log


def test_broken_xml_is_an_error_with_its_file(start_server):
    server = start_server(files={"config.d/broken.xml": "<clickhouse><open></clickhouse>"}, wait=False)
    server.spawn()
    assert server.process.wait(30) != 0
    assert "broken.xml" in server.log


def test_port_in_use_is_an_error(start_server):
    first = start_server()
    second = start_server(settings={"http_port": first.http_port}, wait=False)
    second.spawn()
    assert second.process.wait(30) != 0
    assert str(first.http_port) in second.log


def test_clickhouses_own_configuration_is_understood(tmp_path):
    """The elements that ClickHouse's packages set, with only ports and paths replaced."""
    folder = tmp_path / "stock"
    (folder / "config.d").mkdir(parents=True)
    (folder / "config.xml").write_text((ROOT / "crates/server/tests/data/stock_config.xml").read_text())
    port = free_port()
    (folder / "config.d" / "here.xml").write_text(
        f"<yandex><http_port>{port}</http_port><tcp_port>{free_port()}</tcp_port><path>{folder}/data/</path>"
        f'<tmp_path>{folder}/tmp/</tmp_path><listen_host replace="1">127.0.0.1</listen_host>'
        f"<logger><log>{folder}/server.log</log><errorlog>{folder}/error.log</errorlog></logger></yandex>"
    )
    checked = subprocess.run([BINARY, "check-config", str(folder / "config.xml")], capture_output=True, text=True)
    assert checked.returncode == 0 and "<mysql_port> is ignored" in checked.stdout, checked.stdout + checked.stderr
    process = subprocess.Popen([BINARY, "server", "--config-file", str(folder / "config.xml")], cwd=folder)
    try:
        import urllib.request

        deadline = time.monotonic() + 30
        while True:
            try:
                assert urllib.request.urlopen(f"http://127.0.0.1:{port}/?query=SELECT%2042", timeout=5).read() == b"42\n"
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
    finally:
        process.terminate()
        assert process.wait(30) == 0


def test_logs_can_be_json(start_server):
    server = start_server()
    settings = {"logger": f"<level>trace</level><log>{server.folder}/json.log</log><size>20K</size><count>3</count>"
                "<formatting><type>json</type><names><message>text</message><level>level</level><query_id>query</query_id>"
                "<date_time>at</date_time></names></formatting>"}
    server.stop()
    server.settings.update(settings)
    server.start()
    server.query("SELECT 1", query_id="in_json")
    for _ in range(200):
        server.http("SELECT wrong")
    server.stop()
    files = sorted(server.folder.glob("json.log*"))
    assert [file.name for file in files] == ["json.log", "json.log.0", "json.log.1", "json.log.2"]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert all(set(line) == {"at", "level", "query", "text"} for line in lines)
    assert all(abs(float(line["at"]) - time.time()) < 600 for line in lines)
    assert any(line["level"] == "Error" and "wrong" in line["text"] for line in lines)


def test_the_trace_tells_of_each_request_and_query(start_server):
    """In ClickHouse's words, so that who looks for them in its logs finds them in ours."""
    log = "<level>trace</level><log>{0}/trace.log</log>"
    server = start_server()
    server.stop()
    server.settings["logger"] = log.format(server.folder)
    server.start()
    with server.http_peer() as peer:
        for agent in (b"one", b"two", b"two"):
            peer.send(b"GET /ping HTTP/1.1\r\nHost: x\r\nUser-Agent: " + agent + b"\r\n\r\n")
            assert peer.response()[1] == b"Ok.\n"
    password = {"user": "reader", "password": "secret"}
    body = b"SELECT sum(number)\nFROM numbers(100000)"
    server.http(path="/", method="POST", body=body, headers={"User-Agent": "three"}, query_id="traced", **password)
    if installed("clickhouse-client"):
        assert server.client("--query_id=native", "--query=SELECT 1").returncode == 0
    assert server.http("SELECT 1", user="reader", password="wrong").status == 403
    server.stop()
    text = (server.folder / "trace.log").read_text()
    requests = r"\[ \d+ \] \{\} <Trace> HTTPHandler-factory: HTTP Request for HTTPHandler-factory. Method: "
    rest = "Content Type: , Transfer Encoding: identity, X-Forwarded-For: \\(none\\)\n"
    address = r"Address: 127\.0\.0\.1:\d+"
    assert len(re.findall(rf"{requests}GET, {address}, User-Agent: one, {rest}", text)) == 1
    assert len(re.findall(rf"{requests}GET, {address}, User-Agent: two, {rest}", text)) == 2
    assert len(re.findall(rf"{requests}POST, {address}, User-Agent: three, Length: {len(body)}, {rest}", text)) == 1
    size = r"[\d.]+ (B|[KMGT]iB)"
    expected = [
        r"\{\} <Trace> DynamicQueryHandler: Request URI: /\?query_id=traced&user=reader&password=\[HIDDEN\]\n",
        rf"\{{traced\}} <Debug> executeQuery: \(from 127\.0\.0\.1:\d+, user: reader\) SELECT sum\(number\) FROM numbers\(100000\) \(stage: Complete\)\n",
        rf"\{{traced\}} <Debug> executeQuery: Read 100000 rows, 781.25 KiB in \d+\.\d{{6}} sec\., \d+ rows/sec\., {size}/sec\.\n",
        rf"\{{traced\}} <Debug> MemoryTracker: Query peak memory usage: {size}\.\n",
        r"\{traced\} <Debug> DynamicQueryHandler: Done processing query\n",
        r"\{[-0-9a-f]*\} <Error> DynamicQueryHandler: Code: 516\. DB::Exception: reader: Authentication failed",
    ]
    if installed("clickhouse-client"):
        expected += [
            r"\{\} <Trace> TCPHandlerFactory: TCP Request\. Address: 127\.0\.0\.1:\d+\n",
            r"\{\} <Debug> TCPHandler: Connected ClickHouse client version \d+\.\d+, revision: \d+, .*user: default",
            r"\{native\} <Debug> executeQuery: \(from 127\.0\.0\.1:\d+\) SELECT 1 \(stage: Complete\)\n",
            r"\{\} <Debug> TCPHandler: Processed in \d+\.\d{6} sec\.\n",
        ]
    for pattern in expected:
        assert re.search(pattern, text), pattern
    assert "secret" not in text and "password=wrong" not in text


def test_logs_can_be_compressed(start_server):
    """Frames of LZ4 that any tool reads, while the server writes them and after its end."""
    server = start_server()
    server.stop()
    server.settings["logger"] = f"<level>trace</level><log>{server.folder}/compressed.log</log><stream_compress>1</stream_compress>"
    server.start()
    file = server.folder / "compressed.log"

    def text():
        frames, decompressed, is_whole = file.read_bytes(), b"", False
        while frames:
            decompressor = lz4.frame.LZ4FrameDecompressor()
            decompressed += decompressor.decompress(frames)
            frames, is_whole = decompressor.unused_data, decompressor.eof
        return decompressed.decode(), is_whole

    server.query("SELECT 'first'")
    wait_until(lambda: "SELECT 'first'" in text()[0], "the log is on the disk")
    server.restart()
    server.query("SELECT 'second'")
    server.stop()
    lines, is_whole = text()
    assert is_whole and "SELECT 'first'" in lines and "SELECT 'second'" in lines and lines.endswith("\n")


def reloading(start_server, **options):
    """A server that looks at its files often, and what changes them as an editor does."""
    server = start_server(settings={"config_reload_interval_ms": 50, **options.pop("settings", {})}, **options)

    def change(path, text):
        new = server.folder / f"{path}.new"
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text)
        new.rename(server.folder / path)

    return server, change


def test_a_changed_file_is_loaded_again(start_server):
    server, change = reloading(start_server, settings={"total_max_threads": 3})
    assert setting(server, "total_max_threads") == "3"
    config = (server.folder / "config.xml").read_text()
    change("config.xml", config.replace("<total_max_threads>3<", "<total_max_threads>5<"))
    wait_until(lambda: setting(server, "total_max_threads") == "5", "the budget changes")

    # A file that comes to lie beside the main one, changes and goes.
    beside = "<clickhouse><concurrent_threads_scheduler>{}</concurrent_threads_scheduler></clickhouse>"
    for policy in ("max_min_fair", "round_robin"):
        change("config.d/policy.xml", beside.format(policy))
        wait_until(lambda: setting(server, "concurrent_threads_scheduler") == policy, "the scheduler changes")
        endless = "SELECT max(sipHash64(number)) FROM numbers_mt(1000000000000)"
        running = threading.Thread(target=server.http, kwargs={"body": endless.encode(), "query_id": policy})
        running.start()
        wait_until(lambda: server.value(f"SELECT policy FROM system.scheduler WHERE query_id = '{policy}'") == policy, "it is in force")
        server.query(f"KILL QUERY WHERE query_id = '{policy}' SYNC")
        running.join()
    (server.folder / "config.d" / "policy.xml").unlink()
    wait_until(lambda: setting(server, "concurrent_threads_scheduler") == "stride", "the scheduler is the old one")

    # Users, profiles and what they include.
    change("users.d/more.xml", "<clickhouse><profiles><default><max_block_size>1000</max_block_size></default></profiles></clickhouse>")
    block = "SELECT value FROM system.settings WHERE name = 'max_block_size'"
    wait_until(lambda: server.value(block) == "1000", "the profile changes")


def test_a_changed_log_level_acts_on_reload(start_server):
    """By the files' watch and by SYSTEM RELOAD CONFIG; nothing else of <logger> does, and says so."""
    server, change = reloading(start_server)
    level = "<clickhouse><logger><level>{}</level>{}</logger></clickhouse>"

    def said(query_id):
        """Lines about a query, once a later one is certain to be written: what a level leaves out is never written."""
        server.query(f"SELECT 'of {query_id}'", query_id=query_id)
        change("config.d/level.xml", level.format("debug", ""))
        server.query("SYSTEM RELOAD CONFIG")
        server.query("SELECT 'a mark'", query_id=f"after-{query_id}")
        server.until_logged(f"{{after-{query_id}}}")
        return [line for line in server.log.splitlines() if f"{{{query_id}}}" in line]

    assert said("at-debug")
    change("config.d/level.xml", level.format("error", ""))
    server.query("SYSTEM RELOAD CONFIG")
    assert said("at-error") == []

    loads = server.log.count("The configuration was loaded again")
    change("config.d/level.xml", level.format("information", "<count>7</count>"))
    wait_until(lambda: server.log.count("The configuration was loaded again") > loads, "the watch has found it")
    server.until_logged("What <logger> says beyond levels changes when the server is started again")
    assert all("<Debug>" not in line for line in said("at-information"))


def test_a_broken_file_is_logged_once_and_the_old_configuration_stays(start_server):
    server, change = reloading(start_server, settings={"total_max_threads": 3})
    change("config.d/more.xml", "<clickhouse><total_max_threads>many</total_max_threads></clickhouse>")
    server.until_logged("is not loaded")
    error = next(line for line in server.log.splitlines() if "is not loaded" in line)
    assert "<Error>" in error and "more.xml" in error and "total_max_threads" in error
    time.sleep(0.5)
    errors = [line for line in (server.folder / "server.log").read_text().splitlines() if "is not loaded" in line]
    assert len(errors) == 1
    assert setting(server, "total_max_threads") == "3"
    change("config.d/more.xml", "<clickhouse><total_max_threads>7</total_max_threads></clickhouse>")
    wait_until(lambda: setting(server, "total_max_threads") == "7", "the mended file is loaded")


def test_what_guards_something_stops_the_start(tmp_path):
    file = tmp_path / "config.xml"
    file.write_text("<clickhouse><encryption_codecs><aes><key>1</key></aes></encryption_codecs></clickhouse>")
    for command in (["check-config"], ["server", "--config-file"]):
        done = subprocess.run([BINARY, *command, str(file)], capture_output=True, text=True, timeout=30, cwd=tmp_path)
        assert done.returncode == 1 and "<encryption_codecs>" in done.stdout + done.stderr


def test_queries_are_masked_wherever_they_are_kept(start_server):
    rules = r"<rule><name>card</name><regexp>(card)\s+\d{4}</regexp><replace>\1 ????</replace></rule>"
    server = start_server(settings={"query_masking_rules": rules, "query_log": "<flush_interval_milliseconds>100</flush_interval_milliseconds>"})
    assert server.query("SELECT 'card 1234'").strip() == "card 1234"
    with pytest.raises(ServerError):
        server.query("SELECT 'card 1234', throwIf(1, 'card 1234')")
    server.query("SYSTEM FLUSH LOGS")
    kept = server.query("SELECT query, exception, formatted_query FROM system.query_log FORMAT TSV")
    kept += server.query("SELECT last_error_message FROM system.errors FORMAT TSV")
    assert int(server.value("SELECT value FROM system.events WHERE event = 'QueryMaskingRulesMatch'")) > 1
    server.stop()
    assert "card ????" in kept and "card ????" in server.log
    assert "card 1234" not in kept and "card 1234" not in server.log


def test_a_server_that_takes_no_rows_takes_none(start_server):
    server = start_server(settings={"disable_insertion_and_mutation": 1})
    server.query("CREATE TABLE t (a UInt8) ENGINE = Memory")
    for query in ("INSERT INTO t VALUES (1)", "INSERT INTO t SELECT 1"):
        assert server.error_code(query) == 392


def test_large_tables_are_dropped_only_by_who_says_so(start_server):
    server = start_server(settings={"max_table_size_to_drop": 1})
    server.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a AS SELECT number FROM numbers(1000)")
    for query in ("DROP TABLE t", "TRUNCATE TABLE t"):
        assert server.error_code(query) == 359
    (server.data / "flags").mkdir()
    (server.data / "flags" / "force_drop_table").touch()
    server.query("TRUNCATE TABLE t")
    assert not (server.data / "flags" / "force_drop_table").exists()
    server.query("INSERT INTO t SELECT number FROM numbers(1000)")
    server.query("DROP TABLE t", max_table_size_to_drop=0)


def test_large_partitions_are_dropped_only_by_who_says_so(start_server):
    server = start_server(settings={"max_partition_size_to_drop": 1})
    server.query(
        "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a PARTITION BY a % 3 AS SELECT number FROM numbers(999)"
    )
    names = server.query("SELECT name FROM system.parts WHERE table = 't' AND partition_id = '2' FORMAT TSV").split()
    refused_ones = ("DROP PARTITION 0", "DETACH PARTITION 0", "DROP PARTITION ALL", f"DROP PART '{names[0]}'")
    for command in refused_ones:
        assert server.error_code(f"ALTER TABLE t {command}") == 359, command
    assert server.value("SELECT count() FROM t") == "999"
    server.query("ALTER TABLE t DETACH PARTITION 0", max_partition_size_to_drop=0)
    # What is detached is no longer the table's.
    server.query("ALTER TABLE t DROP DETACHED PARTITION 0", allow_drop_detached=1)
    (server.data / "flags").mkdir()
    (server.data / "flags" / "force_drop_table").touch()
    server.query("ALTER TABLE t DROP PARTITION 1")
    assert not (server.data / "flags" / "force_drop_table").exists()
    assert server.value("SELECT count() FROM t") == "333"
    for name in names:
        server.query(f"ALTER TABLE t DROP PART '{name}'", max_partition_size_to_drop=10**9)
    assert server.value("SELECT count() FROM t") == "0"
    # The limit of whole tables is another.
    server.query("INSERT INTO t SELECT number FROM numbers(99)")
    server.query("TRUNCATE TABLE t")
