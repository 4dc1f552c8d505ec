//! Columns of `JSON` taken apart: one path's values, the object under a path, and what paths there are.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;

use crate::alternatives::DynamicWriter;
use crate::column::Column;
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::json_type::JsonType;
use crate::{checkpoint, grow};

/// The paths without types of each row of a column, in order, and their values.
pub struct OtherPaths<'a> {
    ends: &'a [i32],
    paths: &'a BinaryArray,
    values: &'a BinaryArray,
}

fn damaged() -> Error {
    Error::logical("a column of JSON over another array")
}

impl<'a> OtherPaths<'a> {
    /// Of an array of JSON.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for an array of another layout.
    pub fn of(array: &'a ArrayRef) -> Result<Self> {
        Self::of_map(array.as_struct_opt().and_then(|parts| parts.columns().last()).ok_or_else(damaged)?)
    }

    /// Of an array of maps from paths to bytes.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_map(array: &'a ArrayRef) -> Result<Self> {
        let list = array.as_list_opt::<i32>().ok_or_else(damaged)?;
        let entries = list.values().as_struct_opt().ok_or_else(damaged)?;
        let [paths, values] = entries.columns() else { return Err(damaged()) };
        let paths = paths.as_binary_opt().ok_or_else(damaged)?;
        let values = values.as_binary_opt().ok_or_else(damaged)?;
        Ok(Self { ends: list.value_offsets(), paths, values })
    }

    /// Where a row's paths are among all.
    pub fn row(&self, row: usize) -> std::ops::Range<usize> {
        let at = |row: usize| self.ends.get(row).map_or(0, |end| *end as usize);
        at(row)..at(row + 1)
    }

    /// A path.
    pub fn path(&self, at: usize) -> &'a [u8] {
        self.paths.value(at)
    }

    /// The value of a path, as a row of a `Dynamic`.
    pub fn value(&self, at: usize) -> &'a [u8] {
        self.values.value(at)
    }

    /// Each row's paths as an array; `None` where a value is NULL, which makes its path none.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub fn lists(&self) -> Result<Option<Column>> {
        let end = |end: Option<&i32>| end.map_or(0, |end| *end as usize);
        let used = end(self.ends.first())..=end(self.ends.last());
        let ends = self.values.value_offsets().get(used).unwrap_or_default();
        if ends.windows(2).any(|ends| ends[0] == ends[1]) {
            return Ok(None);
        }
        let data_type = DataType::array(DataType::String);
        let offsets = OffsetBuffer::new(self.ends.to_vec().into());
        let paths: ArrayRef = Arc::new(self.paths.clone());
        let lists = ListArray::try_new(DataType::String.arrow_list_item(), offsets, paths, None)?;
        Ok(Some(Column::new(data_type, Arc::new(lists))))
    }

    /// Where a row has a path.
    pub fn find(&self, row: usize, path: &[u8]) -> Option<usize> {
        let mut range = self.row(row);
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            match self.path(middle).cmp(path) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => range.start = middle + 1,
                std::cmp::Ordering::Greater => range.end = middle,
            }
        }
        None
    }
}

/// Builds the map of paths without types, row by row; paths come in order.
#[derive(Debug)]
pub struct OtherPathsWriter {
    ends: Vec<i32>,
    path_ends: Vec<i32>,
    paths: Vec<u8>,
    /// The values.
    pub values: DynamicWriter,
}

impl Default for OtherPathsWriter {
    fn default() -> Self {
        Self { ends: vec![0], path_ends: vec![0], paths: Vec::new(), values: DynamicWriter::default() }
    }
}

fn too_large() -> Error {
    Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 paths or 2 GiB of them in one block of JSON")
}

