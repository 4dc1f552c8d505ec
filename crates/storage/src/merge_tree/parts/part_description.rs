//! What is known of a part without opening its file: where its chunks lie, their checksums, smallest and largest values, and the
//! sparse primary index. The catalog keeps it as one blob; this file is the blob's format.

use std::sync::Arc;

use squall_types::binary::put_varint;
use squall_types::integer::{I256, Integer, U256};
use squall_types::{Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value};

use crate::key_condition::ValueRange;
use crate::merge_tree::expiry::ttl_range::TtlRange;
use crate::merge_tree::skip_index::{IndexDescription, IndexPage};

/// The first byte of a blob without indexes.
const VERSION: u8 = 1;
/// The first byte of one that ends with skip indexes, then with what the part knows of its table's TTL; either may be none.
const VERSION_WITH_EXTRAS: u8 = 2;
/// The first byte of one that ends, after these, with what the part has of projections.
const VERSION_WITH_PROJECTIONS: u8 = 3;
/// The first byte of one that ends, after these, with the statistics of columns.
const VERSION_WITH_STATISTICS: u8 = 4;
/// The first byte of one whose chunks know how many bytes their values are.
const VERSION_WITH_VALUE_BYTES: u8 = 5;

/// A part's description. Without one there are no rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartDescription {
    /// Rows of a granule.
    pub(crate) granularity: usize,
    pub(crate) row_groups: Vec<RowGroupDescription>,
    pub(crate) footer: FileRange,
    pub(crate) primary_index: PrimaryIndex,
    /// Skip indexes that the part has.
    pub(crate) indices: Vec<IndexDescription>,
    /// By the elements of the TTL that the table had when the part was written.
    pub(crate) ttl: Vec<TtlRange>,
    /// What the part has of projections.
    pub(crate) projections: Vec<ProjectionDescription>,
    /// What is known of the values of each stored column, in `statistics`' bytes; empty of parts that were written before version 10.
    pub(crate) statistics: Vec<Box<[u8]>>,
}

/// What a part has of a projection: a part of its own within the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ProjectionDescription {
    pub(crate) name: String,
    /// What it is of, which tells projections of one name apart.
    pub(crate) identity: String,
    pub(crate) at: FileRange,
    /// Its own description, in which places count from where it begins.
    pub(crate) description: Vec<u8>,
}

/// One row group.
#[derive(Clone, Debug)]
pub(crate) struct RowGroupDescription {
    pub(crate) rows: usize,
    /// One per stored column.
    pub(crate) chunks: Vec<ChunkDescription>,
}

/// One column of one row group.
#[derive(Clone, Debug)]
pub(crate) struct ChunkDescription {
    /// All its leaves' pages.
    pub(crate) at: FileRange,
    /// Its smallest and largest value, as bounds that need not be reached.
    pub(crate) range: ValueRange,
    /// Whether the bounds are values of the chunk.
    pub(crate) is_exact: bool,
    pub(crate) nulls: u64,
    /// Bytes of its values before they were encoded; 0 in parts that were written before version 11.
    pub(crate) value_bytes: u64,
    /// Whether it has the codec of large parts, because nobody has chosen another.
    pub(crate) has_codec_of_large: bool,
}

/// Bytes of a file and their XXH3-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FileRange {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) checksum: u64,
}

/// The key of the first row of every granule, and of the last row.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrimaryIndex {
    /// One column per expression of the primary key, without dictionary; one row more than there are granules.
    pub(crate) keys: Vec<Column>,
}

impl PartDescription {
    pub(crate) fn rows(&self) -> usize {
        self.row_groups.iter().map(|group| group.rows).sum()
    }

    /// The bounds of a stored column over the whole part, and whether they are reached.
    pub(crate) fn range(&self, column: usize) -> (ValueRange, bool) {
        let mut whole = ValueRange::default();
        let mut is_exact = true;
        for (at, group) in self.row_groups.iter().enumerate() {
            let Some(chunk) = group.chunks.get(column) else { return (ValueRange::default(), false) };
            is_exact &= chunk.is_exact;
            whole = if at == 0 { chunk.range.clone() } else { whole.hull(&chunk.range) };
        }
        (whole, is_exact)
    }

    /// The encoded bytes of the row group that has most.
    pub(crate) fn largest_group_bytes(&self) -> u64 {
        let bytes = |group: &RowGroupDescription| group.chunks.iter().map(|chunk| chunk.at.length).sum();
        self.row_groups.iter().map(bytes).max().unwrap_or(0)
    }

