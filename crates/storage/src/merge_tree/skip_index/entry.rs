//! What an index gathers of the rows of one entry, and the bytes that it becomes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use hashbrown::HashSet;
use squall_functions::Tokenizer;
use squall_planner::SkipIndexKind;
use squall_types::binary::{put_string, put_varint};
use squall_types::{Column, DataType, Result, binary, checkpoint, grow};

use super::super::order::sorting::plain_array;
use super::bloom::{Filter, hash_of_word};
use super::value_bounds::{bounds_of, put_bounds};
use crate::key_condition::ValueRange;
use crate::merge_tree::value_hashes::distinct_hashes_of;

/// Hashing a value takes about so many nanoseconds.
const VALUE_WORK: usize = 20;

/// The rows of an entry so far.
pub(super) enum Entry {
    Bounds(Vec<Option<ValueRange>>),
    /// The distinct rows in binary; `None` where there are too many.
    Rows {
        rows_max: u64,
        rows: Option<HashSet<Vec<u8>>>,
    },
    /// The hashes of each column's values; a value may come again.
    Terms {
        false_positives: f64,
        columns: Vec<Vec<u64>>,
    },
    Words {
        tokenizer: Tokenizer,
        seed: u64,
        columns: Vec<WordsOfColumn>,
    },
}

/// The words of a column.
#[derive(Clone)]
pub(super) struct WordsOfColumn {
    filter: Filter,
    /// There are words that the filter does not know.
    is_any: bool,
}

