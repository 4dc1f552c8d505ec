//! A session: a user with a current database, settings and query parameters, for one connection of the native protocol, one HTTP
//! request, or one HTTP `session_id`.

mod client_info;
mod external_tables;
mod named;
mod temporary;

use std::collections::HashMap;
use std::sync::Arc;

use squall_storage::{Databases, TEMPORARY_DATABASE, Table};
use squall_types::{Error, ErrorCode, Result, Settings};

pub use client_info::{ClientInfo, HttpMethod, Interface};
pub use external_tables::{ExternalTables, ExternalTablesInput, UNNAMED};
pub use named::{NamedSessions, SessionLease};
pub use temporary::TemporaryTables;

use crate::access::{Access, Constraints, Consumer, RoleChoice, Snapshot, Usage, now_seconds, profile_settings};
use crate::query::InputPlace;
use crate::server::Server;

/// Query parameters of one session.
const PARAMETERS_MAX: usize = 10_000;

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The server.
    pub server: Arc<Server>,
    /// Who, and what they may do; brought up to date when a query begins.
    pub access: Arc<Access>,
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
    /// A table that takes the place of all others of its name, where no database is written: rows that a statement is carried out on.
    pub stand_in: Option<(&'static str, Arc<dyn Table>)>,
    /// Rows that were just inserted, which take the place of the table of their name.
    pub inserted: Option<Arc<dyn Table>>,
    /// What the function `input` reads.
    pub input: Option<Arc<InputPlace>>,
    /// The tables that the session made for itself.
    pub temporary_tables: TemporaryTables,
    /// Who has come in; another than `access` is of since EXECUTE AS.
    pub authenticated_user: Arc<str>,
    /// Whether what it plans is the source of a dictionary: the server reads that for whoever looks something up, in nobody's name.
    pub plans_dictionary_source: bool,
    /// The entities that `access` was made of.
    snapshot: Arc<Snapshot>,
    /// The roles that the session chose.
    roles: RoleChoice,
    /// The bounds of the profiles that the session took, besides the user's own.
    profiles: Vec<Arc<Constraints>>,
}

impl Session {
    /// A new session of an authenticated user, in the user's default database.
    pub fn new(server: Arc<Server>, access: Arc<Access>, client: Arc<ClientInfo>) -> Self {
        let database = match &access.default_database {
            Some(database) => database.as_str().into(),
            None => server.default_database.clone(),
        };
        Self {
            database,
            authenticated_user: access.name.clone(),
            settings: access.settings.clone(),
            parameters: server.no_parameters.clone(),
            snapshot: server.access.load_full(),
            server,
            access,
            client,
            external_tables: None,
            stand_in: None,
            inserted: None,
            input: None,
            temporary_tables: TemporaryTables::default(),
            plans_dictionary_source: false,
            roles: RoleChoice::Default,
            profiles: Vec::new(),
        }
    }

    /// A session of the server itself, for what it does on its own account: it may do everything.
    pub fn of_server(server: Arc<Server>) -> Self {
        let access = Arc::new(Access::of_server(&server.access.load()));
        Self::new(server, access, Arc::new(ClientInfo::default()))
    }

    /// The same session, in whose queries a name means this table.
    #[must_use]
    pub fn with_stand_in(&self, name: &'static str, table: Arc<dyn Table>) -> Self {
        Self { stand_in: Some((name, table)), ..self.clone() }
    }

    /// The same session, in whose queries a table has just these rows.
    #[must_use]
    pub fn with_inserted(&self, rows: Arc<dyn Table>) -> Self {
        Self { inserted: Some(rows), ..self.clone() }
    }

    /// The same session, in whose queries the function `input` has what comes to this place.
    #[must_use]
    pub fn with_input(&self, place: Arc<InputPlace>) -> Self {
        Self { input: Some(place), ..self.clone() }
    }

    /// The same session, planning the source of a dictionary.
    #[must_use]
    pub fn for_dictionary_source(self) -> Self {
        Self { plans_dictionary_source: true, ..self }
    }

    /// Takes note of what has changed in who may do what since the session's last query.
    ///
    /// # Errors
    /// `UNKNOWN_USER` where the user is there no more.
    pub fn refresh_access(&mut self) -> Result<()> {
        let now = self.server.access.load();
        if self.access.generation == now.generation {
            return Ok(());
        }
        let access = match now.access(&self.access.name, &self.roles) {
            // A role that was taken away is not chosen any more.
            Err(error) if error.code == ErrorCode::SET_NON_GRANTED_ROLE => {
                self.roles = RoleChoice::Default;
                now.access(&self.access.name, &self.roles)?
            }
            access => access?,
        };
        if access.id != self.access.id {
            // Another user of the same name.
            let message = format!("There is no user `{}` in `user directories`", self.access.name);
            return Err(Error::new(ErrorCode::UNKNOWN_USER, message));
        }
        self.snapshot = now.clone();
        self.access = access;
        Ok(())
    }

    /// Chooses roles: `SET ROLE`.
    ///
    /// # Errors
    /// `SET_NON_GRANTED_ROLE`.
    pub fn set_roles(&mut self, roles: RoleChoice) -> Result<()> {
        self.access = self.snapshot.access(&self.access.name, &roles)?;
        self.roles = roles;
        Ok(())
    }

