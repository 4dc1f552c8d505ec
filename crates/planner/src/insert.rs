//! What an INSERT computes: the columns of the table from those that are inserted, with defaults where a column is left out.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Schema};

use crate::analyzer::{Analyzer, Definitions};
use crate::catalog::{ColumnDescription, DefaultKind, TableMetadata};
use crate::context::PlannerContext;
use crate::expression::Expression;

/// How inserted columns become the table's.
#[derive(Clone, Debug)]
pub struct InsertPlan {
    /// One expression over the inserted columns per column that the table stores, in the table's order.
    pub expressions: Vec<Expression>,
    /// Names and types of these columns.
    pub schema: Arc<Schema>,
}

/// The columns that an INSERT gives, in its order: those in parentheses, or all that can be inserted.
///
/// # Errors
/// `NO_SUCH_COLUMN_IN_TABLE`, `DUPLICATE_COLUMN`, `ILLEGAL_COLUMN` for columns that cannot be inserted.
pub fn insert_columns(
    table: &dyn TableMetadata,
    written: Option<&[ast::Expression]>,
    context: &PlannerContext<'_>,
) -> Result<Vec<usize>> {
    let columns = table.columns();
    let by_default = || {
        let is_given = |column: &ColumnDescription| matches!(kind(column), None | Some(DefaultKind::Default));
        columns.iter().enumerate().filter(move |(_, column)| is_given(column)).map(|(at, _)| at)
    };
    let Some(written) = written else { return Ok(by_default().collect()) };
    let mut positions = Vec::with_capacity(written.len());
    let find = |name: &str| {
        let found = columns.iter().position(|column| &*column.name == name);
        match found.filter(|at| columns.get(*at).and_then(kind) != Some(DefaultKind::Alias)) {
            Some(at) => Ok(at),
            None => Err(Error::new(
                ErrorCode::NO_SUCH_COLUMN_IN_TABLE,
                format!("No such column {name} in table {}.{}", table.database(), table.name()),
            )),
        }
    };
    let analyzer = Analyzer::new(context);
    for expression in written {
        match &expression.kind {
            ast::ExpressionKind::Identifier(parts) => {
                let parts = parts.iter().map(|part| analyzer.identifier(part)).collect::<Result<Vec<_>>>()?;
                positions.push(find(&parts.join("."))?);
            }
            ast::ExpressionKind::Matcher(matcher) => {
                let fields = by_default().filter_map(|at| columns.get(at));
                let schema = Schema::new(fields.map(|column| (column.name.clone(), column.data_type.clone())));
                for name in analyzer.matched_names(matcher, &schema)? {
                    positions.push(find(&name)?);
                }
            }
            _ => {
                return Err(Error::new(
                    ErrorCode::NO_SUCH_COLUMN_IN_TABLE,
                    "The list of columns of an INSERT holds something that is no column",
                ));
            }
        }
    }
    for (at, position) in positions.iter().enumerate() {
        let Some(column) = columns.get(*position) else { continue };
        if positions.iter().take(at).any(|earlier| earlier == position) {
            return Err(Error::new(
                ErrorCode::DUPLICATE_COLUMN,
                format!(
                    "Column {} in table {}.{} specified more than once",
                    column.name,
                    table.database(),
                    table.name()
                ),
            ));
        }
        if kind(column) == Some(DefaultKind::Materialized) && !context.settings.insert_allow_materialized_columns {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Cannot insert column {}, because it is MATERIALIZED column", column.name),
            ));
        }
    }
    Ok(positions)
}

