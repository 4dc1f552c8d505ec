//! What the registry does around every scalar function, so that most of them see plain columns only: NULLs, `LowCardinality`,
//! constants, sparse columns, codes of few strings. The order is ClickHouse's: constants outermost, then dictionaries, then NULLs.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use squall_types::dictionary_results::{self, Maker};
use squall_types::{Coded, Column, DataType, Error, ErrorCode, Result, Rows, Value, checkpoint, kernels};

use crate::function::{Argument, BoundFunction, Defaults, FunctionContext, ScalarFunction};
use crate::properties::Properties;

/// Rows of a large dictionary are better computed themselves where it has more values for each of them.
pub(crate) const VALUES_PER_ROW_MAX: usize = 16;

/// Resolves `function` for these arguments with the default handling that it asks for.
pub(crate) fn bind(
    function: &dyn ScalarFunction,
    arguments: &[Argument],
    context: &FunctionContext,
) -> Result<Arc<dyn BoundFunction>> {
    let defaults = function.defaults();
    if defaults.types
        && let Some(bound) = bind_otherwise(function, arguments, context)?
    {
        return Ok(bound);
    }
    let mut plain: Vec<Argument> = arguments.to_vec();
    let has_dictionary =
        defaults.low_cardinality && arguments.iter().any(|argument| argument.data_type.has_dictionary());
    if has_dictionary {
        for argument in &mut plain {
            argument.data_type = argument.data_type.without_dictionaries();
        }
    }
    if let Some(data_type) = only_null(&defaults, &plain) {
        return Ok(Arc::new(OnlyNull(data_type)));
    }
    let has_nullable = defaults.nulls && plain.iter().any(|argument| argument.data_type.is_nullable());
    if has_nullable {
        for argument in &mut plain {
            argument.data_type = argument.data_type.remove_nullable();
            // The function sees a value of the type even where the constant is NULL; the result is NULL whatever it makes of it.
            if argument.constant.as_ref().is_some_and(Value::is_null) {
                argument.constant = Some(squall_types::default_value(&argument.data_type));
            }
        }
    }
    let inner = function.resolve(&plain, context)?;
    let mut return_type = inner.return_type().clone();
    if has_nullable {
        if defaults.nullable_result && !return_type.is_nullable() && !return_type.can_be_inside_nullable() {
            let message = format!("Nested type {return_type} cannot be inside Nullable type");
            return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        }
        return_type = return_type.to_nullable();
    }
    let mut dictionary = None;
    if has_dictionary && function.keeps_low_cardinality() && can_be_inside_low_cardinality(&return_type) {
        dictionary = kept_dictionary(arguments);
        if dictionary.is_some() {
            return_type = DataType::LowCardinality(Arc::new(return_type));
        }
    }
    if !has_nullable && !has_dictionary && !defaults.constants {
        return Ok(inner);
    }
    Ok(Arc::new(WithDefaults {
        inner,
        return_type,
        handles_nulls: has_nullable,
        expands_dictionaries: has_dictionary,
        dictionary,
        folds_constants: defaults.constants,
        passes_nulls: defaults.nulls,
        maker: Maker::new(),
    }))
}

/// The function over arguments as they are computed, or over the alternatives of one; none where no argument is either.
fn bind_otherwise(
    function: &dyn ScalarFunction,
    arguments: &[Argument],
    context: &FunctionContext,
) -> Result<Option<Arc<dyn BoundFunction>>> {
    let computed: fn(&DataType) -> DataType =
        if function.defaults().halves { DataType::without_names } else { DataType::computed };
    let is_computed = |argument: &Argument| {
        argument.data_type.is_computed_otherwise() && computed(&argument.data_type) != argument.data_type
    };
    if arguments.iter().any(is_computed) {
        let arguments = arguments
            .iter()
            .map(|argument| Argument { data_type: computed(&argument.data_type), constant: argument.constant.clone() });
        let inner = bind(function, &arguments.collect::<Vec<_>>(), context)?;
        return Ok(Some(Arc::new(OnComputed { inner, computed })));
    }
    let is_apart = |argument: &Argument| match argument.data_type {
        DataType::Variant(_) => !function.defaults().variants,
        _ => argument.data_type.is_of_alternatives(),
    };
    let Some(at) = arguments.iter().position(is_apart) else {
        return Ok(None);
    };
    let inner = crate::by_alternative::bind(function.name(), arguments, at, context)?;
    let return_type = inner.return_type().clone();
    Ok(Some(Arc::new(WithDefaults {
        inner,
        return_type,
        handles_nulls: false,
        expands_dictionaries: false,
        dictionary: None,
        folds_constants: false,
        passes_nulls: false,
        maker: Maker::new(),
    })))
}

