//! Work of any length that workers carry on piece by piece: futures that give way about every millisecond, and wait for a disk as any
//! future waits. Here are one such future and a crowd of them that grows while its pipelines run; numbered ones are in `units`.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, Error, Result};

use crate::pipeline::{Pipeline, Stage};
use crate::query_context::QueryContext;
use crate::sink::Nothing;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Between two pieces it answers `Pending` and has woken its waker already.
pub(crate) type WorkFuture = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// A future and whether it can go on.
pub(crate) struct Work {
    future: WorkFuture,
    call: Arc<Call>,
}

/// Whether a work can go on.
pub(crate) struct Call {
    has_come: AtomicBool,
    /// The worker that is at the work looks by itself.
    is_awaited: AtomicBool,
    context: Arc<QueryContext>,
}

impl Call {
    /// The work is back where others look for it. A call until here is seen by the worker that was at it, which looks for its next
    /// morsel now; one after it wakes the query.
    pub(crate) fn await_again(&self) {
        self.is_awaited.store(true, Ordering::SeqCst);
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.has_come.store(true, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) {
            self.context.wake();
        }
    }
}

impl Work {
    pub(crate) fn new(future: WorkFuture, context: Arc<QueryContext>) -> Self {
        Self { future, call: Arc::new(Call { has_come: true.into(), is_awaited: false.into(), context }) }
    }

    pub(crate) fn can_go_on(&self) -> bool {
        self.call.has_come.load(Ordering::SeqCst)
    }

    pub(crate) fn call(&self) -> Arc<Call> {
        self.call.clone()
    }

    /// Runs a piece. Where it is not the last, the work is put back, and then [`Call::await_again`] is called.
    pub(crate) fn run_piece(&mut self) -> Poll<Result<()>> {
        self.call.is_awaited.store(false, Ordering::SeqCst);
        self.call.has_come.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.call.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

/// Works that are added while others are under way.
pub(crate) struct Works {
    context: Arc<QueryContext>,
    state: Mutex<State>,
    /// How many nobody is at, for those who may take no lock.
    resting_count: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Works that nobody is at, oldest first.
    resting: VecDeque<Work>,
    /// Works that a worker is at, by the number of their morsel: there until the worker takes it.
    claimed: VecDeque<(u64, Work)>,
    claims: u64,
    /// Works that a worker is at.
    carried: usize,
    /// No more works will come.
    is_ended: bool,
    /// The query has ended: nobody takes works any more.
    is_abandoned: bool,
}

impl Works {
    pub(crate) fn new(context: Arc<QueryContext>) -> Arc<Self> {
        Arc::new(Self { context, state: Mutex::default(), resting_count: 0.into() })
    }

    /// The pipeline that carries the works on.
    pub(crate) fn pipeline(self: &Arc<Self>, name: &str) -> Pipeline {
        let source = Arc::new(WorkPieces(self.clone()));
        let mut pipeline = Pipeline::new(source, name.to_owned(), Stage::new(Arc::new(Nothing), 1));
        pipeline.works = Some(self.clone());
        pipeline
    }

    /// How many workers have something to do here beside those that are at it.
    pub(crate) fn workers_wanted(&self) -> usize {
        self.resting_count.load(Ordering::SeqCst)
    }

    /// Keeps the count, after a change.
    fn count_resting(&self, state: &State) {
        self.resting_count.store(state.resting.len(), Ordering::SeqCst);
    }

    /// There is more to do, perhaps for workers that have found nothing. Drops the work where the query has ended.
    pub(crate) fn add(&self, future: WorkFuture) {
        let work = Work::new(future, self.context.clone());
        let mut state = self.state.lock();
        if state.is_abandoned {
            drop(state);
            return;
        }
        state.resting.push_back(work);
        self.count_resting(&state);
        drop(state);
        self.context.wake();
    }

    /// No more works will come. Who says so looks for its next morsel itself; others are called where there is something to do.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.is_ended = true;
        let is_over = state.resting.is_empty();
        drop(state);
        if !is_over {
            self.context.wake();
        }
    }

    /// How many are not over.
    pub(crate) fn count(&self) -> usize {
        let state = self.state.lock();
        state.resting.len() + state.carried
    }

    /// Whether a work waits for the disk: then no further ones should come.
    pub(crate) fn is_behind(&self) -> bool {
        self.state.lock().resting.iter().any(|work| !work.can_go_on())
    }
}

/// The source whose morsels are pieces of works.
pub(crate) struct WorkPieces(pub(crate) Arc<Works>);

/// Works that a query leaves undone where it fails may hold what holds them.
impl Drop for WorkPieces {
    fn drop(&mut self) {
        let left = {
            let mut state = self.0.state.lock();
            state.is_abandoned = true;
            (std::mem::take(&mut state.resting), std::mem::take(&mut state.claimed))
        };
        drop(left);
    }
}

impl TableScan for WorkPieces {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _: u64, _: &Waker) -> Claim {
        let mut state = self.0.state.lock();
        let ready = state.resting.iter().position(Work::can_go_on);
        let Some(work) = ready.and_then(|at| state.resting.remove(at)) else {
            let is_over = state.is_ended && state.carried == 0 && state.resting.is_empty();
            return if is_over { Claim::Finished } else { Claim::Pending };
        };
        let first = state.claims;
        state.claims += 1;
        state.carried += 1;
        state.claimed.push_back((first, work));
        self.0.count_resting(&state);
        Claim::Morsel(Morsel { first, rows: 0 })
    }

    fn read(&self, morsel: Morsel, _: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let work = {
            let mut state = self.0.state.lock();
            let at = state.claimed.iter().position(|(number, _)| *number == morsel.first);
            at.and_then(|at| state.claimed.remove(at))
        };
        let (_, mut work) = work.ok_or_else(|| Error::logical("a piece of work is done twice"))?;
        let call = work.call();
        let progress = work.run_piece();
        if let Poll::Ready(Err(error)) = progress {
            // Still carried: nobody may find the works over before the error has ended the query.
            return Err(error);
        }
        let mut state = self.0.state.lock();
        state.carried -= 1;
        if progress.is_pending() {
            // Before newer ones: what is begun holds memory until it is done.
            state.resting.push_front(work);
            self.0.count_resting(&state);
        }
        drop(state);
        call.await_again();
        Ok(())
    }
}
