"""Who may do what: grants, roles, users that SQL makes, row policies, quotas, constraints, addresses, and what is hidden."""

import concurrent.futures
import pathlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from clickhouse_driver import Client
from clickhouse_driver.errors import Error as NativeError
from server import ServerError, wait_until

CASES = pathlib.Path(__file__).with_name("access_cases.tsv")
DENIED = 497
LOCAL = "<networks><ip>127.0.0.1</ip></networks>"
ADMIN = f"<default><password/>{LOCAL}<access_management>1</access_management>"
ADMIN += "<named_collection_control>1</named_collection_control>"
ADMIN += "<show_named_collections_secrets>1</show_named_collections_secrets></default>"


def users_xml(users="", profiles="<default/>", more=""):
    return f"<clickhouse><profiles>{profiles}</profiles><users>{ADMIN}{users}</users>{more}</clickhouse>"


def user(name, inside=""):
    return f"<{name}><password>pw</password>{LOCAL}{inside}</{name}>"


@pytest.fixture
def access_server(start_server):
    return start_server(users_xml=users_xml())


def code_of(server, sql, name="default", password="pw", **params):
    """0, or the code of the error; over HTTP."""
    credentials = {} if name == "default" else {"user": name, "password": password}
    return server.error_code(sql, **credentials, **params)


def native_code(server, sql, name, password="pw"):
    client = Client("127.0.0.1", port=server.native_port, user=name, password=password)
    try:
        client.execute(sql)
    except NativeError as error:
        return error.code
    finally:
        client.disconnect()
    return 0


def read_cases():
    setup, grants, cases = [], {}, []
    for line in CASES.read_text().splitlines():
        if line.startswith("#"):
            continue
        who, statement, allowed = line.split("\t")
        if who == "setup":
            setup.append(statement)
        elif who.startswith("grant "):
            grants.setdefault(who[6:], []).append(statement)
        else:
            cases.append((who, statement, allowed))
    return setup, grants, cases


READS = ("SELECT", "WITH", "SHOW", "EXISTS", "DESCRIBE", "EXPLAIN", "USE", "SET", "EXECUTE AS")


def clean_up(server):
    """Removes what a statement of the cases may have made, and tables whose rows it may have moved."""
    for table in ("new", "copy", "filled", "cloned", "fn", "new_name", "empty2"):
        server.query(f"DROP TABLE IF EXISTS d.{table}")
    for what in ("DICTIONARY d.di", "DATABASE fresh", "USER fresh_user", "ROLE fresh_role", "ROW POLICY p ON d.t", "QUOTA q", "SETTINGS PROFILE pr"):
        kind = " ".join(word for word in what.split() if word.isupper() and word != "ON")
        server.query(f"DROP {kind} IF EXISTS {what[len(kind) + 1:]}")


@pytest.mark.parametrize("made_by", ["users.xml", "SQL"])
def test_cases_of_clickhouse(start_server, made_by):
    """What ClickHouse allows and denies, statement by statement, over both protocols."""
    setup, grants, cases = read_cases()
    assert len(cases) >= 300
    queries = {name: "".join(f"<query>{query}</query>" for query in granted) for name, granted in grants.items()}
    others = "<other><password>pw</password><grants><query>GRANT r2</query></grants></other>"
    roles = "<roles><r><grants><query>GRANT SELECT ON d.t</query></grants></r><r2/></roles>"
    if made_by == "users.xml":
        users = "".join(user(name, f"<grants>{inside}</grants>") for name, inside in queries.items())
        server = start_server(users_xml=users_xml(users + others, more=roles))
    else:
        server = start_server(users_xml=users_xml(others, more=roles))
        for name, granted in grants.items():
            server.query(f"CREATE USER {name} IDENTIFIED BY 'pw'")
            for statement in granted:
                server.query(f"{statement} {'FROM' if statement.startswith('REVOKE') else 'TO'} {name}")
    wrong = []
    for name, statement, expected in cases:
        for ask in (code_of, native_code):
            # What only reads leaves everything as it was.
            if not statement.startswith(READS) or (name, statement, ask) == (*cases[0][:2], code_of):
                clean_up(server)
                for sql in setup:
                    server.query(sql)
            allowed = "denied" if ask(server, statement, name) == DENIED else "allowed"
            if allowed != expected:
                wrong.append(f"{name}: {statement}: {allowed}, not {expected} ({ask.__name__})")
    assert not wrong, "\n".join(wrong)


def test_the_error_is_clickhouses(access_server):
    server = access_server
    server.query("CREATE TABLE t (a UInt8, b UInt8) ENGINE = Memory")
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("GRANT SELECT(a), SHOW COLUMNS ON default.t TO u")
    with pytest.raises(ServerError) as error:
        server.query("SELECT a, b FROM default.t", user="u", password="pw")
    expected = "u: Not enough privileges. To execute this query, it's necessary to have the grant SELECT(a, b) ON default.t"
    assert error.value.code == DENIED and expected in str(error.value)


def test_kept_plans_are_checked(access_server):
    """A plan that was kept with its text holds no longer than the rights that it was made under."""
    server = access_server
    server.query("CREATE TABLE t (a UInt8, b UInt8) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO t SELECT number, number % 3 FROM numbers(100)")
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("GRANT SELECT ON default.t TO u")
    texts = ["SELECT count() FROM t WHERE a = 7", "SELECT sum(b) FROM t", "SELECT count() FROM t"]
    for sql in texts * 4:
        assert code_of(server, sql, "u") == 0
    # Another value, by a plan for all of them.
    assert code_of(server, "SELECT count() FROM t WHERE a = 8", "u") == 0
    server.query("REVOKE SELECT ON default.t FROM u")
    for sql in [*texts, "SELECT count() FROM t WHERE a = 9"]:
        assert code_of(server, sql, "u") == DENIED
    server.query("GRANT SELECT(a) ON default.t TO u")
    assert [code_of(server, sql, "u") for sql in texts] == [0, DENIED, 0]
    server.query("CREATE ROW POLICY p ON default.t USING b = 1 TO u")
    for sql, expected in (("SELECT count() FROM t", "33"), ("SELECT count() FROM t WHERE a = 9", "0")):
        for _ in range(3):
            assert server.value(sql, user="u", password="pw") == expected
    assert server.value("SELECT count() FROM t") == "100"
    server.query("ALTER ROW POLICY p ON default.t USING b = 2")
    assert server.value("SELECT max(a % 3) FROM t", user="u", password="pw") == "2"
    server.query("DROP ROW POLICY p ON default.t")
    assert server.value("SELECT count() FROM t", user="u", password="pw") == "100"


