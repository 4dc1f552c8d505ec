//! Sparse columns in the Native format: what is written comes back, in any pieces, and what is wrong is refused.

use std::sync::Arc;

use squall_formats::native::{BlockReader, write_block};
use squall_formats::wire::{Cursor, Stop, put_string, put_varint};
use squall_types::{Block, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Rows, Value};

/// The first revision with sparse columns.
const REVISION: u64 = 54_465;
const END: u64 = 1 << 62;

fn column(name: &str, values: &[Value]) -> Column {
    let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
    values.iter().for_each(|value| builder.append(value).unwrap());
    builder.finish().unwrap()
}

fn sparse(column: &Column) -> Column {
    let rows = Rows::of(column.array().clone(), 0.0).unwrap();
    Column::of_rows(column.data_type().clone(), rows)
}

fn read(bytes: &[u8], piece_bytes: usize) -> Result<Block, Error> {
    let mut reader = BlockReader::new(REVISION);
    let mut pending = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        pending.extend_from_slice(piece);
        let mut input = Cursor::new(&pending);
        match reader.read(&mut input) {
            Ok(block) => {
                assert!(input.is_empty(), "{} bytes are left", input.rest().len());
                return Ok(block);
            }
            Err(Stop::Incomplete) => {}
            Err(Stop::Bad(error)) => return Err(error),
        }
        let read = input.position();
        pending.drain(..read);
    }
    Err(Stop::Incomplete.into_error())
}

#[test]
fn columns_come_back_sparse() {
    let numbers: Vec<Value> =
        (0..500_u64).map(|row| Value::UInt64(if row % 50 == 7 { row % 200 } else { 0 })).collect();
    let texts: Vec<Value> = (0..500).map(|row| Value::from(if row % 90 == 0 { "text" } else { "" })).collect();
    let floats: Vec<Value> = (0..500).map(|row| Value::Float64(if row % 70 == 3 { -0.0 } else { 0.0 })).collect();
    let bytes: Vec<Value> = (0..500).map(|row| Value::string(if row == 499 { "ab" } else { "\0\0" })).collect();
    let uuids: Vec<Value> = (0..500)
        .map(|row| {
            Value::Uuid(
                [u8::from(row == 1), 0, 7, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
                    .map(|byte| if row == 1 { byte } else { 0 }),
            )
        })
        .collect();
    let none = vec![Value::Int64(0); 500];
    let whole = [
        column("UInt8", &numbers),
        column("DateTime('UTC')", &numbers),
        column("UInt64", &numbers),
        column("String", &texts),
        column("Float32", &floats),
        column("FixedString(2)", &bytes),
        column("UUID", &uuids),
        column("Int16", &none),
        column("Enum8('a' = 0, 'b' = 7)", &none),
    ];
    let named = |columns: Vec<Column>| {
        Block::from_columns(columns.into_iter().enumerate().map(|(at, column)| (format!("c{at}"), column))).unwrap()
    };
    let block = named(whole.iter().map(sparse).collect());
    let mut out = Vec::new();
    write_block(&block, REVISION, &mut out).unwrap();
    for piece_bytes in [1, 37, usize::MAX] {
        let found = read(&out, piece_bytes).unwrap();
        assert_eq!(found.schema(), block.schema());
        for (found, whole) in found.columns().iter().zip(&whole) {
            assert!(found.sparse().is_some(), "{}", whole.data_type());
            assert_eq!(&*found.to_array().unwrap(), &*whole.to_array().unwrap());
        }
    }
    // Whole columns, and peers that know no sparse ones, get what they always got.
    for revision in [0, REVISION - 1, REVISION] {
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        write_block(&named(whole.to_vec()), revision, &mut expected).unwrap();
        write_block(&block, revision, &mut found).unwrap();
        assert_eq!(found == expected, revision < REVISION);
    }
    // A part of the rows, and none.
    for (offset, rows) in [(57, 100), (1, 6), (0, 0)] {
        let mut out = Vec::new();
        write_block(&block.slice(offset, rows), REVISION, &mut out).unwrap();
        let found = read(&out, usize::MAX).unwrap();
        for (found, whole) in found.columns().iter().zip(&whole) {
            assert_eq!(&*found.to_array().unwrap(), &*whole.slice(offset, rows).to_array().unwrap());
        }
    }
}

/// A block of a column `x` with a custom serialisation.
fn custom(data_type: &str, rows: u64, kinds: &[u8], groups: &[u64], values: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, 1);
    put_varint(&mut out, rows);
    put_string(&mut out, "x");
    put_string(&mut out, data_type);
    out.push(1);
    out.extend_from_slice(kinds);
    groups.iter().for_each(|group| put_varint(&mut out, *group));
    out.extend_from_slice(values);
    out
}

