//! How a server starts: it takes what its configuration says, opens its data, and begins what it does beside queries.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use squall_engine::{Engine, TemporaryFolder};
use squall_functions::FunctionContext;
use squall_runtime::ThreadPool;
use squall_runtime::cpu::logical_cpus;
use squall_runtime::long_steps::LONG_STEPS;
use squall_scheduler::{CpuShare, Scheduler, SchedulerOptions};
use squall_storage::{Databases, PartEvent, StorageOptions};
use squall_types::calendar::TimeZone;
use squall_types::{Error, ErrorCode, Result};
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    Server, limit, memory_bytes_max, scheduling, set_memory_limit, set_process_limits, set_schema_folder,
    set_thread_pool_limits, time_zone, tls,
};
use crate::access::AccessControl;
use crate::asynchronous_metrics::AsynchronousMetrics;
use crate::backup::Backups;
use crate::config::{Config, ConfigSource, ConfigWatch, Local, ServerSettings};
use crate::dictionaries::DictionaryFiles;
use crate::masking;
use crate::merges::Merges;
use crate::mutations::Mutations;
use crate::network::{TlsConfig, generate_certificate};
use crate::objects::Objects;
use crate::process::ProcessList;
use crate::query::{AsyncInserts, PlanTemplates, StatementCache};
use crate::refresh::Refreshes;
use crate::system::{self, ErrorCounts};
use crate::system_log::{LogContext, SystemLogs};
use crate::version::VERSION;

impl Server {
    /// Makes a server of a configuration: its threads, its databases, its system tables. It does not listen yet.
    ///
    /// # Errors
    /// Where the configuration does not make sense, the data cannot be opened, or threads cannot be started.
    pub fn start(config: Config, source: ConfigSource) -> Result<Arc<Self>> {
        let mut warnings = Vec::new();
        let folder = (source.local != Some(Local::Transient)).then_some(config.path.as_path());
        folder.map_or(Ok(()), create_folder)?;
        let access = AccessControl::open(&config.users, &config.server.default_profile, folder, &mut warnings)?;
        let objects = Objects::open(folder)?;
        let uuid = folder.map_or_else(|| Ok(Uuid::new_v4()), kept_uuid)?;
        let settings = &config.server;
        if source.local.is_none() {
            create_folders_of_users(settings);
        }
        masking::set_rules(&config.masking_rules);
        set_schema_folder(&settings.format_schema_path, source.local.is_some());
        for warning in config.findings.warnings.iter().chain(&warnings) {
            tracing::warn!(target: "Config", "{warning}");
        }
        set_thread_pool_limits(settings);
        let pool = ThreadPool::global().clone();
        let scheduler = scheduler(settings, &pool)?;
        let zone = time_zone(&settings.timezone);
        let (temporary, databases) = open_data(folder, &config, zone, source.restore_catalog)?;
        let host_name: Arc<str> = host_name().into();
        if config.is_certificate_generated {
            make_certificate(&config.tls, &host_name)?;
        }
        let tls = tls(&config)?;
        let processes = Arc::new(ProcessList::default());
        set_process_limits(&processes, settings);
        LONG_STEPS.set_bound_us(settings.scheduler_long_step_us);
        set_memory_limit(settings);
        let system_logs = SystemLogs::new(
            &config.system_logs,
            &LogContext::new(host_name.clone(), zone),
            key_context(zone, &host_name),
            processes.clone(),
        );
        let server = Arc::new(Self {
            uuid,
            tls: ArcSwapOption::new(tls),
            access,
            databases,
            engine: Engine::new(scheduler, pool).with_temporary_folder(temporary),
            background_share: CpuShare::new(settings.background_pool_weight),
            merges: Merges::new(settings.background_pool_weight),
            async_inserts: AsyncInserts::default(),
            mutations: Mutations::default(),
            refreshes: Refreshes::default(),
            processes,
            system_logs,
            asynchronous_metrics: AsynchronousMetrics::default(),
            statements: StatementCache::default(),
            plan_templates: PlanTemplates::default(),
            sessions: Arc::default(),
            dictionary_files: DictionaryFiles::default(),
            objects,
            backups: Backups::default(),
            errors: ErrorCounts::default(),
            time_zone: zone.name().into(),
            time_zone_tz: zone,
            zone: TimeZone::named(zone.name())?,
            host_name,
            display_name: settings.display_name.as_str().into(),
            version: VERSION.into(),
            default_database: settings.default_database.as_str().into(),
            no_parameters: Arc::default(),
            started: Instant::now(),
            standard_input: OnceLock::new(),
            stopping: watch::Sender::new(false),
            busy: Arc::default(),
            config_watch: Mutex::new(ConfigWatch::of(&config.watched_files())),
            config: ArcSwap::from_pointee(config),
            source,
        });
        for table in system::tables(&server) {
            server.databases.register(table);
        }
        server.databases.set_on_demand_reader(Box::new(crate::query::ServerReader(Arc::downgrade(&server))));
        if !server.is_local() {
            server.begin_own_work()?;
        }
        Ok(server)
    }

