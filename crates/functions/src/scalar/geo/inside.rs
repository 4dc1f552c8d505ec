//! Whether points are in polygons or ellipses.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::shape::{Point, Shapes, depth};
use super::valid;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, floats, primitive_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `pointInEllipses(x, y, x₁, y₁, a₁, b₁, …)`.
pub(super) fn resolve_ellipses(call: &Call<'_>) -> Bound {
    call.arguments(6..=usize::MAX)?;
    if !(call.arguments.len() - 2).is_multiple_of(4) {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!(
                "Incorrect number of arguments of function {}. Should be 2 for point and 4 for each ellipse",
                call.name
            ),
        ));
    }
    call.each(0..call.arguments.len(), |data_type| *data_type == DataType::Float64)?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let columns = (0..arguments.len()).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let [x, y, ellipses @ ..] = &columns[..] else { return Err(Error::logical("a point is missing")) };
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            let is_inside = ellipses.chunks_exact(4).any(|ellipse| {
                let [center_x, center_y, a, b] = [0, 1, 2, 3].map(|at: usize| ellipse[at][row]);
                let (x, y) = ((x[row] - center_x) / a, (y[row] - center_y) / b);
                x * x + y * y <= 1.0
            });
            u8::from(is_inside)
        }))
    })
}

/// `pointInPolygon((x, y), [points…], [hole…], …)`; also of a polygon, or several, in one argument.
pub(super) fn resolve_polygon(call: &Call<'_>) -> Bound {
    call.arguments(2..=usize::MAX)?;
    let depth = |at| depth(call.type_of(at), DataType::is_number);
    if depth(0) != Some(0) {
        return Err(call.illegal(0));
    }
    let depths = (1..call.arguments.len()).map(|at| depth(at).filter(|depth| (1..=3).contains(depth)));
    let depths = depths.collect::<Option<Vec<_>>>().ok_or_else(|| call.illegal(1))?;
    if depths.len() > 1 && depths.iter().any(|depth| *depth != 1) {
        return Err(call.illegal(1));
    }
    let constants = call
        .arguments
        .iter()
        .skip(1)
        .map(|argument| argument.constant.as_ref().map(|value| (value, &argument.data_type)));
    if let Some(constants) = constants.collect::<Option<Vec<_>>>()
        && call.context.settings.validate_polygons
    {
        check_constants(&constants)?;
    }
    call.bind(DataType::UInt8, move |arguments, rows| {
        let points = Shapes::of(argument(arguments, 0)?)?;
        let shapes = arguments.iter().skip(1).map(Shapes::of).collect::<Result<Vec<_>>>()?;
        let mut inside = Vec::with_capacity(rows);
        for row in 0..rows {
            let point = points.point(row);
            // The first ring is the outline, the others are holes; several polygons each have their own.
            let mut holds = false;
            let whole: Vec<&[Point]> = shapes.iter().flat_map(|shape| shape.rings(row)).collect();
            checkpoint(8 + 4 * whole.iter().map(|ring| ring.len()).sum::<usize>())?;
            match shapes.first() {
                Some(shape) if shape.depth() == 3 => {
                    for polygon in shape.polygons(row) {
                        holds |= is_in_polygon(point, &polygon);
                    }
                }
                _ => holds = is_in_polygon(point, &whole),
            }
            inside.push(u8::from(holds));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, inside))
    })
}

/// Refuses constant polygons that are not valid.
fn check_constants(constants: &[(&Value, &DataType)]) -> Result<()> {
    let columns = constants.iter().map(|(value, data_type)| Column::constant((*data_type).clone(), value, 1));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let shapes = columns.iter().map(Shapes::of).collect::<Result<Vec<_>>>()?;
    match &shapes[..] {
        [shape] if shape.depth() == 3 => shape.polygons(0).iter().try_for_each(|polygon| valid::check(polygon)),
        shapes => valid::check(&shapes.iter().flat_map(|shape| shape.rings(0)).collect::<Vec<_>>()),
    }
}

/// Whether a point is in the outline or on it, and in no hole.
pub(super) fn is_in_polygon(point: Point, rings: &[&[Point]]) -> bool {
    let Some((outline, holes)) = rings.split_first() else { return false };
    place(point, outline) != Place::Outside && holes.iter().all(|hole| place(point, hole) != Place::Inside)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Outside,
    Border,
    Inside,
}

/// Where a point is: how often a ray from it crosses the ring says it.
pub(super) fn place((x, y): Point, ring: &[Point]) -> Place {
    let Some(last) = ring.last() else { return Place::Outside };
    let mut is_inside = false;
    let mut before = *last;
    for &(to_x, to_y) in ring {
        let (from_x, from_y) = before;
        before = (to_x, to_y);
        let side = (to_x - from_x) * (y - from_y) - (x - from_x) * (to_y - from_y);
        let is_between =
            x >= from_x.min(to_x) && x <= from_x.max(to_x) && y >= from_y.min(to_y) && y <= from_y.max(to_y);
        if side == 0.0 && is_between {
            return Place::Border;
        }
        if (from_y > y) != (to_y > y) && x < (to_x - from_x) * (y - from_y) / (to_y - from_y) + from_x {
            is_inside = !is_inside;
        }
    }
    if is_inside { Place::Inside } else { Place::Outside }
}
