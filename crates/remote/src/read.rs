//! Reading from other servers. For each shard a thread of the pool follows the answer and puts its blocks into a bounded queue, from which
//! workers claim them: a server whose rows nobody takes is not read from.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use squall_files::Account;
use squall_native::{Packet, Query};
use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, CastOptions, Error, ErrorCode, Result, Schema, Value, cast};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::link::{Peers, in_time, on_thread, wait_for};

/// Blocks that may wait for a worker.
const BLOCKS_WAITING_MAX: usize = 4;
/// The most rows of a block without columns.
const COUNTED_ROWS: u64 = 1 << 20;
/// The morsel that tells of a failure.
const FAILURE: u64 = u64::MAX;

/// The scan of one statement's rows from all shards.
pub(crate) struct RemoteScan {
    peers: Arc<Peers>,
    text: Arc<str>,
    schema: Arc<Schema>,
    /// The statement asks for the number of rows.
    counts: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// From the first claim on.
    received: Option<Receiver<Result<Block>>>,
    claimed: HashMap<u64, Block>,
    next_number: u64,
    wakers: Vec<Waker>,
    failure: Option<Error>,
}

impl RemoteScan {
    pub fn new(peers: Arc<Peers>, text: String, schema: Arc<Schema>, counts: bool) -> Self {
        Self { peers, text: text.into(), schema, counts, state: Mutex::default() }
    }

    /// Has every shard asked.
    fn begin(&self) -> Result<Receiver<Result<Block>>> {
        let (sender, receiver) = channel(BLOCKS_WAITING_MAX);
        for shard in 0..self.peers.shards.len() {
            let (peers, text, counts, sender) = (self.peers.clone(), self.text.clone(), self.counts, sender.clone());
            on_thread(Account::of_this_thread(), move || {
                let followed = wait_for(follow(&peers, shard, &text, counts, &sender));
                if let Err(error) = followed {
                    let error = error.context(format_args!("from {}", peers.names()));
                    // Who has gone does not want to know.
                    let _ = squall_runtime::block_on(sender.send(Err(error)));
                }
            })?;
        }
        Ok(receiver)
    }

    /// A block with the columns that were asked for, whatever their types are there by now.
    fn converted(&self, block: Block) -> Result<Block> {
        if self.schema.is_empty() {
            return Ok(Block::new(self.schema.clone(), Vec::new(), block.rows()));
        }
        if block.columns().len() != self.schema.len() {
            let message = "The other server sends another number of columns than it was asked for";
            return Err(Error::new(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER, message));
        }
        let columns = block.columns().iter().zip(self.schema.types()).map(|(column, wanted)| {
            if column.data_type() == wanted {
                Ok(column.clone())
            } else {
                cast(column, wanted, &CastOptions::default())
            }
        });
        Ok(Block::new(self.schema.clone(), columns.collect::<Result<Vec<_>>>()?, block.rows()))
    }
}

/// Sends the statement to a shard and gives its blocks away until the end, or until nobody wants more.
async fn follow(peers: &Peers, shard: usize, text: &str, counts: bool, blocks: &Sender<Result<Block>>) -> Result<()> {
    let mut connection = peers.connect(shard).await?;
    connection.send_query(&Query { text, ..Query::default() }).await?;
    loop {
        let packet = tokio::select! {
            packet = in_time(connection.next_packet()) => packet??,
            () = blocks.closed() => {
                // The connection ends with this, so nobody waits for the end of the answer.
                let _ = connection.cancel().await;
                return Ok(());
            }
        };
        match packet {
            Packet::Data(block) if block.is_empty() => {}
            Packet::Data(block) if counts => {
                let mut rows = block.columns().first().map_or(0, |column| match column.value(0) {
                    Value::UInt64(rows) => rows,
                    _ => 0,
                });
                while rows > 0 {
                    let some = rows.min(COUNTED_ROWS);
                    rows -= some;
                    if blocks.send(Ok(Block::new(Arc::default(), Vec::new(), some as usize))).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Packet::Data(block) => {
                let Err(_) = blocks.send(Ok(block)).await else { continue };
                let _ = connection.cancel().await;
                return Ok(());
            }
            Packet::Exception(error) => return Err(error),
            Packet::EndOfStream => return Ok(()),
            _ => {}
        }
    }
}

impl TableScan for RemoteScan {
    fn rows_total(&self) -> Option<u64> {
        None
    }

    fn claim(&self, _: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        if state.received.is_none() && state.failure.is_none() {
            match self.begin() {
                Ok(receiver) => state.received = Some(receiver),
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
        if consume(self.converted(block)?)?.is_break() {
            // The queue without its reader ends the other side's work.
            self.state.lock().received.as_mut().map(Receiver::close);
        }
        Ok(())
    }
}
