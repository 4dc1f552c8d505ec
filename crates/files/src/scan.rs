//! The scan of files. Several parts are read at once. Of each, threads of the pool fetch some pieces ahead, which workers decode: so what is
//! in memory is bounded, no worker waits for a disk, and the rows of a part stay in their order.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;

use parking_lot::Mutex;
use squall_runtime::ThreadPool;
use squall_runtime::cpu::logical_cpus;
use squall_runtime::thread_pool::JobOptions;
use squall_storage::{Claim, Morsel, ScanRequest, TableScan};
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

use crate::account::Account;
use crate::decoder::Decoder;
use crate::fetcher::{Fetched, Fetcher, Unread};
use crate::part::{Part, Reading, Work, read_piece};
use crate::table::Virtual;

/// Pieces of a part that may wait to be decoded.
const PIECES_MAX: usize = 4;
/// Pieces for each CPU that may wait, of all parts that several workers decode.
const PIECES_PER_CPU: usize = 4;
/// Parts that are read at once, for each CPU.
const PARTS_PER_CPU: usize = 2;
/// So few rows are taken from the first parts: who asks for a few rows wants to see how the files begin.
const ROWS_IN_ORDER: u64 = 100_000;

/// A column that a scan gives.
pub(crate) enum Output {
    /// One that the format gives, by its place.
    Column(usize),
    Virtual(Virtual),
}

/// A scan of files.
pub(crate) struct FileScan(Arc<Core>);

struct Core {
    reading: Reading,
    outputs: Vec<Output>,
    schema: Arc<Schema>,
    /// Rows that suffice.
    rows_max: u64,
    rows_given: AtomicU64,
    parts_max: usize,
    /// Whether several workers may decode one part.
    reads_apart: bool,
    state: Mutex<State>,
    /// Nobody wants more.
    is_over: AtomicBool,
}

#[derive(Default)]
struct State {
    unread: VecDeque<Unread>,
    parts: Vec<Part>,
    next_number: u64,
    claimed: HashMap<u64, Claimed>,
    next_claim: u64,
    wakers: Vec<Waker>,
    account: Option<Account>,
    failure: Option<Error>,
}

/// What a worker has claimed, and of which part.
struct Claimed {
    part: u64,
    file: usize,
    work: Work,
    /// Of rows to hand on, how many of each block are wanted.
    wanted: Vec<usize>,
}

/// How many pieces of a part, one of so many, may wait.
fn pieces_max(part: &Part, parts: usize) -> usize {
    match part.row_ends {
        Some(_) => PIECES_MAX.max(PIECES_PER_CPU * logical_cpus() / parts.max(1)),
        None => PIECES_MAX,
    }
}

impl FileScan {
    pub fn new(reading: Reading, outputs: Vec<Output>, request: &ScanRequest) -> Self {
        let files = if matches!(reading.data, crate::table::Data::Files) { reading.source.files.len() } else { 1 };
        let rows_max = request.limited(u64::MAX);
        let state = State { unread: (0..files).map(Unread::File).collect(), ..State::default() };
        Self(Arc::new(Core {
            reading,
            outputs,
            schema: request.schema.clone(),
            rows_max,
            rows_given: AtomicU64::new(0),
            parts_max: if rows_max <= ROWS_IN_ORDER { 1 } else { PARTS_PER_CPU * logical_cpus() },
            reads_apart: rows_max > ROWS_IN_ORDER,
            state: Mutex::new(state),
            is_over: AtomicBool::new(false),
        }))
    }
}

