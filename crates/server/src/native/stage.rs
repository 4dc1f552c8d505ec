//! Queries of which another server wants less than their end: it asks several servers, and merges what they answer. What it wants are the
//! columns before they get their names in the result, those of `ORDER BY` among them, each under the name that ClickHouse's servers give
//! to an expression. Groups would need the states of aggregate functions; queries with them are refused.

use squall_functions::aggregate_exists;
use squall_sql::ast::{Expression, ExpressionKind, Function, Identifier, Limit, Literal, QueryBody, Select, Statement};
use squall_sql::{ParserLimits, format_one_line, parse};
use squall_types::{Error, Result};

/// `WithMergeableStateAfterAggregationAndLimit`: each server applies the limit to its own rows.
const AFTER_LIMIT: u64 = 4;

/// The query whose whole result is what `text` gives up to a stage.
///
/// # Errors
/// `NOT_IMPLEMENTED` for what servers would have to merge.
pub fn query_of_stage(text: &[u8], stage: u64, limits: &ParserLimits) -> Result<Vec<u8>> {
    let refused = || {
        Error::not_implemented(format_args!(
            "Processing of a query with groups, windows or ties up to stage {stage}, as another server asks for it,"
        ))
    };
    let Ok(Statement::Query(mut query)) = parse(text, limits) else { return Err(refused()) };
    let QueryBody::Select(select) = &mut query.body else { return Err(refused()) };
    cut(select, stage).ok_or_else(refused)?;
    Ok(format_one_line(&Statement::Query(query)).into_bytes())
}

/// Takes out of a SELECT what the asking server does itself.
fn cut(select: &mut Select, stage: u64) -> Option<()> {
    let is_merged = select.group_by.is_some()
        || select.with_totals
        || select.having.is_some()
        || !select.windows.is_empty()
        || select.qualify.is_some()
        || select.limit.as_ref().is_some_and(|limit| limit.with_ties);
    if is_merged {
        return None;
    }
    let mut columns: Vec<Expression> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let keys = select.order_by.iter().flat_map(|order| &order.items);
    if select.order_by.as_ref().is_some_and(|order| order.all || order.interpolate.is_some())
        || keys.clone().any(|key| key.fill.is_some())
    {
        return None;
    }
    for expression in select.projection.iter().chain(keys.map(|key| &key.expression)) {
        let name = name_between_servers(expression)?;
        if !names.contains(&name) {
            let alias = Some(Box::new(Identifier::new(&name)));
            columns.push(Expression { alias, ..expression.clone() });
            names.push(name);
        }
    }
    select.projection = columns;
    select.limit_by = None;
    select.limit = match select.limit.take() {
        // The rows that are skipped are skipped once, of all servers' together.
        Some(Limit { count: Some(count), offset, .. }) if stage == AFTER_LIMIT => {
            let count = match offset {
                Some(offset) => {
                    let sum = Function::new("plus", vec![count, offset]);
                    Expression::new(ExpressionKind::Function(Box::new(sum)), select.span)
                }
                None => count,
            };
            Some(Limit { count: Some(count), offset: None, with_ties: false })
        }
        _ => None,
    };
    Some(())
}

/// What ClickHouse's servers call an expression among themselves; `None` for one that this does not know.
fn name_between_servers(expression: &Expression) -> Option<String> {
    match &expression.kind {
        ExpressionKind::Identifier(parts) => {
            let parts: Vec<&str> =
                parts.iter().filter(|part| !part.parameter).map(|part| part.value.as_str()).collect();
            Some(parts.join("."))
        }
        ExpressionKind::Function(call) => {
            let is_plain = call.parameters.is_none() && call.over.is_none() && call.nulls.is_none();
            if !is_plain || aggregate_exists(&call.name) || call.name.starts_with('_') {
                return None;
            }
            let arguments = call.arguments.iter().map(name_between_servers).collect::<Option<Vec<_>>>()?;
            Some(format!("{}({})", call.name, arguments.join(", ")))
        }
        ExpressionKind::Literal(literal) => Some(match literal {
            Literal::UInt64(number) => match number {
                0..=0xFF => format!("{number}_UInt8"),
                0x100..=0xFFFF => format!("{number}_UInt16"),
                0x1_0000..=0xFFFF_FFFF => format!("{number}_UInt32"),
                _ => format!("{number}_UInt64"),
            },
            Literal::String(text) => {
                let text = std::str::from_utf8(text).ok().filter(|text| !text.contains(['\'', '\\']))?;
                format!("'{text}'_String")
            }
            _ => return None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_text(text: &str, stage: u64) -> Result<String> {
        let limits = ParserLimits::default();
        query_of_stage(text.as_bytes(), stage, &limits).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_query_gives_what_the_asking_server_reads() {
        let text = "SELECT `__table1`.`b` AS `b` FROM `d`.`t` AS `__table1` ORDER BY `__table1`.`a` + 1 ASC LIMIT 1, 2";
        assert_eq!(
            cut_text(text, 4).unwrap(),
            "SELECT __table1.b AS `__table1.b`, __table1.a + 1 AS `plus(__table1.a, 1_UInt8)` FROM d.t AS __table1 \
             ORDER BY __table1.a + 1 ASC LIMIT plus(2, 1)"
        );
        assert!(!cut_text(text, 1).unwrap().contains("LIMIT"));
    }

    #[test]
    fn what_would_have_to_be_merged_is_refused() {
        for text in [
            "SELECT count() FROM t",
            "SELECT a FROM t GROUP BY a",
            "SELECT row_number() OVER () FROM t",
            "SELECT a FROM t UNION ALL SELECT a FROM t",
            "SELECT a FROM t ORDER BY a LIMIT 1 WITH TIES",
            "INSERT INTO t VALUES (1)",
        ] {
            assert!(cut_text(text, 4).is_err(), "{text}");
        }
    }
}
