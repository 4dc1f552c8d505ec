//! Decoding of a chunk in pieces: batch after batch is read and appended to what becomes one array, so that whoever decodes gives way to
//! other work every millisecond. Types whose arrays cannot be appended to are put together at the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::{BinaryBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, DictionaryArray, new_empty_array};
use arrow_schema::DataType as ArrowType;
use squall_types::coder::{coded_rows, dictionary_pays};
use squall_types::{Coded, Coder, Error, Result, Rows, match_primitive, reserve};

use crate::column_cache::{ChunkOrigin, DecodeChunk};
use crate::merge_tree::parts::column_reader::ColumnReader;
use crate::merge_tree::parts::part::{Part, corrupted};

/// Rows that are read between two looks at the clock.
pub(in crate::merge_tree) const BATCH_ROWS: usize = 16_384;
/// How long a piece runs.
pub(in crate::merge_tree) const PIECE: Duration = Duration::from_millis(1);

/// A chunk that is being decoded.
pub(in crate::merge_tree) struct ChunkDecoder {
    part: Arc<Part>,
    row_group: usize,
    column: usize,
    rows: usize,
    reader: ColumnReader,
    rows_read: usize,
    growing: Option<Box<dyn Growing>>,
}

impl ChunkDecoder {
    pub(in crate::merge_tree) fn new(
        part: Arc<Part>,
        row_group: usize,
        column: usize,
        rows: usize,
        reader: ColumnReader,
    ) -> Self {
        Self { part, row_group, column, rows, reader, rows_read: 0, growing: None }
    }

    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        self.rows_read += array.len();
        let growing = match &mut self.growing {
            Some(growing) => growing,
            none => none.insert(match array.as_dictionary_opt::<UInt32Type>() {
                Some(codes) if !self.part.schema.layout.is_dictionary(self.column) => {
                    strings_of_dictionary(codes, self.rows, self.part.string_bytes(self.row_group, self.column))?
                }
                _ => growing(array, self.rows)?,
            }),
        };
        growing.append(array)
    }

    fn finish(&mut self) -> Result<Rows> {
        if self.rows_read != self.rows {
            let why = format!("a chunk has {} rows, expected {}", self.rows_read, self.rows);
            return Err(corrupted(&self.part.file.path, why));
        }
        let rows = match self.growing.take() {
            Some(growing) => growing.finish(self.part.schema.layout.ratio_of_defaults(self.column))?,
            None => Rows::Whole(new_empty_array(self.part.arrow_type(self.column))),
        };
        Ok(self.part.remember(self.row_group, self.column, rows, ChunkOrigin::Read))
    }
}

impl DecodeChunk for ChunkDecoder {
    fn decode(&mut self) -> Result<Option<Rows>> {
        let end = Instant::now() + PIECE;
        loop {
            let Some(array) = self.reader.next() else { return self.finish().map(Some) };
            let array = array.map_err(|error| corrupted(&self.part.file.path, error))?;
            // None of the rows is there before the dictionary is.
            if !array.is_empty() {
                self.append(&self.part.to_memory(self.column, &array)?)?;
            }
            if Instant::now() >= end {
                return Ok(None);
            }
        }
    }
}

/// Arrays of a type, one after the other.
pub(in crate::merge_tree) trait Growing: Send {
    fn append(&mut self, array: &ArrayRef) -> Result<()>;
    /// All rows; `ratio_of_defaults` of them are better held sparse.
    fn finish(self: Box<Self>, ratio_of_defaults: f64) -> Result<Rows>;
}

/// Room for `rows` rows like those of the first array.
pub(in crate::merge_tree) fn growing(first: &ArrayRef, rows: usize) -> Result<Box<dyn Growing>> {
    let bytes_of = |width: usize| rows.saturating_mul(width);
    Ok(match_primitive!(first.data_type(), T => {
        reserve(bytes_of(size_of::<<T as ArrowPrimitiveType>::Native>()))?;
        Box::new(PrimitiveBuilder::<T>::with_capacity(rows))
    }, _ => match first.data_type() {
        ArrowType::FixedSizeBinary(width) => {
            reserve(bytes_of(usize::try_from(*width).unwrap_or(0)))?;
            Box::new(FixedSizeBinaryBuilder::with_capacity(rows, *width))
        }
        ArrowType::Binary => match Coder::new(rows)? {
            Some(coder) => Box::new(Strings::Coded(coder)),
            None => Box::new(strings_builder(first.as_binary(), rows)?),
        },
        ArrowType::Dictionary(key, _) if **key == ArrowType::UInt32 => {
            reserve(bytes_of(4))?;
            let keys = PrimitiveBuilder::<UInt32Type>::with_capacity(rows);
            Box::new(Keys { dictionary: first.as_dictionary::<UInt32Type>().values().clone(), keys, others: Vec::new() })
        }
        _ => Box::new(Arrays(Vec::new())),
    }))
}

