//! Partitions that go from table to table, and copies of parts that FREEZE sets aside: files get second names, rows are not written anew.

use std::path::PathBuf;
use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result};

use super::Databases;
use super::entry::{Engine, find};
use crate::identity::TableName;
use crate::merge_tree::{MergeTree, PartSelection, part_of_file, write_error};

/// The folder of what was frozen, beside that of the data.
const SHADOW: &str = "shadow";

/// A copy of a part that FREEZE made, or UNFREEZE removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrozenPart {
    /// The part.
    pub name: Arc<str>,
    /// Its partition.
    pub partition_id: Arc<str>,
    /// What it was frozen under.
    pub backup: String,
    /// The folder of the table's parts in it.
    pub folder: PathBuf,
    /// The part's file.
    pub path: PathBuf,
}

impl Databases {
    /// `ATTACH PARTITION … FROM`, and `REPLACE PARTITION … FROM` where the parts take the place of those that the table has. Waits for the
    /// disk.
    ///
    /// # Errors
    /// `INCOMPATIBLE_COLUMNS`, `BAD_ARGUMENTS` where the tables differ; `BAD_ARGUMENTS` where nothing would be put in the place of something
    /// and `takes_nothing` does not allow it.
    pub fn copy_partition(
        &self,
        from: &TableName,
        to: &TableName,
        of: &PartSelection,
        replaces: bool,
        takes_nothing: bool,
    ) -> Result<()> {
        let target = self.merge_tree(&to.database, &to.table)?;
        let source = self.source(from, to)?;
        let parts = source.parts_of(of)?;
        if replaces && parts.is_empty() && !takes_nothing {
            let message = format!(
                "Source table {from} has no parts in the partition: refusing `REPLACE PARTITION` because it would silently drop the \
                 destination partition's data. Set `allow_replace_partition_from_empty_source = 1`, or use `ALTER TABLE ... DROP PARTITION` \
                 if that is what you want"
            );
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        target.copy_parts(&source, &parts, replaces.then_some(of))
    }

    /// `MOVE PARTITION … TO TABLE`. Waits for the disk.
    ///
    /// # Errors
    /// `INCOMPATIBLE_COLUMNS`, `BAD_ARGUMENTS` where the tables differ.
    pub fn move_partition(&self, from: &TableName, to: &TableName, of: &PartSelection) -> Result<()> {
        let source = self.merge_tree(&from.database, &from.table)?;
        let target = self.source(to, from)?;
        // A table that moves rows into itself is as it was.
        if Arc::ptr_eq(&source, &target) { Ok(()) } else { source.move_parts(&target, of) }
    }

    /// The other table of a statement about partitions.
    fn source(&self, other: &TableName, table: &TableName) -> Result<Arc<MergeTree>> {
        let entry = find(&self.state.load(), &other.database, &other.table)?.clone();
        match &entry.engine {
            Engine::MergeTree(live) if live.identity().definition.engine.ends_with("MergeTree") => Ok(live.clone()),
            Engine::Broken(broken) => Err(broken.failure.clone()),
            _ => {
                let engine = entry.table().engine().to_owned();
                let message = format!("Partitions of {table} and of {other}, which has the storage {engine}");
                Err(Error::not_implemented(message))
            }
        }
    }

    /// `FREEZE`: gives the files of parts second names in a folder of that name, or of the next number. Waits for the disk.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a name that is no name of a folder, and where files cannot be written.
    pub fn freeze(&self, table: &TableName, of: &PartSelection, name: Option<&str>) -> Result<Vec<FrozenPart>> {
        let live = self.merge_tree(&table.database, &table.table)?;
        let shadow = self.shadow()?;
        let disk = live.disk().clone();
        let backup = match name {
            Some(name) => checked(name)?.to_owned(),
            None => {
                let _ddl = self.lock_ddl();
                let listed = disk.list(&shadow).map_err(|error| write_error(&shadow, &error))?;
                let last = listed.iter().filter_map(|folder| folder.name.parse::<u64>().ok()).max().unwrap_or(0);
                let next = (last + 1).to_string();
                let folder = shadow.join(&next);
                disk.create_folder(&folder).map_err(|error| write_error(&folder, &error))?;
                next
            }
        };
        let folder = self.frozen_folder(&shadow, &backup, &live);
        disk.create_folder(&folder).map_err(|error| write_error(&folder, &error))?;
        let mut frozen = Vec::new();
        for part in live.without_deleted(&live.parts_of(of)?)? {
            let path = folder.join(format!("{}.parquet", part.file.name));
            // Parts never change: one of the name is the same.
            if disk.bytes(&path).is_err() {
                part.link_to(&path)?;
            }
            let (name, partition_id) = (part.file.name.clone(), part.file.partition_id.clone());
            frozen.push(FrozenPart { name, partition_id, backup: backup.clone(), folder: folder.clone(), path });
        }
        // All names on the way, the last first.
        for folder in folder.ancestors().take_while(|folder| folder.starts_with(&shadow)) {
            disk.sync_folder(folder).map_err(|error| write_error(folder, &error))?;
        }
        if let Some(above) = shadow.parent() {
            disk.sync_folder(above).map_err(|error| write_error(above, &error))?;
        }
        Ok(frozen)
    }

    /// `UNFREEZE`: removes the copies that FREEZE has made of a table's parts under a name. Waits for the disk.
    ///
    /// # Errors
    /// As [`freeze`](Self::freeze).
    pub fn unfreeze(&self, table: &TableName, of: &PartSelection, name: &str) -> Result<Vec<FrozenPart>> {
        let live = self.merge_tree(&table.database, &table.table)?;
        let shadow = self.shadow()?;
        let folder = self.frozen_folder(&shadow, checked(name)?, &live);
        let disk = live.disk();
        let mut removed = Vec::new();
        for file in disk.list(&folder).map_err(|error| write_error(&folder, &error))? {
            let Some(part) = part_of_file(&file.name) else { continue };
            let own: Arc<str> = part.to_string().into();
            if !of.has(&own, &part.partition_id) {
                continue;
            }
            let path = folder.join(&file.name);
            disk.remove(&path).map_err(|error| write_error(&path, &error))?;
            let partition_id = part.partition_id.clone();
            removed.push(FrozenPart { name: own, partition_id, backup: name.to_owned(), folder: folder.clone(), path });
        }
        // Those go that are empty by now.
        for folder in folder.ancestors().take_while(|folder| **folder != *shadow) {
            if disk.remove_folder(folder).is_err() {
                break;
            }
        }
        Ok(removed)
    }

    fn shadow(&self) -> Result<PathBuf> {
        let store = self.store.as_ref().ok_or_else(|| Error::not_implemented("FREEZE without a disk"))?;
        Ok(store.data.parent().unwrap_or(&store.data).join(SHADOW))
    }

    fn frozen_folder(&self, shadow: &std::path::Path, backup: &str, live: &MergeTree) -> PathBuf {
        shadow.join(backup).join("data").join(live.identity().uuid.to_string())
    }
}

/// A name that leads nowhere else.
fn checked(name: &str) -> Result<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(is_plain) {
        let message = format!(
            "The name of a backup must be of letters, digits, '_', '-' and '.', and not begin with '.': {name}"
        );
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(name)
}
