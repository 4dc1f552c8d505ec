//! ALTER TABLE of what a table is defined as, as far as no row changes by it: codecs and comments of columns, settings, constraints. Parts that are there stay as
//! they are; those that are made from then on follow.

use std::sync::Arc;

use squall_planner::{Constraint, SkipIndex, TableDefinition};
use squall_types::{Error, ErrorCode, Result};

use super::Databases;
use super::definition::check_definition;
use super::entry::{Engine, Entry, Stored, find};
use crate::identity::TableIdentity;
use crate::merge_tree::MergeTreeSettings;
use crate::table_record::TableRecord;

/// A change of a table's definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DefinitionChange {
    /// `MODIFY COLUMN column CODEC(…)`, or `REMOVE CODEC` without one.
    Codec {
        /// The column.
        column: Arc<str>,
        /// The codecs.
        codec: Option<Arc<str>>,
    },
    /// `MODIFY SETTING name = value`.
    Setting(Arc<str>, Arc<str>),
    /// `RESET SETTING name`.
    ResetSetting(Arc<str>),
    /// `MODIFY COMMENT`.
    Comment(Arc<str>),
    /// `COMMENT COLUMN column`.
    ColumnComment {
        /// The column.
        column: Arc<str>,
        /// What is said of it.
        comment: Arc<str>,
    },
    /// `ADD CONSTRAINT`; rows that are there are not checked.
    AddConstraint {
        /// The constraint.
        constraint: Constraint,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `ADD INDEX`.
    AddIndex {
        /// The index.
        index: SkipIndex,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `DROP INDEX`.
    DropIndex {
        /// The index.
        name: Arc<str>,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `DROP CONSTRAINT`.
    DropConstraint {
        /// The constraint.
        name: Arc<str>,
        /// `IF EXISTS`.
        if_exists: bool,
    },
}

impl DefinitionChange {
    fn apply(&self, definition: &mut TableDefinition) -> Result<()> {
        match self {
            Self::Codec { column, codec } => {
                let found = definition.columns.iter_mut().find(|known| known.name == *column).ok_or_else(|| {
                    let message = format!("Wrong column. Cannot find column `{column}` to modify");
                    Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message)
                })?;
                found.codec.clone_from(codec);
            }
            Self::Comment(comment) => definition.comment.clone_from(comment),
            Self::ColumnComment { column, comment } => {
                let found = definition.columns.iter_mut().find(|known| known.name == *column).ok_or_else(|| {
                    let message = format!("Wrong column. Cannot find column `{column}` to comment");
                    Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message)
                })?;
                found.comment.clone_from(comment);
            }
            Self::AddConstraint { constraint, if_not_exists } => {
                let name = &constraint.name;
                match definition.constraints.iter().any(|known| known.name == *name) {
                    false => definition.constraints.push(constraint.clone()),
                    true if *if_not_exists => {}
                    true => {
                        let message = format!("Cannot add constraint {name}: constraint with this name already exists");
                        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
                    }
                }
            }
            Self::AddIndex { index, if_not_exists } => {
                match definition.indices.iter().any(|known| known.name == index.name) {
                    false => definition.indices.push(index.clone()),
                    true if *if_not_exists => {}
                    true => {
                        let message = format!("Cannot add index {}: index with this name already exists", index.name);
                        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
                    }
                }
            }
            Self::DropIndex { name, if_exists } => {
                let before = definition.indices.len();
                definition.indices.retain(|known| known.name != *name);
                if definition.indices.len() == before && !if_exists {
                    let message = format!("Wrong index name. Cannot find index `{name}` to drop");
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
            }
            Self::DropConstraint { name, if_exists } => {
                let before = definition.constraints.len();
                definition.constraints.retain(|known| known.name != *name);
                if definition.constraints.len() == before && !if_exists {
                    let message = format!("Wrong constraint name. Cannot find constraint `{name}` to drop");
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
            }
            Self::Setting(name, value) => {
                check_setting(definition, name)?;
                match definition.settings.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => known.clone_from(value),
                    None => definition.settings.push((name.clone(), value.clone())),
                }
            }
            Self::ResetSetting(name) => {
                if !MergeTreeSettings::is_known(name) {
                    let message =
                        format!("Cannot reset setting '{name}' because it doesn't exist for MergeTree engines family");
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
                check_setting(definition, name)?;
                definition.settings.retain(|(known, _)| known != name);
            }
        }
        Ok(())
    }
}

fn check_setting(definition: &TableDefinition, name: &str) -> Result<()> {
    if !definition.engine.ends_with("MergeTree") {
        return Err(Error::not_implemented(format!("Settings of storage {}", definition.engine)));
    }
    if name == "index_granularity" {
        let message = format!("Setting 'index_granularity' is readonly for storage '{}'", definition.engine);
        return Err(Error::new(ErrorCode::READONLY_SETTING, message));
    }
    Ok(())
}

impl Databases {
    /// Changes a table's definition, durably and all at once. INSERTs under way go on as they began.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`, `NOT_FOUND_COLUMN_IN_BLOCK`, `UNKNOWN_SETTING`, `READONLY_SETTING`, and where the catalog cannot
    /// be written.
    pub fn alter_definition(&self, database: &str, table: &str, changes: &[DefinitionChange]) -> Result<()> {
        let _ddl = self.lock_ddl();
        let entry = find(&self.state.load(), database, table)?.clone();
        entry.refuse_virtual("Alter")?;
        let no_such = || Error::not_implemented(format!("ALTER of storage {}", entry.table().engine()));
        let before = entry.identity().ok_or_else(no_such)?;
        let mut definition = TableDefinition::clone(&before.definition);
        changes.iter().try_for_each(|change| change.apply(&mut definition))?;
        let definition = check_definition(definition, self.store.is_some())?;
        let identity = Arc::new(TableIdentity::new(before.uuid, Arc::new(definition))?);
        let engine = match &entry.engine {
            Engine::MergeTree(table) => {
                let record = TableRecord::new(&entry.name, identity.uuid, &identity.definition);
                Engine::MergeTree(table.altered(identity.clone(), record)?)
            }
            Engine::Memory(stored, rows) => {
                Engine::Memory(Stored { id: stored.id, identity: identity.clone() }, rows.clone())
            }
            Engine::Null(stored) => Engine::Null(Stored { id: stored.id, identity: identity.clone() }),
            Engine::File(stored) => Engine::File(Stored { id: stored.id, identity: identity.clone() }),
            Engine::View(stored, query) => {
                Engine::View(Stored { id: stored.id, identity: identity.clone() }, query.clone())
            }
            Engine::Function(stored, function) => {
                Engine::Function(Stored { id: stored.id, identity: identity.clone() }, function.clone())
            }
            _ => return Err(no_such()),
        };
        let publish = || self.put(&[Entry { name: entry.name.clone(), engine }]);
        match (&self.store, entry.id()) {
            (Some(store), Some(id)) => store.catalog.alter_table(id, &identity.definition, publish),
            _ => {
                publish();
                Ok(())
            }
        }
    }
}
