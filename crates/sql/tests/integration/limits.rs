//! Depth, size and effort are bounded, whatever the text: nothing overflows a stack of two megabytes, nothing goes quadratic.

use squall_sql::{ParserLimits, SyntaxError, dump, format, format_one_line, normalize, parse, parse_many};

/// Runs on a thread with the stack of a server's worker.
fn on_small_stack(body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(body).unwrap().join().unwrap();
}

fn error(text: &str) -> SyntaxError {
    parse(text, &ParserLimits::default()).expect_err(text)
}

fn unlimited() -> ParserLimits {
    ParserLimits {
        max_query_size: 0,
        max_parser_depth: 0,
        max_parser_backtracks: 0,
        max_ast_depth: 0,
        ..ParserLimits::default()
    }
}

/// The text nests `n` times.
type Nested = fn(usize) -> String;

const NESTED: &[(&str, Nested)] = &[
    ("parentheses", |n| format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n))),
    ("open parentheses", |n| format!("SELECT {}", "(".repeat(n))),
    ("arrays", |n| format!("SELECT {}a{}", "[".repeat(n), "]".repeat(n))),
    ("open arrays", |n| format!("SELECT {}", "[".repeat(n))),
    ("calls", |n| format!("SELECT {}a{}", "f(".repeat(n), ")".repeat(n))),
    ("NOT", |n| format!("SELECT {}a", "NOT ".repeat(n))),
    ("minus", |n| format!("SELECT {}a", "- ".repeat(n))),
    ("plus", |n| format!("SELECT {}a", "+ ".repeat(n))),
    ("chain of plus", |n| format!("SELECT {}a", "a + ".repeat(n))),
    ("chain of equals", |n| format!("SELECT {}a", "a = ".repeat(n))),
    ("subscripts", |n| format!("SELECT a{}", "[1]".repeat(n))),
    ("nested subscripts", |n| format!("SELECT {}1{}", "a[".repeat(n), "]".repeat(n))),
    ("casts", |n| format!("SELECT a{}", "::Int8".repeat(n))),
    ("ternaries", |n| format!("SELECT {}a", "a ? b : ".repeat(n))),
    ("lambdas", |n| format!("SELECT {}1", "x -> ".repeat(n))),
    ("CASE", |n| format!("SELECT {}1{}", "CASE WHEN a THEN ".repeat(n), " END".repeat(n))),
    ("INTERVAL", |n| format!("SELECT {} 1{}", "INTERVAL ".repeat(n), " DAY".repeat(n))),
    ("BETWEEN", |n| format!("SELECT a{}", " BETWEEN 1 AND 2".repeat(n))),
    ("subqueries", |n| format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(n), ")".repeat(n))),
    ("scalar subqueries", |n| format!("SELECT {}1{}", "(SELECT ".repeat(n), ")".repeat(n))),
    ("parentheses around a query", |n| format!("{}SELECT 1{}", "(".repeat(n), ")".repeat(n))),
    ("half closed queries", |n| format!("SELECT {}1", "((SELECT ".repeat(n))),
    ("subqueries in sums", |n| format!("SELECT {}(SELECT 1){}", "(".repeat(n), " + 1)".repeat(n))),
    ("types", |n| format!("SELECT a::{}UInt8{}", "Array(".repeat(n), ")".repeat(n))),
    ("column types", |n| format!("CREATE TABLE t (a {}UInt8{})", "Array(".repeat(n), ")".repeat(n))),
    ("joins in parentheses", |n| format!("SELECT 1 FROM {}a{}", "(".repeat(n), " JOIN b ON 1)".repeat(n))),
    ("alternating unions", |n| format!("SELECT 1{}", " UNION ALL SELECT 1 EXCEPT SELECT 1".repeat(n))),
    ("EXPLAIN", |n| format!("{}SELECT 1", "EXPLAIN ".repeat(n))),
    ("EXECUTE AS", |n| format!("{}SELECT 1", "EXECUTE AS u ".repeat(n))),
    ("CTEs", |n| format!("{}SELECT 1{}", "WITH a AS (".repeat(n), ") SELECT 1".repeat(n))),
    ("settings", |n| format!("SET a = {}{}", "[".repeat(n), "]".repeat(n))),
    ("functions in settings", |n| format!("SET a = {}1{}", "f(".repeat(n), ")".repeat(n))),
    ("dictionary sources", |n| {
        format!("CREATE DICTIONARY d (a UInt8) SOURCE(x({}{}))", "k (".repeat(n), ")".repeat(n))
    }),
    ("windows", |n| format!("SELECT {}1{}", "f() OVER (ORDER BY ".repeat(n), ")".repeat(n))),
    ("APPLY", |n| format!("SELECT {}a{}", "COLUMNS(".repeat(n), ")".repeat(n))),
    ("trims", |n| format!("SELECT {}a{}", "trim(".repeat(n), ")".repeat(n))),
    ("EXISTS", |n| format!("SELECT {}1{}", "exists(SELECT ".repeat(n), ")".repeat(n))),
    ("views", |n| format!("SELECT * FROM {}1{}", "view(SELECT * FROM ".repeat(n), ")".repeat(n))),
];

