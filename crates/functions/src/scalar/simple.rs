//! How most scalar functions are written down: a name, a function that settles the types, and a closure that computes. With it the
//! readers and builders of strings that they share.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrowPrimitiveType, BinaryArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::OffsetBuffer;
use squall_types::calendar::TimeZone;
use squall_types::text::TextOptions;
use squall_types::{
    CastOptions, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value, cast, checkpoint, grow, reserve,
};

use crate::function::{Argument, BoundFunction, Defaults, FunctionContext, ScalarFunction};
use crate::properties::{Lazy, Monotonic, Properties};

/// A function by name, with what settles its types.
pub(crate) struct Function {
    name: &'static str,
    resolve: fn(&Call<'_>) -> Result<Arc<dyn BoundFunction>>,
    defaults: Defaults,
    keeps_low_cardinality: bool,
    properties: Properties,
    looks_up: bool,
    stands_alone: bool,
    shows_names: bool,
    searches_words: bool,
}

impl Function {
    /// A function whose NULLs, dictionaries and constants the registry handles.
    pub const fn new(name: &'static str, resolve: fn(&Call<'_>) -> Result<Arc<dyn BoundFunction>>) -> Self {
        let defaults = Defaults {
            nulls: true,
            null_parameters: false,
            low_cardinality: true,
            constants: true,
            types: true,
            halves: false,
            variants: false,
            nullable_result: false,
        };
        let properties = Properties::UNKNOWN;
        Self {
            name,
            resolve,
            defaults,
            keeps_low_cardinality: true,
            properties,
            looks_up: false,
            stands_alone: false,
            shows_names: false,
            searches_words: false,
        }
    }

    /// The function has a result for all values of the types that it takes.
    pub const fn never_throws(mut self) -> Self {
        self.properties.may_throw = false;
        self
    }

    /// Some arguments count only for some rows.
    pub const fn lazy(mut self, lazy: Lazy) -> Self {
        self.properties.lazy = Some(lazy);
        self
    }

    /// A call of constants is left to run: for what it does, or as its result must be no constant.
    pub const fn not_folded(mut self) -> Self {
        self.properties.is_foldable = false;
        self
    }

    /// The result depends on the arguments' types alone.
    pub const fn of_types(mut self) -> Self {
        self.properties.needs_only_types = true;
        self
    }

    /// The function reads its constants from argument `at` on when it is bound.
    pub const fn bound_from(mut self, at: usize) -> Self {
        self.properties.bound_from = at;
        self
    }

    /// The function tells how two values are ordered.
    pub const fn compares(mut self) -> Self {
        self.properties.compares = true;
        self
    }

    /// The result never decreases when the first argument, a date or a time, grows.
    pub const fn monotonic(mut self) -> Self {
        self.properties.monotonic = Some(Monotonic::GROWS);
        self
    }

    /// The function gives other results for the same arguments.
    pub const fn random(mut self) -> Self {
        self.properties.is_deterministic = false;
        self.not_folded()
    }

    /// The result is of the run, its user or the server.
    pub const fn of_moment(mut self) -> Self {
        self.properties.is_of_moment = true;
        self
    }

    /// The function finds rows by key in what its first argument names.
    pub const fn of_lookups(mut self) -> Self {
        self.looks_up = true;
        self.of_moment().not_folded()
    }

    /// Its name alone is a call of it.
    pub const fn standing_alone(mut self) -> Self {
        self.stands_alone = true;
        self
    }

    /// Its third argument says how texts are cut into words.
    pub const fn searching_words(mut self) -> Self {
        self.searches_words = true;
        self
    }

    /// The names of its arguments come as a constant beside its first one.
    pub const fn showing_names(mut self) -> Self {
        self.shows_names = true;
        self
    }

    /// The function sees NULLs itself.
    pub const fn with_nulls(mut self) -> Self {
        self.defaults.nulls = false;
        self
    }

    /// A nullable argument is refused where the result is of a type that does not take NULL.
    pub const fn with_nullable_result(mut self) -> Self {
        self.defaults.nullable_result = true;
        self
    }

