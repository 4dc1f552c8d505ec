//! A look at the table of contents before the library reads it: it makes a tree of the schema by recursion, and memory by the sizes that are
//! written there.

use squall_types::{Error, ErrorCode, Result};

use super::corrupted;
use super::thrift::{Thrift, kind};

const MAGIC: &[u8] = b"PAR1";
/// How deep groups may nest.
const DEPTH_MAX: usize = 64;
/// What the library makes of an element of the schema, and of a column of a row group, both of which may be a few bytes in the file.
const BYTES_OF_ELEMENT: usize = 1024;
/// What it makes of a byte of anything else.
const BYTES_OF_BYTE: usize = 16;

/// How long the table of contents is with the length and the mark after it, which end the file.
///
/// # Errors
/// `INCORRECT_DATA` where the bytes are not the end of a Parquet file.
pub(super) fn length(end: &[u8]) -> Result<u64> {
    match end.last_chunk::<8>() {
        Some([a, b, c, d, magic @ ..]) if magic == MAGIC => Ok(u64::from(u32::from_le_bytes([*a, *b, *c, *d])) + 8),
        Some(_) => Err(corrupted("the file does not end as a Parquet file that is not encrypted")),
        None => Err(corrupted("the file is too short")),
    }
}

/// Checks depth and counts, and reserves the memory that reading it takes.
///
/// # Errors
/// `INCORRECT_DATA`, `TOO_DEEP_RECURSION`; `MEMORY_LIMIT_EXCEEDED`.
pub(super) fn check(end: &[u8]) -> Result<()> {
    let length = usize::try_from(length(end)?).unwrap_or(usize::MAX);
    let start = end.len().checked_sub(length).ok_or_else(|| corrupted("its metadata are longer than the file"))?;
    let length = length - 8;
    let mut metadata = Thrift::new(end.get(start..end.len() - 8).unwrap_or_default());
    let mut id = 0;
    let mut counts = Counts::default();
    while let Some(found) = metadata.field(&mut id)? {
        match (id, found) {
            (2, kind::LIST) => counts.schema(&mut metadata)?,
            (4, kind::LIST) => counts.row_groups(&mut metadata)?,
            (_, found) => metadata.skip(found)?,
        }
    }
    let elements = counts.elements.saturating_add(counts.columns);
    squall_types::reserve(
        elements.saturating_mul(BYTES_OF_ELEMENT).saturating_add(length.saturating_mul(BYTES_OF_BYTE)),
    )
}

#[derive(Default)]
struct Counts {
    elements: usize,
    leaves: usize,
    columns: usize,
}

impl Counts {
    /// The schema is a tree, written as its nodes in depth-first order with the number of their children.
    fn schema(&mut self, metadata: &mut Thrift<'_>) -> Result<()> {
        let (elements, _) = metadata.list()?;
        self.elements = elements;
        // Children that are still to come, of the root first.
        let mut open: Vec<usize> = Vec::new();
        for at in 0..elements {
            let children = children(metadata)?;
            if children > elements - at - 1 {
                return Err(corrupted("a group has more fields than the schema has elements"));
            }
            while open.last() == Some(&0) {
                open.pop();
            }
            match open.last_mut() {
                Some(left) => *left -= 1,
                None if at == 0 => {}
                None => return Err(corrupted("its schema has more than one root")),
            }
            if children > 0 || at == 0 {
                open.push(children);
            } else {
                self.leaves += 1;
            }
            if open.len() > DEPTH_MAX {
                let message = format!("Parquet: its schema nests deeper than {DEPTH_MAX} groups");
                return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, message));
            }
        }
        if open.iter().any(|left| *left > 0) {
            return Err(corrupted("its schema ends too early"));
        }
        Ok(())
    }

    fn row_groups(&mut self, metadata: &mut Thrift<'_>) -> Result<()> {
        let (groups, _) = metadata.list()?;
        for _ in 0..groups {
            let mut id = 0;
            self.columns = self.columns.saturating_add(1);
            while let Some(found) = metadata.field(&mut id)? {
                if (id, found) == (1, kind::LIST) {
                    let mut list = *metadata;
                    let (columns, _) = list.list()?;
                    if columns != self.leaves {
                        return Err(corrupted("a row group has another number of columns than the schema"));
                    }
                    self.columns = self.columns.saturating_add(columns);
                }
                metadata.skip(found)?;
            }
        }
        Ok(())
    }
}

/// `num_children` of an element.
fn children(metadata: &mut Thrift<'_>) -> Result<usize> {
    let mut id = 0;
    let mut children = 0;
    while let Some(found) = metadata.field(&mut id)? {
        match (id, found) {
            (5, kind::I32) => children = metadata.count()?,
            (_, found) => metadata.skip(found)?,
        }
    }
    Ok(children)
}
