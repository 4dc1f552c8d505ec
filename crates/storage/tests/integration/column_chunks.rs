//! Column chunks as files hold them: whatever the values are, they come back, and the bounds that prune are true.

use std::fs::File;
use std::path::Path;

use crate::common::{block, definition, read_all, request, run};
use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use squall_storage::{Databases, InsertLimits, StorageOptions};
use squall_types::Value;

/// More than a page of keys.
const ROWS: u64 = 140_000;

const COLUMNS: &[(&str, &str)] = &[
    ("few8", "Int8"),
    ("few16", "Int16"),
    ("few_runs", "UInt16"),
    ("all16", "Int16"),
    ("near32", "Int32"),
    ("far32", "Int32"),
    ("far64", "UInt64"),
    ("ends64", "Int64"),
    ("seconds", "DateTime"),
    ("day", "Date"),
    ("maybe", "Nullable(Int32)"),
    ("null", "Nullable(Int32)"),
    ("float", "Float32"),
    ("nan", "Float64"),
    ("text", "String"),
    ("texts", "String"),
    ("long", "Nullable(String)"),
    ("fixed", "FixedString(5)"),
];

/// A number that looks random.
fn mixed(id: u64, of: u64) -> u64 {
    (id + of).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 13
}

fn row(id: u64) -> Vec<Value> {
    let any = |of: u64| mixed(id, of);
    vec![
        Value::Int64(any(1) as i64 % 7 - 3),
        Value::Int64(any(2) as i64 % 3000 - 1500),
        Value::UInt64(id / 50 % 3 + if id % 1000 > 980 { any(3) % 3 } else { 0 }),
        Value::Int64(any(4) as i64 % 65_536 - 32_768),
        Value::Int64(1_000_000 + any(5) as i64 % 1000),
        Value::Int64(i64::from(any(6) as i32)),
        Value::UInt64(any(7) << 13),
        Value::Int64([i64::MIN, -1, 0, i64::MAX][any(8) as usize % 4]),
        Value::UInt64(1_700_000_000 + any(9) % 40_000),
        Value::UInt64(20_000 + any(10) % 31),
        Value::Int64(any(11) as i64 % 5),
        if id.is_multiple_of(3) { Value::Null } else { Value::Int64(2) },
        Value::Float64(f64::from(any(12) as f32 + 0.5)),
        Value::Float64(if id % 1000 == 7 { f64::NAN } else { any(13) as f64 }),
        Value::from(["", "a", "жж", "page"][any(14) as usize % 4]),
        Value::from(format!("http://example.com/{}", any(15)).as_str()),
        Value::from("ж".repeat(30 + any(16) as usize % 20).as_str()),
        Value::string(&any(17).to_be_bytes()[3..]),
    ]
}

#[test]
#[ignore = "long"]
fn values_come_back_and_bounds_are_true() {
    for codec in ["LZ4", "ZSTD(1)", "NONE"] {
        come_back(codec);
    }
}

/// The encodings of a column in the first row group of a table's only part.
fn encodings(data: &Path, column: &str) -> Vec<Encoding> {
    let reader = SerializedFileReader::new(File::open(crate::common::part_file(data)).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    let chunk = group.columns().iter().find(|chunk| chunk.column_path().string() == column).unwrap();
    chunk.encodings().collect()
}

fn come_back(codec: &str) {
    let directory = tempfile::tempdir().unwrap();
    let open = || Databases::open(directory.path(), &StorageOptions::default()).unwrap();
    let expected: Vec<Vec<Value>> = (0..ROWS).map(row).collect();
    {
        let databases = open();
        let mut definition = definition("MergeTree", COLUMNS, &[]);
        definition.settings = vec![("default_compression_codec".into(), codec.into())];
        databases.create_table("default", "t", definition, false).unwrap();
        let table = databases.table("default", "t").unwrap();
        let insertion = table.insert_within(InsertLimits { fills_cache: false, ..InsertLimits::default() }).unwrap();
        let mut writer = insertion.writer().unwrap();
        run(writer.write(block(&*table, expected.clone())).unwrap()).unwrap();
        run(writer.finish().unwrap()).unwrap();
        insertion.commit().unwrap();
    }
    let is_split = encodings(directory.path(), "float").contains(&Encoding::BYTE_STREAM_SPLIT);
    assert!(is_split || codec != "LZ4");
    assert!(!is_split || codec != "NONE");
    assert!(!encodings(directory.path(), "seconds").contains(&Encoding::BYTE_STREAM_SPLIT));
    assert!(encodings(directory.path(), "near32").contains(&Encoding::RLE_DICTIONARY));
    let databases = open();
    let table = databases.table("default", "t").unwrap();
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let found = read_all(&*table, &request(&*table, &names, None)).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        // NaN is not equal to itself.
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
    for (column, name) in names.iter().enumerate() {
        // Of NULL, NaN and strings that are cut the bounds say less.
        if ["null", "nan", "long"].contains(name) {
            continue;
        }
        let values = expected.iter().map(|row| &row[column]);
        let low = values.clone().min_by(|left, right| left.compare(right)).unwrap().clone();
        let high = values.max_by(|left, right| left.compare(right)).unwrap().clone();
        assert_eq!(table.column_range(column), Some((low, high)), "{name}");
    }
}
