"""The Rust crates clickhouse and klickhouse. What they do is in rust/src."""

from program import build, run_checks


def test_rust(server):
    folder = build("rust", "cargo")
    run_checks([folder / "debug" / "squall-clients", server.native_port, server.http_port], least=26)
