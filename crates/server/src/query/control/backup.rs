//! BACKUP and RESTORE: which tables a statement is about, under which names, and the answer. What they do to files is `crate::backup`.

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use squall_engine::QueryContext;
use squall_sql::ast::{self, BackupElement, BackupElementKind, Literal, SettingValue};
use squall_storage::{Databases, PartSource, RestoreOptions, TableName, TableToRestore, TableWhereabouts};
use squall_types::{Column, Error, ErrorCode, Result};
use tokio::runtime::Handle;

use super::system_command::run_blocking;
use crate::backup::{
    BackupInfo, BackupReader, BackupStatus, FileEntry, Location, Manifest, TableEntry, TableToWrite, Written, write,
};
use crate::query::Answer;
use crate::query::change::pending_mutation::wait_for_earlier;
use crate::query::definition::describe;
use crate::query::statement::{identifier, refuse_cluster};
use crate::server::Server;
use crate::session::Session;
use crate::system::create_table_query;
use crate::version::SQUALL_VERSION;

/// What a statement asks for.
struct Request {
    id: Arc<str>,
    is_restore: bool,
    elements: Vec<Element>,
    location: Location,
    base: Option<Location>,
    /// `use_same_password_for_base_backup`.
    has_password_of_base: bool,
    options: RestoreOptions,
}

/// One element: what it names, and under which name that comes out.
struct Element {
    kind: Kind,
    except_tables: Vec<TableName>,
    except_databases: Vec<String>,
    /// Ids of partitions; none means all.
    partitions: Vec<String>,
}

enum Kind {
    All,
    Database { name: String, to: String },
    Table { name: TableName, to: TableName },
}

/// Runs BACKUP and RESTORE.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::Backup,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let server = session.server.clone();
    let request = Request::read(session, statement)?;
    let (id, is_restore) = (request.id.clone(), request.is_restore);
    let begun = if is_restore { BackupStatus::Restoring } else { BackupStatus::Creating };
    server.backups.begin(BackupInfo {
        id: id.clone(),
        name: request.location.to_string(),
        base_backup_name: request.base.as_ref().map(Location::to_string).unwrap_or_default(),
        query_id: context.query_id.clone(),
        status: begun,
        error: String::new(),
        started: SystemTime::now(),
        ended: None,
        written: Written::default(),
        files_read: 0,
        bytes_read: 0,
    })?;
    let is_asynchronous = statement.asynchronous == Some(true);
    let asked = context.clone();
    let work = move || {
        // A query that has answered is over for KILL QUERY.
        let is_cancelled = || !is_asynchronous && asked.is_cancelled();
        carry_out(&server, &request, &is_cancelled)
    };
    let status = if is_asynchronous {
        drop(tokio::task::spawn_blocking(work));
        begun
    } else {
        run_blocking(work).await?;
        if is_restore { BackupStatus::Restored } else { BackupStatus::Created }
    };
    describe::answer([
        ("id", Column::from_strings([id.to_string()])),
        ("status", Column::from_strings([status.name().to_owned()])),
    ])
}

