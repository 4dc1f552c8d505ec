//! Functions that find rows by key: `dictGet` and its kin in dictionaries, `joinGet` in tables of the engine `Join`.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{FixedSizeBinaryArray, UInt32Array};
use squall_types::{CastMode, CastOptions, Column, DataType, Error, ErrorCode, Result, TupleElement, Value};

mod hierarchy;
mod reverse;

use super::simple::{Call, Function, argument};
use super::tuple::{elements, from_elements};
use crate::function::{BoundFunction, ScalarFunction};
use crate::lookup::{Attribute, Found, KeyedRows, MISSING};

type Bound = Result<Arc<dyn BoundFunction>>;

macro_rules! typed {
    ($($name:literal)*) => {
        &[
            $(
                &Function::new(concat!("dictGet", $name), get).without_dictionary().of_lookups(),
                &Function::new(concat!("dictGet", $name, "OrDefault"), get_or_default).without_dictionary().of_lookups(),
            )*
        ]
    };
}

/// `dictGetUInt8` and the like: the attribute must have the type of the name.
pub(crate) const TYPED: &[&dyn ScalarFunction] = typed!(
    "UInt8" "UInt16" "UInt32" "UInt64" "Int8" "Int16" "Int32" "Int64" "Float32" "Float64" "Date" "DateTime" "UUID" "IPv4"
    "IPv6" "String"
);

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("dictGet", get).without_dictionary().of_lookups(),
    &Function::new("dictGetOrDefault", get_or_default).without_dictionary().of_lookups(),
    &Function::new("dictGetOrNull", get).without_dictionary().of_lookups(),
    &Function::new("dictHas", has).without_dictionary().of_lookups(),
    &Function::new("dictGetHierarchy", hierarchy::resolve_chain).without_dictionary().of_lookups(),
    &Function::new("dictGetRoot", hierarchy::resolve_root).without_dictionary().of_lookups(),
    &Function::new("dictIsIn", hierarchy::resolve_is_in).without_dictionary().of_lookups(),
    &Function::new("dictGetChildren", hierarchy::resolve_children).without_dictionary().of_lookups(),
    &Function::new("dictGetDescendants", hierarchy::resolve_descendants).without_dictionary().of_lookups(),
    &Function::new("dictGetKeys", reverse::resolve).without_dictionary().of_lookups(),
    &Function::new("joinGet", join_get).with_nulls().without_dictionary().of_lookups(),
    &Function::new("joinGetOrNull", join_get).with_nulls().without_dictionary().of_lookups(),
];

/// The dictionary that the first argument names.
fn dictionary(call: &Call<'_>) -> Result<Arc<dyn KeyedRows>> {
    let Some(name) = call.constant(0).and_then(Value::as_str) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {} of first argument of function {}, expected a const string.",
                call.type_of(0),
                call.name
            ),
        ));
    };
    match &call.context.lookups {
        Some(lookups) => lookups.dictionary(name),
        None => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found"))),
    }
}

fn check_count(call: &Call<'_>, count: usize) -> Result<()> {
    let passed = call.arguments.len();
    if passed == count {
        return Ok(());
    }
    let message =
        format!("Number of arguments for function {} doesn't match: passed {passed} should be {count}", call.name);
    Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
}

/// Which attributes a call wants.
struct Wanted {
    positions: Vec<usize>,
    is_tuple: bool,
}

impl Wanted {
    fn of(call: &Call<'_>, rows: &dyn KeyedRows) -> Result<Self> {
        let refused = || {
            Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Illegal type {} of second argument of function {}, expected a const string or const tuple of const \
                     strings.",
                    call.type_of(1),
                    call.name
                ),
            )
        };
        let position = |name: &Value| {
            let name = name.as_str().ok_or_else(refused)?;
            rows.attributes()
                .iter()
                .position(|attribute| &*attribute.name == name)
                .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("No such attribute '{name}'")))
        };
        match call.constant(1).ok_or_else(refused)? {
            Value::Tuple(names) => {
                let positions: Vec<usize> = names.iter().map(position).collect::<Result<_>>()?;
                // A tuple of one name gives no tuple, as in ClickHouse.
                Ok(Self { is_tuple: positions.len() != 1, positions })
            }
            name => Ok(Self { positions: vec![position(name)?], is_tuple: false }),
        }
    }

    /// The type of the result where the attributes have these types.
    fn result_type(&self, rows: &dyn KeyedRows, of: impl Fn(&Attribute) -> DataType) -> DataType {
        let attributes = self.positions.iter().map(|position| &rows.attributes()[*position]);
        if self.is_tuple {
            let element =
                |attribute: &Attribute| TupleElement { name: Some(attribute.name.clone()), data_type: of(attribute) };
            return DataType::Tuple(attributes.map(element).collect());
        }
        attributes.map(of).next().unwrap_or(DataType::Nothing)
    }

    /// One column of the columns of the attributes.
    fn result(&self, data_type: &DataType, columns: Vec<Column>, rows: usize) -> Result<Column> {
        if self.is_tuple {
            return from_elements(data_type, &columns, rows);
        }
        columns.into_iter().next().ok_or_else(|| Error::logical("a lookup of no attribute"))
    }
}

