"""Go's clients: clickhouse-go over the native protocol and HTTP, also under database/sql, and ch-go. What they do is in go/."""

from program import build, run_checks


def test_go(server):
    folder = build("go", "go")
    run_checks([folder / "program", server.native_port, server.http_port], least=151)
