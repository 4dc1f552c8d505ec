//! The rows of a dictionary that holds them all, and how they are found: by keys, by keys and ranges, by networks.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_functions::MISSING;
use squall_planner::{DictionaryDefinition, DictionaryLayout};
use squall_types::{Block, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value};

use super::networks::{self, NetworkIndex};
use super::ranges::RangeIndex;
use crate::identity::TableName;
use crate::key_index::{KeyIndex, Keys};

/// ClickHouse's bound on the keys of a flat dictionary, its `max_array_size`.
const FLAT_KEYS_MAX: u64 = 500_000;

/// The rows as they were loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    /// All columns as declared.
    pub block: Arc<Block>,
    /// The key's columns in the types in which they are looked up.
    pub keys: Vec<Column>,
    pub attributes: Arc<[Column]>,
    /// Rows of the source.
    pub elements: usize,
    pub bytes: u64,
    index: Index,
}

/// What gives the key's columns, and the keys, of a block.
type KeysOf<'a> = dyn Fn(&Block) -> Result<(Vec<Column>, Keys)> + 'a;

#[derive(Debug)]
enum Index {
    Keys(KeyIndex),
    Ranges(RangeIndex),
    Networks(NetworkIndex),
}

impl Loaded {
    /// Indexes the rows of the source: `block` has the columns as declared, but for ranges' bounds, which may be NULL. `keys_of` gives the
    /// key's columns, and the keys, of a block.
    ///
    /// # Errors
    /// What is wrong with the rows.
    pub fn new(
        name: &TableName,
        definition: &DictionaryDefinition,
        mut block: Block,
        keys_of: &KeysOf<'_>,
    ) -> Result<Self> {
        let mut elements = block.rows();
        let index = match (definition.layout, definition.range) {
            (DictionaryLayout::IpTrie, _) => {
                let networks = NetworkIndex::new(block.column(definition.keys[0]))?;
                let mut columns = block.columns().to_vec();
                columns[definition.keys[0]] = networks::shown(&columns[definition.keys[0]])?;
                block = Block::new(block.schema().clone(), columns, block.rows());
                Index::Networks(networks)
            }
            (_, Some((first, last))) => {
                if !definition.parameters.null_bound_is_open {
                    block = without_null_bounds(&block, [first, last])?;
                    elements = block.rows();
                }
                let keys = keys_of(&block)?.1;
                let takes_last = definition.parameters.takes_last_range;
                let ranges = RangeIndex::new(keys, block.column(first), block.column(last), takes_last)?;
                block = with_bounds_shown(&block, definition, first, last)?;
                Index::Ranges(ranges)
            }
            _ => {
                let keys = keys_of(&block)?.1;
                // Of several rows of a key the last one counts.
                let mut index = KeyIndex::of(keys.clone(), true);
                let found = index.find(&keys)?;
                let kept: Vec<u32> =
                    (0..block.rows() as u32).filter(|row| found.get(*row as usize) == Some(row)).collect();
                if kept.len() < block.rows() {
                    block = block.take(&UInt32Array::from(kept))?;
                    index = KeyIndex::of(keys_of(&block)?.1, true);
                    elements = block.rows();
                }
                if definition.layout == DictionaryLayout::Flat {
                    check_flat(name, block.column(definition.keys[0]))?;
                }
                Index::Keys(index)
            }
        };
        let keys = keys_of(&block)?.0;
        let attributes = definition.attributes.iter().map(|attribute| block.column(attribute.column).clone());
        let index_bytes = match &index {
            Index::Keys(index) => index.memory_bytes(),
            Index::Ranges(index) => index.memory_bytes(),
            Index::Networks(index) => index.memory_bytes(),
        };
        Ok(Self {
            attributes: attributes.collect(),
            keys,
            elements,
            bytes: (block.memory_bytes() + index_bytes) as u64,
            index,
            block: Arc::new(block),
        })
    }

    /// The rows of some keys. `columns` are what was looked up: the key's columns and those of the points or addresses.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for columns that do not belong to this index.
    pub fn find(&self, columns: &[Column], keys: impl FnOnce() -> Result<Keys>) -> Result<Vec<u32>> {
        let last = || columns.last().ok_or_else(|| Error::logical("a lookup without columns"));
        match &self.index {
            Index::Keys(index) => index.find(&keys()?),
            Index::Ranges(index) => index.find(&keys()?, last()?),
            Index::Networks(index) => Ok(index.find(last()?)),
        }
    }

    /// The rows as a table shows them: of several rows of a network only the one that is found.
    pub fn shown(&self, definition: &DictionaryDefinition) -> Result<Arc<Block>> {
        let Index::Networks(_) = self.index else { return Ok(self.block.clone()) };
        let texts = self.block.column(definition.keys[0]).as_binary()?;
        let mut seen = std::collections::HashSet::new();
        let kept: Vec<u32> =
            (0..self.block.rows() as u32).filter(|row| seen.insert(texts.value(*row as usize))).collect();
        Ok(Arc::new(self.block.take(&UInt32Array::from(kept))?))
    }
}

fn check_flat(name: &TableName, keys: &Column) -> Result<()> {
    for row in 0..keys.rows() {
        if let Some(key) = keys.value(row).as_u64().filter(|key| *key >= FLAT_KEYS_MAX) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("{name}: identifier should be less than {FLAT_KEYS_MAX}, not {key}"),
            ));
        }
    }
    Ok(())
}

fn without_null_bounds(block: &Block, bounds: [usize; 2]) -> Result<Block> {
    let is_null = |at: usize, row: u32| block.column(at).nulls().is_some_and(|nulls| nulls.is_null(row as usize));
    let kept: Vec<u32> = (0..block.rows() as u32).filter(|row| !bounds.iter().any(|at| is_null(*at, *row))).collect();
    block.take(&UInt32Array::from(kept))
}

/// The block with open bounds as the least and the largest value of their type, in the types as declared.
fn with_bounds_shown(block: &Block, definition: &DictionaryDefinition, first: usize, last: usize) -> Result<Block> {
    let mut columns = block.columns().to_vec();
    for (at, is_least) in [(first, true), (last, false)] {
        let declared = &definition.columns[at].data_type;
        let open = bound(&declared.remove_nullable(), is_least);
        let mut builder = ColumnBuilder::new(declared.clone());
        for row in 0..block.rows() {
            let value = columns[at].value(row);
            builder.append(if value.is_null() { &open } else { &value })?;
        }
        columns[at] = builder.finish()?;
    }
    let fields = definition.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
    Ok(Block::new(Arc::new(squall_types::Schema { fields: fields.collect() }), columns, block.rows()))
}

fn bound(data_type: &DataType, is_least: bool) -> Value {
    let bits = 8 * data_type.fixed_width_bytes().unwrap_or(8) as u32;
    match data_type {
        DataType::Float32 | DataType::Float64 => {
            Value::Float64(if is_least { f64::NEG_INFINITY } else { f64::INFINITY })
        }
        other if other.is_signed_integer() || matches!(other, DataType::Date32 | DataType::DateTime64(..)) => {
            Value::Int64(if is_least { i64::MIN >> (64 - bits) } else { i64::MAX >> (64 - bits) })
        }
        _ => Value::UInt64(if is_least { 0 } else { u64::MAX >> (64 - bits) }),
    }
}

/// How many of the rows that were looked for are there.
pub(super) fn found(rows: &[u32]) -> u64 {
    rows.iter().filter(|row| **row != MISSING).count() as u64
}
