//! Sessions of HTTP's `session_id`: kept between requests for a while, used by one request at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

use super::Session;

/// The most sessions that are kept at once.
const SESSIONS_MAX: usize = 100_000;

/// The user and the `session_id`: nobody gets into the session of another.
type Key = (Arc<str>, String);

/// The sessions that are kept.
#[derive(Debug, Default)]
pub struct NamedSessions {
    slots: Mutex<HashMap<Key, Slot>>,
}

#[derive(Debug)]
enum Slot {
    /// A request has it.
    InUse,
    /// Kept until the time.
    Kept(Box<Session>, Instant),
}

impl NamedSessions {
    /// Takes a session for one request, or makes it with `new`.
    ///
    /// # Errors
    /// `SESSION_IS_LOCKED` where another request has it, `SESSION_NOT_FOUND` where it must exist and does not, `LIMIT_EXCEEDED`.
    pub fn take(
        self: &Arc<Self>,
        user: &Arc<str>,
        id: &str,
        timeout: Duration,
        must_exist: bool,
        new: impl FnOnce() -> Session,
    ) -> Result<SessionLease> {
        let key = (user.clone(), id.to_owned());
        let mut slots = self.slots.lock();
        let now = Instant::now();
        let session = match slots.get_mut(&key) {
            Some(Slot::InUse) => {
                return Err(Error::new(
                    ErrorCode::SESSION_IS_LOCKED,
                    format!("Session {id} is locked by a concurrent client"),
                ));
            }
            Some(slot) => match std::mem::replace(slot, Slot::InUse) {
                Slot::Kept(session, until) if until > now => Some(*session),
                _ => None,
            },
            None => None,
        };
        let session = match session {
            Some(session) => session,
            None if must_exist => {
                slots.remove(&key);
                return Err(Error::new(ErrorCode::SESSION_NOT_FOUND, format!("Session {id} not found")));
            }
            None => {
                if slots.len() >= SESSIONS_MAX {
                    slots.retain(|_, slot| !matches!(slot, Slot::Kept(_, until) if *until <= now));
                }
                if slots.len() >= SESSIONS_MAX {
                    slots.remove(&key);
                    return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, format!("More than {SESSIONS_MAX} sessions")));
                }
                slots.insert(key.clone(), Slot::InUse);
                new()
            }
        };
        Ok(SessionLease { sessions: self.clone(), key, timeout, session: Some(Box::new(session)) })
    }

    /// Forgets sessions whose time is over; called now and then.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.slots.lock().retain(|_, slot| !matches!(slot, Slot::Kept(_, until) if *until <= now));
    }

    /// The number of sessions that are kept or in use.
    pub fn len(&self) -> usize {
        self.slots.lock().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A session in the hands of one request; dropping it gives it back.
#[derive(Debug)]
pub struct SessionLease {
    sessions: Arc<NamedSessions>,
    key: Key,
    timeout: Duration,
    /// Given back when this is dropped; none only while that happens.
    session: Option<Box<Session>>,
}

impl SessionLease {
    /// The session.
    pub fn session(&mut self) -> Option<&mut Session> {
        self.session.as_deref_mut()
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        let mut slots = self.sessions.slots.lock();
        match self.session.take() {
            Some(session) if !self.timeout.is_zero() => {
                slots.insert(self.key.clone(), Slot::Kept(session, Instant::now() + self.timeout));
            }
            _ => {
                slots.remove(&self.key);
            }
        }
    }
}