/// How the inserted columns become the table's: those given are converted, as CAST does; those left out get their defaults,
/// which may refer to others. Rows that do not meet the table's
/// constraints fail.
///
/// `inserted` are positions of the table's columns, from [`insert_columns`]; `source` are the columns that come, as many.
///
/// # Errors
/// `NUMBER_OF_COLUMNS_DOESNT_MATCH`, those of the conversions, and `CYCLIC_ALIASES` for defaults in a circle.
pub fn plan_insert(
    table: &dyn TableMetadata,
    inserted: &[usize],
    source: &Schema,
    context: &PlannerContext<'_>,
) -> Result<InsertPlan> {
    let columns = table.columns();
    if inserted.len() != source.len() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH,
            format!("Number of columns doesn't match (source: {} and result: {})", source.len(), inserted.len()),
        ));
    }
    let analyzer = Analyzer::new(context);
    let mut definitions = Definitions::new(&analyzer, columns);
    for (at, (position, (_, data_type))) in inserted.iter().zip(&source.fields).enumerate() {
        definitions.give(*position, at, data_type);
    }
    let mut expressions = Vec::with_capacity(columns.len());
    let mut fields = Vec::with_capacity(columns.len());
    let (constraints, nested) = (table.constraints(), nested_structures(columns));
    for (position, column) in columns.iter().enumerate() {
        if !is_stored(column) {
            continue;
        }
        // The first column that is stored stands for the row.
        let is_checked = expressions.is_empty() && !(constraints.is_empty() && nested.is_empty());
        expressions.push(if is_checked {
            let name = format!("{}.{}", table.database(), table.name());
            definitions.checked(position, &name, constraints, &nested)?
        } else {
            definitions.expression(position)?
        });
        fields.push((column.name.clone(), column.data_type.clone()));
    }
    Ok(InsertPlan { expressions, schema: Arc::new(Schema { fields }) })
}

fn is_stored(column: &ColumnDescription) -> bool {
    !matches!(kind(column), Some(DefaultKind::Alias | DefaultKind::Ephemeral))
}

/// The stored arrays of each nested structure that has several.
fn nested_structures(columns: &[ColumnDescription]) -> Vec<Vec<usize>> {
    let is_array = |column: &ColumnDescription| is_stored(column) && matches!(column.data_type, DataType::Array(_));
    let mut structures: Vec<Vec<usize>> = Vec::new();
    for (position, column) in columns.iter().enumerate().filter(|(_, column)| is_array(column)) {
        let is_own = |structure: &&mut Vec<usize>| {
            structure.first().and_then(|first| columns.get(*first)).is_some_and(|first| first.is_nested_with(column))
        };
        match structures.iter_mut().find(is_own) {
            Some(structure) => structure.push(position),
            None => structures.push(vec![position]),
        }
    }
    structures.retain(|structure| structure.len() > 1);
    structures
}

/// The defaults of some of the columns that are sent, for rows in which they were left out: each by its place among the sent columns, over
/// all of these but itself. Others that were left out may be among them, so a default comes after those that it refers to.
///
/// `sent` are positions of the table's columns, `left_out` are places in `sent`.
///
/// # Errors
/// `CYCLIC_ALIASES` for defaults in a circle, and those of the defaults' expressions.
pub fn plan_defaults(
    columns: &[ColumnDescription],
    sent: &[usize],
    left_out: &[usize],
    context: &PlannerContext<'_>,
) -> Result<Vec<(usize, Expression)>> {
    let analyzer = Analyzer::new(context);
    let mut waiting = Vec::with_capacity(left_out.len());
    for own in left_out {
        let Some(of) = sent.get(*own) else { continue };
        let mut definitions = Definitions::new(&analyzer, columns);
        for (at, position) in sent.iter().enumerate().filter(|(at, _)| at != own) {
            let Some(column) = columns.get(*position) else { continue };
            definitions.give(*position, at, &column.data_type);
        }
        waiting.push((*own, definitions.expression(*of)?));
    }
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let names: Vec<usize> = waiting.iter().map(|(at, _)| *at).collect();
        let (later, ready): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, default)| {
            let mut refers = false;
            default.visit_columns(&mut |column| refers |= names.contains(&column));
            refers
        });
        if ready.is_empty() {
            let name =
                |at: &usize| sent.get(*at).and_then(|position| columns.get(*position)).map(|column| &*column.name);
            let names: Vec<&str> = names.iter().filter_map(name).collect();
            return Err(Error::new(
                ErrorCode::CYCLIC_ALIASES,
                format!("Cyclic alias detected in column DEFAULT expressions of: {}", names.join(", ")),
            ));
        }
        ordered.extend(ready);
        waiting = later;
    }
    Ok(ordered)
}

fn kind(column: &ColumnDescription) -> Option<DefaultKind> {
    column.default.as_ref().map(|default| default.kind)
}
