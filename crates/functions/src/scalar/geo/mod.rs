//! Places on the Earth: distances, geohashes, cells of H3, and whether points are in polygons and ellipses.

mod distance;
mod geohash;
#[cfg(feature = "h3")]
mod h3;
mod inside;

use super::simple::Function;
use crate::function::ScalarFunction;

/// This family's functions that are always there.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("geoDistance", distance::resolve).never_throws(),
    &Function::new("geohashDecode", geohash::resolve_decode).never_throws(),
    &Function::new("geohashEncode", geohash::resolve_encode).never_throws(),
    &Function::new("geohashesInBox", geohash::resolve_box),
    &Function::new("greatCircleAngle", distance::resolve).never_throws(),
    &Function::new("greatCircleDistance", distance::resolve).never_throws(),
    &Function::new("pointInEllipses", inside::resolve_ellipses).never_throws(),
    &Function::new("pointInPolygon", inside::resolve_polygon),
];

#[cfg(feature = "h3")]
pub(crate) use h3::FUNCTIONS as H3;

/// The functions of H3, which a build may leave out.
#[cfg(not(feature = "h3"))]
pub(crate) const H3: &[&dyn ScalarFunction] = &[];
