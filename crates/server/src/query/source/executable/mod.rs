//! The function `executable` and the engine `Executable`: what a program of the folder `user_scripts_path` prints, in a format.

mod run;
mod settings;

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_files::{Account, DeclaredColumns, Reach};
use squall_planner::{ColumnDescription, Plan, Program, TableMetadata};
use squall_storage::{FedScan, ScanRequest, Table, TableScan};
use squall_types::{Error, ErrorCode, Result, Schema};

use self::settings::RunSettings;
use crate::query::plan::catalog::TABLE_FUNCTION_DATABASE;
use crate::session::Session;

/// A table of what a program prints.
pub(in crate::query) struct ExecutableTable {
    session: Session,
    script: Arc<Script>,
    columns: Vec<ColumnDescription>,
}

/// A program and what it is given.
struct Script {
    /// The program's path in the folder, and its arguments.
    words: Vec<String>,
    format: String,
    /// The columns that it prints.
    schema: Arc<Schema>,
    settings: RunSettings,
    /// Makes the rows that it reads.
    input: Option<Plan>,
}

impl std::fmt::Debug for ExecutableTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutableTable").field("words", &self.script.words).finish_non_exhaustive()
    }
}

impl ExecutableTable {
    /// What the program prints in the name of this session.
    ///
    /// # Errors
    /// What is wrong with the format, the structure and the settings; `NOT_IMPLEMENTED` for several queries.
    pub(in crate::query) fn new(session: &Session, program: &Program, mut inputs: Vec<Plan>) -> Result<Self> {
        let input = inputs.pop();
        if !inputs.is_empty() {
            return Err(Error::not_implemented("A program that reads the rows of several queries"));
        }
        squall_formats::check_format(&program.format)?;
        let declared = DeclaredColumns { columns: program.columns.clone(), defaults: None };
        let script = Script {
            words: program.command.split_ascii_whitespace().map(str::to_owned).collect(),
            format: program.format.clone(),
            schema: Arc::new(declared.read()),
            settings: RunSettings::new(&program.settings)?,
            input,
        };
        Ok(Self { session: session.clone(), script: Arc::new(script), columns: declared.columns })
    }
}

/// Checks what storage knows nothing of in the definition of a table of the engine `Executable`.
///
/// # Errors
/// `UNKNOWN_SETTING`, `BAD_ARGUMENTS`.
pub(in crate::query) fn check_settings(settings: &[(Arc<str>, Arc<str>)]) -> Result<()> {
    RunSettings::new(settings).map(drop)
}

impl Script {
    /// The program's file. Waits for the disk.
    ///
    /// # Errors
    /// `UNSUPPORTED_METHOD` where it is not there, or leads out of the folder.
    fn file(&self, session: &Session) -> Result<PathBuf> {
        let folder = &session.server.config.load().server.user_scripts_path;
        let name = self.words.first().map_or("", String::as_str);
        let refused = |why: &str| {
            let message = format!("Executable file {name} {why} user scripts folder {folder}");
            Error::new(ErrorCode::UNSUPPORTED_METHOD, message)
        };
        let absolute = std::path::absolute(Path::new(folder)).map_err(|_| refused("does not exist inside"))?;
        Reach::Inside(absolute).existing(name).map_err(|error| match error.code {
            ErrorCode::DATABASE_ACCESS_DENIED => refused("must be inside"),
            _ => refused("does not exist inside"),
        })
    }
}

impl TableMetadata for ExecutableTable {
    fn database(&self) -> &str {
        TABLE_FUNCTION_DATABASE
    }
    fn name(&self) -> &str {
        "executable"
    }
    fn engine(&self) -> &str {
        "Executable"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for ExecutableTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let (session, script) = (self.session.clone(), self.script.clone());
        let printed = |(name, _): &(Arc<str>, squall_types::DataType)| self.script.schema.position(name);
        let columns: Vec<usize> = request.schema.fields.iter().filter_map(printed).collect();
        let schema = request.schema.clone();
        Ok(Arc::new(FedScan::new(move |feed| {
            Account::of_this_thread().on_thread(move || {
                if let Err(error) = run::run(&session, &script, (&columns, &schema), &feed) {
                    // Who has gone does not want to know.
                    let _ = feed.blocking_send(Err(error));
                }
            })
        })))
    }
}
