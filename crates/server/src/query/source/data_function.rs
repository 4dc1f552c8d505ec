//! Table functions over data: `file(path[, format[, structure[, compression]]])` over files that the session may read, `url(…)` over what web
//! servers have, and `format(name[, structure], data)` over a text of the query.

use std::sync::Arc;

use squall_files::{Data, DeclaredColumns, FileTable, FileTableOptions, SqliteTable};
use squall_formats::{FormatOptions, is_read_by_place};
use squall_planner::{
    ColumnDescription, DefaultKind, ForeignKind, PlannerContext, TableMetadata, headers_of, is_over_s3, named_argument,
    named_like, plan_structure, takes_names, typed_literal,
};
use squall_remote::http::{HttpFiles, HttpOptions};
use squall_sql::ast::{self, ExpressionKind};
use squall_storage::{Insertion, ScanRequest, Table, TableHandle, TableScan};
use squall_types::{Error, ErrorCode, Result, Schema, Value};

use super::{destination, foreign, s3};
use crate::access::Privilege;
use crate::query::insertion::omitted::TableDefaults;
use crate::session::Session;

/// `file(…)`. Waits for the disk.
///
/// # Errors
/// What is wrong with the arguments; those of [`FileTable::of_files`].
pub(in crate::query) fn file(
    session: &Session,
    arguments: &[Value],
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn TableMetadata>> {
    files(session, &file_arguments(arguments, planner)?)
}

pub(super) fn file_arguments(arguments: &[Value], planner: &PlannerContext<'_>) -> Result<FileTableOptions> {
    let (mut table, mut structure) = (FileTableOptions::default(), String::new());
    if arguments.is_empty() || arguments.len() > 4 {
        return Err(wrong_count(
            "Table function 'file' requires from 1 to 4 arguments: path, format, structure and compression method",
        ));
    }
    let places = [&mut table.path, &mut table.format, &mut structure, &mut table.compression];
    for (place, argument) in places.into_iter().zip(arguments) {
        *place = text("file", argument)?;
    }
    table.declared = declared(&structure, planner)?;
    let kinds =
        table.declared.iter().flat_map(|declared| &declared.columns).filter_map(|column| column.default.as_ref());
    if kinds.into_iter().any(|default| default.kind != DefaultKind::Default) {
        let message = "Table engine File doesn't support special columns like MATERIALIZED, ALIAS or EPHEMERAL";
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(table)
}

/// The columns of a structure; `None` where they are to be inferred.
pub(super) fn declared(structure: &str, planner: &PlannerContext<'_>) -> Result<Option<DeclaredColumns>> {
    if structure.is_empty() || structure.eq_ignore_ascii_case("auto") {
        return Ok(None);
    }
    let columns = plan_structure(structure, planner)?;
    let fills = planner.settings.input_format_defaults_for_omitted_fields;
    let defaults = if fills { TableDefaults::of(&columns, planner)? } else { None };
    Ok(Some(DeclaredColumns { columns, defaults }))
}

/// `url(URL[, format[, structure[, compression]]][, headers(…)])`. Waits for the server.
///
/// # Errors
/// What is wrong with the arguments; those of [`FileTable::of_elsewhere`].
pub(in crate::query) fn url(
    session: &Session,
    arguments: &[Value],
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn TableMetadata>> {
    let (table, http) = url_arguments(session, arguments, planner)?;
    let (files, holder) = HttpFiles::of(&table.path, is_read_by_place(&url_format(&table)), http)?;
    handle(FileTable::of_elsewhere("url", &table, files, holder, options(session)?)?)
}

/// The format of what a URL means, where the arguments or its path tell it.
fn url_format(table: &FileTableOptions) -> String {
    let of_path = || squall_formats::format_of_file(url_path(&table.path)).unwrap_or_default().to_owned();
    if table.format.is_empty() || table.format.eq_ignore_ascii_case("auto") { of_path() } else { table.format.clone() }
}

/// The path of a URL, or of a pattern of URLs.
fn url_path(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

pub(super) fn url_arguments(
    session: &Session,
    arguments: &[Value],
    planner: &PlannerContext<'_>,
) -> Result<(FileTableOptions, HttpOptions)> {
    let hosts = &session.server.config.load().remote_hosts;
    let mut http = hosts.http_options(&session.settings);
    let mut texts = Vec::new();
    for argument in arguments {
        match argument {
            // headers('name' = 'value', …)
            Value::Map(headers) => {
                for (name, value) in headers.iter() {
                    http.headers.push((text("url", name)?, text("url", value)?));
                }
            }
            argument => texts.push(text("url", argument)?),
        }
    }
    if texts.is_empty() || texts.len() > 4 {
        return Err(wrong_count(
            "Table function 'url' requires from 1 to 4 arguments: URL, format, structure and compression method, and headers",
        ));
    }
    let (mut table, mut structure) = (FileTableOptions::default(), String::new());
    let places = [&mut table.path, &mut table.format, &mut structure, &mut table.compression];
    places.into_iter().zip(texts).for_each(|(place, text)| *place = text);
    table.declared = declared(&structure, planner)?;
    Ok((table, http))
}

/// What takes the rows of an INSERT into a function. Waits for the disk.
///
/// # Errors
/// What is wrong with the function; those of [`destination::target`]; `NOT_IMPLEMENTED` for PARTITION BY of what has no paths.
pub(in crate::query) fn target(
    session: &Session,
    function: &ast::Function,
    partition_by: Option<&ast::Expression>,
    columns: Option<Schema>,
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn Table>> {
    match function.name.as_str() {
        name if partition_by.is_some()
            && (matches!(name, "null" | "sqlite") || ForeignKind::of_function(name).is_some()) =>
        {
            Err(Error::not_implemented(format!("INSERT INTO FUNCTION {name} PARTITION BY")))
        }
        "null" => null_target(function, columns, planner),
        "sqlite" => Ok(Arc::new(sqlite_table(session, &literals(function)?)?)),
        name if let Some(kind) = ForeignKind::of_function(name) => foreign::target(session, kind, &literals(function)?),
        _ => destination::target(session, function, partition_by, columns, planner),
    }
}

/// The arguments of a function that an INSERT names.
pub(super) fn literals(function: &ast::Function) -> Result<Vec<Value>> {
    let takes_names = takes_names(&function.name);
    let arguments = function.arguments.iter().map(|argument| match &argument.kind {
        ExpressionKind::Identifier(_) | ExpressionKind::Function(_) | ExpressionKind::Subquery(_) if takes_names => {
            named_argument(&function.name, argument)
        }
        ExpressionKind::Literal(literal) if takes_names => typed_literal(literal).ok().map(|(value, _)| value),
        ExpressionKind::Literal(literal) => literal.as_str().map(Value::string),
        ExpressionKind::Identifier(parts) => {
            Some(Value::string(parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")))
        }
        ExpressionKind::Function(call) => headers_of(call),
        _ => None,
    });
    let strings = || {
        let message = format!("Table function '{}' of an INSERT takes literal strings", function.name);
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    };
    arguments.collect::<Option<_>>().ok_or_else(strings)
}

/// What takes all rows and keeps none: `null('structure')`, or `null()` with the columns that come.
fn null_target(
    function: &ast::Function,
    columns: Option<Schema>,
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn Table>> {
    if let Some(structure) = function.arguments.first() {
        let structure = structure.as_literal().and_then(ast::Literal::as_str).unwrap_or_default();
        return squall_storage::null_table(plan_structure(structure, planner)?);
    }
    let columns = columns.ok_or_else(|| wrong_count("Table function 'null' requires one argument: the structure"))?;
    let column = |(name, data_type): (Arc<str>, squall_types::DataType)| ColumnDescription::new(name, data_type);
    squall_storage::null_table(columns.fields.into_iter().map(column).collect())
}

/// The table of a path or pattern alone.
///
/// # Errors
/// As [`file`].
fn file_of_path(session: &Session, path: &str) -> Result<Arc<dyn TableMetadata>> {
    files(session, &FileTableOptions { path: path.to_owned(), ..FileTableOptions::default() })
}

/// The table of a name that no table has: standard input, or the file of that name.
///
/// # Errors
/// Where they cannot be read.
pub(in crate::query) fn by_name(
    session: &Session,
    name: &str,
    planner: &PlannerContext<'_>,
) -> Result<Option<Arc<dyn TableMetadata>>> {
    if let Some(input) = session.server.standard_input(name) {
        let declared = declared(&input.structure, planner)?;
        return Ok(Some(Arc::new(TableHandle(input.table(declared, options(session)?)?))));
    }
    if may_be_file(name) { file_of_path(session, name).map(Some) } else { Ok(None) }
}

/// Whether a name that no table has looks like a file's: it has an ending that tells a format, or a file has it.
fn may_be_file(name: &str) -> bool {
    squall_formats::format_of_file(name).is_some() || std::path::Path::new(name).exists()
}

fn files(session: &Session, table: &FileTableOptions) -> Result<Arc<dyn TableMetadata>> {
    handle(FileTable::of_files(table, &session.server.file_reach()?, options(session)?)?)
}

/// `sqlite(path, table)`. Waits for the disk.
///
/// # Errors
/// What is wrong with the arguments; those of [`SqliteTable::open`].
pub(in crate::query) fn sqlite(session: &Session, arguments: &[Value]) -> Result<Arc<dyn TableMetadata>> {
    handle(sqlite_table(session, arguments)?)
}

fn sqlite_table(session: &Session, arguments: &[Value]) -> Result<SqliteTable> {
    let (path, table) = sqlite_arguments(arguments)?;
    SqliteTable::open(&path, &table, &session.server.file_reach()?)
}

/// The path and the table.
fn sqlite_arguments(arguments: &[Value]) -> Result<(String, String)> {
    let [path, table] = arguments else {
        return Err(wrong_count("SQLite database requires 2 arguments: database path, table name"));
    };
    Ok((text("sqlite", path)?, text("sqlite", table)?))
}

/// What takes the rows of an INSERT into a table that shows those of `sqlite(…)`, `s3(…)`, `postgresql(…)` or `mysql(…)`, in the name and with
/// the columns of that one; `None` for other tables.
///
/// # Errors
/// `ACCESS_DENIED`; those of [`SqliteTable::with_columns`] and of what writes objects of S3.
pub(in crate::query) fn shown_target(session: &Session, shown: &Arc<dyn Table>) -> Result<Option<Arc<dyn Table>>> {
    let Some(function) = shown.table_function() else { return Ok(None) };
    if is_over_s3(&function.name) {
        session.access.check_target_source(Privilege::S3)?;
        let rows = s3::shown_target(session, &literals(function)?, shown.columns())?;
        return Ok(Some(Arc::new(ShownFunction { shown: shown.clone(), rows })));
    }
    if let Some(kind) = ForeignKind::of_function(&function.name) {
        session.access.check_target_source(kind.into())?;
        let rows = foreign::shown_target(session, kind, &literals(function)?, shown.columns())?;
        return Ok(Some(Arc::new(ShownFunction { shown: shown.clone(), rows })));
    }
    if function.name != "sqlite" {
        return Ok(None);
    }
    session.access.check_target_source(Privilege::Sqlite)?;
    let (path, table) = sqlite_arguments(&literals(function)?)?;
    let rows = SqliteTable::with_columns(&path, &table, shown.columns().to_vec(), &session.server.file_reach()?)?;
    Ok(Some(Arc::new(ShownFunction { shown: shown.clone(), rows: Arc::new(rows) })))
}

/// A table that shows a function's rows, over what takes them.
#[derive(Debug)]
struct ShownFunction {
    shown: Arc<dyn Table>,
    rows: Arc<dyn Table>,
}

impl TableMetadata for ShownFunction {
    named_like!(shown);

    fn columns(&self) -> &[ColumnDescription] {
        self.shown.columns()
    }
}

impl Table for ShownFunction {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        self.rows.scan(request)
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        self.rows.insert()
    }
}

/// `format(…)`.
///
/// # Errors
/// What is wrong with the arguments and the data.
pub(in crate::query) fn format(
    session: &Session,
    arguments: &[Value],
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn TableMetadata>> {
    let (format, structure, data) = match arguments {
        [format, data] => (format, String::new(), data),
        [format, structure, data] => (format, text("format", structure)?, data),
        _ => {
            return Err(wrong_count("Table function 'format' requires 2 or 3 arguments: format, [structure], data"));
        }
    };
    let Value::String(data) = data else { return Err(illegal("format", data)) };
    let data = Data::Bytes(bytes::Bytes::copy_from_slice(data));
    handle(FileTable::of_data(
        "format",
        data,
        &text("format", format)?,
        declared(&structure, planner)?,
        options(session)?,
    )?)
}

pub(super) fn options(session: &Session) -> Result<FormatOptions> {
    FormatOptions::new(session.settings.clone(), &session.server.zone)
}

fn handle(table: impl Table + 'static) -> Result<Arc<dyn TableMetadata>> {
    Ok(Arc::new(TableHandle(Arc::new(table))))
}

fn text(function: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => Err(illegal(function, other)),
    }
}

fn illegal(function: &str, value: &Value) -> Error {
    let message = format!("Table function '{function}' takes strings, not {}", value.literal_type());
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

fn wrong_count(message: &str) -> Error {
    Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
}
