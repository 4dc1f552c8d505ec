//! `squall migrate`: brings another server's functions, tables, users and rows here, in this order, the rows of several tables at once. What
//! is done stands in a file, so that a second run goes on where the first ended. At its end it says what did not come, and why.

mod access;
mod copy;
mod journal;
mod schema;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use journal::Journal;
use schema::{Made, Table};
use squall_native::Options;
use squall_types::{Error, ErrorCode, Result};

use crate::connections::Target;
use crate::run::{Interrupt, file_error, quantity};
use crate::session::{NativeSession, Session};
use crate::{bad, finished, sentence};

/// Bring databases and users of a ClickHouse or Squall server to this one.
///
/// Schemas come first, then users, roles, row policies, quotas and settings profiles, then rows, several tables at once. What is there
/// already stays as it is. What is done stands in a file: a second run goes on where the first ended. What cannot come is said at the
/// end with its reason, and the exit code is then 1.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  squall migrate --from clickhouse://default@old.example.com --to clickhouse://localhost
  squall migrate --from clickhouse://old --database sales --database web --jobs 4
  squall migrate --from clickhouse://old --schema-only")]
pub struct Args {
    /// Where from: clickhouse://user:password@host:port?secure
    #[arg(long, value_name = "CONNECTION")]
    from: String,
    /// Where to
    #[arg(long, value_name = "CONNECTION", default_value = "clickhouse://localhost")]
    to: String,
    /// A database to bring, without users; may be given more than once [default: all but the system's, and users]
    #[arg(long, value_name = "DATABASE")]
    database: Vec<String>,
    /// Tables that are copied at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Bring no rows
    #[arg(long)]
    schema_only: bool,
    /// Bring no users, roles, row policies, quotas and settings profiles
    #[arg(long)]
    no_users: bool,
    /// The file of what is done
    #[arg(long, value_name = "FILE", default_value = "squall-migrate.state")]
    state: PathBuf,
}

/// How long to wait for a connection.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What did not come.
#[derive(Debug)]
struct Missing {
    name: String,
    reason: String,
}

impl Args {
    /// Brings everything.
    pub fn run(self) -> ExitCode {
        match self.try_run() {
            Ok(missing) if missing.is_empty() => ExitCode::SUCCESS,
            Ok(missing) => {
                eprintln!("Did not come:");
                for Missing { name, reason } in missing {
                    eprintln!("  {name}: {reason}");
                }
                ExitCode::FAILURE
            }
            Err(error) => finished(Err(error)),
        }
    }

    fn try_run(&self) -> Result<Vec<Missing>> {
        if self.jobs == 0 {
            return Err(bad("--jobs must be at least 1"));
        }
        let interrupt = Interrupt::listen().map_err(|error| file_error("SIGINT", &error))?;
        let from = Target::parse(&self.from)?.options(TIMEOUT, true)?;
        let to = Target::parse(&self.to)?.options(TIMEOUT, true)?;
        let mut source = NativeSession::open(from.clone())?;
        let mut target = NativeSession::open(to.clone())?;
        eprintln!("From {}\nTo   {}", source.peer().description, target.peer().description);
        let journal = Journal::open(&self.state, &format!("{} {}", self.from, self.to))?;
        let mut missing = schema::make_functions(&mut source, &mut target)?;
        let mut tables = VecDeque::new();
        for table in schema::tables(&mut source, &self.database)? {
            match schema::make(&mut source, &mut target, &table) {
                Ok(Made::WithRows) => tables.push_back(table),
                Ok(Made::WithoutRows) => {}
                Err(error) => missing.push(Missing { name: table.to_string(), reason: sentence(&error) }),
            }
        }
        if self.database.is_empty() && !self.no_users {
            missing.extend(access::bring(&mut source, &mut target, &journal)?);
        }
        if !self.schema_only {
            missing.extend(self.copy_all(tables, &from, &to, &journal, &interrupt)?);
        }
        Ok(missing)
    }

    /// Copies the rows of all tables.
    fn copy_all(
        &self,
        tables: VecDeque<Table>,
        from: &Options,
        to: &Options,
        journal: &Journal,
        interrupt: &Interrupt,
    ) -> Result<Vec<Missing>> {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let missing = Mutex::new(Vec::new());
        let tables = Mutex::new(tables);
        let work = || {
            loop {
                let next = tables.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(table) = next.filter(|_| !interrupt.is_set()) else { return };
                let name = table.to_string();
                if journal.is_done(&name) {
                    eprintln_above(&bars, &format!("{name}: copied before"));
                    continue;
                }
                let bar = bars.add(ProgressBar::no_length().with_style(style()).with_prefix(name.clone()));
                let copied = copy::copy(&table, from, to, interrupt, &bar)
                    .and_then(|rows| journal.done(&name, rows).map(|()| rows));
                bar.finish_and_clear();
                match copied {
                    // Without a terminal the bars say nothing, and neither do their lines.
                    Ok(rows) => eprintln_above(&bars, &format!("{name}: {} rows", quantity(rows as f64))),
                    Err(error) => {
                        let reason = sentence(&error);
                        missing.lock().unwrap_or_else(PoisonError::into_inner).push(Missing { name, reason });
                    }
                }
            }
        };
        std::thread::scope(|scope| (0..self.jobs).for_each(|_| drop(scope.spawn(work))));
        if interrupt.is_set() {
            let message = format!("Ended by Ctrl-C; the same command goes on from {}", self.state.display());
            return Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, message));
        }
        Ok(missing.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A line above the bars, or a plain one where there is no terminal.
fn eprintln_above(bars: &MultiProgress, line: &str) {
    bars.suspend(|| eprintln!("{line}"));
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix} {bar:24} {human_pos} of {human_len} rows, {per_sec}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
