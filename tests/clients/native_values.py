"""A value of each type, as Python's clients have it: written and read, it must come back."""

import datetime
import decimal
import ipaddress
import uuid

VALUES = {
    "UInt8": 200,
    "UInt64": 2**64 - 1,
    "Int64": -5,
    "Float64": -2.25,
    "Bool": True,
    "String": "it's\t\\\n é",
    "FixedString(3)": "abc",
    "Date": datetime.date(2024, 1, 2),
    "Date32": datetime.date(1950, 1, 2),
    "DateTime": datetime.datetime(2024, 1, 2, 3, 4, 5),
    "DateTime64(3)": datetime.datetime(2024, 1, 2, 3, 4, 5, 123000),
    "UUID": uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    "IPv4": ipaddress.ip_address("1.2.3.4"),
    "IPv6": ipaddress.ip_address("2001:db8::1"),
    "Enum8('a' = 1, 'b' = 2)": "b",
    "Decimal(9, 2)": decimal.Decimal("-1234.56"),
    "Decimal(38, 10)": decimal.Decimal("-1.0000000001"),
    "Decimal(76, 20)": decimal.Decimal("5.00000000000000000001"),
    "Int128": -(10**30),
    "UInt128": 10**30,
    "Int256": -(10**60),
    "UInt256": 10**60,
    "Array(UInt8)": [1, 2],
    "Array(Array(String))": [["a"], []],
    "Tuple(UInt8, String)": (1, "x"),
    "Map(String, UInt8)": {"a": 1, "b": 2},
    "Nullable(String)": None,
    "LowCardinality(String)": "lc",
    "LowCardinality(Nullable(String))": None,
    "Array(LowCardinality(String))": ["x", "y", "x"],
    "Array(Nullable(UInt8))": [None, 3],
}
