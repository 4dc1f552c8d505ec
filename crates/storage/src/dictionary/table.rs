//! A dictionary as a table: under its own name, or under that of a table with `ENGINE = Dictionary`.

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_array::UInt32Array;
use squall_planner::{ColumnDescription, LoadedByQuery, SourceReader, TableMetadata};
use squall_types::{Block, Error, ErrorCode, Result};

use super::Dictionary;
use crate::identity::{TableIdentity, TableName};
use crate::memory::scan_blocks;
use crate::table::{ScanRequest, Table, TableScan};

/// A dictionary as a table, for one query.
#[derive(Clone, Debug)]
pub struct DictionaryTable {
    pub(crate) dictionary: Arc<Dictionary>,
    /// The columns as they are shown, and which of the dictionary's each is: bounds of a range come right behind the key.
    columns: Arc<[ColumnDescription]>,
    order: Arc<[usize]>,
    /// What the source of a direct dictionary gave this query.
    direct: Arc<OnceLock<Arc<Block>>>,
}

impl DictionaryTable {
    pub(crate) fn new(dictionary: Arc<Dictionary>) -> Self {
        let definition = &dictionary.definition;
        let mut order: Vec<usize> = (0..definition.columns.len()).collect();
        if let Some((first, last)) = definition.range {
            order.sort_by_key(|at| match definition.keys.contains(at) {
                true => 0,
                false if *at == first => 1,
                false if *at == last => 2,
                false => 3,
            });
        }
        let columns = order.iter().filter_map(|at| definition.columns.get(*at)).cloned().collect();
        Self { dictionary, columns, order: order.into(), direct: Arc::default() }
    }

    fn rows_now(&self) -> Result<Vec<Arc<Block>>> {
        let dictionary = &self.dictionary;
        if let Some(cache) = &dictionary.cache {
            let rows = cache.lock().rows(Instant::now());
            let rows = rows.iter().map(|(block, row)| block.take(&UInt32Array::from(vec![*row])));
            let rows = rows.collect::<Result<Vec<_>>>()?;
            return Ok(vec![Arc::new(Block::concat(dictionary.schema.clone(), &rows)?)]);
        }
        if dictionary.definition.layout.is_direct() {
            return Ok(self.direct.get().cloned().into_iter().collect());
        }
        Ok(vec![dictionary.loaded()?.shown(&dictionary.definition)?])
    }

    fn scan_columns(&self, request: &ScanRequest, columns: Vec<usize>) -> Result<Arc<dyn TableScan>> {
        Ok(scan_blocks(self.rows_now()?, request, columns))
    }

    fn loader(&self) -> Option<Arc<dyn LoadedByQuery>> {
        if self.dictionary.definition.layout.is_direct() {
            return Some(Arc::new(DirectRows(self.clone())));
        }
        Some(self.dictionary.clone())
    }
}

/// All rows of a direct dictionary, for one query.
struct DirectRows(DictionaryTable);

impl LoadedByQuery for DirectRows {
    fn needs_load(&self) -> bool {
        self.0.direct.get().is_none()
    }

    fn load(&self, _: bool, source: &mut dyn SourceReader) -> Result<()> {
        let block = self.0.dictionary.read_all(source)?;
        let _ = self.0.direct.set(Arc::new(block));
        Ok(())
    }
}

impl TableMetadata for DictionaryTable {
    fn database(&self) -> &str {
        &self.dictionary.name.database
    }
    fn name(&self) -> &str {
        &self.dictionary.name.table
    }
    fn engine(&self) -> &str {
        "Dictionary"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn loaded_by_query(&self) -> Option<Arc<dyn LoadedByQuery>> {
        self.loader()
    }
}

impl Table for DictionaryTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let own = |column: &usize| self.order.get(*column).copied();
        self.scan_columns(request, request.columns.iter().filter_map(own).collect())
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.dictionary.describe().bytes)
    }
}

/// A table with `ENGINE = Dictionary(name)`: some columns of a dictionary.
#[derive(Clone, Debug)]
pub(crate) struct DictionaryView {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
    /// The dictionary, as far as there is one of that name now.
    table: Option<DictionaryTable>,
}

impl DictionaryView {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>, dictionary: Option<Arc<Dictionary>>) -> Self {
        Self { name, identity, table: dictionary.map(DictionaryTable::new) }
    }

    /// The name of the dictionary.
    pub(crate) fn dictionary_name(identity: &TableIdentity) -> &str {
        identity.definition.engine_arguments.first().and_then(|name| name.as_str()).unwrap_or_default()
    }

    /// Checks that a dictionary has the columns of a table.
    ///
    /// # Errors
    /// `THERE_IS_NO_COLUMN`.
    pub(crate) fn check(columns: &[ColumnDescription], dictionary: &Dictionary) -> Result<()> {
        let known = &dictionary.definition.columns;
        for column in columns {
            if !known.iter().any(|known| known.name == column.name && known.data_type == column.data_type) {
                let all: Vec<String> =
                    known.iter().map(|known| format!("`{}` {}", known.name, known.data_type)).collect();
                return Err(Error::new(
                    ErrorCode::THERE_IS_NO_COLUMN,
                    format!(
                        "Not found column {} {} in dictionary `{}`. There are only columns {}",
                        column.name,
                        column.data_type,
                        dictionary.shown_name(),
                        all.join(", ")
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl TableMetadata for DictionaryView {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        "Dictionary"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn loaded_by_query(&self) -> Option<Arc<dyn LoadedByQuery>> {
        self.table.as_ref().and_then(DictionaryTable::loader)
    }
}

impl Table for DictionaryView {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let table = self.table.as_ref().ok_or_else(|| {
            let name = Self::dictionary_name(&self.identity);
            Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found"))
        })?;
        Self::check(self.columns(), &table.dictionary)?;
        let known = &table.dictionary.definition.columns;
        let position = |at: &usize| known.iter().position(|known| known.name == self.columns()[*at].name);
        let columns = request.columns.iter().filter_map(position).collect();
        table.scan_columns(request, columns)
    }
}
