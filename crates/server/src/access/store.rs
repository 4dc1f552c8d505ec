//! Where the entities that SQL made are kept: a database of SQLite's beside the catalog, in which each is the statements that make it
//! again. A change is one transaction that is on disk before the statement is acknowledged.

use std::path::Path;

use parking_lot::Mutex;
use rusqlite::{Connection, params};
use squall_sql::ast::{Granted, Statement};
use squall_sql::{ParserLimits, format_one_line};
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::definition::{Maker, name_of};
use super::entities::Entities;
use super::entity::{Definition, Entity, Role, Storage, User};
use super::grant;
use super::rights::{Change, Rights};
use crate::small_database;
use crate::system::quote;

/// The file in the data folder.
pub const FILE: &str = "access.sqlite";

/// The database.
#[derive(Debug)]
pub struct Store(Mutex<Connection>);

fn failed(error: rusqlite::Error) -> Error {
    Error::new(ErrorCode::STD_EXCEPTION, format!("The database of users and grants ({FILE}): {error}"))
}

impl Store {
    /// Opens the database of a data folder, or makes it; one that ends with the process where there is no folder.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn open(folder: Option<&Path>) -> Result<Self> {
        let schema = "CREATE TABLE IF NOT EXISTS entity (
                          id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, statements TEXT NOT NULL
                      ) STRICT";
        let connection = small_database::open(folder, FILE, schema).map_err(failed)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Reads everything.
    ///
    /// # Errors
    /// Where something cannot be read: whoever may be missing then, nobody comes in.
    pub fn load(&self) -> Result<Vec<Entity>> {
        let connection = self.0.lock();
        let mut rows = connection.prepare("SELECT id, name, statements FROM entity").map_err(failed)?;
        let rows = rows
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
            .map_err(failed)?;
        let mut entities = Vec::new();
        for row in rows {
            let (id, name, statements) = row.map_err(failed)?;
            let entity = read(&id, &name, &statements).map_err(|error| {
                Error::new(error.code, format!("{name} in {FILE} cannot be read: {}", error.message))
            })?;
            entities.push(entity);
        }
        Ok(entities)
    }

    /// Makes the database hold what `after` has of SQL's, where it held `before`. Waits for the disk.
    ///
    /// # Errors
    /// Where it cannot be written: nothing has changed then.
    pub fn save(&self, before: &Entities, after: &Entities) -> Result<()> {
        let mut connection = self.0.lock();
        let transaction = connection.transaction().map_err(failed)?;
        let of_sql = |entities: &Entities| -> Vec<std::sync::Arc<Entity>> {
            entities.all().filter(|entity| entity.storage == Storage::LocalDirectory).cloned().collect()
        };
        let (old, new) = (of_sql(before), of_sql(after));
        for entity in &old {
            if !new.iter().any(|other| other.id == entity.id) {
                transaction
                    .execute("DELETE FROM entity WHERE id = ?1", params![entity.id.to_string()])
                    .map_err(failed)?;
            }
        }
        for entity in &new {
            if old.iter().any(|other| std::sync::Arc::ptr_eq(other, entity)) {
                continue;
            }
            transaction
                .execute(
                    "INSERT OR REPLACE INTO entity (id, kind, name, statements) VALUES (?1, ?2, ?3, ?4)",
                    params![entity.id.to_string(), entity.definition.kind().keywords(), &*entity.name, written(entity)],
                )
                .map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }
}

/// The statements that make an entity, a JSON array of texts.
fn written(entity: &Entity) -> String {
    let create = entity.definition.create_statement(&entity.name, true);
    let mut statements = vec![format_one_line(&Statement::AccessEntity(Box::new(create)))];
    if let Definition::User(User { rights, roles, .. }) | Definition::Role(Role { rights, roles, .. }) =
        &entity.definition
    {
        statements.extend(grant::statements(rights, &entity.name));
        statements.extend(role_statements(roles, &entity.name));
    }
    serde_json::Value::from(statements).to_string()
}

/// The GRANTs of roles.
pub fn role_statements(roles: &std::collections::BTreeMap<String, bool>, to: &str) -> Vec<String> {
    let granted = |with_admin_option: bool| {
        let names: Vec<String> =
            roles.iter().filter(|(_, with)| **with == with_admin_option).map(|(name, _)| quote(name)).collect();
        let option = if with_admin_option { " WITH ADMIN OPTION" } else { "" };
        (!names.is_empty()).then(|| format!("GRANT {} TO {}{option}", names.join(", "), quote(to)))
    };
    [granted(false), granted(true)].into_iter().flatten().collect()
}

