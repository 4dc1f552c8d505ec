//! The refreshable views of a server: what is known of each, and which of them are to be refreshed. What refreshes them is
//! `query/change/refresh.rs`.

mod schedule;
mod turns;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_planner::{MaterializedView, plan_setting};
use squall_sql::ast::RefreshStrategy;
use squall_storage::{Databases, RefreshRecord, RefreshableView, TableName};
use squall_types::{Error, ErrorCode, Result};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use uuid::Uuid;

use schedule::Schedule;
pub(crate) use turns::Turn;
use turns::{Retries, Turns};

/// The refreshable views of a server.
#[derive(Default)]
pub struct Refreshes {
    views: Mutex<HashMap<Uuid, View>>,
    /// The state of the databases that the views were looked up in last, and one more.
    seen: AtomicU64,
    changed: Notify,
}

/// What is known of a view.
struct View {
    name: Arc<TableName>,
    definition: Arc<MaterializedView>,
    depends_on: Vec<TableName>,
    turns: Turns,
    /// What it runs as, or ran as last.
    context: Option<Arc<QueryContext>>,
    last: Last,
}

/// What has become of the last refreshes. Times are milliseconds since 1970.
#[derive(Clone, Default)]
struct Last {
    /// When the last one that succeeded began, in seconds.
    succeeded: Option<i64>,
    duration_ms: Option<i64>,
    /// When the last attempt ended, or began if it runs.
    attempt_ms: Option<i64>,
    failure: Option<Error>,
}

/// A view as `system.view_refreshes` shows it.
pub(crate) struct ShownView {
    pub(crate) name: Arc<TableName>,
    pub(crate) uuid: Uuid,
    pub(crate) status: &'static str,
    /// In seconds since 1970, as are the other times.
    pub(crate) succeeded: Option<i64>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) attempted: Option<i64>,
    pub(crate) next: Option<i64>,
    pub(crate) failure: Option<Error>,
    pub(crate) failures: i64,
    pub(crate) context: Option<Arc<QueryContext>>,
}

/// A view whose turn it is.
pub(crate) struct DueView {
    pub(crate) name: Arc<TableName>,
    pub(crate) uuid: Uuid,
    pub(crate) definition: Arc<MaterializedView>,
    pub(crate) context: Arc<QueryContext>,
}

/// How a refresh that somebody waits for stands.
pub(crate) enum RefreshStanding {
    /// It runs, or is about to.
    Pending,
    /// None is to run now; the last one has failed, if it has.
    Done(Option<Error>),
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A clause with what it means, or what is wrong with it.
///
/// # Errors
/// `BAD_ARGUMENTS`, `UNKNOWN_SETTING`.
pub(crate) fn check_strategy(strategy: &RefreshStrategy) -> Result<()> {
    schedule_of(strategy).map(drop)
}

fn schedule_of(strategy: &RefreshStrategy) -> Result<(Schedule, Retries)> {
    let mut retries = Retries::default();
    for setting in &strategy.settings {
        let name = &setting.name;
        let place = match name.as_str() {
            "refresh_retries" => &mut retries.max,
            "refresh_retry_initial_backoff_ms" => &mut retries.initial_ms,
            "refresh_retry_max_backoff_ms" => &mut retries.max_ms,
            // There is one server.
            "all_replicas" => continue,
            _ => return Err(Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}': for refresh"))),
        };
        let (_, text) = plan_setting(setting)?;
        *place = text.parse().map_err(|_| {
            Error::new(ErrorCode::CANNOT_PARSE_NUMBER, format!("Setting {name} is no whole number: {text}"))
        })?;
    }
    Ok((Schedule::of(strategy)?, retries))
}

impl Refreshes {
    /// Looks which views there are, where that may have changed. Reads the catalog for those that are new.
    ///
    /// # Errors
    /// Where the catalog cannot be read or written.
    pub(crate) fn follow(&self, databases: &Databases, now_ms: i64) -> Result<()> {
        let generation = databases.generation();
        if self.seen.load(Ordering::Acquire) == generation + 1 {
            return Ok(());
        }
        let found = databases.refreshable_views();
        let mut views = self.views.lock();
        views.retain(|uuid, view| {
            let stays = found.iter().any(|found| found.uuid == *uuid);
            if !stays {
                view.context.iter().for_each(|context| context.cancel());
            }
            stays
        });
        for RefreshableView { name, uuid, view: definition } in found {
            let Some(strategy) = &definition.refresh else { continue };
            // What cannot be understood was refused when it was made.
            let (schedule, retries) = schedule_of(strategy)?;
            let own = |other: &squall_sql::ast::TableName| {
                let database = other.database.as_ref().map_or(&*name.database, |database| &database.value);
                TableName::new(database, other.table.value.as_str())
            };
            let depends_on = strategy.depends_on.iter().map(own).collect();
            if let Some(view) = views.get_mut(&uuid) {
                if !Arc::ptr_eq(&view.definition, &definition) {
                    view.turns.reschedule(schedule, retries);
                }
                (view.name, view.definition, view.depends_on) = (name, definition, depends_on);
                continue;
            }
            let mut record = databases.refresh_record(uuid)?;
            if record.is_none() && definition.begins_empty {
                let completed = schedule.at_first(now_ms.div_euclid(1000));
                let empty = RefreshRecord { completed, ..RefreshRecord::default() };
                databases.note_refresh(uuid, empty)?;
                record = Some(empty);
            }
            let last = Last {
                succeeded: record.and_then(|record| record.succeeded),
                duration_ms: record.and_then(|record| record.duration_ms),
                ..Last::default()
            };
            let turns = Turns::new(schedule, retries, record.map(|record| record.completed), rand::random());
            views.insert(uuid, View { name, definition, depends_on, turns, context: None, last });
        }
        self.seen.store(generation + 1, Ordering::Release);
        Ok(())
    }