def test_rows_that_are_hidden_stay_hidden(access_server):
    server = access_server
    server.query("CREATE TABLE t (a UInt32, secret String) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO t SELECT number, concat('s', toString(number)) FROM numbers(1000)")
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("GRANT SELECT, INSERT ON default.t TO u")
    server.query("CREATE ROW POLICY p ON default.t USING a % 10 = 0 TO u")
    as_u = {"user": "u", "password": "pw"}
    # Nothing of the query runs on rows that the policy hides: it could tell of them by failing.
    for sql in [
        "SELECT count() FROM t WHERE throwIf(a = 5) = 0",
        "SELECT count() FROM t WHERE NOT ignore(throwIf(secret = 's5'))",
        "SELECT count() FROM (SELECT * FROM t) WHERE throwIf(a = 5) = 0",
        "SELECT countIf(throwIf(a = 5) = 0) FROM t",
        "SELECT count() FROM t AS x JOIN t AS y USING (a) WHERE throwIf(y.a = 5) = 0",
        "SELECT count() FROM t",
        "SELECT count() FROM t WHERE a >= 0",
        "SELECT uniqExact(secret) FROM t PREWHERE throwIf(a = 5) = 0",
        "WITH q AS (SELECT a FROM t) SELECT count() FROM q",
    ]:
        assert server.value(sql, **as_u) == "100", sql
    assert server.value("SELECT 5 IN (SELECT a FROM t), 10 IN (SELECT a FROM t)", **as_u) == "0\t1"
    assert server.value("SELECT min(a), max(a) FROM t", **as_u) == "0\t990"
    assert server.value("SELECT count() FROM t WHERE a = 5", **as_u) == "0"
    assert server.value("SELECT secret FROM t WHERE a = 10", **as_u) == "s10"
    # Policies are met together: one of those that permit, and all that restrict.
    server.query("CREATE ROW POLICY q ON default.t USING a = 5 TO u")
    server.query("CREATE ROW POLICY r ON default.* AS RESTRICTIVE USING a < 50 TO ALL EXCEPT default")
    assert server.value("SELECT groupArray(a) FROM (SELECT a FROM t ORDER BY a)", **as_u) == "[0,5,10,20,30,40]"
    assert server.value("SELECT count() FROM t") == "1000"
    # A policy's own columns need no grant.
    server.query("REVOKE SELECT ON default.t FROM u")
    server.query("GRANT SELECT(secret) ON default.t TO u")
    assert server.value("SELECT count(secret) FROM t", **as_u) == "6"
    assert code_of(server, "SELECT a FROM t", "u") == DENIED


def test_roles(access_server):
    server = access_server
    server.query("CREATE TABLE t (a UInt8) ENGINE = Memory")
    for statement in (
        "CREATE ROLE reads",
        "CREATE ROLE writes SETTINGS max_threads = 3",
        "GRANT SELECT ON default.t TO reads",
        "GRANT INSERT ON default.t TO writes",
        "GRANT reads TO writes",
        "CREATE USER u IDENTIFIED BY 'pw'",
        "GRANT writes TO u",
    ):
        server.query(statement)
    as_u = {"user": "u", "password": "pw"}
    assert server.rows("SHOW GRANTS", **as_u) == [["GRANT writes TO u"]]
    assert server.value("SELECT count() FROM t", **as_u) == "0"
    assert server.value("SELECT getSetting('max_threads')", **as_u) == "3"
    assert server.rows("SELECT role_name, is_current FROM system.enabled_roles ORDER BY role_name", **as_u) == [["reads", "0"], ["writes", "1"]]
    session = {"session_id": "roles", **as_u}
    server.query("SET ROLE NONE", **session)
    assert code_of(server, "SELECT count() FROM t", "u", session_id="roles") == DENIED
    server.query("SET ROLE writes", **session)
    assert server.value("SELECT count() FROM t", **session) == "0"
    assert code_of(server, "SET ROLE reads", "u", session_id="roles") == 512
    server.query("GRANT reads TO u WITH ADMIN OPTION")
    server.query("SET ROLE reads", **session)
    assert server.query("SHOW CURRENT ROLES", **session) == "reads\t1\t1\n"
    server.query("CREATE USER v IDENTIFIED BY 'pw'")
    assert code_of(server, "GRANT reads TO v", "u") == 0
    assert code_of(server, "GRANT writes TO v", "u") == DENIED
    # Of a role that was taken away nothing is left, also for a session that chose it.
    server.query("REVOKE reads FROM u")
    server.query("REVOKE writes FROM u")
    assert code_of(server, "SELECT count() FROM t", "u", session_id="roles") == DENIED
    assert code_of(server, "GRANT writes TO reads") != 0
    server.query("ALTER USER v DEFAULT ROLE NONE")
    assert code_of(server, "SELECT count() FROM t", "v") == DENIED
    assert code_of(server, "SELECT count() FROM t", "v", role="reads") == 0
    server.query("DROP ROLE reads")
    assert code_of(server, "SELECT count() FROM t", "v", role="reads") == 512


def test_what_sql_made_is_there_after_a_crash(access_server):
    server = access_server
    for statement in (
        "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a",
        "INSERT INTO t VALUES (1), (2)",
        "CREATE ROLE r SETTINGS max_threads = 2 MIN 1 MAX 4",
        "CREATE USER u IDENTIFIED WITH bcrypt_password BY 'pw', sha256_password BY 'other' HOST LOCAL, IP '127.0.0.0/8' DEFAULT DATABASE system SETTINGS max_block_size = 1000 CONST",
        "CREATE ROW POLICY p ON default.t USING a = 1 TO u",
        "CREATE QUOTA q KEYED BY user_name FOR INTERVAL 1 hour MAX queries = 1000, execution_time = 2.5 TO r",
        "CREATE SETTINGS PROFILE pr SETTINGS max_execution_time = 100 TO u",
        "GRANT SELECT ON default.* TO r WITH GRANT OPTION",
        "GRANT r TO u WITH ADMIN OPTION",
        "REVOKE SELECT ON default.other* FROM r",
    ):
        server.query(statement)
    shown = server.query("SHOW ACCESS")
    server.kill()
    server.start()
    assert server.query("SHOW ACCESS") == shown
    for password in ("pw", "other"):
        assert server.value("SELECT count() FROM default.t", user="u", password=password) == "1"
    assert code_of(server, "SELECT 1", "u", "wrong") == 516
    assert server.value("SELECT currentDatabase()", user="u", password="pw") == "system"
    assert code_of(server, "SELECT 1", "u", max_block_size="5") == 452
    assert "pw" not in shown and "HIDDEN" not in shown


