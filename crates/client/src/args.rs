//! The command line: of statements and how they are shown ([`RunArgs`], which `squall local` has too), and of the connection ([`Args`]).
//! Settings and query parameters may stand there by their own names; [`rewritten`] brings them into a form that clap knows.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ArgAction;
use squall_formats::{FormatOptions, SchemaFolder};
use squall_types::settings::SettingType;
use squall_types::{Result, Settings};

use crate::bad;
use crate::connections::{Configuration, Target};
use crate::external::External;
use crate::run::{Interrupt, Options, Runner, file_error};
use crate::session::{NativeSession, Session};
use crate::shell::{Shell, ShellOptions};

/// Talk to a server: from a terminal, a script or a pipe.
///
/// Without a query and with a terminal it opens a shell; `.help` lists what that knows. Otherwise it runs the statements given by --query,
/// --queries-file or standard input. Every setting may stand on the command line by its name (--max_threads=4), and every query parameter
/// (--param_id=7). The exit code is the server's error code modulo 256.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  squall client
  squall client --query 'SELECT 1'
  squall client -q 'SELECT {n:UInt8} + 1' --param_n=41 --format=JSON
  squall client -q 'INSERT INTO t FORMAT CSV' < rows.csv
  squall client -q \"SELECT * FROM t INTO OUTFILE 'rows.parquet' TRUNCATE\"
  squall client -q 'SELECT count() FROM ids' --external --file=ids.txt --name=ids --types=UInt64
  squall client clickhouse://reader:secret@db.example.com:9440/sales?secure"
)]
pub struct Args {
    /// Where to connect: clickhouse://user:password@host:port/database?secure, or a file with queries
    #[arg(value_name = "CONNECTION")]
    connection_string: Option<String>,
    /// Server's name or address, or a connection of the configuration file [env: CLICKHOUSE_HOST]
    #[arg(short = 'h', long, value_name = "HOST")]
    host: Option<String>,
    /// Port of the native protocol [default: 9000, or 9440 with --secure]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// User [env: CLICKHOUSE_USER] [default: default]
    #[arg(short = 'u', long, value_name = "USER")]
    user: Option<String>,
    /// Password; without a value it is asked for [env: CLICKHOUSE_PASSWORD]
    #[arg(long, value_name = "PASSWORD", num_args = 0..=1, default_missing_value = ASK)]
    password: Option<String>,
    /// Ask for the password
    #[arg(long)]
    ask_password: bool,
    /// Database that unqualified names mean [env: CLICKHOUSE_DATABASE]
    #[arg(short = 'd', long, value_name = "DATABASE")]
    database: Option<String>,
    /// Speak TLS
    #[arg(short = 's', long)]
    secure: bool,
    /// Do not speak TLS, whatever the configuration says
    #[arg(long, conflicts_with = "secure")]
    no_secure: bool,
    /// Certificates of the authorities that the server's is judged by [default: the system's]
    #[arg(long, visible_alias = "ca-config", value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, visible_alias = "accept_invalid_certificate")]
    accept_invalid_certificate: bool,
    /// A connection of the configuration file, by its name
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Configuration file of clickhouse-client, XML or YAML
    ///
    /// Without it the first of ./clickhouse-client.xml, ~/.clickhouse-client/config.xml and /etc/clickhouse-client/config.xml is read, or the
    /// same with .yaml or .yml.
    #[arg(short = 'C', long, visible_alias = "config", value_name = "FILE")]
    config_file: Option<PathBuf>,
    /// Seconds to wait for a connection
    #[arg(long, visible_alias = "connect_timeout", default_value_t = 10.0, value_name = "SECONDS")]
    connect_timeout: f64,
    /// Whether what is sent is compressed
    #[arg(long, default_value = "1", value_name = "0|1", num_args = 0..=1, default_missing_value = "1")]
    compression: String,
    #[command(flatten)]
    run: RunArgs,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// What stands for a password that is to be asked for.
const ASK: &str = "\n";

/// What is run and how it is shown.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct RunArgs {
    /// Statements to run, several with `;` between them; may be given more than once
    #[arg(short = 'q', long, value_name = "SQL")]
    pub query: Vec<String>,
    /// Files with statements
    #[arg(long, visible_alias = "queries_file", value_name = "FILE", num_args = 1..)]
    pub queries_file: Vec<PathBuf>,
    /// Open the shell even with --query or without a terminal, after what they say
    #[arg(short = 'i', long)]
    pub interactive: bool,
    /// Format of results that name none
    #[arg(short = 'f', long, visible_alias = "output-format", value_name = "FORMAT")]
    pub format: Option<String>,
    /// Format Vertical for results that name none
    #[arg(short = 'E', long)]
    pub vertical: bool,
    /// Show how far a statement is, on standard error
    #[arg(long, value_name = "on|off", num_args = 0..=1, default_missing_value = "on", require_equals = true)]
    pub progress: Option<String>,
    /// Tell the time of each statement, on standard error
    #[arg(short = 't', long)]
    pub time: bool,
    /// Go on after an error
    #[arg(long, visible_alias = "ignore_error")]
    pub ignore_error: bool,
    /// Show statements before they run
    #[arg(long)]
    pub echo: bool,
    /// Command that results are shown by, in the shell: 'less -SR'
    #[arg(long, value_name = "COMMAND")]
    pub pager: Option<String>,
    /// Id of the statement
    #[arg(long, visible_alias = "query_id", value_name = "ID")]
    pub query_id: Option<String>,
    /// A setting; --NAME=VALUE says the same
    #[arg(long, value_name = "NAME=VALUE")]
    pub setting: Vec<String>,
    /// A query parameter; --param_NAME=VALUE says the same
    #[arg(long, value_name = "NAME=VALUE")]
    pub param: Vec<String>,
    /// A table that comes with the queries; then its --file, --name, --format, --structure or --types
    #[arg(long, value_name = "TABLE", value_parser = external)]
    pub external: Vec<External>,
    /// Where the shell keeps statements [default: ~/.squall-history]
    #[arg(long, visible_alias = "history_file", env = "CLICKHOUSE_HISTORY_FILE", value_name = "FILE")]
    pub history_file: Option<PathBuf>,
    /// Neither colours nor highlighting
    #[arg(long, visible_alias = "no_highlight")]
    pub no_highlight: bool,
    /// Do not read names to complete from the server
    #[arg(short = 'A', long, visible_alias = "disable_suggestion")]
    pub disable_suggestion: bool,
    /// Several statements are always read
    #[arg(short = 'n', long, hide = true)]
    multiquery: bool,
    /// Statements always may have several lines
    #[arg(short = 'm', long, hide = true)]
    multiline: bool,
}

