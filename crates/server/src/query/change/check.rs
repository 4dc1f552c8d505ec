//! CHECK TABLE: every part is read and its checksums compared. CHECK GRANT: whether something may be done.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, CheckTarget};
use squall_storage::PartSelection;
use squall_types::{Column, DataType, Result, Value};

use super::alter;
use crate::access::grant;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::definition::describe;
use crate::query::statement::{identifier, table_name};
use crate::session::Session;

/// A part that was read.
struct Checked {
    database: String,
    table: String,
    part: Arc<str>,
    result: Result<()>,
}

/// Runs CHECK.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::Check,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let databases = session.server.databases.clone();
    let (tables, selection, is_one) = match &statement.target {
        CheckTarget::Table { table, partition } => {
            let (database, table) = table_name(session, table)?;
            let selection = match partition {
                Some(selector) => alter::selection(session, &database, &table, selector, context).await?,
                None => PartSelection::All,
            };
            (vec![(database, table)], selection, true)
        }
        CheckTarget::Database(name) => {
            let name = identifier(session, name)?;
            (tables_of(session, &name)?, PartSelection::All, false)
        }
        CheckTarget::AllTables => {
            let mut tables = Vec::new();
            for database in databases.databases() {
                tables.extend(tables_of(session, &database.name)?);
            }
            (tables, PartSelection::All, false)
        }
        CheckTarget::Grant(privileges) => {
            let asked = grant::parse(privileges, &session.database)?;
            let has_all = asked.iter().all(|(target, set)| session.access.check_target(target, *set).is_ok());
            return one_number("result", has_all);
        }
    };
    let checked = run_blocking(move || {
        let mut checked = Vec::new();
        for (database, table) in tables {
            for (part, result) in databases.check_parts(&database, &table, &selection)? {
                checked.push(Checked { database: database.clone(), table: table.clone(), part, result });
            }
        }
        Ok(checked)
    })
    .await?;
    if is_one && session.settings.check_query_single_value_result {
        let is_sound = checked.iter().all(|part| part.result.is_ok());
        return one_number("result", is_sound);
    }
    let strings = |of: &dyn Fn(&Checked) -> String| Column::from_strings(checked.iter().map(of));
    let passed = checked.iter().map(|part| u8::from(part.result.is_ok())).collect();
    let passed = Column::from_primitive::<arrow_array::types::UInt8Type>(DataType::UInt8, passed);
    let message =
        |part: &Checked| part.result.as_ref().err().map_or_else(String::new, |error| error.message.to_string());
    let mut columns = Vec::new();
    if !is_one {
        columns.push(("database", strings(&|part| part.database.clone())));
        columns.push(("table", strings(&|part| part.table.clone())));
    }
    columns.push(("part_path", strings(&|part| part.part.to_string())));
    columns.push(("is_passed", passed));
    columns.push(("message", strings(&message)));
    describe::answer(columns)
}

fn one_number(name: &str, value: bool) -> Result<Answer> {
    describe::answer([(name, Column::constant(DataType::UInt8, &Value::UInt64(value.into()), 1)?)])
}

fn tables_of(session: &Session, database: &str) -> Result<Vec<(String, String)>> {
    let tables = session.server.databases.tables(database)?;
    Ok(tables.into_iter().map(|table| (database.to_owned(), table.table.name().to_owned())).collect())
}
