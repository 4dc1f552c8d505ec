//! One line of the log, before it is laid out.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::SystemTime;

use super::level::Level;

/// One line of the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// When.
    pub time: SystemTime,
    /// The operating system's number of the thread.
    pub thread_id: u64,
    /// The thread's name.
    pub thread_name: Arc<str>,
    /// How grave.
    pub level: Level,
    /// The query that it is about, or empty.
    pub query_id: String,
    /// Who says it: a component's name.
    pub component: &'static str,
    /// What is said.
    pub message: String,
    /// Where in the source it is logged.
    pub source_file: &'static str,
    /// Likewise.
    pub source_line: u32,
}

impl LogLine {
    /// A line of this thread and this moment, with nothing said yet.
    pub fn new(level: Level, component: &'static str, source_file: &'static str, source_line: u32) -> Self {
        let (thread_id, thread_name) = this_thread();
        Self {
            time: SystemTime::now(),
            thread_id,
            thread_name,
            level,
            query_id: String::new(),
            component,
            message: String::new(),
            source_file,
            source_line,
        }
    }
}

/// The number and the name of this thread, which do not change.
fn this_thread() -> (u64, Arc<str>) {
    thread_local! {
        static THREAD: RefCell<Option<(u64, Arc<str>)>> = const { RefCell::new(None) };
    }
    let ask = || {
        // SAFETY: gettid has no preconditions.
        let id = unsafe { libc::gettid() }.unsigned_abs();
        (id.into(), std::thread::current().name().unwrap_or_default().into())
    };
    // A thread that ends has no such values any more.
    THREAD.try_with(|thread| thread.borrow_mut().get_or_insert_with(ask).clone()).unwrap_or_else(|_| ask())
}
