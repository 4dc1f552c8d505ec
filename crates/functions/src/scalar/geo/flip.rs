//! Geometries with x and y in each other's places.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::shape::depth;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};
use crate::scalar::tuple::{elements, from_elements};

/// `flipCoordinates`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let result = call.type_of(0).clone();
    if depth(&result, |data_type| *data_type == DataType::Float64).is_none_or(|depth| depth > 3) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {result} of argument of function {}. Expected Point (Tuple), Ring (Array(Point)), Polygon (Array(Ring)), or MultiPolygon (Array(Polygon))",
                call.name
            ),
        ));
    }
    call.bind(result, |arguments, _| flipped(&argument(arguments, 0)?.materialize()?))
}

fn flipped(column: &Column) -> Result<Column> {
    let data_type = column.data_type();
    let DataType::Array(item) = data_type else {
        let mut parts = elements(column)?;
        parts.reverse();
        return from_elements(data_type, &parts, column.rows());
    };
    let list = column.array().as_list_opt::<i32>().ok_or_else(|| Error::logical("list expected"))?;
    let items = flipped(&Column::new((**item).clone(), list.values().clone()))?;
    let field = Arc::new(arrow_schema::Field::new("item", items.array().data_type().clone(), true));
    let array = ListArray::try_new(field, list.offsets().clone(), items.array().clone(), None)?;
    Ok(Column::new(data_type.clone(), Arc::new(array)))
}
