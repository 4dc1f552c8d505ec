//! What is said about texts that do not parse: positions, lines, what was found and expected, in ClickHouse's words.

use squall_sql::{ParserLimits, SyntaxError, parse, parse_many};

fn error(text: &str) -> SyntaxError {
    parse(text, &ParserLimits::default()).expect_err(text)
}

#[test]
fn messages_are_clickhouses() {
    let cases = [
        (
            "SELECT (1",
            "Syntax error: failed at position 10 (end of query): (1. Unmatched parentheses: '(' at position 8 is never closed",
        ),
        (
            "SELECT 1)",
            "Syntax error: failed at position 9 ()): ). Unmatched parentheses: ')' at position 9 has no matching opening bracket",
        ),
        (
            "SELECT (1]",
            "Syntax error: failed at position 10 (]): ]. Unmatched parentheses: ']' at position 10 does not match '(' at position 8",
        ),
        (
            "SELECT [1)",
            "Syntax error: failed at position 10 ()): ). Unmatched parentheses: ')' at position 10 does not match '[' at position 8",
        ),
        (
            "SELECT ((1)",
            "Syntax error: failed at position 12 (end of query): ((1). Unmatched parentheses: '(' at position 8 is never closed",
        ),
        (
            "SELECT f(1, [2",
            "Syntax error: failed at position 15 (end of query): [2. Unmatched parentheses: '(' at position 9, '[' at position 13 are never closed",
        ),
        ("SELECT 'a", "Single quoted string is not closed: Syntax error: failed at position 8 ('a): 'a. "),
        ("SELECT \"a", "Double quoted string is not closed: Syntax error: failed at position 8 (\"a): \"a. "),
        ("SELECT `a", "Back quoted string is not closed: Syntax error: failed at position 8 (`a): `a. "),
        ("SELECT 1 /* x", "Multiline comment is not closed: Syntax error: failed at position 10 (/* x): /* x. "),
        ("SELECT a & b", "Unrecognized token: Syntax error: failed at position 10 (&): & b. "),
        ("SELECT 1.2.3, 1.5x", "Wrong number: Syntax error: failed at position 15 (1.5x): 1.5x. "),
        (
            "SELECT !a",
            "Exclamation mark can only occur in !=, !~ and !~* operators: Syntax error: failed at position 8 (!): !a. ",
        ),
        (";", "Empty query"),
        ("", "Empty query"),
        ("  -- nothing\n", "Empty query"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text).message, expected, "{text}");
        assert_eq!(error(text).code, 62);
    }
}

#[test]
fn the_head_of_the_message_is_clickhouses() {
    let cases = [
        (
            "SELECT 1 2",
            "Syntax error: failed at position 10 (2): 2. Expected one of: token, DoubleColon, OR, AND, IS NOT DISTINCT FROM, ",
        ),
        (
            "select 1 from",
            "Syntax error: failed at position 14 (end of query): . Expected one of: table, table function, subquery or list of joined tables, ",
        ),
        ("SELECT FROM t", "Syntax error: failed at position 13 (t): t. Expected one of: "),
        ("SELECT 1 FORM x", "Syntax error: failed at position 15 (x): x. Expected one of: "),
        ("SELECT a FROM t GROUP a", "Syntax error: failed at position 17 (GROUP): GROUP a. Expected one of: "),
        (
            "SELECT a\nFROM t\nWHERE",
            "Syntax error: failed at position 22 (end of query) (line 3, col 6): . Expected one of: ",
        ),
        (
            "SELECT a,\n  b c d FROM t",
            "Syntax error: failed at position 17 (d) (line 2, col 7): d FROM t. Expected one of: ",
        ),
        ("FROM", "Syntax error: failed at position 5 (end of query): . Expected one of: "),
    ];
    for (text, expected) in cases {
        assert!(error(text).message.starts_with(expected), "{text}\n{}", error(text).message);
    }
}

#[test]
fn fields_say_where_and_what() {
    let error = error("SELECT a,\n  b c d FROM t");
    assert_eq!((error.position, error.line, error.column, error.found.as_str()), (16, 2, 7, "d"));
    assert!(error.expected.contains(&"FROM"));
    assert_eq!(error.to_string(), error.message);
}

#[test]
fn a_second_statement_is_an_error_unless_asked_for() {
    assert!(parse("SELECT 1; SELECT 2", &ParserLimits::default()).is_err());
    assert!(parse("SELECT 1;;\n", &ParserLimits::default()).is_ok());
    let statements = parse_many("SELECT 1; SELECT 2", &ParserLimits::default()).unwrap();
    assert_eq!(statements.iter().map(|s| (s.span.start, s.span.end)).collect::<Vec<_>>(), [(0, 8), (10, 18)]);
    let error = parse_many("SELECT 1;\nSELECT 2 3", &ParserLimits::default()).expect_err("the second is wrong");
    assert_eq!(error.position, 19);
}

#[test]
fn inline_data_begin_where_clickhouse_says() {
    let data = |text: &str| {
        let statements = parse_many(text, &ParserLimits::default()).unwrap();
        let range = statements.first().and_then(|s| s.data);
        (range.map(|(from, to)| text[from..to].to_string()), statements.len())
    };
    assert_eq!(data("INSERT INTO t VALUES (1, ';'), (2, 'x'); SELECT 1"), (Some("(1, ';'), (2, 'x')".into()), 2));
    assert_eq!(data("INSERT INTO t FORMAT TSV\n1\t2"), (Some("1\t2".into()), 1));
    assert_eq!(data("INSERT INTO t FORMAT TSV \r\n 1\t2\nSELECT 1"), (Some(" 1\t2".into()), 2));
    assert_eq!(data("INSERT INTO t FORMAT TSV"), (None, 1));
    assert_eq!(data("INSERT INTO t VALUES;"), (None, 1));
    // Data need not be text.
    let statement = parse(b"INSERT INTO t FORMAT RowBinary\n\xff\x00'", &ParserLimits::default()).unwrap();
    assert!(matches!(statement, squall_sql::ast::Statement::Insert(i) if i.inline_data_offset() == Some(31)));
}
