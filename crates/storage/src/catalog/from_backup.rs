//! What a RESTORE brings, recorded as one transaction: databases, tables and parts, all of them or none. Their numbers are taken before, so that
//! everything can be made, filled and verified while nobody knows of it.

use std::collections::HashMap;

use squall_types::Result;

use super::part_records::{NewPart, TableTotals, insert_part, write_totals};
use super::parts::table_is_dropped;
use super::table_records::{NewDatabase, insert_database, insert_table};
use super::{Catalog, commit_change, commit_error};
use crate::identity::TableIdentity;

/// A table to be recorded.
pub(crate) struct NewTable<'a> {
    pub(crate) id: i64,
    pub(crate) database: i64,
    pub(crate) name: &'a str,
    pub(crate) identity: &'a TableIdentity,
}

/// Everything that comes.
pub(crate) struct RestoredRecords<'a> {
    pub(crate) databases: Vec<NewDatabase<'a>>,
    pub(crate) tables: Vec<NewTable<'a>>,
    /// Parts by the number of their table, a new one or one that is there.
    pub(crate) parts: Vec<(i64, Vec<NewPart>)>,
}

impl Catalog {
    /// Takes so many numbers for databases and tables that may be recorded later; the first of them.
    ///
    /// # Errors
    /// Where the catalog cannot be written.
    pub(crate) fn reserve_ids(&self, count: usize) -> Result<i64> {
        self.change(|change| Ok(change.new_catalog_ids(count as i64)), |_, _| ())
    }

    /// Records everything at once; `publish` runs once it is durable, while nobody else can commit.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, `NOT_ENOUGH_SPACE`; `UNKNOWN_STATUS_OF_INSERT` where it may be durable or not.
    pub(crate) fn restore(&self, records: &RestoredRecords<'_>, publish: impl FnOnce()) -> Result<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let mut totals: HashMap<i64, TableTotals> = HashMap::new();
        let mut has_parts = Vec::with_capacity(records.tables.len());
        for table in &records.tables {
            has_parts.push(table.identity.has_parts()?);
            totals.insert(table.id, TableTotals::new(table.identity));
        }
        for (table, _) in &records.parts {
            if !totals.contains_key(table) {
                totals.insert(*table, state.tables.get(table).cloned().ok_or_else(table_is_dropped)?);
            }
        }
        let committed = commit_change(&mut state.connection, &*self.disk, |change| {
            let mut totals = totals.clone();
            for database in &records.databases {
                insert_database(change, database)?;
            }
            for (table, has_parts) in records.tables.iter().zip(&has_parts) {
                let columns = totals.get(&table.id).filter(|_| *has_parts).map(|table| table.columns.as_slice());
                insert_table(change, table.id, table.database, table.name, table.identity, columns)?;
            }
            for (id, parts) in &records.parts {
                let Some(table) = totals.get_mut(id).filter(|_| !parts.is_empty()) else { continue };
                for part in parts {
                    insert_part(change, *id, table, part)?;
                }
                change.made.push(format!("inserted_into_table:{id}"));
                write_totals(&change.transaction, *id, table)?;
            }
            Ok(totals)
        });
        let totals = committed.map_err(|error| commit_error(&error))?;
        state.tables.extend(totals);
        publish();
        Ok(())
    }
}