def test_grants_are_passed_on_within_limits(access_server):
    server = access_server
    server.query("CREATE USER friend IDENTIFIED BY 'pw'")
    server.query("CREATE USER boss IDENTIFIED BY 'pw' GRANTEES friend")
    server.query("CREATE USER foe IDENTIFIED BY 'pw'")
    server.query("GRANT SELECT ON d.* TO boss WITH GRANT OPTION")
    server.query("GRANT INSERT ON d.* TO boss")
    assert code_of(server, "GRANT SELECT(a) ON d.t TO friend", "boss") == 0
    assert code_of(server, "GRANT SELECT ON d.t TO foe", "boss") == DENIED
    assert code_of(server, "GRANT INSERT ON d.t TO friend", "boss") == DENIED
    assert code_of(server, "GRANT SELECT ON *.* TO friend", "boss") == DENIED
    assert code_of(server, "GRANT CURRENT GRANTS ON *.* TO friend", "boss") == 0
    assert server.rows("SHOW GRANTS FOR friend") == [["GRANT SELECT ON d.* TO friend"]]
    assert code_of(server, "ALTER USER boss GRANTEES ANY", "boss") == DENIED
    assert code_of(server, "SHOW GRANTS FOR friend", "boss") == DENIED
    # What configuration files say, SQL does not change.
    assert code_of(server, "GRANT SELECT ON d.* TO default") in (0, 495)
    assert code_of(server, "ALTER USER default IDENTIFIED BY 'x'") == 495
    assert code_of(server, "DROP USER default") == 495


def test_confined_users(start_server):
    """What a user may do whom `allow_databases` confines, and one that only reads."""
    confined = user("confined", "<allow_databases><database>own</database></allow_databases>")
    server = start_server(users_xml=users_xml(confined + user("reads", "<profile>readonly</profile>"), "<default/><readonly><readonly>1</readonly></readonly>"))
    server.query("CREATE DATABASE own")
    server.query("CREATE DATABASE other")
    server.query("CREATE TABLE other.t (a UInt8) ENGINE = Memory")
    for sql, code in [
        ("CREATE TABLE own.t (a UInt8) ENGINE = Memory", 0),
        ("INSERT INTO own.t VALUES (1)", 0),
        ("SELECT * FROM own.t", 0),
        ("DROP TABLE own.t", 0),
        ("SELECT * FROM other.t", DENIED),
        ("INSERT INTO other.t VALUES (1)", DENIED),
        ("DROP TABLE other.t", DENIED),
        ("CREATE DATABASE third", DENIED),
        ("SYSTEM SHUTDOWN", DENIED),
        ("SYSTEM KILL", DENIED),
        ("SYSTEM RELOAD CONFIG", DENIED),
        ("SYSTEM FLUSH LOGS", DENIED),
        ("CREATE USER x", DENIED),
        ("SELECT * FROM system.query_log", DENIED),
        ("SELECT * FROM system.users", DENIED),
        ("SELECT * FROM system.one", 0),
        ("SELECT * FROM remote('127.0.0.1', other.t)", DENIED),
        ("SELECT * FROM cluster('default', other.t)", DENIED),
        ("SELECT * FROM merge('other', 't')", DENIED),
    ]:
        found = code_of(server, sql, "confined")
        assert found == code or (code == DENIED and found in (DENIED, 36, 60, 636)), (sql, found)
    as_confined = {"user": "confined", "password": "pw"}
    assert server.query("SHOW DATABASES", **as_confined) == "own\nsystem\n"
    assert server.value("SELECT count() FROM system.tables WHERE database = 'other'", **as_confined) == "0"
    assert server.value("SELECT count() FROM system.columns WHERE database = 'other'", **as_confined) == "0"
    for sql in ("SYSTEM SHUTDOWN", "CREATE USER x", "GRANT SELECT ON *.* TO reads", "INSERT INTO other.t VALUES (1)"):
        assert code_of(server, sql, "reads") == 164, sql
    assert server.alive()


def test_queries_of_others(access_server):
    server = access_server
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        long = pool.submit(code_of, server, "SELECT count() FROM system.numbers WHERE ignore(number) FORMAT Null", query_id="long")
        server.until_running("long")
        as_u = {"user": "u", "password": "pw"}
        assert server.value("SELECT count() FROM system.processes WHERE user != 'u'", **as_u) == "0"
        assert server.query("KILL QUERY WHERE query_id = 'long' SYNC", **as_u) == ""
        assert server.running("long")
        server.query("GRANT KILL QUERY ON *.* TO u")
        assert "long" in server.query("KILL QUERY WHERE query_id = 'long' SYNC", **as_u)
        assert long.result() != 0


def test_constraints_hold_on_every_way_in(start_server):
    limited = "<profile>limited</profile>"
    profiles = (
        "<default/><limited><max_memory_usage>1000000000</max_memory_usage><constraints>"
        "<max_memory_usage><min>1</min><max>10Gi</max></max_memory_usage><max_threads><const/></max_threads>"
        "<max_execution_time><max>60</max></max_execution_time></constraints></limited>"
        "<wide><max_memory_usage>100Gi</max_memory_usage></wide>"
    )
    server = start_server(users_xml=users_xml(user("u", limited), profiles))
    as_u = {"user": "u", "password": "pw"}
    bad = [("max_memory_usage", "100Gi"), ("max_memory_usage", "107374182400"), ("max_memory_usage", "0"), ("max_threads", "7"), ("max_execution_time", "61.5")]
    for name, value in bad:
        assert code_of(server, "SELECT 1", "u", **{name: value}) == 452, (name, value)
        assert code_of(server, f"SELECT 1 SETTINGS {name} = '{value}'", "u") == 452, (name, value)
        assert code_of(server, f"SET {name} = '{value}'", "u", session_id="s") == 452, (name, value)
        assert code_of(server, f"INSERT INTO FUNCTION null('a UInt8') SETTINGS {name} = '{value}' VALUES (1)", "u") == 452
        native = Client("127.0.0.1", port=server.native_port, user="u", password="pw", settings={name: value})
        with pytest.raises(NativeError) as error:
            native.execute("SELECT 1")
        assert error.value.code == 452
    assert code_of(server, "SELECT 1", "u", max_memory_usage="9Gi") == 0
    # A profile that sets what one may not, is not taken; one that does not, leaves one's own bounds.
    for way in ("SET profile = 'wide'", "SELECT 1 SETTINGS profile = 'wide'"):
        assert code_of(server, way, "u", session_id="s") == 452
    assert code_of(server, "SELECT 1", "u", profile="wide") == 452
    assert code_of(server, "SET profile = 'default'", "u", session_id="s") == 0
    assert code_of(server, "SET max_memory_usage = '100Gi'", "u", session_id="s") == 452
    # Nor can one give oneself, or another, what one may not have.
    server.query("CREATE USER maker IDENTIFIED BY 'pw' SETTINGS max_memory_usage = 1000 MAX 2000")
    server.query("GRANT CREATE USER ON * TO maker")
    assert code_of(server, "CREATE USER x SETTINGS max_memory_usage = '1Gi'", "maker") == 452
    assert code_of(server, "CREATE USER x SETTINGS max_memory_usage = 1500", "maker") == 0