impl Request {
    fn read(session: &Session, statement: &ast::Backup) -> Result<Self> {
        let config = &session.server.config.load().backups;
        let mut request = Self {
            id: uuid::Uuid::new_v4().to_string().into(),
            is_restore: statement.restore,
            elements: statement
                .elements
                .iter()
                .map(|element| Element::read(session, element))
                .collect::<Result<_>>()?,
            location: Location::read(&statement.location, config)?,
            base: None,
            has_password_of_base: false,
            options: RestoreOptions::default(),
        };
        for setting in &statement.settings {
            let is_on = || match &setting.value {
                SettingValue::Literal(Literal::Bool(value)) => Ok(*value),
                SettingValue::Literal(Literal::UInt64(value)) => Ok(*value != 0),
                SettingValue::Literal(Literal::String(text)) => Ok(matches!(&text[..], b"1" | b"true")),
                _ => {
                    Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Setting {} must be true or false", setting.name)))
                }
            };
            match (setting.name.as_str(), &setting.value) {
                ("base_backup", SettingValue::Expression(expression)) => {
                    let function = expression.as_function().ok_or_else(|| {
                        Error::new(ErrorCode::BAD_ARGUMENTS, "base_backup must be File('path') or Disk('disk', 'path')")
                    })?;
                    request.base = Some(Location::read(function, config)?);
                }
                ("password", SettingValue::Literal(Literal::String(password))) => {
                    request.location.password = Some(String::from_utf8_lossy(password).into_owned());
                }
                ("use_same_password_for_base_backup", _) => request.has_password_of_base = is_on()?,
                ("id", SettingValue::Literal(Literal::String(id))) => request.id = String::from_utf8_lossy(id).into(),
                ("structure_only", _) => request.options.structure_only = is_on()?,
                ("allow_non_empty_tables", _) if statement.restore => request.options.allow_non_empty_tables = is_on()?,
                (other, _) => {
                    return Err(Error::new(
                        ErrorCode::UNKNOWN_SETTING,
                        format!(
                            "Unknown setting '{other}' of {}",
                            if statement.restore { "RESTORE" } else { "BACKUP" }
                        ),
                    ));
                }
            }
        }
        request.location.archive()?;
        if let Some(base) = request.base.as_mut().filter(|_| request.has_password_of_base) {
            base.password.clone_from(&request.location.password);
        }
        Ok(request)
    }
}

impl Element {
    fn read(session: &Session, element: &BackupElement) -> Result<Self> {
        let table = |name: &ast::TableName, default: &str| -> Result<TableName> {
            let database = name.database.as_ref().map(|database| identifier(session, database)).transpose()?;
            Ok(TableName::new(database.as_deref().unwrap_or(default), identifier(session, &name.table)?))
        };
        let (kind, default) = match &element.kind {
            BackupElementKind::All => (Kind::All, session.database.to_string()),
            BackupElementKind::Database(name) => {
                let name = identifier(session, name)?;
                let to = element.new_name.as_ref().map(|to| identifier(session, &to.table)).transpose()?;
                (Kind::Database { to: to.unwrap_or_else(|| name.clone()), name: name.clone() }, name)
            }
            BackupElementKind::Table(name) => {
                let name = table(name, &session.database)?;
                let to = element.new_name.as_ref().map(|to| table(to, &session.database)).transpose()?;
                (Kind::Table { to: to.unwrap_or_else(|| name.clone()), name }, session.database.to_string())
            }
            BackupElementKind::TemporaryTable(_) => return Err(Error::not_implemented("BACKUP of temporary tables")),
        };
        let except_tables = element.except_tables.iter().map(|name| table(name, &default)).collect::<Result<_>>()?;
        let except_databases =
            element.except_databases.iter().map(|name| identifier(session, name)).collect::<Result<_>>()?;
        let partition = |expression: &ast::Expression| match expression.as_literal() {
            Some(Literal::String(id)) => String::from_utf8_lossy(id).into_owned(),
            _ => squall_sql::format_expression(expression),
        };
        Ok(Self {
            kind,
            except_tables,
            except_databases,
            partitions: element.partitions.iter().map(partition).collect(),
        })
    }

    /// The name that a database comes out under, where the element is of it whole.
    fn database(&self, name: &str) -> Option<String> {
        match &self.kind {
            Kind::All if Databases::is_left_out_of_backups(name) => None,
            Kind::All => (!self.except_databases.iter().any(|except| except == name)).then(|| name.to_owned()),
            Kind::Database { name: own, to } => (own == name).then(|| to.clone()),
            Kind::Table { .. } => None,
        }
    }

    /// The name that a table comes out under.
    fn table(&self, table: &TableName) -> Option<TableName> {
        match &self.kind {
            Kind::Table { name, to } => (name == table).then(|| to.clone()),
            _ if self.except_tables.contains(table) => None,
            _ => Some(TableName::new(self.database(&table.database)?, table.table.clone())),
        }
    }

