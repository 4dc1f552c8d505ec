//! Writes a batch of asynchronous INSERTs: as one INSERT, in the name of whoever sent them, with an entry of its own in the query log. Where
//! that fails because of some rows, halves of the batch are tried, so that everybody else's rows are written and the error finds its client.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use squall_engine::QueryContext;
use squall_formats::{FormatOptions, TableInput};
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::GLOBAL;
use squall_sql::ast::Statement;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use super::{Form, Waiting};
use crate::process::QueryKind;
use crate::query::insertion::insert;
use crate::query::insertion::insert_sink::InsertSink;
use crate::query::plan::cache::Parsed;
use crate::query::{Body, Query};
use crate::session::Session;

/// Blocks are put together until they have so many rows or bytes: enough to be worth sending, few enough to be copied at once.
const SENT_ROWS: usize = 65_536;
const SENT_BYTES: usize = 1 << 20;

/// Writes a batch and tells those who wait.
pub(super) async fn write(form: &Form, batch: Vec<Waiting>) {
    let mut batches = vec![batch];
    while let Some(mut batch) = batches.pop() {
        match write_together(form, &batch).await {
            Ok(()) => batch.into_iter().for_each(tell_written),
            Err(error) if batch.len() > 1 && is_of_some_rows(&error) => {
                let half = batch.split_off(batch.len() / 2);
                batches.extend([half, batch]);
            }
            Err(error) => {
                GLOBAL.add(ProfileEvent::FailedAsyncInsertQuery, batch.len() as u64);
                for mut insert in batch {
                    if let Some(answer) = insert.answer.take() {
                        // Who went away is not told.
                        let _ = answer.send(Err(error.clone()));
                    }
                }
            }
        }
    }
}

fn tell_written(mut insert: Waiting) {
    let (rows, bytes) = (insert.rows() as u64, insert.bytes as u64);
    match insert.answer.take() {
        Some(answer) => {
            let progress = &insert.context.progress;
            progress.written_rows.fetch_add(rows, Ordering::Relaxed);
            progress.written_bytes.fetch_add(bytes, Ordering::Relaxed);
            // Who went away is not told.
            let _ = answer.send(Ok(()));
        }
        // Its query has ended.
        None => {
            GLOBAL.add(ProfileEvent::InsertedRows, rows);
            GLOBAL.add(ProfileEvent::InsertedBytes, bytes);
        }
    }
}

/// Whether others' rows may do where some did not. Nothing was written, and nothing is wrong with the table or the server.
fn is_of_some_rows(error: &Error) -> bool {
    !matches!(
        error.code,
        ErrorCode::UNKNOWN_STATUS_OF_INSERT
            | ErrorCode::TOO_MANY_PARTS
            | ErrorCode::NOT_ENOUGH_SPACE
            | ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR
            | ErrorCode::CANNOT_SCHEDULE_TASK
            | ErrorCode::QUERY_WAS_CANCELLED
            | ErrorCode::ABORTED
            | ErrorCode::LOGICAL_ERROR
            | ErrorCode::UNKNOWN_TABLE
            | ErrorCode::UNKNOWN_DATABASE
            | ErrorCode::UNKNOWN_USER
            | ErrorCode::TABLE_IS_DROPPED
            | ErrorCode::ACCESS_DENIED
            | ErrorCode::NO_SUCH_COLUMN_IN_TABLE
            | ErrorCode::QUERY_IS_PROHIBITED
    )
}

/// Writes a batch as one INSERT.
async fn write_together(form: &Form, batch: &[Waiting]) -> Result<()> {
    let mut session = form.session.clone();
    session.refresh_access()?;
    let parsed = Arc::new(Parsed {
        text: form.parsed.text.clone(),
        statement: form.statement.clone(),
        kind: QueryKind::AsyncInsertFlush,
        normalized_query_hash: form.parsed.normalized_query_hash,
        format: None,
        may_sleep: form.parsed.may_sleep,
        looks_at_processes: false,
        shape: None,
        plan: Default::default(),
    });
    let query_id: Arc<str> = uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string().into();
    let context = Query::context_of(&session, &query_id, None);
    let info = Query::info_of(&session, &parsed, SystemTime::now());
    // Clients that have been admitted wait for it.
    let handle = session.server.processes.admit(info, context.clone(), true, true).await?;
    let mut query = Query::begun(&session, &parsed, handle, None);
    let written = async {
        let sink = begin(&session, form, &context).await?;
        query.body = Body::Insert { sink: Some(sink), format: form.format.clone(), inline_data: None };
        send(&session, &mut query, batch).await?;
        query.finish_insert().await
    };
    let result = written.await;
    match &result {
        Ok(()) => query.finish(),
        Err(error) => query.fail(error),
    }
    result
}

async fn begin(session: &Session, form: &Form, context: &Arc<QueryContext>) -> Result<InsertSink> {
    let Statement::Insert(statement) = &*form.statement else {
        return Err(Error::logical("an asynchronous INSERT that is none"));
    };
    insert::begin(session, &form.database, &form.table, statement.columns.as_deref(), context).await
}

/// Sends the rows of a batch.
async fn send(session: &Session, query: &mut Query, batch: &[Waiting]) -> Result<()> {
    let context = query.context().clone();
    let sink = query.insert_sink().ok_or_else(|| Error::logical("an INSERT without a sink"))?;
    let schema = sink.schema().clone();
    let options = FormatOptions::new(context.settings.clone(), &session.server.zone)?;
    let present = TableInput::new(&schema, &options);
    let mut together = Together { schema: schema.clone(), blocks: Vec::new(), rows: 0, bytes: 0 };
    for block in batch.iter().flat_map(|insert| &insert.blocks) {
        // The table's columns may be others than when the rows came.
        if **block.schema() != *schema {
            let input = {
                let _thread = context.enter();
                present.match_block(block)?
            };
            sink.send_input(input).await?;
            continue;
        }
        if let Some(full) = together.add(block, &context)? {
            sink.send(full).await?;
        }
    }
    match together.finish(&context)? {
        Some(last) => sink.send(last).await,
        None => Ok(()),
    }
}

/// Small blocks that become larger ones.
struct Together {
    schema: Arc<Schema>,
    blocks: Vec<Block>,
    rows: usize,
    bytes: usize,
}

impl Together {
    fn add(&mut self, block: &Block, context: &Arc<QueryContext>) -> Result<Option<Block>> {
        self.rows += block.rows();
        self.bytes += block.value_bytes();
        self.blocks.push(block.clone());
        if self.rows < SENT_ROWS && self.bytes < SENT_BYTES { Ok(None) } else { self.finish(context) }
    }

    fn finish(&mut self, context: &Arc<QueryContext>) -> Result<Option<Block>> {
        let blocks = std::mem::take(&mut self.blocks);
        (self.rows, self.bytes) = (0, 0);
        match &blocks[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => {
                let _thread = context.enter();
                Block::concat(self.schema.clone(), &blocks).map(Some)
            }
        }
    }
}
