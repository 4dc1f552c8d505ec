//! Inserting into another server's table. A thread of the pool has the connection; writers hand it blocks through a bounded queue and give
//! way while it is full. The rows are acknowledged there before the INSERT is here.

use std::sync::Arc;

use parking_lot::Mutex;
use squall_files::Account;
use squall_native::Query;
use squall_runtime::block_on;
use squall_storage::{InsertWriter, Insertion, PartWork};
use squall_types::{Block, Error, ErrorCode, Result, Schema};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use crate::link::{Peers, in_time, on_thread, wait_for};

/// Blocks that may wait for the connection.
const BLOCKS_WAITING_MAX: usize = 4;

/// What writers hand over.
enum Message {
    Rows(Block),
    /// All rows have come: they are to be acknowledged.
    Commit(oneshot::Sender<()>),
}

/// An INSERT into another server's table.
pub(crate) struct RemoteInsertion {
    shared: Arc<Shared>,
}

struct Shared {
    messages: Sender<Message>,
    schema: Arc<Schema>,
    /// Why the connection takes no more.
    failure: Mutex<Option<Error>>,
}

impl RemoteInsertion {
    /// Begins the statement `text` at the only shard, with blocks of `schema`.
    ///
    /// # Errors
    /// `CANNOT_SCHEDULE_TASK`. Those of the network are told by the writers and the commit.
    pub fn begin(peers: Arc<Peers>, text: String, schema: Arc<Schema>) -> Result<Self> {
        let (messages, received) = channel(BLOCKS_WAITING_MAX);
        let shared = Arc::new(Shared { messages, schema, failure: Mutex::default() });
        // The thread must not hold the queue open by which it learns that the INSERT was given up.
        let told = Arc::downgrade(&shared);
        on_thread(Account::of_this_thread(), move || {
            let mut received = received;
            if let Err(error) = wait_for(carry(&peers, &text, &mut received))
                && let Some(shared) = told.upgrade()
            {
                // Before the queue closes, so that who finds it closed finds the reason.
                *shared.failure.lock() = Some(error.context(format_args!("from {}", peers.names())));
            }
        })?;
        Ok(Self { shared })
    }
}

/// Sends what comes, until the commit; an INSERT that is given up ends with its connection.
async fn carry(peers: &Peers, text: &str, received: &mut Receiver<Message>) -> Result<()> {
    let mut connection = peers.connect(0).await?;
    in_time(connection.begin_insert(&Query { text, ..Query::default() })).await??;
    while let Some(message) = received.recv().await {
        match message {
            Message::Rows(block) => in_time(connection.send_block(&block)).await??,
            Message::Commit(done) => {
                in_time(connection.finish_insert()).await??;
                // Who asked has gone only where the query has failed meanwhile.
                let _ = done.send(());
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Shared {
    async fn send(&self, message: Message) -> Result<()> {
        self.messages.send(message).await.map_err(|_| self.why())
    }

    fn why(&self) -> Error {
        let failure = self.failure.lock().clone();
        failure.unwrap_or_else(|| Error::new(ErrorCode::NETWORK_ERROR, "The connection to the other server has ended"))
    }
}

impl Insertion for RemoteInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(RemoteWriter(self.shared.clone())))
    }

    fn commit(&self) -> Result<()> {
        let (done, is_done) = oneshot::channel();
        block_on(self.shared.send(Message::Commit(done)))?;
        block_on(is_done).map_err(|_| self.shared.why())
    }
}

struct RemoteWriter(Arc<Shared>);

impl InsertWriter for RemoteWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        let shared = self.0.clone();
        let block = block.with_schema(shared.schema.clone());
        Ok(Some(Box::pin(async move { shared.send(Message::Rows(block)).await })))
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        Ok(None)
    }
}
