//! What a mutation makes of rows: its commands as queries over the rows of a piece of a table.

use squall_planner::{ColumnDescription, DefaultKind};
use squall_sql::ast::{self, AlterCommand, Assignment, PartitionSelector};
use squall_types::{Error, ErrorCode, Result, Value};

use crate::query::definition::show;

/// The name under which a mutation's query reads the rows that it rewrites.
pub(in crate::query) const ROWS: &str = "_rows_to_rewrite";

/// What a command makes of rows.
pub(in crate::query) struct Mutated {
    /// The partition that it is about.
    pub(in crate::query) partition: Option<PartitionSelector>,
    /// Which rows it is about; all where there is none.
    pub(in crate::query) filter: Option<ast::Expression>,
    /// New values; none where the rows go.
    pub(in crate::query) assignments: Option<Vec<Assignment>>,
}

/// What a command makes of rows; `None` where it does nothing with them.
///
/// # Errors
/// `NOT_FOUND_COLUMN_IN_BLOCK`, `BAD_ARGUMENTS`.
pub(in crate::query) fn mutated(command: &AlterCommand, columns: &[ColumnDescription]) -> Result<Option<Mutated>> {
    let find = |name: &str| columns.iter().find(|column| *column.name == *name);
    Ok(Some(match command {
        AlterCommand::Delete { partition, filter } => {
            Mutated { partition: partition.clone(), filter: Some(filter.clone()), assignments: None }
        }
        AlterCommand::Update { assignments, partition, filter } => Mutated {
            partition: partition.clone(),
            filter: Some(filter.clone()),
            assignments: Some(assignments.clone()),
        },
        AlterCommand::ClearColumn { if_exists, column, partition: Some(partition) } => {
            let name = &column.value;
            let Some(known) = find(name) else {
                if *if_exists {
                    return Ok(None);
                }
                let message = format!("Wrong column name. Cannot find column `{name}` to clear");
                return Err(Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
            };
            let expression = match &known.default {
                Some(default) => parse(&default.expression)?,
                None => parse(&format!("defaultValueOfTypeName({})", literal(known)))?,
            };
            let assignment = Assignment { column: name.clone(), expression };
            Mutated { partition: Some(partition.clone()), filter: None, assignments: Some(vec![assignment]) }
        }
        AlterCommand::MaterializeColumn { column, partition } => {
            let name = &column.value;
            let Some(known) = find(name) else {
                let message = format!("Wrong column name. Cannot find column `{name}` to materialize");
                return Err(Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
            };
            let Some(default) = &known.default else {
                let message = format!("Cannot materialize column `{name}`: it has no default expression");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            };
            // Rows keep the value of a DEFAULT that they were given.
            let expression = match default.kind {
                DefaultKind::Default => ast::Expression::identifier(name.clone()),
                DefaultKind::Materialized | DefaultKind::Alias | DefaultKind::Ephemeral => parse(&default.expression)?,
            };
            let assignment = Assignment { column: name.clone(), expression };
            Mutated { partition: partition.clone(), filter: None, assignments: Some(vec![assignment]) }
        }
        // What was updated is so in the parts already.
        _ => return Ok(None),
    }))
}

/// Whether a column may have new values.
///
/// # Errors
/// `NO_SUCH_COLUMN_IN_TABLE`, `CANNOT_UPDATE_COLUMN`.
pub(in crate::query) fn check_assignment(
    assignment: &Assignment,
    columns: &[ColumnDescription],
    keys: &[String],
    is_checked: bool,
) -> Result<()> {
    let name = &assignment.column;
    let Some(column) = columns.iter().find(|column| *column.name == **name) else {
        let message = format!("There is no column {name} in table");
        return Err(Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message));
    };
    if keys.iter().any(|key| key == name) {
        let message = format!("Cannot UPDATE key column `{name}`");
        return Err(Error::new(ErrorCode::CANNOT_UPDATE_COLUMN, message));
    }
    let kind = column.default.as_ref().map(|default| default.kind);
    match kind {
        Some(DefaultKind::Alias | DefaultKind::Ephemeral) => {
            let message = format!("Cannot UPDATE column `{name}`, which is not stored");
            Err(Error::new(ErrorCode::CANNOT_UPDATE_COLUMN, message))
        }
        Some(DefaultKind::Materialized) if is_checked => {
            let message = format!("Cannot UPDATE materialized column `{name}`");
            Err(Error::new(ErrorCode::CANNOT_UPDATE_COLUMN, message))
        }
        _ => Ok(()),
    }
}

fn parse(sql: &str) -> Result<ast::Expression> {
    squall_sql::parse_expression(sql, &squall_sql::ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))
}