    /// The function sees the NULLs of its first argument itself; a NULL that is written in the place of another is its result.
    pub const fn with_null_values(mut self) -> Self {
        self.defaults.null_parameters = true;
        self.with_nulls()
    }

    /// The function runs for each row even where all arguments are constants.
    pub const fn with_constants(mut self) -> Self {
        self.defaults.constants = false;
        self
    }

    /// The function sees `LowCardinality` itself.
    pub const fn with_dictionaries(mut self) -> Self {
        self.defaults.low_cardinality = false;
        self
    }

    /// The function takes values of any type as they are, and does nothing with them that depends on it.
    pub const fn of_any_type(mut self) -> Self {
        self.defaults.types = false;
        self
    }

    /// The function sees a `BFloat16` itself, whose column is one of `Float32`.
    pub const fn with_halves(mut self) -> Self {
        self.defaults.halves = true;
        self
    }

    /// The function sees a `Variant` itself.
    pub const fn with_variants(mut self) -> Self {
        self.defaults.variants = true;
        self
    }

    /// The result is never `LowCardinality`.
    pub const fn without_dictionary(mut self) -> Self {
        self.keeps_low_cardinality = false;
        self
    }
}

impl ScalarFunction for Function {
    fn name(&self) -> &'static str {
        self.name
    }

    fn resolve(&self, arguments: &[Argument], context: &FunctionContext) -> Result<Arc<dyn BoundFunction>> {
        (self.resolve)(&Call { name: self.name, arguments, context, properties: self.properties })
    }

    fn properties(&self) -> Properties {
        self.properties
    }

    fn looks_up(&self) -> bool {
        self.looks_up
    }

    fn stands_alone(&self) -> bool {
        self.stands_alone
    }

    fn shows_names(&self) -> bool {
        self.shows_names
    }

    fn searches_words(&self) -> bool {
        self.searches_words
    }

    fn keeps_low_cardinality(&self) -> bool {
        self.keeps_low_cardinality
    }

    fn defaults(&self) -> Defaults {
        self.defaults
    }
}

/// A function asked for with these arguments.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub name: &'static str,
    pub arguments: &'a [Argument],
    pub context: &'a FunctionContext,
    /// What the function is that this call binds.
    pub properties: Properties,
}

impl<'a> Call<'a> {
    /// The same call for types of which it has a result for all values.
    pub fn never_throws(mut self) -> Self {
        self.properties.may_throw = false;
        self
    }

    /// The same call for a first argument with which its result grows between these values.
    pub fn monotonic(self, values: Option<(i64, i64)>) -> Self {
        self.monotonic_as(values.map(Monotonic::within))
    }

    /// The same call for types with which it is monotonic so.
    pub fn monotonic_as(mut self, monotonic: Option<Monotonic>) -> Self {
        self.properties.monotonic = monotonic;
        self
    }

