//! CREATE and ATTACH of databases, tables and views. The catalog's commits wait for the disk, so they run on a thread for that.

use std::borrow::Cow;
use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{
    ColumnDescription, DefaultKind, ForeignKind, MATERIALIZED_VIEW, TableDefinition, Used, is_s3_engine,
    plan_materialized_view, plan_table_definition, plan_view_definition,
};
use squall_sql::ast::{self, CreateMode, CreateSource};
use squall_storage::{Databases, TEMPORARY_DATABASE, TableName, takes_setting};
use squall_types::{DataType, Error, ErrorCode, Result};

use super::show;
use crate::access::{Privilege, Target};
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::insertion::insert;
use crate::query::plan::planning;
use crate::query::source::{executable, foreign};
use crate::query::statement::{identifier, refuse_cluster, stored_table_name, temporary_table_name};
use crate::refresh::check_strategy;
use crate::session::Session;
use crate::system::quote;

/// Runs CREATE DATABASE.
pub(in crate::query) async fn database(session: &Session, statement: &ast::CreateDatabase) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let engine = statement.storage.as_ref().and_then(|storage| storage.engine.as_ref());
    if let Some(engine) = engine
        && !matches!(engine.name.as_str(), "Atomic" | "Ordinary" | "Memory")
    {
        return Err(Error::new(
            ErrorCode::UNKNOWN_DATABASE_ENGINE,
            format!("Unknown database engine: {}", engine.name),
        ));
    }
    if let Some(engine) = engine {
        if !engine.arguments.is_empty() {
            let message = format!("Database engine `{}` cannot have arguments", engine.name);
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let is_allowed = || session.settings.get("allow_deprecated_database_ordinary").as_deref() == Some("1");
        if engine.name == "Ordinary" && !is_allowed() {
            return Err(Error::new(
                ErrorCode::UNKNOWN_DATABASE_ENGINE,
                "Ordinary database engine is deprecated (see also allow_deprecated_database_ordinary setting)",
            ));
        }
    }
    let name = identifier(session, &statement.name)?;
    session.access.check(Privilege::CreateDatabase, &[&name])?;
    if name == TEMPORARY_DATABASE {
        let message = format!("The name {name} stands for tables of sessions");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let (databases, if_not_exists) = (session.server.databases.clone(), statement.if_not_exists);
    if statement.attach {
        run_blocking(move || databases.attach_database(&name, if_not_exists)).await?;
        return Ok(Answer::Done);
    }
    let comment = statement.comment.clone().unwrap_or_default();
    run_blocking(move || databases.create_database(&name, if_not_exists, &comment)).await?;
    Ok(Answer::Done)
}

/// What is attached is a table that was detached, as it is: the parts of another come in by ATTACH PARTITION, or from a backup.
///
/// # Errors
/// `INCORRECT_QUERY` for a definition, as of ClickHouse's Atomic databases; `NOT_IMPLEMENTED` for what would make a table of a folder.
fn check_attach(statement: &ast::CreateTable) -> Result<()> {
    if statement.attach_from.is_some() {
        return Err(Error::not_implemented("ATTACH TABLE … FROM 'path'"));
    }
    if statement.attach_as_replicated.is_some() {
        return Err(Error::not_implemented("ATTACH TABLE … AS [NOT] REPLICATED"));
    }
    if statement.elements.is_none() && statement.storage.is_none() && statement.source.is_none() {
        return Ok(());
    }
    if statement.name.uuid.is_some() {
        return Err(Error::not_implemented("ATTACH TABLE … UUID with a definition"));
    }
    let name = &statement.name.table.value;
    Err(Error::new(
        ErrorCode::INCORRECT_QUERY,
        format!(
            "Incorrect ATTACH TABLE query for Atomic database engine. Use one of the following queries instead: \
             ATTACH TABLE {name}, which takes a detached table back; CREATE TABLE {name} <table definition>"
        ),
    ))
}

/// The settings of a new table's clause that are the query's: those that its engine does not have.
pub(in crate::query) fn settings_of_query<'a>(
    statement: &'a ast::CreateTable,
    session: &Session,
) -> impl Iterator<Item = &'a ast::Setting> {
    let storage = statement.storage.iter();
    storage.flat_map(|storage| storage.settings.iter().filter(|setting| !is_of_engine(storage, setting, session)))
}

/// Whether a setting of a table's clause is kept with the table; what is no setting of queries either is refused there.
fn is_of_engine(storage: &ast::Storage, setting: &ast::Setting, session: &Session) -> bool {
    let engine = storage.engine.as_ref().map_or("MergeTree", |engine| &engine.name);
    takes_setting(engine, &setting.name) || session.settings.get(&setting.name).is_none()
}