impl Drop for FileScan {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Core {
    /// Has nothing more fetched.
    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Begins parts while there may be more, and has pieces fetched of those that have few.
    fn fetch_ahead(self: &Arc<Self>, state: &mut State) {
        while state.parts.len() < self.parts_max
            && let Some(unread) = state.unread.pop_front()
        {
            let number = state.next_number;
            state.next_number += 1;
            state.parts.push(Part::new(number, unread));
        }
        let account = state.account.clone().unwrap_or_default();
        let parts = state.parts.len();
        for part in &mut state.parts {
            if part.is_fetched || part.pieces() > pieces_max(part, parts) / 2 {
                continue;
            }
            let Some(mut fetcher) = part.fetcher.take() else { continue };
            if let Some(ends) = part.row_ends {
                fetcher.cut(ends);
            }
            let (core, number, account) = (self.clone(), part.number, account.clone());
            let options = JobOptions { owner: account.owner(), ..JobOptions::default() };
            let job = move || {
                let run = std::panic::AssertUnwindSafe(|| account.charge(|| core.fetch(number, fetcher)));
                if std::panic::catch_unwind(run).is_err() {
                    core.fail(Error::logical("a panic in reading a file"));
                }
            };
            if let Err(error) = ThreadPool::global().schedule_with(options, job) {
                state.failure = Some(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()));
            }
        }
    }

    /// Fetches pieces of a part until enough wait.
    fn fetch(&self, number: u64, mut fetcher: Fetcher) {
        loop {
            if self.is_over() {
                return;
            }
            let fetched = fetcher.next(&self.reading);
            let mut state = self.state.lock();
            let parts = state.parts.len();
            let Some(part) = state.parts.iter_mut().find(|part| part.number == number) else { return };
            let goes_on = match fetched {
                Ok(Some(Fetched::Parts(parts))) => {
                    part.is_fetched = true;
                    // Those of an earlier file come first.
                    parts.into_iter().rev().for_each(|unread| state.unread.push_front(unread));
                    false
                }
                Ok(Some(piece)) => {
                    part.push(piece);
                    part.pieces() < pieces_max(part, parts)
                }
                Ok(None) => {
                    part.is_fetched = true;
                    false
                }
                Err(error) => {
                    let file = part.file;
                    state.failure.get_or_insert(self.in_file(error, file));
                    false
                }
            };
            let wakers = std::mem::take(&mut state.wakers);
            if !goes_on && let Some(part) = state.parts.iter_mut().find(|part| part.number == number) {
                part.fetcher = Some(std::mem::replace(&mut fetcher, Fetcher::Over));
            }
            drop(state);
            wakers.iter().for_each(Waker::wake_by_ref);
            if !goes_on {
                return;
            }
        }
    }

    /// An error with the name of the file that it is about.
    fn in_file(&self, error: Error, file: usize) -> Error {
        match self.reading.source.files.get(file) {
            Some(found) => Error::new(error.code, format!("{}: (in file {})", error.message, found.path.display())),
            None => error,
        }
    }

    fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        state.failure.get_or_insert(error);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// Takes the first thing that there is to do.
    fn claim_work(&self, state: &mut State) -> Result<Option<Morsel>> {
        if state.failure.is_some() {
            return Ok(None);
        }
        // The first part's rows are wanted first.
        for part in &mut state.parts {
            let Some(work) = part.claim(self.reads_apart)? else { continue };
            let wanted = match &work {
                Work::Give(read) => read.iter().map(|input| self.allow(input.block.rows())).collect(),
                Work::Decode(..) | Work::Read(..) => Vec::new(),
            };
            let rows = u64::from(!matches!(work, Work::Read(..)));
            let first = state.next_claim;
            state.next_claim += 1;
            state.claimed.insert(first, Claimed { part: part.number, file: part.file, work, wanted });
            return Ok(Some(Morsel { first, rows }));
        }
        Ok(None)
    }

