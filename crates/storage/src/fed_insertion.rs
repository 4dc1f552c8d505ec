//! An INSERT whose rows somebody else takes: writers hand blocks over through a bounded queue, and give way while it is full. Who takes them
//! says when they are durable.

use std::sync::Arc;

use parking_lot::Mutex;
use squall_runtime::block_on;
use squall_types::{Block, Error, ErrorCode, Result, Schema};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use crate::table::{InsertWriter, Insertion, PartWork};

/// Blocks that may wait to be taken.
const BLOCKS_WAITING_MAX: usize = 4;

/// What writers hand over. An INSERT that is given up ends without [`Commit`](Self::Commit).
pub enum Handed {
    /// Rows.
    Rows(Block),
    /// All rows have come: they are to be durable before this is answered.
    Commit(oneshot::Sender<()>),
}

/// An INSERT whose rows somebody else takes.
pub struct FedInsertion {
    shared: Arc<Shared>,
}

struct Shared {
    handed: Sender<Handed>,
    schema: Arc<Schema>,
    /// Why nothing is taken any more.
    failure: Mutex<Option<Error>>,
}

/// Where who takes the rows tells that it has failed.
pub struct Failure(std::sync::Weak<Shared>);

impl Failure {
    /// Says why nothing is taken any more. To be called before the queue is dropped, so that who finds it closed finds the reason.
    pub fn tell(&self, error: Error) {
        if let Some(shared) = self.0.upgrade() {
            *shared.failure.lock() = Some(error);
        }
    }
}

impl FedInsertion {
    /// An INSERT of blocks of `schema`; `begin` has somebody take what is handed over, and does not wait for it.
    ///
    /// # Errors
    /// Those of `begin`.
    pub fn begin(schema: Arc<Schema>, begin: impl FnOnce(Receiver<Handed>, Failure) -> Result<()>) -> Result<Self> {
        let (handed, received) = channel(BLOCKS_WAITING_MAX);
        let shared = Arc::new(Shared { handed, schema, failure: Mutex::default() });
        // Who takes the rows must not hold the queue open by which it learns that the INSERT was given up.
        begin(received, Failure(Arc::downgrade(&shared)))?;
        Ok(Self { shared })
    }
}

impl Shared {
    async fn hand(&self, handed: Handed) -> Result<()> {
        self.handed.send(handed).await.map_err(|_| self.why())
    }

    fn why(&self) -> Error {
        let failure = self.failure.lock().clone();
        failure.unwrap_or_else(|| {
            Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Nobody takes the rows of the INSERT any more")
        })
    }
}

impl Insertion for FedInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(FedWriter(self.shared.clone())))
    }

    fn commit(&self) -> Result<()> {
        let (done, is_done) = oneshot::channel();
        block_on(self.shared.hand(Handed::Commit(done)))?;
        block_on(is_done).map_err(|_| {
            // Whoever was to answer may not have told yet why there is none; once the queue is closed, that is known.
            block_on(self.shared.handed.closed());
            self.shared.why()
        })
    }
}

struct FedWriter(Arc<Shared>);

impl InsertWriter for FedWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        let shared = self.0.clone();
        let block = block.with_schema(shared.schema.clone());
        Ok(Some(Box::pin(async move { shared.hand(Handed::Rows(block)).await })))
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        Ok(None)
    }
}
