//! Statements: what parses is the same after formatting.

use squall_sql::{ParserLimits, format, format_one_line, normalize, parse, parse_many};

pub const WORDS: &[&str] = &[
    "SELECT ",
    " FROM ",
    " WHERE ",
    " GROUP BY ",
    " ORDER BY ",
    "INSERT INTO ",
    " VALUES ",
    "WITH ",
    " AS ",
    "INTERVAL ",
    "CAST(",
    "CASE WHEN ",
    " END",
    "::",
    "->",
    "ALTER TABLE ",
    "CREATE TABLE ",
    " ENGINE = ",
    " SETTINGS ",
    " FORMAT ",
    "--",
    "/*",
    "*/",
    "{x:UInt8}",
    "$$",
    "\\'",
    "0x",
    "1e",
    "LIMIT 1 BY ",
    "NOT ",
    "BETWEEN ",
    " AND ",
    "ARRAY JOIN ",
    "GRANT ",
    "tuple(",
];

pub fn run(text: &[u8]) {
    let limits = ParserLimits::default();
    let _ = parse_many(text, &limits);
    let _ = normalize(text);
    if let Ok(statement) = parse(text, &limits) {
        for formatted in [format_one_line(&statement), format(&statement)] {
            assert_eq!(parse(&formatted, &limits).as_ref(), Ok(&statement), "{formatted}");
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let files = [
        include_str!("../../../crates/sql/tests/corpus/select.sql"),
        include_str!("../../../crates/sql/tests/corpus/create.sql"),
        include_str!("../../../crates/sql/tests/corpus/alter.sql"),
        include_str!("../../../crates/sql/tests/corpus/access.sql"),
        include_str!("../../../crates/sql/tests/corpus/other.sql"),
    ];
    files.iter().flat_map(|file| file.split(";\n")).map(|text| text.trim().as_bytes().to_vec()).collect()
}