    /// Whether columns without a codec of their own have that of large parts.
    pub(crate) fn has_codec_of_large(&self) -> bool {
        self.row_groups.iter().flat_map(|group| &group.chunks).any(|chunk| chunk.has_codec_of_large)
    }

    /// The bytes of all values before they were encoded; 0 where the part does not know.
    pub(crate) fn all_value_bytes(&self) -> u64 {
        self.row_groups.iter().flat_map(|group| &group.chunks).map(|chunk| chunk.value_bytes).sum()
    }

    /// The blob.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let has_value_bytes = self.all_value_bytes() > 0;
        let has_statistics = has_value_bytes || !self.statistics.is_empty();
        let has_projections = has_statistics || !self.projections.is_empty();
        let has_extras = has_projections || !self.indices.is_empty() || !self.ttl.is_empty();
        let mut out = vec![match (has_value_bytes, has_statistics, has_projections, has_extras) {
            (true, ..) => VERSION_WITH_VALUE_BYTES,
            (false, true, ..) => VERSION_WITH_STATISTICS,
            (false, false, true, _) => VERSION_WITH_PROJECTIONS,
            (false, false, false, true) => VERSION_WITH_EXTRAS,
            (false, false, false, false) => VERSION,
        }];
        put_varint(self.granularity as u64, &mut out);
        put_range(&mut out, self.footer);
        put_varint(self.row_groups.len() as u64, &mut out);
        for group in &self.row_groups {
            put_varint(group.rows as u64, &mut out);
            put_varint(group.chunks.len() as u64, &mut out);
            for chunk in &group.chunks {
                put_range(&mut out, chunk.at);
                put_value(&mut out, chunk.range.low.as_ref());
                put_value(&mut out, chunk.range.high.as_ref());
                let has_codec_of_large = u8::from(chunk.has_codec_of_large);
                out.push(u8::from(chunk.range.incomparable) | u8::from(chunk.is_exact) << 1 | has_codec_of_large << 2);
                put_varint(chunk.nulls, &mut out);
                if has_value_bytes {
                    put_varint(chunk.value_bytes, &mut out);
                }
            }
        }
        put_varint(self.primary_index.keys.len() as u64, &mut out);
        for key in &self.primary_index.keys {
            put_varint(key.rows() as u64, &mut out);
            (0..key.rows()).for_each(|row| put_value(&mut out, Some(&key.value(row))));
        }
        if has_extras {
            put_varint(self.indices.len() as u64, &mut out);
        }
        for index in &self.indices {
            put_bytes(&mut out, index.name.as_bytes());
            put_bytes(&mut out, index.identity.as_bytes());
            put_varint(index.bytes, &mut out);
            put_varint(index.pages.len() as u64, &mut out);
            for page in &index.pages {
                put_range(&mut out, page.at);
                put_varint(page.entries as u64, &mut out);
            }
        }
        if has_extras {
            put_varint(self.ttl.len() as u64, &mut out);
            self.ttl.iter().for_each(|range| put_ttl(&mut out, range));
        }
        if has_projections {
            put_varint(self.projections.len() as u64, &mut out);
        }
        for projection in &self.projections {
            put_bytes(&mut out, projection.name.as_bytes());
            put_bytes(&mut out, projection.identity.as_bytes());
            put_range(&mut out, projection.at);
            put_bytes(&mut out, &projection.description);
        }
        if has_value_bytes {
            put_varint(self.statistics.len() as u64, &mut out);
        }
        // One of each column.
        self.statistics.iter().for_each(|column| put_bytes(&mut out, column));
        out
    }

    /// Reads a blob; `keys` are the types of the primary key, `columns` is the number of stored columns.
    ///
    /// # Errors
    /// `CORRUPTED_DATA` where it is not one of this table.
    pub(crate) fn decode(blob: &[u8], keys: &[DataType], columns: usize) -> Result<Self> {
        Decoder::new(blob).description(keys, columns).ok_or_else(|| {
            Error::new(ErrorCode::CORRUPTED_DATA, "The description of a part in the catalog cannot be read")
        })
    }
}

impl PrimaryIndex {
    /// The type of the column of a key: without dictionary.
    pub(crate) fn column_type(key: &DataType) -> DataType {
        let inner = key.inner().clone();
        if key.is_nullable() { DataType::Nullable(Arc::new(inner)) } else { inner }
    }

    /// The number of granules.
    pub(crate) fn granules(&self) -> usize {
        self.keys.first().map_or(0, |key| key.rows().saturating_sub(1))
    }