    /// The session with another user's rights and profile, in the same database, and with those of its settings that the other may have.
    ///
    /// # Errors
    /// `UNKNOWN_USER`.
    pub fn acting_as(&self, user: &str) -> Result<Self> {
        let access = self.snapshot.access(user, &RoleChoice::Default)?;
        if Arc::ptr_eq(&access, &self.access) {
            return Ok(self.clone());
        }
        let settings = access.settings.clone();
        let roles = RoleChoice::Default;
        let mut other = Self { access, settings, roles, profiles: Vec::new(), ..self.clone() };
        for (name, value) in self.settings.changes().filter(|(name, _)| *name != "readonly") {
            if other.check_setting(name, &value).is_ok() {
                Arc::make_mut(&mut other.settings).set(name, &value)?;
            }
        }
        if other.settings.readonly == 0 && self.settings.readonly != 0 {
            Arc::make_mut(&mut other.settings).readonly = self.settings.readonly;
        }
        Ok(other)
    }

    /// Takes over the roles and profiles that a copy of the session chose.
    pub fn keep_roles_of(&mut self, copy: &Self) {
        self.access = copy.access.clone();
        self.snapshot = copy.snapshot.clone();
        self.roles = copy.roles.clone();
        self.profiles.clone_from(&copy.profiles);
    }

    /// The condition that the rows of a table must meet to be seen by the session.
    ///
    /// # Errors
    /// Where a policy's condition is none.
    pub fn row_filter(&self, database: &str, table: &str) -> Result<Option<Arc<squall_sql::ast::Expression>>> {
        let shows_without = self.server.config.load().server.users_without_row_policies_can_read_rows;
        self.access.row_filter(database, table, shows_without)
    }

    /// The entities that are known to the session's query.
    pub fn entities(&self) -> &crate::access::Entities {
        &self.snapshot.entities
    }

    /// What the session has used of its user's quota.
    ///
    /// # Errors
    /// `QUOTA_REQUIRES_CLIENT_KEY`.
    pub fn quota(&self, query_hash: u64) -> Result<Option<Arc<Usage>>> {
        let Some(quota) = &self.access.quota else { return Ok(None) };
        let consumer = Consumer { user: &self.access.name, client: &self.client, query_hash };
        self.server.access.quotas.of(quota, consumer, now_seconds())
    }

    /// Where the tables of a database are: with the server, or with the session.
    pub fn databases_of(&self, database: &str) -> &Arc<Databases> {
        if database == TEMPORARY_DATABASE { self.temporary_tables.databases() } else { &self.server.databases }
    }

    /// Changes the current database.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `DATABASE_ACCESS_DENIED`.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        if *self.database == *name {
            return Ok(());
        }
        self.access.check_database(name)?;
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
            let (values, constraints) = profile_settings(&self.snapshot.entities, value)?;
            let mut settings = (*self.settings).clone();
            // What a profile sets, its taker must be able to set, too.
            for (name, value) in values {
                if settings.get(&name).as_ref() != Some(&value) {
                    self.check_setting(&name, &value)?;
                    settings.set(&name, &value)?;
                }
            }
            self.settings = Arc::new(settings);
            self.profiles.push(Arc::new(constraints));
            return Ok(());
        }
        let Some(now) = self.settings.get(name) else {
            return Err(Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'")));
        };
        // Clients repeat settings that are as they are, also in read-only sessions.
        if now == value {
            return Ok(());
        }
        self.check_setting(name, value)?;
        Arc::make_mut(&mut self.settings).set(name, value)
    }

    /// Checks that a setting may have a value in this session.
    ///
    /// # Errors
    /// `READONLY`, `SETTING_CONSTRAINT_VIOLATION`.
    pub fn check_setting(&self, name: &str, value: &str) -> Result<()> {
        self.access.constraints.check(&self.settings, name, value)?;
        self.profiles.iter().try_for_each(|constraints| constraints.check(&self.settings, name, value))
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
        let value = self.access.settings.get(name).unwrap_or_default();
        self.set(name, &value)?;
        if !self.access.settings.is_changed(name) {
            Arc::make_mut(&mut self.settings).forget_change(name);
        }
        Ok(())
    }

    /// Makes a session read-only as ClickHouse does for HTTP GET: nothing but reading, though settings may change.
    pub fn forbid_writing(&mut self) {
        if self.settings.readonly != 0 {
            return;
        }
        if Arc::ptr_eq(&self.settings, &self.access.settings) {
            self.settings = self.access.readonly_settings.clone();
        } else {
            Arc::make_mut(&mut self.settings).readonly = 2;
        }
    }

    /// What the session may set settings to.
    pub fn constraints(&self) -> &Constraints {
        &self.access.constraints
    }

    /// The time zone of the session: the setting's, or the server's.
    pub fn time_zone(&self) -> Arc<str> {
        match self.settings.session_timezone.as_str() {
            "" => self.server.time_zone.clone(),
            zone => zone.into(),
        }
    }
}
