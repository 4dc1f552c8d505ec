//! The one binary, `squall`: its commands and their arguments. What each command does is its crate's business.

mod check_config;
mod local;
mod manuals;
mod mimalloc;
mod simulate;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use mimalloc::Mimalloc;
use squall_runtime::TrackingAllocator;
use squall_server::config::ConfigSource;
use squall_types::{Error, ErrorCode, Result};

/// Memory is counted per query, by the allocator itself.
#[global_allocator]
static ALLOCATOR: TrackingAllocator<Mimalloc> = TrackingAllocator(Mimalloc);

/// What `--version` says: `-V` leaves out the commit.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("SQUALL_COMMIT"), ")");

/// Squall: an analytical SQL server that speaks ClickHouse, on which nobody tunes thread counts.
#[derive(Parser, Debug)]
#[command(name = "squall", version, long_version = LONG_VERSION, propagate_version = true, max_term_width = 110)]
struct Squall {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Server(ServerArgs),
    Client(Box<squall_client::Args>),
    Migrate(squall_client::migrate::Args),
    Local(Box<local::Args>),
    CheckConfig(check_config::Args),
    Datagen(squall_storm::datagen::Args),
    Benchmark(squall_storm::benchmark::Args),
    Storm(squall_storm::storm::Args),
    Simulate(simulate::Args),
    Doctor(squall_storm::doctor::Args),
    Flamegraph(squall_storm::flamegraph::Args),
    Completions(manuals::CompletionsArgs),
    Man(manuals::ManArgs),
}

/// The commands whose settings and query parameters may stand on the command line by their names.
const WITH_SETTINGS: &[&str] = &["client", "local"];

/// Run the server.
///
/// Without a configuration file it listens on 127.0.0.1, HTTP on port 8123 and the native protocol on port 9000, keeps its data in
/// ./squall-data, and lets in the user `default` from this machine. SIGTERM and SIGINT stop it once running queries are done; a second one
/// stops it at once. SIGHUP reads the configuration again.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  squall server
  squall server --generate-certificate
  squall server --config-file /etc/clickhouse-server/config.xml -- --http_port=8124 --logger.level=debug
  curl 'http://127.0.0.1:8123/?query=SELECT+1'
  clickhouse-client --query 'SELECT 1'")]
struct ServerArgs {
    /// ClickHouse's config.xml; conf.d, config.d, users.xml and users.d beside it are read too
    #[arg(short = 'C', long, visible_alias = "config", value_name = "FILE")]
    config_file: Option<PathBuf>,
    /// Folder of all data (element <path>)
    #[arg(long, value_name = "DIR")]
    path: Option<String>,
    /// Port of the HTTP interface; 0 is none (element <http_port>)
    #[arg(long, visible_alias = "http_port", value_name = "PORT")]
    http_port: Option<u16>,
    /// Port of the native protocol; 0 is none (element <tcp_port>)
    #[arg(long, visible_alias = "tcp_port", value_name = "PORT")]
    tcp_port: Option<u16>,
    /// Make a self-signed certificate where none is configured, and listen with TLS too: HTTPS on port 8443, native on 9440
    #[arg(long)]
    generate_certificate: bool,
    /// Repair the catalog, or rebuild a lost one, from the parts in the data folder; then serve
    #[arg(long)]
    restore_catalog: bool,
    /// Address to listen on (element <listen_host>)
    #[arg(long, visible_alias = "listen_host", value_name = "HOST")]
    listen_host: Option<String>,
    /// File of the log (element <logger><log>)
    #[arg(short = 'L', long, value_name = "FILE")]
    log_file: Option<String>,
    /// File of warnings and errors (element <logger><errorlog>)
    #[arg(short = 'E', long, value_name = "FILE")]
    errorlog_file: Option<String>,
    /// File to which the server writes its process id
    #[arg(short = 'P', long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// Elements of the configuration by their path: --max_connections=100 --logger.level=debug
    #[arg(last = true, value_name = "--ELEMENT=VALUE")]
    elements: Vec<String>,
}

impl ServerArgs {
    fn options(self) -> Result<squall_server::Options> {
        let named = [
            ("path", self.path),
            ("http_port", self.http_port.map(|port| port.to_string())),
            ("tcp_port", self.tcp_port.map(|port| port.to_string())),
            ("listen_host", self.listen_host),
            ("logger.log", self.log_file),
            ("logger.errorlog", self.errorlog_file),
        ];
        let mut overrides: Vec<(String, String)> =
            named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        for element in &self.elements {
            let (name, value) = element
                .strip_prefix("--")
                .and_then(|element| element.split_once('='))
                .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("'{element}' is not --element=value")))?;
            overrides.push((name.to_owned(), value.to_owned()));
        }
        Ok(squall_server::Options {
            source: ConfigSource {
                config_file: self.config_file,
                overrides,
                generate_certificate: self.generate_certificate,
                restore_catalog: self.restore_catalog,
                local: None,
            },
            pid_file: self.pid_file,
            allocator: Some(&Mimalloc),
        })
    }
}

fn main() -> ExitCode {
    squall_server::version::set_commit(env!("SQUALL_COMMIT"));
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // Nothing but the name, in a terminal: a person wants a shell.
    if arguments.len() == 1 && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        arguments.push("local".into());
    }
    let arguments = squall_client::rewritten(arguments, WITH_SETTINGS, local::OPTIONS);
    let result = match Squall::parse_from(arguments).command {
        Command::Local(args) => return args.run(),
        Command::Server(args) => args.options().and_then(|options| squall_server::run(&options)),
        Command::Client(args) => return args.run(),
        Command::Migrate(args) => return args.run(),
        Command::CheckConfig(args) => return check_config::run(args),
        Command::Completions(args) => manuals::complete(&args, &mut Squall::command()),
        Command::Man(args) => manuals::write(&args, Squall::command()),
        Command::Datagen(args) => squall_storm::datagen::run(&args),
        Command::Benchmark(args) => squall_storm::benchmark::run(&args),
        Command::Storm(args) => squall_storm::storm::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Flamegraph(args) => squall_storm::flamegraph::run(&args),
        Command::Doctor(args) => {
            return squall_storm::doctor::run(&args).unwrap_or_else(|error| {
                eprintln!("{error}");
                ExitCode::from(2)
            });
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