/// The type of a result that is NULL, or nothing, whatever the arguments hold; none where they matter.
fn only_null(defaults: &Defaults, arguments: &[Argument]) -> Option<DataType> {
    let is_null =
        |argument: &Argument| matches!(&argument.data_type, DataType::Nullable(inner) if **inner == DataType::Nothing);
    let null_parameter = defaults.null_parameters && arguments.iter().skip(1).any(is_null);
    if null_parameter || defaults.nulls && arguments.iter().any(is_null) {
        return Some(DataType::Nullable(Arc::new(DataType::Nothing)));
    }
    let has_nothing = defaults.nulls && arguments.iter().any(|argument| argument.data_type == DataType::Nothing);
    has_nothing.then_some(DataType::Nothing)
}

/// The argument whose dictionary the result may have, or none where all are constants; nothing where it may have none.
fn kept_dictionary(arguments: &[Argument]) -> Option<Option<usize>> {
    let is_low_cardinality = |argument: &Argument| matches!(argument.data_type, DataType::LowCardinality(_));
    if !arguments.iter().any(is_low_cardinality) {
        return None;
    }
    let varying = || arguments.iter().enumerate().filter(|(_, argument)| argument.constant.is_none());
    let ordinary = varying().filter(|(_, argument)| !is_low_cardinality(argument)).count();
    (varying().count() <= 1 && ordinary == 0).then(|| varying().map(|(at, _)| at).next())
}

/// Whether `LowCardinality(data_type)` exists without `allow_suspicious_low_cardinality_types` being asked.
pub(crate) fn can_be_inside_low_cardinality(data_type: &DataType) -> bool {
    let inner = match data_type {
        DataType::Nullable(inner) => inner,
        other => other,
    };
    inner.is_number()
        || inner.is_computed_otherwise()
        || inner.is_wide_integer()
        || inner.is_string_or_fixed_string()
        || matches!(
            inner,
            DataType::Bool
                | DataType::Date
                | DataType::Date32
                | DataType::DateTime(_)
                | DataType::UUID
                | DataType::IPv4
                | DataType::IPv6
                | DataType::Interval(_)
        )
}

/// A function that gets its arguments as the types that calculations take them for.
#[derive(Debug)]
struct OnComputed {
    inner: Arc<dyn BoundFunction>,
    /// The type that stands for another.
    computed: fn(&DataType) -> DataType,
}

impl BoundFunction for OnComputed {
    fn return_type(&self) -> &DataType {
        self.inner.return_type()
    }

    fn properties(&self) -> Properties {
        self.inner.properties()
    }

    fn execute(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        let computed =
            arguments.iter().map(|argument| argument.clone().with_type((self.computed)(argument.data_type())));
        self.inner.execute(&computed.collect::<Vec<_>>(), rows)
    }
}

/// A function of which some argument is the literal NULL (or of the type `Nothing`).
#[derive(Debug)]
struct OnlyNull(DataType);

impl BoundFunction for OnlyNull {
    fn return_type(&self) -> &DataType {
        &self.0
    }

    fn properties(&self) -> Properties {
        Properties { may_throw: false, ..Properties::UNKNOWN }
    }

