//! Which statement is run by whom, and the statements that only touch the session.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::Plan;
use squall_sql::ast::{self, DropAction, ObjectKind, SettingValue, Statement};
use squall_storage::TEMPORARY_DATABASE;
use squall_types::settings::SettingType;
use squall_types::{Error, ErrorCode, Result, Settings};

use super::Answer;
use super::change::alter;
use super::change::check;
use super::change::mutation;
use super::change::optimize;
use super::control::backup;
use super::control::execute_as;
use super::control::explain;
use super::control::kill;
use super::control::parallel;
use super::control::system_command;
use super::control::system_command::run_blocking;
use super::definition::access;
use super::definition::create;
use super::definition::describe;
use super::definition::dictionary;
use super::definition::drop;
use super::definition::object;
use super::definition::rename;
use super::definition::required;
use super::definition::show;
use super::insertion::insert;
use super::plan::cache::Parsed;
use super::plan::planning;
use super::plan::query_cache;
use crate::access::definition::literal_text;
use crate::process::QueryKind;
use crate::session::Session;

/// What kind of statement this is, in the query log's words.
pub(super) fn kind(statement: &Statement) -> QueryKind {
    match statement {
        Statement::Query(_) => QueryKind::Select,
        Statement::Insert(_) => QueryKind::Insert,
        Statement::CreateDatabase(_)
        | Statement::CreateTable(_)
        | Statement::CreateView(_)
        | Statement::CreateDictionary(_)
        | Statement::CreateFunction(_)
        | Statement::CreateIndex(_)
        | Statement::CreateNamedCollection(_)
        | Statement::CreateWorkload(_)
        | Statement::CreateResource(_) => QueryKind::Create,
        Statement::AlterTable(_) | Statement::AlterDatabase(_) | Statement::AlterNamedCollection(_) => QueryKind::Alter,
        Statement::Drop(_) | Statement::DropObject(_) => QueryKind::Drop,
        Statement::Rename(_) => QueryKind::Rename,
        Statement::Set(_) | Statement::SetRole(_) => QueryKind::Set,
        Statement::Use(_) => QueryKind::Use,
        Statement::Show(_) => QueryKind::Show,
        Statement::Exists(_) => QueryKind::Exists,
        Statement::Describe(_) => QueryKind::Describe,
        Statement::Explain(_) => QueryKind::Explain,
        Statement::Kill(_) => QueryKind::KillQuery,
        Statement::System(_) => QueryKind::System,
        Statement::Optimize(_) => QueryKind::Optimize,
        Statement::Check(_) => QueryKind::Check,
        Statement::ExecuteAs(execute) => execute.statement.as_deref().map_or(QueryKind::Set, kind),
        _ => QueryKind::Other,
    }
}

/// Runs a statement up to its first row.
///
/// # Errors
/// The statement's own; `NOT_IMPLEMENTED` for what is not there yet.
pub(super) async fn run(session: &mut Session, parsed: &Arc<Parsed>, context: &Arc<QueryContext>) -> Result<Answer> {
    match &*parsed.statement {
        Statement::Query(query) => select(session, parsed, query, context).await,
        // Kept apart, so that the many SELECTs do not carry room for what only others need: a future is moved several times.
        _ => Box::pin(run_other(session, parsed, context)).await,
    }
}