    /// Decodes what comes next of a part, which others may go on with while the rows go through the operators: their morsel comes after this
    /// one. Gives the blocks, and how many rows of each are wanted.
    fn decode(
        self: &Arc<Self>,
        part: u64,
        mut decoder: Decoder,
        piece: Option<Fetched>,
    ) -> Result<(Vec<Block>, Vec<usize>)> {
        let is_last = piece.is_none() && !decoder.goes_on();
        let mut blocks = Vec::new();
        decoder.decode(piece, &self.reading, &mut blocks)?;
        let wanted = blocks.iter().map(|block| self.allow(block.rows())).collect();
        if is_last && !decoder.goes_on() || matches!(decoder, Decoder::Over) {
            self.state.lock().parts.retain(|other| other.number != part);
            self.go_on(part, |_| {});
        } else {
            let mut outcome = Ok(());
            self.go_on(part, |part| outcome = part.put_decoder(decoder, self.reads_apart));
            outcome?;
        }
        Ok((blocks, wanted))
    }

    /// Changes a part, after which there may be more to do.
    fn go_on(self: &Arc<Self>, part: u64, change: impl FnOnce(&mut Part)) {
        let mut state = self.state.lock();
        state.parts.iter_mut().find(|other| other.number == part).map(change);
        self.fetch_ahead(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// How many of the next rows are still wanted. Asked by the one that decodes a part, so that the first rows of the part count first.
    fn allow(&self, rows: usize) -> usize {
        let before = self.rows_given.fetch_add(rows as u64, Ordering::Relaxed);
        let left = self.rows_max.saturating_sub(before);
        if left <= rows as u64 {
            self.end();
        }
        usize::try_from(left).unwrap_or(usize::MAX).min(rows)
    }

    /// Gives the first rows of a block of the format's columns; `Break` where no more are wanted.
    fn give(
        &self,
        block: &Block,
        rows: usize,
        file: usize,
        consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if rows == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        let cut = if rows < block.rows() { block.slice(0, rows) } else { block.clone() };
        let columns = self.outputs.iter().zip(self.schema.types()).map(|(output, data_type)| match output {
            Output::Column(at) => Ok(cut.column(*at).clone()),
            Output::Virtual(of) => {
                Column::constant(data_type.clone(), &of.value(self.reading.source.files.get(file)), rows)
            }
        });
        consume(Block::new(self.schema.clone(), columns.collect::<Result<Vec<_>>>()?, rows))
    }
}

impl TableScan for FileScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _: u64, waker: &Waker) -> Claim {
        let core = &self.0;
        if core.is_over() {
            return Claim::Finished;
        }
        let mut state = core.state.lock();
        if state.account.is_none() {
            state.account = Some(Account::of_this_thread());
        }
        core.fetch_ahead(&mut state);
        match core.claim_work(&mut state) {
            Ok(Some(morsel)) => return Claim::Morsel(morsel),
            Ok(None) => {}
            Err(error) => {
                state.failure.get_or_insert(error);
            }
        }
        if state.failure.is_some() {
            // Told by the one that reads it.
            return Claim::Morsel(Morsel { first: u64::MAX, rows: 1 });
        }
        if state.parts.is_empty() && state.unread.is_empty() {
            return Claim::Finished;
        }
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        Claim::Pending
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let core = &self.0;
        let Claimed { part, file, work, wanted } = {
            let mut state = core.state.lock();
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            let claimed = state.claimed.remove(&morsel.first);
            core.fetch_ahead(&mut state);
            claimed.ok_or_else(|| Error::logical("work that nobody claimed"))?
        };
        let (blocks, wanted) = match work {
            Work::Decode(decoder, piece) => {
                core.decode(part, decoder, piece).map_err(|error| core.in_file(error, file))?
            }
            Work::Read(number, piece, reader) => {
                let rows = read_piece(&piece.bytes, reader);
                core.go_on(part, |part| part.put_read(number, piece, rows));
                return Ok(());
            }
            Work::Give(read) => {
                let blocks: Result<_> = read.into_iter().map(|read| core.reading.filled(read)).collect();
                (blocks.map_err(|error| core.in_file(error, file))?, wanted)
            }
        };
        for (block, rows) in blocks.iter().zip(wanted) {
            if core.give(block, rows, file, consume)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
