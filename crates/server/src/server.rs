//! The server as a whole: what every session shares, how it starts, reloads and stops. Listening is the protocols' own.

mod start;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use squall_engine::{Engine, wake_waiting};
use squall_files::Reach;
use squall_formats::SchemaFolder;
use squall_runtime::cpu::logical_cpus;
use squall_runtime::long_steps::LONG_STEPS;
use squall_runtime::memory::{SERVER, machine_memory_bytes, set_kept_ratio_max};
use squall_runtime::{CurrentMetric, ProfileEvent, ThreadPool, ThreadPoolLimits};
use squall_scheduler::admission::AdmissionLimits;
use squall_scheduler::{CpuShare, PolicyKind, ThreadBudget};
use squall_storage::{Databases, Dictionary, set_condition_cache_size};
use squall_types::calendar::TimeZone;
use squall_types::{Error, ErrorCode, Result};
use tokio::sync::watch;
use uuid::Uuid;

use crate::access::AccessControl;
use crate::asynchronous_metrics::AsynchronousMetrics;
use crate::backup::Backups;
use crate::config::{Config, ConfigSource, ConfigWatch, QueryLimit, ServerSettings};
use crate::dictionaries::DictionaryFiles;
use crate::local::StandardInput;
use crate::masking;
use crate::merges::Merges;
use crate::mutations::Mutations;
use crate::objects::Objects;
use crate::process::ProcessList;
use crate::query::{AsyncInserts, PlanTemplates, StatementCache};
use crate::refresh::Refreshes;
use crate::session::NamedSessions;
use crate::system::ErrorCounts;
use crate::system_log::SystemLogs;

/// How often the load is looked at.
const LOAD_TICK: Duration = Duration::from_millis(100);
/// The same where no query runs.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// Looks in a second.
const TICKS_PER_SECOND: u64 = 10;

/// What all sessions of a server share.
pub struct Server {
    /// The configuration; a reload replaces it.
    pub config: ArcSwap<Config>,
    /// Where the configuration comes from, for reloads.
    source: ConfigSource,
    /// The number that the server has kept since its first start.
    pub uuid: Uuid,
    /// What TLS handshakes need, where there is a certificate; a reload replaces it.
    pub tls: ArcSwapOption<rustls::ServerConfig>,
    /// The configuration's files as they were when it was loaded; held during a reload.
    config_watch: Mutex<ConfigWatch>,
    /// Who may do what.
    pub access: AccessControl,
    /// Databases and tables.
    pub databases: Arc<Databases>,
    /// What runs plans.
    pub engine: Engine,
    /// What merges and logs have of the CPU, all together.
    pub background_share: Arc<CpuShare>,
    /// The merges that run now.
    pub merges: Merges,
    /// INSERTs whose data are collected.
    pub async_inserts: AsyncInserts,
    /// Mutations that run and those that have lately.
    pub mutations: Mutations,
    /// Views that are refreshed.
    pub refreshes: Refreshes,
    /// The queries that run now.
    pub processes: Arc<ProcessList>,
    /// The logs that are tables: the queries that were, and more.
    pub system_logs: SystemLogs,
    /// What the machine is like.
    pub asynchronous_metrics: AsynchronousMetrics,
    /// Statements and plans of texts that come again.
    pub statements: StatementCache,
    /// Plans for texts that differ in literals.
    pub plan_templates: PlanTemplates,
    /// Sessions of HTTP's `session_id`.
    pub sessions: Arc<NamedSessions>,
    /// The files of dictionaries.
    pub dictionary_files: DictionaryFiles,
    /// Functions and named collections that SQL defined.
    pub objects: Objects,
    /// Backups and restores.
    pub backups: Backups,
    /// The errors that happened.
    pub errors: ErrorCounts,
    /// The name of the server's time zone.
    pub time_zone: Arc<str>,
    /// The server's time zone, for dates.
    pub time_zone_tz: chrono_tz::Tz,
    /// The server's time zone, for formats.
    pub zone: TimeZone,
    /// The machine's name.
    pub host_name: Arc<str>,
    /// `displayName()`: the name that clients show for this server.
    pub display_name: Arc<str>,
    /// `version()`.
    pub version: Arc<str>,
    /// The database of sessions that name none.
    pub default_database: Arc<str>,
    /// No query parameters: one map for all sessions without any.
    pub no_parameters: Arc<HashMap<String, String>>,
    /// When the server began.
    pub started: Instant,
    /// Standard input as a table, of `squall local`.
    standard_input: OnceLock<StandardInput>,
    stopping: watch::Sender<bool>,
    /// Held by every connection that may be in the middle of something.
    busy: Arc<()>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("started", &self.started).finish_non_exhaustive()
    }
}