#[test]
fn nesting_meets_its_limit_and_not_the_stack() {
    on_small_stack(|| {
        for (name, nested) in NESTED {
            // With RUST_TEST_NOCAPTURE the last line names what overflowed.
            println!("{name}");
            for depth in [1, 2, 5, 20, 50, 80, 97, 150, 196, 300, 497, 600, 1_500, 20_000] {
                let text = nested(depth);
                // Whatever parses must also be formatted, dumped, compared and dropped.
                for limits in [ParserLimits::default(), unlimited()] {
                    if let Ok(statement) = parse(&text, &limits) {
                        let _ = (format(&statement), dump(&statement), statement == statement.clone());
                        let again = parse(&format_one_line(&statement), &unlimited());
                        assert!(again.is_ok_and(|again| again == statement) || depth > 20, "{name} {depth}");
                    }
                }
                let _ = normalize(&text);
            }
        }
    });
}

#[test]
fn limits_have_clickhouses_codes_and_words() {
    let limits = ParserLimits { max_parser_depth: 100, ..ParserLimits::default() };
    let deep = parse(&format!("SELECT {}1{}", "(".repeat(20), ")".repeat(20)), &limits).expect_err("too deep");
    assert_eq!(deep.code, 306);
    assert_eq!(deep.message, "Maximum parse depth (100) exceeded. Consider rising max_parser_depth parameter.");
    assert_eq!(error(&format!("SELECT {}1{}", "(".repeat(200), ")".repeat(200))).code, 306);
    let deep = error(&format!("SELECT {}a", "a + ".repeat(600)));
    assert_eq!(deep.code, 167);
    assert_eq!(deep.message, "AST is too deep. Maximum: 1000.");
    let long = error(&format!("SELECT '{}'", "a".repeat(300_000)));
    assert_eq!(long.code, 62);
    assert!(long.message.starts_with("Max query size exceeded (can be increased with the `max_query_size` setting): "));
    // Ordinary depths are fine.
    for (name, nested, depth) in
        [("parentheses", NESTED[0].1, 80), ("calls", NESTED[4].1, 80), ("plus", NESTED[8].1, 400)]
    {
        assert!(parse(&nested(depth), &ParserLimits::default()).is_ok(), "{name}");
    }
    assert!(parse(&NESTED[18].1(20), &ParserLimits::default()).is_ok());
}

#[test]
fn long_chains_and_lists_are_linear() {
    on_small_stack(|| {
        let limits = ParserLimits { max_query_size: 0, ..ParserLimits::default() };
        let n = 100_000;
        for text in [
            format!("SELECT {}a", "a AND b = 1 AND ".repeat(n)),
            format!("SELECT {}a", "a OR ".repeat(n)),
            format!("SELECT {}a", "a || ".repeat(n)),
            format!("SELECT {}1", "a, ".repeat(n)),
            format!("SELECT a IN ({}1)", "1, ".repeat(n)),
            format!("SELECT [{}1]", "1, ".repeat(n)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n)),
            format!("SELECT 1 FROM t{}", ", t".repeat(n)),
        ] {
            let statement = parse(&text, &limits).unwrap();
            let formatted = format_one_line(&statement);
            assert_eq!(parse(&formatted, &limits).unwrap(), statement);
            assert!(!dump(&statement).is_empty());
        }
        let many = parse_many(&"SELECT 1;".repeat(n), &limits).unwrap();
        assert_eq!(many.len(), n);
    });
}

#[test]
fn chains_of_between_do_not_double_the_tree() {
    let error = error(&format!("SELECT a{}", " BETWEEN 1 AND 2".repeat(60)));
    assert_eq!(error.code, 168);
}
