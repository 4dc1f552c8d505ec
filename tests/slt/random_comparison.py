"""What random_joins.py, random_dictionaries.py and random_windows.py share: the same statements go to a running server and to ClickHouse 26.9
(PyPI chdb, in process), and where the answers differ both are shown."""

import argparse
import random
import re
import sys
import tempfile
import urllib.error
import urllib.request

import chdb.session

ROWS_SHOWN = 5


class Comparison:
    """Tables that are made at random now and then, and queries of them. What `make` and `query` do is the subclass's."""

    database = "rj"
    queries_of_each = 10

    def __init__(self, url, seed, session, settings=""):
        self.url, self.random, self.session, self.settings = url, random.Random(seed), session, settings

    def make(self):
        """Makes other tables."""
        raise NotImplementedError

    def query(self):
        """A query of them; None where this time there is none."""
        raise NotImplementedError

    def is_same(self, theirs, ours):
        """Whether the answers are. The order of rows does not count."""
        return sorted(theirs.split("\n")) == sorted(ours.split("\n"))

    def description(self):
        """What the query asks, for who reads of a difference."""
        return ""

    def clickhouse(self, sql):
        try:
            return self.session.query(sql, "TSV").data()
        except Exception as error:  # chdb raises RuntimeError for everything
            return "error " + re.search(r"Code: (\d+)", str(error)).group(1)

    def squall(self, sql):
        try:
            return urllib.request.urlopen(self.url, data=sql.encode()).read().decode()
        except urllib.error.HTTPError as error:
            return "error " + re.search(r"Code: (\d+)", error.read().decode()).group(1)

    def execute(self, statements):
        for statement in statements:
            theirs, ours = self.clickhouse(statement), self.squall(statement)
            assert theirs == ours, (statement, theirs, ours)

    def compare(self, queries):
        """How many of so many queries have another answer here."""
        self.execute([f"CREATE DATABASE IF NOT EXISTS {self.database}"])
        differences = 0
        for number in range(queries):
            if number % self.queries_of_each == 0:
                self.make()
            sql = self.query()
            if sql is None:
                continue
            theirs, ours = self.clickhouse(sql), self.squall(f"{sql} {self.settings}")
            if not self.is_same(theirs, ours):
                differences += 1
                print(f"query {number}: {sql}\n  {self.description()}")
                for name, answer, other in (("ClickHouse", theirs, ours), ("Squall", ours, theirs)):
                    known = set(other.split("\n"))
                    rows = [row[:300] for row in answer.split("\n") if row not in known]
                    print(f"  {name} only: {rows[:ROWS_SHOWN]} of {len(rows)}")
        self.squall(f"DROP DATABASE {self.database}")
        return differences


def main(kind, queries):
    parser = argparse.ArgumentParser(description="Compares the answers to random queries with ClickHouse's.")
    parser.add_argument("url", help="of a running server, such as http://127.0.0.1:8123/")
    parser.add_argument("seed", nargs="?", type=int, default=1, help="of what is random")
    parser.add_argument("queries", nargs="?", type=int, default=queries)
    parser.add_argument("settings", nargs="?", default="", help="put behind the queries for this server: SETTINGS …")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = chdb.session.Session(folder)
        differences = kind(options.url, options.seed, session, options.settings).compare(options.queries)
        session.close()
    print(f"seed {options.seed}: {options.queries} queries, {differences} differences")
    sys.exit(differences > 0)