    /// Checks the number of arguments.
    pub fn arguments(&self, allowed: RangeInclusive<usize>) -> Result<()> {
        let passed = self.arguments.len();
        if allowed.contains(&passed) {
            return Ok(());
        }
        let wanted = match (*allowed.start(), *allowed.end()) {
            (least, most) if least == most => format!("should be {least}"),
            (least, usize::MAX) => format!("should be at least {least}"),
            (least, most) => format!("should be {least} to {most}"),
        };
        Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Number of arguments for function {} doesn't match: passed {passed}, {wanted}", self.name),
        ))
    }

    /// The type of an argument, which [`arguments`](Self::arguments) has found to be there.
    pub fn type_of(&self, at: usize) -> &'a DataType {
        const NOTHING: &DataType = &DataType::Nothing;
        self.arguments.get(at).map_or(NOTHING, |argument| &argument.data_type)
    }

    /// The value of an argument that is there and constant.
    pub fn constant(&self, at: usize) -> Option<&'a Value> {
        self.arguments.get(at).and_then(|argument| argument.constant.as_ref())
    }

    /// `ILLEGAL_TYPE_OF_ARGUMENT` for an argument.
    pub fn illegal(&self, at: usize) -> Error {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {} of argument of function {}", self.type_of(at), self.name),
        )
    }

    /// Checks that these arguments are `String` or `FixedString`.
    pub fn strings(&self, positions: impl IntoIterator<Item = usize>) -> Result<()> {
        self.each(positions, DataType::is_string_or_fixed_string)
    }

    /// Checks that these arguments are integers.
    pub fn integers(&self, positions: impl IntoIterator<Item = usize>) -> Result<()> {
        self.each(positions, |data_type| data_type.is_integer() || *data_type == DataType::Bool)
    }

    /// Checks that these arguments are integers of any width.
    pub fn integers_of_any_width(&self, positions: impl IntoIterator<Item = usize>) -> Result<()> {
        self.each(positions, is_integer_of_any_width)
    }

    /// Checks the types of those of these arguments that are there.
    pub fn each(&self, positions: impl IntoIterator<Item = usize>, allowed: fn(&DataType) -> bool) -> Result<()> {
        let mut there = positions.into_iter().take_while(|&at| at < self.arguments.len());
        match there.find(|&at| !allowed(self.type_of(at))) {
            Some(at) => Err(self.illegal(at)),
            None => Ok(()),
        }
    }

    /// The bytes of a string argument that must be constant.
    pub fn constant_bytes(&self, at: usize) -> Result<&'a [u8]> {
        self.constant(at).and_then(Value::as_bytes).ok_or_else(|| {
            Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Argument {} of function {} must be a constant string", at + 1, self.name),
            )
        })
    }

    /// The session's time zone.
    pub fn session_zone(&self) -> Result<TimeZone> {
        TimeZone::named(&self.context.time_zone)
    }

    /// The session's way with text.
    pub fn text_options(&self) -> Result<TextOptions> {
        Ok(TextOptions::in_zone(self.session_zone()?))
    }

    /// The function with its types settled.
    pub fn bind(
        &self,
        return_type: DataType,
        execute: impl Fn(&[Column], usize) -> Result<Column> + Send + Sync + 'static,
    ) -> Result<Arc<dyn BoundFunction>> {
        Ok(Arc::new(Bound { name: self.name, return_type, execute, properties: self.properties }))
    }
}

struct Bound<F> {
    name: &'static str,
    return_type: DataType,
    execute: F,
    properties: Properties,
}

impl<F> fmt::Debug for Bound<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.name, self.return_type)
    }
}

impl<F: Fn(&[Column], usize) -> Result<Column> + Send + Sync> BoundFunction for Bound<F> {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn execute(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        (self.execute)(arguments, rows)
    }

    fn properties(&self) -> Properties {
        self.properties
    }
}

/// An argument of a bound function; its number was checked when the types were settled.
pub(crate) fn argument(arguments: &[Column], at: usize) -> Result<&Column> {
    arguments
        .get(at)
        .ok_or_else(|| Error::logical("a function is executed with fewer arguments than it was resolved for"))
}

