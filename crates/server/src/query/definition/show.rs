//! SHOW: each is a SELECT over a table of `system`, as in ClickHouse, or a text that is made here.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, DescribedObject, LikeFilter, QueryBody, ShowFilter, ShowKind, Statement};
use squall_sql::{ParserLimits, Quoting, format_quoted, parse};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::describe;
use super::show_access;
use crate::access::Privilege;
use crate::query::Answer;
use crate::query::plan::parsing::syntax_error;
use crate::query::plan::planning;
use crate::query::statement::{identifier, table_name, temporary_table_name};
use crate::session::Session;
use crate::system::{create_table_query, quote};

/// Runs SHOW.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::Show,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let current = |database: &Option<ast::Identifier>| match database {
        Some(database) => identifier(session, database),
        None => Ok(session.database.to_string()),
    };
    let select = match &statement.kind {
        ShowKind::Databases { filter, limit } => {
            filtered("SELECT name FROM system.databases ORDER BY name", filter.as_ref(), limit.as_ref(), "name")?
        }
        ShowKind::Tables { temporary: true, filter, limit, .. } => filtered(
            "SELECT name FROM (SELECT * FROM system.tables WHERE is_temporary) ORDER BY name",
            filter.as_ref(),
            limit.as_ref(),
            "name",
        )?,
        ShowKind::Tables { full, dictionaries, database, filter, limit, .. } => {
            let database = current(database)?;
            if !session.server.databases.has_database(&database) {
                return Err(Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {database} does not exist")));
            }
            let table = if *dictionaries { "dictionaries" } else { "tables" };
            let columns = if *full { "name, engine" } else { "name" };
            let inner = format!("SELECT * FROM system.{table} WHERE database = {}", literal(&database));
            filtered(
                &format!("SELECT {columns} FROM ({inner}) ORDER BY name"),
                filter.as_ref(),
                limit.as_ref(),
                "name",
            )?
        }
        ShowKind::Columns { full, table, database, filter, limit, .. } => {
            let (database, table) = (current(database)?, identifier(session, table)?);
            let more = if *full { ", NULL AS collation, comment, '' AS privileges" } else { "" };
            let inner = format!(
                "SELECT name AS field, type AS type, if(startsWith(type, 'Nullable'), 'YES', 'NO') AS `null`, \
                 trimBoth(concat(if(is_in_primary_key, 'PRI', ''), if(is_in_sorting_key, ' SOR', ''))) AS `key`, \
                 if(default_expression = '', NULL, default_expression) AS `default`, '' AS extra{more} \
                 FROM system.columns WHERE database = {} AND table = {}",
                literal(&database),
                literal(&table)
            );
            let columns = if *full {
                "field, type, `null`, `key`, `default`, extra, collation, comment, privileges"
            } else {
                "field, type, `null`, `key`, `default`, extra"
            };
            filtered(
                &format!("SELECT {columns} FROM ({inner}) ORDER BY field"),
                filter.as_ref(),
                limit.as_ref(),
                "field",
            )?
        }
        ShowKind::Clusters { filter, limit } => filtered(
            "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster",
            filter.as_ref(),
            limit.as_ref(),
            "cluster",
        )?,
        ShowKind::Cluster(name) => query(&format!("SELECT * FROM system.clusters WHERE cluster = {}", literal(name)))?,
        ShowKind::Settings { changed, filter } => {
            let inner = format!(
                "SELECT name, type, value FROM system.settings{}",
                if *changed { " WHERE changed" } else { "" }
            );
            like(&format!("SELECT name, type, value FROM ({inner})"), filter.as_ref(), "name")?
        }
        ShowKind::Setting(name) => query(&format!("SELECT value FROM system.settings WHERE name = {}", literal(name)))?,
        ShowKind::Merges { filter, limit } => filtered(
            "SELECT table, database, elapsed, progress, is_mutation, memory_usage FROM system.merges",
            filter.as_ref(),
            limit.as_ref(),
            "table",
        )?,
        ShowKind::Engines => query("SELECT * FROM system.table_engines ORDER BY name")?,
        ShowKind::Functions { filter } => like("SELECT * FROM system.functions", filter.as_ref(), "name")?,
        ShowKind::Processlist => query("SELECT * FROM system.processes ORDER BY elapsed DESC")?,
        ShowKind::Create(create) => return show_create(session, create),
        ShowKind::Grants { grantees, with_implicit, with_final } => {
            return show_access::grants(session, grantees.as_ref(), *with_implicit, *with_final);
        }
        ShowKind::AccessEntities { kind, current, enabled, table, short_name } => {
            let only = (*current, *enabled);
            return show_access::entities(session, *kind, only, table.as_ref(), short_name.as_deref(), context).await;
        }
        ShowKind::Indexes { table, database, filter, .. } => {
            let (database, table) = (current(database)?, identifier(session, table)?);
            // Each part of the primary key is one.
            let keys = format!(
                "SELECT name AS table, arrayJoin(arrayZip(splitByString(', ', primary_key), \
                 arrayEnumerate(splitByString(', ', primary_key)))) AS part FROM system.tables \
                 WHERE database = {} AND name = {} AND primary_key != ''",
                literal(&database),
                literal(&table)
            );
            let inner = format!(
                "SELECT table, toUInt8(1) AS non_unique, 'PRIMARY' AS key_name, toUInt32(part.2) AS seq_in_index, \
                 if(match(part.1, '^[a-zA-Z_][a-zA-Z0-9_]*$'), part.1, '') AS column_name, 'A' AS collation, \
                 0 AS cardinality, NULL AS sub_part, NULL AS packed, NULL AS `null`, 'PRIMARY' AS index_type, \
                 '' AS comment, '' AS index_comment, 'YES' AS visible, \
                 if(match(part.1, '^[a-zA-Z_][a-zA-Z0-9_]*$'), '', part.1) AS expression FROM ({keys})"
            );
            let skipping = format!(
                "SELECT table, toUInt8(1) AS non_unique, name AS key_name, toUInt32(1) AS seq_in_index, '' AS column_name, \
                 NULL AS collation, 0 AS cardinality, NULL AS sub_part, NULL AS packed, NULL AS `null`, upper(type) AS index_type, \
                 '' AS comment, '' AS index_comment, 'YES' AS visible, expr AS expression FROM system.data_skipping_indices \
                 WHERE database = {} AND table = {}",
                literal(&database),
                literal(&table)
            );
            let select = query(&format!(
                "SELECT * FROM ({inner} UNION ALL {skipping}) ORDER BY index_type, column_name, seq_in_index"
            ))?;
            match filter {
                Some(filter) => with_condition(select, filter.clone())?,
                None => select,
            }
        }
        ShowKind::FilesystemCaches => query("SELECT '' AS Caches WHERE 0")?,
        ShowKind::Privileges => query("SELECT * FROM system.privileges")?,
        ShowKind::CreateAccess { kind, names, all } => return show_access::create(session, *kind, names, *all),
        ShowKind::Access => return show_access::access(session),
    };
    run_select(session, &select, context).await
}

