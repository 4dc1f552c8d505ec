//! DESCRIBE and EXISTS.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{Catalog, ColumnDescription, TableMetadata, describe_query, describe_table_function};
use squall_sql::ast::{self, DescribeTarget, DescribedObject};
use squall_storage::{TEMPORARY_DATABASE, TableHandle};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Value};

use super::catalog::QueryCatalog;
use super::statement::{identifier, stored_table_name, table_name, temporary_table_name};
use super::{Answer, planning, show};
use crate::access::Privilege;
use crate::session::Session;
use crate::system::{default_expression, default_kind, quote};

/// A result of one block.
pub(super) fn answer<'a>(columns: impl IntoIterator<Item = (&'a str, Column)>) -> Result<Answer> {
    let block = Block::from_columns(columns)?;
    let schema = block.schema().clone();
    Ok(Answer::Blocks(vec![block], schema))
}

/// Runs DESCRIBE.
pub(super) async fn describe(
    session: &Session,
    statement: &ast::Describe,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let columns = match &statement.target {
        DescribeTarget::Table(name) if is_file(session, name)? => {
            let query = show::query(&format!("SELECT * FROM {}", quote(&identifier(session, &name.table)?)))?;
            columns_of(&*planning::with_planner(session, context, &query, describe_query).await?)
        }
        DescribeTarget::Table(name) => {
            let (database, table) = table_name(session, name)?;
            session.access.check_show_columns(&database, &table)?;
            let table = if database == TEMPORARY_DATABASE {
                let own: Arc<dyn TableMetadata> =
                    Arc::new(TableHandle(session.databases_of(&database).table(&database, &table)?));
                own
            } else {
                QueryCatalog::new(session).table(Some(&database), &table)?
            };
            if table.view_query().is_some() && table.columns().is_empty() {
                return Err(Error::new(
                    ErrorCode::UNSUPPORTED_METHOD,
                    "Cannot infer table schema for the parameterized view when no query parameters are provided",
                ));
            }
            table.columns().to_vec()
        }
        DescribeTarget::Query(query) => {
            columns_of(&*planning::with_planner(session, context, &**query, describe_query).await?)
        }
        DescribeTarget::Function(function) => {
            columns_of(&*planning::with_planner(session, context, function, describe_table_function).await?)
        }
        DescribeTarget::FilesystemCache(_) => return Err(Error::not_implemented("DESCRIBE FILESYSTEM CACHE")),
    };
    let strings = |of: &dyn Fn(&ColumnDescription) -> String| Column::from_strings(columns.iter().map(of));
    let nothing = || Column::constant(DataType::String, &Value::string(""), columns.len());
    answer([
        ("name", strings(&|column| column.name.to_string())),
        ("type", strings(&|column| column.data_type.to_string())),
        ("default_type", strings(&|column| default_kind(column).to_owned())),
        ("default_expression", strings(&|column| default_expression(column).to_owned())),
        ("comment", strings(&|column| column.comment.to_string())),
        ("codec_expression", strings(&|column| column.codec.as_deref().unwrap_or_default().to_owned())),
        ("ttl_expression", nothing()?),
    ])
}

/// Whether a name means a file, since no table has it.
fn is_file(session: &Session, name: &ast::TableName) -> Result<bool> {
    let is_table = |table: &str| session.server.databases.has_table(&session.database, table);
    Ok(session.server.is_local() && name.database.is_none() && !is_table(&identifier(session, &name.table)?))
}

fn columns_of(schema: &Schema) -> Vec<ColumnDescription> {
    let described = schema.fields.iter().map(|(name, data_type)| ColumnDescription {
        name: name.clone(),
        data_type: data_type.clone(),
        default: None,
        comment: "".into(),
        codec: None,
    });
    described.collect()
}

/// Runs EXISTS.
pub(super) fn exists(session: &Session, statement: &ast::Exists) -> Result<Answer> {
    let (databases, access) = (&session.server.databases, &session.access);
    let exists = match statement.kind {
        _ if statement.temporary => {
            let (_, table) = temporary_table_name(session, &statement.name)?;
            session.temporary_tables.has(&table)
        }
        DescribedObject::Database => {
            let database = identifier(session, &statement.name.table)?;
            access.check_database(&database)?;
            databases.has_database(&database)
        }
        DescribedObject::Table | DescribedObject::View => {
            let (database, table) = stored_table_name(session, &statement.name)?;
            if !access.may_show_table(&database, &table) {
                access.check(Privilege::ShowTables, &[&database, &table])?;
            }
            let found = databases.table(&database, &table).ok();
            found.is_some_and(|table| statement.kind == DescribedObject::Table || table.view_query().is_some())
        }
        DescribedObject::Dictionary => {
            let (database, name) = table_name(session, &statement.name)?;
            access.check(Privilege::ShowDictionaries, &[&database, &name])?;
            databases.dictionary(&database, &name).is_some()
        }
    };
    answer([("result", Column::constant(DataType::UInt8, &Value::UInt64(exists.into()), 1)?)])
}
