//! Input formats: the first byte says which, the second in what pieces the bytes come. Rows that were read can be written, and are the same
//! where readers of their own have read the pieces.

use std::sync::Arc;

use squall_formats::split::{SplitInput, end_piece};
use squall_formats::{FormatOptions, Statistics, formats, input_format, output_format};
use squall_types::{Block, DataType, Result, Schema};

pub const WORDS: &[&str] = &[
    "\\N",
    "null",
    "NULL",
    "true",
    "[1,2]",
    "{'a':1}",
    "(1,'a')",
    "{\"a\":",
    "\"",
    "'",
    "\\",
    "\t",
    "\r\n",
    ",",
    "1970-01-01",
    "2026-11-22 10:00:00",
    "-1e400",
    "nan",
    "::1",
    "00000000-0000-0000-0000-000000000000",
    "\\u0000",
    "\\xff",
    "tskv",
    "\"data\":",
];

/// One column of each kind.
const COLUMNS: &str = "Tuple(a UInt64, b String, c Nullable(Float64), d Array(Int8), e Map(String, UInt16), f DateTime64(3), g Tuple(x Date, y \
                       LowCardinality(String)), h UUID, i Enum8('p' = 1, 'q' = -2), j FixedString(3), k IPv6, l Bool, m Nullable(Date32))";

fn schema() -> Option<Arc<Schema>> {
    static SCHEMA: std::sync::OnceLock<Option<Arc<Schema>>> = std::sync::OnceLock::new();
    let parse = || match DataType::parse(COLUMNS) {
        Ok(DataType::Tuple(elements)) => Some(Arc::new(Schema::new(
            elements.iter().map(|element| (element.name.clone().unwrap_or_default(), element.data_type.clone())),
        ))),
        _ => None,
    };
    SCHEMA.get_or_init(parse).clone()
}

/// The formats that read, but for Parquet.
fn inputs() -> Vec<&'static str> {
    let reads = |name: &&str| {
        *name != "Parquet"
            && schema().is_some_and(|schema| input_format(name, &schema, &FormatOptions::default()).is_ok())
    };
    formats().map(|(name, ..)| name).filter(reads).collect()
}

fn read(format: &str, schema: &Arc<Schema>, bytes: &[u8], piece_bytes: usize) -> Result<Vec<Block>> {
    let mut reader = input_format(format, schema, &FormatOptions::default())?;
    let mut blocks = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        reader.feed(piece, &mut blocks)?;
    }
    reader.finish(&mut blocks)?;
    let mut blocks: Vec<Block> = blocks.into_iter().map(|input| input.block).collect();
    while let Some(input) = reader.next_block()? {
        // All of a file's rows, however many it says, are not for a test's time.
        if blocks.len() == 4 {
            break;
        }
        blocks.push(input.block);
    }
    Ok(blocks)
}

/// Cuts after lines, and reads the pieces as several threads do; no blocks at all where a piece is not to be read apart from the others.
fn read_apart(format: &str, schema: &Arc<Schema>, bytes: &[u8], lines_before: usize) -> Result<Option<Vec<Block>>> {
    let mut pieces = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut reader = input_format(format, schema, &FormatOptions::default())?;
    let mut blocks = Vec::new();
    for piece in pieces.by_ref().take(lines_before) {
        reader.feed(piece, &mut blocks)?;
    }
    let mut input = SplitInput::new(reader);
    for piece in pieces {
        let Some(mut fork) = input.fork()? else { return Ok(None) };
        let mut read = Vec::new();
        let read = fork.feed(piece, &mut read).ok().and_then(|()| end_piece(fork, read));
        if !input.take(read, &mut blocks)? {
            input.feed(piece, &mut blocks)?;
        }
    }
    input.reader().finish(&mut blocks)?;
    Ok(Some(blocks.into_iter().map(|input| input.block).collect()))
}

fn write(format: &str, schema: &Arc<Schema>, blocks: &[Block]) -> Result<Vec<u8>> {
    let mut writer = output_format(format, schema, &FormatOptions::default())?;
    let mut out = Vec::new();
    writer.begin(&mut out);
    blocks.iter().try_for_each(|block| writer.block(block, &mut out))?;
    writer.end(&Statistics::default(), &mut out)?;
    Ok(out)
}

pub fn run(bytes: &[u8]) {
    static INPUTS: std::sync::OnceLock<Vec<&'static str>> = std::sync::OnceLock::new();
    let inputs = INPUTS.get_or_init(inputs);
    let ([which, pieces, bytes @ ..], Some(schema)) = (bytes, schema()) else { return };
    let piece_bytes = [usize::MAX, 1, 7, 64][usize::from(*pieces) % 4];
    let Some(format) = inputs.get(usize::from(*which) % inputs.len()) else { return };
    if let Ok(blocks) = read(format, &schema, bytes, piece_bytes)
        && blocks.iter().map(Block::rows).sum::<usize>() < 10_000
    {
        let written = write("JSONEachRow", &schema, &blocks).ok();
        assert!(written.is_some() && write("Native", &schema, &blocks).is_ok());
        let apart = read_apart(format, &schema, bytes, usize::from(*pieces) % 3).transpose();
        if let Some(apart) = apart {
            assert_eq!(apart.and_then(|blocks| write("JSONEachRow", &schema, &blocks)).ok(), written, "{format}");
        }
    }
}

pub fn run_parquet(bytes: &[u8]) {
    if let Some(schema) = schema() {
        let _ = read("Parquet", &schema, bytes, usize::MAX);
    }
}

/// A row, and the same three times.
fn rows() -> Vec<Block> {
    const ROW: &str = r#"{"a":7,"b":"be\u00e9","c":null,"d":[1,-2],"e":{"k":3},"f":"2026-11-22 10:00:00.123","g":["2026-11-22","low"],"h":"12345678-1234-1234-1234-123456789012","i":"q","j":"abc","k":"::1","l":true,"m":"1960-01-01"}"#;
    schema()
        .and_then(|schema| read("JSONEachRow", &schema, [ROW; 3].join("\n").as_bytes(), usize::MAX).ok())
        .unwrap_or_default()
}

pub fn seeds() -> Vec<Vec<u8>> {
    let (Some(schema), rows) = (schema(), rows()) else { return Vec::new() };
    let write = |(at, format): (usize, &str)| {
        let bytes = write(format, &schema, &rows).ok()?;
        Some([&[at as u8, 0], &*bytes].concat())
    };
    inputs().into_iter().enumerate().filter_map(write).collect()
}

pub fn parquet_seeds() -> Vec<Vec<u8>> {
    schema().and_then(|schema| write("Parquet", &schema, &rows()).ok()).into_iter().collect()
}
