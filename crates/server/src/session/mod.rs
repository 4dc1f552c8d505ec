//! A session: a user with a current database, settings and query parameters, for one connection of the native protocol, one HTTP
//! request, or one HTTP `session_id`.

mod client_info;
mod external_tables;
mod named;

use std::collections::HashMap;
use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, Settings};

pub use client_info::{ClientInfo, HttpMethod, Interface};
pub use external_tables::{ExternalTables, ExternalTablesInput, UNNAMED};
pub use named::{NamedSessions, SessionLease};

use crate::server::Server;
use crate::users::{Constraints, User};

/// Query parameters of one session.
const PARAMETERS_MAX: usize = 10_000;

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The server.
    pub server: Arc<Server>,
    /// Who.
    pub user: Arc<User>,
    /// The current database.
    pub database: Arc<str>,
    /// The settings that queries begin with.
    pub settings: Arc<Settings>,
    /// The values of `{name:Type}`.
    pub parameters: Arc<HashMap<String, String>>,
    /// From where and with what.
    pub client: Arc<ClientInfo>,
    /// The tables that came with the query that runs.
    pub external_tables: Option<Arc<ExternalTables>>,
    constraints: Arc<Constraints>,
}

impl Session {
    /// A new session of an authenticated user, in the user's default database.
    pub fn new(server: Arc<Server>, user: Arc<User>, client: Arc<ClientInfo>) -> Self {
        let database = match &user.default_database {
            Some(database) => database.as_str().into(),
            None => server.default_database.clone(),
        };
        Self {
            database,
            settings: user.settings.clone(),
            parameters: server.no_parameters.clone(),
            constraints: user.constraints.clone(),
            server,
            user,
            client,
            external_tables: None,
        }
    }

    /// Changes the current database.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `DATABASE_ACCESS_DENIED`.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        if *self.database == *name {
            return Ok(());
        }
        self.user.check_database(name)?;
        if !self.server.databases.has_database(name) {
            return Err(Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {name} does not exist")));
        }
        self.database = name.into();
        Ok(())
    }

    /// Changes a setting; `profile` takes a whole profile, and `param_x` a query parameter.
    ///
    /// # Errors
    /// `UNKNOWN_SETTING`, `CANNOT_PARSE_TEXT`, `READONLY`, `SETTING_CONSTRAINT_VIOLATION`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if let Some(parameter) = name.strip_prefix("param_") {
            return self.set_parameter(parameter, value);
        }
        if name == "profile" {
            let users = self.server.users.load();
            let profile = users.profile(value)?;
            self.constraints.check(&self.settings, "profile", value)?;
            let mut settings = (*self.settings).clone();
            for (name, value) in profile.settings.changes() {
                settings.set(name, &value)?;
            }
            self.settings = Arc::new(settings);
            self.constraints = profile.constraints.clone();
            return Ok(());
        }
        let Some(now) = self.settings.get(name) else {
            return Err(Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'")));
        };
        // Clients repeat settings that are as they are, also in read-only sessions.
        if now == value {
            return Ok(());
        }
        self.constraints.check(&self.settings, name, value)?;
        Arc::make_mut(&mut self.settings).set(name, value)
    }

    /// Sets the value of `{name:Type}`.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` for too many.
    pub fn set_parameter(&mut self, name: &str, value: &str) -> Result<()> {
        let parameters = Arc::make_mut(&mut self.parameters);
        if parameters.len() >= PARAMETERS_MAX && !parameters.contains_key(name) {
            return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, format!("More than {PARAMETERS_MAX} query parameters")));
        }
        parameters.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Sets a setting back to what the session began with.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn reset(&mut self, name: &str) -> Result<()> {
        match self.user.settings.get(name) {
            Some(value) => self.set(name, &value),
            None => self.set(name, ""),
        }
    }

    /// Makes a session read-only as ClickHouse does for HTTP GET: nothing but reading, though settings may change.
    pub fn forbid_writing(&mut self) {
        if self.settings.readonly != 0 {
            return;
        }
        if Arc::ptr_eq(&self.settings, &self.user.settings) {
            self.settings = self.user.readonly_settings.clone();
        } else {
            Arc::make_mut(&mut self.settings).readonly = 2;
        }
    }

    /// What the session may set settings to.
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// The time zone of the session: the setting's, or the server's.
    pub fn time_zone(&self) -> Arc<str> {
        match self.settings.session_timezone.as_str() {
            "" => self.server.time_zone.clone(),
            zone => zone.into(),
        }
    }
}
