//! A log's table: its columns, and how a block is made of entries. Columns are filled one at a time, straight into arrays: a storm of
//! queries makes many entries, and most of what they say is what the one before said.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, DictionaryArray, FixedSizeBinaryArray, ListArray, StructArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use squall_planner::{ColumnDefault, ColumnDescription, DefaultKind};
use squall_runtime::ProfileEvent;
use squall_types::{Block, Column, ColumnBuilder, DataType, Error, Result, Schema, Value};

/// The type of `ProfileEvents`.
pub(super) const EVENTS: &str = "Map(LowCardinality(String), UInt64)";

type Get<E, T> = Box<dyn Fn(&E) -> T + Send + Sync>;
type Borrow<E, T> = Box<dyn for<'a> Fn(&'a E) -> &'a T + Send + Sync>;

type Shared<E> = Box<dyn Fn(&[E], &DataType) -> Result<Column> + Send + Sync>;

/// How a column is had from entries.
enum Fill<E> {
    /// Any integer, date, time or enum, in the low bits.
    Number(Get<E, u64>),
    Float(Get<E, f64>),
    Text(Borrow<E, str>),
    /// `IPv6`.
    Address(Get<E, [u8; 16]>),
    /// `Array(UInt64)`.
    Numbers(Borrow<E, [u64]>),
    /// [`EVENTS`].
    Events(Borrow<E, [(ProfileEvent, u64)]>),
    /// Any type, all entries at once.
    Shared(Shared<E>),
    Constant(Value),
}

/// The columns of a log over entries of type `E`.
pub(super) struct LogTable<E> {
    columns: Vec<ColumnDescription>,
    /// One for each stored column.
    fills: Vec<Fill<E>>,
    schema: Arc<Schema>,
}

impl<E> LogTable<E> {
    /// A table without columns.
    pub(super) fn new() -> Self {
        Self { columns: Vec::new(), fills: Vec::new(), schema: Arc::default() }
    }

    fn add(mut self, name: &str, data_type: &str, fill: Fill<E>) -> Self {
        debug_assert!(DataType::parse(data_type).is_ok(), "{name} {data_type}");
        let data_type = DataType::parse(data_type).unwrap_or(DataType::String);
        let mut schema = Schema::clone(&self.schema);
        schema.fields.push((name.into(), data_type.clone()));
        self.schema = Arc::new(schema);
        self.columns.push(ColumnDescription::new(name, data_type));
        self.fills.push(fill);
        self
    }

    /// Adds a column of a number of any kind.
    #[must_use]
    pub(super) fn number(self, name: &str, data_type: &str, get: impl Fn(&E) -> u64 + Send + Sync + 'static) -> Self {
        self.add(name, data_type, Fill::Number(Box::new(get)))
    }

    /// Adds a `Float64`.
    #[must_use]
    pub(super) fn float(self, name: &str, get: impl Fn(&E) -> f64 + Send + Sync + 'static) -> Self {
        self.add(name, "Float64", Fill::Float(Box::new(get)))
    }