async fn run_other(session: &mut Session, parsed: &Arc<Parsed>, context: &Arc<QueryContext>) -> Result<Answer> {
    required::check(session, &parsed.statement)?;
    match &*parsed.statement {
        Statement::Insert(statement) => insert::run(session, parsed, statement, context).await,
        Statement::Explain(statement) => explain::run(session, statement, context).await,
        Statement::Show(statement) => show::run(session, statement, context).await,
        Statement::Describe(statement) => describe::describe(session, statement, context).await,
        Statement::Exists(statement) => describe::exists(session, statement),
        Statement::Use(statement) => {
            session.use_database(&identifier(session, &statement.database)?)?;
            Ok(Answer::Done)
        }
        Statement::Set(statement) => {
            set(session, statement)?;
            Ok(Answer::Done)
        }
        Statement::SetRole(statement) => access::set_role(session, statement).await,
        Statement::AccessEntity(statement) => access::define(session, statement).await,
        Statement::DropAccessEntity(statement) => access::drop(session, statement).await,
        Statement::MoveAccessEntity(statement) => access::move_entities(session, statement),
        Statement::Grant(statement) => access::grant(session, statement).await,
        Statement::CreateDatabase(statement) => create::database(session, statement).await,
        Statement::CreateTable(statement) => create::table(session, statement, context).await,
        Statement::CreateView(statement) => create::view(session, statement, context).await,
        Statement::CreateDictionary(statement) => dictionary::create(session, statement, context).await,
        Statement::CreateFunction(statement) => object::create_function(session, statement).await,
        Statement::CreateNamedCollection(statement) => object::create_collection(session, statement).await,
        Statement::AlterNamedCollection(statement) => object::alter_collection(session, statement).await,
        Statement::CreateIndex(statement) => alter::create_index(session, statement, context).await,
        Statement::DropObject(statement) if statement.kind == ObjectKind::Index => {
            alter::drop_index(session, statement, context).await
        }
        Statement::DropObject(statement) => object::drop(session, statement).await,
        Statement::Drop(statement) => drop::drop(session, statement).await,
        Statement::Rename(statement) => rename::rename(session, statement).await,
        Statement::Kill(statement) => kill::run(session, statement, context).await,
        Statement::System(statement) => system_command::run(session, statement, context).await,
        Statement::Optimize(statement) => optimize::run(session, statement, context).await,
        Statement::AlterTable(statement) => alter::run(session, statement, context).await,
        Statement::Delete(statement) => mutation::delete(session, statement, context).await,
        Statement::Update(statement) => mutation::update(session, statement, context).await,
        Statement::Backup(statement) => backup::run(session, statement, context).await,
        Statement::Check(statement) => check::run(session, statement, context).await,
        Statement::Parallel(statements) => parallel::run(session, statements, context).await,
        Statement::ExecuteAs(statement) => {
            *session = execute_as::acting(session, statement)?;
            Ok(Answer::Done)
        }
        Statement::Undrop(statement) => {
            let (database, table) = stored_table_name(session, &statement.table)?;
            let why = "is being dropped, has been dropped, or the database engine does not support UNDROP";
            Err(Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {database}.{table} {why}")))
        }
        other => Err(Error::not_implemented(describe_kind(other))),
    }
}

async fn select(session: &Session, parsed: &Parsed, query: &ast::Query, context: &Arc<QueryContext>) -> Result<Answer> {
    if query.output.outfile.is_some() {
        return Err(Error::new(
            ErrorCode::NOT_IMPLEMENTED,
            "INTO OUTFILE is carried out by clients, not by the server",
        ));
    }
    let plan = planning::plan_cached(session, parsed, query, context).await?;
    query_cache::check(session, &context.settings, query)?;
    check_ratios(&plan, &context.settings)?;
    if parsed.may_sleep {
        // A small query runs where it is started, and an I/O thread must not sleep.
        let (engine, context) = (session.server.engine.clone(), context.clone());
        return Box::pin(run_blocking(move || engine.start(&plan, context))).await.map(Answer::Stream);
    }
    Ok(Answer::Stream(session.server.engine.start(&plan, context.clone())?))
}

/// Refuses a share of memory from which on rows go to disk that is none, where something asks for it.
fn check_ratios(plan: &Plan, settings: &Settings) -> Result<()> {
    let ratios = [
        ("group_by", settings.max_bytes_ratio_before_external_group_by),
        ("sort", settings.max_bytes_ratio_before_external_sort),
        ("distinct", settings.max_bytes_ratio_before_external_distinct),
    ];
    let mut bad = ratios.into_iter().filter(|(_, ratio)| !(0.0..1.0).contains(ratio)).peekable();
    if bad.peek().is_none() {
        return Ok(());
    }
    let wanted = match plan {
        Plan::Aggregate(_) => "group_by",
        Plan::Sort { .. } => "sort",
        Plan::Distinct { .. } => "distinct",
        _ => "",
    };
    if let Some((of, ratio)) = bad.find(|(of, _)| *of == wanted) {
        let message = format!("Setting max_bytes_ratio_before_external_{of} should be >= 0 and < 1 ({ratio})");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    plan.inputs().try_for_each(|input| check_ratios(input, settings))
}

/// Sets what `SET` names.
pub(super) fn set(session: &mut Session, statement: &ast::Set) -> Result<()> {
    statement.settings.iter().try_for_each(|setting| apply_setting(session, setting))
}

/// Applies one `name = value`.
pub(super) fn apply_setting(session: &mut Session, setting: &ast::Setting) -> Result<()> {
    match &setting.value {
        SettingValue::Literal(literal) => {
            check_setting_type(&setting.name, literal)?;
            session.set(&setting.name, &literal_text(literal)?)
        }
        SettingValue::Default => session.reset(&setting.name),
        SettingValue::Expression(_) => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("The value of setting '{}' must be a constant", setting.name),
        )),
    }
}

