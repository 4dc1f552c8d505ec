//! Functions of a lambda. The lambda is called once for the items of all rows together (in pieces that fit a cache); what is made
//! of its results is a loop over them. Functions that have a form without a lambda (`arraySum`) use it on the results.

mod choose;
mod flat;
mod fold;
mod of_maps;
mod put_together;

use std::fmt;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::simple::integers;
use super::tuple::elements;
use crate::function::{Argument, FunctionContext};
use crate::higher_order::{BoundHigherOrder, HigherOrderFunction, Lambda};
use flat::Flat;
pub(in crate::scalar) use flat::without_dictionaries;

/// All of them.
pub(crate) const FUNCTIONS: &[&dyn HigherOrderFunction] = &[
    &MAP,
    &FILTER,
    &COUNT,
    &EXISTS,
    &ALL,
    &OverArrays::new("arraySum", put_together::by_form_without),
    &OverArrays::new("arrayAvg", put_together::by_form_without),
    &OverArrays::new("arrayMin", put_together::by_form_without),
    &OverArrays::new("arrayMax", put_together::by_form_without),
    &OverArrays::new("arrayProduct", put_together::by_form_without),
    &OverArrays::new("arrayCumSum", put_together::by_form_without),
    &OverArrays::new("arrayCumSumNonNegative", put_together::by_form_without),
    &OverArrays::new("arrayDifference", put_together::by_form_without),
    &OverArrays::new("arrayFirst", |call| choose::one(call, choose::End::First, false)),
    &OverArrays::new("arrayLast", |call| choose::one(call, choose::End::Last, false)),
    &OverArrays::new("arrayFirstOrNull", |call| choose::one(call, choose::End::First, true)),
    &OverArrays::new("arrayLastOrNull", |call| choose::one(call, choose::End::Last, true)),
    &OverArrays::new("arrayFirstIndex", |call| choose::index(call, choose::End::First)),
    &OverArrays::new("arrayLastIndex", |call| choose::index(call, choose::End::Last)),
    &OverArrays::new("arrayFill", |call| choose::fill(call, false)),
    &OverArrays::new("arrayReverseFill", |call| choose::fill(call, true)),
    &OverArrays::new("arraySplit", |call| choose::split(call, false)),
    &OverArrays::new("arrayReverseSplit", |call| choose::split(call, true)),
    &OverArrays::new("arrayCompact", choose::compact),
    &SORT,
    &REVERSE_SORT,
    &PARTIAL_SORT,
    &PARTIAL_REVERSE_SORT,
    &TOP,
    &BOTTOM,
    &fold::ArrayFold,
    &of_maps::OverMap { name: "mapApply", of_entries: &MAP },
    &of_maps::OverMap { name: "mapFilter", of_entries: &FILTER },
    &of_maps::OverMap { name: "mapExists", of_entries: &EXISTS },
    &of_maps::OverMap { name: "mapAll", of_entries: &ALL },
    &of_maps::OverMap { name: "mapSort", of_entries: &SORT },
    &of_maps::OverMap { name: "mapReverseSort", of_entries: &REVERSE_SORT },
    &of_maps::OverMap { name: "mapPartialSort", of_entries: &PARTIAL_SORT },
    &of_maps::OverMap { name: "mapPartialReverseSort", of_entries: &PARTIAL_REVERSE_SORT },
];

const MAP: OverArrays = OverArrays::new("arrayMap", put_together::map);
const FILTER: OverArrays = OverArrays::new("arrayFilter", choose::filter);
const COUNT: OverArrays = OverArrays::new("arrayCount", |call| choose::holding(call, choose::Holding::Count));
const EXISTS: OverArrays = OverArrays::new("arrayExists", |call| choose::holding(call, choose::Holding::Any));
const ALL: OverArrays = OverArrays::new("arrayAll", |call| choose::holding(call, choose::Holding::All));
const SORT: OverArrays = OverArrays::new("arraySort", |call| choose::sort(call, false));
const REVERSE_SORT: OverArrays = OverArrays::new("arrayReverseSort", |call| choose::sort(call, true));
const PARTIAL_SORT: OverArrays = OverArrays::new("arrayPartialSort", |call| choose::sort(call, false)).with_limit();
const TOP: OverArrays = OverArrays::new("arrayTopK", |call| choose::extremes(call, true)).with_limit();
const BOTTOM: OverArrays = OverArrays::new("arrayBottomK", |call| choose::extremes(call, false)).with_limit();
const PARTIAL_REVERSE_SORT: OverArrays =
    OverArrays::new("arrayPartialReverseSort", |call| choose::sort(call, true)).with_limit();

/// A function whose types are being settled.
struct Call<'a> {
    name: &'static str,
    /// The type of the lambda's results.
    result: &'a DataType,
    /// The type of the first array's items.
    item: &'a DataType,
    context: &'a FunctionContext,
}

impl Call<'_> {
    /// Checks that the lambda gives a condition.
    fn condition(&self) -> Result<()> {
        if matches!(self.result.inner(), DataType::UInt8 | DataType::Bool | DataType::Nothing) {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Expression for function {} must return UInt8 or Nullable(UInt8), found {}",
                self.name, self.result
            ),
        ))
    }
}

/// What a lambda gave for the items of all rows.
struct Applied<'a> {
    arrays: &'a Flat,
    /// The items of the first array.
    items: &'a Column,
    /// One result for each item; perhaps a constant.
    results: Column,
    /// The limit in front of the arrays, where the function has one; 0 where it is negative.
    limits: Vec<i64>,
}