/// Runs a SELECT that was made here.
pub(in crate::query) async fn run_select(
    session: &Session,
    select: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let plan = planning::plan(session, select, context).await?;
    Ok(Answer::Stream(session.server.engine.start(&plan, context.clone())?))
}

fn show_create(session: &Session, create: &ast::ShowCreate) -> Result<Answer> {
    match create.kind {
        DescribedObject::Database => {
            let name = identifier(session, &create.name.table)?;
            session.access.check_database(&name)?;
            let databases = session.server.databases.databases();
            let database = databases
                .iter()
                .find(|database| *database.name == *name)
                .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {name} does not exist")))?;
            let mut statement = format!("CREATE DATABASE {}\nENGINE = {}", quote(&name), database.engine);
            if !database.comment.is_empty() {
                statement += &format!("\nCOMMENT {}", literal(&database.comment));
            }
            created(session, &statement)
        }
        DescribedObject::Dictionary => {
            let (database, name) = table_name(session, &create.name)?;
            session.access.check(Privilege::ShowDictionaries, &[&database, &name])?;
            let description = session.server.databases.describe(&database, &name)?;
            if session.server.databases.dictionary(&database, &name).is_none() {
                return Err(Error::new(ErrorCode::INCORRECT_QUERY, format!("{database}.{name} is not a DICTIONARY")));
            }
            created(session, &create_table_query(&description, session.databases_of(&database), true))
        }
        DescribedObject::Table | DescribedObject::View => {
            let (database, table) = match create.temporary {
                true => temporary_table_name(session, &create.name)?,
                false => table_name(session, &create.name)?,
            };
            session.access.check_show_columns(&database, &table)?;
            let description = session.databases_of(&database).describe(&database, &table)?;
            if create.kind == DescribedObject::View && !description.table.is_view() {
                let message = format!("{}.{} is not a VIEW", quote(&database), quote(&table));
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
            created(session, &create_table_query(&description, session.databases_of(&database), true))
        }
    }
}

/// A CREATE statement, with the quotes around names that the session wants.
fn created(session: &Session, statement: &str) -> Result<Answer> {
    let settings = &session.settings;
    let quote = if settings.show_create_query_identifier_quoting_style == "DoubleQuotes" { '"' } else { '`' };
    let quoting = Quoting { always: settings.show_create_query_identifier_quoting_rule == "always", quote };
    if !quoting.always && quoting.quote == '`' {
        return text("statement", statement);
    }
    let parsed = parse(statement.as_bytes(), &ParserLimits::default()).map_err(syntax_error)?;
    text("statement", &format_quoted(&parsed, quoting))
}

/// A result of one text.
pub(in crate::query) fn text(name: &str, text: &str) -> Result<Answer> {
    describe::answer([(name, Column::constant(DataType::String, &Value::string(text), 1)?)])
}

/// A text as a literal of SQL.
pub(in crate::query) fn literal(text: &str) -> String {
    Value::string(text).to_string()
}

/// Parses a SELECT that was made here.
pub(in crate::query) fn query(sql: &str) -> Result<ast::Query> {
    match parse(sql, &ParserLimits::default()).map_err(syntax_error)? {
        Statement::Query(query) => Ok(*query),
        _ => Err(Error::logical("a SELECT is none")),
    }
}

/// Whether a name meets a LIKE.
pub(in crate::query) fn is_like(name: &str, like: &LikeFilter) -> bool {
    let (name, pattern) = match like.case_insensitive {
        true => (name.to_lowercase(), like.pattern.to_lowercase()),
        false => (name.to_owned(), like.pattern.clone()),
    };
    matches_like(&name.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>()) != like.negated
}

fn matches_like(name: &[char], pattern: &[char]) -> bool {
    // Where the last `%` stands in the pattern, and how much of the name it takes so far.
    let (mut at, mut in_pattern, mut last) = (0, 0, None);
    while at < name.len() {
        let literal = match pattern.get(in_pattern) {
            Some('%') => {
                last = Some((in_pattern, at));
                in_pattern += 1;
                continue;
            }
            Some('\\') => pattern.get(in_pattern + 1).map(|letter| (Some(*letter), 2)),
            Some('_') => Some((None, 1)),
            letter => letter.map(|letter| (Some(*letter), 1)),
        };
        match literal {
            Some((letter, length)) if letter.is_none_or(|letter| name.get(at) == Some(&letter)) => {
                at += 1;
                in_pattern += length;
            }
            _ => match last {
                Some((percent, taken)) => {
                    (at, in_pattern) = (taken + 1, percent + 1);
                    last = Some((percent, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(in_pattern..).is_some_and(|rest| rest.iter().all(|letter| *letter == '%'))
}

/// A SELECT with a user's LIKE or WHERE, and LIMIT.
fn filtered(sql: &str, filter: Option<&ShowFilter>, limit: Option<&ast::Limit>, column: &str) -> Result<ast::Query> {
    let mut query = match filter {
        Some(ShowFilter::Like(filter)) => like(sql, Some(filter), column)?,
        Some(ShowFilter::Where(condition)) => with_condition(query(sql)?, condition.clone())?,
        None => query(sql)?,
    };
    if let (Some(limit), QueryBody::Select(select)) = (limit, &mut query.body) {
        select.limit = Some(limit.clone());
    }
    Ok(query)
}

fn like(sql: &str, filter: Option<&LikeFilter>, column: &str) -> Result<ast::Query> {
    let query = query(sql)?;
    let Some(filter) = filter else { return Ok(query) };
    let not = if filter.negated { "NOT " } else { "" };
    let operator = if filter.case_insensitive { "ILIKE" } else { "LIKE" };
    let condition = format!("{column} {not}{operator} {}", literal(&filter.pattern));
    let condition = squall_sql::parse_expression(&condition, &ParserLimits::default()).map_err(syntax_error)?;
    with_condition(query, condition)
}

/// The SELECT, which has no WHERE of its own yet, with one.
pub(in crate::query) fn with_condition(mut query: ast::Query, condition: ast::Expression) -> Result<ast::Query> {
    match &mut query.body {
        QueryBody::Select(select) => {
            select.filter = Some(condition);
            Ok(query)
        }
        _ => Err(Error::logical("a SELECT is none")),
    }
}
