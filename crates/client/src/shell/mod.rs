//! The shell: reads statements and commands from a terminal, runs them, and goes on after errors.

mod commands;
mod completer;
mod editor;
mod names;

use std::io;
use std::path::PathBuf;

use commands::Action;
use editor::{ShellPrompt, editor};
use names::Names;
use reedline::{Reedline, Signal};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use squall_sql::ast::Statement;
use squall_sql::next_statement;
use squall_types::{Error, ErrorCode, Result};

use crate::run::{LIMITS, Runner, file_error, is_nobody_reading, quoted};
use crate::session::ask;
use crate::{sentence, style};

/// How the shell looks.
#[derive(Debug, Clone, Default)]
pub struct ShellOptions {
    /// Where statements are kept; `~/.squall-history` where nothing is said.
    pub history_file: Option<PathBuf>,
    /// Whether there are colours.
    pub has_colours: bool,
    /// Whether Tab knows the server's names.
    pub has_suggestions: bool,
}

/// A shell on a session.
pub struct Shell {
    runner: Runner,
    options: ShellOptions,
    names: Names,
}

impl Shell {
    /// A shell that runs statements so.
    pub fn new(runner: Runner, options: ShellOptions) -> Self {
        Shell { runner, options, names: Names::default() }
    }

    /// Reads and runs until its user leaves.
    ///
    /// # Errors
    /// Where there is no terminal to read from.
    pub fn run(mut self) -> Result<()> {
        let peer = self.runner.session.peer().clone();
        println!("Squall {} · {}", env!("CARGO_PKG_VERSION"), peer.description);
        println!("Statements end with ;  .help lists commands, Ctrl-D leaves.\n");
        self.load_names();
        let history_file = match &self.options.history_file {
            Some(file) => Some(file.clone()),
            None => std::env::home_dir().map(|home| home.join(".squall-history")),
        };
        let mut editor = editor(history_file, self.options.has_colours, &self.names)?;
        let prompt = ShellPrompt { name: peer.display_name };
        let _quiet = QuietKeys::begin();
        while let Some(line) = read(&mut editor, &prompt)? {
            // What was typed is kept also where the program is ended while the statement runs.
            let _ = editor.sync_history();
            match commands::parse(&line).filter(|_| commands::is_command(line.trim())) {
                Some(Ok((Action::Quit, _))) => break,
                Some(Ok((action, argument))) => {
                    if let Err(error) = self.command(action, argument) {
                        complain(&error);
                    }
                }
                Some(Err(word)) => eprintln!("There is no command {word}; .help lists them."),
                None => self.statements(&line),
            }
        }
        println!("Bye.");
        Ok(())
    }

    /// Reads the names that Tab completes.
    fn load_names(&mut self) {
        if self.options.has_suggestions {
            self.names.load(&mut *self.runner.session);
        }
    }

    /// Runs what was typed up to the first error.
    fn statements(&mut self, text: &str) {
        let mut begin = 0;
        let mut changes_names = false;
        while let Some(statement) = next_statement(text, begin, &LIMITS) {
            begin = statement.end;
            changes_names |= statement.statement.as_ref().is_ok_and(is_about_names);
            if let Err(error) = self.runner.statement(text.as_bytes(), statement, None) {
                complain(&error);
                break;
            }
        }
        if changes_names {
            self.load_names();
        }
    }