impl Applied<'_> {
    /// How many items of a row are wanted.
    fn limit(&self, row: usize) -> usize {
        self.limits.get(row).map_or(0, |limit| usize::try_from(*limit).unwrap_or(0))
    }
}

/// What becomes of the results, and its type.
struct Finish {
    return_type: DataType,
    finish: FinishFn,
}

type FinishFn = Box<dyn Fn(&Applied<'_>) -> Result<Column> + Send + Sync>;

impl Finish {
    fn new(
        return_type: DataType,
        finish: impl Fn(&Applied<'_>) -> Result<Column> + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self { return_type, finish: Box::new(finish) })
    }
}

/// A function of a lambda over the items of arrays.
struct OverArrays {
    name: &'static str,
    resolve: fn(&Call<'_>) -> Result<Finish>,
    /// Whether a number comes before the arrays, how many items of a partial sort are wanted in order. All are put in order, so
    /// it only has to be a number.
    has_limit: bool,
}

impl OverArrays {
    const fn new(name: &'static str, resolve: fn(&Call<'_>) -> Result<Finish>) -> Self {
        Self { name, resolve, has_limit: false }
    }

    const fn with_limit(mut self) -> Self {
        self.has_limit = true;
        self
    }

    /// The arguments after the limit.
    fn after_limit<'a, T>(&self, arguments: &'a [T]) -> &'a [T] {
        arguments.get(usize::from(self.has_limit)..).unwrap_or_default()
    }

    fn check_limit(&self, arguments: &[Argument]) -> Result<()> {
        if !self.has_limit {
            return Ok(());
        }
        if arguments.len() < 2 {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function {} needs at least 2 arguments with data", self.name),
            ));
        }
        match arguments.first() {
            Some(limit) if !limit.data_type.inner().is_integer() => Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Illegal type {} of limit argument of function {} (must be UInt or Int)",
                    limit.data_type, self.name
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl HigherOrderFunction for OverArrays {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self, count: usize, arguments: &[Argument]) -> Result<Vec<DataType>> {
        self.check_limit(arguments)?;
        let arrays = self.after_limit(arguments);
        if arrays.is_empty() {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function {} needs at least 1 argument with data", self.name),
            ));
        }
        let types = item_types(self.name, arrays)?;
        if let Some(elements) = elements_of(&types, count) {
            return Ok(elements);
        }
        if count != types.len() {
            return Err(wrong_lambda(self.name, types.len(), count));
        }
        Ok(types)
    }

    fn resolve(
        &self,
        result: &DataType,
        arguments: &[Argument],
        context: &FunctionContext,
    ) -> Result<Arc<dyn BoundHigherOrder>> {
        let items = item_types(self.name, self.after_limit(arguments))?;
        let item = items.first().unwrap_or(&DataType::Nothing);
        let result = result.remove_low_cardinality();
        let finish = (self.resolve)(&Call { name: self.name, result, item, context })?;
        Ok(Arc::new(BoundOverArrays { name: self.name, arrays_from: usize::from(self.has_limit), finish }))
    }
}

/// The types of the items of arrays, dictionaries written out.
fn item_types(name: &str, arrays: &[Argument]) -> Result<Vec<DataType>> {
    let item = |(at, array): (usize, &Argument)| match &array.data_type {
        DataType::Array(item) => Ok(without_dictionaries(item)),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Argument {} of function {name} must be Array. Found {other} instead", at + 2),
        )),
    };
    arrays.iter().enumerate().map(item).collect()
}

/// The types of the elements of the only array's tuples, where a lambda takes as many arguments as they have elements.
fn elements_of(types: &[DataType], count: usize) -> Option<Vec<DataType>> {
    match types {
        [DataType::Tuple(elements)] if count > 1 && elements.len() == count => {
            Some(elements.iter().map(|element| element.data_type.clone()).collect())
        }
        _ => None,
    }
}

fn wrong_lambda(name: &str, wanted: usize, found: usize) -> Error {
    let types = vec!["?"; found].join(", ");
    let types = if found == 1 { types } else { format!("({types})") };
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "First argument for this overload of {name} must be a function with {wanted} arguments, found \
             Function({types} -> ?) instead"
        ),
    )
}

struct BoundOverArrays {
    name: &'static str,
    arrays_from: usize,
    finish: Finish,
}

impl fmt::Debug for BoundOverArrays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.name, self.finish.return_type)
    }
}

impl BoundHigherOrder for BoundOverArrays {
    fn return_type(&self) -> &DataType {
        &self.finish.return_type
    }

    fn may_throw(&self) -> bool {
        false
    }

    fn execute(&self, lambda: &dyn Lambda, arguments: &[Column], rows: usize) -> Result<Column> {
        let arrays = arguments.get(self.arrays_from..).unwrap_or_default();
        let (flat, items) = Flat::of(self.name, arrays, rows)?;
        let results = match &items[..] {
            [tuples] if lambda.arguments() > 1 => flat.call(lambda, &elements(tuples)?)?,
            items => flat.call(lambda, items)?,
        };
        let results = results.without_low_cardinality()?;
        let first = items.first().ok_or_else(|| Error::logical("a lambda over no arrays"))?;
        let limits = if self.arrays_from > 0 { integers(arguments, 0, rows)? } else { Vec::new() };
        (self.finish.finish)(&Applied { arrays: &flat, items: first, results, limits })
    }
}
