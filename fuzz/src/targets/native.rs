//! What clients of the native protocol send, as the server reads it: hellos, queries and blocks, plain and in frames. The first byte says which, the
//! second the revision of the client.

use squall_formats::native::write_block;
use squall_formats::wire::{Cursor, put_string, put_varint};
use squall_server::native::blocks::BlockInput;
use squall_server::native::packet::{Hello, QueryPacket, from_client, read_addendum};
use squall_server::session::ClientInfo;
use squall_types::{Block, Column, DataType, Schema, Value};

use super::frames::mend;

pub const WORDS: &[&str] = &[
    "UInt64",
    "String",
    "LowCardinality(String)",
    "Array(Nullable(Int8))",
    "Map(String, UInt8)",
    "Tuple(a Date)",
    "max_threads",
];

/// Revisions at which something in the packets changes.
const REVISIONS: [u64; 8] = [54_032, 54_405, 54_429, 54_448, 54_454, 54_459, 54_468, 54_480];

pub fn run(bytes: &[u8]) {
    let [which, revision, bytes @ ..] = bytes else { return };
    let revision = REVISIONS[usize::from(*revision) % REVISIONS.len()];
    let mut framed = bytes.to_vec();
    match which % 4 {
        0 => hello(bytes),
        1 => drop(QueryPacket::read(&mut Cursor::new(bytes), revision, &ClientInfo::default())),
        2 => blocks(bytes, revision, false),
        _ => {
            // After the table's name, as it is of no length.
            mend(framed.get_mut(1..).unwrap_or_default());
            blocks(&framed, revision, true);
        }
    }
}

fn hello(bytes: &[u8]) {
    let mut input = Cursor::new(bytes);
    if !matches!(input.varint(), Ok(from_client::HELLO)) {
        return;
    }
    if let Ok(hello) = Hello::read(&mut input) {
        let _ = read_addendum(&mut input, hello.revision);
    }
}

/// Blocks whose bytes come in two pieces.
fn blocks(bytes: &[u8], revision: u64, is_compressed: bool) {
    for cut in [bytes.len() / 2, bytes.len()] {
        let mut reader = BlockInput::new(revision, is_compressed);
        let mut input = Cursor::new(bytes.get(..cut).unwrap_or_default());
        if reader.read(&mut input).is_err() && cut < bytes.len() {
            let mut rest = Cursor::new(bytes.get(input.position()..).unwrap_or_default());
            let _ = reader.read(&mut rest);
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut hello = vec![0, 0];
    put_varint(&mut hello, from_client::HELLO);
    put_string(&mut hello, "client");
    [24, 8, 54_468].iter().for_each(|number| put_varint(&mut hello, *number));
    ["default", "default", "", "key", "notchunked", "notchunked"].iter().for_each(|text| put_string(&mut hello, text));
    let mut seeds = vec![hello];
    for (data_type, value) in [
        ("UInt64", Value::UInt64(7)),
        ("String", Value::string("seven")),
        ("LowCardinality(String)", Value::string("seven")),
        ("Array(Nullable(Int8))", Value::Array(vec![Value::Null, Value::Int64(7)].into())),
    ] {
        let Ok(data_type) = DataType::parse(data_type) else { continue };
        let Ok(column) = Column::constant(data_type.clone(), &value, 3).and_then(|column| column.materialize()) else {
            continue;
        };
        let schema = Schema::new([(std::sync::Arc::<str>::from("x"), data_type)]);
        let block = Block::new(schema.into(), vec![column], 3);
        for (revision, number) in REVISIONS.into_iter().zip(0..) {
            // The table's name, and what stands before a block.
            let mut seed = vec![2, number, 0, 1, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0];
            if write_block(&block, revision, &mut seed).is_ok() {
                seeds.push(seed);
            }
        }
    }
    seeds
}
