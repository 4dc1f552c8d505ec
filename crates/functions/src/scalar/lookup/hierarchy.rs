//! Dictionaries whose rows lie above one another: the keys above a key, and those below.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::UInt64Array;
use arrow_array::types::{UInt8Type, UInt64Type};
use parking_lot::Mutex;
use squall_types::{Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value};

use super::{Bound, KeyReader, check_count, dictionary};
use crate::lookup::{KeyedRows, MISSING};
use crate::scalar::simple::{Call, argument};

/// Rows above one another in a hierarchy, at most: a circle ends here.
const HIERARCHY_DEPTH_MAX: usize = 1000;

/// The keys from a key up to the top of its hierarchy.
struct Hierarchy {
    rows: Arc<dyn KeyedRows>,
    parent: usize,
}

impl Hierarchy {
    fn of(call: &Call<'_>) -> Result<Self> {
        let rows = dictionary(call)?;
        let parent = rows.attributes().iter().position(|attribute| attribute.is_hierarchical);
        match parent {
            Some(parent) if rows.is_simple() => Ok(Self { rows, parent }),
            _ => Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, "Dictionary does not support hierarchy")),
        }
    }

    fn chain(&self, key: u64) -> Result<Vec<u64>> {
        let mut chain = Vec::new();
        let mut key = key;
        while chain.len() < HIERARCHY_DEPTH_MAX {
            let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![key]);
            let found = self.rows.find(&[column], 1)?;
            let Some(row) = found.rows.first().copied().filter(|row| *row != MISSING) else { break };
            chain.push(key);
            let parents = &found.attributes[self.parent];
            // Where the top has no NULL it has 0.
            match parents.value(row as usize).as_u64() {
                Some(parent) if parent != 0 || parents.data_type().is_nullable() => key = parent,
                _ => break,
            }
        }
        Ok(chain)
    }
}

/// `dictGetHierarchy`.
pub(super) fn resolve_chain(call: &Call<'_>) -> Bound {
    check_count(call, 2)?;
    let hierarchy = Hierarchy::of(call)?;
    let reader = KeyReader::of(call, 1, &*hierarchy.rows)?;
    let result = DataType::array(DataType::UInt64);
    call.bind(result.clone(), move |arguments, _| {
        let mut builder = ColumnBuilder::new(result.clone());
        for key in numbers(&reader, argument(arguments, 1)?)?.values() {
            let chain = hierarchy.chain(*key)?.into_iter().map(Value::UInt64);
            builder.append(&Value::Array(chain.collect()))?;
        }
        builder.finish()
    })
}

/// `dictGetRoot`: the key at the top; 0 for one that is not there.
pub(super) fn resolve_root(call: &Call<'_>) -> Bound {
    check_count(call, 2)?;
    let hierarchy = Hierarchy::of(call)?;
    let reader = KeyReader::of(call, 1, &*hierarchy.rows)?;
    call.bind(DataType::UInt64, move |arguments, _| {
        let keys = numbers(&reader, argument(arguments, 1)?)?;
        let root = |key: &u64| Ok(hierarchy.chain(*key)?.last().copied().unwrap_or(0));
        let roots = keys.values().iter().map(root).collect::<Result<_>>()?;
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, roots))
    })
}

/// `dictIsIn`.
pub(super) fn resolve_is_in(call: &Call<'_>) -> Bound {
    check_count(call, 3)?;
    let hierarchy = Hierarchy::of(call)?;
    let reader = KeyReader::of(call, 1, &*hierarchy.rows)?;
    call.bind(DataType::UInt8, move |arguments, _| {
        let (below, above) = (numbers(&reader, argument(arguments, 1)?)?, numbers(&reader, argument(arguments, 2)?)?);
        let pairs = below.values().iter().zip(above.values());
        let is_in = pairs.map(|(below, above)| Ok(u8::from(hierarchy.chain(*below)?.contains(above))));
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, is_in.collect::<Result<_>>()?))
    })
}

/// The keys right below each key, in the order of the rows. Built once for the rows that are there.
#[derive(Default)]
struct Children {
    of: Mutex<Option<(Arc<[Column]>, Below)>>,
}

type Below = Arc<HashMap<u64, Vec<u64>>>;

impl Children {
    fn get(&self, hierarchy: &Hierarchy) -> Result<Below> {
        let (keys, attributes) = hierarchy.rows.all()?;
        let mut of = self.of.lock();
        if let Some((known, below)) = &*of
            && Arc::ptr_eq(known, &attributes)
        {
            return Ok(below.clone());
        }
        let keys = keys.first().ok_or_else(|| Error::logical("a key without columns"))?;
        let (keys, parents) = (keys.as_primitive::<UInt64Type>()?, &attributes[hierarchy.parent]);
        let mut below: HashMap<u64, Vec<u64>> = HashMap::new();
        for (row, key) in keys.values().iter().enumerate() {
            if let Some(parent) = parents.value(row).as_u64() {
                below.entry(parent).or_default().push(*key);
            }
        }
        let below = Arc::new(below);
        *of = Some((attributes, below.clone()));
        Ok(below)
    }
}

/// `dictGetChildren`.
pub(super) fn resolve_children(call: &Call<'_>) -> Bound {
    check_count(call, 2)?;
    below(call, Some(1))
}

/// `dictGetDescendants`: all below a key, or those so many levels below.
pub(super) fn resolve_descendants(call: &Call<'_>) -> Bound {
    if call.arguments.len() < 3 {
        check_count(call, 2)?;
        return below(call, None);
    }
    check_count(call, 3)?;
    let level = call.constant(2).and_then(Value::as_u64).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type of third argument of function {}. Expected const unsigned integer", call.name),
        )
    })?;
    below(call, (level > 0).then_some(level))
}

fn below(call: &Call<'_>, wanted_level: Option<u64>) -> Bound {
    let hierarchy = Hierarchy::of(call)?;
    let reader = KeyReader::of(call, 1, &*hierarchy.rows)?;
    let result = DataType::array(DataType::UInt64);
    let cached = Children::default();
    call.bind(result.clone(), move |arguments, _| {
        let children = cached.get(&hierarchy)?;
        let mut builder = ColumnBuilder::new(result.clone());
        for key in numbers(&reader, argument(arguments, 1)?)?.values() {
            builder.append(&Value::Array(keys_below(&children, *key, wanted_level).collect()))?;
        }
        builder.finish()
    })
}

/// Level by level, each key once: a circle ends where it began.
fn keys_below(children: &HashMap<u64, Vec<u64>>, key: u64, wanted_level: Option<u64>) -> impl Iterator<Item = Value> {
    let mut seen = HashSet::from([key]);
    let (mut level, mut number, mut found) = (vec![key], 0u64, Vec::new());
    while !level.is_empty() && wanted_level.is_none_or(|wanted| number < wanted) {
        number += 1;
        let next = level.iter().flat_map(|key| children.get(key).into_iter().flatten()).copied();
        level = next.filter(|key| seen.insert(*key)).collect();
        if wanted_level.is_none_or(|wanted| wanted == number) {
            found.extend_from_slice(&level);
        }
    }
    found.into_iter().map(Value::UInt64)
}

fn numbers(reader: &KeyReader, key: &Column) -> Result<UInt64Array> {
    let columns = reader.read(key)?;
    let column = columns.first().ok_or_else(|| Error::logical("a key without columns"))?;
    column.as_primitive::<UInt64Type>().cloned()
}