    /// Adds a `String` or `LowCardinality(String)`.
    #[must_use]
    pub(super) fn text(
        self,
        name: &str,
        data_type: &str,
        get: impl for<'a> Fn(&'a E) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        self.add(name, data_type, Fill::Text(Box::new(get)))
    }

    /// Adds an `IPv6`.
    #[must_use]
    pub(super) fn address(self, name: &str, get: impl Fn(&E) -> [u8; 16] + Send + Sync + 'static) -> Self {
        self.add(name, "IPv6", Fill::Address(Box::new(get)))
    }

    /// Adds an `Array(UInt64)`.
    #[must_use]
    pub(super) fn numbers(self, name: &str, get: impl for<'a> Fn(&'a E) -> &'a [u64] + Send + Sync + 'static) -> Self {
        self.add(name, "Array(UInt64)", Fill::Numbers(Box::new(get)))
    }

    /// Adds a map of profile events.
    #[must_use]
    pub(super) fn events(
        self,
        name: &str,
        get: impl for<'a> Fn(&'a E) -> &'a [(ProfileEvent, u64)] + Send + Sync + 'static,
    ) -> Self {
        self.add(name, EVENTS, Fill::Events(Box::new(get)))
    }

    /// Adds a column of any type whose value is computed once for all entries of one key, mostly the address of what they share.
    #[must_use]
    pub(super) fn shared(
        self,
        name: &str,
        data_type: &str,
        key: impl Fn(&E) -> usize + Send + Sync + 'static,
        get: impl Fn(&E) -> Value + Send + Sync + 'static,
    ) -> Self {
        let fill = move |entries: &[E], data_type: &DataType| {
            let mut values = ColumnBuilder::new(data_type.clone());
            let mut known: HashMap<usize, u32> = HashMap::new();
            let mut last: Option<(usize, u32)> = None;
            let mut positions: Vec<u32> = Vec::with_capacity(entries.len());
            for entry in entries {
                let key = key(entry);
                let position = match last {
                    Some((before, position)) if before == key => position,
                    _ => match known.get(&key) {
                        Some(position) => *position,
                        None => {
                            values.append(&get(entry))?;
                            let next = known.len() as u32;
                            *known.entry(key).or_insert(next)
                        }
                    },
                };
                last = Some((key, position));
                positions.push(position);
            }
            let values = values.finish()?;
            if values.rows() == 1 { Ok(Column::repeat(&values, entries.len())) } else { values.take(&positions.into()) }
        };
        self.add(name, data_type, Fill::Shared(Box::new(fill)))
    }

    /// Adds a column that says the same of every entry.
    #[must_use]
    pub(super) fn constant(self, name: &str, data_type: &str, value: Value) -> Self {
        self.add(name, data_type, Fill::Constant(value))
    }

    /// Adds a name for an expression over the other columns.
    #[must_use]
    pub(super) fn alias(mut self, name: &str, data_type: &str, expression: &str) -> Self {
        self.columns.push(ColumnDescription {
            default: Some(ColumnDefault { kind: DefaultKind::Alias, expression: expression.into() }),
            ..ColumnDescription::new(name, DataType::parse(data_type).unwrap_or(DataType::String))
        });
        self
    }

    /// All columns, as CREATE TABLE would have them.
    pub(super) fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }

    /// The entries as rows of the stored columns.
    ///
    /// # Errors
    /// Where more than 2 GiB of text come together.
    pub(super) fn block(&self, entries: &[E]) -> Result<Block> {
        let columns = self.fills.iter().zip(self.schema.types()).map(|(fill, data_type)| {
            let array = match fill {
                Fill::Number(get) => numbers(data_type, entries, get)?,
                Fill::Float(get) => primitive::<Float64Type>(entries.iter().map(get)),
                Fill::Text(get) if *data_type == DataType::String => return strings(entries, get),
                Fill::Text(get) => dictionary(entries.iter().map(get))?,
                Fill::Address(get) => {
                    let bytes: Vec<u8> = entries.iter().flat_map(get).collect();
                    Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?)
                }
                Fill::Numbers(get) => {
                    let items: Vec<u64> = entries.iter().flat_map(|entry| get(entry).iter().copied()).collect();
                    let lengths = entries.iter().map(|entry| get(entry).len());
                    let offsets = OffsetBuffer::from_lengths(lengths);
                    let item = DataType::UInt64.arrow_list_item();
                    Arc::new(ListArray::try_new(item, offsets, Arc::new(UInt64Array::from(items)), None)?)
                }
                Fill::Events(get) => events(data_type, entries, get)?,
                Fill::Shared(fill) => return fill(entries, data_type),
                Fill::Constant(value) => return Column::constant(data_type.clone(), value, entries.len()),
            };
            Ok(Column::new(data_type.clone(), array))
        });
        Ok(Block::new(self.schema.clone(), columns.collect::<Result<_>>()?, entries.len()))
    }
}

fn primitive<T: ArrowPrimitiveType>(values: impl Iterator<Item = T::Native>) -> ArrayRef {
    Arc::new(arrow_array::PrimitiveArray::<T>::from_iter_values(values))
}

fn numbers<E>(data_type: &DataType, entries: &[E], get: &Get<E, u64>) -> Result<ArrayRef> {
    let values = entries.iter().map(get);
    Ok(match data_type.arrow_type() {
        arrow_schema::DataType::UInt8 => primitive::<UInt8Type>(values.map(|value| value as u8)),
        arrow_schema::DataType::UInt16 => primitive::<UInt16Type>(values.map(|value| value as u16)),
        arrow_schema::DataType::UInt32 => primitive::<UInt32Type>(values.map(|value| value as u32)),
        arrow_schema::DataType::UInt64 => primitive::<UInt64Type>(values),
        arrow_schema::DataType::Int8 => primitive::<Int8Type>(values.map(|value| value as i8)),
        arrow_schema::DataType::Int16 => primitive::<Int16Type>(values.map(|value| value as i16)),
        arrow_schema::DataType::Int32 => primitive::<Int32Type>(values.map(|value| value as i32)),
        arrow_schema::DataType::Int64 => primitive::<Int64Type>(values.map(|value| value as i64)),
        other => return Err(Error::logical(format!("numbers in a column of {other}"))),
    })
}

