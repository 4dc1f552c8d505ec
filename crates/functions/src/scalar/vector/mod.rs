//! Norms, distances and products of vectors, which are arrays or tuples of numbers. Over arrays each is one loop; over tuples it is put
//! together from functions of numbers, so that the types are theirs.

mod arrays;
mod centroid;
mod hadamard;
mod quantize;
mod transposed;
mod tuples;

use std::sync::Arc;

use squall_types::{DataType, Result};

use super::simple::{Call, Function};
use crate::function::{BoundFunction, ScalarFunction};
use arrays::Measure;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("L1Norm", |call| norm(call, Measure::L1)),
    &Function::new("L2Norm", |call| norm(call, Measure::L2)),
    &Function::new("L2SquaredNorm", |call| norm(call, Measure::L2Squared)),
    &Function::new("LinfNorm", |call| norm(call, Measure::Linf)),
    &Function::new("LpNorm", |call| norm(call, Measure::Lp)),
    &Function::new("L1Distance", |call| distance(call, Measure::L1)),
    &Function::new("L2Distance", |call| distance(call, Measure::L2)),
    &Function::new("L2SquaredDistance", |call| distance(call, Measure::L2Squared)),
    &Function::new("LinfDistance", |call| distance(call, Measure::Linf)),
    &Function::new("LpDistance", |call| distance(call, Measure::Lp)),
    &Function::new("cosineDistance", |call| distance(call, Measure::Cosine)),
    &Function::new("L1Normalize", |call| normalize(call, Measure::L1)),
    &Function::new("L2Normalize", |call| normalize(call, Measure::L2)),
    &Function::new("LinfNormalize", |call| normalize(call, Measure::Linf)),
    &Function::new("LpNormalize", |call| normalize(call, Measure::Lp)),
    &Function::new("dequantizeInt8ToBFloat16", quantize::resolve).never_throws().with_halves(),
    &Function::new("quantizeBFloat16ToInt8", quantize::resolve).never_throws().with_halves(),
    &Function::new("assignCentroid", centroid::resolve),
    &Function::new("randomHadamardTransform", hadamard::resolve).with_halves(),
    &Function::new("L2DistanceTransposed", transposed::resolve).of_any_type(),
    &Function::new("L2DistanceTransposedQuantized", transposed::resolve).of_any_type(),
    &Function::new("cosineDistanceTransposed", transposed::resolve).of_any_type(),
    &Function::new("cosineDistanceTransposedQuantized", transposed::resolve).of_any_type(),
    &Function::new("dotProductTransposed", transposed::resolve).of_any_type(),
    &Function::new("dotProductTransposedQuantized", transposed::resolve).of_any_type(),
    &Function::new("dotProduct", dot_product),
    &Function::new("arrayDotProduct", dot_product),
];

type Bound = Result<Arc<dyn BoundFunction>>;

fn is_array(call: &Call<'_>) -> bool {
    matches!(call.type_of(0), DataType::Array(_))
}

fn norm(call: &Call<'_>, measure: Measure) -> Bound {
    call.arguments(measure.arguments(1))?;
    if is_array(call) { arrays::norm(call, measure) } else { tuples::norm(call, measure) }
}

fn distance(call: &Call<'_>, measure: Measure) -> Bound {
    call.arguments(measure.arguments(2))?;
    if is_array(call) { arrays::distance(call, measure) } else { tuples::distance(call, measure) }
}

fn normalize(call: &Call<'_>, measure: Measure) -> Bound {
    call.arguments(measure.arguments(1))?;
    if is_array(call) { arrays::normalize(call, measure) } else { tuples::normalize(call, measure) }
}

fn dot_product(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    if is_array(call) || call.name == "arrayDotProduct" { arrays::dot_product(call) } else { tuples::dot_product(call) }
}