/// The name of a column's type in quotes.
fn literal(column: &ColumnDescription) -> String {
    Value::string(column.data_type.to_string()).to_string()
}

pub(in crate::query) fn quoted(name: &str) -> String {
    squall_sql::format_expression(&ast::Expression::identifier(name))
}

/// A condition under which NULL is no.
fn condition(filter: &ast::Expression) -> String {
    format!("ifNull({}, 0) != 0", squall_sql::format_expression(filter))
}

/// The columns that parts have.
pub(in crate::query) fn stored_columns(columns: &[ColumnDescription]) -> Vec<&ColumnDescription> {
    let is_stored = |column: &&ColumnDescription| {
        let kind = column.default.as_ref().map(|default| default.kind);
        !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Ephemeral))
    };
    columns.iter().filter(is_stored).collect()
}

/// The query over the rows of a piece that gives what stands for them: all stored columns in their order.
pub(in crate::query) fn query(mutation: &Mutated, columns: &[ColumnDescription], table: &str) -> Result<ast::Query> {
    let stored = stored_columns(columns);
    let from = format!("FROM {ROWS} AS {}", quoted(table));
    let Some(assignments) = &mutation.assignments else {
        let names: Vec<String> = stored.iter().map(|column| quoted(&column.name)).collect();
        let kept =
            mutation.filter.as_ref().map_or_else(|| "0".to_owned(), |filter| format!("NOT ({})", condition(filter)));
        return show::query(&format!("SELECT {} {from} WHERE {kept}", names.join(", ")));
    };
    let of = |name: &str| assignments.iter().find(|assignment| *assignment.column == *name);
    let value = |column: &&ColumnDescription| {
        let name = quoted(&column.name);
        let Some(assignment) = of(&column.name) else { return name };
        let data_type = literal(column);
        let new = format!("CAST({}, {data_type})", squall_sql::format_expression(&assignment.expression));
        match &mutation.filter {
            Some(filter) => {
                format!("CAST(if({}, {new}, {name}), {data_type}) AS {}", condition(filter), unused(column))
            }
            None => format!("{new} AS {}", unused(column)),
        }
    };
    // Under names of their own: an alias must not be what another column's new value refers to.
    let values: Vec<String> = stored.iter().map(value).collect();
    // Columns that are computed of changed ones follow them.
    let depends = |column: &&&ColumnDescription| {
        let default = column.default.as_ref().filter(|default| default.kind == DefaultKind::Materialized);
        default.is_some_and(|default| {
            of(&column.name).is_none()
                && assignments
                    .iter()
                    .any(|assignment| squall_planner::names_column(&default.expression, &assignment.column))
        })
    };
    if !stored.iter().any(|column| depends(&column)) {
        return show::query(&format!("SELECT {} {from}", values.join(", ")));
    }
    let renamed = stored.iter().map(|column| match of(&column.name) {
        Some(_) => format!("{} AS {}", unused(column), quoted(&column.name)),
        None => quoted(&column.name),
    });
    let last = stored.iter().map(|column| match depends(&column) {
        true => {
            let default = column.default.as_ref().map_or("", |default| &*default.expression);
            format!("CAST({default}, {})", literal(column))
        }
        false => quoted(&column.name),
    });
    show::query(&format!(
        "SELECT {} FROM (SELECT {} FROM (SELECT {} {from}))",
        last.collect::<Vec<_>>().join(", "),
        renamed.collect::<Vec<_>>().join(", "),
        values.join(", ")
    ))
}

/// A name for a column's new value.
fn unused(column: &ColumnDescription) -> String {
    quoted(&format!("_new_{}", column.name))
}

/// A query that gives a row where a piece has one that is to change.
pub(in crate::query) fn probe(filter: &ast::Expression, table: &str) -> Result<ast::Query> {
    let filter = squall_sql::format_expression(filter);
    show::query(&format!("SELECT 1 FROM {ROWS} AS {} WHERE {filter} LIMIT 1", quoted(table)))
}