/// Strings of a `String` or `FixedString` column, a constant or one for each row.
#[derive(Clone, Copy)]
pub(crate) enum Strings<'a> {
    Varying(&'a BinaryArray),
    Fixed(&'a FixedSizeBinaryArray),
    Constant(&'a [u8]),
}

impl<'a> Strings<'a> {
    /// The strings of an argument.
    pub fn of(arguments: &'a [Column], at: usize) -> Result<Self> {
        let column = argument(arguments, at)?;
        let array = column.array();
        if let Some(strings) = array.as_binary_opt::<i32>() {
            return Ok(if column.is_constant() { Self::Constant(strings.value(0)) } else { Self::Varying(strings) });
        }
        match array.as_fixed_size_binary_opt() {
            Some(strings) if column.is_constant() => Ok(Self::Constant(strings.value(0))),
            Some(strings) => Ok(Self::Fixed(strings)),
            None => Err(Error::logical(format!("column of {} holds no strings", column.data_type()))),
        }
    }

    /// The string of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &'a [u8] {
        match self {
            Self::Varying(strings) => strings.value(row),
            Self::Fixed(strings) => strings.value(row),
            Self::Constant(string) => string,
        }
    }

    /// About how many bytes `rows` rows have, to reserve memory.
    pub fn bytes(&self, rows: usize) -> usize {
        match self {
            Self::Varying(strings) => strings.value_length_total(),
            Self::Fixed(strings) => strings.value_length() as usize * rows,
            Self::Constant(string) => string.len() * rows,
        }
    }
}

trait TotalLength {
    fn value_length_total(&self) -> usize;
}

impl TotalLength for BinaryArray {
    fn value_length_total(&self) -> usize {
        let offsets = self.value_offsets();
        (offsets.last().unwrap_or(&0) - offsets.first().unwrap_or(&0)) as usize
    }
}

/// Builds a `String` column: bytes are appended to `bytes`, and [`end_row`](Self::end_row) makes a string of what is new. Between rows
/// it makes room ahead, so that no row's own bytes double what many rows have; who appends much within one row makes room itself.
pub(crate) struct StringsBuilder {
    pub bytes: Vec<u8>,
    offsets: Vec<i32>,
    /// Bytes at which room is made.
    next_look: usize,
}

/// Bytes after which a builder looks whether it may go on, at most.
const LOOK_BYTES: usize = 1 << 16;

/// Bytes that are asked for before they are there, at most.
const AHEAD_BYTES: usize = 1 << 24;

impl StringsBuilder {
    /// A builder for `rows` strings of `bytes` bytes together.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn new(rows: usize, bytes: usize) -> Result<Self> {
        let ahead = bytes.min(AHEAD_BYTES);
        reserve(4 * rows + ahead)?;
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Ok(Self { bytes: Vec::with_capacity(ahead), offsets, next_look: LOOK_BYTES })
    }

    /// Ends the string of a row.
    ///
    /// # Errors
    /// `TOO_LARGE_STRING_SIZE` past 2 GiB in one block, `MEMORY_LIMIT_EXCEEDED`.
    #[inline]
    pub fn end_row(&mut self) -> Result<()> {
        if self.bytes.len() >= self.next_look {
            self.look()?;
        }
        match i32::try_from(self.bytes.len()) {
            Ok(end) => {
                self.offsets.push(end);
                Ok(())
            }
            Err(_) => Err(too_large()),
        }
    }

    #[cold]
    fn look(&mut self) -> Result<()> {
        let length = self.bytes.len();
        checkpoint(LOOK_BYTES)?;
        if self.bytes.capacity() - length < length / 4 {
            grow(&mut self.bytes, length / 2)?;
        }
        self.next_look = length + LOOK_BYTES.max(length / 8);
        Ok(())
    }

    /// Appends a whole string.
    #[inline]
    pub fn push(&mut self, string: &[u8]) -> Result<()> {
        if self.offsets.len() == self.offsets.capacity() {
            grow(&mut self.offsets, 1)?;
        }
        grow(&mut self.bytes, string.len())?;
        self.bytes.extend_from_slice(string);
        self.end_row()
    }

    /// The array of all strings.
    pub fn finish_array(self) -> Result<BinaryArray> {
        Ok(BinaryArray::try_new(OffsetBuffer::new(self.offsets.into()), self.bytes.into(), None)?)
    }

    /// The column of all strings.
    pub fn finish(self) -> Result<Column> {
        Ok(Column::new(DataType::String, Arc::new(self.finish_array()?)))
    }
}

/// `TOO_LARGE_STRING_SIZE`.
pub(crate) fn too_large() -> Error {
    Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block")
}

/// A `String` column with one string for each row, appended by `append(bytes, row)`.
pub(crate) fn string_column(
    rows: usize,
    bytes: usize,
    mut append: impl FnMut(&mut Vec<u8>, usize) -> Result<()>,
) -> Result<Column> {
    let mut strings = StringsBuilder::new(rows, bytes)?;
    for row in 0..rows {
        append(&mut strings.bytes, row)?;
        strings.end_row()?;
    }
    strings.finish()
}

/// A column of values made one by one: for functions that few rows go through.
pub(crate) fn value_column(
    data_type: &DataType,
    rows: usize,
    mut make: impl FnMut(usize) -> Result<Value>,
) -> Result<Column> {
    let mut builder = ColumnBuilder::new(data_type.clone());
    for row in 0..rows {
        checkpoint(128)?;
        builder.append(&make(row)?)?;
    }
    builder.finish()
}