    fn execute(&self, _arguments: &[Column], rows: usize) -> Result<Column> {
        Column::constant(self.0.clone(), &Value::Null, rows)
    }
}

#[derive(Debug)]
struct WithDefaults {
    inner: Arc<dyn BoundFunction>,
    return_type: DataType,
    /// Some argument is nullable: take the validity off before and put it on afterwards.
    handles_nulls: bool,
    /// Some argument is `LowCardinality` or has it inside: the function itself gets it without.
    expands_dictionaries: bool,
    /// The result is `LowCardinality`; inside, the only argument that is no constant, if there is one.
    dictionary: Option<Option<usize>>,
    folds_constants: bool,
    /// A NULL in makes a NULL out, so that dictionaries can be mapped without their NULL.
    passes_nulls: bool,
    /// Whose results of large dictionaries' values are.
    maker: Maker,
}

impl BoundFunction for WithDefaults {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn properties(&self) -> Properties {
        let passes_nulls = self.handles_nulls && self.return_type.remove_low_cardinality().is_nullable();
        Properties { passes_nulls, ..self.inner.properties() }
    }

    fn execute(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        checkpoint(64 + rows)?;
        if self.folds_constants && !arguments.is_empty() && arguments.iter().all(Column::is_constant) {
            let one =
                arguments.iter().map(|argument| argument.slice(0, 1).materialize()).collect::<Result<Vec<_>>>()?;
            let result = self.on_dictionaries(&one, 1)?.materialize()?;
            return Ok(Column::repeat(&result, rows));
        }
        if let Some(result) = self.on_sparse(arguments, rows)? {
            return Ok(result);
        }
        self.on_dictionaries(arguments, rows)
    }
}

impl WithDefaults {
    /// Runs over the values and the default of a sparse argument, where all others are constants: the result has them in the same places.
    fn on_sparse(&self, arguments: &[Column], rows: usize) -> Result<Option<Column>> {
        let mut varying = arguments.iter().enumerate().filter(|(_, argument)| !argument.is_constant());
        let (Some((at, argument)), None) = (varying.next(), varying.next()) else { return Ok(None) };
        let Some(sparse) = argument.sparse() else { return Ok(None) };
        let listed = sparse.values().len();
        let is_by_row = self.inner.properties().is_deterministic;
        if !is_by_row || listed > rows / 2 || sparse.defaults() == 0 {
            return Ok(None);
        }
        let run = |array: &ArrayRef| {
            let on_some = arguments.iter().enumerate().map(|(position, other)| match position == at {
                true => Column::new(argument.data_type().clone(), array.clone()),
                false => other.slice(0, array.len()),
            });
            self.on_dictionaries(&on_some.collect::<Vec<_>>(), array.len())?.materialize()
        };
        let default = run(sparse.default_row())?;
        if listed == 0 {
            return Ok(Some(Column::repeat(&default, rows)));
        }
        let values = run(sparse.values())?;
        if let Some(result) = sparse.with_values(values.array().clone(), default.array().clone()) {
            return Ok(Some(Column::of_rows(self.return_type.clone(), Rows::Sparse(result))));
        }
        let mut positions = vec![listed as u32; rows];
        sparse.positions().enumerate().for_each(|(at, row)| positions[row] = at as u32);
        Column::concat(&[values, default])?.take(&UInt32Array::from(positions)).map(Some)
    }

    fn on_dictionaries(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        if !self.expands_dictionaries {
            return self.on_codes(arguments, rows);
        }
        if let Some(Some(at)) = self.dictionary
            && let Some(argument) = arguments.get(at)
            && !argument.is_constant()
            && (self.passes_nulls || argument.nulls().is_none())
        {
            return self.on_dictionary(arguments, at, argument);
        }
        let expanded = arguments.iter().map(Column::without_dictionaries).collect::<Result<Vec<_>>>()?;
        let result = self.on_codes(&expanded, rows)?;
        if self.dictionary.is_some() { result.into_low_cardinality() } else { Ok(result) }
    }