/// How arguments become the columns that are looked up.
struct KeyReader {
    /// The argument of the key. That of the point, where rows hold for ranges, follows.
    at: usize,
    types: Vec<DataType>,
    range: Option<DataType>,
    is_simple: bool,
    is_of_networks: bool,
    options: CastOptions,
}

impl KeyReader {
    fn of(call: &Call<'_>, at: usize, rows: &dyn KeyedRows) -> Result<Self> {
        let types: Vec<DataType> = rows.keys().iter().map(|(_, data_type)| data_type.clone()).collect();
        let given = call.type_of(at);
        let options = CastOptions::new(CastMode::Accurate, call.session_zone()?);
        if rows.is_of_networks() {
            check_address(given)?;
            return Ok(Self { at, types, range: None, is_simple: false, is_of_networks: true, options });
        }
        if rows.range().is_some() {
            let point = call.type_of(at + 1).inner();
            if !(point.is_number() || point.is_date_or_time() || *point == DataType::IPv4 || *point == DataType::Bool) {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_COLUMN,
                    format!(
                        "Illegal type {} of fourth argument of function {} must be convertible to Int64",
                        call.type_of(at + 1),
                        call.name
                    ),
                ));
            }
        }
        let is_tuple = matches!(given, DataType::Tuple(_));
        if rows.is_simple() && (is_tuple || matches!(given, DataType::Array(_) | DataType::Map(..))) {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Illegal type {given} of argument of function toUInt64"),
            ));
        }
        if !rows.is_simple() && !is_tuple && types.len() > 1 {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Third argument of function {} must be tuple when dictionary is complex and key contains more than 1 \
                     attribute. Actual type {given}",
                    call.name
                ),
            ));
        }
        if let DataType::Tuple(elements) = given
            && elements.len() != types.len()
        {
            return Err(Error::new(
                ErrorCode::TYPE_MISMATCH,
                format!("Invalid number of key columns: the key has {}", types.len()),
            ));
        }
        let (range, is_simple) = (rows.range().cloned(), rows.is_simple());
        Ok(Self { at, types, range, is_simple, is_of_networks: false, options })
    }

    /// The columns to look up, from the arguments.
    fn lookup(&self, arguments: &[Column]) -> Result<Vec<Column>> {
        let key = argument(arguments, self.at)?;
        if self.is_of_networks {
            return Ok(vec![addresses(key)?]);
        }
        let mut columns = self.read(key)?;
        if let Some(range) = &self.range {
            let point = argument(arguments, self.at + 1)?.materialize()?;
            let nullable = point.data_type().remove_low_cardinality().is_nullable();
            let to = if nullable { range.to_nullable() } else { range.clone() };
            columns.push(squall_types::cast(&point, &to, &self.options)?.materialize()?);
        }
        Ok(columns)
    }

    fn read(&self, key: &Column) -> Result<Vec<Column>> {
        let key = key.materialize()?;
        let columns =
            if self.is_simple || !matches!(key.data_type(), DataType::Tuple(_)) { vec![key] } else { elements(&key)? };
        let convert = |(column, to): (Column, &DataType)| {
            let from = column.data_type().remove_low_cardinality().clone();
            let to = if from.is_nullable() { to.to_nullable() } else { to.clone() };
            squall_types::cast(&column, &to, &self.options)?.materialize()
        };
        columns.into_iter().zip(&self.types).map(convert).collect()
    }
}

/// The type that addresses have, alone or in a tuple.
fn address_type(given: &DataType) -> &DataType {
    match given {
        DataType::Tuple(elements) if elements.len() == 1 => elements[0].data_type.inner(),
        other => other.inner(),
    }
}

