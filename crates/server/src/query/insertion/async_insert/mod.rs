//! Asynchronous INSERTs: the data of INSERTs of the same form are collected and written together, as one INSERT of many clients. A client
//! that waits is told once its rows are durable, and of errors that are its own.

mod collector;
mod flush;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_runtime::memory::attach;
use squall_runtime::{CurrentMetric, ProfileEvent};
use squall_sql::ast;
use squall_types::{Block, Error, ErrorCode, Result};
use tokio::sync::{Notify, Semaphore, oneshot};

use self::collector::{Bounds, Collector, Due};
use crate::query::plan::cache::Parsed;
use crate::server::Server;
use crate::session::Session;

/// Batches that are written at once: ClickHouse's `async_insert_threads`.
const WRITING_MAX: usize = 16;
/// How long a form without INSERTs is remembered.
const IDLE_MAX: Duration = Duration::from_secs(2);
/// How often an INSERT that waits looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(100);
/// Settings that INSERTs of one form may differ in.
const OWN_SETTINGS: [&str; 2] = ["log_comment", "insert_deduplication_token"];

/// What INSERTs have in common whose data are written together: the text, who inserts, and under which settings.
pub(in crate::query) struct Form {
    key: Arc<str>,
    pub(in crate::query) parsed: Arc<Parsed>,
    pub(in crate::query) statement: Arc<ast::Statement>,
    /// The names of the table that the statement names.
    pub(in crate::query) database: String,
    pub(in crate::query) table: String,
    pub(in crate::query) format: Arc<str>,
    /// The session of the first of them.
    pub(in crate::query) session: Session,
}

impl Form {
    /// The form of an INSERT of a session.
    pub(in crate::query) fn new(
        session: &Session,
        parsed: &Arc<Parsed>,
        name: (String, String),
        format: Arc<str>,
    ) -> Self {
        let access = &session.access;
        let mut key = format!("{}\0{}\0{:?}", parsed.text, access.name, access.current_roles);
        // Writing to a String cannot fail.
        let _ = write!(key, "\0{}\0{}\0{}\0{format}", session.authenticated_user, name.0, name.1);
        for (name, value) in session.settings.changes().filter(|(name, _)| !OWN_SETTINGS.contains(name)) {
            let _ = write!(key, "\0{name}={value}");
        }
        let mut session = session.clone();
        (session.external_tables, session.inserted, session.stand_in, session.input) = Default::default();
        let (database, table) = name;
        let (parsed, statement) = (parsed.clone(), parsed.statement.clone());
        Self { key: key.into(), parsed, statement, database, table, format, session }
    }
}

/// The data of one INSERT.
pub(in crate::query) struct Collected {
    pub(in crate::query) form: Form,
    pub(in crate::query) blocks: Vec<Block>,
    pub(in crate::query) bytes: usize,
}

impl Collected {
    /// Nothing yet.
    pub(in crate::query) fn new(form: Form) -> Self {
        Self { form, blocks: Vec::new(), bytes: 0 }
    }

    pub(in crate::query) fn push(&mut self, block: Block) {
        self.bytes += block.value_bytes();
        self.blocks.push(block);
    }
}

/// An INSERT whose data wait to be written.
struct Waiting {
    context: Arc<QueryContext>,
    blocks: Vec<Block>,
    bytes: usize,
    /// Who waits for it.
    answer: Option<oneshot::Sender<Result<()>>>,
}

impl Waiting {
    fn rows(&self) -> usize {
        self.blocks.iter().map(Block::rows).sum()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Their memory was charged to the INSERT, whoever frees it.
        let _memory = attach(self.context.memory.clone());
        self.blocks.clear();
    }
}

/// The INSERTs of one form.
struct Queue {
    form: Arc<Form>,
    collector: Collector,
    waiting: Vec<Waiting>,
    /// When the first of them came.
    first_at: SystemTime,
    /// INSERTs that have come, and those that were written or have failed, since the form is known.
    came: u64,
    done: u64,
    /// What has been collected is to be written without further waiting.
    is_urgent: bool,
    /// Wakes who looks after the queue.
    changed: Arc<Notify>,
}

/// What is shown of a queue.
pub struct AsyncInsertQueue {
    /// The text of the INSERTs.
    pub query: Arc<str>,
    /// Their table's database.
    pub database: String,
    /// Their table.
    pub table: String,
    /// Their format.
    pub format: Arc<str>,
    /// When the first of them came.
    pub first_at: SystemTime,
    /// The id and the bytes of each.
    pub inserts: Vec<(Arc<str>, usize)>,
}

