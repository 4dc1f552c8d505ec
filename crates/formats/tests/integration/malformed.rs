//! Hostile input: truncated, mutated and random bytes are an error or rows, never a panic, and never take memory that the bytes at hand
//! do not account for.

use crate::common::{BOTH_WAYS, Random, TABLES, golden, read, schema, table, write};

/// Reads; where that succeeds, the rows must also be fit to be written.
fn try_read(format: &str, name: &str, input: &[u8]) {
    let schema = schema(name);
    for piece_bytes in [usize::MAX, 5] {
        if let Ok(blocks) = read(format, &schema, input, piece_bytes) {
            for output in ["TSV", "JSON", "Native", "RowBinary", "PrettyCompact"] {
                write(output, &schema, &blocks).unwrap();
            }
        }
    }
}

fn inputs() -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    TABLES
        .iter()
        .filter(|name| !matches!(**name, "many" | "wide"))
        .flat_map(|name| BOTH_WAYS.iter().map(move |format| (*format, *name, golden(name, format).unwrap())))
}

#[test]
fn truncated_input() {
    for (format, name, input) in inputs() {
        let step = (input.len() / 60).max(1);
        for length in (0..input.len()).step_by(step) {
            try_read(format, name, &input[..length]);
        }
    }
}

#[test]
fn mutated_input() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for (format, name, input) in inputs() {
        for _ in 0..60 {
            let mut bytes = input.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = random.next() as u8,
                    1 => bytes[at] ^= 1 << random.below(8),
                    2 => bytes.insert(at, *b"\xFF\x7F\"'\\,[]{}()\t\n\0".get(random.below(16)).unwrap_or(&0)),
                    _ => {
                        bytes.remove(at);
                    }
                }
            }
            try_read(format, name, &bytes);
        }
    }
}

#[test]
fn random_input() {
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    for format in BOTH_WAYS.iter().chain(&["Parquet", "LineAsString", "RawBLOB"]) {
        for round in 0..100 {
            let bytes: Vec<u8> = (0..round * 3).map(|_| random.next() as u8).collect();
            for name in ["strings", "nested"] {
                if !matches!(*format, "LineAsString" | "RawBLOB") {
                    try_read(format, name, &bytes);
                }
            }
        }
    }
}

#[test]
fn damaged_parquet() {
    let mut random = Random(0xA076_1D64_78BD_642F);
    let (schema, blocks) = table("times");
    let file = write("Parquet", &schema, &blocks).unwrap();
    for _ in 0..200 {
        let mut bytes = file.clone();
        let at = random.below(bytes.len());
        bytes[at] = random.next() as u8;
        let _ = read("Parquet", &schema, &bytes, usize::MAX);
        let _ = read("Parquet", &schema, &file[..at], usize::MAX);
    }
}

#[test]
fn lengths_are_not_trusted() {
    let (schema, _) = table("strings");
    // A block of 2^31 - 1 rows, and a string of 2^29 bytes, of which nothing follows.
    let block = [&b"\x01\xff\xff\xff\xff\x07\x01s\x06String"[..], b"\x80\x80\x80\x80\x02abc"].concat();
    assert!(read("Native", &schema, &block, usize::MAX).is_err());
    let rows = b"\x80\x80\x80\x80\x02abc";
    assert!(read("RowBinary", &schema, rows, usize::MAX).is_err());
    let deep = "[".repeat(1_000_000);
    assert!(read("JSONEachRow", &schema, format!("{{\"s\":{deep}").as_bytes(), usize::MAX).is_err());
}
