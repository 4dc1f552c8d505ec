//! Inserting into another server's table. A thread of the pool has the connection. The rows are acknowledged there before the INSERT is
//! here.

use std::sync::Arc;

use squall_files::Account;
use squall_native::Query;
use squall_storage::{FedInsertion, Handed};
use squall_types::{Result, Schema};
use tokio::sync::mpsc::Receiver;

use crate::link::{Peers, in_time, wait_for};

/// Begins the statement `text` at the only shard, with blocks of `schema`.
///
/// # Errors
/// `CANNOT_SCHEDULE_TASK`. Those of the network are told by the writers and the commit.
pub(crate) fn insertion(peers: Arc<Peers>, text: String, schema: Arc<Schema>) -> Result<FedInsertion> {
    FedInsertion::begin(schema, move |mut received, failure| {
        Account::of_this_thread().on_thread(move || {
            if let Err(error) = wait_for(carry(&peers, &text, &mut received)) {
                failure.tell(error.context(format_args!("from {}", peers.names())));
            }
        })
    })
}

/// Sends what comes, until the commit; an INSERT that is given up ends with its connection.
async fn carry(peers: &Peers, text: &str, received: &mut Receiver<Handed>) -> Result<()> {
    let mut connection = peers.connect(0).await?;
    in_time(connection.begin_insert(&Query { text, ..Query::default() })).await??;
    while let Some(handed) = received.recv().await {
        match handed {
            Handed::Rows(block) => in_time(connection.send_block(&block)).await??,
            Handed::Commit(done) => {
                in_time(connection.finish_insert()).await??;
                // Who asked has gone only where the query has failed meanwhile.
                let _ = done.send(());
                return Ok(());
            }
        }
    }
    Ok(())
}
