//! `squall local`: the engine in the process of who uses it, without ports, users and logs, and standard input as a table of it. What runs
//! statements and shows results is the shell's.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_files::{Data, DeclaredColumns, FileTable, Stream};
use squall_formats::FormatOptions;
use squall_types::Result;

use crate::config::{Config, ConfigSource, Local};
use crate::server::Server;
use crate::session::Session;

/// Standard input as a table.
pub struct StandardInput {
    /// The table's name.
    pub table: String,
    /// Its format, told from the first bytes where it is empty.
    pub format: String,
    /// Its columns, inferred where they are empty.
    pub structure: String,
    /// The bytes.
    pub stream: Arc<Stream>,
    made: Mutex<Option<Arc<FileTable>>>,
}

impl StandardInput {
    /// A table over what is read from `input`.
    pub fn new(table: String, format: String, structure: String, input: Box<dyn Read + Send>) -> Self {
        Self { table, format, structure, stream: Arc::new(Stream::new(input)), made: Mutex::default() }
    }

    /// The table, with the columns of its structure. Waits for its first rows where they are not said.
    ///
    /// # Errors
    /// Where the columns cannot be told.
    pub(crate) fn table(&self, declared: Option<DeclaredColumns>, options: FormatOptions) -> Result<Arc<FileTable>> {
        let mut made = self.made.lock();
        if let Some(table) = &*made {
            return Ok(table.clone());
        }
        let format = match self.format.as_str() {
            "" | "auto" => self.stream.format()?,
            format => format,
        };
        let data = Data::Stream(self.stream.clone());
        let table = Arc::new(FileTable::of_data(&self.table, data, format, declared, options)?);
        *made = Some(table.clone());
        Ok(table)
    }
}

/// How a session of `squall local` is opened.
pub struct LocalOptions {
    /// The folder of tables that stay; without one nothing is kept.
    pub path: Option<PathBuf>,
    /// The name of the database to begin in.
    pub database: Option<String>,
    /// Standard input as a table.
    pub input: Option<StandardInput>,
}

/// A session of `squall local`.
pub struct LocalSession {
    session: Session,
}

impl LocalSession {
    /// Starts the engine.
    ///
    /// # Errors
    /// Where the folder cannot be opened; those of settings.
    pub fn open(options: LocalOptions) -> Result<Self> {
        let (local, path) = match &options.path {
            Some(path) => (Local::InFolder, path.display().to_string()),
            None => (Local::Transient, "squall-data".to_owned()),
        };
        let overrides = vec![("path".to_owned(), path)];
        let source = ConfigSource { overrides, local: Some(local), ..ConfigSource::default() };
        let server = Server::start(Config::load(&source)?, source)?;
        if let Some(input) = options.input {
            server.set_standard_input(input);
        }
        let mut session = Session::of_server(server);
        if let Some(database) = &options.database {
            session.use_database(database)?;
        }
        Ok(Self { session })
    }

    /// Another session of the same engine.
    pub fn of(server: Arc<Server>) -> Self {
        Self { session: Session::of_server(server) }
    }

    /// The session itself.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
}
