//! The rows of one table on their way: a SELECT at the source, an INSERT at the target, block by block, so that neither has more in memory
//! than a block. A table is copied whole or not at all: what an earlier run left is taken away first.

use std::time::Duration;

use indicatif::ProgressBar;
use squall_native::Options;
use squall_types::{Block, Error, ErrorCode, Result};

use super::schema::Table;
use crate::run::{Interrupt, quoted};
use crate::session::{Event, NativeSession, Query, Session, ask};

/// How long a wait for a server lasts before Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Copies a table and returns its rows.
///
/// # Errors
/// What the servers say; where the target has other rows than the source; `QUERY_WAS_CANCELLED` after Ctrl-C.
pub fn copy(table: &Table, from: &Options, to: &Options, interrupt: &Interrupt, bar: &ProgressBar) -> Result<u64> {
    let (mut source, mut target) = (NativeSession::open(from.clone())?, NativeSession::open(to.clone())?);
    let name = table.quoted();
    let count = format!("SELECT count() FROM {name}");
    let rows = number(&mut source, &count)?;
    if number(&mut target, &count)? > 0 {
        ask(&mut target, &format!("TRUNCATE TABLE {name}"))?;
    }
    bar.set_length(rows);
    let columns = columns(&mut source, table)?;
    source.start(&Query { text: &format!("SELECT {columns} FROM {name}"), ..Query::default() })?;
    begin(&mut target, &format!("INSERT INTO {name} ({columns}) FORMAT Native"))?;
    let mut copied = 0;
    loop {
        if interrupt.is_set() {
            return Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Ended by Ctrl-C"));
        }
        match source.next(TICK)? {
            Some(Event::Block(block)) if !block.is_empty() => {
                give(&mut target, &block)?;
                copied += block.rows() as u64;
                bar.set_position(copied);
            }
            Some(Event::Exception(error)) => return Err(error),
            Some(Event::End) => break,
            _ => {}
        }
    }
    target.end_data()?;
    end(&mut target)?;
    // Some engines merge rows as they come; more rows than came nobody has.
    let there = number(&mut target, &count)?;
    if there > copied {
        let message = format!("{copied} rows were copied, and the target has {there}: somebody else writes to it");
        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
    }
    Ok(copied)
}

/// The columns that hold values: those that are computed are computed anew.
fn columns(source: &mut dyn Session, table: &Table) -> Result<String> {
    let query = format!(
        "SELECT name FROM system.columns WHERE database = {} AND table = {} AND default_kind NOT IN ('MATERIALIZED', 'ALIAS', 'EPHEMERAL')",
        quoted(&table.database),
        quoted(&table.name)
    );
    let names = ask(source, &query)?.into_iter().flatten();
    let names: Vec<String> =
        names.map(|name| format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))).collect();
    Ok(names.join(", "))
}

fn number(session: &mut dyn Session, query: &str) -> Result<u64> {
    let rows = ask(session, query)?;
    let text = rows.into_iter().flatten().next().unwrap_or_default();
    text.parse().map_err(|_| Error::new(ErrorCode::INCORRECT_DATA, format!("'{text}' is no number of rows")))
}

/// Begins an INSERT, up to where the target wants rows.
fn begin(target: &mut dyn Session, text: &str) -> Result<()> {
    target.start(&Query { text, ..Query::default() })?;
    loop {
        match target.next(TICK)? {
            Some(Event::Block(_)) => return Ok(()),
            Some(Event::Exception(error)) => return Err(error),
            Some(Event::End) => return Err(Error::new(ErrorCode::INCORRECT_QUERY, "The target does not want rows")),
            _ => {}
        }
    }
}

/// Gives rows, and listens to what the target says of them.
fn give(target: &mut dyn Session, block: &Block) -> Result<()> {
    let sent = target.send(block);
    while let Some(event) = target.next(Duration::ZERO)? {
        if let Event::Exception(error) = event {
            return Err(error);
        }
    }
    sent
}

fn end(target: &mut dyn Session) -> Result<()> {
    loop {
        match target.next(TICK)? {
            Some(Event::End) => return Ok(()),
            Some(Event::Exception(error)) => return Err(error),
            _ => {}
        }
    }
}
