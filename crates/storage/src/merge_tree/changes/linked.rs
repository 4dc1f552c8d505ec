//! Parts of one table that become another's without being written anew: their files get a second name in its folder, or another one.

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result};

use super::deleted_rows::Deletions;
use super::detached::PartSelection;
use crate::catalog::{PartExchange, SeenDeletion};
use crate::disk::Disk;
use crate::identity::TableIdentity;
use crate::merge_tree::MergeTree;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_footer::bad_name;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_writer::write_error;

/// A merge or an INSERT may have changed the parts that are replaced: no more merges begin, so that this ends.
const REPLACE_ATTEMPTS: usize = 100;

impl MergeTree {
    /// Puts copies of another table's parts into this one; they share the bytes of their files. `replaces` takes the parts out that were
    /// selected here before, in the same commit.
    ///
    /// # Errors
    /// `INCOMPATIBLE_COLUMNS`, `BAD_ARGUMENTS` where the tables differ, `NO_SUCH_DATA_PART`, and where files or the catalog cannot be written.
    pub(crate) fn copy_parts(
        self: &Arc<Self>,
        source: &Arc<Self>,
        parts: &[Arc<Part>],
        replaces: Option<&PartSelection>,
    ) -> Result<()> {
        let new = self.links(source, &source.without_deleted(parts)?)?;
        let Some(selection) = replaces else {
            return if new.is_empty() { Ok(()) } else { self.replace_parts(&[], &new, &[]) };
        };
        let _hold = self.hold_merges();
        for attempt in 1.. {
            let old = self.parts_named(&self.selected(selection)?);
            match old.and_then(|old| self.replace_parts(&old, &new, &[])) {
                Err(error) if error.code == ErrorCode::NO_SUCH_DATA_PART && attempt < REPLACE_ATTEMPTS => {}
                replaced => return replaced,
            }
        }
        Ok(())
    }

    /// Moves parts into another table: one commit takes them out here and puts them in there.
    ///
    /// # Errors
    /// As [`copy_parts`](Self::copy_parts).
    pub(crate) fn move_parts(self: &Arc<Self>, target: &Arc<Self>, selection: &PartSelection) -> Result<()> {
        let _hold = self.hold_merges();
        for attempt in 1.. {
            let moved = self.parts_named(&self.selected(selection)?).and_then(|old| {
                let seen = self.parts.load_full();
                let new = target.links(self, &self.applied(&old, &seen.deletions)?)?;
                self.exchange_with(target, &old, &new, &seen.deletions)
            });
            match moved {
                Err(error) if error.code == ErrorCode::NO_SUCH_DATA_PART && attempt < REPLACE_ATTEMPTS => {}
                moved => return moved,
            }
        }
        Ok(())
    }

    /// Takes parts out of this table and puts others into another one, in one commit.
    fn exchange_with(
        self: &Arc<Self>,
        target: &Arc<Self>,
        old: &[Arc<Part>],
        new: &[Arc<Part>],
        seen: &Deletions,
    ) -> Result<()> {
        if old.is_empty() {
            return Ok(());
        }
        let names: Vec<Arc<str>> = old.iter().map(|part| part.file.name.clone()).collect();
        let seen: Vec<SeenDeletion> = old.iter().map(|part| seen.seen(&part.file.name)).collect();
        let recorded: Vec<_> = new.iter().map(|part| crate::merge_tree::insertion::new_part(part)).collect();
        let exchanges = [
            (self.table_id, PartExchange { old: &names, seen: &seen, ..PartExchange::default() }),
            (target.table_id, PartExchange { new: &recorded, ..PartExchange::default() }),
        ];
        let publish = || {
            target.show_exchange(&[], new, &[]);
            self.show_exchange(old, &[], &[]);
        };
        self.catalog.exchange_parts(&exchanges, publish).inspect_err(|error| {
            if error.code == ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                new.iter().for_each(|part| part.keep_in_doubt());
            }
        })
    }

    /// Gives the files of another table's parts second names here, as parts that are not committed yet.
    fn links(self: &Arc<Self>, source: &Arc<Self>, parts: &[Arc<Part>]) -> Result<Vec<Arc<Part>>> {
        check_alike(&source.identity, &self.identity)?;
        let new = parts.iter().map(|part| self.link(part)).collect::<Result<Vec<_>>>()?;
        let folder = self.directory.path();
        self.directory.disk().sync_folder(folder).map_err(|error| write_error(folder, &error))?;
        Ok(new)
    }

    fn link(&self, part: &Arc<Part>) -> Result<Arc<Part>> {
        if let Some(failure) = part.failure() {
            return Err(failure.clone());
        }
        if !part.schema.is_like(&self.schema) || part.schema.stored.names().ne(self.schema.stored.names()) {
            return Err(Error::new(
                ErrorCode::INCOMPATIBLE_COLUMNS,
                format!(
                    "Tables have different structure: part {} was written before an ALTER of columns that the other table does not \
                     share; INSERT … SELECT copies its rows",
                    part.file.name
                ),
            ));
        }
        let name = PartName::parse(&part.file.name).ok_or_else(|| bad_name(&part.file.name))?;
        let (file, claim) = self.next_file(name, part.file.bytes);
        part.link_to(&self.directory.temporary(&file.path))?;
        let new = self.uncommitted(file, part.description.clone(), self.schema.clone());
        new.hold(Arc::new(claim));
        Ok(Arc::new(new))
    }

    /// What its files are kept with.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        self.directory.disk()
    }

    /// The parts that a clause names, as they are now.
    ///
    /// # Errors
    /// As of [`selected`](Self::selected).
    pub(crate) fn parts_of(&self, selection: &PartSelection) -> Result<Vec<Arc<Part>>> {
        self.parts_named(&self.selected(selection)?)
    }
}

/// Refuses tables whose parts do not suit each other.
fn check_alike(source: &TableIdentity, target: &TableIdentity) -> Result<()> {
    if source.stored.fields != target.stored.fields {
        return Err(Error::new(ErrorCode::INCOMPATIBLE_COLUMNS, "Tables have different structure"));
    }
    if source.fields.ids != target.fields.ids {
        // The same columns by their names, and others in files.
        let message = "Tables have different structure: columns of one were altered; INSERT … SELECT copies rows";
        return Err(Error::new(ErrorCode::INCOMPATIBLE_COLUMNS, message));
    }
    let (from, to) = (&source.definition, &target.definition);
    let same = |left: &[squall_planner::KeyExpression], right: &[squall_planner::KeyExpression]| {
        left.iter().map(|key| &key.sql).eq(right.iter().map(|key| &key.sql))
    };
    let primary = |definition: &squall_planner::TableDefinition| {
        definition.primary_key.clone().unwrap_or_else(|| definition.sorting_key.clone())
    };
    let refuse = |what: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Tables have different {what}")));
    if !same(&from.sorting_key, &to.sorting_key) {
        return refuse("ordering");
    }
    if !same(&from.partition_key, &to.partition_key) {
        return refuse("partition key");
    }
    if !same(&primary(from), &primary(to)) {
        return refuse("primary key");
    }
    Ok(())
}