    /// Begins what `squall local` does not do: to follow the databases, to go on with mutations, to keep logs.
    fn begin_own_work(self: &Arc<Self>) -> Result<()> {
        self.follow_databases();
        crate::query::resume_mutations(self)?;
        self.reload_dictionary_files(true)?;
        self.asynchronous_metrics.update(self);
        SystemLogs::start(self)
    }

    /// Has background work look again when there are other tables or parts.
    fn follow_databases(self: &Arc<Self>) {
        let server = Arc::downgrade(self);
        let note_change = move || {
            if let Some(server) = server.upgrade() {
                server.mutations.note_tables_changed();
                server.refreshes.note_tables_changed();
                server.merges.look_again();
            }
        };
        self.databases.set_note_change(Box::new(note_change));
        let server = Arc::downgrade(self);
        let note_part = move |event: PartEvent| {
            if let Some(server) = server.upgrade() {
                server.merges.look_again();
                server.system_logs.add_part(event);
            }
        };
        self.databases.set_note_part(Box::new(note_part));
    }
}

/// Creates the folders of user files and of schemas; without them the server starts, too.
fn create_folders_of_users(settings: &ServerSettings) {
    if let Err(error) = std::fs::create_dir_all(&settings.user_files_path) {
        tracing::warn!(folder = settings.user_files_path, %error, "there is no folder of user files");
    }
    if let Err(error) = std::fs::create_dir_all(&settings.format_schema_path) {
        tracing::warn!(folder = settings.format_schema_path, %error, "there is no folder of schemas");
    }
}

/// A scheduler with a worker for each logical CPU.
fn scheduler(settings: &ServerSettings, pool: &ThreadPool) -> Result<Scheduler> {
    let (policy, budget) = scheduling(settings)?;
    let options = SchedulerOptions { workers: logical_cpus(), policy, budget };
    let (scheduler, _workers) = Scheduler::start(options, pool.clone())
        .map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot start the scheduler: {error}")))?;
    Ok(scheduler)
}

/// The folder of temporary files and the databases: those in the folder of data, or in memory where there is none.
fn open_data(
    folder: Option<&Path>,
    config: &Config,
    zone: chrono_tz::Tz,
    restore_catalog: bool,
) -> Result<(Arc<TemporaryFolder>, Arc<Databases>)> {
    let settings = &config.server;
    let storage = StorageOptions {
        column_cache_bytes: match (settings.uncompressed_cache_size, memory_bytes_max(settings)) {
            (0, 0) => None,
            (0, all) => Some(limit(all / 2)),
            (configured, _) => Some(limit(configured)),
        },
        time_zone: zone.name().into(),
        restore_catalog,
    };
    let (temporary, databases) = match folder {
        Some(folder) => (temporary_folder(config)?, Databases::open(folder, &storage)?),
        None => {
            let bytes_max = settings.max_temporary_data_on_disk_size;
            (Arc::new(TemporaryFolder::new(std::env::temp_dir(), bytes_max)), Databases::in_memory())
        }
    };
    if !databases.has_database(&settings.default_database) {
        databases.create_database(&settings.default_database, true, "")?;
    }
    Ok((temporary, databases))
}

/// Makes the certificate that `tls` names, for this machine.
fn make_certificate(tls: &TlsConfig, host_name: &str) -> Result<()> {
    let (Some(certificate), Some(key)) = (&tls.certificate_file, &tls.private_key_file) else { return Ok(()) };
    let names = ["localhost", host_name, "127.0.0.1", "::1"].map(str::to_owned);
    generate_certificate(certificate, key, names.to_vec())
}

/// What the keys of log tables may know of the server.
fn key_context(zone: chrono_tz::Tz, host_name: &Arc<str>) -> FunctionContext {
    FunctionContext {
        host_name: host_name.clone(),
        server_version: VERSION.into(),
        ..FunctionContext::outside_queries(zone.name())
    }
}

/// The folder of temporary files, without those that an earlier run has left.
fn temporary_folder(config: &Config) -> Result<Arc<TemporaryFolder>> {
    create_folder(&config.tmp_path)?;
    let bytes_max = config.server.max_temporary_data_on_disk_size;
    let temporary = Arc::new(TemporaryFolder::new(&config.tmp_path, bytes_max));
    match temporary.remove_leftovers() {
        Ok(0) => {}
        Ok(files) => tracing::info!(target: "TemporaryFolder", "Removed {files} temporary files of an earlier run"),
        Err(error) => tracing::warn!(target: "TemporaryFolder", "Cannot remove temporary files: {error}"),
    }
    Ok(temporary)
}

fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| {
        Error::new(ErrorCode::CANNOT_CREATE_DIRECTORY, format!("Cannot create the folder {}: {error}", path.display()))
    })
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

/// The number in the file `uuid` of the folder of data; a new one is written where there is none.
fn kept_uuid(folder: &Path) -> Result<Uuid> {
    let file = folder.join("uuid");
    let wrong = |error: &dyn fmt::Display| {
        Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("The server's number in {}: {error}", file.display()))
    };
    match std::fs::read_to_string(&file) {
        Ok(text) => text.trim().parse().map_err(|error: uuid::Error| wrong(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let uuid = Uuid::new_v4();
            std::fs::write(&file, format!("{uuid}\n")).map_err(|error| wrong(&error))?;
            Ok(uuid)
        }
        Err(error) => Err(wrong(&error)),
    }
}