/// Texts of any kind; often all are one.
fn strings<E>(entries: &[E], get: &Borrow<E, str>) -> Result<Column> {
    let is_same = |text: &str, first: &str| std::ptr::eq(text, first) || text == first;
    match entries.first().map(get) {
        Some(first) if entries.iter().all(|entry| is_same(get(entry), first)) => {
            Column::constant(DataType::String, &Value::string(first.as_bytes()), entries.len())
        }
        _ => Ok(Column::new(DataType::String, Arc::new(BinaryArray::from_iter_values(entries.iter().map(get))))),
    }
}

/// Texts that repeat: mostly the one before.
fn dictionary<'a>(texts: impl Iterator<Item = &'a str>) -> Result<ArrayRef> {
    let mut index: HashMap<&str, u32> = HashMap::new();
    let mut values: Vec<&str> = Vec::new();
    let mut last: Option<(&str, u32)> = None;
    let mut key_of = |text: &'a str| match last {
        Some((before, key)) if std::ptr::eq(before, text) || before == text => key,
        _ => {
            let key = *index.entry(text).or_insert_with(|| {
                values.push(text);
                values.len() as u32 - 1
            });
            last = Some((text, key));
            key
        }
    };
    let keys: UInt32Array = texts.map(|text| Some(key_of(text))).collect();
    let values = Arc::new(BinaryArray::from_iter_values(values));
    Ok(Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, values)?))
}

/// Maps whose keys are the numbers of events in a dictionary of all their names.
fn events<E>(data_type: &DataType, entries: &[E], get: &Borrow<E, [(ProfileEvent, u64)]>) -> Result<ArrayRef> {
    let all = || entries.iter().flat_map(|entry| get(entry).iter());
    let keys: UInt32Array = all().map(|(event, _)| Some(*event as u32)).collect();
    let names = Arc::new(BinaryArray::from_iter_values(ProfileEvent::ALL.iter().map(|event| event.name())));
    let keys = Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, names)?);
    let values = primitive::<UInt64Type>(all().map(|(_, value)| *value));
    let offsets = OffsetBuffer::from_lengths(entries.iter().map(|entry| get(entry).len()));
    let entry_type = data_type.map_entry_type();
    let pairs = StructArray::try_new(entry_type.arrow_fields(), vec![keys, values], None)?;
    Ok(Arc::new(ListArray::try_new(entry_type.arrow_list_item(), offsets, Arc::new(pairs), None)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Entry {
        number: i64,
        text: String,
        events: Vec<(ProfileEvent, u64)>,
    }

    #[test]
    fn entries_become_rows() {
        let table = LogTable::<Entry>::new()
            .number("n", "Int16", |entry| entry.number as u64)
            .text("t", "String", |entry| &entry.text)
            .text("low", "LowCardinality(String)", |entry| &entry.text)
            .events("e", |entry| &entry.events)
            .constant("c", "UInt8", Value::UInt64(7))
            .alias("a", "Int16", "n");
        let entry = |number, text: &str, events: &[(ProfileEvent, u64)]| Entry {
            number,
            text: text.to_owned(),
            events: events.to_vec(),
        };
        let entries =
            [entry(-1, "x", &[]), entry(2, "x", &[(ProfileEvent::Query, 1), (ProfileEvent::SelectedRows, 5)])];
        let block = table.block(&entries).unwrap();
        assert_eq!((block.rows(), table.columns().len(), block.columns().len()), (2, 6, 5));
        let value = |name: &str, row| block.column(block.schema().position(name).unwrap()).value(row);
        assert_eq!(value("n", 0), Value::Int64(-1));
        assert_eq!((value("t", 1), value("low", 1)), (Value::from("x"), Value::from("x")));
        assert_eq!(value("e", 0), Value::Map([].into()));
        let pairs = [(Value::from("Query"), Value::UInt64(1)), (Value::from("SelectedRows"), Value::UInt64(5))];
        assert_eq!(value("e", 1), Value::Map(pairs.into()));
        assert_eq!(value("c", 1), Value::UInt64(7));
    }
}