/// Says where formats look for schemas: in the configured folder, or for `squall local` wherever its user's files are.
fn set_schema_folder(folder: &str, is_local: bool) {
    if is_local {
        SchemaFolder::open("").set_of_process();
    } else {
        SchemaFolder::closed(folder).set_of_process();
    }
}

impl Server {
    /// Reads the configuration files again. Users, profiles, limits and the scheduler's policy change at once; what a running server
    /// cannot change stays, with a warning.
    ///
    /// # Errors
    /// Where the files cannot be read or do not make sense: then nothing changes.
    pub fn reload(&self) -> Result<()> {
        self.reload_watched(&mut self.config_watch.lock())
    }

    /// As [`reload`](Self::reload) where a file has changed since, or the last attempt failed; the failure is logged once.
    fn reload_if_changed(&self) {
        let mut watch = self.config_watch.lock();
        let before = watch.failure().map(ToOwned::to_owned);
        if watch.has_changed(&self.config.load().watched_files())
            && let Err(error) = self.reload_watched(&mut watch)
            && before.as_deref() != watch.failure()
        {
            tracing::error!(target: "Config", "The configuration has changed and is not loaded, the old one stays: {error}");
        }
    }

    /// Reads the files of dictionaries again, where they have changed or `anew`; gives those that are to be loaded.
    ///
    /// # Errors
    /// Where a dictionary cannot be made.
    pub fn reload_dictionary_files(&self, anew: bool) -> Result<Vec<Arc<Dictionary>>> {
        self.dictionary_files.reload(&self.config.load(), &self.time_zone, &self.databases, anew)
    }

    fn reload_watched(&self, watch: &mut ConfigWatch) -> Result<()> {
        // Looked at before they are read: what changes meanwhile is a change.
        let seen = ConfigWatch::of(&self.config.load().watched_files());
        let result = self.load_again();
        *watch = seen.after(&self.config.load().watched_files(), result.as_ref().err());
        result
    }

    fn load_again(&self) -> Result<()> {
        let mut config = Config::load(&self.source)?;
        let mut warnings = std::mem::take(&mut config.findings.warnings);
        let entities = AccessControl::configured(&config.users, &config.server.default_profile, &mut warnings)?;
        let (policy, budget) = scheduling(&config.server)?;
        let tls = tls(&config)?;
        masking::set_rules(&config.masking_rules);
        set_schema_folder(&config.server.format_schema_path, self.is_local());
        for warning in &warnings {
            tracing::warn!(target: "Config", "{warning}");
        }
        let before = self.config.load();
        for (old, new) in before.server.all().iter().zip(config.server.all()) {
            if old.value != new.value && new.changeable == crate::config::Changeable::No {
                tracing::warn!(target: "Config", "{} changes from '{}' to '{}' when the server is started again", new.name, old.value, new.value);
            }
        }
        if config.logger.needs_a_start_after(&before.logger) {
            tracing::warn!(target: "Config", "What <logger> says beyond levels changes when the server is started again");
        }
        crate::logger::change_levels(&config.logger);
        self.engine.scheduler().configure(policy, budget);
        self.background_share.set_weight(config.server.background_pool_weight);
        LONG_STEPS.set_bound_us(config.server.scheduler_long_step_us);
        set_process_limits(&self.processes, &config.server);
        set_memory_limit(&config.server);
        self.engine.temporary_folder().set_bytes_max(config.server.max_temporary_data_on_disk_size);
        set_thread_pool_limits(&config.server);
        self.tls.store(tls);
        self.access.replace_configured(entities, &config.server.default_profile);
        self.config.store(Arc::new(config));
        self.statements.clear();
        self.plan_templates.clear();
        squall_runtime::profile_events::GLOBAL.add(ProfileEvent::MainConfigLoads, 1);
        tracing::info!(target: "Config", "The configuration was loaded again");
        Ok(())
    }

    /// Whether this is `squall local`, whose user owns the machine's files.
    pub fn is_local(&self) -> bool {
        self.source.local.is_some()
    }

    /// Makes standard input a table.
    pub(crate) fn set_standard_input(&self, input: StandardInput) {
        // There is one.
        let _ = self.standard_input.set(input);
    }

    /// Standard input, where it is a table of this name.
    pub(crate) fn standard_input(&self, table: &str) -> Option<&StandardInput> {
        self.standard_input.get().filter(|input| input.table == table)
    }