fn external(text: &str) -> std::result::Result<External, String> {
    serde_json::from_str(text).map_err(|_| "say --file, --name, --structure behind it".to_owned())
}

/// The arguments with settings, query parameters and the options of external tables as [`RunArgs`] takes them: `--max_threads 4` becomes
/// `--setting max_threads=4`. `commands` are the subcommands that have such; others are left alone. `others` are options that they have besides
/// those of the client.
pub fn rewritten(arguments: impl IntoIterator<Item = OsString>, commands: &[&str], others: &[&str]) -> Vec<OsString> {
    let mut arguments = arguments.into_iter().peekable();
    let mut out: Vec<OsString> = arguments.by_ref().take(1).collect();
    let Some(command) = arguments.next() else { return out };
    let is_ours = command.to_str().is_some_and(|command| commands.contains(&command));
    out.push(command);
    if !is_ours {
        out.extend(arguments);
        return out;
    }
    // Options of our own come before settings of their names.
    let own = <Args as clap::Args>::augment_args(clap::Command::new("client"));
    let is_own = |name: &str| {
        others.contains(&name)
            || own
                .get_arguments()
                .filter_map(clap::Arg::get_long_and_visible_aliases)
                .any(|names| names.contains(&name))
    };
    let mut tables: Vec<External> = Vec::new();
    while let Some(argument) = arguments.next() {
        let option = argument.to_str().and_then(|text| text.strip_prefix("--"));
        let Some(option) = option.filter(|option| !option.is_empty()) else {
            out.push(argument);
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (option.to_owned(), None),
        };
        let mut following = |value: Option<String>| {
            value.or_else(|| arguments.next().and_then(|value| value.into_string().ok())).unwrap_or_default()
        };
        let setting = name.replace('-', "_");
        if let Some(parameter) = name.strip_prefix("param_") {
            out.push("--param".into());
            out.push(format!("{parameter}={}", following(value)).into());
        } else if name == "external" && value.is_none() {
            tables.push(External::default());
        } else if let (Some(table), true) = (tables.last_mut(), External::OPTIONS.contains(&name.as_str())) {
            table.set(&name, following(value));
        } else if let Some(description) = Settings::description(&setting).filter(|_| !is_own(&name)) {
            let value = match (description.setting_type, value) {
                (_, Some(value)) => value,
                // What may be on or off is on without a value.
                (SettingType::Bool, None) => {
                    let is_value = |text: &str| matches!(text, "0" | "1" | "true" | "false");
                    let next = arguments.next_if(|next| next.to_str().is_some_and(is_value));
                    next.and_then(|next| next.into_string().ok()).unwrap_or_else(|| "1".to_owned())
                }
                (_, None) => following(None),
            };
            out.push("--setting".into());
            out.push(format!("{setting}={value}").into());
        } else {
            out.push(argument);
        }
    }
    for table in tables {
        out.push("--external".into());
        // Strings alone, which JSON can always write.
        out.push(serde_json::to_string(&table).unwrap_or_default().into());
    }
    out
}