/// Runs CREATE TABLE, and the INSERT of its `AS SELECT` or `CLONE AS`.
pub(in crate::query) async fn table(
    session: &Session,
    statement: &ast::CreateTable,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = new_name(session, statement.temporary, &statement.name)?;
    let databases = session.databases_of(&database).clone();
    let if_not_exists = statement.mode == CreateMode::IfNotExists;
    if statement.attach {
        check_attach(statement)?;
        run_blocking(move || databases.attach_table(&database, &table, if_not_exists)).await?;
        return Ok(Answer::Done);
    }
    if if_not_exists && databases.has_table(&database, &table) {
        return Ok(Answer::Done);
    }
    let mut statement = Cow::Borrowed(statement);
    if settings_of_query(&statement, session).next().is_some()
        && let Some(storage) = &mut statement.to_mut().storage
    {
        let own = std::mem::take(&mut storage.settings).into_iter();
        storage.settings = own.filter(|setting| is_of_engine(storage, setting, session)).collect();
    }
    let statement = &*statement;
    let definition = planning::with_planner(session, context, statement, plan_table_definition).await?;
    let takes = |column: &ColumnDescription| {
        let kind = column.default.as_ref().map(|default| default.kind);
        !matches!(kind, Some(DefaultKind::Materialized | DefaultKind::Alias))
    };
    if !definition.columns.is_empty() && !definition.columns.iter().any(takes) {
        let message = "Cannot CREATE table without insertable columns";
        return Err(Error::new(ErrorCode::EMPTY_LIST_OF_COLUMNS_PASSED, message));
    }
    if let engine @ ("Log" | "TinyLog" | "StripeLog") = &*definition.engine
        && definition.columns.iter().any(|column| has_dynamic_structure(&column.data_type))
    {
        let message = format!(
            "Cannot create table with column of type Dynamic or JSON, because storage {engine} doesn't support columns with dynamic structure"
        );
        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    if let engine @ ("Log" | "TinyLog") = &*definition.engine
        && definition.columns.iter().any(|column| column.data_type.has_alternatives())
    {
        let message = format!("Engine {engine} doesn't support Variant data type");
        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    if let Some(format) = squall_storage::format_of_definition(&definition) {
        session.access.check_source(Privilege::File)?;
        session.access.check_target_source(Privilege::File)?;
        squall_formats::check_format(&format)?;
    }
    match &*definition.engine {
        "SQLite" => session.access.check_source(Privilege::Sqlite)?,
        engine if let Some(kind) = ForeignKind::of_engine(engine) => {
            session.access.check_source(kind.into())?;
            session.access.check_target_source(kind.into())?;
            foreign::check(session, kind, &definition)?;
        }
        engine if is_s3_engine(engine) => {
            session.access.check_source(Privilege::S3)?;
            session.access.check_target_source(Privilege::S3)?;
        }
        "Executable" => executable::check_settings(&definition.settings)?,
        _ => {}
    }
    let cloned;
    let fill = match &statement.source {
        Some(CreateSource::Query(query)) if !statement.empty => Some(&**query),
        Some(CreateSource::Clone(name)) => {
            let (database, table) = stored_table_name(session, name)?;
            cloned = show::query(&format!("SELECT * FROM {}.{}", quote(&database), quote(&table)))?;
            Some(&cloned)
        }
        _ => None,
    };
    make(session, statement.mode, &database, &table, definition.into(), fill, context).await
}

/// Runs CREATE VIEW.
pub(in crate::query) async fn view(
    session: &Session,
    statement: &ast::CreateView,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, view) = new_name(session, statement.temporary, &statement.name)?;
    let databases = session.databases_of(&database).clone();
    if statement.attach {
        let is_new = statement.query.is_some() || statement.elements.is_some();
        if is_new {
            return Err(Error::not_implemented("ATTACH VIEW with a definition"));
        }
        let if_not_exists = statement.mode == CreateMode::IfNotExists;
        run_blocking(move || databases.attach_table(&database, &view, if_not_exists)).await?;
        return Ok(Answer::Done);
    }
    if statement.mode == CreateMode::IfNotExists && databases.has_table(&database, &view) {
        return Ok(Answer::Done);
    }
    if statement.kind != ast::ViewKind::Materialized {
        let definition = planning::with_planner(session, context, statement, plan_view_definition).await?;
        return make(session, statement.mode, &database, &view, definition.into(), None, context).await;
    }
    check_definer(session, statement)?;
    if let Some(strategy) = &statement.refresh {
        check_strategy(strategy)?;
    }
    let (definition, inner) = planning::with_planner(session, context, statement, plan_materialized_view).await?;
    if let (Some(to), None) = (&statement.to, &inner) {
        let (database, table) = stored_table_name(session, to)?;
        session.access.check(Privilege::Insert, &[&database, &table])?;
    }
    let fill = statement.query.as_deref().filter(|_| statement.populate);
    make(session, statement.mode, &database, &view, New { definition, inner }, fill, context).await
}

/// Whether the session may have a view run in another's name.
fn check_definer(session: &Session, statement: &ast::CreateView) -> Result<()> {
    if statement.security == Some(ast::SqlSecurity::None) {
        return session.access.check(Privilege::AllowSqlSecurityNone, &[]);
    }
    match &statement.definer {
        Some(ast::Definer::User(user)) if **user != *session.access.name => {
            session.access.check_target(&Target::new(&[user]), Privilege::SetDefiner.set())?;
            session.acting_as(user).map(drop)
        }
        _ => Ok(()),
    }
}

/// A table that is to be made, and the one for the rows of a materialized view.
struct New {
    definition: TableDefinition,
    inner: Option<TableDefinition>,
}

impl From<TableDefinition> for New {
    fn from(definition: TableDefinition) -> Self {
        Self { definition, inner: None }
    }
}

impl New {
    fn create(self, databases: &Databases, name: &TableName, if_not_exists: bool) -> Result<()> {
        let Self { definition, inner } = self;
        if &*definition.engine == MATERIALIZED_VIEW {
            return databases.create_materialized_view(name, definition, inner, if_not_exists);
        }
        databases.create_table(&name.database, &name.table, definition, if_not_exists)
    }
}

/// The names of a table that is to be made.
fn new_name(session: &Session, is_temporary: bool, name: &ast::TableName) -> Result<(String, String)> {
    if is_temporary { temporary_table_name(session, name) } else { stored_table_name(session, name) }
}

/// Makes a table of a definition, in the place of another where it replaces one, and fills it.
async fn make(
    session: &Session,
    mode: CreateMode,
    database: &str,
    table: &str,
    new: New,
    fill: Option<&ast::Query>,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let databases = session.databases_of(database).clone();
    context.note_uses(|uses| {
        uses.note(Used::Table(database, table));
        uses.note(Used::Storage(&new.definition.engine));
        new.definition.columns.iter().for_each(|column| uses.note(Used::DataType(&column.data_type)));
    });
    if database == TEMPORARY_DATABASE && mode == CreateMode::Create && databases.has_table(database, table) {
        let message = format!("Temporary table {table} already exists");
        return Err(Error::new(ErrorCode::TABLE_ALREADY_EXISTS, message));
    }
    if mode == CreateMode::Replace {
        databases.table(database, table)?;
    }
    if matches!(mode, CreateMode::CreateOrReplace | CreateMode::Replace) {
        // The new table is made beside the old one, filled, and takes its place at once.
        let beside = format!(".tmp_replace_{}", uuid::Uuid::new_v4().simple());
        let (name, of) = (TableName::new(database, beside.as_str()), databases.clone());
        run_blocking(move || new.create(&of, &name, false)).await?;
        let filled = match fill {
            Some(query) => insert::select_into(session, database, &beside, None, query, context).await,
            None => Ok(()),
        };
        let (database, table) = (database.to_owned(), table.to_owned());
        run_blocking(move || {
            let (new, old) =
                (TableName::new(database.as_str(), beside.as_str()), TableName::new(database.as_str(), table.as_str()));
            if filled.is_ok() {
                if databases.has_table(&database, &table) {
                    databases.exchange_tables(&new, &old)?;
                } else {
                    return databases.rename_table(&new, &old);
                }
            }
            databases.drop_table(&database, &beside, true)?;
            filled
        })
        .await?;
        return Ok(Answer::Done);
    }
    let (name, of) = (TableName::new(database, table), databases.clone());
    let if_not_exists = mode == CreateMode::IfNotExists;
    run_blocking(move || new.create(&of, &name, if_not_exists)).await?;
    if let Some(query) = fill {
        insert::select_into(session, database, table, None, query, context).await?;
    }
    Ok(Answer::Done)
}

/// Whether `Dynamic` or `JSON` is somewhere in a type.
fn has_dynamic_structure(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dynamic(_) | DataType::Json(_) => true,
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => {
            has_dynamic_structure(inner)
        }
        DataType::Map(key, value) => has_dynamic_structure(key) || has_dynamic_structure(value),
        DataType::Tuple(elements) => elements.iter().any(|element| has_dynamic_structure(&element.data_type)),
        DataType::Variant(alternatives) => alternatives.iter().any(has_dynamic_structure),
        _ => false,
    }
}
