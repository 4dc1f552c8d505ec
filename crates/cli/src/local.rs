//! `squall local`: its arguments. What it does is the server crate's: the same engine, in this process.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use squall_server::local::{LocalOptions, LocalSession, StandardInput};
use squall_types::{Error, ErrorCode, Result, Settings};

/// Query files in this process, without a server.
///
/// Any file is a table: FROM 'data/*.parquet', FROM file('x.csv.gz'). Standard input is the table `table`. Every setting is an option:
/// --max_threads 4.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  squall local -q \"SELECT count() FROM 'data/*.parquet'\"
  squall local -q \"DESCRIBE 'hits.csv.gz'\"
  ps aux | squall local --input-format LineAsString -q \"SELECT line FROM table LIMIT 3\"
  squall local --path ./data -q \"CREATE TABLE t ENGINE = MergeTree ORDER BY id AS SELECT * FROM 'rows.json'\"")]
pub struct Args {
    /// SQL to run; several statements with semicolons between them, or this option several times
    #[arg(short, long, value_name = "SQL")]
    query: Vec<String>,
    /// Files with SQL to run
    #[arg(long, visible_alias = "queries_file", value_name = "FILE")]
    queries_file: Vec<PathBuf>,
    /// Folder of tables that stay; without it they end with the process
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Database to begin in
    #[arg(short, long, value_name = "NAME")]
    database: Option<String>,
    /// Format of results that name none
    #[arg(long, visible_alias = "output_format", value_name = "FORMAT")]
    output_format: Option<String>,
    /// Format of standard input as a table; told from its first bytes where it is not given
    #[arg(long, visible_alias = "input_format", value_name = "FORMAT")]
    input_format: Option<String>,
    /// Format of both
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<String>,
    /// Columns of standard input, as in 'a UInt8, b String'; inferred where they are not given
    #[arg(short = 'S', long, value_name = "COLUMNS")]
    structure: Option<String>,
    /// Name of the table that standard input is
    #[arg(short = 'N', long, default_value = "table", value_name = "NAME")]
    table: String,
    /// Settings, taken from the command line before it is read
    #[arg(skip)]
    settings: Vec<(String, String)>,
}

/// Takes the options out of a command line that are settings or query parameters: `--max_threads 4`, `--param_x=1`.
pub fn take_settings(arguments: &mut Vec<String>) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut rest = Vec::new();
    let mut next = std::mem::take(arguments).into_iter().peekable();
    while let Some(argument) = next.next() {
        let written = argument.strip_prefix("--").unwrap_or_default();
        let (name, value) = match written.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (written, None),
        };
        let name = if name.starts_with("param_") { name.to_owned() } else { name.replace('-', "_") };
        let known = Settings::description(&name);
        if known.is_none() && !name.starts_with("param_") {
            // `--` ends the options.
            let is_end = argument == "--";
            rest.push(argument);
            if is_end {
                rest.extend(next.by_ref());
            }
            continue;
        }
        let is_flag = known.is_some_and(|known| known.setting_type == squall_types::settings::SettingType::Bool);
        let value = match value {
            Some(value) => value,
            None if is_flag && next.peek().is_none_or(|following| following.starts_with('-')) => "1".to_owned(),
            None => next.next().unwrap_or_default(),
        };
        settings.push((name, value));
    }
    *arguments = rest;
    settings
}

/// Runs it.
pub fn run(mut args: Args, settings: Vec<(String, String)>) -> ExitCode {
    args.settings = settings;
    match args.run() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the result has seen enough.
        Err(error)
            if error.code == ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR && error.message.contains("Broken pipe") =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{} ({}, {})", error.message.trim_end(), error.code.name(), error.code.0);
            let code = u8::try_from(error.code.0.rem_euclid(256)).unwrap_or(0);
            ExitCode::from(if code == 0 { 255 } else { code })
        }
    }
}

impl Args {
    fn run(self) -> Result<()> {
        let stdin_is_terminal = std::io::stdin().is_terminal();
        let mut texts = self.query.clone();
        for file in &self.queries_file {
            texts.push(read_text(file)?);
        }
        let has_queries = !texts.is_empty();
        if !has_queries {
            if stdin_is_terminal {
                let message = "Nothing to run: give SQL with --query, --queries-file or on standard input";
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| cannot_read(Path::new("standard input"), &error))?;
            texts.push(text);
        }
        // A table that is made must be somewhere.
        let is_kept = self.path.is_some();
        let makes_tables = texts.iter().any(|text| has_word(text, "create") || has_word(text, "attach"));
        let temporary = if is_kept || !makes_tables { None } else { Some(TemporaryFolder::new()?) };
        let input_format = self.input_format.or_else(|| self.format.clone()).unwrap_or_default();
        let input = (has_queries && !stdin_is_terminal).then(|| {
            StandardInput::new(self.table, input_format, self.structure.unwrap_or_default(), Box::new(std::io::stdin()))
        });
        let options = LocalOptions {
            path: self.path.or_else(|| temporary.as_ref().map(|folder| folder.0.clone())),
            database: self.database,
            settings: self.settings,
            input,
        };
        let output_format = self.output_format.or(self.format);
        let terminal = std::io::stdout().is_terminal();
        let format = output_format.or_else(|| terminal.then(|| "PrettyCompact".to_owned()));
        // As deep as a query may nest.
        let running =
            std::thread::Builder::new().stack_size(squall_runtime::thread_pool::STACK_BYTES).spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .thread_stack_size(squall_runtime::thread_pool::STACK_BYTES)
                    .build()
                    .map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
                let mut session = LocalSession::open(options)?;
                let mut out = std::io::stdout().lock();
                let result = runtime.block_on(async {
                    for text in &texts {
                        session.run(text, format.as_deref(), &mut out).await?;
                    }
                    Ok(())
                });
                let _ = out.flush();
                runtime.shutdown_background();
                result
            });
        let running = running.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
        let result = running.join().unwrap_or_else(|_| Err(Error::logical("a panic in squall local")));
        drop(temporary);
        result
    }
}

fn read_text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|error| cannot_read(file, &error))
}

fn cannot_read(file: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot read {}: {error}", file.display()))
}

/// Whether a text has a word, in any case.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .any(|part| part.eq_ignore_ascii_case(word))
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
    fn settings_are_taken_out_of_the_command_line() {
        let line = "-q x --max_threads 4 --max-block-size=7 --extremes --param_id 3 --path p -- --max_threads 9";
        let mut arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let settings = take_settings(&mut arguments);
        let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(settings.join(" "), "max_threads=4 max_block_size=7 extremes=1 param_id=3");
        assert_eq!(arguments.join(" "), "-q x --path p -- --max_threads 9");
    }

    #[test]
    fn words_are_found() {
        assert!(has_word("drop table x; Create\ttable y", "create"));
        assert!(!has_word("SELECT created, recreate FROM x", "create"));
    }
}
