//! The tables of `golden`, and what the tests do with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_formats::{FormatOptions, Statistics, input_format, output_format};
use squall_types::{Block, DataType, Result, Schema};

/// Formats that are written and read.
pub const BOTH_WAYS: &[&str] = &[
    "CSV",
    "CSVWithNames",
    "CSVWithNamesAndTypes",
    "JSON",
    "JSONCompact",
    "JSONCompactEachRow",
    "JSONCompactEachRowWithNames",
    "JSONCompactEachRowWithNamesAndTypes",
    "JSONCompactStringsEachRow",
    "JSONEachRow",
    "JSONStringsEachRow",
    "Native",
    "RowBinary",
    "RowBinaryWithNames",
    "RowBinaryWithNamesAndTypes",
    "TSKV",
    "TSV",
    "TSVWithNames",
    "TSVWithNamesAndTypes",
    "Values",
];

/// The names of the tables.
pub const TABLES: &[&str] = &["numbers", "strings", "invalid", "times", "addresses", "nested", "many", "wide"];

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

pub fn golden(table: &str, format: &str) -> Option<Vec<u8>> {
    std::fs::read(folder().join(format!("{table}.{format}"))).ok()
}

pub fn schema(table: &str) -> Arc<Schema> {
    schema_of(&String::from_utf8(golden(table, "columns").unwrap()).unwrap())
}

/// The columns that a named tuple stands for.
pub fn schema_of(columns: &str) -> Arc<Schema> {
    let DataType::Tuple(elements) = DataType::parse(columns).unwrap() else { panic!("{columns}") };
    Arc::new(Schema::new(elements.iter().map(|element| (element.name.clone().unwrap(), element.data_type.clone()))))
}

pub fn read(format: &str, schema: &Arc<Schema>, input: &[u8], piece_bytes: usize) -> Result<Vec<Block>> {
    let mut format = input_format(format, schema, &FormatOptions::default())?;
    let mut blocks = Vec::new();
    for piece in input.chunks(piece_bytes) {
        format.feed(piece, &mut blocks)?;
    }
    format.finish(&mut blocks)?;
    while let Some(block) = format.next_block()? {
        blocks.push(block);
    }
    Ok(blocks.into_iter().map(|block| block.block).collect())
}

pub fn write(format: &str, schema: &Arc<Schema>, blocks: &[Block]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut format = output_format(format, schema, &FormatOptions::default())?;
    format.begin(&mut out);
    for block in blocks {
        format.block(block, &mut out)?;
    }
    format.end(&Statistics::default(), &mut out)?;
    Ok(out)
}

pub fn table(name: &str) -> (Arc<Schema>, Vec<Block>) {
    let schema = schema(name);
    let blocks = read("Native", &schema, &golden(name, "Native").unwrap(), usize::MAX).unwrap();
    (schema, blocks)
}

/// A small generator, the same on every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
