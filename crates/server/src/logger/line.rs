//! One line of the log, before it is laid out.

use std::cell::Cell;
use std::collections::HashSet;
use std::time::SystemTime;

use parking_lot::Mutex;
use squall_runtime::thread_usage::thread_id;

use super::level::Level;

/// One line of the log. `Text` is how it holds what differs from line to line: its own strings, or a place in somebody's buffer.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<Text = String> {
    /// When.
    pub time: SystemTime,
    /// The operating system's number of the thread.
    pub thread_id: u64,
    /// The thread's name.
    pub thread_name: &'static str,
    /// How grave.
    pub level: Level,
    /// The query that it is about, or empty.
    pub query_id: Text,
    /// Who says it: a component's name.
    pub component: &'static str,
    /// What is said.
    pub message: Text,
    /// Where in the source it is logged.
    pub source_file: &'static str,
    /// Likewise.
    pub source_line: u32,
}

impl<Text: Default> LogLine<Text> {
    /// A line of this thread and this moment, with nothing said yet.
    pub fn new(level: Level, component: &'static str, source_file: &'static str, source_line: u32) -> Self {
        let (thread_id, thread_name) = this_thread();
        Self {
            time: SystemTime::now(),
            thread_id,
            thread_name,
            level,
            query_id: Text::default(),
            component,
            message: Text::default(),
            source_file,
            source_line,
        }
    }
}

impl<Text> LogLine<Text> {
    /// The same line with its texts held otherwise.
    pub fn with_texts<Other>(&self, hold: impl Fn(&Text) -> Other) -> LogLine<Other> {
        LogLine {
            time: self.time,
            thread_id: self.thread_id,
            thread_name: self.thread_name,
            level: self.level,
            query_id: hold(&self.query_id),
            component: self.component,
            message: hold(&self.message),
            source_file: self.source_file,
            source_line: self.source_line,
        }
    }
}

/// The number and the name of this thread, which do not change.
fn this_thread() -> (u64, &'static str) {
    thread_local! {
        static THREAD: Cell<Option<(u64, &'static str)>> = const { Cell::new(None) };
    }
    let ask = || (thread_id(), kept_name(std::thread::current().name().unwrap_or_default()));
    // Looked up once a thread. A cell without a destructor outlives all others.
    THREAD.with(|thread| {
        let known = thread.get().unwrap_or_else(ask);
        thread.set(Some(known));
        known
    })
}

/// A name of a thread for as long as the process runs. There are a handful: threads of one purpose share theirs.
fn kept_name(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock();
    let names = names.get_or_insert_default();
    if let Some(kept) = names.get(name) {
        return kept;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}