def test_quotas(access_server):
    server = access_server
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("CREATE USER v IDENTIFIED BY 'pw'")
    server.query("CREATE QUOTA q KEYED BY user_name FOR INTERVAL 1 year MAX queries = 5, errors = 1 TO u, v")
    codes = [code_of(server, "SELECT 1", "u") for _ in range(7)]
    assert codes == [0] * 5 + [201] * 2
    assert native_code(server, "SELECT 1", "u") == 201
    assert code_of(server, "SELECT 1", "v") == 0
    [row] = server.rows("SELECT quota_name, quota_key, max_queries, queries > 5 FROM system.quotas_usage WHERE quota_key = 'u'")
    assert row == ["q", "u", "5", "1"]
    assert server.rows("SELECT max_queries, max_errors, max_read_rows FROM system.quota_limits") == [["5", "1", "\\N"]]
    assert code_of(server, "SELECT nothing", "v") == 47
    server.query("ALTER QUOTA q FOR INTERVAL 1 year MAX read_rows = 100")
    assert [code_of(server, f"SELECT sum(number) FROM numbers({rows})", "u") for rows in (90, 90, 1)] == [0, 201, 201]
    server.query("DROP QUOTA q")
    assert code_of(server, "SELECT 1", "u") == 0


def test_ways_to_come_in(access_server):
    server = access_server
    for method in ("plaintext_password", "sha256_password", "double_sha1_password", "bcrypt_password", "scram_sha256_password"):
        server.query(f"CREATE USER {method} IDENTIFIED WITH {method} BY 'pw'")
        for _ in range(2):
            assert code_of(server, "SELECT 1", method) == 0, method
        assert code_of(server, "SELECT 1", method, "pW") == 516
        assert native_code(server, "SELECT 1", method) == 0
        assert "pw" not in server.query(f"SHOW CREATE USER {method}")
    server.query("CREATE USER hashed IDENTIFIED WITH sha256_hash BY '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'")
    assert code_of(server, "SELECT 1", "hashed", "secret") == 0
    server.query("ALTER USER hashed ADD IDENTIFIED WITH bcrypt_password BY 'two'")
    assert [code_of(server, "SELECT 1", "hashed", word) for word in ("secret", "two", "three")] == [0, 0, 516]
    server.query("ALTER USER hashed RESET AUTHENTICATION METHODS TO NEW")
    assert [code_of(server, "SELECT 1", "hashed", word) for word in ("secret", "two")] == [516, 0]
    server.query("ALTER USER hashed VALID UNTIL '2020-01-01'")
    assert code_of(server, "SELECT 1", "hashed", "two") == 516
    server.query("ALTER USER hashed VALID UNTIL 'infinity'")
    assert code_of(server, "SELECT 1", "hashed", "two") == 0
    server.query("ALTER USER hashed HOST IP '10.0.0.0/8'")
    assert code_of(server, "SELECT 1", "hashed", "two") == 516
    server.query("ALTER USER hashed ADD HOST LOCAL")
    server.query("ALTER USER hashed RENAME TO again")
    assert [code_of(server, "SELECT 1", name, "two") for name in ("hashed", "again")] == [516, 0]
    server.query("CREATE USER open NOT IDENTIFIED HOST LOCAL")
    assert code_of(server, "SELECT 1", "open", "") == 0


def test_a_new_password_replaces_the_old(access_server):
    server = access_server

    def comes_in(password):
        codes = {code_of(server, "SELECT 1", "turned", password), native_code(server, "SELECT 1", "turned", password)}
        assert codes in ({0}, {516})
        return codes == {0}

    server.query("CREATE USER turned IDENTIFIED WITH sha256_password BY '0' HOST LOCAL")
    old = "0"
    # Another password of the same kind, and of others.
    for number, kind in enumerate(["sha256_password"] * 2 + ["plaintext_password"] * 2 + ["double_sha1_password"] * 2 + ["bcrypt_password"] * 2):
        new = f"new {number}"
        server.query(f"ALTER USER turned IDENTIFIED WITH {kind} BY '{new}'")
        assert comes_in(new), kind
        assert not comes_in(old), kind
        old = new
    server.kill()
    server.start()
    assert comes_in(old)
    assert not comes_in("0")
    server.query("DROP USER turned")


def test_an_empty_password_is_a_password(access_server):
    assert access_server.error_code("SELECT 1", user="default", password="") == 0
    assert access_server.error_code("SELECT 1", user="default", password="other") == 516


def test_passwords_are_shown_nowhere(start_server):
    server = start_server(users_xml=users_xml(), settings={"query_log": "<flush_interval_milliseconds>100</flush_interval_milliseconds>"})
    word = "Geheimnis17"
    server.query(f"CREATE USER u IDENTIFIED WITH sha256_password BY '{word}'")
    assert code_of(server, f"CREATE USER u IDENTIFIED BY '{word}'") == 493
    assert code_of(server, f"CREATE USER v IDENTIFIED BY '{word}' NONSENSE") == 62
    server.query("CREATE TABLE src (k UInt64, v String) ENGINE = Memory")
    server.query(
        "CREATE DICTIONARY d (k UInt64, v String) PRIMARY KEY k "
        f"SOURCE(CLICKHOUSE(TABLE 'src' USER 'default' PASSWORD '{word}')) LAYOUT(FLAT()) LIFETIME(0)"
    )
    assert "[HIDDEN]" in server.query("SHOW CREATE DICTIONARY d")
    assert word not in server.query("SHOW CREATE DICTIONARY d")
    assert word not in server.query("SELECT create_table_query FROM system.tables WHERE name = 'd'")
    server.query("SYSTEM FLUSH LOGS")
    assert server.value(f"SELECT count() FROM system.query_log WHERE query LIKE '%Geheim%' AND query NOT LIKE '%query_log%'") == "0"
    assert server.value("SELECT count() > 1 FROM system.query_log WHERE query LIKE '%[HIDDEN]%'") == "1"
    server.stop()
    lines = [line for line in server.log.splitlines() if word in line and "Syntax error" not in line]
    assert not lines, lines


def test_clients_write_no_lines_of_their_own(access_server):
    server = access_server
    forged = "2026.01.01 00:00:00.000000 [ 1 ] {} <Fatal> Application: forged"
    server.query(f"SELECT 1 /* \n{forged}\n\x1b[2J */")
    assert code_of(server, f"SELECT nothing \n{forged}") != 0
    server.http("SELECT 1", headers={"User-Agent": "a\x1b[31mb"}, user=f"x\n{forged}", password="y")
    assert server.http("SELECT 1", query_id=f"q\n{forged}").status in (200, 400)
    server.stop()
    assert "Application: forged" in server.log
    assert not any(line.startswith(forged) for line in server.log.splitlines())
    assert "\x1b" not in server.log


class Answers(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"1\tone\n")

    do_POST = do_GET

    def log_message(self, *_):
        pass


