//! Serialised states are ClickHouse's, byte for byte, where its form does not rest on hashes or estimates of its own. The bytes are what
//! `hex(sumState(…))` and its kin give in ClickHouse 26.9.

use squall_functions::{GroupIds, resolve_aggregate};
use squall_types::{Column, ColumnBuilder, DataType, Value};

fn column(name: &str, values: &[Value]) -> Column {
    let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
    values.iter().for_each(|value| builder.append(value).unwrap());
    builder.finish().unwrap()
}

fn state(name: &str, arguments: &[(&str, Vec<Value>)]) -> String {
    let columns: Vec<Column> = arguments.iter().map(|(data_type, values)| column(data_type, values)).collect();
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let function = resolve_aggregate(name, &[], &types).unwrap();
    let mut accumulator = function.accumulator();
    let rows = columns.first().map_or(300, Column::rows);
    accumulator.update(GroupIds::Single, 1, &columns, rows).unwrap();
    let mut bytes = Vec::new();
    accumulator.serialize(0, &mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn states_are_clickhouses() {
    let numbers = |count: u64| (0..count).map(Value::UInt64).collect::<Vec<_>>();
    let one = |value: u64| vec![Value::UInt64(value)];
    let text = |text: &str| vec![Value::from(text)];
    let list = |values: &[u64]| vec![Value::Array(values.iter().copied().map(Value::UInt64).collect())];
    assert_eq!(state("count", &[]), "AC02");
    for (name, arguments, expected) in [
        ("sum", vec![("UInt64", numbers(3))], "0300000000000000"),
        ("sum", vec![("Float32", vec![Value::Float64(1.5)])], "000000000000F83F"),
        ("sum", vec![("Int8", vec![Value::Int64(-1)])], "FFFFFFFFFFFFFFFF"),
        ("avg", vec![("UInt64", numbers(300))], "32AF000000000000AC02"),
        ("avg", vec![("Float64", vec![Value::Float64(1.5)])], "000000000000F83F01"),
        ("min", vec![("UInt16", one(7))], "010700"),
        ("max", vec![("String", text("abc"))], "0400000061626300"),
        ("any", vec![("String", text(""))], "0100000000"),
        ("max", vec![("String", vec![])], "FFFFFFFF"),
        ("min", vec![("UInt16", vec![])], "00"),
        ("min", vec![("Array(UInt8)", list(&[1, 2]))], "01020102"),
        ("min", vec![("Nullable(UInt8)", one(5))], "010105"),
        ("any", vec![("Nullable(String)", text("x"))], "01020000007800"),
        ("anyLast", vec![("FixedString(3)", text("ab\0"))], "01616200"),
        ("sum", vec![("Nullable(UInt8)", one(5))], "010500000000000000"),
        ("count", vec![("Nullable(UInt8)", one(1))], "01"),
        ("sumOrNull", vec![("UInt8", one(5))], "050000000000000001"),
        ("sumOrDefault", vec![("UInt8", one(5))], "050000000000000001"),
        ("sumIf", vec![("UInt8", one(5)), ("UInt8", one(1))], "0500000000000000"),
        ("sumArray", vec![("Array(UInt8)", list(&[5, 6]))], "0B00000000000000"),
        ("sumDistinct", vec![("UInt8", one(5))], "0105"),
        ("argMin", vec![("String", text("x")), ("UInt8", one(3))], "0200000078000103"),
        ("argMax", vec![("UInt8", one(1)), ("String", text("q"))], "0101020000007100"),
        ("uniqExact", vec![("UInt8", one(5))], "0105"),
        ("uniqExact", vec![("UInt64", one(5))], "010500000000000000"),
        ("quantileExact", vec![("UInt16", one(5))], "010500"),
        ("groupArray", vec![("UInt16", one(5))], "010500"),
        ("groupArray", vec![("String", text("ab"))], "01026162"),
        ("groupArray", vec![("Nullable(UInt8)", one(5))], "0105"),
        ("groupUniqArray", vec![("UInt16", one(5))], "010500"),
        ("groupUniqArray", vec![("String", text("ab"))], "01026162"),
        ("groupUniqArray", vec![("Array(UInt8)", list(&[1]))], "010101"),
        ("groupBitAnd", vec![("UInt8", one(3))], "03"),
        ("varPop", vec![("UInt8", one(2))], "000000000000F03F00000000000000400000000000001040"),
        ("skewPop", vec![("UInt8", one(2))], "000000000000F03F000000000000004000000000000010400000000000002040"),
        (
            "kurtPop",
            vec![("UInt8", one(2))],
            "000000000000F03F0000000000000040000000000000104000000000000020400000000000003040",
        ),
        (
            "covarPop",
            vec![("UInt8", one(2)), ("UInt8", one(3))],
            "000000000000F03F000000000000004000000000000008400000000000001840",
        ),
        (
            "corr",
            vec![("UInt8", one(2)), ("UInt8", one(3))],
            "000000000000F03F00000000000000400000000000000840000000000000184000000000000010400000000000002240",
        ),
    ] {
        assert_eq!(state(name, &arguments), expected, "{name}{arguments:?}");
    }
}

#[test]
fn bytes_that_are_no_state_are_an_error() {
    for (name, data_type) in [
        ("sum", "UInt64"),
        ("avg", "UInt64"),
        ("min", "String"),
        ("uniq", "String"),
        ("uniqCombined", "String"),
        ("groupArray", "String"),
        ("topK", "String"),
        ("quantile", "UInt8"),
    ] {
        let function = resolve_aggregate(name, &[], &[DataType::parse(data_type).unwrap()]).unwrap();
        for length in 0..7 {
            let bytes = vec![0x7F; length];
            assert!(function.accumulator().merge_serialized(0, &mut &bytes[..]).is_err(), "{name} {length}");
        }
    }
}
