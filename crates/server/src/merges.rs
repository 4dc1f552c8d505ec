//! Background merges: which run, and when the next begin. What is merged storage decides; the work is the scheduler's, in a share of the
//! CPU that grows where parts pile up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_runtime::ProfileEvent;
use squall_runtime::memory::SERVER;
use squall_runtime::profile_events::GLOBAL;
use squall_scheduler::CpuShare;
use squall_storage::{BackgroundTurn, MergeProgress, MergeRoom, MergeType, PartMerge, TableName};
use squall_types::{ErrorCode, Result, Settings};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::asynchronous_metrics::disk_space;
use crate::background::{background_settings, sleep_until};
use crate::query::take_over;
use crate::server::Server;

/// How often tables are looked at where parts come and go.
const TICK: Duration = Duration::from_millis(100);
/// How often they are where nothing happens but that rows expire, and at what others who write to the lake have done.
const LOOK: Duration = Duration::from_millis(500);
/// Merges that run at once.
const MERGES_MAX: usize = 4;
/// Bytes on disk of the parts of one merge, where the table does not say less: ClickHouse's.
const MERGED_BYTES_MAX: u64 = 150 << 30;
/// With each merge that runs already, the next may take so many times fewer bytes: a large one never keeps small ones waiting.
const SHRINK: u64 = 8;
/// The parts of a merge have at most this part of the free disk space, since its result takes as much again.
const MERGED_DISK_PART: u64 = 2;
/// The row groups that a merge reads at a time take at most this part of the server's memory.
const MERGED_MEMORY_PART: u64 = 16;
/// Parts of a partition from which on merges have a larger share of the CPU, in proportion.
const PARTS_PRESSING: f64 = 30.0;
/// The largest factor of it.
const PRESSURE_MAX: f64 = 100.0;

/// The merges of a server.
pub struct Merges {
    running: Mutex<Vec<Arc<RunningMerge>>>,
    /// There may be something else to merge.
    changed: Notify,
    share: Arc<CpuShare>,
    settings: Arc<Settings>,
}

/// A merge that runs.
pub struct RunningMerge {
    /// The table.
    pub table: Arc<TableName>,
    /// When it began.
    pub began: Instant,
    /// The same as a time.
    pub began_at: SystemTime,
    /// Its parts.
    pub parts: Vec<Arc<str>>,
    /// Their files.
    pub part_paths: Vec<PathBuf>,
    /// What it is for.
    pub merge_type: MergeType,
    /// The part that it makes.
    pub result: Arc<str>,
    /// That part's file.
    pub result_path: PathBuf,
    /// Their partition.
    pub partition_id: Arc<str>,
    /// Rows of its parts.
    pub rows: u64,
    /// Bytes on disk of its parts.
    pub bytes: u64,
    /// Bytes of their values before encoding.
    pub value_bytes: u64,
    /// How far it is.
    pub progress: Arc<MergeProgress>,
    /// What it runs as.
    pub context: Arc<QueryContext>,
}

impl Merges {
    /// In a share of the CPU of this weight.
    pub(crate) fn new(weight: f64) -> Self {
        let mut settings = background_settings(&Settings::default());
        settings.max_threads = 1;
        settings.query_profiler_cpu_time_period_ns = 0;
        settings.query_profiler_real_time_period_ns = 0;
        settings.memory_profiler_step = 0;
        let settings = Arc::new(settings);
        Self { running: Mutex::default(), changed: Notify::new(), share: CpuShare::new(weight), settings }
    }

    /// Has tables be looked at soon: there are other parts.
    pub(crate) fn look_again(&self) {
        self.changed.notify_one();
    }

    /// Waits until tables are to be looked at again, which was done last at a time.
    async fn next_look(&self, last: Instant) {
        // What it gives back is whether something has changed.
        let _ = tokio::time::timeout(LOOK, self.changed.notified()).await;
        // Changes that follow each other closely are looked at together.
        sleep_until(Some(last + TICK)).await;
    }

    /// The merges that run.
    pub fn running(&self) -> Vec<Arc<RunningMerge>> {
        self.running.lock().clone()
    }

    /// Carries a merge out. It is shown meanwhile.
    ///
    /// # Errors
    /// The merge's; then nothing has changed.
    pub(crate) async fn run(
        &self,
        server: &Server,
        table: Arc<TableName>,
        merge: PartMerge,
        context: &Arc<QueryContext>,
    ) -> Result<()> {
        let began = Instant::now();
        let running = Arc::new(RunningMerge {
            table,
            began,
            began_at: SystemTime::now(),
            parts: merge.parts.clone(),
            part_paths: merge.part_paths.clone(),
            merge_type: merge.merge_type,
            result: merge.result.clone(),
            result_path: merge.result_path.clone(),
            partition_id: merge.partition_id.clone(),
            rows: merge.rows,
            bytes: merge.bytes,
            value_bytes: merge.value_bytes,
            progress: merge.progress.clone(),
            context: context.clone(),
        });
        self.running.lock().push(running.clone());
        // Also where whoever waits for it goes away.
        let _shown = Shown { merges: self, running: running.clone() };
        let result = server.engine.merge(merge, context.clone()).finished().await;
        GLOBAL.add(ProfileEvent::MergesTimeMilliseconds, began.elapsed().as_millis() as u64);
        result
    }
}

