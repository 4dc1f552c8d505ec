"""ClickHouse's configuration files, as they are."""

import json
import os
import subprocess
import threading
import time

from server import BINARY, free_port, wait_until


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
    assert "no_such_element" in server.log


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


def test_debians_own_configuration_is_understood(start_server, tmp_path):
    """The files of Debian's clickhouse-server, with only ports and paths replaced."""
    source = "/etc/clickhouse-server"
    if not os.path.exists(f"{source}/config.xml"):
        import pytest

        pytest.skip("clickhouse-server is not installed")
    folder = tmp_path / "debian"
    (folder / "config.d").mkdir(parents=True)
    for name in ("config.xml", "users.xml"):
        (folder / name).write_text(open(f"{source}/{name}").read())
    port = free_port()
    (folder / "config.d" / "here.xml").write_text(
        f"<yandex><http_port>{port}</http_port><tcp_port>{free_port()}</tcp_port><path>{folder}/data/</path>"
        f'<tmp_path>{folder}/tmp/</tmp_path><listen_host replace="1">127.0.0.1</listen_host>'
        f"<logger><log>{folder}/server.log</log><errorlog>{folder}/error.log</errorlog></logger></yandex>"
    )
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


def test_a_broken_file_is_logged_once_and_the_old_configuration_stays(start_server):
    server, change = reloading(start_server, settings={"total_max_threads": 3})
    change("config.d/more.xml", "<clickhouse><total_max_threads>many</total_max_threads></clickhouse>")
    wait_until(lambda: "is not loaded" in server.log, "the error is logged")
    error = next(line for line in server.log.splitlines() if "is not loaded" in line)
    assert "<Error>" in error and "more.xml" in error and "total_max_threads" in error
    time.sleep(0.5)
    errors = [line for line in (server.folder / "server.log").read_text().splitlines() if "is not loaded" in line]
    assert len(errors) == 1
    assert setting(server, "total_max_threads") == "3"
    change("config.d/more.xml", "<clickhouse><total_max_threads>7</total_max_threads></clickhouse>")
    wait_until(lambda: setting(server, "total_max_threads") == "7", "the mended file is loaded")
