//! The stored columns that a part was written with, and how the table's present columns come from them: the same, cast, or by their
//! defaults where the part is older than the column.

use std::sync::Arc;

use squall_types::{DataType, Result, Schema};

use crate::column_mapping::Source;
use crate::fields::{FieldIds, FieldRecord, StoredFields};
use crate::identity::TableIdentity;
use crate::merge_tree::chunks::parquet_layout::ParquetLayout;

/// A schema of parts.
#[derive(Clone, Debug)]
pub(crate) struct PartSchema {
    pub(crate) fields: StoredFields,
    pub(crate) stored: Arc<Schema>,
    pub(in crate::merge_tree) layout: ParquetLayout,
}

impl PartSchema {
    /// The schema of parts with these columns.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where Parquet has no place for a type.
    pub(in crate::merge_tree) fn new(
        fields: StoredFields,
        stored: Arc<Schema>,
        ratio_of_defaults: f64,
    ) -> Result<Self> {
        let layout = ParquetLayout::new(&stored, &fields.ids, ratio_of_defaults)?;
        Ok(Self { fields, stored, layout })
    }

    /// The schema of a table's new parts.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(in crate::merge_tree) fn of(identity: &TableIdentity, ratio_of_defaults: f64) -> Result<Self> {
        Self::new(identity.fields.clone(), identity.stored.clone(), ratio_of_defaults)
    }

    /// Whether parts of the other schema are as those of this one.
    pub(in crate::merge_tree) fn is_like(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.fields.ids == other.fields.ids && self.stored.types().eq(other.stored.types())
    }

    /// Where a column of the table, with these ids and of this type, is in parts of this schema.
    pub(in crate::merge_tree) fn source(&self, ids: &FieldIds, data_type: &DataType) -> Source {
        let place = |id: i64| self.fields.ids.iter().position(|known| known.id == id);
        let found = std::iter::once(&ids.id).chain(&ids.formers).find_map(|id| place(*id));
        match found.and_then(|at| Some((at, &self.stored.fields.get(at)?.1))) {
            Some((at, found)) if found == data_type => Source::Same(at),
            Some((at, _)) => Source::Cast(at),
            None => Source::Missing,
        }
    }

    /// The place in parts of this schema of the stored column of a table, where its values are there as they are.
    pub(in crate::merge_tree) fn place(&self, table: &TableIdentity, stored: usize) -> Option<usize> {
        let (ids, (_, data_type)) = (table.fields.ids.get(stored)?, table.stored.fields.get(stored)?);
        match self.fields.ids.get(stored) {
            // As it is in all parts of a table that was never altered.
            Some(own) if own.id == ids.id && self.stored.fields.get(stored).is_some_and(|own| own.1 == *data_type) => {
                Some(stored)
            }
            _ => match self.source(ids, data_type) {
                Source::Same(at) => Some(at),
                Source::Cast(_) | Source::Missing => None,
            },
        }
    }
}

/// The schemas that a table's parts were written with, the present one first.
#[derive(Clone)]
pub(in crate::merge_tree) struct PartSchemas(Vec<Arc<PartSchema>>);

impl PartSchemas {
    /// Those that the catalog keeps beside the present one.
    ///
    /// # Errors
    /// `UNKNOWN_TYPE` and its kin.
    pub(in crate::merge_tree) fn new(
        present: &Arc<PartSchema>,
        stored: &[(i64, Vec<FieldRecord>)],
        ratio_of_defaults: f64,
    ) -> Result<Self> {
        let earlier = stored.iter().filter(|(number, _)| *number != present.fields.number);
        let earlier = earlier.map(|(number, records)| {
            let (fields, stored) = StoredFields::of_records(*number, records)?;
            Ok(Arc::new(PartSchema::new(fields, stored, ratio_of_defaults)?))
        });
        let all = std::iter::once(Ok(present.clone())).chain(earlier);
        Ok(Self(all.collect::<Result<_>>()?))
    }

    /// The schema of a number; the first one where there is none, as of tables that were never altered.
    pub(in crate::merge_tree) fn of(&self, number: i64) -> Option<Arc<PartSchema>> {
        self.0.iter().find(|schema| schema.fields.number == number).or(self.0.first()).cloned()
    }

    /// Adds the present schema after ALTER.
    pub(in crate::merge_tree) fn present(&mut self, schema: Arc<PartSchema>) {
        self.0.retain(|known| known.fields.number != schema.fields.number);
        self.0.insert(0, schema);
    }

    /// Whether the table has had columns of these ids, names and types.
    pub(in crate::merge_tree) fn has(&self, fields: &StoredFields, stored: &Schema) -> bool {
        self.0.iter().any(|known| known.fields.ids == fields.ids && *known.stored == *stored)
    }

    /// The schema of a part that comes from elsewhere. One that is not known gets a number below zero.
    ///
    /// # Errors
    /// As of [`PartSchema::new`].
    pub(in crate::merge_tree) fn adopt(
        &mut self,
        fields: StoredFields,
        stored: Arc<Schema>,
        ratio: f64,
    ) -> Result<Arc<PartSchema>> {
        let is_known = |known: &&Arc<PartSchema>| known.fields.ids == fields.ids && *known.stored == *stored;
        if let Some(known) = self.0.iter().find(is_known) {
            return Ok(known.clone());
        }
        let number = self.0.iter().map(|known| known.fields.number).min().unwrap_or(0).min(0) - 1;
        let schema = Arc::new(PartSchema::new(StoredFields { number, ..fields }, stored, ratio)?);
        self.0.push(schema.clone());
        Ok(schema)
    }
}
