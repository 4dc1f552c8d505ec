"""ClickHouse 26.9 itself, PyPI's chdb: it reads and writes Squall's tables through remote(), as a server does. What it does is in
chdb/main.py."""

import re

from program import environment, run_checks, source


def test_remote(server, tmp_path):
    columns = re.search(r'COLUMNS = """(.*?)"""', (source("chdb") / "main.py").read_text(), re.DOTALL).group(1)
    server.query(f"CREATE OR REPLACE TABLE chdb_remote ({columns}) ENGINE = MergeTree ORDER BY a")
    programs = environment("chdb")
    run_checks([programs / "python", source("chdb") / "main.py", server.native_port, tmp_path / "clickhouse"], least=32)
    server.query("DROP TABLE chdb_remote")
