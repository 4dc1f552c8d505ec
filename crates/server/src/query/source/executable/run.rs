//! A program as it runs: it is given rows, and what it prints is read, while somebody wants it. Whoever goes away ends it, with all that it
//! has started.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use squall_engine::QueryContext;
use squall_formats::{FormatOptions, InputBlock, Statistics, input_format, output_format};
use squall_planner::Plan;
use squall_storage::Feed;
use squall_types::{Block, Error, ErrorCode, Result, Schema, checkpoint};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::Script;
use super::settings::StderrReaction;
use crate::session::Session;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// How long a program that was killed is waited for.
const REAPING_MAX: Duration = Duration::from_secs(1);
/// Bytes of a program's complaints that are kept.
const COMPLAINT_BYTES: usize = 4 << 10;

/// Runs a program on the calling thread, which must be one that may wait, and sends the columns at these places of what it prints.
///
/// # Errors
/// `UNSUPPORTED_METHOD` where there is no such program, or it complains; `TIMEOUT_EXCEEDED`, `CHILD_WAS_NOT_EXITED_NORMALLY`; those of the
/// format and of the query that makes its input.
pub(super) fn run(session: &Session, script: &Script, wanted: (&[usize], &Arc<Schema>), feed: &Feed) -> Result<()> {
    let file = script.file(session)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    runtime.block_on(async {
        let output = |wanted: bool| if wanted { Stdio::piped() } else { Stdio::null() };
        let spawned = Command::new(&file)
            .args(script.words.get(1..).unwrap_or_default())
            .stdin(output(script.input.is_some()))
            .stdout(Stdio::piped())
            .stderr(output(script.settings.stderr != StderrReaction::None))
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = spawned.map_err(|error| {
            let message = format!("Cannot start {}: {error}", file.display());
            Error::new(ErrorCode::CANNOT_CREATE_CHILD_PROCESS, message)
        })?;
        let group = ProcessGroup::of(&child);
        let ran = tokio::select! {
            ran = follow(session, script, wanted, feed, &mut child) => ran,
            () = feed.closed() => Ok(()),
        };
        drop(group);
        // Nothing stays of it in the list of processes.
        let _ = timeout(REAPING_MAX, child.wait()).await;
        ran
    })
}

/// The processes of a program: those that it starts are in its group, unless they leave it.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads what a program prints, and writes to it meanwhile.
async fn follow(
    session: &Session,
    script: &Script,
    wanted: (&[usize], &Arc<Schema>),
    feed: &Feed,
    child: &mut Child,
) -> Result<()> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let complaints = complaints(script.settings.stderr, stderr);
    tokio::pin!(complaints);
    let written = async {
        if let (Some(plan), Some(stdin)) = (&script.input, stdin) {
            write(session, script, plan, stdin).await?;
        }
        // Only its failure ends the reading.
        std::future::pending::<Result<()>>().await
    };
    let read = async {
        match stdout {
            Some(stdout) => read(session, script, wanted, feed, stdout).await,
            None => Ok(()),
        }
    };
    tokio::pin!(read);
    tokio::pin!(written);
    let mut complained = None;
    loop {
        tokio::select! {
            read = &mut read => break read?,
            failed = &mut written => failed?,
            // Read meanwhile, so that it does not wait for that.
            text = &mut complaints, if complained.is_none() => complained = Some(text),
        }
    }
    let settings = &script.settings;
    let ended = timeout(settings.termination, child.wait()).await;
    let complained = match complained {
        Some(complained) => complained,
        // What it has started may hold the pipe for longer.
        None => timeout(settings.termination, complaints).await.unwrap_or_default(),
    };
    if !complained.is_empty() {
        let text = String::from_utf8_lossy(&complained);
        if settings.stderr == StderrReaction::Throw {
            let message = format!("Executable generates stderr: {text}");
            return Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, message));
        }
        tracing::warn!(target: "Executable", program = script.words.first(), "stderr: {text}");
    }
    match ended {
        Ok(Ok(status)) if settings.check_exit_code && !status.success() => {
            let message = format!("Child process was exited with {status}");
            Err(Error::new(ErrorCode::CHILD_WAS_NOT_EXITED_NORMALLY, message))
        }
        _ => Ok(()),
    }
}