def test_addresses_that_were_not_allowed(start_server):
    outside = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=outside.serve_forever, daemon=True).start()
    port = outside.server_port

    def create(server, host, **credentials):
        return code_of(
            server,
            "CREATE OR REPLACE DICTIONARY d (k UInt64, v String) PRIMARY KEY k "
            f"SOURCE(HTTP(URL 'http://{host}/x' FORMAT 'TabSeparated')) LAYOUT(FLAT()) LIFETIME(0)",
            **credentials,
        )

    try:
        server = start_server(users_xml=users_xml())
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "169.254.169.254", "10.0.0.1", "0.0.0.0"):
            assert create(server, host) == 491, host
        named = start_server(users_xml=users_xml(), settings={"remote_url_allow_hosts": f"<host>127.0.0.1:{port}</host>"})
        assert create(named, "example.com") == 491
        assert create(named, f"127.0.0.1:{port}") == 0
        assert named.value("SELECT dictGet('d', 'v', toUInt64(1))") == "one"
        named.query("CREATE USER u IDENTIFIED BY 'pw'")
        named.query("GRANT CREATE DICTIONARY, DROP DICTIONARY ON *.* TO u")
        assert create(named, f"127.0.0.1:{port}", name="u") == DENIED
        named.query("GRANT URL ON *.* TO u")
        assert create(named, f"127.0.0.1:{port}", name="u") == 0
        assert Answers.asked > 0
    finally:
        outside.shutdown()


def test_a_dictionary_reads_no_more_than_its_maker(access_server):
    server = access_server
    server.query("CREATE TABLE secret (k UInt64, v String) ENGINE = Memory")
    server.query("INSERT INTO secret VALUES (1, 'x')")
    server.query("CREATE DATABASE own")
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("GRANT CREATE DICTIONARY, dictGet ON own.* TO u")
    create = (
        "CREATE DICTIONARY own.d (k UInt64, v String) PRIMARY KEY k "
        "SOURCE(CLICKHOUSE(QUERY 'SELECT k, v FROM default.secret')) LAYOUT(FLAT()) LIFETIME(0)"
    )
    assert code_of(server, create, "u") == DENIED
    server.query(create)
    # Who was given the dictionary may look into it, as ClickHouse has it.
    assert server.value("SELECT dictGet('own.d', 'v', toUInt64(1))", user="u", password="pw") == "x"
    server.query("REVOKE dictGet ON own.* FROM u")
    # Nor is there a way around by a table that shows it.
    server.query("GRANT CREATE TABLE, SELECT ON own.* TO u")
    assert code_of(server, "CREATE TABLE own.view ENGINE = Dictionary('own.d')", "u") == DENIED
    server.query("REVOKE CREATE TABLE, SELECT ON own.* FROM u")
    assert code_of(server, "SELECT dictGet('own.d', 'v', toUInt64(1))", "u") == DENIED
    assert code_of(server, "SELECT * FROM dictionary('own.d')", "u") == DENIED


def test_pages_and_names_of_others(start_server):
    server = start_server(users_xml=users_xml(user("u")))
    own = f"127.0.0.1:{server.http_port}"
    as_u = {"user": "u", "password": "pw"}
    for headers, status in [
        ({}, 200),
        ({"Origin": f"http://{own}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": f"evil.example:{server.http_port}"}, 403),
        ({"Host": f"localhost:{server.http_port}"}, 200),
    ]:
        for method in ("GET", "POST"):
            assert server.http("SELECT 1", method=method, headers=headers).status == status, headers
        # Who has shown a password is no visitor of a page.
        assert server.http("SELECT 1", headers=headers, **as_u).status == 200
    named = start_server(users_xml=users_xml(), settings={"http_allowed_hosts": "db.example.com"})
    assert named.http("SELECT 1", headers={"Host": "db.example.com"}).status == 200
    assert named.http("SELECT 1", headers={"Host": "other.example.com"}).status == 403


def test_tables_of_what_there_is(access_server):
    server = access_server
    for statement in (
        "CREATE ROLE r",
        "CREATE USER u IDENTIFIED WITH sha256_password BY 'x'",
        "GRANT r TO u",
        "GRANT SELECT(a) ON d.t TO r",
        "CREATE ROW POLICY p ON d.t USING a = 1 TO r",
        "CREATE SETTINGS PROFILE pr SETTINGS max_threads = 2 MAX 4 CHANGEABLE_IN_READONLY TO u",
        "CREATE QUOTA q KEYED BY ip_address IPV4_PREFIX_BITS 24 FOR INTERVAL 1 day TRACKING ONLY TO ALL EXCEPT u",
    ):
        server.query(statement)
    assert server.rows("SELECT name, storage, auth_type FROM system.users ORDER BY name") == [
        ["default", "users_xml", "['plaintext_password']"],
        ["u", "local_directory", "['sha256_password']"],
    ]
    assert server.rows("SELECT role_name, access_type, database, table, column FROM system.grants WHERE role_name = 'r'") == [["r", "SELECT", "d", "t", "a"]]
    assert server.rows("SELECT user_name, granted_role_name, granted_role_is_default FROM system.role_grants") == [["u", "r", "1"]]
    assert server.rows("SELECT name, select_filter, apply_to_list FROM system.row_policies") == [["p ON d.t", "a = 1", "['r']"]]
    assert server.rows("SELECT setting_name, value, max, writability FROM system.settings_profile_elements WHERE profile_name = 'pr'") == [
        ["max_threads", "2", "4", "CHANGEABLE_IN_READONLY"]
    ]
    assert server.rows("SELECT keys, durations, apply_to_all, apply_to_except, ipv4_prefix_bits FROM system.quotas") == [
        ["['ip_address']", "[86400]", "1", "['u']", "24"]
    ]
    assert server.value("SELECT count() FROM system.privileges") == "248"
    assert server.rows("SHOW CREATE QUOTA q") == [
        ["CREATE QUOTA q KEYED BY ip_address IPV4_PREFIX_BITS 24 FOR INTERVAL 1 day TRACKING ONLY TO ALL EXCEPT u"]
    ]
    assert server.rows("SHOW CREATE ROW POLICY p ON d.t") == [["CREATE ROW POLICY p ON d.t FOR SELECT USING a = 1 TO r"]]
    # Who is mentioned and goes, is mentioned no more.
    server.query("ALTER ROLE r RENAME TO s")
    assert server.value("SELECT apply_to_list FROM system.row_policies") == "['s']"
    assert server.rows("SHOW GRANTS FOR u") == [["GRANT s TO u"]]
    server.query("DROP ROLE s")
    assert server.rows("SHOW GRANTS FOR u") == []
    assert server.value("SELECT apply_to_list FROM system.row_policies") == "[]"


