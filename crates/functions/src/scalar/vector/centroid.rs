//! `assignCentroid`: which of some centroids lies nearest to a vector.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::Lists;
use crate::scalar::simple::{Call, floats};

/// Centroids of one dimension, with their numbers.
struct Centroids {
    dimension: usize,
    numbers: Vec<u32>,
    values: Vec<f32>,
}

impl Centroids {
    fn new(all: impl IntoIterator<Item = (u32, Vec<f32>)>) -> Result<Self> {
        let mut centroids = Self { dimension: 0, numbers: Vec::new(), values: Vec::new() };
        for (number, vector) in all {
            if centroids.numbers.is_empty() {
                centroids.dimension = vector.len();
            }
            if vector.is_empty() {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "assignCentroid: centroids must not be empty"));
            }
            if vector.len() != centroids.dimension {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    format!(
                        "assignCentroid: centroid {} has {} dimensions, expected {}",
                        centroids.numbers.len(),
                        vector.len(),
                        centroids.dimension
                    ),
                ));
            }
            centroids.numbers.push(number);
            centroids.values.extend(vector);
        }
        match centroids.numbers.is_empty() {
            true => Err(Error::new(ErrorCode::BAD_ARGUMENTS, "assignCentroid: centroids array is empty")),
            false => Ok(centroids),
        }
    }

    /// The number of the nearest; the first of several.
    fn nearest(&self, vector: &[f64]) -> Result<u32> {
        if vector.len() != self.dimension {
            return Err(Error::new(
                ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                format!(
                    "assignCentroid: input vector has {} dimensions but centroids have {}",
                    vector.len(),
                    self.dimension
                ),
            ));
        }
        checkpoint(2 * self.values.len())?;
        let distance = |centroid: &[f32]| -> f32 {
            centroid.iter().zip(vector).map(|(left, right)| (left - *right as f32).powi(2)).sum()
        };
        let distances = self.values.chunks(self.dimension).map(distance).zip(&self.numbers);
        let nearest = distances.reduce(|best, next| if next.0 < best.0 { next } else { best });
        Ok(nearest.map_or(0, |(_, number)| *number))
    }
}

fn is_vector(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Array(item) if item.is_any_float())
}

fn vector(value: &Value) -> Vec<f32> {
    match value {
        Value::Array(items) => items.iter().map(|item| item.as_f64().unwrap_or(f64::NAN) as f32).collect(),
        _ => Vec::new(),
    }
}

/// `assignCentroid(vector, centroids | 'dictionary')`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let illegal = |what: &str| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, what.to_owned());
    if !is_vector(call.type_of(0)) {
        return Err(illegal("First argument of assignCentroid must be an array of floats"));
    }
    let constant = call
        .constant(1)
        .ok_or_else(|| Error::new(ErrorCode::ILLEGAL_COLUMN, "Second argument of assignCentroid must be constant"))?;
    let inline = match (call.type_of(1), constant) {
        (DataType::Array(item), Value::Array(all)) if is_vector(item) => {
            Some(Centroids::new((0..).zip(all.iter().map(vector)))?)
        }
        (DataType::String, _) => None,
        _ => {
            return Err(illegal(
                "Second argument of assignCentroid must be an array of arrays of floats, or the name of a dictionary",
            ));
        }
    };
    let dictionary = match (&inline, constant.as_str(), &call.context.lookups) {
        (None, Some(name), Some(lookups)) => Some(lookups.dictionary(name)?),
        _ => None,
    };
    call.bind(DataType::UInt32, move |arguments, rows| {
        let loaded;
        let centroids = match (&inline, &dictionary) {
            (Some(inline), _) => inline,
            (None, Some(dictionary)) => {
                loaded = of_dictionary(&**dictionary)?;
                &loaded
            }
            (None, None) => return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "There are no dictionaries here")),
        };
        let lists = Lists::of(arguments, 0)?;
        let items = floats(std::slice::from_ref(&lists.items), 0, lists.items.rows())?;
        let nearest = (0..rows).map(|row| centroids.nearest(&items[lists.range(row)])).collect::<Result<_>>()?;
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, nearest))
    })
}

/// The attributes `cid` and `vec` of all rows of a dictionary.
fn of_dictionary(dictionary: &dyn crate::KeyedRows) -> Result<Centroids> {
    let (keys, attributes) = dictionary.all()?;
    let names =
        dictionary.keys().iter().map(|(name, _)| name).chain(dictionary.attributes().iter().map(|own| &own.name));
    let columns: Vec<_> = names.zip(keys.iter().chain(&*attributes)).collect();
    let column = |wanted: &str| {
        let found = columns.iter().find(|(name, _)| &***name == wanted).map(|(_, column)| *column);
        found.ok_or_else(|| {
            Error::new(ErrorCode::BAD_ARGUMENTS, format!("assignCentroid: the dictionary has no attribute '{wanted}'"))
        })
    };
    let (numbers, vectors) = (column("cid")?, column("vec")?);
    Centroids::new((0..numbers.rows()).map(|row| {
        let number = numbers.value(row).as_u64().and_then(|number| u32::try_from(number).ok());
        (number.unwrap_or(u32::MAX), vector(&vectors.value(row)))
    }))
}
