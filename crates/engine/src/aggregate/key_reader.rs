//! Keys as bytes: how the rows of key columns become what a table of bytes looks up, and what is kept of them until it does.

use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_array::cast::AsArray;
use squall_planner::{Expression, SortKey};
use squall_types::{Block, Column, DataType, Error, Result};

use super::arena::Arena;
use super::lookup_keys::LookupKeys;
use super::row_key::{EncodedRows, RowFormat};
use crate::sort::keys::{KeyRows, encode_keys};

/// How keys are bytes.
#[derive(Clone)]
pub(super) enum Form {
    /// One string as it stands.
    String,
    /// Rows of which the columns can be made again.
    Rows(Arc<RowFormat>),
    /// Rows of which they cannot: columns of these types are kept.
    Columns(Arc<[DataType]>),
}

/// Keys of rows, ready to be looked up.
#[derive(Clone, Copy)]
pub(super) struct ReadKeys<'a> {
    pub(super) known: &'a LookupKeys,
    pub(super) bytes: KeyBytes<'a>,
}

/// The bytes of rows' keys.
#[derive(Clone, Copy)]
pub(super) enum KeyBytes<'a> {
    Strings(&'a BinaryArray),
    /// Of all rows.
    Rows(&'a EncodedRows),
    /// Of those alone that have no short key.
    LongRows(&'a EncodedRows),
    /// Encoded as sort keys.
    Sorted(&'a KeyRows),
    /// Those of a table's groups, from one on.
    Groups(&'a Arena, usize),
}

impl<'a> ReadKeys<'a> {
    /// The bytes of a row that has no short key.
    #[inline]
    pub(super) fn key(self, row: usize) -> &'a [u8] {
        match self.bytes {
            KeyBytes::Strings(strings) => strings.value(row),
            KeyBytes::Rows(encoded) => encoded.row(row),
            KeyBytes::LongRows(encoded) => encoded.row(self.known.short[row].place()),
            KeyBytes::Sorted(encoded) => encoded.key(row),
            KeyBytes::Groups(keys, first) => keys.get(first + row),
        }
    }

    pub(super) fn rows(self) -> usize {
        self.known.hashes.len()
    }
}

/// Reads keys; what it has of the last rows is used again.
#[derive(Default)]
pub(super) struct KeyReader {
    known: LookupKeys,
    encoded: EncodedRows,
    sorted: Option<KeyRows>,
    /// Most keys are not short.
    are_long: bool,
}

impl KeyReader {
    /// The keys of rows.
    pub(super) fn read<'a>(&'a mut self, form: &Form, keys: &'a [Column], rows: usize) -> Result<ReadKeys<'a>> {
        let Self { known, encoded, sorted, are_long } = self;
        let bytes = match form {
            Form::String => {
                let key = keys.first().ok_or_else(|| Error::logical("a string table without a key"))?;
                let strings =
                    key.array().as_binary_opt::<i32>().ok_or_else(|| Error::logical("a key that is no string"))?;
                known.read_strings(strings);
                KeyBytes::Strings(strings)
            }
            Form::Rows(format) => {
                let long = if *are_long { rows } else { format.short_keys(keys, rows, &mut known.short)? };
                if long > rows / 2 {
                    *are_long = true;
                    format.encode(keys, rows, encoded)?;
                    known.read(rows, |row| encoded.row(row));
                    KeyBytes::Rows(encoded)
                } else {
                    let rows_with_long = known.place_long();
                    if long > 0 {
                        let keys = keys.iter().map(|key| key.take(&rows_with_long)).collect::<Result<Vec<_>>>()?;
                        format.encode(&keys, long, encoded)?;
                    }
                    known.hash(|_, key| encoded.row(key.place()));
                    KeyBytes::LongRows(encoded)
                }
            }
            Form::Columns(_) => {
                let named = keys.iter().enumerate().map(|(at, key)| (at.to_string(), key.clone()));
                let block = Block::from_columns(named)?;
                let order: Vec<SortKey> = keys.iter().enumerate().map(ascending).collect();
                let encoded = &*sorted.insert(encode_keys(&order, &block)?);
                known.read(rows, |row| encoded.key(row));
                KeyBytes::Sorted(encoded)
            }
        };
        Ok(ReadKeys { known, bytes })
    }

    /// What is kept of rows' keys until they are looked up. Appends their hashes.
    pub(super) fn keep(
        &mut self,
        form: &Form,
        keys: &[Column],
        rows: usize,
        hashes: &mut Vec<u64>,
    ) -> Result<Vec<Column>> {
        let read = self.read(form, keys, rows)?;
        hashes.extend_from_slice(&read.known.hashes);
        Ok(match form {
            Form::String => std::iter::once(read.known.hash_column()).chain(keys.iter().cloned()).collect(),
            Form::Rows(_) => read.known.columns(|row| read.key(row))?,
            Form::Columns(_) => keys.to_vec(),
        })
    }

    /// Appends the hashes of keys by what was [kept](Self::keep) of them.
    pub(super) fn kept_hashes(
        &mut self,
        form: &Form,
        kept: &[Column],
        rows: usize,
        hashes: &mut Vec<u64>,
    ) -> Result<()> {
        hashes.extend_from_slice(&self.read_kept(form, kept, rows)?.known.hashes);
        Ok(())
    }

    /// The keys of rows by what was [kept](Self::keep) of them.
    pub(super) fn read_kept<'a>(&'a mut self, form: &Form, kept: &'a [Column], rows: usize) -> Result<ReadKeys<'a>> {
        let strings = match (form, kept) {
            (Form::String, [hashes, strings]) => {
                let strings = strings.as_binary()?;
                self.known.read_hashed_strings(hashes, strings)?;
                strings
            }
            (Form::Rows(_), [columns @ .., long]) => {
                self.known.read_columns(columns)?;
                long.as_binary()?
            }
            _ => return self.read(form, kept, rows),
        };
        Ok(ReadKeys { known: &self.known, bytes: KeyBytes::Strings(strings) })
    }

    /// The keys of a table's groups from one on, of which these are the hashes.
    pub(super) fn read_groups<'a>(&'a mut self, keys: &'a Arena, first: usize, hashes: &[u64]) -> ReadKeys<'a> {
        self.known.read_hashed(hashes, |row| keys.get(first + row));
        ReadKeys { known: &self.known, bytes: KeyBytes::Groups(keys, first) }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.known.memory_bytes() + self.encoded.memory_bytes()
    }
}

fn ascending((position, key): (usize, &Column)) -> SortKey {
    let expression = Expression::Column { position, data_type: key.data_type().clone() };
    SortKey { expression, descending: false, nulls_first: false }
}