@pytest.fixture
def hidden_rows(access_server):
    """Tables of which u sees ten rows of a thousand, by policies, and not the column `w`; `own` is u's own database."""
    server = access_server
    for statement in (
        "CREATE TABLE t (a UInt32, secret String) ENGINE = MergeTree ORDER BY a",
        "CREATE TABLE m (a UInt32, secret String) ENGINE = Memory",
        "CREATE TABLE keys (a UInt32) ENGINE = MergeTree ORDER BY a",
        "CREATE TABLE j (a UInt32, secret String, w String) ENGINE = Join(ANY, LEFT, a)",
        "CREATE TABLE open (a UInt32, v String, w String) ENGINE = Join(ANY, LEFT, a)",
        "INSERT INTO t SELECT number, concat('s', toString(number)) FROM numbers(1000)",
        "INSERT INTO m SELECT * FROM t",
        "INSERT INTO keys SELECT a FROM t",
        "INSERT INTO j SELECT a, secret, secret FROM t",
        "INSERT INTO open SELECT a, 'v', secret FROM t",
        "CREATE DATABASE own",
        "CREATE USER u IDENTIFIED BY 'pw'",
        "GRANT SELECT ON default.* TO u",
        "REVOKE SELECT(w) ON default.open FROM u",
        "GRANT SELECT, INSERT, CREATE TABLE, DROP TABLE, CREATE DICTIONARY, DROP DICTIONARY, dictGet ON own.* TO u",
        "GRANT CREATE TEMPORARY TABLE ON *.* TO u",
        "GRANT READ ON REMOTE TO u",
        *(f"CREATE ROW POLICY p ON default.{table} USING a < 10 TO u" for table in ("t", "m", "keys", "j")),
    ):
        server.query(statement)
    return server


def test_rows_are_hidden_on_every_way(hidden_rows):
    server, as_u = hidden_rows, {"user": "u", "password": "pw"}
    remote = f"remote('127.0.0.1:{server.native_port}', default.t)"
    for sql, expected in [
        ("SELECT count(), max(a), uniqExact(secret) FROM t", "10\t9\t10"),
        ("SELECT count(), max(a), uniqExact(secret) FROM m", "10\t9\t10"),
        ("SELECT count(), max(a), uniqExact(secret) FROM j", "10\t9\t10"),
        ("SELECT min(a), max(a) FROM t", "0\t9"),
        ("SELECT count() FROM t WHERE a = 500", "0"),
        ("SELECT count() FROM t PREWHERE a > 5", "4"),
        ("SELECT a FROM t ORDER BY a DESC LIMIT 1", "9"),
        ("SELECT a FROM t LIMIT 3 OFFSET 10", ""),
        ("SELECT count() FROM merge('default', '^t$')", "10"),
        ("SELECT count(), max(a) FROM merge('default', '^(t|m)$')", "20\t9"),
        (f"SELECT count(), max(a) FROM {remote}", "10\t9"),
        (f"SELECT count() FROM {remote} WHERE secret = 's500'", "0"),
        ("SELECT count() FROM view(SELECT * FROM t)", "10"),
        ("SELECT 5 IN keys, 500 IN keys, 500 IN (SELECT a FROM t)", "1\t0\t0"),
        ("SELECT count() FROM numbers(1000) WHERE number IN keys", "10"),
        ("SELECT count() FROM t AS x JOIN t AS y ON x.a = y.a", "10"),
        ("SELECT countIf(secret != '') FROM (SELECT number::UInt32 AS a FROM numbers(1000)) AS l ANY LEFT JOIN j USING a", "10"),
        ("SELECT count() FROM (SELECT number::UInt32 AS a FROM numbers(1000)) AS l ALL INNER JOIN t USING a", "10"),
        ("SELECT exists(SELECT 1 FROM t WHERE a = 500)", "0"),
        ("SELECT (SELECT secret FROM t WHERE a = 500)", "\\N"),
        ("WITH q AS (SELECT * FROM t) SELECT count() FROM q", "10"),
        ("WITH (SELECT max(a) FROM t) AS m SELECT m", "9"),
        ("SELECT max(c) FROM (SELECT count() OVER () AS c FROM t)", "10"),
        ("SELECT count() FROM (SELECT a FROM t UNION ALL SELECT a FROM m)", "20"),
        ("SELECT count() FROM (SELECT a FROM numbers(1000) AS n, t LIMIT 100000)", "10000"),
        ("SELECT countIf(throwIf(a >= 10) = 0) FROM t", "10"),
    ]:
        for _ in range(2):
            assert server.value(sql, **as_u) == expected, sql
        native = Client("127.0.0.1", port=server.native_port, user="u", password="pw")
        rows = "\n".join("\t".join("\\N" if value is None else str(value) for value in row) for row in native.execute(sql))
        assert rows == expected, sql
    # What is written is what was seen; a table of a table function shows each what is theirs.
    server.query("CREATE TABLE own.copy ENGINE = Memory AS SELECT * FROM t", **as_u)
    server.query("INSERT INTO own.copy SELECT * FROM m", **as_u)
    assert server.value("SELECT count(), max(a) FROM own.copy") == "20\t9"
    server.query("CREATE TABLE own.f AS merge('default', '^t$')", **as_u)
    assert server.value("SELECT count() FROM own.f", **as_u) == "10"
    assert server.value("SELECT count() FROM own.f") == "1000"


def test_what_is_hidden_is_not_looked_up(hidden_rows):
    server = hidden_rows
    own_dictionary = "CREATE DICTIONARY own.d (a UInt64, secret String) PRIMARY KEY a SOURCE(CLICKHOUSE({})) LAYOUT(HASHED()) LIFETIME(0)"
    for sql in [
        # A policy hides rows of it, which a lookup would find.
        "SELECT joinGet('default.j', 'secret', 500::UInt32)",
        "SELECT joinGetOrNull(default.j, 'secret', 5::UInt32)",
        "SELECT arrayMap(x -> joinGet('default.j', 'secret', x), [500::UInt32])",
        "SELECT arrayMap(joinGet, ['default.j'], ['secret'], [500::UInt32])",
        "CREATE TABLE own.x (a UInt32, s String DEFAULT joinGet('default.j', 'secret', a)) ENGINE = Memory",
        "CREATE TABLE own.x (a UInt32, s String ALIAS joinGet('default.j', 'secret', a)) ENGINE = Memory",
        # A column that was taken away.
        "SELECT joinGet('default.open', 'w', 5::UInt32)",
        "SELECT joinGet('default.open', materialize('w'), 5::UInt32)",
        "SELECT w FROM (SELECT 5::UInt32 AS a) AS l ANY LEFT JOIN open USING a",
        "SELECT w FROM merge('default', '^open$')",
        # The server reads sources of dictionaries, and sees more than who makes one.
        own_dictionary.format("DB 'default' TABLE 't'"),
        own_dictionary.format("QUERY 'SELECT a, secret FROM default.t WHERE a < 5'"),
        own_dictionary.format("QUERY 'SELECT a, secret FROM merge(\\'default\\', \\'^m$\\')'"),
        own_dictionary.format("QUERY 'SELECT cityHash64(query_id) AS a, query AS secret FROM system.processes'"),
        own_dictionary.format("QUERY 'SELECT a::UInt64 AS a, w AS secret FROM default.open'"),
    ]:
        for ask in (code_of, native_code):
            assert ask(server, sql, "u") in (DENIED, 482, 44, 36), sql
    assert code_of(server, "SELECT joinGet('default.open', 'v', 5::UInt32)", "u") == 0
    # Nor does a table become another after the dictionary over it.
    as_u = {"user": "u", "password": "pw"}
    server.query("CREATE TABLE own.source (a UInt64, secret String) ENGINE = Memory", **as_u)
    server.query(own_dictionary.format("DB 'own' TABLE 'source'"), **as_u)
    server.query("DROP TABLE own.source SETTINGS check_table_dependencies = 0", **as_u)
    server.query("CREATE TABLE own.source AS merge('default', '^m$')", **as_u)
    assert code_of(server, "SELECT dictGet('own.d', 'secret', toUInt64(500))", "u") == 482