/// Room for `rows` strings that come as keys of a dictionary in the file, `string_bytes` long in all where that is known.
fn strings_of_dictionary(
    first: &DictionaryArray<UInt32Type>,
    rows: usize,
    string_bytes: Option<usize>,
) -> Result<Box<dyn Growing>> {
    let values = first.values().as_binary::<i32>();
    let guess = || (values.value_data().len().saturating_mul(rows)).checked_div(values.len()).unwrap_or(0);
    let string_bytes = string_bytes.unwrap_or_else(guess);
    if dictionary_pays(values, rows, string_bytes) {
        reserve(rows.saturating_mul(4))?;
        let keys = PrimitiveBuilder::<UInt32Type>::with_capacity(rows);
        return Ok(Box::new(Codes(Keys { dictionary: first.values().clone(), keys, others: Vec::new() })));
    }
    reserve(string_bytes.saturating_add(rows.saturating_mul(4)))?;
    Ok(Box::new(WrittenOut(BinaryBuilder::with_capacity(rows, string_bytes.min(i32::MAX as usize)))))
}

/// Room for `rows` strings like those of the first array.
fn strings_builder(first: &BinaryArray, rows: usize) -> Result<BinaryBuilder> {
    // Longer strings may follow: what is guessed here only spares most of the copying.
    let bytes = first.values().len().min(first.get_array_memory_size());
    let guess = (bytes * rows).checked_div(first.len()).unwrap_or(0).min(i32::MAX as usize);
    let guess = guess + guess / 8;
    reserve(guess + rows.saturating_mul(4))?;
    Ok(BinaryBuilder::with_capacity(rows, guess))
}

impl<T: ArrowPrimitiveType> Growing for PrimitiveBuilder<T> {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        self.append_array(array.as_primitive::<T>());
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: f64) -> Result<Rows> {
        Ok(Rows::Whole(Arc::new(PrimitiveBuilder::finish(&mut self))))
    }
}

impl Growing for FixedSizeBinaryBuilder {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        Ok(self.append_array(array.as_fixed_size_binary())?)
    }

    fn finish(mut self: Box<Self>, _: f64) -> Result<Rows> {
        Ok(Rows::Whole(Arc::new(FixedSizeBinaryBuilder::finish(&mut self))))
    }
}

impl Growing for BinaryBuilder {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        let strings = array.as_binary::<i32>();
        let more = strings.value_offsets().last().unwrap_or(&0) - strings.value_offsets().first().unwrap_or(&0);
        if self.values_slice().len() + more as usize > self.values_capacity() {
            reserve(2 * self.values_capacity())?;
        }
        Ok(self.append_array(strings)?)
    }

    fn finish(mut self: Box<Self>, _: f64) -> Result<Rows> {
        Ok(Rows::Whole(Arc::new(BinaryBuilder::finish(&mut self))))
    }
}

/// Strings: as codes while few of them are different.
enum Strings {
    Coded(Coder),
    Whole(BinaryBuilder),
}

impl Growing for Strings {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        let coder = match self {
            Self::Whole(builder) => return Growing::append(builder, array),
            Self::Coded(coder) => coder,
        };
        let before = coder.added();
        if coder.append(array.as_binary())? {
            return Ok(());
        }
        let rows = coder.rows();
        let coded = std::mem::replace(self, Self::Whole(BinaryBuilder::new()));
        let Self::Coded(coder) = coded else { return Err(Error::logical("strings that are coded no longer")) };
        let coded = coder.finish()?;
        let rest = array.slice(coded.rows() - before, array.len() - (coded.rows() - before));
        let mut builder = strings_builder(array.as_binary(), rows)?;
        Growing::append(&mut builder, &coded.to_array()?)?;
        Growing::append(&mut builder, &rest)?;
        *self = Self::Whole(builder);
        Ok(())
    }

    fn finish(self: Box<Self>, ratio_of_defaults: f64) -> Result<Rows> {
        match *self {
            Self::Coded(coder) => coder.into_rows(ratio_of_defaults),
            Self::Whole(builder) => Growing::finish(Box::new(builder), ratio_of_defaults),
        }
    }
}

/// Keys of one dictionary, as long as all arrays have the same.
struct Keys {
    dictionary: ArrayRef,
    keys: PrimitiveBuilder<UInt32Type>,
    /// Arrays from the first on whose dictionary is another.
    others: Vec<ArrayRef>,
}

impl Keys {
    fn whole(mut self) -> Result<ArrayRef> {
        let first: ArrayRef = Arc::new(DictionaryArray::try_new(self.keys.finish(), self.dictionary)?);
        together(std::iter::once(first).chain(self.others).collect())
    }
}

/// Strings that stay codes.
struct Codes(Keys);

impl Growing for Codes {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        self.0.append(array)
    }

    fn finish(self: Box<Self>, ratio_of_defaults: f64) -> Result<Rows> {
        coded_rows(self.0.whole()?.as_dictionary::<UInt32Type>().clone(), ratio_of_defaults)
    }
}

/// Strings that are codes in the file alone.
struct WrittenOut(BinaryBuilder);

