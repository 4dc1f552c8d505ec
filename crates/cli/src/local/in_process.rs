//! The engine in this process as what the shell talks to: statements begin on the calling thread, run on the engine's, and tell what becomes
//! of them whenever the shell asks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use squall_client::session::{Event, Peer, ProfileInfo, Progress, Query, Session, Usage, evaluator_in};
use squall_formats::{Evaluate, FormatOptions, TableInput};
use squall_server::Server;
use squall_server::http::new_query_id;
use squall_server::local::LocalSession;
use squall_server::query::{Query as Running, QueryRequest};
use squall_types::{Block, Error, ErrorCode, Result};
use tokio::runtime::{Builder, Runtime};

/// A session of the engine in this process.
pub struct InProcess {
    runtime: Runtime,
    /// Away while a statement begins.
    local: Option<LocalSession>,
    server: Arc<Server>,
    peer: Peer,
    state: State,
    pending: VecDeque<Event>,
    query_id: Arc<str>,
    /// What was told of the running statement's progress.
    told: Progress,
}

type Starting = Pin<Box<dyn Future<Output = (LocalSession, Result<Box<Running>>)> + Send>>;

enum State {
    Idle,
    Starting(Starting),
    Running(Box<Running>),
    Inserting(Box<Running>),
}

fn runtime() -> Result<Runtime> {
    let built =
        Builder::new_current_thread().enable_all().thread_stack_size(squall_runtime::thread_pool::STACK_BYTES).build();
    built.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))
}

impl InProcess {
    /// Makes a session one that the shell can talk to.
    ///
    /// # Errors
    /// Where the runtime cannot be made.
    pub fn new(mut local: LocalSession) -> Result<Self> {
        let server = local.session().server.clone();
        let peer = Peer {
            display_name: "local".to_owned(),
            description: "the engine in this process".to_owned(),
            time_zone: server.time_zone.to_string(),
        };
        Ok(Self {
            runtime: runtime()?,
            local: Some(local),
            server,
            peer,
            state: State::Idle,
            pending: VecDeque::new(),
            query_id: "".into(),
            told: Progress::default(),
        })
    }

    /// What was done since it was told last, where something was.
    fn progress(&mut self) -> Option<Event> {
        let process = self.server.processes.find(&self.query_id)?;
        self.pending.push_back(Event::Usage(Usage {
            memory_bytes: u64::try_from(process.context.memory.peak_bytes()).ok(),
            ..Usage::default()
        }));
        let of = &process.context.progress;
        let now = Progress {
            read_rows: of.read_rows.load(Ordering::Relaxed),
            read_bytes: of.read_bytes.load(Ordering::Relaxed),
            total_rows: of.total_rows_to_read.load(Ordering::Relaxed),
            written_rows: of.written_rows.load(Ordering::Relaxed),
            written_bytes: of.written_bytes.load(Ordering::Relaxed),
            elapsed: process.context.started.elapsed(),
        };
        Some(Event::Progress(self.since_told(now)))
    }

    fn since_told(&mut self, now: Progress) -> Progress {
        let before = std::mem::replace(&mut self.told, now);
        Progress {
            read_rows: now.read_rows.saturating_sub(before.read_rows),
            read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
            total_rows: now.total_rows.saturating_sub(before.total_rows),
            written_rows: now.written_rows.saturating_sub(before.written_rows),
            written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            elapsed: now.elapsed.saturating_sub(before.elapsed),
        }
    }

    /// A statement that has begun.
    fn begun(&mut self, mut query: Box<Running>) {
        if let Some(sink) = query.insert_sink() {
            let defaults = sink.columns_with_defaults();
            let empty = Block::empty(sink.schema().clone());
            if !defaults.is_empty() {
                self.pending.push_back(Event::Defaults(defaults));
            }
            self.pending.push_back(Event::Block(empty));
            self.state = State::Inserting(query);
        } else if let Some(schema) = query.schema().cloned() {
            self.pending.push_back(Event::Block(Block::empty(schema)));
            self.state = State::Running(query);
        } else {
            self.ended(query);
        }
    }

