//! Where stored databases are kept: the catalog, the folder of data, and how a table of the catalog is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_types::Result;
use uuid::Uuid;

use super::entry::{BrokenTable, Engine, Entry, Stored};
use crate::catalog::{Catalog, StoredPart, StoredTable};
use crate::column_cache::ColumnCache;
use crate::dictionary::OnDemandSlot;
use crate::fields::FieldRecord;
use crate::identity::{TableIdentity, TableName};
use crate::join_table::{JoinRows, definition_of_parts};
use crate::key_binding::KeyBinding;
use crate::merge_tree::{MergeTree, Surroundings, write_error};
use crate::table_record::TableRecord;

/// Where databases are kept.
pub(super) struct Store {
    pub(super) catalog: Arc<Catalog>,
    pub(super) cache: Arc<ColumnCache>,
    pub(super) data: PathBuf,
    pub(super) binding: Arc<KeyBinding>,
    pub(super) on_demand: OnDemandSlot,
    /// Locked as long as the server lives: two servers over one folder would take each other's files for lost.
    pub(super) _locks: Vec<File>,
}

impl Store {
    pub(super) fn directory(&self, identity: &TableIdentity) -> PathBuf {
        self.data.join(identity.uuid.to_string())
    }

    /// Makes a directory whose name is on disk when this returns.
    pub(super) fn create_directory(&self, directory: &Path) -> Result<()> {
        let disk = self.catalog.disk();
        disk.create_folder(directory)
            .and_then(|()| disk.sync_folder(&self.data))
            .map_err(|error| write_error(directory, &error))
    }

    fn surroundings(&self) -> Surroundings {
        let (catalog, cache, binding) = (self.catalog.clone(), self.cache.clone(), self.binding.clone());
        Surroundings { catalog, cache, binding }
    }

    /// A table of parts that no catalog lists, for rows of a table that keeps them in memory on their way into a backup and out of one.
    pub(super) fn table_of_parts(&self, identity: &TableIdentity, name: &TableName) -> Result<Arc<MergeTree>> {
        let own = TableIdentity { uuid: Uuid::new_v4(), ..definition_of_parts(identity)? };
        let directory = self.directory(&own);
        self.create_directory(&directory)?;
        let record = TableRecord::new(name, own.uuid, &identity.definition);
        MergeTree::open(-1, Arc::new(own), record, directory, (Vec::new(), &[]), self.surroundings())
    }

    /// The table as it can be opened; one that cannot is there all the same, and other tables are not concerned.
    pub(super) fn open_table(&self, table: StoredTable) -> Entry {
        let name = Arc::new(table.record.name());
        let opened = table.record.identity(&self.binding).and_then(|identity| {
            let (parts, schemas) = (table.parts, table.schemas);
            self.engine(table.id, identity, table.record.clone(), (parts, &schemas), &name)
        });
        let engine = opened.unwrap_or_else(|error| {
            tracing::error!(table = %name, %error, "a table cannot be opened");
            let failure = error.context(format!("Table {name} cannot be opened"));
            Engine::Broken(Arc::new(BrokenTable { id: table.id, record: table.record, failure }))
        });
        let entry = Entry { name, engine };
        entry.parts().into_iter().for_each(|parts| parts.resume_mutations(&table.mutations));
        entry
    }

    pub(super) fn engine(
        &self,
        id: i64,
        identity: Arc<TableIdentity>,
        record: TableRecord,
        (parts, schemas): (Vec<StoredPart>, &[(i64, Vec<FieldRecord>)]),
        name: &TableName,
    ) -> Result<Engine> {
        if !identity.has_parts()? {
            let stored = Stored { id: Some(id), identity };
            return Engine::in_memory(stored, name, self.binding.functions(), &self.on_demand);
        }
        let directory = self.directory(&identity);
        if self.catalog.disk().bytes(&directory).is_err() {
            self.create_directory(&directory)?;
        }
        let parts = (parts, schemas);
        if &*identity.definition.engine == "Join" {
            let of_parts = Arc::new(definition_of_parts(&identity)?);
            let parts = MergeTree::open(id, of_parts, record, directory, parts, self.surroundings())?;
            let rows = JoinRows::open(identity.clone(), Some(parts))?;
            return Ok(Engine::Join(Stored { id: Some(id), identity }, rows));
        }
        Ok(Engine::MergeTree(MergeTree::open(id, identity, record, directory, parts, self.surroundings())?))
    }
}
