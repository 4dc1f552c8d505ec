//! DETACH and ATTACH of databases and tables: a detached table keeps its place in the catalog, its name and its parts; nobody sees it until it is attached
//! again, or, where it is not detached permanently, until the server starts again.

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::Databases;
use super::change::check_dictionary;
use super::entry::{Database, Engine, Entry, database_exists, database_of, find_if, is_made_up};

/// A table that is detached, for `system.detached_tables`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedTable {
    /// The database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// Its identity.
    pub uuid: Uuid,
    /// Whether it stays so when the server starts again.
    pub is_permanently: bool,
}

impl Databases {
    /// `DETACH TABLE [PERMANENTLY]`. Scans under way go on.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_IMPLEMENTED` for virtual tables.
    pub fn detach_table(&self, database: &str, table: &str, is_permanently: bool, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let Some(entry) = find_if(&self.state.load(), database, table, if_exists)? else { return Ok(()) };
        entry.refuse_dictionary()?;
        self.detach_entry(&entry, is_permanently)
    }

    /// `DETACH DICTIONARY [PERMANENTLY]`.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `INCORRECT_QUERY` for a table.
    pub fn detach_dictionary(&self, database: &str, name: &str, is_permanently: bool, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let Some(entry) = find_if(&self.state.load(), database, name, if_exists)? else { return Ok(()) };
        check_dictionary(&entry)?;
        self.detach_entry(&entry, is_permanently)
    }

    /// Takes a table out, to be attached again. Callers hold `ddl`.
    fn detach_entry(&self, entry: &Arc<Entry>, is_permanently: bool) -> Result<()> {
        entry.refuse_virtual("Detach")?;
        let (database, table) = (&*entry.name.database, &entry.name.table);
        let publish = || {
            self.change(|state| {
                if let Some(database) = state.get_mut(database) {
                    let database = Arc::make_mut(database);
                    database.tables.remove(table);
                    database.detached.insert(table.clone(), (entry.clone(), is_permanently));
                }
            });
        };
        self.record_detached(is_permanently, entry, true, publish)
    }

    /// Publishes that a table is detached, or attached again, once the catalog has it where it must.
    fn record_detached(
        &self,
        is_recorded: bool,
        entry: &Entry,
        is_detached: bool,
        publish: impl FnOnce(),
    ) -> Result<()> {
        match (&self.store, entry.id()) {
            (Some(store), Some(id)) if is_recorded => store.catalog.set_detached(id, is_detached, publish),
            _ => {
                publish();
                Ok(())
            }
        }
    }