    /// Whether [`follow`](Self::follow) has nothing to look at.
    pub(crate) fn has_followed(&self, databases: &Databases) -> bool {
        self.seen.load(Ordering::Acquire) == databases.generation() + 1
    }

    /// There may be other views.
    pub(crate) fn note_tables_changed(&self) {
        self.changed.notify_waiters();
    }

    /// When it is the next view's turn, in milliseconds since 1970, unless something happens before.
    pub(crate) fn next_turn_ms(&self, now_ms: i64) -> Option<i64> {
        let views = self.views.lock();
        let turn = |view: &View| match view.turn(&views, now_ms) {
            Turn::Now => Some(now_ms),
            Turn::At(at) => Some(at),
            Turn::AfterOthers | Turn::Running | Turn::Stopped => None,
        };
        views.values().filter_map(turn).min()
    }

    /// A view whose turn it is, which runs as what `context` makes of a comment from now on; nothing where there is none.
    pub(crate) fn due(&self, now_ms: i64, context: impl FnOnce(String) -> Arc<QueryContext>) -> Option<DueView> {
        let mut views = self.views.lock();
        let is_due = |(uuid, view): (&Uuid, &View)| (view.turn(&views, now_ms) == Turn::Now).then_some(*uuid);
        let uuid = views.iter().find_map(is_due)?;
        let view = views.get_mut(&uuid)?;
        view.turns.begin(now_ms);
        let mut comment = format!("refresh of {}", view.name);
        let (attempt, retries) = (view.turns.failures + 1, view.turns.retries.max);
        if attempt > 1 {
            let of_all = if retries < 0 { String::new() } else { format!("/{}", retries.saturating_add(1)) };
            comment += &format!(" (attempt {attempt}{of_all})");
        }
        let context = context(comment);
        view.context = Some(context.clone());
        view.last.attempt_ms = Some(now_ms);
        Some(DueView { name: view.name.clone(), uuid, definition: view.definition.clone(), context })
    }

    /// What is to be kept of a refresh that is about to end well.
    pub(crate) fn record_of_success(&self, uuid: Uuid, now_ms: i64) -> Option<RefreshRecord> {
        let views = self.views.lock();
        let view = views.get(&uuid)?;
        let (began_ms, _) = view.turns.running?;
        let mut turns = view.turns.clone();
        turns.end(now_ms, &Ok(()), 0.0);
        Some(RefreshRecord {
            completed: turns.completed?,
            succeeded: Some(began_ms.div_euclid(1000)),
            duration_ms: Some(now_ms - began_ms),
        })
    }

    /// A refresh has ended; gives what is to be kept of it.
    pub(crate) fn end(&self, uuid: Uuid, now_ms: i64, result: &Result<()>) -> Option<RefreshRecord> {
        let mut views = self.views.lock();
        let view = views.get_mut(&uuid)?;
        let (began_ms, _) = view.turns.running?;
        view.last.attempt_ms = Some(now_ms);
        view.last.failure = result.as_ref().err().cloned();
        match result {
            Err(error) if error.code == ErrorCode::QUERY_WAS_CANCELLED => view.turns.cancel(now_ms, rand::random()),
            result => view.turns.end(now_ms, result, rand::random()),
        }
        if result.is_ok() {
            view.last.succeeded = Some(began_ms.div_euclid(1000));
            view.last.duration_ms = Some(now_ms - began_ms);
        }
        let Last { succeeded, duration_ms, .. } = view.last;
        let record = view.turns.completed.map(|completed| RefreshRecord { completed, succeeded, duration_ms });
        drop(views);
        self.changed.notify_waiters();
        record
    }

