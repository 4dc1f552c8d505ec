"""npm's @clickhouse/client. What it does is in node/main.mjs."""

from program import build, run_checks


def test_node(server):
    folder = build("node", "node", "npm")
    run_checks(["node", folder / "main.mjs", server.http_port], least=69, cwd=folder)