impl RunArgs {
    /// Whether a person is to type statements.
    pub fn is_interactive(&self) -> bool {
        let has_statements = !self.query.is_empty() || !self.queries_file.is_empty();
        self.interactive || (!has_statements && io::stdin().is_terminal() && io::stdout().is_terminal())
    }

    /// How statements are run and shown.
    ///
    /// # Errors
    /// Where a setting or parameter has no value, or an external table cannot be read.
    pub fn options(&self, is_interactive: bool) -> Result<Options> {
        let progress = self.progress.as_deref().map(|word| !matches!(word, "off" | "0" | "no" | "false"));
        let default_format = if is_interactive { "PrettyCompact" } else { "TabSeparated" };
        let mut options = Options {
            format: match (&self.format, self.vertical) {
                (Some(format), _) => format.clone(),
                (None, true) => "Vertical".to_owned(),
                (None, false) => default_format.to_owned(),
            },
            query_id: self.query_id.clone().unwrap_or_default(),
            is_interactive,
            has_progress: progress.unwrap_or(is_interactive),
            has_time: self.time || is_interactive,
            pager: self.pager.clone().filter(|pager| is_interactive && !pager.is_empty()),
            ignores_errors: self.ignore_error,
            echoes: self.echo,
            ..Options::default()
        };
        let pairs = self.setting.iter().map(|pair| ("", pair)).chain(self.param.iter().map(|pair| ("param_", pair)));
        for (prefix, pair) in pairs {
            let (name, value) = pair.split_once('=').ok_or_else(|| bad(format!("'{pair}' is not NAME=VALUE")))?;
            options.set(&format!("{prefix}{name}"), value);
        }
        // Schemas are files of whoever runs the program.
        SchemaFolder::open("").set_of_process();
        let format_options = FormatOptions { settings: options.settings_of(None).into(), ..FormatOptions::default() };
        options.tables = self.external.iter().map(|table| table.read(&format_options)).collect::<Result<_>>()?;
        Ok(options)
    }

    /// Runs what the arguments say on a session: the statements, the shell, or both.
    ///
    /// # Errors
    /// The statement's that failed.
    pub fn run(&self, session: Box<dyn Session>) -> Result<()> {
        let is_interactive = self.is_interactive();
        let interrupt = Interrupt::listen().map_err(|error| file_error("SIGINT", &error))?;
        let mut runner = Runner { session, options: self.options(is_interactive)?, interrupt };
        let has_statements = !self.query.is_empty() || !self.queries_file.is_empty();
        let mut stdin = (!io::stdin().is_terminal()).then(|| io::stdin().lock());
        if !has_statements && !is_interactive {
            let mut script = Vec::new();
            let read = stdin.as_mut().map_or(Ok(0), |stdin| stdin.read_to_end(&mut script));
            read.map_err(|error| file_error("standard input", &error))?;
            return runner.script(&script, None);
        }
        for query in &self.query {
            let stdin = stdin.as_mut().map(|stdin| stdin as &mut dyn Read);
            runner.script(query.as_bytes(), stdin)?;
        }
        for file in &self.queries_file {
            let name = file.display().to_string();
            let script = std::fs::read(file).map_err(|error| file_error(&name, &error))?;
            runner.script(&script, None)?;
        }
        if !is_interactive {
            return Ok(());
        }
        drop(stdin);
        Shell::new(
            runner,
            ShellOptions {
                history_file: self.history_file.clone(),
                has_colours: !self.no_highlight && std::env::var_os("NO_COLOR").is_none(),
                has_suggestions: !self.disable_suggestion,
            },
        )
        .run()
    }
}

