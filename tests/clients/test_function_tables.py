"""Tables made AS a table function: their rows are the function's, and so are the rights that reading them takes."""

import pytest
from server import ServerError


def test_a_table_of_a_function_is_the_functions_rows(start_server):
    server = start_server()
    server.query("CREATE TABLE source (a UInt8, b String) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO source VALUES (1, 'x')")
    server.query("CREATE TABLE five AS numbers(5) COMMENT 'five'")
    server.query("CREATE TABLE narrow (number UInt8) AS numbers(5)")
    server.query("CREATE TABLE merged AS merge('default', '^source')")
    server.query("CREATE TABLE viewed AS view(SELECT a + 1 AS c FROM default.source)")
    server.query("CREATE TABLE again AS viewed")
    server.query("CREATE OR REPLACE TABLE again AS numbers(3)")
    for _ in range(2):
        assert server.value("SELECT sum(number) FROM five") == "10"
        assert server.value("SELECT any(toTypeName(number)) FROM narrow") == "UInt8"
        assert server.query("SELECT * FROM merged FORMAT TSV") == "1\tx\n"
        assert server.value("SELECT c FROM viewed") == "2"
        assert server.value("SELECT count() FROM source WHERE a IN five") == "1"
        assert server.value("SELECT count() FROM again") == "3"
        create = server.value("SELECT create_table_query FROM system.tables WHERE name = 'five'")
        assert create == "CREATE TABLE default.five (`number` UInt64) AS numbers(5) COMMENT \\'five\\'"
        server.kill()
        server.start()
    assert server.error_code("INSERT INTO five VALUES (1)") == 48
    assert server.error_code("TRUNCATE TABLE five") == 48
    assert server.error_code("CREATE TABLE t (other UInt8) AS numbers(5)") == 8
    assert server.error_code("CREATE TABLE t ENGINE = Memory AS numbers(5)") == 80
    assert server.error_code("CREATE TABLE t (a UInt8) ENGINE = TableFunction('numbers(5)')") == 56
    server.query("DROP TABLE merged")
    server.query("CREATE TABLE merged AS merge('default', '^(five|merged)')")
    assert server.error_code("SELECT * FROM merged") == 162, "a table that is made of itself"
    server.query("RENAME TABLE five TO six")
    assert server.value("SELECT count() FROM six") == "5"
    server.query("DROP TABLE six")


def test_who_reads_must_be_allowed_to_read_what_the_function_reads(start_server):
    server = start_server()
    server.query("CREATE TABLE source (a UInt8) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO source VALUES (1), (2)")
    server.query("CREATE TABLE viewed AS view(SELECT a FROM default.source)")
    server.query("CREATE TABLE near AS remote('127.0.0.1', default.source)")
    server.query("CREATE TABLE five AS numbers(5)")
    server.query("CREATE USER u")
    server.query("GRANT CREATE TABLE ON default.* TO u")
    denied = (
        "SELECT * FROM five",
        "SELECT count() FROM five",
        "SELECT * FROM viewed",
        "CREATE TABLE mine AS view(SELECT a FROM default.source)",
        "CREATE TABLE mine AS merge('default', '^source')",
        "CREATE TABLE mine AS remote('127.0.0.1', default.source)",
        "DESCRIBE TABLE view(SELECT a FROM default.source)",
    )
    for statement in denied:
        assert server.error_code(statement, user="u") == 497, statement
    for table in ("five", "viewed", "near"):
        server.query(f"GRANT SELECT ON default.{table} TO u")
    assert server.value("SELECT count() FROM five", user="u") == "5"
    assert server.error_code("SELECT * FROM viewed", user="u") == 497
    assert server.error_code("SELECT * FROM near", user="u") == 497
    server.query("GRANT SELECT ON default.source TO u")
    assert server.value("SELECT sum(a) FROM viewed", user="u") == "3"
    assert server.error_code("SELECT * FROM near", user="u") == 497, "READ ON REMOTE"
    # What hides rows of what the function reads hides them here.
    server.query("CREATE ROW POLICY p ON default.source USING a = 1 TO u")
    assert server.value("SELECT sum(a) FROM viewed", user="u") == "1"
    server.query("CREATE ROW POLICY p ON default.five USING number = 1 TO u")
    assert server.error_code("SELECT * FROM five", user="u") == 48


def test_an_error_does_not_tell_half_of_a_password(start_server):
    server = start_server()
    for statement in ("CREATE USER u IDENTIFIED BY 'topsecret", "CREATE USER u IDENTIFIED 'topsecret'",
                      "CREATE USER u IDENTIFIED BY topsecret, 'more'"):
        with pytest.raises(ServerError) as refused:
            server.query(statement)
        assert refused.value.code == 62 and "topsecret" not in str(refused.value), statement
    server.stop()
    assert "Syntax error" in server.log and "'topsecret" not in server.log