fn read(id: &str, name: &str, statements: &str) -> Result<Entity> {
    let bad = |what: &str| Error::new(ErrorCode::CORRUPTED_DATA, what.to_owned());
    let id = Uuid::parse_str(id).map_err(|_| bad("its identity is none"))?;
    let statements: Vec<String> = serde_json::from_str(statements).map_err(|_| bad("its statements are no array"))?;
    let maker = Maker { user: name, zone: chrono_tz::UTC, bcrypt_work: 0, allows_no_password: true };
    let mut definition = None;
    for text in &statements {
        let parsed =
            squall_sql::parse(text.as_bytes(), &ParserLimits::default()).map_err(|error| bad(&error.message))?;
        match (parsed, &mut definition) {
            (Statement::AccessEntity(create), None) => {
                let named = create.names.first().ok_or_else(|| bad("it has no name"))?;
                definition = Some(Definition::new(&create.definition, named, "", &maker)?);
            }
            (
                Statement::Grant(granted),
                Some(Definition::User(User { rights, roles, .. }) | Definition::Role(Role { rights, roles, .. })),
            ) => apply(&granted, rights, roles)?,
            _ => return Err(bad("it has a statement that does not belong to it")),
        }
    }
    let definition = definition.ok_or_else(|| bad("it has no statement"))?;
    Ok(Entity { id, name: name.into(), storage: Storage::LocalDirectory, definition })
}

/// Does what a GRANT or REVOKE of files says.
///
/// # Errors
/// Those of [`grant::parse`]; `BAD_ARGUMENTS` for what files do not say.
pub fn apply(
    statement: &squall_sql::ast::Grant,
    rights: &mut Rights,
    roles: &mut std::collections::BTreeMap<String, bool>,
) -> Result<()> {
    match &statement.granted {
        Granted::Privileges(privileges) => {
            for (target, set) in grant::parse(privileges, "default")? {
                let change = match (statement.revoke, statement.grant_option) {
                    (false, with_option) => Change::Grant(set, with_option),
                    (true, false) => Change::Revoke(set),
                    (true, true) => Change::RevokeOption(set),
                };
                rights.change(&target, change);
            }
        }
        Granted::Roles(names) => {
            for name in &names.names {
                if statement.revoke {
                    roles.remove(&name_of(name));
                } else {
                    roles.insert(name_of(name), statement.admin_option);
                }
            }
        }
        Granted::CurrentGrants(_) => {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "CURRENT GRANTS is for GRANT of a session alone"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let texts = [
            "CREATE USER u IDENTIFIED WITH sha256_password BY 'x', ssl_certificate CN 'a' HOST LOCAL, IP '10.0.0.0/8' VALID UNTIL '2030-01-02 03:04:05' \
             DEFAULT ROLE r DEFAULT DATABASE d SETTINGS max_threads = 3 MIN 1 MAX 4 CONST, PROFILE 'p' GRANTEES v",
            "CREATE ROLE `a b` SETTINGS max_block_size = 100",
            "CREATE QUOTA q KEYED BY client_key, user_name FOR INTERVAL 2 hour MAX queries = 3, execution_time = 1.5",
            "CREATE ROW POLICY p ON d.t AS RESTRICTIVE USING a IN (1, 'x') AND b = currentUser() TO ALL EXCEPT u",
            "CREATE SETTINGS PROFILE p SETTINGS max_threads = 5, INHERIT 'default' TO u",
        ];
        let maker = Maker { user: "me", zone: chrono_tz::UTC, bcrypt_work: 4, allows_no_password: true };
        let mut entities = Entities::default();
        for text in texts {
            let Ok(Statement::AccessEntity(create)) = squall_sql::parse(text.as_bytes(), &ParserLimits::default())
            else {
                panic!("{text}")
            };
            let mut definition = Definition::new(&create.definition, &create.names[0], "db", &maker).unwrap();
            if let Definition::User(User { rights, roles, .. }) = &mut definition {
                rights.change(
                    &super::super::rights::Target::new(&["d"]),
                    Change::Grant(super::super::Privilege::Select.set(), true),
                );
                roles.insert("a b".to_owned(), true);
            }
            let name = create.names[0].name.value.as_str().into();
            entities.put(Entity { id: Uuid::new_v4(), name, storage: Storage::LocalDirectory, definition });
        }
        Store::open(Some(folder.path())).unwrap().save(&Entities::default(), &entities).unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let mut loaded = Entities::default();
        store.load().unwrap().into_iter().for_each(|entity| loaded.put(entity));
        let shown = |entities: &Entities| {
            let mut all: Vec<String> =
                entities.all().map(|entity| format!("{} {}", entity.id, written(entity))).collect();
            all.sort();
            all
        };
        assert_eq!(shown(&loaded), shown(&entities));
        assert_eq!(loaded.all().count(), texts.len());
        store.save(&loaded, &Entities::default()).unwrap();
        assert!(store.load().unwrap().is_empty());
    }
}
