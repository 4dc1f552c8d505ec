//! ORC as ClickHouse and Arrow write it, read as ClickHouse reads it; and what is written comes back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_formats::{FormatOptions, Statistics, infer_schema, input_format, output_format};
use squall_types::{Block, DataType, ErrorCode, Result, Schema, Settings};

use crate::common::{Random, schema_of, write};

/// Of more rows than these, the files of `tests/orc` have but some.
const MANY: usize = 1000;
const STEP: usize = 37;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/orc")
}

fn file(name: &str, ending: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.{ending}"))).unwrap()
}

fn text(name: &str, ending: &str) -> String {
    String::from_utf8(file(name, ending)).unwrap()
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "orc"));
    let mut names: Vec<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert!(names.len() >= 15, "{names:?}");
    names
}

fn options(settings: &[(&str, &str)]) -> FormatOptions {
    let mut changed = Settings::default();
    settings.iter().for_each(|(name, value)| changed.set(name, value).unwrap());
    FormatOptions { settings: Arc::new(changed), ..FormatOptions::default() }
}

fn read_with(schema: &Arc<Schema>, input: &[u8], options: &FormatOptions) -> Result<Vec<Block>> {
    let mut format = input_format("ORC", schema, options)?;
    let mut blocks = Vec::new();
    for piece in input.chunks(1000) {
        format.feed(piece, &mut blocks)?;
    }
    format.finish(&mut blocks)?;
    while let Some(block) = format.next_block()? {
        blocks.push(block);
    }
    Ok(blocks.into_iter().map(|block| block.block).collect())
}

fn read(schema: &Arc<Schema>, input: &[u8]) -> Result<Vec<Block>> {
    read_with(schema, input, &FormatOptions::default())
}

fn write_with(schema: &Arc<Schema>, blocks: &[Block], options: &FormatOptions) -> Result<Vec<u8>> {
    let (mut out, mut format) = (Vec::new(), output_format("ORC", schema, options)?);
    format.begin(&mut out);
    blocks.iter().try_for_each(|block| format.block(block, &mut out))?;
    format.end(&Statistics::default(), &mut out)?;
    Ok(out)
}

/// A file of rows that are given as text.
fn written_of(schema: &Arc<Schema>, rows: &str) -> Vec<u8> {
    let blocks = crate::common::read("TSV", schema, rows.as_bytes(), usize::MAX).unwrap();
    write_with(schema, &blocks, &FormatOptions::default()).unwrap()
}

/// What is shown of rows.
fn shown(schema: &Arc<Schema>, blocks: &[Block]) -> String {
    let rows = String::from_utf8_lossy(&write("TSV", schema, blocks).unwrap()).into_owned();
    let lines: Vec<&str> = rows.lines().collect();
    let step = if lines.len() > MANY { STEP } else { 1 };
    lines.into_iter().step_by(step).flat_map(|line| [line, "\n"]).collect()
}

fn rows_under(columns: &str, input: &[u8], settings: &[(&str, &str)]) -> Result<String> {
    let schema = schema_of(columns);
    read_with(&schema, input, &options(settings)).map(|blocks| shown(&schema, &blocks))
}