/// A merge in the list of those that run.
struct Shown<'a> {
    merges: &'a Merges,
    running: Arc<RunningMerge>,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.merges.running.lock().retain(|other| !Arc::ptr_eq(other, &self.running));
    }
}

/// Merges parts until the server stops.
pub(crate) async fn merge_in_background(server: Arc<Server>) {
    let mut running: JoinSet<()> = JoinSet::new();
    let (mut looked, mut looked_at_lake) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            () = server.merges.next_look(looked) => {}
            Some(_) = running.join_next() => {}
            () = server.stopping() => break,
        }
        looked = Instant::now();
        if looked_at_lake.elapsed() >= LOOK {
            let of = server.clone();
            match tokio::task::spawn_blocking(move || of.databases.look_for_others()).await {
                Ok(Ok(added)) => {
                    for rows in added {
                        running.spawn(take_over(server.clone(), rows));
                    }
                }
                Ok(Err(error)) => tracing::error!(%error, "what others do to the lake is not seen"),
                Err(_) => {}
            }
            looked_at_lake = Instant::now();
        }
        while running.len() < MERGES_MAX {
            let looking = (server.clone(), running.len());
            let begun = tokio::task::spawn_blocking(move || begin(&looking.0, looking.1)).await;
            let Ok(Some(begun)) = begun else { break };
            running.spawn(carry_out(server.clone(), begun));
        }
    }
    // Those of statements are the statements' own.
    server.databases.stop_all_merges(true);
    while running.join_next().await.is_some() {}
}

/// A merge that has begun.
struct Begun {
    table: Arc<TableName>,
    merge: PartMerge,
    turn: BackgroundTurn,
    context: Arc<QueryContext>,
}

/// Begins the merge that is worth most, where there is one, beside others that run.
fn begin(server: &Arc<Server>, beside: usize) -> Option<Begun> {
    let merges = &server.merges;
    let MergeRoom { bytes, group_bytes } = room(server);
    let room = MergeRoom { bytes: bytes.min(MERGED_BYTES_MAX) / SHRINK.pow(beside as u32), group_bytes };
    let is_no_log = |table: &TableName| !server.system_logs.has_table(&table.table);
    let next = server.databases.next_merge(room, (Instant::now(), SystemTime::now()), &is_no_log)?;
    let weight = server.config.load().server.background_pool_weight;
    let pressure = (server.databases.parts_of_fullest() as f64 / PARTS_PRESSING).clamp(1.0, PRESSURE_MAX);
    merges.share.set_weight(weight * pressure);
    let context = QueryContext::new(format!("merge of {}", next.table).into(), merges.settings.clone());
    context.set_cpu_share(merges.share.clone());
    let cancelled = context.clone();
    match next.begin(Arc::new(move || cancelled.cancel())) {
        Ok(begun) => begun.map(|(merge, turn)| Begun { table: next.table, merge, turn, context }),
        // Somebody was faster; the next look finds another.
        Err(error) => {
            tracing::debug!(target: "MergeTree", "A merge of {} does not begin: {error}", next.table);
            None
        }
    }
}

/// What the machine has room for at this moment.
pub(crate) fn room(server: &Server) -> MergeRoom {
    let group_bytes = match u64::try_from(SERVER.limit_bytes()) {
        Ok(0) | Err(_) => u64::MAX,
        Ok(limit) => limit / MERGED_MEMORY_PART,
    };
    let free = disk_space(Path::new(&server.config.load().server.path)).map_or(u64::MAX, |space| space.available);
    MergeRoom { bytes: free / MERGED_DISK_PART, group_bytes }
}

async fn carry_out(server: Arc<Server>, begun: Begun) {
    let Begun { table, merge, turn, context } = begun;
    let result = server.merges.run(&server, table.clone(), merge, &context).await;
    context.count_for_process();
    match result {
        Ok(()) => turn.note_success(),
        Err(error) => match error.code {
            // Its parts are gone, or somebody wants it to end.
            ErrorCode::QUERY_WAS_CANCELLED
            | ErrorCode::NO_SUCH_DATA_PART
            | ErrorCode::TABLE_IS_DROPPED
            | ErrorCode::PART_IS_TEMPORARILY_LOCKED => {}
            _ => {
                let wait = turn.note_failure(Instant::now());
                tracing::warn!(
                    target: "MergeTree",
                    "A merge in {table} has failed, the next of its size follows in {wait:?}: {error}"
                );
            }
        },
    }
}
