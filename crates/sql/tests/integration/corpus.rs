//! The corpus: every production of the grammar, a statement a line. Each must parse, format and parse to the same tree. For the
//! statements in `agreement/` the text and the tree are those of ClickHouse 26.9.

use squall_sql::ast::Statement;
use squall_sql::{ParserLimits, dump, format, format_one_line, parse, parse_many};

const CORPUS: &[(&str, &str)] = &[
    ("access", include_str!("../corpus/access.sql")),
    ("alter", include_str!("../corpus/alter.sql")),
    ("create", include_str!("../corpus/create.sql")),
    ("other", include_str!("../corpus/other.sql")),
    ("select", include_str!("../corpus/select.sql")),
];

fn parsed(text: &str) -> Statement {
    parse(text, &ParserLimits::default()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The text parses, and so does each of its formats, to the same tree and the same text.
fn assert_round_trip(text: &str) {
    let statement = parsed(text);
    for formatted in [format_one_line(&statement), format(&statement)] {
        let again = parsed(&formatted);
        assert_eq!(statement, again, "{text}\n{formatted}");
        assert_eq!(format_one_line(&again), format_one_line(&statement), "{text}\n{formatted}");
        assert_eq!(format(&again), format(&statement), "{text}\n{formatted}");
        assert_eq!(dump(&again), dump(&statement), "{text}\n{formatted}");
    }
}

#[test]
fn every_statement_round_trips() {
    for (_, statements) in CORPUS {
        statements.lines().filter(|line| !line.is_empty()).for_each(assert_round_trip);
    }
}

#[test]
fn every_statement_is_the_same_in_other_case_and_spacing() {
    for (_, statements) in CORPUS {
        for line in statements.lines().filter(|line| !line.is_empty()) {
            let spaced = format!("  /* x */ {line} -- end\n  ");
            if let Statement::Insert(_) = parsed(line) {
                continue;
            }
            assert_eq!(parsed(line), parsed(&spaced), "{line}");
        }
    }
}

#[test]
fn every_statement_of_the_seeds_parses() {
    let statements = parse_many(include_str!("../documents.sql"), &ParserLimits::default()).unwrap();
    assert_eq!(statements.len(), 16);
    for statement in &statements {
        assert_round_trip(&format(&statement.statement));
    }
}

/// Pairs of a statement and what ClickHouse makes of it, written by `agreement/update.py`.
fn agreement(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n>> ")
        .filter_map(|chunk| chunk.trim_start_matches(">> ").split_once('\n'))
        .map(|(s, e)| (s, e.trim_end()))
}

#[test]
fn one_line_is_as_clickhouse_formats() {
    for (statement, expected) in agreement(include_str!("../agreement/one_line.txt")) {
        assert_eq!(format_one_line(&parsed(statement)), expected, "{statement}");
    }
}

#[test]
fn several_lines_are_as_clickhouse_formats() {
    for (statement, expected) in agreement(include_str!("../agreement/lines.txt")) {
        assert_eq!(format(&parsed(statement)), expected, "{statement}");
    }
}

#[test]
fn the_tree_is_as_clickhouse_explains() {
    for (statement, expected) in agreement(include_str!("../agreement/dump.txt")) {
        assert_eq!(dump(&parsed(statement)).trim_end(), expected, "{statement}");
    }
}
