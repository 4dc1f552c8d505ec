//! ALTER TABLE of what a table is defined as. Parts that are there stay as they are and are read by the ids of their columns; those that
//! are made from then on follow. Rows in memory are made anew.

use std::sync::Arc;

use squall_planner::{Alteration, Constraint, MaterializedView, ProjectionDefinition, SkipIndex, TableDefinition};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::Databases;
use super::definition::check_definition;
use super::entry::{Engine, Entry, Stored, find};
use crate::catalog::TableAlteration;
use crate::column_mapping::ColumnDefaults;
use crate::fields::{FieldIds, StoredFields};
use crate::identity::TableIdentity;
use crate::key_binding::KeyBinding;
use crate::memory::MemoryRows;
use crate::merge_tree::{MergeTreeSettings, is_same_in_lake, lake_fields};
use crate::table_record::TableRecord;

/// A change of a table's definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DefinitionChange {
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
        /// Where it stands among the others.
        placement: Placement,
    },
    /// `DROP INDEX`.
    DropIndex {
        /// The index.
        name: Arc<str>,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `ADD PROJECTION`.
    AddProjection {
        /// The projection.
        projection: ProjectionDefinition,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// Where it stands among the others: `FIRST`, or after one.
        placement: Placement,
    },
    /// `DROP PROJECTION`.
    DropProjection {
        /// The projection.
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

/// Where something new stands among its like of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Before all.
    First,
    /// After the one of this name.
    After(Arc<str>),
    /// After all.
    Last,
}

impl Placement {
    /// The place among things of these names.
    fn position<'a>(
        &self,
        names: impl ExactSizeIterator<Item = &'a Arc<str>>,
        missing: impl Fn(&str) -> Error,
    ) -> Result<usize> {
        match self {
            Self::First => Ok(0),
            Self::Last => Ok(names.len()),
            Self::After(other) => {
                let found = names.enumerate().find(|(_, name)| *name == other);
                found.map(|(at, _)| at + 1).ok_or_else(|| missing(other))
            }
        }
    }
}