    /// The bounds of a key column over granules `from..to`.
    pub(crate) fn range(&self, key: usize, from: usize, to: usize) -> ValueRange {
        let unknown = ValueRange { incomparable: true, ..ValueRange::default() };
        // A later key column is in order only where those before it stay the same.
        let mut before = self.keys.iter().take(key);
        if !before.all(|key| from < key.rows() && to < key.rows() && key.value(from).compare(&key.value(to)).is_eq()) {
            return unknown;
        }
        let Some(column) = self.keys.get(key).filter(|column| to < column.rows()) else { return unknown };
        let bound = |row: usize| Some(column.value(row)).filter(|value| !is_nan(value) && *value != Value::Null);
        let is_float = column.data_type().inner().is_float() || column.data_type().is_nullable();
        ValueRange { low: bound(from), high: bound(to), incomparable: is_float }
    }
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float64(number) if number.is_nan())
}

fn put_range(out: &mut Vec<u8>, range: FileRange) {
    put_varint(range.offset, out);
    put_varint(range.length, out);
    out.extend_from_slice(&range.checksum.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_ttl(out: &mut Vec<u8>, range: &TtlRange) {
    put_bytes(out, range.key.as_bytes());
    put_varint(range.min.into(), out);
    put_varint(range.max.into(), out);
    out.push(u8::from(range.is_whole) | u8::from(range.due.is_some()) << 1);
    put_varint(range.due.unwrap_or(0).into(), out);
}

/// Appends a scalar, or none.
pub(in crate::merge_tree) fn put_value(out: &mut Vec<u8>, value: Option<&Value>) {
    match value {
        Some(Value::Bool(value)) => out.extend([1, u8::from(*value)]),
        Some(Value::UInt64(value)) => {
            out.push(2);
            put_varint(*value, out);
        }
        Some(Value::Int64(value)) => {
            out.push(3);
            put_varint((*value << 1 ^ *value >> 63) as u64, out);
        }
        Some(Value::Int256(value)) => {
            out.push(6);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Some(Value::UInt256(value)) => {
            out.push(7);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Some(Value::Decimal(value, scale)) => {
            out.extend([8, *scale]);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Some(Value::Float64(value)) => {
            out.push(4);
            out.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        Some(value @ (Value::String(_) | Value::Uuid(_))) => {
            out.push(5);
            put_bytes(out, value.as_bytes().unwrap_or_default());
        }
        // Keys and bounds are scalars, and only keys may be NULL.
        Some(Value::Null | Value::Array(_) | Value::Tuple(_) | Value::Map(_) | Value::Typed(_)) | None => out.push(0),
    }
}

/// Reads what was encoded; each method gives `None` where the bytes are something else.
pub(in crate::merge_tree) struct Decoder<'a> {
    blob: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(in crate::merge_tree) fn new(blob: &'a [u8]) -> Self {
        Self { blob }
    }

    fn description(mut self, keys: &[DataType], columns: usize) -> Option<PartDescription> {
        let version = self.byte().filter(|version| (VERSION..=VERSION_WITH_VALUE_BYTES).contains(version))?;
        let has_extras = version >= VERSION_WITH_EXTRAS;
        let has_projections = version >= VERSION_WITH_PROJECTIONS;
        let has_value_bytes = version >= VERSION_WITH_VALUE_BYTES;
        let granularity = usize::try_from(self.number()?).ok().filter(|granularity| *granularity > 0)?;
        let footer = self.range()?;
        let count = self.count()?;
        let mut row_groups = Vec::with_capacity(count);
        for _ in 0..count {
            let rows = usize::try_from(self.number()?).ok()?;
            let found = self.count()?;
            if found != columns {
                return None;
            }
            let chunks = (0..found).map(|_| self.chunk(has_value_bytes)).collect::<Option<Vec<_>>>()?;
            row_groups.push(RowGroupDescription { rows, chunks });
        }
        if self.count()? != keys.len() {
            return None;
        }
        let keys = keys.iter().map(|data_type| self.key(data_type)).collect::<Option<Vec<_>>>()?;
        let count = if has_extras { self.count()? } else { 0 };
        let indices = (0..count).map(|_| self.index()).collect::<Option<Vec<_>>>()?;
        let ranges = if has_extras { self.count()? } else { 0 };
        let ttl = (0..ranges).map(|_| self.ttl()).collect::<Option<Vec<_>>>()?;
        let count = if has_projections { self.count()? } else { 0 };
        let projections = (0..count).map(|_| self.projection()).collect::<Option<Vec<_>>>()?;
        let described = match version {
            VERSION_WITH_VALUE_BYTES.. => self.count().filter(|described| [0, columns].contains(described))?,
            VERSION_WITH_STATISTICS => columns,
            _ => 0,
        };
        let statistics = (0..described).map(|_| self.counted_bytes().map(Box::from)).collect::<Option<Vec<_>>>()?;
        let primary_index = PrimaryIndex { keys };
        let description =
            PartDescription { granularity, row_groups, footer, primary_index, indices, ttl, projections, statistics };
        let granules = description.rows().div_ceil(granularity);
        let is_whole = description.primary_index.keys.iter().all(|key| key.rows() == granules + 1);
        (is_whole && self.blob.is_empty()).then_some(description)
    }

    fn index(&mut self) -> Option<IndexDescription> {
        let (name, identity) = (self.text()?, self.text()?);
        let bytes = self.number()?;
        let count = self.count()?;
        let mut pages = Vec::with_capacity(count);
        for _ in 0..count {
            pages.push(IndexPage { at: self.range()?, entries: usize::try_from(self.number()?).ok()? });
        }
        Some(IndexDescription { name, identity, bytes, pages })
    }

    fn projection(&mut self) -> Option<ProjectionDescription> {
        let (name, identity, at) = (self.text()?, self.text()?, self.range()?);
        Some(ProjectionDescription { name, identity, at, description: self.counted_bytes()?.to_vec() })
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.counted_bytes()?.to_vec()).ok()
    }

    /// Bytes behind their number.
    fn counted_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.bytes(length)
    }

    fn ttl(&mut self) -> Option<TtlRange> {
        let length = self.count()?;
        let key = std::str::from_utf8(self.bytes(length)?).ok()?.into();
        let (min, max) = (self.number()?.try_into().ok()?, self.number()?.try_into().ok()?);
        let flags = self.byte()?;
        let due = self.number()?.try_into().ok().filter(|_| flags & 2 != 0);
        Some(TtlRange { key, min, max, is_whole: flags & 1 != 0, due })
    }

    fn chunk(&mut self, has_value_bytes: bool) -> Option<ChunkDescription> {
        let at = self.range()?;
        let (low, high) = (self.value()?, self.value()?);
        let flags = self.byte()?;
        let range = ValueRange { low, high, incomparable: flags & 1 != 0 };
        let nulls = self.number()?;
        let value_bytes = if has_value_bytes { self.number()? } else { 0 };
        let (is_exact, has_codec_of_large) = (flags & 2 != 0, flags & 4 != 0);
        Some(ChunkDescription { at, range, is_exact, nulls, value_bytes, has_codec_of_large })
    }

    fn key(&mut self, data_type: &DataType) -> Option<Column> {
        let mut builder = ColumnBuilder::new(data_type.clone());
        for _ in 0..self.count()? {
            builder.append(&self.value()?.unwrap_or(Value::Null)).ok()?;
        }
        builder.finish().ok()
    }

    pub(in crate::merge_tree) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.blob.split_first()?;
        self.blob = rest;
        Some(*first)
    }

    pub(in crate::merge_tree) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.blob.split_at_checked(count)?;
        self.blob = rest;
        Some(taken)
    }

    fn fixed(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(in crate::merge_tree) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number of things that follow, each at least a byte long: a corrupted one must not reserve memory without end.
    pub(in crate::merge_tree) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= self.blob.len())
    }

    fn range(&mut self) -> Option<FileRange> {
        Some(FileRange { offset: self.number()?, length: self.number()?, checksum: self.fixed()? })
    }

    pub(in crate::merge_tree) fn value(&mut self) -> Option<Option<Value>> {
        Some(Some(match self.byte()? {
            0 => return Some(None),
            1 => Value::Bool(self.byte()? != 0),
            2 => Value::UInt64(self.number()?),
            3 => {
                let number = self.number()?;
                Value::Int64((number >> 1) as i64 ^ -((number & 1) as i64))
            }
            4 => Value::Float64(f64::from_bits(self.fixed()?)),
            5 => {
                let length = self.count()?;
                Value::string(self.bytes(length)?)
            }
            6 => Value::Int256(Box::new(I256::from_bytes(self.bytes(32)?))),
            7 => Value::UInt256(Box::new(U256::from_bytes(self.bytes(32)?))),
            8 => {
                let scale = self.byte()?;
                Value::Decimal(Box::new(I256::from_bytes(self.bytes(32)?)), scale)
            }
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn description() -> PartDescription {
        let mut key = ColumnBuilder::new(DataType::String);
        ["a", "b", "c"].iter().for_each(|value| key.append(&Value::from(*value)).unwrap());
        let chunk = |low: Value, high: Value| ChunkDescription {
            at: FileRange { offset: 4, length: 300, checksum: u64::MAX },
            range: ValueRange { low: Some(low), high: Some(high), incomparable: true },
            is_exact: true,
            nulls: 7,
            value_bytes: 0,
            has_codec_of_large: true,
        };
        PartDescription {
            granularity: 2,
            row_groups: vec![RowGroupDescription {
                rows: 4,
                chunks: vec![
                    chunk(Value::from("a"), Value::from("c")),
                    chunk(Value::Int64(i64::MIN), Value::Float64(1.5)),
                    chunk(Value::UInt64(u64::MAX), Value::Bool(true)),
                ],
            }],
            footer: FileRange { offset: 1 << 40, length: 9, checksum: 1 },
            primary_index: PrimaryIndex { keys: vec![key.finish().unwrap()] },
            indices: Vec::new(),
            ttl: vec![
                TtlRange { key: "t + 1".into(), min: 7, max: u32::MAX, is_whole: true, due: Some(9) },
                TtlRange { key: "x: t".into(), ..TtlRange::default() },
            ],
            projections: Vec::new(),
            statistics: Vec::new(),
        }
    }

    fn with_indices() -> PartDescription {
        let page = IndexPage { at: FileRange { offset: 900, length: 20, checksum: 3 }, entries: 2 };
        let (name, identity) = ("i".to_owned(), "minmax (#1: UInt8) 1".to_owned());
        let index = IndexDescription { name, identity, bytes: 40, pages: vec![page; 2] };
        PartDescription { indices: vec![index.clone(), index], ..description() }
    }

    fn with_projections() -> PartDescription {
        let projection = ProjectionDescription {
            name: "p".to_owned(),
            identity: "#1: String | | @0".to_owned(),
            at: FileRange { offset: 1000, length: 20, checksum: 3 },
            description: description().encode(),
        };
        PartDescription { projections: vec![projection.clone(), projection], ..with_indices() }
    }

    fn with_statistics() -> PartDescription {
        PartDescription { statistics: vec![Box::from(*b"abc"), Box::default(), Box::from(*b"d")], ..with_projections() }
    }

    fn with_value_bytes() -> PartDescription {
        let mut description = with_statistics();
        let chunks = description.row_groups.iter_mut().flat_map(|group| &mut group.chunks);
        chunks.enumerate().for_each(|(at, chunk)| chunk.value_bytes = 1000 * at as u64);
        description
    }

    #[test]
    fn descriptions_come_back() {
        let before = description();
        let after = PartDescription::decode(&before.encode(), &[DataType::String], 3).unwrap();
        assert_eq!(format!("{before:?}"), format!("{after:?}"));
        assert!(PartDescription::decode(&before.encode(), &[DataType::String], 2).is_err());
        let before = with_indices();
        let after = PartDescription::decode(&before.encode(), &[DataType::String], 3).unwrap();
        assert_eq!(before.indices, after.indices);
        let before = with_projections();
        let after = PartDescription::decode(&before.encode(), &[DataType::String], 3).unwrap();
        assert_eq!(before.projections, after.projections);
        let without_statistics = PartDescription { statistics: Vec::new(), ..with_value_bytes() };
        for before in [with_statistics(), with_value_bytes(), without_statistics] {
            let after = PartDescription::decode(&before.encode(), &[DataType::String], 3).unwrap();
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
        }
    }

    #[test]
    fn later_keys_have_bounds_only_where_earlier_ones_stay() {
        let column = |values: [u64; 3]| {
            Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values.to_vec())
        };
        let index = PrimaryIndex { keys: vec![column([1, 1, 2]), column([5, 9, 3])] };
        assert_eq!(index.granules(), 2);
        let range = index.range(1, 0, 1);
        assert_eq!((range.low, range.high), (Some(Value::UInt64(5)), Some(Value::UInt64(9))));
        assert!(index.range(1, 0, 2).low.is_none());
        assert_eq!(index.range(0, 0, 2).high, Some(Value::UInt64(2)));
    }

    proptest! {
        #[test]
        fn garbage_is_refused_or_read_but_never_panics(at in 0..600_usize, byte: u8, cut in 0..900_usize) {
            let mut blob = with_value_bytes().encode();
            if let Some(place) = blob.get_mut(at) {
                *place = byte;
            }
            blob.truncate(cut);
            let _ = PartDescription::decode(&blob, &[DataType::String], 3);
        }
    }
}