/// Refuses a number or NULL for a setting of strings, and NULL for any other.
fn check_setting_type(name: &str, literal: &ast::Literal) -> Result<()> {
    let Some(setting) = Settings::description(name) else { return Ok(()) };
    let has = match literal {
        ast::Literal::String(_) | ast::Literal::Map(_) => return Ok(()),
        ast::Literal::Null if !setting.takes_text() => {
            let message = format!("Invalid value NULL of the setting '{name}', which needs a number");
            return Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, message));
        }
        _ if !setting.takes_text() => return Ok(()),
        ast::Literal::Null => "Null",
        ast::Literal::Bool(_) => "Bool",
        ast::Literal::UInt64(_) => "UInt64",
        ast::Literal::Int64(_) => "Int64",
        ast::Literal::Float64(_) => "Float64",
        ast::Literal::Array(_) => "Array",
        ast::Literal::Tuple(_) => "Tuple",
    };
    let wanted = if setting.setting_type == SettingType::Map { "Map" } else { "String" };
    Err(Error::new(ErrorCode::BAD_GET, format!("Bad get: has {has}, requested {wanted}, for setting '{name}'")))
}

/// The text of an identifier, or of the query parameter that it stands for.
pub(super) fn identifier(session: &Session, identifier: &ast::Identifier) -> Result<String> {
    if !identifier.parameter {
        return Ok(identifier.value.clone());
    }
    session.parameters.get(&identifier.value).cloned().ok_or_else(|| {
        Error::new(ErrorCode::UNKNOWN_QUERY_PARAMETER, format!("Substitution `{}` is not set", identifier.value))
    })
}

/// Database and table of a name: where no database is written a table of the session, or one of the current database.
pub(super) fn table_name(session: &Session, name: &ast::TableName) -> Result<(String, String)> {
    if name.database.is_none() && session.temporary_tables.may_be_any() {
        let table = identifier(session, &name.table)?;
        if session.temporary_tables.has(&table) {
            return Ok((TEMPORARY_DATABASE.to_owned(), table));
        }
    }
    stored_table_name(session, name)
}

/// The names of a table of the session itself.
///
/// # Errors
/// `BAD_DATABASE_FOR_TEMPORARY_TABLE` where another database is written.
pub(super) fn temporary_table_name(session: &Session, name: &ast::TableName) -> Result<(String, String)> {
    if name.database.is_some() {
        return Err(Error::new(
            ErrorCode::BAD_DATABASE_FOR_TEMPORARY_TABLE,
            "Temporary objects (tables/views) cannot be inside a database. You should not specify a database for a temporary objects.",
        ));
    }
    Ok((TEMPORARY_DATABASE.to_owned(), identifier(session, &name.table)?))
}

/// The same of tables of the server alone.
pub(super) fn stored_table_name(session: &Session, name: &ast::TableName) -> Result<(String, String)> {
    let database = match &name.database {
        Some(database) => identifier(session, database)?,
        None => session.database.to_string(),
    };
    Ok((database, identifier(session, &name.table)?))
}

/// `NOT_IMPLEMENTED` for a statement that names another server.
pub(super) fn refuse_cluster(cluster: &ast::OnCluster) -> Result<()> {
    match cluster {
        Some(_) => Err(Error::not_implemented("ON CLUSTER")),
        None => Ok(()),
    }
}

fn describe_kind(statement: &Statement) -> &'static str {
    match statement {
        Statement::CreateWorkload(_) => "CREATE WORKLOAD",
        Statement::CreateResource(_) => "CREATE RESOURCE",
        Statement::AlterDatabase(_) => "ALTER DATABASE",
        Statement::Transaction(_) => "Transactions",
        Statement::Watch(_) => "WATCH",
        Statement::Parallel(_) => "PARALLEL WITH in this place",
        _ => "This statement",
    }
}

/// What DROP and its kin are called in errors.
pub(super) fn drop_verb(action: DropAction) -> &'static str {
    match action {
        DropAction::Drop => "DROP",
        DropAction::Detach => "DETACH",
        DropAction::Truncate => "TRUNCATE",
    }
}
