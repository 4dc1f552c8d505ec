//! Clients that asked for the log of their query.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::RwLock;

use super::level::Level;
use super::line::LogLine;

/// Lines that wait for one client.
const CLIENT_LINES_MAX: usize = 1024;

/// Lines for a client that asked for the log of its query (`send_logs_level`); dropping it ends the asking.
#[derive(Debug)]
pub struct LogSubscription {
    query_id: String,
    lines: Receiver<LogLine>,
}

impl LogSubscription {
    /// The next line, if one waits.
    pub fn try_next(&self) -> Option<LogLine> {
        self.lines.try_recv().ok()
    }
}

impl Drop for LogSubscription {
    fn drop(&mut self) {
        CLIENTS.lines.write().remove(&self.query_id);
        CLIENTS.update();
    }
}

/// Asks for the lines about a query from `level` on.
pub fn subscribe(query_id: &str, level: Level) -> LogSubscription {
    let (sender, lines) = sync_channel(CLIENT_LINES_MAX);
    CLIENTS.lines.write().insert(query_id.to_owned(), (level, sender));
    CLIENTS.update();
    LogSubscription { query_id: query_id.to_owned(), lines }
}

/// The clients that asked for lines about their queries.
struct Clients {
    lines: RwLock<HashMap<String, (Level, SyncSender<LogLine>)>>,
    count: AtomicUsize,
    level: AtomicU8,
}

static CLIENTS: LazyLock<Clients> =
    LazyLock::new(|| Clients { lines: RwLock::default(), count: AtomicUsize::new(0), level: AtomicU8::new(0) });

/// The level from which some client wants lines.
pub(super) fn wanted() -> Level {
    Level::of_number(CLIENTS.level.load(Ordering::Relaxed))
}

/// Gives a line to the client that asked for it, if one did.
pub(super) fn offer(line: &LogLine<&str>) {
    if CLIENTS.count.load(Ordering::Relaxed) > 0
        && let Some((wanted, client)) = CLIENTS.lines.read().get(line.query_id)
        && line.level <= *wanted
    {
        // A client that does not keep up loses lines, no more.
        let _ = client.try_send(line.with_texts(|text| (*text).to_owned()));
    }
}

impl Clients {
    /// Recomputes what is wanted after a change.
    fn update(&self) {
        let lines = self.lines.read();
        let level = lines.values().map(|(level, _)| *level as u8).max().unwrap_or(0);
        self.count.store(lines.len(), Ordering::Relaxed);
        if self.level.swap(level, Ordering::Relaxed) != level {
            drop(lines);
            tracing::callsite::rebuild_interest_cache();
        }
    }
}
