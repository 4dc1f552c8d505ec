//! `squall local`: its arguments. Statements are run and shown as `squall client` does it, on the engine in this process.

mod in_process;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use in_process::InProcess;
use squall_client::RunArgs;
use squall_server::local::{LocalOptions, LocalSession, StandardInput};
use squall_types::{Error, ErrorCode, Result};

/// Options that are no settings, though settings may have their names.
pub const OPTIONS: &[&str] = &["input-format", "input_format", "path", "database", "structure", "table"];

/// Query files in this process, without a server.
///
/// Any file is a table: FROM 'data/*.parquet', FROM file('x.csv.gz'). Standard input is the table `table`. Without a query and with a terminal
/// it opens a shell. Every setting is an option (--max_threads=4), and so is every query parameter (--param_id=7). The exit code is the error's
/// code modulo 256.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  squall local
  squall local -q \"SELECT count() FROM 'data/*.parquet'\"
  squall local -q \"DESCRIBE TABLE 'hits.csv.gz'\"
  ps aux | squall local --input-format LineAsString -q 'SELECT line FROM table LIMIT 3'
  squall local --path ./data -q 'SELECT count() FROM t'")]
pub struct Args {
    /// Folder of tables that stay; without it they end with the process
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Database that unqualified names mean
    #[arg(short = 'd', long, value_name = "DATABASE")]
    database: Option<String>,
    /// Format of standard input as a table; told by its first bytes where it is not given
    #[arg(long, visible_alias = "input_format", value_name = "FORMAT")]
    input_format: Option<String>,
    /// Columns of standard input, as in 'a UInt8, b String'; inferred where they are not given
    #[arg(short = 'S', long, value_name = "COLUMNS")]
    structure: Option<String>,
    /// Name of the table that standard input is
    #[arg(short = 'N', long, default_value = "table", value_name = "NAME")]
    table: String,
    #[command(flatten)]
    run: RunArgs,
}

impl Args {
    /// Runs what is asked for.
    pub fn run(self) -> ExitCode {
        squall_client::finished(self.try_run())
    }

    fn try_run(self) -> Result<()> {
        // A table that is made must be somewhere.
        let temporary = if self.path.is_some() || !self.makes_tables() { None } else { Some(TemporaryFolder::new()?) };
        let has_statements = !self.run.query.is_empty() || !self.run.queries_file.is_empty();
        let input = if has_statements && !io::stdin().is_terminal() { Some(self.standard_input()?) } else { None };
        let options = LocalOptions {
            path: self.path.or_else(|| temporary.as_ref().map(|folder| folder.0.clone())),
            database: self.database,
            input,
        };
        let run = self.run;
        // As deep as a statement may nest.
        let stack = squall_runtime::thread_pool::STACK_BYTES;
        let work = move || run.run(Box::new(InProcess::new(LocalSession::open(options)?)?));
        let running = std::thread::Builder::new().stack_size(stack).spawn(work);
        let running = running.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
        let result = running.join().unwrap_or_else(|_| Err(Error::logical("a panic in squall local")));
        drop(temporary);
        result
    }

    /// Whether statements may make tables that need a folder.
    fn makes_tables(&self) -> bool {
        let mut texts: Vec<String> = self.run.query.clone();
        // What cannot be read here is told when it is run.
        texts.extend(self.run.queries_file.iter().filter_map(|file| std::fs::read_to_string(file).ok()));
        texts.is_empty() || self.run.interactive || texts.iter().any(|text| has_word(text, &["create", "attach"]))
    }

    /// Standard input as a table. The file itself is read: what reads statements has its own buffer.
    fn standard_input(&self) -> Result<StandardInput> {
        let file = io::stdin().as_fd().try_clone_to_owned().map_err(|error| {
            Error::new(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, format!("Cannot read standard input: {error}"))
        })?;
        let (format, structure) = (self.input_format.clone(), self.structure.clone());
        let input = Box::new(File::from(file));
        Ok(StandardInput::new(self.table.clone(), format.unwrap_or_default(), structure.unwrap_or_default(), input))
    }
}

/// Whether a text has one of these words, in any case.
fn has_word(text: &str, words: &[&str]) -> bool {
    let mut parts = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    parts.any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// A folder that goes with the process.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("squall-local-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| {
            Error::new(ErrorCode::CANNOT_CREATE_DIRECTORY, format!("Cannot create {}: {error}", path.display()))
        })?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found() {
        assert!(has_word("drop table x; Create\ttable y", &["create"]));
        assert!(!has_word("SELECT created, recreate FROM x", &["create"]));
    }
}