/// The asynchronous INSERTs of a server.
pub struct AsyncInserts {
    queues: Mutex<HashMap<Arc<str>, Queue>>,
    writing: Arc<Semaphore>,
    /// Tells that something was taken or written.
    moved: Notify,
}

impl Default for AsyncInserts {
    fn default() -> Self {
        Self { queues: Mutex::default(), writing: Arc::new(Semaphore::new(WRITING_MAX)), moved: Notify::new() }
    }
}

impl AsyncInserts {
    /// What waits to be written.
    pub fn queues(&self) -> Vec<AsyncInsertQueue> {
        let queues = self.queues.lock();
        let shown = queues.values().filter(|queue| !queue.waiting.is_empty()).map(|queue| AsyncInsertQueue {
            query: queue.form.parsed.text.clone(),
            database: queue.form.database.clone(),
            table: queue.form.table.clone(),
            format: queue.form.format.clone(),
            first_at: queue.first_at,
            inserts: queue.waiting.iter().map(|insert| (insert.context.query_id.clone(), insert.bytes)).collect(),
        });
        shown.collect()
    }

    /// Writes everything that has been collected, of all tables or of those that `is_meant`; waits until it is written.
    pub async fn flush(&self, is_meant: impl Fn(&str, &str) -> bool) {
        let mut left: Vec<(Arc<str>, u64)> = Vec::new();
        for queue in self.queues.lock().values_mut() {
            if queue.done < queue.came && is_meant(&queue.form.database, &queue.form.table) {
                queue.is_urgent = !queue.waiting.is_empty();
                queue.changed.notify_one();
                left.push((queue.form.key.clone(), queue.came));
            }
        }
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let queues = self.queues.lock();
                left.retain(|(key, came)| queues.get(key).is_some_and(|queue| queue.done < *came));
            }
            if left.is_empty() {
                return;
            }
            moved.await;
        }
    }

    /// Takes the data of an INSERT, which waits for their end where it is set to.
    async fn add(&self, server: &Arc<Server>, collected: Collected, context: &Arc<QueryContext>) -> Result<()> {
        let Collected { form, blocks, bytes } = collected;
        let settings = &context.settings;
        let (answer, answered) = settings.wait_for_async_insert.then(oneshot::channel).unzip();
        let rows: usize = blocks.iter().map(Block::rows).sum();
        let waits = answer.is_some();
        let mut insert = Some(Waiting { context: context.clone(), blocks, bytes, answer });
        let form = Arc::new(form);
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let mut queues = self.queues.lock();
                let queue = match queues.entry(form.key.clone()) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        let queue = Queue::new(form.clone(), settings);
                        begin_looking_after(server.clone(), form.clone(), queue.changed.clone());
                        CurrentMetric::AsynchronousInsertQueueSize.add(1);
                        entry.insert(queue)
                    }
                };
                if !queue.collector.is_full()
                    && let Some(insert) = insert.take()
                {
                    queue.add(insert, waits);
                }
            }
            if insert.is_none() {
                break;
            }
            moved.await;
            context.check_cancelled()?;
        }
        context.counters.add(ProfileEvent::AsyncInsertQuery, 1);
        context.counters.add(ProfileEvent::AsyncInsertRows, rows as u64);
        context.counters.add(ProfileEvent::AsyncInsertBytes, bytes as u64);
        match answered {
            Some(answered) => wait(answered, context).await,
            None => Ok(()),
        }
    }

    /// Changes the queue of a form.
    fn with_queue<T>(&self, form: &Form, change: impl FnOnce(&mut Queue) -> T) -> Option<T> {
        self.queues.lock().get_mut(&form.key).map(change)
    }
}

impl Queue {
    fn new(form: Arc<Form>, settings: &squall_types::Settings) -> Self {
        Self {
            form,
            collector: Collector::new(Bounds::of(settings)),
            waiting: Vec::new(),
            first_at: SystemTime::now(),
            came: 0,
            done: 0,
            is_urgent: false,
            changed: Arc::default(),
        }
    }