    fn command(&mut self, action: Action, argument: &str) -> Result<()> {
        let options = &mut self.runner.options;
        match action {
            Action::Help => println!("{}", commands::help()),
            Action::Tables if argument.is_empty() => self.list("SHOW TABLES")?,
            Action::Tables => self.list(&format!("SHOW TABLES LIKE {}", quoted(argument)))?,
            Action::Databases => self.list("SHOW DATABASES")?,
            Action::Describe if argument.is_empty() => self.list("SHOW TABLES")?,
            Action::Describe => self.statements(&format!("DESCRIBE TABLE {argument}")),
            Action::Schema => self.schema(argument)?,
            Action::Use if argument.is_empty() => eprintln!("Say which: .use DATABASE"),
            Action::Use => self.statements(&format!("USE {argument}")),
            Action::Timer => {
                options.has_time = switched(argument, options.has_time);
                println!("Times are {}.", on_or_off(options.has_time));
            }
            Action::Progress => {
                options.has_progress = switched(argument, options.has_progress);
                println!("Progress is {}.", on_or_off(options.has_progress));
            }
            Action::Mode if argument.is_empty() => println!("Results are in the format {}.", options.format),
            Action::Mode => {
                let is_meant =
                    |(name, _, is_output): &(&str, bool, bool)| *is_output && name.eq_ignore_ascii_case(argument);
                let Some((name, ..)) = squall_formats::formats().find(is_meant) else {
                    let message = format!("There is no output format {argument}");
                    return Err(Error::new(ErrorCode::UNKNOWN_FORMAT, message));
                };
                options.format = name.to_owned();
            }
            Action::Pager => {
                options.pager = match argument {
                    "" => Some(std::env::var("PAGER").unwrap_or_else(|_| "less -SR".to_owned())),
                    "off" => None,
                    command => Some(command.to_owned()),
                };
            }
            Action::Read => {
                let script = std::fs::read(argument).map_err(|error| file_error(argument, &error))?;
                self.runner.script(&script, None)?;
                self.load_names();
            }
            Action::Rehash => {
                self.load_names();
            }
            Action::Quit => {}
        }
        Ok(())
    }

    /// Prints the first column of a short result.
    fn list(&mut self, query: &str) -> Result<()> {
        for row in ask(&mut *self.runner.session, query)? {
            println!("{}", row.first().map(String::as_str).unwrap_or_default());
        }
        Ok(())
    }

    /// Prints the statements that create a table, or all of the database.
    fn schema(&mut self, table: &str) -> Result<()> {
        let session = &mut *self.runner.session;
        let tables = match table {
            "" => ask(session, "SHOW TABLES")?.into_iter().flatten().map(|name| format!("`{name}`")).collect(),
            table => vec![table.to_owned()],
        };
        for table in tables {
            for row in ask(session, &format!("SHOW CREATE TABLE {table}"))? {
                println!("{};\n", row.first().map(String::as_str).unwrap_or_default());
            }
        }
        Ok(())
    }
}

/// While it lives the terminal does not write `^C` for Ctrl-C, which would push the line of progress to where it cannot be taken away.
struct QuietKeys(Option<Termios>);

impl QuietKeys {
    fn begin() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHOCTL);
            // A terminal that cannot do this is used as it is.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for QuietKeys {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// The next line that was typed; `None` where the user leaves.
fn read(editor: &mut Reedline, prompt: &ShellPrompt) -> Result<Option<String>> {
    loop {
        match editor.read_line(prompt).map_err(|error| file_error("The terminal", &error))? {
            Signal::Success(line) if line.trim().is_empty() => {}
            Signal::Success(line) => return Ok(Some(line)),
            Signal::CtrlD => return Ok(None),
            // Ctrl-C takes back what was typed.
            _ => {}
        }
    }
}

fn complain(error: &Error) {
    // Who leaves the pager early has seen enough.
    if is_nobody_reading(error) {
        return;
    }
    eprintln!("{}\n", style::error(&sentence(error)));
}

/// Whether a statement changes which names there are.
fn is_about_names(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Delete(_)
            | Statement::Show(_)
            | Statement::Describe(_)
            | Statement::Explain(_)
            | Statement::Exists(_)
            | Statement::Set(_)
            | Statement::Kill(_)
            | Statement::Optimize(_)
    )
}

fn switched(argument: &str, is_on: bool) -> bool {
    match argument {
        "on" | "1" => true,
        "off" | "0" => false,
        _ => !is_on,
    }
}

fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
