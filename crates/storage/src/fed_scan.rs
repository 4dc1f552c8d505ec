//! A scan of rows that somebody else makes: a thread or a task sends blocks into a bounded queue, from which workers claim them. Who makes
//! rows that nobody takes waits.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use squall_types::{Block, Error, Result};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::table::{Claim, Morsel, TableScan};

/// Blocks that may wait for a worker.
const BLOCKS_WAITING_MAX: usize = 4;
/// The morsel that tells of a failure.
const FAILURE: u64 = u64::MAX;

/// Where the maker of rows sends them. An error ends the scan with it, the last sender's end is that of the rows. Sending fails once nobody
/// wants more.
pub type Feed = Sender<Result<Block>>;

/// Begins to make rows. Never waits for them.
type Begin = Box<dyn FnOnce(Feed) -> Result<()> + Send>;

/// The scan of rows that are sent.
pub struct FedScan {
    state: Mutex<State>,
}

struct State {
    /// Until the first claim.
    begin: Option<Begin>,
    received: Option<Receiver<Result<Block>>>,
    claimed: HashMap<u64, Block>,
    next_number: u64,
    wakers: Vec<Waker>,
    failure: Option<Error>,
}

impl FedScan {
    /// `begin` is called when the first rows are wanted.
    pub fn new(begin: impl FnOnce(Feed) -> Result<()> + Send + 'static) -> Self {
        let (received, claimed, next_number, wakers, failure) = Default::default();
        let begin: Option<Begin> = Some(Box::new(begin));
        Self { state: Mutex::new(State { begin, received, claimed, next_number, wakers, failure }) }
    }
}

impl TableScan for FedScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        if let Some(begin) = state.begin.take() {
            let (sender, receiver) = channel(BLOCKS_WAITING_MAX);
            match begin(sender) {
                Ok(()) => state.received = Some(receiver),
                Err(error) => state.failure = Some(error),
            }
        }
        if state.failure.is_some() {
            return Claim::Morsel(Morsel { first: FAILURE, rows: 1 });
        }
        let polled = match &mut state.received {
            Some(received) => received.poll_recv(&mut Context::from_waker(waker)),
            None => Poll::Ready(None),
        };
        let claim = match polled {
            Poll::Pending => {
                // The queue wakes the last who asked, who then wakes the others.
                if !state.wakers.iter().any(|known| known.will_wake(waker)) {
                    state.wakers.push(waker.clone());
                }
                return Claim::Pending;
            }
            Poll::Ready(None) => Claim::Finished,
            Poll::Ready(Some(Ok(block))) => {
                let morsel = Morsel { first: state.next_number, rows: block.rows() as u64 };
                state.next_number += 1;
                state.claimed.insert(morsel.first, block);
                Claim::Morsel(morsel)
            }
            Poll::Ready(Some(Err(error))) => {
                state.failure = Some(error);
                Claim::Morsel(Morsel { first: FAILURE, rows: 1 })
            }
        };
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.iter().for_each(Waker::wake_by_ref);
        claim
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let block = {
            let mut state = self.state.lock();
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            state.claimed.remove(&morsel.first).ok_or_else(|| Error::logical("a block that nobody claimed"))?
        };
        if consume(block)?.is_break() {
            // The queue without its reader ends the other side's work.
            self.state.lock().received.as_mut().map(Receiver::close);
        }
        Ok(())
    }
}