    /// A statement whose rows have all come.
    fn ended(&mut self, mut query: Box<Running>) {
        if let Some(totals) = query.take_totals() {
            self.pending.push_back(Event::Totals(totals));
        }
        match query.take_extremes() {
            Ok(Some(extremes)) => self.pending.push_back(Event::Extremes(extremes)),
            Ok(None) => {}
            Err(error) => {
                self.pending.push_back(Event::Exception(error));
                return;
            }
        }
        let progress = self.progress();
        self.pending.extend(progress);
        let of = &query.context().progress;
        self.pending.push_back(Event::Profile(ProfileInfo {
            rows: of.result_rows.load(Ordering::Relaxed),
            bytes: of.result_bytes.load(Ordering::Relaxed),
            rows_before_limit: of.rows_before_limit(),
        }));
        query.finish();
        self.pending.push_back(Event::End);
    }

    fn sink(&mut self) -> Result<(&Runtime, &mut Box<Running>)> {
        match &mut self.state {
            State::Inserting(query) => Ok((&self.runtime, query)),
            _ => Err(Error::logical("rows for no INSERT")),
        }
    }
}

impl Session for InProcess {
    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn start(&mut self, query: &Query<'_>) -> Result<()> {
        self.pending.clear();
        self.state = State::Idle;
        self.told = Progress::default();
        if !query.tables.is_empty() {
            return Err(Error::not_implemented("--external in squall local, where files are tables anyway,"));
        }
        let Some(mut local) = self.local.take() else { return Err(Error::logical("a statement begins already")) };
        self.query_id = if query.id.is_empty() { new_query_id() } else { query.id.into() };
        let (text, settings) = (query.text.as_bytes().to_vec(), query.settings.to_vec());
        let (parameters, query_id) = (query.parameters.to_vec(), self.query_id.clone());
        self.state = State::Starting(Box::pin(async move {
            let session = local.session();
            let set = parameters.iter().try_for_each(|(name, value)| session.set_parameter(name, value));
            let started = match set {
                Ok(()) => Running::start(session, QueryRequest { text: &text, query_id, settings: &settings }).await,
                Err(error) => Err(error),
            };
            (local, started)
        }));
        Ok(())
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Event>> {
        if let Some(event) = self.pending.pop_front() {
            return Ok(Some(event));
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => return Err(Error::logical("events of no statement")),
            State::Starting(mut starting) => {
                match self.runtime.block_on(async { tokio::time::timeout(wait, &mut starting).await }) {
                    Err(_) => {
                        self.state = State::Starting(starting);
                        return Ok(self.progress());
                    }
                    Ok((local, started)) => {
                        self.local = Some(local);
                        match started {
                            Ok(query) => self.begun(query),
                            Err(error) => return Ok(Some(Event::Exception(error))),
                        }
                    }
                }
            }
            State::Running(mut query) => {
                match self.runtime.block_on(async { tokio::time::timeout(wait, query.next_block()).await }) {
                    Err(_) => {
                        self.state = State::Running(query);
                        return Ok(self.progress());
                    }
                    Ok(Ok(Some(block))) => {
                        self.state = State::Running(query);
                        return Ok(Some(Event::Block(block)));
                    }
                    Ok(Ok(None)) => self.ended(query),
                    Ok(Err(error)) => return Ok(Some(Event::Exception(error))),
                }
            }
            State::Inserting(query) => self.state = State::Inserting(query),
        }
        Ok(self.pending.pop_front())
    }

    fn send(&mut self, block: &Block) -> Result<()> {
        let (runtime, query) = self.sink()?;
        let options = FormatOptions { settings: query.settings().clone(), ..FormatOptions::default() };
        let sent = runtime.block_on(async {
            let sink = query.insert_sink().ok_or_else(|| Error::logical("an INSERT without a sink"))?;
            let input = TableInput::new(sink.schema(), &options).match_block(block)?;
            sink.send_input(input).await
        });
        if let Err(error) = &sent {
            query.fail(error);
            self.state = State::Idle;
            self.pending.push_back(Event::Exception(error.clone()));
        }
        sent
    }

    fn end_data(&mut self) -> Result<()> {
        let (runtime, query) = self.sink()?;
        let finished = runtime.block_on(query.finish_insert());
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Inserting(query) if finished.is_ok() => self.ended(query),
            _ => {}
        }
        if let Err(error) = finished {
            self.pending.push_back(Event::Exception(error));
        }
        Ok(())
    }

    fn cancel(&mut self) -> Result<()> {
        if let Some(process) = self.server.processes.find(&self.query_id) {
            process.cancel();
        }
        Ok(())
    }

    fn evaluator(&self) -> Evaluate {
        let server = self.server.clone();
        evaluator_in(move || Self::new(LocalSession::of(server.clone())))
    }
}