    /// Which files queries may read and write.
    ///
    /// # Errors
    /// Where the folder of user files cannot be told.
    pub fn file_reach(&self) -> Result<Reach> {
        if self.is_local() {
            return Ok(Reach::Anywhere);
        }
        let folder = &self.config.load().server.user_files_path;
        let folder = std::path::absolute(folder).map_err(|error| {
            Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("The folder {folder} of user files: {error}"))
        })?;
        Ok(Reach::Inside(folder))
    }

    /// Begins to stop: no new connections and queries.
    pub fn shut_down(&self) {
        CurrentMetric::IsServerShuttingDown.set(1);
        self.stopping.send_replace(true);
    }

    /// Whether the server stops.
    pub fn is_shutting_down(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the server begins to stop.
    pub async fn stopping(&self) {
        // The sender lives as long as `self`.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Waits for running queries, then cancels those that are left; then for their last bytes.
    pub async fn drain(&self) {
        // Those who gave them may be gone.
        if tokio::time::timeout(LAST_INSERTS_WAIT, self.async_inserts.flush(|_, _| true)).await.is_err() {
            tracing::warn!(target: "Application", "The data of asynchronous INSERTs could not be written in {LAST_INSERTS_WAIT:?}");
        }
        let settings = &self.config.load().server;
        let wait = if settings.shutdown_wait_unfinished_queries {
            Duration::from_secs(settings.shutdown_wait_unfinished)
        } else {
            Duration::ZERO
        };
        let deadline = tokio::time::Instant::now() + wait;
        let tick = Duration::from_millis(5);
        while !self.processes.is_empty() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(tick).await;
        }
        if !self.processes.is_empty() {
            tracing::warn!(target: "Application", "{} queries still run and are cancelled", self.processes.len());
            self.processes.cancel_all();
            let deadline = tokio::time::Instant::now() + Duration::from_secs(2);
            while !self.processes.is_empty() && tokio::time::Instant::now() < deadline {
                tokio::time::sleep(tick).await;
            }
        }
        let deadline = tokio::time::Instant::now() + Duration::from_secs(1);
        while Arc::strong_count(&self.busy) > 1 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(tick).await;
        }
    }

    /// Keeps a stopping server waiting, not for long, until this is dropped: a response is on its way.
    #[must_use]
    pub fn keep_busy(&self) -> Arc<()> {
        self.busy.clone()
    }

    /// Watches how the server fares under load: moves the limit of `max_concurrent_queries = auto`, measures overload.
    pub async fn watch_load(self: Arc<Self>) {
        let mut ticks = 0u64;
        loop {
            if self.processes.is_empty() {
                self.processes.overload.rest();
                tokio::select! {
                    // Background work may wait for memory, too.
                    _ = tokio::time::timeout(IDLE_TICK, self.processes.busy()) => {}
                    () = self.stopping() => return,
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOAD_TICK) => {}
                () = self.stopping() => return,
            }
            ticks += 1;
            self.processes.admission.observe();
            self.processes.relieve_memory();
            wake_waiting();
            if ticks.is_multiple_of(TICKS_PER_SECOND) {
                self.processes.overload.sample();
            }
        }
    }

    /// Loads the configuration again where its files change.
    pub async fn watch_configuration(self: Arc<Self>) {
        loop {
            let interval = self.config.load().server.config_reload_interval_ms;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(interval).max(RELOAD_INTERVAL_MIN)) => {}
                () = self.stopping() => return,
            }
            let server = self.clone();
            let looked = tokio::task::spawn_blocking(move || {
                server.reload_if_changed();
                server.reload_dictionary_files(false)
            });
            match looked.await {
                Ok(Ok(changed)) => crate::query::load_dictionaries(&self, changed).await,
                Ok(Err(error)) => tracing::error!(target: "ExternalDictionariesLoader", "{error}"),
                Err(error) => tracing::error!(target: "Config", "The configuration's files are not looked at: {error}"),
            }
        }
    }

    /// What is done now and then: sessions end.
    pub async fn housekeeping(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(HOUSEKEEPING_INTERVAL) => {}
                () = self.stopping() => return,
            }
            self.sessions.sweep();
            crate::query::reload_due(&self).await;
        }
    }
}

/// How long a stopping server waits until the data of asynchronous INSERTs are written.
const LAST_INSERTS_WAIT: Duration = Duration::from_secs(30);
/// The shortest time between two looks at the configuration's files.
const RELOAD_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// How often what has become too old is looked for.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(5);