    /// Runs over the dictionary of one argument; the other arguments are constants.
    fn on_dictionary(&self, arguments: &[Column], at: usize, argument: &Column) -> Result<Column> {
        let (keys, values) = used_entries(argument.array().as_dictionary::<UInt32Type>())?;
        let inner_type = argument.data_type().remove_low_cardinality().clone();
        let entries = values.len();
        let on_entries: Vec<Column> = arguments
            .iter()
            .enumerate()
            .map(|(position, other)| {
                if position == at {
                    Ok(Column::new(inner_type.clone(), values.clone()))
                } else {
                    other.slice(0, entries).without_dictionaries()
                }
            })
            .collect::<Result<_>>()?;
        let result = self.on_nulls(&on_entries, entries)?.materialize()?;
        let keys = match result.nulls() {
            None => keys,
            Some(nulls) => keys.iter().map(|key| key.filter(|key| nulls.is_valid(*key as usize))).collect(),
        };
        let array = DictionaryArray::try_new(keys, result.without_nulls()?.array().clone())?;
        Ok(Column::new(self.return_type.clone(), Arc::new(array)))
    }

    /// Runs over the values of an argument whose rows are codes of few, where all others are constants: each row gets what was made of its
    /// value.
    fn on_codes(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        let mut varying = arguments.iter().enumerate().filter(|(_, argument)| !argument.is_constant());
        let (Some((at, argument)), None) = (varying.next(), varying.next()) else {
            return self.on_nulls(arguments, rows);
        };
        // Of many values, those are used that rows have.
        let is_worth_it = |coded: &&Coded| coded.has_many_values() || coded.values().len() <= rows;
        let Some(coded) = argument.coded().filter(is_worth_it) else {
            return self.on_nulls(arguments, rows);
        };
        let properties = self.inner.properties();
        let becomes_null = self.handles_nulls && self.inner.return_type().can_be_inside_nullable();
        if !properties.is_deterministic || coded.nulls().is_some() && !becomes_null {
            return self.on_nulls(arguments, rows);
        }
        if let Some(result) = self.on_many_values(arguments, at, coded)? {
            return Ok(result);
        }
        if coded.values().len() > rows * VALUES_PER_ROW_MAX {
            return self.on_nulls(arguments, rows);
        }
        // A value that no row has may be refused, and costs as much as others.
        const ROWS_PER_VALUE: usize = 8;
        let is_small = coded.values().len() * ROWS_PER_VALUE <= rows;
        let (codes, values) = match is_small && !properties.may_throw {
            true => (coded.codes().clone(), coded.values().clone()),
            false => used_entries(coded.dictionary())?,
        };
        let entries = values.len();
        let on_values = arguments.iter().enumerate().map(|(position, other)| match position == at {
            true => Column::new(argument.data_type().clone(), values.clone()),
            false => other.slice(0, entries),
        });
        let result = self.on_nulls(&on_values.collect::<Vec<_>>(), entries)?.materialize()?;
        if result.array().as_binary_opt::<i32>().is_some()
            && let Some(rows) = Coded::rows_of(DictionaryArray::try_new(codes.clone(), result.array().clone())?)?
        {
            return Ok(Column::of_rows(result.data_type().clone(), rows));
        }
        result.take(&codes)
    }

