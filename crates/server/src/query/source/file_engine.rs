//! Tables of the engine `File` and of those over S3: what reads and writes the file of a definition that storage keeps. A table without a path has a file of its
//! own below the server's data; one with a path has a file among those of users.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_files::{DeclaredColumns, Defaults, FileTable, FileTableOptions, Reach, TargetFile};
use squall_formats::FormatOptions;
use squall_planner::{ColumnDescription, Constraint, PlannerContext, TableMetadata, named_like, parse_table_function};
use squall_storage::{Insertion, ScanRequest, StoredFile, Table, TableHandle, TableScan};
use squall_types::{Error, ErrorCode, Result, Value};

use super::{data_function, s3};
use crate::query::insertion::omitted::TableDefaults;
use crate::query::plan::catalog::QueryCatalog;
use crate::query::plan::planning;
use crate::server::Server;
use crate::session::Session;

/// The definition that storage keeps of such a table; `None` for tables of other engines.
fn stored(table: &dyn Table) -> Option<&StoredFile> {
    table.as_any().downcast_ref()
}

/// A table's file, and where it may be.
fn place(server: &Server, table: &StoredFile) -> Result<(FileTableOptions, Reach)> {
    let (path, reach) = match table.path() {
        Some(path) => (path.to_owned(), server.file_reach()?),
        None => {
            let file = own_folder(server, table).join(format!("data.{}", table.format()));
            (file.to_string_lossy().into_owned(), Reach::Anywhere)
        }
    };
    let options = FileTableOptions {
        path,
        format: table.format().to_owned(),
        declared: None,
        compression: table.compression().unwrap_or_default().to_owned(),
    };
    Ok((options, reach))
}

fn own_folder(server: &Server, table: &StoredFile) -> PathBuf {
    Path::new(&server.config.load().server.path).join(table.own_folder())
}

/// The table as queries read it, where it is one of this engine.
///
/// # Errors
/// Those of the paths and settings. What is wrong with the file is told by the scan.
pub(in crate::query) fn opened(
    catalog: &QueryCatalog<'_>,
    table: &dyn TableMetadata,
) -> Result<Option<Arc<dyn TableMetadata>>> {
    let session = catalog.session();
    let Ok(handle) = TableHandle::of(table) else { return Ok(None) };
    let Some(file) = stored(&*handle.0).filter(|file| file.s3_call().is_none()) else { return Ok(None) };
    let (options, reach) = place(&session.server, file)?;
    let formats = FormatOptions::new(session.settings.clone(), &session.server.zone)?;
    let rows = FileTable::with_columns(&options, (**file.stored()).clone(), &reach, formats);
    Ok(Some(put_in_place(catalog, handle, file, rows)?))
}

