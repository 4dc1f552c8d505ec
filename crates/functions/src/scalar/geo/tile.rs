//! Tiles of web maps: the bounds of a tile by zoom and place, in degrees and in units of the Mercator square of 2^32.

use std::f64::consts::PI;
use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, floats, integers, value_column};

const ZOOM_MAX: i64 = 32;
/// The side of the whole map.
const MAP: f64 = 4_294_967_296.0;

/// `MVTBoundingBox(zoom, x, y[, margin])` and `MVTBoundingBoxMercator`.
pub(super) fn resolve_bounds(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=4)?;
    call.integers(0..3)?;
    call.each([3], DataType::is_number)?;
    let name = call.name;
    let is_mercator = name == "MVTBoundingBoxMercator";
    let names =
        if is_mercator { ["min_x", "min_y", "max_x", "max_y"] } else { ["min_lon", "min_lat", "max_lon", "max_lat"] };
    let result = DataType::named_tuple(names.map(|name| (name, DataType::Float64)));
    call.bind(result.clone(), move |arguments, rows| {
        let (zooms, xs, ys) =
            (integers(arguments, 0, rows)?, integers(arguments, 1, rows)?, integers(arguments, 2, rows)?);
        let margins = if arguments.len() > 3 { floats(arguments, 3, rows)? } else { vec![0.0; rows] };
        value_column(&result, rows, |row| {
            let (zoom, x, y, margin) = (zooms[row], xs[row], ys[row], margins[row]);
            let out = |message: String| Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message);
            if !(0..=ZOOM_MAX).contains(&zoom) {
                return Err(out(format!(
                    "The 'zoom' argument ({zoom}) of function {name} must be between 0 and {ZOOM_MAX}"
                )));
            }
            let tiles = 1_i64 << zoom;
            if !(0..tiles).contains(&x) || !(0..tiles).contains(&y) {
                return Err(out(format!(
                    "The tile indices (tile_x = {x}, tile_y = {y}) of function {name} must be less than 2^zoom = {tiles}"
                )));
            }
            let side = MAP / tiles as f64;
            let bound = |tile: i64, step: f64| ((tile as f64 + step) * side).clamp(0.0, MAP);
            let (left, right) = (bound(x, -margin), bound(x, 1.0 + margin));
            let (top, bottom) = (bound(y, -margin), bound(y, 1.0 + margin));
            let values = if is_mercator {
                [left, top, right, bottom]
            } else {
                let longitude = |x: f64| x / MAP * 360.0 - 180.0;
                let latitude = |y: f64| (2.0 * (PI * (1.0 - 2.0 * y / MAP)).exp().atan()).to_degrees() - 90.0;
                [longitude(left), latitude(bottom), longitude(right), latitude(top)]
            };
            Ok(Value::Tuple(values.map(Value::Float64).into()))
        })
    })
}