    fn has_partition(&self, id: &str) -> bool {
        self.partitions.is_empty() || self.partitions.iter().any(|known| known == id)
    }
}

/// The first element that names a table, and the table's name after it.
fn find<'a>(elements: &'a [Element], table: &TableName) -> Option<(&'a Element, TableName)> {
    elements.iter().find_map(|element| Some((element, element.table(table)?)))
}

fn carry_out(server: &Arc<Server>, request: &Request, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<()> {
    let result = if request.is_restore {
        restore(server, request, is_cancelled).map(|(files, bytes)| (Written::default(), files, bytes))
    } else {
        backup(server, request, is_cancelled).map(|written| (written, 0, 0))
    };
    server.backups.end(&request.id, |info| match &result {
        Ok((written, files, bytes)) => {
            (info.written, info.files_read, info.bytes_read) = (*written, *files, *bytes);
            info.status = if request.is_restore { BackupStatus::Restored } else { BackupStatus::Created };
        }
        Err(error) => {
            info.error = error.to_string();
            info.status = if request.is_restore { BackupStatus::RestoreFailed } else { BackupStatus::BackupFailed };
        }
    });
    if let Err(error) = &result {
        tracing::error!(target: "BackupsWorker", "{} {}: {error}", if request.is_restore { "RESTORE" } else { "BACKUP" }, request.location);
    }
    result.map(drop)
}

fn open(server: &Server, request: &Request, location: &Location) -> Result<BackupReader> {
    let config = server.config.load();
    let locate = |text: &str| {
        let sql = format!("BACKUP ALL TO {text}");
        let Ok(ast::Statement::Backup(backup)) = squall_sql::parse(&sql, &squall_sql::ParserLimits::default()) else {
            return Err(Error::new(ErrorCode::BACKUP_DAMAGED, format!("'{text}' is not the place of a backup")));
        };
        let password = request.location.password.clone().filter(|_| request.has_password_of_base);
        Ok(Location::read(&backup.location, &config.backups)?.with_password(password))
    };
    BackupReader::open(location, &config.tmp_path, &locate)
}

fn backup(server: &Arc<Server>, request: &Request, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Written> {
    let databases = &server.databases;
    let base = request.base.as_ref().map(|base| open(server, request, base)).transpose()?;
    let mut manifest = Manifest::new(format!("Squall {SQUALL_VERSION}"));
    if let (Some(location), Some(base)) = (&request.base, &base) {
        manifest.base_backup = Some(location.to_string());
        manifest.base_backup_uuid = Some(base.manifest.uuid.clone());
    }
    for database in databases.databases() {
        let name = request.elements.iter().find_map(|element| element.database(&database.name));
        manifest.databases.extend(name.map(|name| (name, database.comment.to_string())));
    }
    for element in &request.elements {
        match &element.kind {
            Kind::Database { name, .. } if !databases.has_database(name) => {
                return Err(Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {name} does not exist")));
            }
            Kind::Table { name, .. } => drop(databases.table(&name.database, &name.table)?),
            _ => {}
        }
    }
    carry_out_mutations(server, request, is_cancelled)?;
    let found = databases.backup(&|table| find(&request.elements, table).is_some())?;
    for element in &request.elements {
        if let Kind::Table { name, .. } = &element.kind
            && !found.iter().any(|table| table.name == *name)
        {
            let message = format!("Table {name} is not stored, and is in no backup");
            return Err(Error::new(ErrorCode::CANNOT_BACKUP_TABLE, message));
        }
    }
    let mut tables = Vec::with_capacity(found.len());
    for mut table in found {
        let Some((element, name)) = find(&request.elements, &table.name) else { continue };
        if request.options.structure_only {
            table.parts.clear();
        }
        table.parts.retain(|part| element.has_partition(&part.partition_id));
        let described = databases.describe(&table.name.database, &table.name.table);
        let statement = described.map(|table| create_table_query(&table, databases, true)).unwrap_or_default();
        tables.push(TableToWrite {
            table,
            database: name.database.to_string(),
            name: name.table.to_string(),
            statement,
        });
    }
    write(&request.location, manifest, tables, base.as_ref(), is_cancelled)
}

/// Waits for the mutations that were ordered before: a backup holds rows, not what is still to be done to them.
fn carry_out_mutations(server: &Server, request: &Request, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<()> {
    if request.options.structure_only {
        return Ok(());
    }
    let mut uuids: Vec<_> = server.mutations.all().iter().map(|mutation| mutation.uuid).collect();
    uuids.dedup();
    for uuid in uuids {
        if let TableWhereabouts::Here(name) = server.databases.whereabouts(uuid)
            && let Some((element, _)) = find(&request.elements, &name)
        {
            let is_concerned = |partition: &str| element.has_partition(partition);
            let check = || check_cancelled(is_cancelled);
            Handle::current().block_on(wait_for_earlier(server, uuid, &is_concerned, &check))?;
        }
    }
    Ok(())
}

fn check_cancelled(is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<()> {
    match is_cancelled() {
        true => Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled")),
        false => Ok(()),
    }
}

/// Restores; the files that were read, and their bytes.
fn restore(server: &Arc<Server>, request: &Request, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<(u64, u64)> {
    let databases = &server.databases;
    let backup = open(server, request, &request.location)?;
    let manifest = &backup.manifest;
    let name = |entry: &TableEntry| TableName::new(entry.database.as_str(), entry.table.as_str());
    let not_found =
        |what: String| Err(Error::new(ErrorCode::BACKUP_ENTRY_NOT_FOUND, format!("{what} not found in backup")));
    for element in &request.elements {
        match &element.kind {
            Kind::Table { name: own, .. } if !manifest.tables.iter().any(|entry| name(entry) == *own) => {
                return not_found(format!("Table {own}"));
            }
            Kind::Database { name: own, .. }
                if !manifest.databases.iter().any(|(known, _)| known == own)
                    && !manifest.tables.iter().any(|entry| entry.database == *own) =>
            {
                return not_found(format!("Database {own}"));
            }
            _ => {}
        }
    }
    let is_of_database = |element: &Element| !matches!(element.kind, Kind::Table { .. });
    let mut coming: Vec<(String, String)> = Vec::new();
    let mut comes = |to: &str, comment: &str| {
        if !coming.iter().any(|(known, _)| known == to) {
            coming.push((to.to_owned(), comment.to_owned()));
        }
    };
    for (database, comment) in &manifest.databases {
        if let Some(to) = request.elements.iter().find_map(|element| element.database(database)) {
            comes(&to, comment);
        }
    }
    let check = || check_cancelled(is_cancelled);
    let (mut tables, mut files, mut bytes) = (Vec::new(), 0, 0);
    for entry in &manifest.tables {
        let Some((element, to)) = find(&request.elements, &name(entry)) else { continue };
        if is_of_database(element) {
            comes(&to.database, "");
        }
        let mut parts = Vec::new();
        if !request.options.structure_only {
            for part in entry.parts.iter().filter(|part| element.has_partition(&part.partition)) {
                check()?;
                parts.push(part_source(&backup, part)?);
                (files, bytes) = (files + 1, bytes + part.bytes);
            }
        }
        tables.push(TableToRestore { name: to, record: entry.record.clone(), parts });
    }
    databases.restore(&coming, &tables, request.options, &check)?;
    Ok((files, bytes))
}

fn part_source(backup: &BackupReader, part: &FileEntry) -> Result<PartSource> {
    let description = STANDARD.decode(&part.description).map_err(|error| {
        Error::new(ErrorCode::BACKUP_DAMAGED, format!("The description of part {} cannot be read: {error}", part.part))
    })?;
    Ok(PartSource { name: part.part.as_str().into(), description, path: backup.file(part)? })
}
