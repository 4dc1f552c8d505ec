//! Rows that others have added to tables of the lake: they are read from the files of those others and become parts, in one commit that takes
//! the files' place.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use squall_engine::QueryContext;
use squall_files::{FileTable, FileTableOptions, Reach};
use squall_formats::FormatOptions;
use squall_runtime::block_on;
use squall_storage::{
    AddedRows, Claim, ConditionUse, ForeignRows, InsertLimits, RowNumbers, ScanRequest, SkipIndexUse, Table,
};
use squall_types::{Block, Error, ErrorCode, Result, Schema, Settings};
use tokio::sync::mpsc::{Sender, channel};

use crate::background::background_settings;
use crate::query::control::system_command::run_blocking;
use crate::query::insertion::cascade::Rows;
use crate::server::Server;

/// Blocks that are read ahead.
const BLOCKS_AHEAD: usize = 2;
/// Rows that are read at once.
const ROWS: u64 = 65_536;

/// Makes parts of the rows. What fails is tried again when the lake changes, and at the next start.
pub(crate) async fn take_over(server: Arc<Server>, added: AddedRows) {
    let table = added.table.clone();
    match become_parts(&server, added).await {
        Ok(true) => tracing::info!(target: "Lake", "Rows that another writer has added to {table} are taken over"),
        Ok(false) => {}
        Err(error) => {
            tracing::error!(target: "Lake", "Rows that another writer has added to {table} are not seen: {error}")
        }
    }
}

async fn become_parts(server: &Arc<Server>, added: AddedRows) -> Result<bool> {
    let settings = Arc::new(background_settings(&Settings::default()));
    let context = QueryContext::new(format!("rows of another writer in {}", added.table).into(), settings.clone());
    context.set_cpu_share(server.background_share.clone());
    let table = server.databases.table(&added.table.database, &added.table.table)?;
    let insertion = table.insert_within(InsertLimits::new(&settings))?;
    let mut rows = server.engine.insert_input(Rows::held(insertion.clone()), None, context.clone());
    let options = FormatOptions::new(settings, &server.zone)?;
    let (added, files) = run_blocking(move || added.files().map(|files| (added, files))).await?;
    for file in files {
        let (sender, mut blocks) = channel(BLOCKS_AHEAD);
        let (schema, options) = (added.schema().clone(), options.clone());
        let reading = tokio::task::spawn_blocking(move || {
            if let Err(error) = read(&file, &schema, options, &sender) {
                // Who has gone does not want to know.
                let _ = sender.blocking_send(Err(error));
            }
        });
        while let Some(block) = blocks.recv().await {
            rows.send(block?).await?;
        }
        drop(reading);
    }
    rows.finish().await?;
    context.count_for_process();
    run_blocking(move || added.take_over(&*insertion)).await
}

/// Sends what is left of a file's rows, in their order.
fn read(file: &ForeignRows, schema: &Schema, options: FormatOptions, blocks: &Sender<Result<Block>>) -> Result<()> {
    let path = file.path().to_string_lossy().into_owned();
    let of = FileTableOptions { path, format: "Parquet".to_owned(), ..FileTableOptions::default() };
    let table = FileTable::with_columns(&of, schema.clone(), &Reach::Anywhere, options)?;
    let scan = table.scan(&ScanRequest {
        columns: (0..schema.len()).collect(),
        schema: Arc::new(schema.clone()),
        predicate: None,
        bounds: Vec::new(),
        limit: None,
        skip_indexes: SkipIndexUse::default(),
        row_numbers: RowNumbers::None,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    })?;
    let mut row = 0;
    loop {
        let claimed = block_on(poll_fn(|task| match scan.claim(ROWS, task.waker()) {
            Claim::Pending => Poll::Pending,
            claim => Poll::Ready(claim),
        }));
        let Claim::Morsel(morsel) = claimed else { break };
        scan.read(morsel, &mut |block| {
            let rows = block.rows();
            let left = file.left(row, block)?;
            row += rows;
            match blocks.blocking_send(Ok(left)) {
                Ok(()) => Ok(std::ops::ControlFlow::Continue(())),
                Err(_) => Ok(std::ops::ControlFlow::Break(())),
            }
        })?;
        if blocks.is_closed() {
            return Ok(());
        }
    }
    if row as u64 == file.rows() {
        return Ok(());
    }
    let message = format!("{} has {row} rows, and {} in the catalog", file.path().display(), file.rows());
    Err(Error::new(ErrorCode::CORRUPTED_DATA, message))
}