def test_policies_read_no_more_than_their_makers(access_server):
    server = access_server
    server.query("CREATE TABLE secret (x UInt64) ENGINE = Memory")
    server.query("INSERT INTO secret VALUES (42)")
    server.query("CREATE DATABASE own")
    server.query("CREATE TABLE own.probe (a UInt64) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO own.probe SELECT number FROM numbers(100)")
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("GRANT SELECT, CREATE ROW POLICY, ALTER ROW POLICY ON own.* TO u")
    for condition in ("a IN (SELECT x FROM default.secret)", "a = (SELECT max(x) FROM default.secret)", "a IN default.secret", "in(a, default.secret)", "a NOT IN (default.secret)"):
        assert code_of(server, f"CREATE ROW POLICY p ON own.probe USING {condition} TO u", "u") == DENIED, condition
    assert code_of(server, "CREATE ROW POLICY p ON own.probe USING a IN (1, 2) TO u", "u") == 0
    assert code_of(server, "ALTER ROW POLICY p ON own.probe USING a IN (SELECT x FROM default.secret)", "u") == DENIED
    assert server.value("SELECT count() FROM own.probe", user="u", password="pw") == "2"
    # Who may read everything may make it; what it asks is read with the rights of who reads the table.
    server.query("ALTER ROW POLICY p ON own.probe USING a IN (SELECT x FROM default.secret)")
    assert code_of(server, "SELECT groupArray(a) FROM own.probe", "u") == DENIED
    server.query("GRANT SELECT ON default.secret TO u")
    assert server.value("SELECT groupArray(a) FROM own.probe", user="u", password="pw") == "[42]"


def test_a_backup_is_read_by_who_may_read_files(start_server, tmp_path):
    (tmp_path / "backups").mkdir()
    server = start_server(users_xml=users_xml(), settings={"backups": f"<allowed_path>{tmp_path}/backups/</allowed_path>"})
    server.query("CREATE TABLE secret (x UInt64) ENGINE = MergeTree ORDER BY x")
    server.query("CREATE DATABASE own")
    server.query("BACKUP TABLE secret TO File('b')")
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("GRANT SELECT, INSERT, CREATE TABLE ON own.* TO u")
    assert code_of(server, "RESTORE TABLE secret AS own.secret FROM File('b')", "u") == DENIED
    assert code_of(server, "BACKUP TABLE secret TO File('c')", "u") == DENIED
    server.query("GRANT READ ON FILE TO u")
    assert code_of(server, "RESTORE TABLE secret AS own.secret FROM File('b')", "u") == 0


def test_quotas_of_each_query(access_server):
    """queries_per_normalized_hash: queries that differ by their literals alone are one."""
    server = access_server
    server.query("CREATE USER u IDENTIFIED BY 'pw'")
    server.query("CREATE QUOTA q KEYED BY user_name FOR INTERVAL 1 year MAX queries_per_normalized_hash = 2 TO u")
    assert [code_of(server, f"SELECT {number}", "u") for number in range(4)] == [0, 0, 201, 201]
    assert native_code(server, "SELECT 77", "u") == 201
    assert [code_of(server, f"SELECT {number} + 1", "u") for number in range(3)] == [0, 0, 201]
    assert server.value("SELECT max_queries_per_normalized_hash FROM system.quota_limits") == "2"
    server.query("DROP QUOTA q")
    assert code_of(server, "SELECT 1", "u") == 0


def test_quotas_hold_while_a_query_runs(access_server):
    server = access_server
    for name in ("reads", "results", "times"):
        server.query(f"CREATE USER {name} IDENTIFIED BY 'pw'")
    endless = "SELECT count() FROM system.numbers WHERE ignore(number) FORMAT Null"
    for name, limit, sql in [
        ("reads", "read_rows = 1000000", endless),
        ("results", "result_rows = 100000", "SELECT number FROM system.numbers FORMAT Null"),
        ("times", "execution_time = 0.2", endless),
    ]:
        server.query(f"CREATE QUOTA {name} KEYED BY user_name FOR INTERVAL 1 year MAX {limit} TO {name}")
        assert code_of(server, sql, name) == 201, name
        assert native_code(server, "SELECT 1 FROM system.numbers LIMIT 10", name) == 201
    used = server.rows("SELECT quota_name, read_rows >= 1000000, result_rows >= 100000, execution_time >= 0.2 FROM system.quotas_usage ORDER BY quota_name")
    assert [row[1] for row in used if row[0] == "reads"] == ["1"]
    assert [row[2] for row in used if row[0] == "results"] == ["1"]
    assert [row[3] for row in used if row[0] == "times"] == ["1"]
    # What a query takes is seen while it runs, and another of the user's is told.
    server.query("CREATE USER both IDENTIFIED BY 'pw'")
    server.query("CREATE QUOTA both KEYED BY user_name FOR INTERVAL 1 year MAX errors = 100 TO both")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        long = pool.submit(code_of, server, endless, "both", query_id="long")
        server.until_running("long")
        wait_until(lambda: server.value("SELECT max(read_rows) > 100000 FROM system.quotas_usage WHERE quota_name = 'both'") == "1", "rows are counted")
        server.query("ALTER QUOTA both FOR INTERVAL 1 year MAX read_rows = 1")
        assert code_of(server, "SELECT 1", "both") == 201
        server.query("KILL QUERY WHERE query_id = 'long' SYNC")
        assert long.result() != 0