    /// `DETACH DATABASE`: until it is attached again, or the server starts again. Queries under way go on.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`; `BAD_ARGUMENTS` for databases that the server makes up.
    pub fn detach_database(&self, name: &str, if_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let database = match database_of(&state, name) {
            Ok(database) => database.clone(),
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        if is_made_up(name) {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Database {name} cannot be detached")));
        }
        self.detached.lock().insert(name.into(), database);
        self.change(|state| {
            state.remove(name);
        });
        Ok(())
    }

    /// `ATTACH DATABASE` of a database that was detached.
    ///
    /// # Errors
    /// `DATABASE_ALREADY_EXISTS`; `UNKNOWN_DATABASE` where no such database is detached.
    pub fn attach_database(&self, name: &str, if_not_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        if self.state.load().contains_key(name) {
            return if if_not_exists { Ok(()) } else { Err(database_exists(name)) };
        }
        let Some(mut database) = self.detached.lock().get(name).cloned() else {
            let message = format!("Database {name} is not detached: there is nothing to attach");
            return Err(Error::new(ErrorCode::UNKNOWN_DATABASE, message));
        };
        for entry in Arc::make_mut(&mut database).tables.values_mut() {
            *entry = entry.started_anew()?;
        }
        self.change(|state| {
            state.insert(name.into(), database);
        });
        self.detached.lock().remove(name);
        Ok(())
    }

    /// `DATABASE_ALREADY_EXISTS` for the name of one that is detached.
    pub(super) fn check_not_detached(&self, name: &str) -> Result<()> {
        if self.detached.lock().contains_key(name) { Err(database_exists(name)) } else { Ok(()) }
    }

    /// `ATTACH TABLE` of a table that was detached. Rows that were only in memory are gone.
    ///
    /// # Errors
    /// `TABLE_ALREADY_EXISTS`; `CANNOT_GET_CREATE_TABLE_QUERY` where no such table is detached; `INCORRECT_QUERY` for a
    /// dictionary.
    pub fn attach_table(&self, database: &str, table: &str, if_not_exists: bool) -> Result<()> {
        self.attach_entry(database, table, false, if_not_exists)
    }

    /// `ATTACH DICTIONARY` of a dictionary that was detached.
    ///
    /// # Errors
    /// Those of [`Self::attach_table`]; `INCORRECT_QUERY` for a table.
    pub fn attach_dictionary(&self, database: &str, name: &str, if_not_exists: bool) -> Result<()> {
        self.attach_entry(database, name, true, if_not_exists)
    }

    fn attach_entry(&self, database: &str, table: &str, is_dictionary: bool, if_not_exists: bool) -> Result<()> {
        let _ddl = self.lock_ddl();
        let state = self.state.load();
        let in_database = database_of(&state, database)?;
        if let Some(entry) = in_database.tables.get(table) {
            check_kind(entry, is_dictionary)?;
            return if if_not_exists { Ok(()) } else { Err(entry.exists()) };
        }
        let Some((entry, is_permanently)) = in_database.detached.get(table).cloned() else {
            return Err(Error::new(
                ErrorCode::CANNOT_GET_CREATE_TABLE_QUERY,
                format!("There is no metadata of table `{table}` in database `{database}`"),
            ));
        };
        check_kind(&entry, is_dictionary)?;
        let entry = entry.started_anew()?;
        let publish = || {
            self.change(|state| {
                if let Some(database) = state.get_mut(database) {
                    let database = Arc::make_mut(database);
                    database.detached.remove(table);
                    database.tables.insert(table.into(), entry.clone());
                }
            });
        };
        self.record_detached(is_permanently, &entry, false, publish)
    }

    /// The tables that are detached, by database and name.
    pub fn detached_tables(&self) -> Vec<DetachedTable> {
        let state = self.state.load();
        let of_database = |(name, database): (&Arc<str>, &Arc<Database>)| {
            let table = |(table, (entry, is_permanently)): (&Arc<str>, &(Arc<Entry>, bool))| DetachedTable {
                database: name.clone(),
                table: table.clone(),
                uuid: entry.uuid(),
                is_permanently: *is_permanently,
            };
            database.detached.iter().map(table).collect::<Vec<_>>()
        };
        let mut all: Vec<DetachedTable> = state.iter().flat_map(of_database).collect();
        all.sort_unstable_by(|left, right| (&left.database, &left.table).cmp(&(&right.database, &right.table)));
        all
    }
}

/// `INCORRECT_QUERY` where a dictionary is attached as a table, or a table as a dictionary.
fn check_kind(entry: &Entry, as_dictionary: bool) -> Result<()> {
    let is_dictionary = matches!(entry.engine, Engine::Dictionary(..));
    if is_dictionary == as_dictionary {
        return Ok(());
    }
    let (is, other) = if is_dictionary { ("Dictionary", "TABLE") } else { ("Table", "DICTIONARY") };
    Err(Error::new(ErrorCode::INCORRECT_QUERY, format!("Cannot ATTACH {other} {}, it is a {is}.", entry.name)))
}

/// `TABLE_ALREADY_EXISTS` for a name that a table has, or one that is detached.
pub(super) fn check_free(in_database: &Database, database: &str, table: &str) -> Result<()> {
    let Some((_, is_permanently)) = in_database.detached.get(table) else { return Ok(()) };
    let how = if *is_permanently { "detached permanently" } else { "detached" };
    Err(Error::new(ErrorCode::TABLE_ALREADY_EXISTS, format!("Table `{database}`.`{table}` already exists ({how}).")))
}
