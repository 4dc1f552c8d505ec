//! Names, types and errors of queries, compared with ClickHouse's own: `data/analyzer.tsv` is made by `data/generate.py` from
//! `data/queries.sql`.

use crate::support::World;

/// One query with what ClickHouse says of it.
struct Case<'a> {
    query: &'a str,
    /// `names`, `types`, or `error` with its code and message.
    expected: Vec<&'a str>,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let query = fields.next()?;
            Some(Case { query, expected: fields.collect() })
        })
        .collect()
}

/// Lists in the file are separated by U+001F, and what would break a line is escaped.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

#[test]
fn queries_have_clickhouse_s_names_types_and_errors() {
    let world = World::new();
    let text = include_str!("../data/analyzer.tsv");
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases(text) {
        count += 1;
        let actual: Vec<String> = match world.analyze(case.query) {
            Ok(plan) => {
                let optimized = world.plan(case.query);
                match &optimized {
                    Ok(optimized) if optimized.schema() == plan.schema() => {}
                    other => wrong.push(format!("{}\n  optimized: {other:?}", case.query)),
                }
                let names: Vec<String> = plan.schema().names().map(escape).collect();
                let types: Vec<String> =
                    plan.schema().types().map(|data_type| escape(&data_type.to_string())).collect();
                vec![names.join("\u{1f}"), types.join("\u{1f}")]
            }
            Err(error) => vec!["error".into(), error.code.0.to_string(), escape(&error.message)],
        };
        let is_same = match &case.expected[..] {
            // A code alone is a promise of less: where the message has parts that are ClickHouse's inner matter.
            ["error", code] => actual[..2] == ["error".to_owned(), (*code).to_owned()],
            expected => actual == *expected,
        };
        if !is_same {
            wrong.push(format!(
                "{}\n  expected {}\n  actual   {}",
                case.query,
                case.expected.join(" | "),
                actual.join(" | ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} queries differ:\n{}", wrong.len(), wrong.join("\n"));
}