/// What TLS handshakes need; none where no port is secure.
fn tls(config: &Config) -> Result<Option<Arc<rustls::ServerConfig>>> {
    let settings = &config.server;
    if settings.https_port == 0 && settings.tcp_port_secure == 0 {
        return Ok(None);
    }
    let tls = config.tls.server_config()?;
    if tls.is_none() {
        return Err(Error::new(
            ErrorCode::NO_ELEMENTS_IN_CONFIG,
            "https_port and tcp_port_secure need a certificate: set openSSL.server.certificateFile and privateKeyFile, \
             or start with --generate-certificate",
        ));
    }
    Ok(tls)
}

/// The policy and the budget of a configuration.
fn scheduling(settings: &ServerSettings) -> Result<(PolicyKind, ThreadBudget)> {
    let bad = |why: String| Error::new(ErrorCode::BAD_ARGUMENTS, why);
    let policy: PolicyKind = settings
        .concurrent_threads_scheduler
        .parse()
        .map_err(|why| bad(format!("concurrent_threads_scheduler: {why}")))?;
    let cpus = logical_cpus();
    // The two later names of the budget hold where the first is unused; of both, the smaller.
    let later = [
        settings.concurrent_threads_soft_limit_num,
        settings.concurrent_threads_soft_limit_ratio_to_cores.saturating_mul(cpus as u64),
    ];
    let total = match settings.total_max_threads {
        0 => later.into_iter().filter(|limit| *limit > 0).min().and_then(|limit| i64::try_from(limit).ok()),
        total => Some(total),
    };
    let budget = ThreadBudget::from_config(total, cpus)
        .map_err(|value| bad(format!("total_max_threads: {value} is not a number of threads")))?;
    CurrentMetric::ConcurrencyControlSoftLimit
        .set(budget.threads_max.map_or(0, |threads| i64::try_from(threads).unwrap_or(i64::MAX)));
    Ok((policy, budget))
}

fn set_process_limits(processes: &ProcessList, settings: &ServerSettings) {
    let queries_max = match settings.max_concurrent_queries {
        QueryLimit::Fixed(queries_max) => Some(limit(queries_max)),
        QueryLimit::Auto => None,
    };
    let limits = AdmissionLimits {
        queries_max: 0,
        selects_max: limit(settings.max_concurrent_select_queries),
        inserts_max: limit(settings.max_concurrent_insert_queries),
        waiting_max: limit(settings.max_waiting_queries),
        reserved_for_operators: limit(settings.reserved_queries_for_operators),
    };
    processes.admission.configure(queries_max, limits, logical_cpus());
}

/// The most memory that the server may use; 0 is no limit.
fn memory_bytes_max(settings: &ServerSettings) -> u64 {
    let of_machine = machine_memory_bytes() as f64 * settings.max_server_memory_usage_to_ram_ratio;
    match settings.max_server_memory_usage {
        0 => of_machine as u64,
        configured if of_machine > 0.0 => configured.min(of_machine as u64),
        configured => configured,
    }
}

/// Puts the limit of the server's memory in force, and those of what the server keeps in it.
fn set_memory_limit(settings: &ServerSettings) {
    SERVER.set_limit(memory_bytes_max(settings));
    set_kept_ratio_max(settings.memory_worker_purge_dirty_pages_threshold_ratio);
    set_condition_cache_size(usize::try_from(settings.query_condition_cache_size).unwrap_or(usize::MAX));
}

fn set_thread_pool_limits(settings: &ServerSettings) {
    let set = ThreadPool::global().set_limits(ThreadPoolLimits {
        threads_max: limit(settings.max_thread_pool_size),
        free_threads_max: limit(settings.max_thread_pool_free_size),
        jobs_max: limit(settings.thread_pool_queue_size),
    });
    if let Err(error) = set {
        // The limits hold; the jobs that could have had more threads wait for those that there are.
        tracing::warn!(target: "ThreadPool", "{error}");
    }
}

fn limit(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The configured time zone, or the machine's.
pub(crate) fn time_zone(configured: &str) -> chrono_tz::Tz {
    let of_machine = || {
        let of_link = std::fs::read_link("/etc/localtime").ok().and_then(|target| {
            let target = target.to_string_lossy().into_owned();
            target.split_once("zoneinfo/").map(|(_, name)| name.to_owned())
        });
        let of_environment = std::env::var("TZ").ok().map(|name| name.trim_start_matches(':').to_owned());
        let of_file = || std::fs::read_to_string("/etc/timezone").ok().map(|name| name.trim().to_owned());
        [of_environment, of_link, of_file()].into_iter().flatten().find_map(|name| name.parse().ok())
    };
    configured.parse().ok().or_else(of_machine).unwrap_or(chrono_tz::UTC)
}