/// The same of a table of objects of S3; other tables stay as they are. Waits for the server.
///
/// # Errors
/// What is wrong with the engine's arguments. What is wrong with the objects is told by the scan.
pub(in crate::query) fn opened_elsewhere(
    catalog: &QueryCatalog<'_>,
    table: Arc<dyn TableMetadata>,
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn TableMetadata>> {
    let Ok(handle) = TableHandle::of(&*table) else { return Ok(table) };
    let Some(file) = stored(&*handle.0) else { return Ok(table) };
    let Some(arguments) = s3_arguments(file)? else { return Ok(table) };
    planner.subqueries.check_may_run()?;
    let rows = s3::engine_table(catalog.session(), &arguments, file.stored());
    put_in_place(catalog, handle, file, rows)
}

/// The arguments of a table of an engine over S3; `None` for a file.
fn s3_arguments(file: &StoredFile) -> Result<Option<Vec<Value>>> {
    let Some(call) = file.s3_call() else { return Ok(None) };
    data_function::literals(&*parse_table_function(&call)?).map(Some)
}

/// A table's definition with its rows.
fn put_in_place(
    catalog: &QueryCatalog<'_>,
    handle: &TableHandle,
    file: &StoredFile,
    // A table without a file can be described, and learns of one when it is read.
    mut rows: Result<FileTable>,
) -> Result<Arc<dyn TableMetadata>> {
    if let Some(defaults) = defaults(catalog, file)? {
        rows = rows.map(|rows| rows.with_defaults(defaults));
    }
    let mut columns = file.columns().to_vec();
    let mut virtual_columns = 0;
    if let Ok(rows) = &rows {
        // `_path`, `_file` and their kin, but those that the table has for its own.
        virtual_columns = rows.virtual_columns();
        columns.extend_from_slice(rows.columns().split_at(rows.columns().len() - virtual_columns).1);
    }
    let rows = rows.map(|rows| Arc::new(rows) as Arc<dyn Table>);
    let opened = OpenedFile { stored: handle.0.clone(), rows, columns, virtual_columns };
    Ok(Arc::new(TableHandle(Arc::new(opened))))
}

/// What fills in columns that the file may leave out; `None` where the types' defaults do.
fn defaults(catalog: &QueryCatalog<'_>, file: &StoredFile) -> Result<Option<Arc<dyn Defaults>>> {
    let session = catalog.session();
    let planner = PlannerContext {
        catalog,
        settings: &session.settings,
        functions: planning::function_context(session, &"".into(), catalog.lookups()),
        parameters: &session.parameters,
        subqueries: &planning::Refuser::default(),
    };
    TableDefaults::of(file.columns(), &planner)
}

/// What takes the rows of an INSERT into a table of this engine.
///
/// # Errors
/// Those of the file.
pub(in crate::query) fn target(session: &Session, table: &Arc<dyn Table>) -> Result<Option<Arc<dyn Table>>> {
    let Some(file) = stored(&**table) else { return Ok(None) };
    let columns = file.columns().to_vec();
    if let Some(arguments) = s3_arguments(file)? {
        let rows = s3::engine_target(session, &arguments, file.stored())?;
        return Ok(Some(Arc::new(OpenedFile { stored: table.clone(), rows: Ok(rows), columns, virtual_columns: 0 })));
    }
    let (options, reach) = place(&session.server, file)?;
    let formats = FormatOptions::new(session.settings.clone(), &session.server.zone)?;
    let rows = Arc::new(TargetFile::new(&options, DeclaredColumns::plain(file.stored()), &reach, formats)?);
    Ok(Some(Arc::new(OpenedFile { stored: table.clone(), rows: Ok(rows), columns, virtual_columns: 0 })))
}

/// Removes the rows of a table of this engine: a table that is dropped leaves a file of users, one that is emptied leaves an empty file.
///
/// # Errors
/// `CANNOT_TRUNCATE_FILE`.
pub(in crate::query) fn remove_rows(session: &Session, table: &dyn Table, is_dropped: bool) -> Result<()> {
    let server = &session.server;
    let Some(file) = stored(table) else { return Ok(()) };
    if let Some(arguments) = s3_arguments(file)? {
        return if is_dropped { Ok(()) } else { s3::remove(session, &arguments) };
    }
    let removed = if is_dropped {
        if file.path().is_some() {
            return Ok(());
        }
        std::fs::remove_dir_all(own_folder(server, file))
    } else {
        let (options, reach) = place(server, file)?;
        let path = reach.target(&options.path)?;
        std::fs::File::options().write(true).truncate(true).open(path).map(drop)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let message = format!("Cannot remove the rows of table {}.{}: {error}", file.database(), file.name());
            Err(Error::new(ErrorCode::CANNOT_TRUNCATE_FILE, message))
        }
        _ => Ok(()),
    }
}

/// A table's name and columns, over what reads its file or what writes it.
#[derive(Debug)]
struct OpenedFile {
    stored: Arc<dyn Table>,
    rows: Result<Arc<dyn Table>>,
    /// The table's columns, and behind them those that tell of the file.
    columns: Vec<ColumnDescription>,
    virtual_columns: usize,
}

impl TableMetadata for OpenedFile {
    named_like!(stored);

    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn virtual_columns(&self) -> usize {
        self.virtual_columns
    }
    fn rows(&self) -> Option<u64> {
        self.rows.as_ref().ok()?.rows()
    }
    fn constraints(&self) -> &[Constraint] {
        self.stored.constraints()
    }
}

impl Table for OpenedFile {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let file = stored(&*self.stored).ok_or_else(|| Error::logical("a file's table without a file"))?;
        // The condition prunes nothing that has no statistics, and its columns are the table's.
        let own = self.columns.len() - self.virtual_columns;
        let in_file = file.stored().len();
        let columns = request.columns.iter().map(|column| match column.checked_sub(own) {
            Some(at) => Ok(in_file + at),
            None => file.stored_columns(&[*column])?.first().copied().ok_or_else(|| Error::logical("no such column")),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.rows.clone()?.scan(&ScanRequest { columns, ..request.clone() })
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        self.rows.clone()?.insert()
    }
}
