//! Every format against the bytes that ClickHouse 26.9 writes: written equal, and read back to the same table.

use std::sync::Arc;

use squall_formats::{FormatOptions, Statistics, formats, output_format};
use squall_types::{Block, ColumnBuilder, Settings, Value};

use crate::common::{BOTH_WAYS, TABLES, folder, golden, read, schema_of, table, write};

#[test]
fn what_is_written_equals_clickhouse() {
    let mut compared = 0;
    for name in TABLES {
        let (schema, blocks) = table(name);
        for entry in std::fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            let format = path.extension().unwrap().to_str().unwrap();
            if path.file_stem().unwrap() != *name || format == "columns" {
                continue;
            }
            let expected = golden(name, format).unwrap();
            let found = write(format, &schema, &blocks).unwrap();
            assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected), "{name} as {format}");
            assert_eq!(found, expected, "{name} as {format}");
            compared += 1;
        }
    }
    assert!(compared > 200, "only {compared} files were compared");
}

#[test]
fn forks_write_what_the_whole_writes() {
    let forking = formats().filter(|(name, ..)| {
        let format = output_format(name, &table("numbers").0, &FormatOptions::default());
        format.is_ok_and(|format| format.fork().is_some())
    });
    let forking: Vec<&str> = forking.map(|(name, ..)| name).collect();
    assert!(forking.len() > 30, "{forking:?}");
    let array =
        FormatOptions { settings: with_setting("output_format_json_array_of_rows", "1"), ..FormatOptions::default() };
    let between = FormatOptions {
        settings: with_setting("format_custom_row_between_delimiter", " and "),
        ..FormatOptions::default()
    };
    for options in [FormatOptions::default(), array, between] {
        for (name, format) in TABLES.iter().flat_map(|name| forking.iter().map(move |format| (name, format))) {
            let (schema, blocks) = table(name);
            let rows: Vec<Block> =
                blocks.iter().flat_map(|block| (0..block.rows()).map(|row| block.slice(row, 1))).collect();
            let Ok(mut whole) = output_format(format, &schema, &options) else { continue };
            let mut expected = Vec::new();
            whole.begin(&mut expected);
            rows.iter().try_for_each(|block| whole.block(block, &mut expected)).unwrap();
            whole.end(&Statistics::default(), &mut expected).unwrap();
            // All by forks, and the second of three by the first writer.
            for is_mixed in [false, true] {
                let (mut first, mut out) = (output_format(format, &schema, &options).unwrap(), Vec::new());
                first.begin(&mut out);
                for (number, block) in rows.iter().enumerate() {
                    if is_mixed && number % 3 == 1 {
                        first.block(block, &mut out).unwrap();
                        continue;
                    }
                    let mut written = Vec::new();
                    first.fork().unwrap().block(block, &mut written).unwrap();
                    first.append(block.rows() as u64, &written, &mut out);
                }
                first.end(&Statistics::default(), &mut out).unwrap();
                assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected), "{name} as {format}");
            }
        }
    }
}

fn with_setting(name: &str, value: &str) -> Arc<Settings> {
    let mut settings = Settings::default();
    settings.set(name, value).unwrap();
    Arc::new(settings)
}

#[test]
fn what_clickhouse_writes_is_read_back() {
    for name in TABLES {
        let (schema, blocks) = table(name);
        // JSON has no NaN and only UTF-8, in either server.
        let is_lossy = |format: &str| match *name {
            "invalid" => matches!(format, "JSON" | "JSONCompact"),
            "nested" | "numbers" => format.starts_with("JSON") && !format.contains("Strings"),
            _ => false,
        };
        let expected = write("TSVWithNamesAndTypes", &schema, &blocks).unwrap();
        for format in BOTH_WAYS.iter().filter(|format| !is_lossy(format)) {
            let input = golden(name, format).unwrap();
            for piece_bytes in [usize::MAX, 1000, 7, 1] {
                let blocks = read(format, &schema, &input, piece_bytes)
                    .unwrap_or_else(|error| panic!("{name} as {format}: {error}"));
                let found = write("TSVWithNamesAndTypes", &schema, &blocks).unwrap();
                assert_eq!(
                    String::from_utf8_lossy(&found),
                    String::from_utf8_lossy(&expected),
                    "{name} as {format} in pieces of {piece_bytes}"
                );
            }
        }
    }
}

#[test]
fn parquet_comes_back() {
    for name in ["times", "addresses", "many", "wide", "invalid"] {
        let (schema, blocks) = table(name);
        let expected = write("TSVWithNamesAndTypes", &schema, &blocks).unwrap();
        let file = write("Parquet", &schema, &blocks).unwrap();
        let found = write("TSVWithNamesAndTypes", &schema, &read("Parquet", &schema, &file, 1000).unwrap()).unwrap();
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected), "{name}");
    }
}

/// Strings of few values, of many and of none, with NULL among them, in several row groups: some lie as keys of dictionaries, some do not.
#[test]
fn strings_of_dictionaries_come_back() {
    let schema = schema_of(
        "Tuple(few String, nullable Nullable(String), many String, nulls Nullable(String), list Array(String),
         kept LowCardinality(String))",
    );
    let rows: u64 = 20_000;
    let columns = schema.fields.iter().map(|(name, data_type)| {
        let mut builder = ColumnBuilder::new(data_type.clone());
        for row in 0..rows {
            let few = Value::from(format!("value {}", row % 13).as_str());
            let value = match &**name {
                "nullable" if row % 3 == 0 => Value::Null,
                "nulls" => Value::Null,
                // All different in the second half alone: the writer gives up its dictionary there.
                "many" if row > rows / 2 => Value::from(("x".repeat(150) + &row.to_string()).as_str()),
                "list" => Value::Array(vec![few; (row % 3) as usize].into()),
                _ => few,
            };
            builder.append(&value).unwrap();
        }
        builder.finish().unwrap()
    });
    let block = Block::new(schema.clone(), columns.collect(), rows as usize);
    let expected = write("TSVWithNamesAndTypes", &schema, std::slice::from_ref(&block)).unwrap();
    let file = write("Parquet", &schema, &[block]).unwrap();
    let blocks = read("Parquet", &schema, &file, usize::MAX).unwrap();
    for (column, is_coded) in [("few", true), ("nullable", true), ("many", false), ("list", false)] {
        let at = schema.fields.iter().position(|(name, _)| &**name == column).unwrap();
        assert_eq!(blocks[0].column(at).coded().is_some(), is_coded, "{column}");
    }
    let found = write("TSVWithNamesAndTypes", &schema, &blocks).unwrap();
    assert!(found == expected);
}
