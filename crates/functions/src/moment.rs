//! What differs between two runs of the same query by the same rules: functions may ask for it, and whoever keeps plans must know that they did.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run of a query: when, by whom, under which id. A function that was resolved with it is good for this run alone, so it notes that it was asked.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    query_start_ns: i64,
    uptime_seconds: u32,
    user: Arc<str>,
    authenticated_user: Arc<str>,
    query_id: Arc<str>,
    /// Of all clones.
    was_asked: Arc<AtomicBool>,
}

impl Moment {
    /// The run that begins at `query_start_ns` after the epoch, on a server that has been up for so long.
    pub fn new(query_start_ns: i64, uptime_seconds: u32, user: Arc<str>, query_id: Arc<str>) -> Self {
        Self {
            query_start_ns,
            uptime_seconds,
            authenticated_user: user.clone(),
            user,
            query_id,
            was_asked: Arc::default(),
        }
    }

    /// The same run, of a user in whose name another acts who has come in.
    #[must_use]
    pub fn authenticated_as(self, authenticated_user: Arc<str>) -> Self {
        Self { authenticated_user, ..self }
    }

    /// When the query began, in nanoseconds since the epoch: `now()` is one value through a query.
    pub fn query_start_ns(&self) -> i64 {
        self.note();
        self.query_start_ns
    }

    /// Seconds since the server began, `uptime()`.
    pub fn uptime_seconds(&self) -> u32 {
        self.note();
        self.uptime_seconds
    }

    /// `currentUser()`.
    pub fn user(&self) -> &Arc<str> {
        self.note();
        &self.user
    }

    /// `authenticatedUser()`.
    pub fn authenticated_user(&self) -> &Arc<str> {
        self.note();
        &self.authenticated_user
    }

    /// `queryID()`.
    pub fn query_id(&self) -> &Arc<str> {
        self.note();
        &self.query_id
    }

    /// A function draws a number for the run, or counts in it.
    pub fn note(&self) {
        self.was_asked.store(true, Ordering::Relaxed);
    }

    /// Whether anything was resolved that is good for this run alone.
    pub fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }
}