/// A column of a primitive type with one value for each row.
pub(crate) fn primitive_column<T: ArrowPrimitiveType>(
    data_type: DataType,
    rows: usize,
    value: impl FnMut(usize) -> T::Native,
) -> Column {
    Column::from_primitive::<T>(data_type, (0..rows).map(value).collect())
}

/// Values of a primitive column, a constant or one for each row.
pub(crate) enum Numbers<'a, T: ArrowPrimitiveType> {
    Varying(&'a [T::Native]),
    Constant(T::Native),
}

// Derived, these would ask of the marker type `T` what only its values are.
impl<T: ArrowPrimitiveType> Clone for Numbers<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ArrowPrimitiveType> Copy for Numbers<'_, T> {}

impl<'a, T: ArrowPrimitiveType> Numbers<'a, T> {
    /// The values of an argument of exactly this Arrow type.
    pub fn of(arguments: &'a [Column], at: usize) -> Result<Self> {
        let column = argument(arguments, at)?;
        let array: &PrimitiveArray<T> = column.as_primitive::<T>()?;
        Ok(if column.is_constant() { Self::Constant(array.value(0)) } else { Self::Varying(array.values()) })
    }

    /// The value of a row.
    #[inline]
    pub fn get(&self, row: usize) -> T::Native {
        match self {
            Self::Varying(values) => values[row],
            Self::Constant(value) => *value,
        }
    }
}

/// Whether [`integers`] reads values of this type.
pub(crate) fn is_integer_of_any_width(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_wide_integer() || *data_type == DataType::Bool
}

/// The values of an argument of any integer type (or `Bool`), as `i64`; a `UInt64` past its range becomes its greatest, and of a wider
/// type the lowest 64 bits are taken, as ClickHouse does.
pub(crate) fn integers(arguments: &[Column], at: usize, rows: usize) -> Result<Vec<i64>> {
    let mut column = argument(arguments, at)?;
    let narrowed;
    if column.data_type().is_wide_integer() {
        narrowed = cast(column, &DataType::Int64, &CastOptions::default())?;
        column = &narrowed;
    }
    let widened: Vec<i64> = squall_types::match_primitive!(column.array().data_type(), T => {
        column.as_primitive::<T>()?.values().iter().map(|&value| value.widen()).collect()
    }, _ => return Err(Error::logical("an integer argument is no number")));
    match (column.is_constant(), widened.first()) {
        (true, Some(&value)) => Ok(vec![value; rows]),
        _ => Ok(widened),
    }
}

/// The values of an argument of any numeric type as floats, one for each row.
pub(crate) fn floats(arguments: &[Column], at: usize, rows: usize) -> Result<Vec<f64>> {
    let mut column = argument(arguments, at)?;
    let as_floats;
    if column.data_type().is_decimal() || column.data_type().is_wide_integer() {
        as_floats = cast(column, &DataType::Float64, &CastOptions::default())?;
        column = &as_floats;
    }
    let values: Vec<f64> = squall_types::match_primitive!(column.array().data_type(), T => {
        column.as_primitive::<T>()?.values().iter().map(|&value| value.float()).collect()
    }, _ => return Err(Error::logical("a numeric argument is no number")));
    match (column.is_constant(), values.first()) {
        (true, Some(&value)) => Ok(vec![value; rows]),
        _ => Ok(values),
    }
}

/// Numbers that `integers` and `floats` read.
trait Widen {
    fn widen(self) -> i64;
    fn float(self) -> f64;
}

macro_rules! widen {
    ($($number:ty),*) => {
        $(impl Widen for $number {
            #[inline]
            fn widen(self) -> i64 {
                self as i64
            }

            #[inline]
            fn float(self) -> f64 {
                self as f64
            }
        })*
    };
}

widen!(u8, u16, u32, i8, i16, i32, i64, f32, f64);

impl Widen for u64 {
    #[inline]
    fn widen(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }

    #[inline]
    fn float(self) -> f64 {
        self as f64
    }
}