fn check_address(given: &DataType) -> Result<()> {
    match address_type(given) {
        DataType::IPv4 | DataType::UInt32 | DataType::IPv6 | DataType::FixedString(16) => Ok(()),
        _ => Err(Error::new(
            ErrorCode::TYPE_MISMATCH,
            "Key does not match, expected either IPv4 (or UInt32) or IPv6 (or FixedString(16))",
        )),
    }
}

/// Addresses as IPv6's; IPv4's are those of `::ffff:0.0.0.0/96`.
fn addresses(key: &Column) -> Result<Column> {
    let key = key.materialize()?;
    let key = match key.data_type() {
        DataType::Tuple(_) => elements(&key)?.into_iter().next().ok_or_else(|| Error::logical("an empty tuple"))?,
        _ => key,
    };
    let key = key.materialize()?.without_low_cardinality()?;
    if matches!(key.data_type().inner(), DataType::IPv6 | DataType::FixedString(16)) {
        return Ok(key);
    }
    let mapped = |number: u32| std::net::Ipv4Addr::from(number).to_ipv6_mapped().octets();
    let numbers = key.as_primitive::<UInt32Type>()?;
    let bytes = numbers.iter().map(|number| number.map(mapped));
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 16)?;
    Ok(Column::new(DataType::Nullable(Arc::new(DataType::IPv6)), Arc::new(array)))
}

/// The values of an attribute in the found rows, `default` in others: one row, or one for each.
fn values(values: &Column, found: &Found, default: &Column) -> Result<Column> {
    if !found.rows.contains(&MISSING) {
        return values.take(&UInt32Array::from(found.rows.clone()));
    }
    // Only what is found is copied: the rows may be many.
    let there: Vec<u32> = found.rows.iter().copied().filter(|row| *row != MISSING).collect();
    let there = values.take(&UInt32Array::from(there))?;
    let is_one = default.is_constant() || default.rows() == 1;
    let default = if is_one { default.slice(0, 1).materialize()? } else { default.clone() };
    let (mut next, first_default) = (0u32, there.rows() as u32);
    let place = |(at, row): (usize, &u32)| {
        if *row == MISSING {
            return first_default + if is_one { 0 } else { at as u32 };
        }
        next += 1;
        next - 1
    };
    let places: Vec<u32> = found.rows.iter().enumerate().map(place).collect();
    Column::concat(&[there, default])?.take(&UInt32Array::from(places))
}

/// `dictGet`, `dictGetOrNull`, `dictGetType`.
fn get(call: &Call<'_>) -> Bound {
    let rows = dictionary(call)?;
    check_count(call, 3 + usize::from(rows.range().is_some()))?;
    let wanted = Wanted::of(call, &*rows)?;
    check_type(call, &*rows, &wanted)?;
    let reader = KeyReader::of(call, 2, &*rows)?;
    let or_null = call.name.ends_with("OrNull");
    let of = |attribute: &Attribute| match or_null {
        true => attribute.data_type.to_nullable(),
        false => attribute.data_type.clone(),
    };
    let result = wanted.result_type(&*rows, of);
    call.bind(result.clone(), move |arguments, count| {
        let found = rows.find(&reader.lookup(arguments)?, count)?;
        let column = |position: &usize| {
            let attribute = &rows.attributes()[*position];
            if !or_null {
                return values(&found.attributes[*position], &found, &attribute.default);
            }
            let nullable = attribute.data_type.to_nullable();
            let null = Column::constant(nullable.clone(), &Value::Null, 1)?;
            values(&found.attributes[*position].clone().with_type(nullable), &found, &null)
        };
        let columns = wanted.positions.iter().map(column).collect::<Result<Vec<_>>>()?;
        wanted.result(&result, columns, count)
    })
}

/// `dictGetOrDefault`, `dictGetTypeOrDefault`.
fn get_or_default(call: &Call<'_>) -> Bound {
    let rows = dictionary(call)?;
    // The default comes last.
    let default_at = 3 + usize::from(rows.range().is_some());
    check_count(call, default_at + 1)?;
    let wanted = Wanted::of(call, &*rows)?;
    check_type(call, &*rows, &wanted)?;
    let reader = KeyReader::of(call, 2, &*rows)?;
    let given = match call.type_of(default_at) {
        DataType::Tuple(elements) if wanted.is_tuple => elements.len(),
        _ if wanted.is_tuple => 0,
        _ => 1,
    };
    if given != wanted.positions.len() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Wrong argument for function {}. Default must be a tuple of as many values as attributes",
                call.name
            ),
        ));
    }
    let result = wanted.result_type(&*rows, |attribute| attribute.data_type.clone());
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(result.clone(), move |arguments, count| {
        let found = rows.find(&reader.lookup(arguments)?, count)?;
        let defaults = argument(arguments, default_at)?;
        let defaults = if wanted.is_tuple { elements(defaults)? } else { vec![defaults.clone()] };
        let column = |(position, default): (&usize, &Column)| {
            let attribute = &rows.attributes()[*position];
            let default = squall_types::cast(&default.materialize()?, &attribute.data_type, &options)?;
            values(&found.attributes[*position], &found, &default)
        };
        let columns = wanted.positions.iter().zip(&defaults).map(column).collect::<Result<Vec<_>>>()?;
        wanted.result(&result, columns, count)
    })
}

