//! Parquet files that lie or grow: each is an error or is read in pieces, whatever it says of itself.

use std::sync::Arc;

use crate::common::{read, write};
use squall_formats::{FormatOptions, input_format};
use squall_types::{Block, Column, DataType, ErrorCode, Schema, Value};

fn one_column(data_type: DataType) -> Arc<Schema> {
    Arc::new(Schema::new([(Arc::<str>::from("s"), data_type)]))
}

/// A file that is nothing but a table of contents, in Thrift's compact protocol.
fn file_of(metadata: &[u8]) -> Vec<u8> {
    let length = u32::try_from(metadata.len()).unwrap().to_le_bytes();
    [b"PAR1", metadata, &length, b"PAR1"].concat()
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Metadata whose schema has these elements, each with so many children.
fn schema_of(children: impl ExactSizeIterator<Item = u32>) -> Vec<u8> {
    // Version 1; then the list of structures.
    let mut out = vec![0x15, 0x02, 0x19, 0xfc];
    varint(children.len() as u64, &mut out);
    for children in children {
        // Required; named `a`; and the children, as signed numbers are written.
        out.extend([0x35, 0x00, 0x18, 0x01, b'a', 0x15]);
        varint(u64::from(children) * 2, &mut out);
        out.push(0);
    }
    // No rows, no row groups.
    out.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
    out
}

#[test]
fn a_schema_of_many_groups_is_an_error() {
    let table = one_column(DataType::String);
    for (groups, code) in [(10_000, ErrorCode::TOO_DEEP_RECURSION), (1_000_000, ErrorCode::TOO_DEEP_RECURSION)] {
        let metadata = schema_of((0..groups).map(|at| u32::from(at + 1 < groups)));
        assert_eq!(read("Parquet", &table, &file_of(&metadata), 1 << 20).unwrap_err().code, code);
    }
    // Two billion children would be 16 GiB of pointers.
    let metadata = schema_of([1, i32::MAX as u32].into_iter());
    assert_eq!(read("Parquet", &table, &file_of(&metadata), 1 << 20).unwrap_err().code, ErrorCode::INCORRECT_DATA);
    // As many as are there are good.
    let metadata = schema_of((0..60).map(|at| u32::from(at < 59)));
    assert!(read("Parquet", &table, &file_of(&metadata), 1 << 20).unwrap().is_empty());
}

#[test]
fn a_long_string_many_times_comes_in_short_blocks() {
    const BYTES: usize = 1 << 20;
    const ROWS: usize = 2_000;
    let schema = one_column(DataType::String);
    let value = Value::string("x".repeat(BYTES));
    let block = |rows: usize| {
        let column = Column::constant(DataType::String, &value, rows).unwrap().materialize().unwrap();
        Block::new(schema.clone(), vec![column], rows)
    };
    let blocks: Vec<Block> = (0..ROWS / 50).map(|_| block(50)).collect();
    let file = write("Parquet", &schema, &blocks).unwrap();
    drop(blocks);
    assert!(file.len() < 1 << 20, "{}", file.len());
    let mut format = input_format("Parquet", &schema, &FormatOptions::default()).unwrap();
    format.feed(&file, &mut Vec::new()).unwrap();
    format.finish(&mut Vec::new()).unwrap();
    let mut rows = 0;
    while let Some(input) = format.next_block().unwrap() {
        assert!(input.block.rows() <= 128, "{} rows of 1 MiB at once", input.block.rows());
        rows += input.block.rows();
    }
    assert_eq!(rows, ROWS);
}

#[test]
#[ignore = "long"]
fn a_file_with_any_byte_changed_is_read_or_refused() {
    let (mut tried, mut refused) = (0, 0);
    for table in ["addresses", "nested", "numbers", "strings", "times"] {
        let schema = crate::common::schema(table);
        let blocks = read("Native", &schema, &crate::common::golden(table, "Native").unwrap(), 1 << 20).unwrap();
        // Not every type has a Parquet one.
        let Ok(file) = write("Parquet", &schema, &blocks) else { continue };
        let rows: usize = blocks.iter().map(Block::rows).sum();
        for at in 0..file.len() {
            let mut file = file.clone();
            file[at] ^= if at % 2 == 0 { 0x01 } else { 0x80 };
            tried += 1;
            match read("Parquet", &schema, &file, 1 << 20) {
                Ok(blocks) => assert!(blocks.iter().map(Block::rows).sum::<usize>() <= rows * 256),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(tried > 1_000 && refused > tried / 4, "{refused} of {tried}");
}
