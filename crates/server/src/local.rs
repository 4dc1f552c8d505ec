//! `squall local`: the engine in the process of who uses it, without ports, users and logs. A session runs statements one after the other;
//! results go to standard output, and data of an INSERT come from standard input where they are not in its text.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_files::{Data, FileTable, Stream};
use squall_formats::{FormatOptions, output_format};
use squall_sql::{ParsedStatement, ParserLimits};
use squall_types::{Error, ErrorCode, Result};

use crate::config::{Config, ConfigSource, Local};
use crate::http::{Compression, ResultWriter, new_query_id};
use crate::query::{Query, QueryRequest};
use crate::server::Server;
use crate::session::Session;

/// Bytes of a result that are written at once.
const WRITE_BYTES: usize = 256 << 10;
/// The format of results that name none.
const DEFAULT_FORMAT: &str = "TabSeparated";
/// Bytes of data that are read at once.
const READ_BYTES: usize = 128 << 10;

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

    /// The table. Waits for its first rows where its columns are not said.
    ///
    /// # Errors
    /// Where the columns cannot be told.
    pub(crate) fn table(&self, options: FormatOptions) -> Result<Arc<FileTable>> {
        let mut made = self.made.lock();
        if let Some(table) = &*made {
            return Ok(table.clone());
        }
        let format = match self.format.as_str() {
            "" | "auto" => self.stream.format()?,
            format => format,
        };
        let data = Data::Stream(self.stream.clone());
        let table = Arc::new(FileTable::of_data(&self.table, data, format, &self.structure, options)?);
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
    /// Settings.
    pub settings: Vec<(String, String)>,
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
        for (name, value) in &options.settings {
            session.set(name, value)?;
        }
        if let Some(database) = &options.database {
            session.use_database(database)?;
        }
        Ok(Self { session })
    }

    /// The session itself.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs the statements of a text one after the other. Results go to `out`, in `format` where a statement names none; data of an INSERT
    /// that are not in the text come from standard input.
    ///
    /// # Errors
    /// That of the first statement that fails.
    pub async fn run(&mut self, text: &str, format: Option<&str>, out: &mut dyn Write) -> Result<()> {
        let statements = squall_sql::parse_many(text, &ParserLimits::default())
            .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.message))?;
        for statement in &statements {
            self.run_one(text.as_bytes(), statement, format, out).await?;
        }
        Ok(())
    }

    async fn run_one(
        &mut self,
        text: &[u8],
        parsed: &ParsedStatement,
        format: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let begin = parsed.span.start as usize;
        let end = parsed.data.map_or(parsed.span.end as usize, |(_, end)| end);
        let text = text.get(begin..end).unwrap_or_default();
        let request = QueryRequest { text, query_id: new_query_id(), settings: &[] };
        let mut query = Query::start(&mut self.session, request).await?;
        if let Some((format, inline)) = query.insert_format() {
            let format = format.clone();
            let inline = inline.and_then(|start| text.get(start..)).unwrap_or_default();
            let inserted = match self.session.server.any_standard_input() {
                Some(input) if inline.trim_ascii().is_empty() => match input.stream.take() {
                    Ok(mut data) => insert(&mut query, &format, &mut *data).await,
                    Err(error) => Err(error),
                },
                _ => insert(&mut query, &format, &mut { inline }).await,
            };
            inserted.inspect_err(|error| query.fail(error))?;
        } else if let Some(schema) = query.schema().cloned() {
            let named = query.format().map(ToString::to_string);
            let format = named.as_deref().or(format).unwrap_or(DEFAULT_FORMAT);
            let options = FormatOptions::new(query.settings().clone(), &self.session.server.zone)?;
            let format = output_format(format, &schema, &options)?;
            let mut writer = ResultWriter::new(query, format, Compression::None);
            loop {
                let filled = writer.fill(WRITE_BYTES).await;
                // What came before an error is part of the result.
                out.write_all(&writer.take()?).map_err(|error| cannot_write(&error))?;
                if filled? {
                    break;
                }
            }
            query = writer.into_query();
        }
        query.finish();
        out.flush().map_err(|error| cannot_write(&error))
    }
}

fn cannot_write(error: &io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, format!("Cannot write the result: {error}"))
}

/// Feeds an INSERT with all that is read.
async fn insert(query: &mut Query, format: &str, data: &mut (dyn Read + Send)) -> Result<()> {
    let Some(sink) = query.insert_sink() else { return Err(Error::logical("an INSERT without a sink")) };
    let mut reader = sink.reader(format)?;
    let mut chunk = vec![0; READ_BYTES];
    loop {
        let bytes = data.read(&mut chunk).map_err(|error| {
            Error::new(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, format!("Cannot read standard input: {error}"))
        })?;
        if bytes == 0 {
            break;
        }
        let blocks = sink.within(|| {
            let mut blocks = Vec::new();
            reader.feed(chunk.get(..bytes).unwrap_or_default(), &mut blocks).map(|()| blocks)
        })?;
        for block in blocks {
            sink.send_input(block).await?;
        }
    }
    sink.send_rest(reader).await?;
    query.finish_insert().await
}