/// The type in a function's name must be the attribute's.
fn check_type(call: &Call<'_>, rows: &dyn KeyedRows, wanted: &Wanted) -> Result<()> {
    let of_name = call.name.trim_start_matches("dictGet").trim_end_matches("OrDefault").trim_end_matches("OrNull");
    if of_name.is_empty() {
        return Ok(());
    }
    let expected = DataType::parse(of_name)?;
    for position in &wanted.positions {
        let attribute = &rows.attributes()[*position];
        let is_same = match (&attribute.data_type.remove_nullable(), &expected) {
            (DataType::DateTime(_), DataType::DateTime(_)) => true,
            (own, expected) => own == expected,
        };
        if !is_same {
            return Err(Error::new(
                ErrorCode::TYPE_MISMATCH,
                format!(
                    "Function {} dictionary attribute has different type {} expected {expected}",
                    call.name, attribute.data_type
                ),
            ));
        }
    }
    Ok(())
}

fn has(call: &Call<'_>) -> Bound {
    let rows = dictionary(call)?;
    check_count(call, 2 + usize::from(rows.range().is_some()))?;
    let reader = KeyReader::of(call, 1, &*rows)?;
    call.bind(DataType::UInt8, move |arguments, count| {
        let found = rows.find(&reader.lookup(arguments)?, count)?;
        let is_there = found.rows.iter().map(|row| u8::from(*row != MISSING)).collect();
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, is_there))
    })
}

/// `joinGet`, `joinGetOrNull`.
fn join_get(call: &Call<'_>) -> Bound {
    let passed = call.arguments.len();
    if passed < 3 {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!(
                "Number of arguments for function '{}' doesn't match: passed {passed}, should be greater or equal to 3",
                call.name
            ),
        ));
    }
    let text = |at: usize, which: &str| {
        call.constant(at).and_then(Value::as_str).ok_or_else(|| {
            Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Illegal type {} of {which} argument of function {}, expected a const string",
                    call.type_of(at),
                    call.name
                ),
            )
        })
    };
    let (table, name) = (text(0, "first")?, text(1, "second")?);
    let Some(lookups) = &call.context.lookups else {
        return Err(Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {table} does not exist")));
    };
    let rows = lookups.join_table(table)?;
    let keys = rows.keys();
    if keys.len() != passed - 2 {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!(
                "Number of join_keys and number of right table key columns for function {} don't match: passed {}, should \
                 be equal to {}",
                call.name,
                passed - 2,
                keys.len()
            ),
        ));
    }
    let plain = |data_type: &DataType| data_type.remove_low_cardinality().remove_nullable();
    for (at, (_, needed)) in keys.iter().enumerate() {
        let given = call.type_of(at + 2);
        if plain(given) != plain(needed) {
            return Err(Error::new(
                ErrorCode::TYPE_MISMATCH,
                format!("Type mismatch in joinGet key {at}: found type {given}, while the needed type is {needed}"),
            ));
        }
    }
    let is_key = keys.iter().any(|(key, _)| &**key == name);
    let position = rows.attributes().iter().position(|attribute| &*attribute.name == name && !is_key);
    let position = position.ok_or_else(|| {
        Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, format!("StorageJoin doesn't contain column {name}"))
    })?;
    let or_null = call.name.ends_with("OrNull");
    let own = rows.attributes()[position].data_type.clone();
    let result = if or_null { own.to_nullable() } else { own };
    call.bind(result.clone(), move |arguments, count| {
        let keys = arguments.iter().skip(2).map(Column::materialize);
        let found = rows.find(&keys.collect::<Result<Vec<_>>>()?, count)?;
        let column = found.attributes[position].clone().with_type(result.clone());
        if or_null {
            let null = Column::constant(result.clone(), &Value::Null, 1)?;
            return values(&column, &found, &null);
        }
        values(&column, &found, &rows.attributes()[position].default)
    })
}
