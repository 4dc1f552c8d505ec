//! Any bytes: the parser does not panic, and what parses is the same after formatting. Seeds: `crates/sql/tests/corpus/*.sql`.
//! `cargo +nightly fuzz run sql_round_trip`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_sql::{ParserLimits, format, format_one_line, normalize, parse, parse_many};

fuzz_target!(|text: &[u8]| {
    let limits = ParserLimits::default();
    let _ = parse_many(text, &limits);
    let _ = normalize(text);
    if let Ok(statement) = parse(text, &limits) {
        for formatted in [format_one_line(&statement), format(&statement)] {
            assert_eq!(parse(&formatted, &limits).as_ref(), Ok(&statement), "{formatted}");
        }
    }
});
