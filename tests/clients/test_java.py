"""ClickHouse's JDBC driver, of the old line and of the new. What they do is in java/Main.java."""

import os

import pytest
from program import build, run_checks

OLD = ["clickhouse-jdbc-0.6.5-all.jar", "clickhouse-client-0.6.5.jar", "clickhouse-http-client-0.6.5.jar"]
NEW = ["clickhouse-jdbc-0.9.9-all.jar"]


@pytest.mark.parametrize("jars", [OLD, NEW], ids=["0.6", "0.9"])
def test_jdbc(server, jars):
    folder = build("java", "java", "javac", "curl")
    path = os.pathsep.join(str(folder / jar) for jar in ["", *jars, "slf4j-api-2.0.17.jar"])
    run_checks(["java", "-cp", path, "Main", server.http_port], least=43)