    /// The same where values are many and the results are numbers or strings: these are kept for other rows of the query.
    fn on_many_values(&self, arguments: &[Column], at: usize, coded: &Coded) -> Result<Option<Column>> {
        if !coded.has_many_values() {
            return Ok(None);
        }
        let constants = arguments.iter().enumerate().filter(|(position, _)| *position != at);
        let constants: Vec<ArrayRef> = constants.map(|(_, constant)| constant.array().clone()).collect();
        let compute = |values: &ArrayRef| {
            let on_values = arguments.iter().enumerate().map(|(position, other)| match position == at {
                true => Column::new(other.data_type().clone(), values.clone()),
                false => other.slice(0, values.len()),
            });
            self.on_nulls(&on_values.collect::<Vec<_>>(), values.len())?.to_array()
        };
        let has_null = self.handles_nulls && self.inner.return_type().can_be_inside_nullable();
        let data_type = self.inner.return_type().clone();
        let data_type = if has_null { data_type.to_nullable() } else { data_type };
        match data_type.arrow_type() {
            ArrowType::Binary => {
                let Some((codes, values)) =
                    dictionary_results::strings_of_rows(self.maker, &constants, coded, compute)?
                else {
                    return Ok(None);
                };
                let rows = Coded::rows_of(DictionaryArray::try_new(codes, values)?)?;
                Ok(rows.map(|rows| Column::of_rows(data_type, rows)))
            }
            number if number.primitive_width().is_some_and(|width| width <= size_of::<u64>()) => {
                let results = dictionary_results::numbers_of_rows(self.maker, &constants, coded, compute)?;
                Ok(results.map(|results| Column::new(data_type, results)))
            }
            _ => Ok(None),
        }
    }

    fn on_nulls(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        if !self.handles_nulls {
            return self.inner.execute(arguments, rows);
        }
        let mut nulls: Option<NullBuffer> = None;
        for argument in arguments.iter().filter(|argument| argument.data_type().is_nullable()) {
            let Some(found) = argument.nulls() else { continue };
            if argument.is_constant() {
                return Column::constant(self.inner.return_type().to_nullable(), &Value::Null, rows)
                    .or_else(|_| Column::default_values(self.inner.return_type().to_nullable(), rows));
            }
            nulls = NullBuffer::union(nulls.as_ref(), Some(found));
        }
        let plain = arguments.iter().map(Column::without_nulls).collect::<Result<Vec<_>>>()?;
        let Some(nulls) = nulls else {
            let result = self.inner.execute(&plain, rows)?;
            return result.to_nullable(result.array().nulls().cloned());
        };
        // What lies under a NULL may be anything. A function that refuses it runs again over the other rows alone.
        let result = match self.inner.execute(&plain, rows) {
            Ok(result) => result,
            Err(_) => {
                let mask = BooleanArray::new(nulls.inner().clone(), None);
                let valid_rows = rows - nulls.null_count();
                let valid =
                    plain.iter().map(|argument| argument.filter(&mask, valid_rows)).collect::<Result<Vec<_>>>()?;
                let result = self.inner.execute(&valid, valid_rows)?.materialize()?;
                let mut next = 0u32;
                let positions: UInt32Array = nulls
                    .iter()
                    .map(|is_valid| {
                        is_valid.then(|| {
                            next += 1;
                            next - 1
                        })
                    })
                    .collect();
                result.take(&positions)?
            }
        };
        if !result.data_type().is_nullable() && !result.data_type().can_be_inside_nullable() {
            return Ok(result);
        }
        let result = result.materialize()?;
        let nulls = NullBuffer::union(result.nulls(), Some(&nulls));
        result.to_nullable(nulls)
    }
}

/// The keys and values of a dictionary without the values that no row uses: a function must not see those (it may refuse them).
pub(crate) fn used_entries(dictionary: &DictionaryArray<UInt32Type>) -> Result<(UInt32Array, ArrayRef)> {
    let (values, keys) = (dictionary.values(), dictionary.keys());
    let known: Cow<'_, [u32]> = match keys.nulls() {
        None => Cow::Borrowed(keys.values()),
        Some(_) => Cow::Owned(keys.iter().flatten().collect()),
    };
    let (own, used) = dictionary_results::used_codes(&known);
    if used.len() == values.len() {
        return Ok((keys.clone(), values.clone()));
    }
    let values = kernels::take(&**values, &UInt32Array::from(used))?;
    let mut own_keys = own.values().iter().copied();
    let keys = match keys.nulls() {
        None => own,
        Some(_) => keys.iter().map(|key| key.and_then(|_| own_keys.next())).collect(),
    };
    Ok((keys, values))
}