def test_failures_to_come_in_are_counted(access_server):
    server = access_server
    server.query("CREATE USER u IDENTIFIED WITH sha256_password BY 'pw'")
    server.query("CREATE QUOTA q KEYED BY user_name FOR INTERVAL 1 year MAX failed_sequential_authentications = 2 TO u")
    assert [code_of(server, "SELECT 1", "u", word) for word in ("x", "x", "pw", "x", "x")] == [516, 516, 0, 516, 516]
    assert native_code(server, "SELECT 1", "u", "x") == 516
    # Three in a row: the right one does not help any more.
    assert code_of(server, "SELECT 1", "u") == 201
    assert native_code(server, "SELECT 1", "u") == 201
    assert server.value("SELECT failed_sequential_authentications FROM system.quotas_usage") == "3"
    server.query("DROP QUOTA q")
    assert code_of(server, "SELECT 1", "u") == 0


def test_execute_as(start_server):
    server = start_server(
        users_xml=users_xml(),
        settings={
            "access_control_improvements": "<allow_impersonate_user>1</allow_impersonate_user>",
            "query_log": "<flush_interval_milliseconds>100</flush_interval_milliseconds>",
        },
    )
    for statement in (
        "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a",
        "INSERT INTO t SELECT number FROM numbers(100)",
        "CREATE USER james SETTINGS max_insert_threads = 3",
        "CREATE USER reads IDENTIFIED BY 'pw' SETTINGS readonly = 1",
        "CREATE USER acts IDENTIFIED BY 'pw'",
        "GRANT SELECT ON default.t TO james, reads",
        "GRANT INSERT ON default.t TO james",
        "CREATE ROW POLICY p ON default.t USING a < 10 TO james",
        "GRANT IMPERSONATE ON james TO acts",
        "GRANT IMPERSONATE ON reads TO acts",
    ):
        server.query(statement)
    as_acts = {"user": "acts", "password": "pw"}
    assert server.value("EXECUTE AS james SELECT currentUser(), authenticatedUser()", **as_acts) == "james\tacts"
    assert server.value("EXECUTE AS james SELECT count() FROM t", **as_acts) == "10"
    assert server.value("EXECUTE AS james SELECT count() AS c FROM t FORMAT JSONEachRow", **as_acts) == '{"c":10}'
    assert server.value("EXECUTE AS james SELECT getSetting('max_insert_threads') SETTINGS max_block_size = 1000", **as_acts) == "3"
    assert server.query("EXECUTE AS james INSERT INTO t SELECT 5", **as_acts) == ""
    assert server.value("EXECUTE AS james SELECT count() FROM t", **as_acts) == "11"
    # It is for one statement, for those users, and gives no more than they have.
    assert code_of(server, "SELECT count() FROM t", "acts") == DENIED
    assert code_of(server, "EXECUTE AS default SELECT 1", "acts") == DENIED
    assert code_of(server, "EXECUTE AS james EXECUTE AS default SELECT 1", "acts") != 0
    assert code_of(server, "EXECUTE AS james DROP TABLE t", "acts") == DENIED
    assert code_of(server, "EXECUTE AS reads INSERT INTO t SELECT 1", "acts") == 164
    assert code_of(server, "EXECUTE AS nobody SELECT 1") == 192
    # Without a statement it is for the session.
    session = {"session_id": "s", **as_acts}
    server.query("EXECUTE AS james", **session)
    assert server.value("SELECT currentUser(), authenticatedUser(), count() FROM t", **session) == "james\tacts\t11"
    assert code_of(server, "EXECUTE AS reads SELECT 1", "acts", session_id="s") == DENIED
    native = Client("127.0.0.1", port=server.native_port, user="acts", password="pw")
    native.execute("EXECUTE AS james")
    assert native.execute("SELECT currentUser(), authenticatedUser(), count() FROM t") == [("james", "acts", 11)]
    native.disconnect()
    server.query("SYSTEM FLUSH LOGS")
    row = server.rows("SELECT DISTINCT user, authenticated_user FROM system.query_log WHERE query LIKE 'SELECT currentUser()%'")
    assert row == [["james", "acts"]]
    off = start_server(users_xml=users_xml())
    assert code_of(off, "EXECUTE AS default SELECT 1") == 344


def test_passwords_of_functions_are_shown_nowhere(start_server):
    server = start_server(users_xml=users_xml(), settings={"query_log": "<flush_interval_milliseconds>100</flush_interval_milliseconds>"})
    word = "Geheimnis23"
    calls = [
        f"remote('127.0.0.1:{server.native_port}', system, one, 'default', '{word}')",
        f"remote('127.0.0.1:{server.native_port}', system.one, 'default', '{word}')",
        f"remote('10.0.0.1', system, one, 'default', '{word}')",
        f"remote('10.0.0.1', /* ( */ view(SELECT 1), 'default', '{word}')",
        f"mysql('h', 'd', 't', 'u', '{word}')",
        f"postgresql('h', 'd', 't', 'u', '{word}')",
        f"s3('https://h/b', 'key', '{word}', 'CSV')",
        f"url('http://u:{word}@h/x', 'CSV')",
    ]
    for call in calls:
        for sql in (f"SELECT * FROM {call}", f"SELECT nothing, 'x' FROM {call} WHERE", f"DESCRIBE TABLE {call}", f"SELECT nothing FROM {call}", f"INSERT INTO FUNCTION {call} VALUES (1)"):
            for ask in (code_of, native_code):
                ask(server, sql, "default") if ask is code_of else ask(server, sql, "default", "")
            try:
                server.query(sql)
            except ServerError as error:
                assert word not in str(error), sql
    for sql in (
        f"CREATE USER u IDENTIFIED BY /* ' */ $${word}$$ HOST NONSENSE '",
        f"CREATE NAMED COLLECTION c AS a = '{word}', password = '{word}'",
        f"SELECT encrypt('aes-128-ecb', 'x', '{word}')",
        f"SET nothing_password = '{word}'",
        f"BACKUP TABLE system.one TO File('x.zip') SETTINGS password = '{word}'",
        f"ATTACH TABLE x (a UInt8) ENGINE = MySQL('h', 'd', 't', 'u', '{word}')",
    ):
        code_of(server, sql)
        native_code(server, sql, "default", "")
    server.query(f"CREATE TABLE shown AS {calls[0]}")
    assert "[HIDDEN]" in server.query("SHOW CREATE TABLE shown")
    for sql in ("SHOW CREATE TABLE shown", "SELECT * FROM system.tables WHERE name = 'shown' FORMAT Vertical", "SELECT * FROM system.errors FORMAT Vertical"):
        assert word not in server.query(sql), sql
    server.query("SYSTEM FLUSH LOGS")
    for column in ("query", "formatted_query", "exception"):
        found = server.rows(f"SELECT query, exception FROM system.query_log WHERE {column} LIKE '%Geheim%' AND query NOT LIKE '%query_log%'")
        assert found == [], (column, found[:3])
    lines = [line for line in server.log.splitlines() if word in line]
    assert not lines, lines[:3]