impl DefinitionChange {
    /// Changes the definition.
    ///
    /// # Errors
    /// `NOT_FOUND_COLUMN_IN_BLOCK`, `ILLEGAL_COLUMN`, `BAD_ARGUMENTS`, `UNKNOWN_SETTING`, `READONLY_SETTING`.
    pub fn apply(&self, definition: &mut TableDefinition) -> Result<()> {
        match self {
            Self::Comment(comment) => definition.comment.clone_from(comment),
            Self::ColumnComment { column, comment } => {
                let found = definition.columns.iter_mut().find(|known| known.name == *column).ok_or_else(|| {
                    let message = format!("Wrong column. Cannot find column `{column}` to comment");
                    Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message)
                })?;
                found.comment.clone_from(comment);
            }
            Self::AddConstraint { constraint, if_not_exists } => {
                add_constraint(definition, constraint, *if_not_exists)?
            }
            Self::AddIndex { index, if_not_exists, placement } => {
                add_index(definition, index, *if_not_exists, placement)?;
            }
            Self::DropIndex { name, if_exists } => {
                let before = definition.indices.len();
                definition.indices.retain(|known| known.name != *name);
                if definition.indices.len() == before && !if_exists {
                    let message = format!("Wrong index name. Cannot find index `{name}` to drop");
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
            }
            Self::AddProjection { projection, if_not_exists, placement } => {
                add_projection(definition, projection, *if_not_exists, placement)?;
            }
            Self::DropProjection { name, if_exists } => {
                let before = definition.projections.len();
                definition.projections.retain(|known| known.name != *name);
                if definition.projections.len() == before && !if_exists {
                    return Err(no_projection(name));
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

/// Adds a constraint behind the others; of two with one name the first stays, where that is allowed.
fn add_constraint(definition: &mut TableDefinition, constraint: &Constraint, if_not_exists: bool) -> Result<()> {
    let name = &constraint.name;
    match definition.constraints.iter().any(|known| known.name == *name) {
        false => definition.constraints.push(constraint.clone()),
        true if if_not_exists => {}
        true => {
            let message = format!("Cannot add constraint {name}: constraint with this name already exists");
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
        }
    }
    Ok(())
}

/// Adds an index in its place; of two with one name the first stays, where that is allowed.
fn add_index(
    definition: &mut TableDefinition,
    index: &SkipIndex,
    if_not_exists: bool,
    placement: &Placement,
) -> Result<()> {
    let (name, indices) = (&index.name, &mut definition.indices);
    if indices.iter().any(|known| known.name == *name) {
        if if_not_exists {
            return Ok(());
        }
        let message = format!("Cannot add index {name}: index with this name already exists");
        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    let missing = |other: &str| {
        let message = format!("Wrong index name. Cannot find index `{other}` to insert after");
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    };
    let at = placement.position(indices.iter().map(|known| &known.name), missing)?;
    indices.insert(at, index.clone());
    Ok(())
}

/// Adds a projection in its place; of two with one name the first stays, where that is allowed.
fn add_projection(
    definition: &mut TableDefinition,
    projection: &ProjectionDefinition,
    if_not_exists: bool,
    placement: &Placement,
) -> Result<()> {
    let (name, projections) = (&projection.name, &mut definition.projections);
    if projections.iter().any(|known| known.name == *name) {
        if if_not_exists {
            return Ok(());
        }
        let message = format!("Cannot add projection {name}: projection with this name already exists");
        return Err(Error::new(ErrorCode::ILLEGAL_PROJECTION, message));
    }
    let at = placement.position(projections.iter().map(|known| &known.name), no_projection)?;
    projections.insert(at, projection.clone());
    Ok(())
}

fn no_projection(name: &str) -> Error {
    Error::new(ErrorCode::NO_SUCH_PROJECTION_IN_TABLE, format!("There is no projection {name} in table."))
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
    /// Exchanges a table's definition for what was made of `before`, durably and all at once. INSERTs under way go on as they began.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`; `CANNOT_ASSIGN_ALTER` where the definition is no longer the one that the alteration was made
    /// of; where the definition does not suit its engine or the catalog cannot be written.
    pub fn alter_table(
        &self,
        database: &str,
        table: &str,
        before: &Arc<TableDefinition>,
        alteration: Alteration,
    ) -> Result<()> {
        let _ddl = self.lock_ddl();
        let entry = find(&self.state.load(), database, table)?.clone();
        entry.refuse_virtual("Alter")?;
        let known = entry.identity().ok_or_else(|| no_alter(&entry))?;
        if !Arc::ptr_eq(&known.definition, before) {
            return Err(Error::new(ErrorCode::CANNOT_ASSIGN_ALTER, "The table was altered by another query meanwhile"));
        }
        let Alteration { mut definition, origins, .. } = alteration;
        let outside = KeyBinding::new("UTC");
        let binding = self.store.as_ref().map_or(&outside, |store| &*store.binding);
        bind_keys(&mut definition, binding)?;
        check_projections(&definition, binding)?;
        let definition = Arc::new(check_definition(definition, self.store.is_some())?);
        let next_id = match (&self.store, entry.id()) {
            (Some(store), Some(id)) => store.catalog.next_column_id(id)?,
            _ => 1,
        };
        let (identity, new) = altered_identity(known, definition, &origins, next_id)?;
        let identity = Arc::new(identity);
        let (engine, replaced_rows) = altered_engine(&entry, known, &identity, &origins, binding)?;
        let frozen_rows = replaced_rows.clone();
        let publish = || {
            self.put(&[Entry { name: entry.name.clone(), engine }]);
            if let Some(rows) = replaced_rows {
                rows.mark_dropped();
            }
        };
        match (&self.store, entry.id()) {
            (Some(store), Some(id)) => {
                let defaults = ColumnDefaults::new(&identity.definition, binding);
                let initial: Vec<(i64, DataType, Value)> = new
                    .iter()
                    .filter_map(|(column, field)| {
                        let value = defaults.constant(*column)?;
                        Some((*field, value.data_type().clone(), value.value(0)))
                    })
                    .collect();
                let alteration = TableAlteration { before: known, after: &identity, initial: &initial };
                store.catalog.alter_table(id, &alteration, publish).inspect_err(|_| {
                    if let Some(rows) = &frozen_rows {
                        rows.thaw();
                    }
                })
            }
            _ => {
                publish();
                Ok(())
            }
        }
    }
}

/// Columns may stand at other positions: keys are found by their names.
fn bind_keys(definition: &mut TableDefinition, binding: &KeyBinding) -> Result<()> {
    let TableDefinition { columns, sorting_key, primary_key, partition_key, sampling_key, .. } = definition;
    let keys = sorting_key.iter_mut().chain(primary_key.iter_mut().flatten()).chain(partition_key).chain(sampling_key);
    for key in keys {
        key.expression = binding.bind(&key.sql, columns)?;
    }
    Ok(())
}

/// Whether all projections are still of the table's columns.
fn check_projections(definition: &TableDefinition, binding: &KeyBinding) -> Result<()> {
    for projection in &definition.projections {
        binding.projection(projection, &definition.columns).map_err(|error| {
            error.context(format_args!("Cannot apply ALTER because it breaks projection {}", projection.name))
        })?;
    }
    Ok(())
}

/// Whether the rows stay as they are.
fn is_same_rows(before: &TableIdentity, after: &TableIdentity, origins: &[Option<usize>]) -> bool {
    *before.stored == *after.stored && origins.iter().enumerate().all(|(at, origin)| *origin == Some(at))
}

/// The table with another definition: columns that rows have keep their ids, as long as files are right for all who read them by these.
/// Also, for each column that no row has, its position in the definition and its id.
fn altered_identity(
    before: &TableIdentity,
    definition: Arc<TableDefinition>,
    origins: &[Option<usize>],
    mut next_id: i64,
) -> Result<(TableIdentity, Vec<(usize, i64)>)> {
    let plain = TableIdentity::new(before.uuid, definition.clone())?;
    let mut ids = Vec::with_capacity(plain.stored.len());
    let mut new = Vec::new();
    let columns = plain.stored_positions.iter().enumerate().filter(|(_, stored)| stored.is_some());
    for ((at, _), (_, data_type)) in columns.zip(&plain.stored.fields) {
        let origin = origins.get(at).copied().flatten();
        let old = origin.and_then(|origin| before.stored_positions.get(origin).copied().flatten());
        let old = old.and_then(|old| Some((before.fields.ids.get(old)?, before.stored.fields.get(old)?)));
        let mut take = |formers| {
            let id = next_id;
            next_id += lake_fields(data_type);
            FieldIds { id, formers }
        };
        ids.push(match old {
            Some((ids, (_, old_type))) if is_same_in_lake(old_type, data_type) => ids.clone(),
            Some((ids, _)) => take(std::iter::once(ids.id).chain(ids.formers.iter().copied()).collect()),
            None => {
                let taken = take(Vec::new());
                new.push((at, taken.id));
                taken
            }
        });
    }
    let is_same = *plain.stored == *before.stored && ids == before.fields.ids;
    let number = before.fields.number + i64::from(!is_same);
    Ok((TableIdentity::with_fields(before.uuid, definition, StoredFields { number, ids })?, new))
}

/// The error of a table that ALTER does not change.
fn no_alter(entry: &Entry) -> Error {
    Error::not_implemented(format!("ALTER of storage {}", entry.table().engine()))
}

/// What holds a table's rows from now on, and rows in memory that give way to others; these are frozen.
fn altered_engine(
    entry: &Entry,
    before: &TableIdentity,
    identity: &Arc<TableIdentity>,
    origins: &[Option<usize>],
    binding: &KeyBinding,
) -> Result<(Engine, Option<Arc<MemoryRows>>)> {
    let stored = |id| Stored { id, identity: identity.clone() };
    let mut replaced_rows = None;
    let engine = match &entry.engine {
        Engine::MergeTree(table) => {
            Engine::MergeTree(table.altered(identity.clone(), TableRecord::of(&entry.name, identity))?)
        }
        Engine::Memory(of, rows) => {
            let rows = match is_same_rows(before, identity, origins) {
                true => rows.clone(),
                false => {
                    replaced_rows = Some(rows.clone());
                    rows.altered(before, identity, origins, binding)?
                }
            };
            Engine::Memory(stored(of.id), rows)
        }
        Engine::Null(of) => Engine::Null(stored(of.id)),
        Engine::File(of) => Engine::File(stored(of.id)),
        Engine::MaterializedView(of, _) => {
            let view = MaterializedView::of(&identity.definition)?;
            Engine::MaterializedView(stored(of.id), Arc::new(view))
        }
        Engine::View(of, query) => Engine::View(stored(of.id), query.clone()),
        Engine::Function(of, function) => Engine::Function(stored(of.id), function.clone()),
        Engine::Virtual(_)
        | Engine::Broken(_)
        | Engine::Join(..)
        | Engine::Dictionary(..)
        | Engine::DictionaryView(_) => return Err(no_alter(entry)),
    };
    Ok((engine, replaced_rows))
}