#[test]
fn rows_are_read_as_clickhouse_reads_them() {
    for name in names() {
        let schema = schema_of(&text(&name, "columns"));
        let blocks = read(&schema, &file(&name, "orc")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = String::from_utf8_lossy(&file(&name, "tsv")).into_owned();
        assert_eq!(shown(&schema, &blocks), expected, "{name}");
    }
}

#[test]
fn columns_are_inferred_as_clickhouse_infers_them() {
    for name in names() {
        let inferred = infer_schema("ORC", &mut &*file(&name, "orc"), &FormatOptions::default()).unwrap();
        assert_eq!(inferred, *schema_of(&text(&name, "inferred")), "{name}");
    }
    let options = options(&[
        ("schema_inference_make_columns_nullable", "0"),
        ("input_format_orc_dictionary_as_low_cardinality", "0"),
    ]);
    let plain = infer_schema("ORC", &mut &*file("arrow", "orc"), &options).unwrap();
    let expected = "Tuple(l Array(Int32), s Tuple(x Int32, y Array(Int8)), m Map(String, Int32), b String, \
                    i DateTime64(9, 'UTC'), d Decimal(20, 3), n Int64)";
    assert_eq!(plain, *schema_of(expected));
}

#[test]
fn what_is_written_comes_back() {
    for name in names() {
        let schema = schema_of(&text(&name, "columns"));
        let blocks = read(&schema, &file(&name, "orc")).unwrap();
        for compression in ["zstd", "lz4", "zlib", "snappy", "none"] {
            for chunk_bytes in ["262144", "100"] {
                let options = options(&[
                    ("output_format_orc_compression_method", compression),
                    ("output_format_orc_compression_block_size", chunk_bytes),
                    ("output_format_orc_writer_time_zone_name", "America/New_York"),
                    ("input_format_orc_reader_time_zone_name", "America/New_York"),
                ]);
                let written = write_with(&schema, &blocks, &options).unwrap();
                let found = read_with(&schema, &written, &options).unwrap();
                assert_eq!(shown(&schema, &found), shown(&schema, &blocks), "{name} {compression}");
            }
        }
    }
}

#[test]
fn settings_say_what_is_missing_and_what_is_null() {
    let columns = schema_of(
        "Tuple(a UInt8, B String, c Array(Nullable(Int32)), d Nullable(Int32), e Tuple(p Nullable(Int32), q String))",
    );
    let written = written_of(&columns, "1\tx\t[1,NULL]\t\\N\t(NULL,'z')\n");
    let rows = |columns: &str, settings: &[(&str, &str)]| {
        rows_under(&format!("Tuple({columns})"), &written, settings).map_err(|error| error.code)
    };
    let strict = [("input_format_orc_allow_missing_columns", "0")];
    let no_case = [("input_format_orc_case_insensitive_column_matching", "1")];
    let no_default = [("input_format_null_as_default", "0")];
    for (columns, settings, expected) in [
        ("a UInt8, z Int32", &[][..], Ok("1\t0\n")),
        ("a UInt8, z Int32", &strict[..], Err(ErrorCode::THERE_IS_NO_COLUMN)),
        ("A UInt8, b String", &[][..], Ok("0\t\n")),
        ("A UInt8, b String", &no_case[..], Ok("1\tx\n")),
        ("c Array(Int32), d Int32, e Tuple(p Int32, q String)", &[][..], Ok("[1,0]\t0\t(0,'z')\n")),
        ("c Array(Int32)", &no_default[..], Err(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN)),
        ("d Int32", &no_default[..], Err(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN)),
        ("e Tuple(q String, p Int32)", &[][..], Ok("('z',0)\n")),
        ("e Tuple(q String)", &[][..], Ok("('z')\n")),
        ("e Tuple(q String, r Int8)", &[][..], Ok("('z',0)\n")),
        ("e Tuple(Nullable(Int32), String)", &[][..], Ok("(NULL,'z')\n")),
        ("e Tuple(Int32)", &[][..], Ok("(0)\n")),
        ("B Int128", &[][..], Err(ErrorCode::INCORRECT_DATA)),
        ("B FixedString(3)", &[][..], Ok("x\\0\\0\n")),
        ("a Int64, d LowCardinality(Nullable(String))", &[][..], Ok("1\t\\N\n")),
    ] {
        assert_eq!(rows(columns, settings).as_deref().map_err(|code| *code), expected, "{columns}");
    }
}

#[test]
fn nested_structures_are_arrays_of_tuples() {
    let file = file("nested", "orc");
    let found = rows_under("Tuple(`at.a` Array(Int64), `at.b` Array(Date), `at.c` Array(String))", &file, &[]).unwrap();
    let lines: Vec<&str> = found.lines().take(3).collect();
    let expected = ["[]\t[]\t[]", "[0]\t['2024-01-01']\t[]", "[0,1]\t['2024-01-01','2024-01-02']\t[]"];
    assert_eq!(lines, expected);
}

#[test]
fn times_are_of_clocks() {
    let file = file("zone", "orc");
    for (zone, expected) in [
        ("GMT", "2020-07-02 05:04:05\n"),
        ("Europe/Berlin", "2020-07-02 03:04:05\n"),
        ("America/New_York", "2020-07-02 09:04:05\n"),
    ] {
        let found = rows_under("Tuple(t DateTime)", &file, &[("input_format_orc_reader_time_zone_name", zone)]);
        assert_eq!(found.unwrap(), expected);
    }
    let early = schema_of("Tuple(t DateTime64(9, 'UTC'))");
    let text = "1960-01-01 00:00:00.123456789\n1969-12-31 23:59:59.900000000\n1969-12-31 23:59:58.000500000\n";
    assert_eq!(shown(&early, &read(&early, &written_of(&early, text)).unwrap()), text);
    // A day beyond the range of the type that is wanted, and a time of which nanoseconds are too many.
    let late = schema_of("Tuple(d Date32, t DateTime64(3, 'UTC'))");
    let text = "1930-01-02\t2299-12-31 00:00:00.123\n";
    let written = written_of(&late, text);
    assert_eq!(shown(&late, &read(&late, &written).unwrap()), text);
    for columns in ["Tuple(d Date)", "Tuple(t DateTime64(9))"] {
        let error = rows_under(columns, &written, &[]).unwrap_err();
        assert_eq!(error.code, ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, "{columns}");
    }
    assert_eq!(rows_under("Tuple(d Int32)", &written, &[]).unwrap(), "-14609\n");
    // ClickHouse writes such days as numbers below zero.
    let date = schema_of("Tuple(d Date)");
    assert_eq!(shown(&date, &read(&date, &written_of(&date, "2149-06-06\n")).unwrap()), "2149-06-06\n");
}

#[test]
fn types_without_a_place_are_refused() {
    for data_type in [
        "UUID",
        "Time",
        "Time64(3)",
        "IntervalDay",
        "JSON",
        "Dynamic",
        "AggregateFunction(sum, UInt8)",
        "BFloat16",
        "Array(UUID)",
        "Nullable(Nothing)",
        "Variant(Int8, UInt8)",
        "Variant(Array(Int8), Array(UInt8))",
    ] {
        let schema = Arc::new(Schema::new([("c", DataType::parse(data_type).unwrap())]));
        let error = output_format("ORC", &schema, &FormatOptions::default()).err().unwrap();
        assert_eq!(error.code, ErrorCode::ILLEGAL_COLUMN, "{data_type}");
        assert!(error.message.contains("is not supported for ORC output format"), "{error}");
    }
}

#[test]
fn rows_are_counted_without_columns() {
    let nothing = Arc::new(Schema { fields: Vec::new() });
    let rows: usize = read(&nothing, &file("numbers", "orc")).unwrap().iter().map(Block::rows).sum();
    assert_eq!(rows, 9000);
}

/// Without compression, damage reaches everything.
#[test]
fn damaged_files_are_an_error_or_other_rows() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for name in ["types", "nullable", "nested", "variant", "dictionary", "arrow", "old"] {
        let schema = schema_of(&text(name, "columns"));
        let original = file(name, "orc");
        let blocks = read(&schema, &original).unwrap();
        let blocks: Vec<Block> = blocks.iter().map(|block| block.slice(0, block.rows().min(50))).take(1).collect();
        let plain = options(&[("output_format_orc_compression_method", "none")]);
        let plain = write_with(&schema, &blocks, &plain).unwrap();
        for file in [&original, &plain] {
            for round in 0..100 {
                let mut bytes = file.clone();
                for _ in 0..=round % 4 {
                    // What a file says of itself is at its end.
                    let at = if round % 2 == 0 {
                        random.below(bytes.len())
                    } else {
                        bytes.len() - 1 - random.below(bytes.len().min(400))
                    };
                    bytes[at] = random.next() as u8;
                }
                let _ = read(&schema, &bytes);
                let _ = infer_schema("ORC", &mut &*bytes, &FormatOptions::default());
            }
            for _ in 0..30 {
                let cut = random.below(file.len());
                assert!(read(&schema, &file[..cut]).is_err() || cut == 0);
            }
        }
    }
}

#[test]
fn what_is_no_orc_is_refused() {
    let schema = schema_of("Tuple(a UInt8)");
    for bytes in [&b"not an orc file at all"[..], b"ORC", b"\0", b"ORC\x08\x01\x02"] {
        assert_eq!(read(&schema, bytes).unwrap_err().code, ErrorCode::INCORRECT_DATA);
        let error = infer_schema("ORC", &mut &*bytes, &FormatOptions::default()).unwrap_err();
        assert_eq!(error.code, ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE);
    }
}
