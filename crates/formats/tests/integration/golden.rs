//! Every format against the bytes that ClickHouse 26.9 writes: written equal, and read back to the same table.

use crate::common::{BOTH_WAYS, TABLES, folder, golden, read, table, write};

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
