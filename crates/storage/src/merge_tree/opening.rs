//! A table as the catalog lists it becomes one that is read and written: its parts are opened, with their deletions.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{DataType, Result};

use super::changes::deleted_rows::Deletions;
use super::merges::merge_control::MergeControl;
use super::merges::merge_rule::MergeRule;
use super::parts::part::{Part, PartFile};
use super::parts::part_schema::PartSchemas;
use super::parts::table_directory::TableDirectory;
use super::projections::projection::{Parent, Projection};
use super::skip_index::SkipIndex;
use super::{
    MergeTree, MergeTreeSettings, PartDescription, PartName, PartSchema, PartSet, Surroundings, chunks, insertion,
    key_types,
};
use crate::catalog::StoredPart;
use crate::column_cache::ColumnCache;
use crate::column_mapping::ColumnDefaults;
use crate::fields::FieldRecord;
use crate::identity::TableIdentity;
use crate::table_record::TableRecord;

impl MergeTree {
    /// A table with the parts that the catalog lists.
    ///
    /// # Errors
    /// Where the table's settings or types are none of a MergeTree's. A part that cannot be read fails the queries that need it.
    pub(crate) fn open(
        table_id: i64,
        identity: Arc<TableIdentity>,
        record: TableRecord,
        directory: PathBuf,
        (stored, stored_schemas): (Vec<StoredPart>, &[(i64, Vec<FieldRecord>)]),
        surroundings: Surroundings,
    ) -> Result<Arc<Self>> {
        let Surroundings { catalog, cache, binding } = surroundings.clone();
        let definition = &identity.definition;
        let settings = MergeTreeSettings::new(definition)?;
        let schema = Arc::new(PartSchema::of(&identity, settings.ratio_of_defaults)?);
        let rule = MergeRule::of(&identity)?;
        let ttl = binding.ttl(definition)?;
        let schemas = PartSchemas::new(&schema, stored_schemas, settings.ratio_of_defaults)?;
        let primary_key = definition.primary_key.clone().unwrap_or_else(|| definition.sorting_key.clone());
        let pruning_keys = primary_key.iter().chain(&definition.partition_key).cloned().collect();
        let directory = Arc::new(TableDirectory::new(directory, catalog.clone()));
        let mut opening = PartOpening {
            identity: &identity,
            key_types: key_types(&primary_key),
            schema: &schema,
            schemas: &schemas,
            directory: &directory,
            cache: &cache,
            deletions: Deletions::default(),
            last_block: 0,
        };
        let parts = opening.parts(stored);
        let (deletions, last_block) = (Arc::new(opening.deletions), opening.last_block);
        let parts = PartSet::new(parts, &identity, &deletions);
        let projections = Projection::all(&Parent {
            table_id,
            identity: &identity,
            settings: &settings,
            directory: &directory,
            surroundings: &surroundings,
        });
        let table = Self {
            projections,
            table_id,
            packings: chunks::packing::packings(&identity, settings.codec.unwrap_or(chunks::packing::OF_SMALL_PARTS))?,
            indices: SkipIndex::all(&identity, &settings, &binding),
            defaults: Arc::new(ColumnDefaults::new(&identity.definition, &binding)),
            binding,
            identity,
            record: ArcSwap::from_pointee(record),
            settings,
            schema,
            schemas: Arc::new(Mutex::new(schemas)),
            pruning_keys,
            primary_key,
            rule,
            ttl,
            directory,
            catalog,
            cache,
            parts: Arc::new(ArcSwap::from_pointee(parts)),
            merging: Arc::new(MergeControl::new(last_block + 1)),
        };
        for part in &table.parts.load().parts {
            table.catalog.observe(table_id, &part.schema, &insertion::column_statistics(part));
        }
        Ok(Arc::new(table))
    }
}

/// What opening the parts of a table takes, and what it finds beside them.
struct PartOpening<'a> {
    identity: &'a TableIdentity,
    /// The types of the primary key's columns as a part's index has them.
    key_types: Vec<DataType>,
    schema: &'a Arc<PartSchema>,
    schemas: &'a PartSchemas,
    directory: &'a Arc<TableDirectory>,
    cache: &'a Arc<ColumnCache>,
    /// What is deleted of each part that was opened.
    deletions: Deletions,
    /// The largest number of a block in these parts.
    last_block: u64,
}

impl PartOpening<'_> {
    /// The parts; one that cannot be read is there, too, with its error.
    fn parts(&mut self, stored: Vec<StoredPart>) -> Vec<Arc<Part>> {
        let began = Instant::now();
        let mut parts = Vec::with_capacity(stored.len());
        for part in stored {
            parts.push(Arc::new(self.part(part)));
        }
        count(ProfileEvent::LoadedDataParts, parts.len() as u64);
        count(ProfileEvent::LoadedDataPartsMicroseconds, began.elapsed().as_micros() as u64);
        for part in parts.iter().filter(|part| part.failure().is_some()) {
            tracing::error!(part = %part.file.name, path = %part.file.path.display(),
                "a part cannot be read, and queries that need it fail; ALTER TABLE … DETACH PART sets it aside");
        }
        parts
    }

    fn part(&mut self, part: StoredPart) -> Part {
        let own = self.schemas.of(part.schema).unwrap_or_else(|| self.schema.clone());
        let description = PartDescription::decode(&part.description, &self.key_types, own.stored.len())
            .map_err(|error| error.context(format!("Part {} of table {}", part.name, self.identity.uuid)));
        self.last_block = self.last_block.max(PartName::parse(&part.name).map_or(0, |name| name.last_block));
        let file = PartFile {
            path: self.directory.path().join(&part.path),
            name: part.name,
            partition_id: part.partition_id,
            bytes: part.bytes,
        };
        let description = match self.directory.read_deletion(&part.deletion) {
            Ok(None) => description,
            Ok(Some(deletion)) => {
                self.deletions.insert(file.name.clone(), Arc::new(deletion));
                description
            }
            // Without it rows would come back that were deleted.
            Err(error) => Err(error),
        };
        Part::open(file, description, own, self.cache.clone(), self.directory.clone())
    }
}