    fn add(&mut self, insert: Waiting, waits: bool) {
        if self.waiting.is_empty() {
            self.first_at = SystemTime::now();
        }
        CurrentMetric::AsynchronousInsertQueueBytes.add(insert.bytes as i64);
        CurrentMetric::PendingAsyncInsert.add(1);
        self.collector.add(insert.bytes, waits, Instant::now());
        self.waiting.push(insert);
        self.came += 1;
        self.changed.notify_one();
    }

    /// Takes what has been collected.
    fn take(&mut self) -> Vec<Waiting> {
        let taken = std::mem::take(&mut self.waiting);
        CurrentMetric::AsynchronousInsertQueueBytes.add(-(self.collector.bytes() as i64));
        CurrentMetric::PendingAsyncInsert.add(-(taken.len() as i64));
        self.collector.take(Instant::now());
        self.is_urgent = false;
        taken
    }
}

/// Collects an INSERT's data.
///
/// # Errors
/// Those of writing them, where the INSERT waits for that; `TIMEOUT_EXCEEDED`.
pub(in crate::query) async fn add(collected: Collected, context: &Arc<QueryContext>) -> Result<()> {
    let server = collected.form.session.server.clone();
    server.async_inserts.add(&server, collected, context).await
}

/// Waits until the data of an INSERT are durable.
async fn wait(mut answered: oneshot::Receiver<Result<()>>, context: &QueryContext) -> Result<()> {
    let wait_max = context.settings.wait_for_async_insert_timeout;
    let deadline = tokio::time::Instant::now() + wait_max;
    loop {
        match tokio::time::timeout(KILL_CHECK.min(wait_max), &mut answered).await {
            Ok(answer) => return answer.unwrap_or_else(|_| Err(Error::logical("an INSERT that nobody wrote"))),
            Err(_) if tokio::time::Instant::now() >= deadline => {
                let message = format!(
                    "Wait for async insert timeout ({} ms) exceeded",
                    context.settings.wait_for_async_insert_timeout.as_millis()
                );
                return Err(Error::new(ErrorCode::TIMEOUT_EXCEEDED, message));
            }
            Err(_) => context.check_cancelled()?,
        }
    }
}

/// A batch that is being written: its end is noted however it comes.
struct Written {
    server: Arc<Server>,
    form: Arc<Form>,
    inserts: u64,
}

impl Drop for Written {
    fn drop(&mut self) {
        let inserts = &self.server.async_inserts;
        inserts.with_queue(&self.form, |queue| {
            queue.done += self.inserts;
            queue.collector.written();
            queue.changed.notify_one();
        });
        inserts.moved.notify_waiters();
    }
}

/// Apart from the INSERT that calls it, whose type would otherwise hold that of the INSERT which writes for it.
fn begin_looking_after(server: Arc<Server>, form: Arc<Form>, changed: Arc<Notify>) {
    tokio::spawn(look_after(server, form, changed));
}

/// Has what is collected of a form written whenever it is due, until none has come for a while.
async fn look_after(server: Arc<Server>, form: Arc<Form>, changed: Arc<Notify>) {
    let inserts = &server.async_inserts;
    loop {
        let is_stopping = server.is_shutting_down();
        let due = inserts.with_queue(&form, |queue| match queue.collector.due(Instant::now()) {
            Due::At(_) if queue.is_urgent || is_stopping => Due::Now,
            due => due,
        });
        match due {
            None => return,
            Some(Due::Now) => {
                // The semaphore is never closed.
                let Ok(place) = inserts.writing.clone().acquire_owned().await else { return };
                let Some(batch) = inserts.with_queue(&form, Queue::take) else { return };
                inserts.moved.notify_waiters();
                let written = Written { server: server.clone(), form: form.clone(), inserts: batch.len() as u64 };
                tokio::spawn(async move {
                    flush::write(&written.form, batch).await;
                    drop((written, place));
                });
            }
            Some(Due::At(at)) => {
                let is_due = tokio::time::sleep_until(at.into());
                tokio::select! {
                    () = is_due => {}
                    () = changed.notified() => {}
                    () = server.stopping(), if !is_stopping => {}
                }
            }
            Some(Due::Never) => {
                if tokio::time::timeout(IDLE_MAX, changed.notified()).await.is_err() {
                    let mut queues = inserts.queues.lock();
                    if queues.get(&form.key).is_some_and(|queue| queue.collector.is_idle()) {
                        queues.remove(&form.key);
                        CurrentMetric::AsynchronousInsertQueueSize.add(-1);
                        return;
                    }
                }
            }
        }
    }
}