impl Entry {
    /// An empty one; `None` for indexes that have no entries.
    pub(super) fn new(kind: &SkipIndexKind, columns: usize) -> Option<Self> {
        Some(match kind {
            SkipIndexKind::MinMax => Self::Bounds(vec![None; columns]),
            SkipIndexKind::Set { rows_max } => Self::Rows { rows_max: *rows_max, rows: Some(HashSet::new()) },
            SkipIndexKind::BloomFilter { false_positives } => {
                Self::Terms { false_positives: *false_positives, columns: vec![Vec::new(); columns] }
            }
            SkipIndexKind::Words { tokenizer, bytes, hashes, seed } => Self::Words {
                tokenizer: tokenizer.clone(),
                seed: *seed,
                columns: vec![WordsOfColumn { filter: Filter::new(*bytes, *hashes), is_any: false }; columns],
            },
            SkipIndexKind::Text { .. } => return None,
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, and where the rows cannot be read.
    pub(super) fn add(&mut self, columns: &[Column], rows: usize) -> Result<()> {
        match self {
            Self::Bounds(bounds) => {
                for (known, column) in bounds.iter_mut().zip(columns) {
                    let own = bounds_of(column)?;
                    *known = Some(match known.take() {
                        // Rows without a value that has an order do not widen what is known.
                        Some(known) => joined(known, own),
                        None => own,
                    });
                }
            }
            Self::Rows { rows: None, .. } => {}
            Self::Rows { rows_max, rows: all @ Some(_) } => {
                let arrays = columns
                    .iter()
                    .map(|column| Ok((column.data_type().remove_low_cardinality(), plain_array(column)?)));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                let mut last = Vec::new();
                for row in 0..rows {
                    checkpoint(VALUE_WORK * columns.len())?;
                    let mut bytes = Vec::with_capacity(last.len());
                    for (data_type, array) in &arrays {
                        put_cell(data_type, array, row, &mut bytes)?;
                    }
                    if bytes == last {
                        continue;
                    }
                    let Some(known) = all else { break };
                    if !known.contains(&bytes) {
                        if *rows_max > 0 && known.len() as u64 >= *rows_max {
                            *all = None;
                            break;
                        }
                        squall_types::reserve(bytes.len() + 64)?;
                        known.insert(bytes.clone());
                    }
                    last = bytes;
                }
            }
            Self::Terms { columns: known, .. } => {
                for (known, column) in known.iter_mut().zip(columns) {
                    checkpoint(VALUE_WORK * rows)?;
                    // Arrays may have more items than there are rows.
                    let mut hashes = Vec::new();
                    grow(&mut hashes, rows)?;
                    distinct_hashes_of(column, &mut |hash| hashes.push(hash))?;
                    hashes.sort_unstable();
                    hashes.dedup();
                    grow(known, hashes.len())?;
                    known.append(&mut hashes);
                }
            }
            Self::Words { tokenizer, seed, columns: known } => {
                for (known, column) in known.iter_mut().zip(columns) {
                    each_text(column, &mut |text| {
                        checkpoint(VALUE_WORK * (1 + text.len()))?;
                        known.is_any |= has_other_words(tokenizer, text);
                        tokenizer.words(text)?.iter().for_each(|word| known.filter.add(hash_of_word(word, *seed)));
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The bytes; `types` are those of the columns without Nullable.
    ///
    /// # Errors
    /// Where a bound cannot be written.
    pub(super) fn encode<'a>(&self, types: impl Iterator<Item = &'a DataType>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::Bounds(bounds) => {
                for (range, data_type) in bounds.iter().zip(types) {
                    put_bounds(range.as_ref().unwrap_or(&ValueRange::default()), data_type, &mut out)?;
                }
            }
            Self::Rows { rows: None, .. } => out.push(0),
            Self::Rows { rows: Some(rows), .. } => {
                out.push(1);
                put_varint(rows.len() as u64, &mut out);
                // In one order, so that equal parts are equal files.
                let mut rows: Vec<&Vec<u8>> = rows.iter().collect();
                rows.sort_unstable();
                rows.iter().for_each(|row| out.extend_from_slice(row));
            }
            Self::Terms { false_positives, columns } => {
                for hashes in columns {
                    let mut hashes = hashes.clone();
                    hashes.sort_unstable();
                    hashes.dedup();
                    let mut filter = Vec::new();
                    Filter::of(&hashes, *false_positives).append_to(&mut filter);
                    put_string(&filter, &mut out);
                }
            }
            Self::Words { columns, .. } => {
                for column in columns {
                    let mut own = vec![u8::from(column.is_any)];
                    column.filter.append_to(&mut own);
                    // That of an only column is the whole entry.
                    if columns.len() == 1 { out = own } else { put_string(&own, &mut out) }
                }
            }
        }
        Ok(out)
    }
}

/// The bounds of the rows of both.
fn joined(left: ValueRange, right: ValueRange) -> ValueRange {
    let is_empty = |range: &ValueRange| range.low.is_none() && range.high.is_none() && range.incomparable;
    match (is_empty(&left), is_empty(&right)) {
        (true, _) => ValueRange { incomparable: true, ..right },
        (_, true) => ValueRange { incomparable: true, ..left },
        _ => left.hull(&right),
    }
}

/// Appends a value that may be NULL, behind its length.
fn put_cell(data_type: &DataType, array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut cell = Vec::new();
    match data_type {
        DataType::Nullable(_) if array.is_null(row) => cell.push(1),
        DataType::Nullable(inner) => {
            cell.push(0);
            binary::put_row(inner, array, row, &mut cell)?;
        }
        plain => binary::put_row(plain, array, row, &mut cell)?,
    }
    put_string(&cell, out);
    Ok(())
}

/// Whether a text has words that those of a piece of it do not tell: where characters are not whole.
pub(super) fn has_other_words(tokenizer: &Tokenizer, text: &[u8]) -> bool {
    matches!(tokenizer, Tokenizer::Ngrams(_)) && std::str::from_utf8(text).is_err()
}

/// Calls `visit` with each text of a column that is not NULL, or with each item of its arrays.
///
/// # Errors
/// Those of `visit`.
pub(super) fn each_text(column: &Column, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let array = plain_array(column)?;
    if let DataType::Array(item) = column.data_type().inner() {
        let list = array.as_list::<i32>();
        if let [first, .., end] = list.value_offsets() {
            let items = list.values().slice(*first as usize, (end - first) as usize);
            return each_text(&Column::new((**item).clone(), items), visit);
        }
        return Ok(());
    }
    let rows = (0..array.len()).filter(|row| array.is_valid(*row));
    if let Some(strings) = array.as_binary_opt::<i32>() {
        return rows.map(|row| strings.value(row)).try_for_each(visit);
    }
    match array.as_fixed_size_binary_opt() {
        Some(strings) => rows.map(|row| strings.value(row)).try_for_each(visit),
        None => Ok(()),
    }
}