    /// Does something with a view of a name.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is none.
    fn with<T>(&self, name: &TableName, work: impl FnOnce(&mut View) -> T) -> Result<T> {
        let mut views = self.views.lock();
        let found = views.values_mut().find(|view| *view.name == *name);
        let result = found
            .map(work)
            .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Refreshable view {name} doesn't exist")));
        drop(views);
        self.changed.notify_waiters();
        result
    }

    /// `SYSTEM REFRESH VIEW`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is no such view.
    pub(crate) fn want(&self, name: &TableName) -> Result<()> {
        self.with(name, |view| view.turns.want())
    }

    /// `SYSTEM STOP VIEW`, which ends the refresh that runs, and `SYSTEM START VIEW`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is no such view.
    pub(crate) fn stop(&self, name: &TableName, is_stopped: bool) -> Result<()> {
        self.with(name, |view| view.stop(is_stopped))
    }

    /// The same of all views.
    pub(crate) fn stop_all(&self, is_stopped: bool) {
        self.views.lock().values_mut().for_each(|view| view.stop(is_stopped));
        self.changed.notify_waiters();
    }

    /// `SYSTEM CANCEL VIEW`: the refresh that runs ends.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is no such view.
    pub(crate) fn cancel(&self, name: &TableName) -> Result<()> {
        self.with(name, |view| view.cancel())
    }

    /// Has those that run end.
    pub(crate) fn cancel_all(&self) {
        self.views.lock().values().for_each(View::cancel);
    }

    /// How a view stands for who waits for it.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is no such view.
    pub(crate) fn standing(&self, name: &TableName, now_ms: i64) -> Result<RefreshStanding> {
        let views = self.views.lock();
        let view = views
            .values()
            .find(|view| *view.name == *name)
            .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Refreshable view {name} doesn't exist")))?;
        Ok(match view.turn(&views, now_ms) {
            Turn::Now | Turn::Running => RefreshStanding::Pending,
            // The next attempt is near.
            Turn::At(_) if view.turns.is_retried() => RefreshStanding::Pending,
            Turn::At(_) | Turn::AfterOthers | Turn::Stopped => RefreshStanding::Done(view.last.failure.clone()),
        })
    }

    /// All views.
    pub(crate) fn shown(&self, now_ms: i64) -> Vec<ShownView> {
        let views = self.views.lock();
        let shown = |(uuid, view): (&Uuid, &View)| {
            let turn = view.turn(&views, now_ms);
            let (status, next) = match turn {
                Turn::Now => ("Scheduled", Some(now_ms)),
                Turn::At(at) => ("Scheduled", Some(at)),
                Turn::AfterOthers => ("WaitingForDependencies", None),
                Turn::Running => ("Running", view.turns.next().map(|next| next.saturating_mul(1000))),
                Turn::Stopped => ("Disabled", None),
            };
            ShownView {
                name: view.name.clone(),
                uuid: *uuid,
                status,
                succeeded: view.last.succeeded,
                duration_ms: view.last.duration_ms,
                attempted: view.last.attempt_ms.map(|at| at.div_euclid(1000)),
                next: next.map(|at| at.div_euclid(1000)),
                failure: view.last.failure.clone(),
                failures: view.turns.failures,
                context: view.context.clone(),
            }
        };
        let mut all: Vec<ShownView> = views.iter().map(shown).collect();
        all.sort_unstable_by(|left, right| {
            (&left.name.database, &left.name.table).cmp(&(&right.name.database, &right.name.table))
        });
        all
    }

    /// Ends when something has changed since it was called.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

impl View {
    fn turn(&self, views: &HashMap<Uuid, View>, now_ms: i64) -> Turn {
        let dependency = |name: &TableName| {
            let found = views.values().find(|view| *view.name == *name);
            found.map(|view| view.turns.as_dependency())
        };
        let dependencies: Vec<_> = self.depends_on.iter().map(dependency).collect();
        self.turns.turn(now_ms, &dependencies)
    }

    fn stop(&mut self, is_stopped: bool) {
        self.turns.is_stopped = is_stopped;
        if is_stopped {
            self.cancel();
        }
    }

    fn cancel(&self) {
        if self.turns.running.is_some() {
            self.context.iter().for_each(|context| context.cancel());
        }
    }
}