#[test]
fn groups_of_defaults_may_come_in_several_runs() {
    let found = read(&custom("UInt8", 6, &[1], &[2 | END, 1, 2 | END], &[5]), 1).unwrap();
    assert_eq!((0..6).map(|row| found.column(0).value(row).as_u64().unwrap()).collect::<Vec<_>>(), [0, 0, 0, 5, 0, 0]);
}

#[test]
fn elements_of_tuples_have_kinds_of_their_own() {
    // The tuple is none, its first element is sparse and its second is not.
    let values = [&[9_u8][..], &[1, b'a', 0, 1, b'b']].concat();
    let found = read(&custom("Tuple(UInt8, String)", 3, &[0, 1, 0], &[1, 1 | END], &values), 1).unwrap();
    let tuple = |number: u64, text: &str| Value::Tuple(Arc::from([Value::UInt64(number), Value::from(text)]));
    assert_eq!(
        (0..3).map(|row| found.column(0).value(row)).collect::<Vec<_>>(),
        [tuple(0, "a"), tuple(9, ""), tuple(0, "b")]
    );
}

#[test]
fn what_is_wrong_is_refused() {
    let refused = |bytes: Vec<u8>, code: ErrorCode| assert_eq!(read(&bytes, usize::MAX).unwrap_err().code, code);
    // More rows than there are: before a value, after the last, and beyond all numbers.
    refused(custom("UInt16", 5, &[1], &[7, END], &[1, 0]), ErrorCode::INCORRECT_DATA);
    refused(custom("UInt16", 5, &[1], &[1, 4 | END], &[1, 0]), ErrorCode::INCORRECT_DATA);
    refused(custom("UInt16", 5, &[1], &[5, END], &[1, 0]), ErrorCode::INCORRECT_DATA);
    refused(custom("UInt16", 5, &[1], &[END - 1, END - 1, END], &[1, 0]), ErrorCode::INCORRECT_DATA);
    // Rows that would be gigabytes, which take no bytes.
    refused(custom("UInt64", 2_000_000_000, &[1], &[2_000_000_000 | END], &[]), ErrorCode::TOO_LARGE_ARRAY_SIZE);
    // Kinds that there are not, and types that cannot be sparse.
    refused(custom("UInt16", 5, &[7], &[5 | END], &[]), ErrorCode::NOT_IMPLEMENTED);
    refused(custom("Array(UInt8)", 5, &[1], &[5 | END], &[]), ErrorCode::NOT_IMPLEMENTED);
    refused(custom("Nullable(UInt8)", 5, &[1], &[5 | END], &[]), ErrorCode::NOT_IMPLEMENTED);
    // No name stands for the zeros.
    refused(custom("Enum8('a' = 1)", 5, &[1], &[5 | END], &[]), ErrorCode::INCORRECT_DATA);
    // Cut off within the groups and within the values.
    let cut = |bytes: Vec<u8>| assert!(read(&bytes, usize::MAX).is_err());
    cut(custom("UInt16", 5, &[1], &[1, 1], &[]));
    cut(custom("UInt16", 5, &[1], &[1, 3 | END], &[1]));
}