/// Some bytes of what a program complains of, until it has said everything.
async fn complaints(reaction: StderrReaction, stderr: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut stderr) = stderr else { return kept };
    let mut chunk = [0; COMPLAINT_BYTES];
    while let Ok(bytes @ 1..) = stderr.read(&mut chunk).await {
        kept.extend_from_slice(chunk.get(..bytes).unwrap_or_default());
        if reaction == StderrReaction::LogLast {
            kept.drain(..kept.len().saturating_sub(COMPLAINT_BYTES));
        } else {
            kept.truncate(COMPLAINT_BYTES);
        }
    }
    kept
}

fn format_options(session: &Session) -> Result<FormatOptions> {
    FormatOptions::new(session.settings.clone(), &session.server.zone)
}

/// Sends the blocks of what a program prints.
async fn read(
    session: &Session,
    script: &Script,
    wanted: (&[usize], &Arc<Schema>),
    feed: &Feed,
    mut stdout: impl AsyncRead + Unpin,
) -> Result<()> {
    let mut format = input_format(&script.format, &script.schema, &format_options(session)?)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut blocks = Vec::new();
    loop {
        let read = in_time(script.settings.read, "read", stdout.read(&mut chunk)).await?;
        let bytes = read.map_err(|error| {
            let message = format!("Cannot read what a program prints: {error}");
            Error::new(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, message)
        })?;
        if bytes == 0 {
            break;
        }
        checkpoint(bytes)?;
        format.feed(chunk.get(..bytes).unwrap_or_default(), &mut blocks)?;
        if !send(&mut blocks, wanted, feed).await {
            return Ok(());
        }
    }
    format.finish(&mut blocks)?;
    if !send(&mut blocks, wanted, feed).await {
        return Ok(());
    }
    while let Some(block) = format.next_block()? {
        blocks.push(block);
        if !send(&mut blocks, wanted, feed).await {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether somebody wants more.
async fn send(blocks: &mut Vec<InputBlock>, (columns, schema): (&[usize], &Arc<Schema>), feed: &Feed) -> bool {
    for InputBlock { block, .. } in blocks.drain(..) {
        if block.is_empty() {
            continue;
        }
        let chosen = columns.iter().map(|at| block.column(*at).clone()).collect();
        if feed.send(Ok(Block::new(schema.clone(), chosen, block.rows()))).await.is_err() {
            return false;
        }
    }
    true
}

/// Gives a program the rows of a plan. One that does not read all of them is content with less.
async fn write(session: &Session, script: &Script, plan: &Plan, mut stdin: ChildStdin) -> Result<()> {
    let settings = session.settings.clone();
    let memory = session.server.processes.user_memory(&session.access.name, settings.max_memory_usage_for_user);
    let context = QueryContext::of_user("executable".into(), settings, Some(memory));
    let mut rows = session.server.engine.start_inner(plan, context)?;
    let mut format = output_format(&script.format, plan.schema(), &format_options(session)?)?;
    let mut bytes = Vec::new();
    format.begin(&mut bytes);
    while let Some(block) = rows.next().await.transpose()? {
        if script.settings.send_chunk_header {
            bytes.extend_from_slice(format!("{}\n", block.rows()).as_bytes());
        }
        format.block(&block, &mut bytes)?;
        if !put(&mut stdin, &bytes, script.settings.write).await? {
            return Ok(());
        }
        bytes.clear();
    }
    format.end(&Statistics::default(), &mut bytes)?;
    put(&mut stdin, &bytes, script.settings.write).await.map(drop)
}

/// Whether a program took all bytes: it may have closed its end.
async fn put(stdin: &mut ChildStdin, mut bytes: &[u8], limit: Duration) -> Result<bool> {
    while !bytes.is_empty() {
        match in_time(limit, "write", stdin.write(bytes)).await? {
            Ok(taken @ 1..) => bytes = bytes.get(taken..).unwrap_or_default(),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

async fn in_time<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> Result<T> {
    timeout(limit, work).await.map_err(|_| {
        let message = format!("Pipe {what} timeout exceeded {} milliseconds", limit.as_millis());
        Error::new(ErrorCode::TIMEOUT_EXCEEDED, message)
    })
}