impl Args {
    /// Connects and runs what is asked for.
    pub fn run(self) -> ExitCode {
        crate::finished(self.try_run())
    }

    fn try_run(mut self) -> Result<()> {
        let mut given = Target {
            host: self.host.clone(),
            port: self.port,
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            secure: if self.secure { Some(true) } else { self.no_secure.then_some(false) },
            authorities: self.ca_cert.clone(),
            accept_invalid: self.accept_invalid_certificate.then_some(true),
            history_file: self.run.history_file.clone(),
        };
        match &self.connection_string {
            // As clickhouse-client does, a file of queries may stand there too.
            Some(file) if !file.contains("://") => self.run.queries_file.push(file.into()),
            Some(text) => given = given.or(Target::parse(text)?),
            None => {}
        }
        given = given.or(Target::of_environment());
        match Configuration::read(self.config_file.as_deref())? {
            Some(configuration) => {
                let known = configuration.target(self.connection.as_deref(), given.host.as_deref())?;
                // A host that is the name of a connection stands for the host that this connection has.
                if given.host.is_some() && known.host.is_some() && self.connection.is_none() {
                    given.host = None;
                }
                given = given.or(known);
            }
            None => {
                if let Some(name) = &self.connection {
                    let message =
                        format!("No configuration file has a connection '{name}'; --config-file names a file");
                    return Err(bad(message));
                }
            }
        }
        if self.ask_password || given.password.as_deref() == Some(ASK) {
            let user = given.user.as_deref().unwrap_or("default");
            let password = rpassword::prompt_password(format!("Password of {user}: "));
            given.password = Some(password.map_err(|error| file_error("The terminal", &error))?);
        }
        self.run.history_file = given.history_file.clone();
        let timeout = Duration::try_from_secs_f64(self.connect_timeout)
            .map_err(|_| bad("--connect-timeout must be a number of seconds"))?;
        let compression = !matches!(self.compression.as_str(), "0" | "false");
        let session = NativeSession::open(given.options(timeout, compression)?)?;
        self.run.run(Box::new(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let arguments = text.split(' ').map(OsString::from);
        rewritten(arguments, &["client"], &[]).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn settings_and_parameters_are_found() {
        assert_eq!(
            words("squall client --max_threads=4 --max-block-size 7 --param_x 1 -q 1 --host h"),
            words("squall client --setting max_threads=4 --setting max_block_size=7 --param x=1 -q 1 --host h")
        );
        let found = words("squall client --input_format_null_as_default --port 1");
        assert_eq!(found[2..], ["--setting", "input_format_null_as_default=1", "--port", "1"]);
        assert_eq!(words("squall client --connect-timeout 5")[2], "--connect-timeout");
        assert_eq!(words("squall server --max_threads=4")[2], "--max_threads=4");
    }

    #[test]
    fn tables_are_gathered() {
        let found = words("squall client --external --file a --types UInt8 --external --file=b --name=n -q 1");
        assert_eq!(found[2..5], ["-q", "1", "--external"]);
        let table: External = serde_json::from_str(&found[4 + 1]).unwrap();
        assert_eq!((table.file.as_deref(), table.types.as_deref()), (Some("a"), Some("UInt8")));
        let table: External = serde_json::from_str(&found[7]).unwrap();
        assert_eq!((table.file.as_deref(), table.name.as_deref()), (Some("b"), Some("n")));
    }
}
