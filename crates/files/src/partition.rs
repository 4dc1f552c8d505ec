//! Rows that go to several files, one for each value of an expression: `INSERT … PARTITION BY`.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, UInt32Array};
use parking_lot::Mutex;
use squall_planner::{ColumnDescription, TableMetadata, named_like};
use squall_storage::{InsertWriter, Insertion, PartWork, ScanRequest, Table, TableScan};
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema, checkpoint};

use crate::table::DeclaredColumns;
use crate::write::{Nothing, TargetRows};

/// What a path has in the place of a partition's name.
pub const PARTITION_ID: &str = "{_partition_id}";

/// By what rows are told apart, and where those of a partition go.
pub trait Partitions: Send + Sync {
    /// The names of the partitions of a block's rows, as strings.
    ///
    /// # Errors
    /// Those of the expression.
    fn names(&self, block: &Block) -> Result<Column>;

    /// What takes the rows of a partition.
    ///
    /// # Errors
    /// Where it may not be written.
    fn target(&self, name: &str) -> Result<Arc<dyn Table>>;
}

/// Files that take the rows of a partition each.
pub struct PartitionedTarget {
    rows: TargetRows,
    partitions: Arc<dyn Partitions>,
}

impl Debug for PartitionedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedTarget").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl PartitionedTarget {
    /// Files for rows of these columns.
    pub fn new(declared: DeclaredColumns, partitions: Arc<dyn Partitions>) -> Self {
        Self { rows: TargetRows::new(declared), partitions }
    }
}

impl TableMetadata for PartitionedTarget {
    named_like!(rows);

    fn columns(&self) -> &[ColumnDescription] {
        self.rows.columns()
    }
}

impl Table for PartitionedTarget {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(Arc::new(Nothing))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        let (schema, partitions) = (self.rows.schema.clone(), self.partitions.clone());
        Ok(Arc::new(PartitionedInsertion(Arc::new(Shared { schema, partitions, open: Mutex::default() }))))
    }
}

struct PartitionedInsertion(Arc<Shared>);

struct Shared {
    schema: Arc<Schema>,
    partitions: Arc<dyn Partitions>,
    /// The partitions that have rows, by name.
    open: Mutex<HashMap<Box<str>, Open>>,
}

/// A partition that takes rows.
struct Open {
    insertion: Arc<dyn Insertion>,
    writer: Option<Box<dyn InsertWriter>>,
}

impl Shared {
    /// Hands over rows of a partition.
    fn write(&self, name: &str, rows: Block) -> Result<Option<PartWork>> {
        let mut open = self.open.lock();
        if !open.contains_key(name) {
            let insertion = self.partitions.target(name)?.insert()?;
            let writer = Some(insertion.writer()?);
            open.insert(name.into(), Open { insertion, writer });
        }
        let writer = open.get_mut(name).and_then(|open| open.writer.as_mut());
        writer.ok_or_else(|| Error::logical("rows after the end of an INSERT"))?.write(rows)
    }

    /// The rows of a block by their partitions, each in their order.
    fn split(&self, block: &Block) -> Result<Vec<(String, Vec<u32>)>> {
        let names = self.partitions.names(block)?.materialize()?.to_array()?;
        let names = names.as_binary_opt::<i32>().ok_or_else(|| Error::logical("names of partitions are no strings"))?;
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let mut split: Vec<(String, Vec<u32>)> = Vec::new();
        for row in 0..names.len() {
            let name = names.value(row);
            let place = match places.get(name) {
                Some(place) => *place,
                None => {
                    split.push((checked(name)?, Vec::new()));
                    places.insert(name, split.len() - 1);
                    split.len() - 1
                }
            };
            if let Some((_, rows)) = split.get_mut(place) {
                rows.push(row as u32);
            }
        }
        Ok(split)
    }
}

/// A name as a part of a path.
///
/// # Errors
/// `CANNOT_PARSE_TEXT` where it has what means something in a pattern.
fn checked(name: &[u8]) -> Result<String> {
    let is_bad = |byte: &u8| *byte < b' ' || matches!(byte, b'{' | b'}' | b'*' | b'?');
    match name.iter().position(is_bad) {
        None => Ok(String::from_utf8_lossy(name).into_owned()),
        Some(at) => {
            let (before, byte) = (name.get(..at).unwrap_or_default(), name.get(at).copied().unwrap_or_default());
            let before = String::from_utf8_lossy(before);
            let message = format!("Illegal character '\\x{byte:02x}' in partition id starting with '{before}'");
            Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, message))
        }
    }
}

impl Insertion for PartitionedInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(PartitionedWriter(self.0.clone())))
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn commit(&self) -> Result<()> {
        let mut open: Vec<_> = std::mem::take(&mut *self.0.open.lock()).into_iter().collect();
        open.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        open.into_iter().try_for_each(|(_, open)| open.insertion.commit())
    }
}

struct PartitionedWriter(Arc<Shared>);

impl InsertWriter for PartitionedWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        let block = block.with_schema(self.0.schema.clone());
        let mut works = Vec::new();
        for (name, rows) in self.0.split(&block)? {
            checkpoint(1000 + rows.len())?;
            let rows = if rows.len() == block.rows() { block.clone() } else { block.take(&UInt32Array::from(rows))? };
            works.extend(self.0.write(&name, rows)?);
        }
        Ok(together(works))
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        let mut works = Vec::new();
        for open in self.0.open.lock().values_mut() {
            if let Some(writer) = open.writer.take() {
                works.extend(writer.finish()?);
            }
        }
        Ok(together(works))
    }
}

/// Works one after the other.
fn together(mut works: Vec<PartWork>) -> Option<PartWork> {
    match works.len() {
        0 | 1 => works.pop(),
        _ => Some(Box::pin(async move {
            for work in works {
                work.await?;
            }
            Ok(())
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_paths() {
        assert_eq!(checked(b"2024/x y").unwrap(), "2024/x y");
        assert_eq!(checked("ä".as_bytes()).unwrap(), "ä");
        for bad in [&b"a*"[..], b"?", b"{1..2}", b"a\nb", b"\0"] {
            assert_eq!(checked(bad).unwrap_err().code, ErrorCode::CANNOT_PARSE_TEXT);
        }
    }
}