impl Growing for WrittenOut {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        let codes = array.as_dictionary::<UInt32Type>().clone();
        let rows = Coded::rows_of(codes)?.ok_or_else(|| Error::logical("a dictionary of other values than strings"))?;
        Growing::append(&mut self.0, rows.array())
    }

    fn finish(self: Box<Self>, ratio_of_defaults: f64) -> Result<Rows> {
        Growing::finish(Box::new(self.0), ratio_of_defaults)
    }
}

impl Growing for Keys {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        let dictionary = array.as_dictionary::<UInt32Type>();
        let is_same = Arc::ptr_eq(dictionary.values(), &self.dictionary)
            || dictionary.values().to_data().ptr_eq(&self.dictionary.to_data());
        if self.others.is_empty() && is_same {
            self.keys.append_array(dictionary.keys());
        } else {
            self.others.push(array.clone());
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: f64) -> Result<Rows> {
        self.whole().map(Rows::Whole)
    }
}

/// Arrays that are put together at the end.
struct Arrays(Vec<ArrayRef>);

impl Growing for Arrays {
    fn append(&mut self, array: &ArrayRef) -> Result<()> {
        self.0.push(array.clone());
        Ok(())
    }

    fn finish(self: Box<Self>, _: f64) -> Result<Rows> {
        together(self.0).map(Rows::Whole)
    }
}

fn together(arrays: Vec<ArrayRef>) -> Result<ArrayRef> {
    match &arrays[..] {
        [] => Err(Error::logical("a chunk of no arrays")),
        [one] => Ok(one.clone()),
        many => {
            reserve(many.iter().map(|array| array.get_array_memory_size()).sum())?;
            let many: Vec<&dyn Array> = many.iter().map(|array| &**array).collect();
            Ok(arrow_select::concat::concat(&many)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, FixedSizeBinaryArray, ListArray, UInt64Array};

    use super::*;

    fn grown(arrays: &[ArrayRef]) -> ArrayRef {
        let mut growing = growing(&arrays[0], arrays.iter().map(|array| array.len()).sum()).unwrap();
        arrays.iter().for_each(|array| growing.append(array).unwrap());
        growing.finish(1.0).unwrap().array().clone()
    }

    #[test]
    fn strings_are_codes_while_few_are_different() {
        let few = |row: usize| format!("value {}", row % 7);
        let many = |row: usize| format!("row {row}");
        let of = |rows: std::ops::Range<usize>, value: &dyn Fn(usize) -> String| -> ArrayRef {
            Arc::new(BinaryArray::from_iter_values(rows.map(value)))
        };
        for last in [of(10_000..20_000, &few), of(10_000..20_000, &many)] {
            let arrays = [of(0..10_000, &few), last];
            let mut growing = growing(&arrays[0], 20_000).unwrap();
            arrays.iter().for_each(|array| growing.append(array).unwrap());
            let rows = growing.finish(1.0).unwrap();
            assert_eq!(matches!(rows, Rows::Coded(_)), arrays[1].as_binary::<i32>().value(0).starts_with(b"value"));
            let expected: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
            assert_eq!(rows.array(), &arrow_select::concat::concat(&expected).unwrap());
        }
    }

    #[test]
    fn arrays_of_every_layout_become_one() {
        let dictionary: DictionaryArray<UInt32Type> = [Some("a"), None, Some("b"), Some("a")].into_iter().collect();
        let dictionary: ArrayRef = Arc::new(dictionary);
        let other: DictionaryArray<UInt32Type> = [Some("c"), Some("a")].into_iter().collect();
        let lists = |lists: Vec<Option<Vec<Option<i64>>>>| -> ArrayRef {
            Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(lists))
        };
        let fixed =
            |values: &[&[u8; 2]]| -> ArrayRef { Arc::new(FixedSizeBinaryArray::try_from_iter(values.iter()).unwrap()) };
        let strings: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"ab"[..]), None, Some(&b"a longer one"[..])]));
        let cases: [Vec<ArrayRef>; 6] = [
            vec![Arc::new(UInt64Array::from(vec![1, 2])), Arc::new(UInt64Array::from(vec![Some(3), None]))],
            vec![strings.slice(0, 1), strings.slice(1, 2), strings.clone()],
            vec![fixed(&[b"ab", b"cd"]), fixed(&[b"ef"])],
            vec![dictionary.slice(0, 2), dictionary.slice(2, 2)],
            vec![dictionary.clone(), Arc::new(other), dictionary.clone()],
            vec![lists(vec![Some(vec![Some(1), None])]), lists(vec![Some(vec![]), Some(vec![Some(4)])])],
        ];
        for arrays in cases {
            let expected: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
            let expected = arrow_select::concat::concat(&expected).unwrap();
            let found = grown(&arrays);
            match found.data_type() {
                // Their dictionaries may differ where their values do not.
                ArrowType::Dictionary(..) => {
                    let values = |array: &ArrayRef| {
                        let dictionary = array.as_dictionary::<UInt32Type>();
                        let strings = dictionary.downcast_dict::<arrow_array::StringArray>().unwrap();
                        strings.into_iter().map(|value| value.map(str::to_owned)).collect::<Vec<_>>()
                    };
                    assert_eq!(values(&found), values(&expected));
                }
                _ => assert_eq!(&found, &expected),
            }
        }
    }
}