impl OtherPathsWriter {
    /// Appends a path whose value is already there, but for its end.
    ///
    /// # Errors
    /// `TOO_LARGE_ARRAY_SIZE`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn end_path(&mut self, path: &[u8]) -> Result<()> {
        grow(&mut self.paths, path.len())?;
        self.paths.extend_from_slice(path);
        self.path_ends.push(i32::try_from(self.paths.len()).map_err(|_| too_large())?);
        self.values.end_row()
    }

    /// Ends a row.
    ///
    /// # Errors
    /// `TOO_LARGE_ARRAY_SIZE`.
    pub fn end_row(&mut self) -> Result<()> {
        self.ends.push(i32::try_from(self.path_ends.len() - 1).map_err(|_| too_large())?);
        Ok(())
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        self.ends.len() - 1
    }

    /// Takes rows back, also one that has no end yet.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows + 1);
        let paths = self.ends.last().map_or(0, |end| *end as usize);
        self.path_ends.truncate(paths + 1);
        self.paths.truncate(self.path_ends.last().map_or(0, |end| *end as usize));
        self.values.truncate(paths);
    }

    /// The array of maps; the writer is empty afterwards.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub fn finish(&mut self, json: &JsonType) -> Result<ArrayRef> {
        let mut all = std::mem::take(self);
        let paths = BinaryArray::try_new(OffsetBuffer::new(all.path_ends.into()), all.paths.into(), None)?;
        let entry = json.others().map_entry_type();
        let columns: Vec<ArrayRef> = vec![Arc::new(paths), all.values.finish()?];
        let entries = StructArray::try_new(entry.arrow_fields(), columns, None)?;
        let ends = OffsetBuffer::new(all.ends.into());
        Ok(Arc::new(ListArray::try_new(entry.arrow_list_item(), ends, Arc::new(entries), None)?))
    }
}

/// The array of a JSON column from its parts.
///
/// # Errors
/// `LOGICAL_ERROR` where their lengths differ.
pub fn json_array(json: &JsonType, parts: Vec<ArrayRef>) -> Result<ArrayRef> {
    let rows = parts.last().map_or(0, |part| part.len());
    let fields: arrow_schema::Fields = DataType::Json(Arc::new(json.clone()))
        .arrow_fields()
        .iter()
        .zip(&parts)
        .map(|(field, part)| arrow_schema::Field::new(field.name(), part.data_type().clone(), true))
        .collect();
    Ok(Arc::new(StructArray::try_new_with_length(fields, parts, None, rows)?))
}

fn json_of(column: &Column) -> Result<(&Arc<JsonType>, ArrayRef)> {
    let DataType::Json(json) = column.data_type().inner() else { return Err(damaged()) };
    Ok((json, column.to_array()?))
}

/// The values of a path: a column of its type where it has one, otherwise of `Dynamic`.
///
/// # Errors
/// `LOGICAL_ERROR`, `MEMORY_LIMIT_EXCEEDED`.
pub fn path_values(column: &Column, path: &str) -> Result<Column> {
    let (json, array) = json_of(column)?;
    if let Ok(at) = json.typed.binary_search_by(|(known, _)| (**known).cmp(path)) {
        let part = array.as_struct().columns().get(at).ok_or_else(damaged)?;
        let (_, data_type) = json.typed.get(at).ok_or_else(damaged)?;
        return Ok(Column::new(data_type.clone(), part.clone()));
    }
    let others = OtherPaths::of(&array)?;
    let mut writer = DynamicWriter::default();
    for row in 0..array.len() {
        checkpoint(16)?;
        if let Some(at) = others.find(row, path.as_bytes()) {
            let value = others.value(at);
            grow(&mut writer.bytes, value.len())?;
            writer.bytes.extend_from_slice(value);
        }
        writer.end_row()?;
    }
    Ok(Column::new(json.dynamic(), writer.finish()?))
}

/// The object under a path: of the paths below it, without it.
///
/// # Errors
/// `LOGICAL_ERROR`, `MEMORY_LIMIT_EXCEEDED`.
pub fn object_under(column: &Column, path: &str) -> Result<Column> {
    let (json, array) = json_of(column)?;
    let below = format!("{path}.");
    let result = json.under(path);
    let parts = array.as_struct().columns();
    let typed = json.typed.iter().zip(parts).filter(|((name, _), _)| name.starts_with(&below));
    let mut columns: Vec<ArrayRef> = typed.map(|(_, part)| part.clone()).collect();
    let others = OtherPaths::of(&array)?;
    let mut writer = OtherPathsWriter::default();
    for row in 0..array.len() {
        checkpoint(16)?;
        for at in others.row(row) {
            let Some(rest) = others.path(at).strip_prefix(below.as_bytes()) else { continue };
            let value = others.value(at);
            grow(&mut writer.values.bytes, value.len())?;
            writer.values.bytes.extend_from_slice(value);
            writer.end_path(rest)?;
        }
        writer.end_row()?;
    }
    columns.push(writer.finish(&result)?);
    Ok(Column::new(DataType::Json(Arc::new(result.clone())), json_array(&result, columns)?))
}
