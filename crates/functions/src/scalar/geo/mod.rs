//! Places on the Earth: distances, geohashes, cells of H3, and whether points are in polygons and ellipses.

mod distance;
mod flip;
mod geohash;
#[cfg(feature = "h3")]
mod h3;
#[cfg(feature = "h3")]
mod h3_cover;
mod inside;
mod measure;
mod overlay;
mod shape;
mod tile;
mod utm;
mod valid;
mod wkb;
mod wkt;

use self::overlay::Rule;
use super::simple::Function;
use crate::function::ScalarFunction;

/// This family's functions that are always there.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("MGRSToGeo", utm::resolve_from_mgrs),
    &Function::new("MVTBoundingBox", tile::resolve_bounds),
    &Function::new("MVTBoundingBoxMercator", tile::resolve_bounds),
    &Function::new("UTMToGeo", utm::resolve_from_utm),
    &Function::new("geoToMGRS", utm::resolve_to_mgrs),
    &Function::new("geoToUTM", utm::resolve_to_utm),
    &Function::new("flipCoordinates", flip::resolve).never_throws(),
    &Function::new("geoDistance", distance::resolve).never_throws(),
    &Function::new("geohashDecode", geohash::resolve_decode).never_throws(),
    &Function::new("geohashEncode", geohash::resolve_encode).never_throws(),
    &Function::new("geohashesInBox", geohash::resolve_box),
    &Function::new("greatCircleAngle", distance::resolve).never_throws(),
    &Function::new("greatCircleDistance", distance::resolve).never_throws(),
    &Function::new("pointInEllipses", inside::resolve_ellipses).never_throws(),
    &Function::new("pointInPolygon", inside::resolve_polygon),
    &Function::new("areaCartesian", measure::resolve_area),
    &Function::new("areaSpherical", measure::resolve_area),
    &Function::new("geometryIntersectCartesian", measure::resolve_intersects),
    &Function::new("geometryIntersectSpherical", measure::resolve_intersects),
    &Function::new("perimeterCartesian", measure::resolve_perimeter),
    &Function::new("perimeterSpherical", measure::resolve_perimeter),
    &Function::new("polygonAreaCartesian", measure::resolve_area),
    &Function::new("polygonAreaSpherical", measure::resolve_area),
    &Function::new("polygonConvexHullCartesian", measure::resolve_hull),
    &Function::new("polygonPerimeterCartesian", measure::resolve_perimeter),
    &Function::new("polygonPerimeterSpherical", measure::resolve_perimeter),
    &Function::new("polygonsDistanceCartesian", measure::resolve_distance),
    &Function::new("polygonsDistanceSpherical", measure::resolve_distance),
    &Function::new("polygonsEqualsCartesian", measure::resolve_equals),
    &Function::new("polygonsIntersectCartesian", measure::resolve_intersects),
    &Function::new("polygonsIntersectSpherical", measure::resolve_intersects),
    &Function::new("polygonsIntersectionCartesian", |call| overlay::resolve(call, Rule::Intersection)),
    &Function::new("polygonsIntersectionSpherical", |call| overlay::resolve(call, Rule::Intersection)),
    &Function::new("polygonsSymDifferenceCartesian", |call| overlay::resolve(call, Rule::SymmetricDifference)),
    &Function::new("polygonsSymDifferenceSpherical", |call| overlay::resolve(call, Rule::SymmetricDifference)),
    &Function::new("polygonsUnionCartesian", |call| overlay::resolve(call, Rule::Union)),
    &Function::new("polygonsUnionSpherical", |call| overlay::resolve(call, Rule::Union)),
    &Function::new("polygonsWithinCartesian", measure::resolve_within),
    &Function::new("polygonsWithinSpherical", measure::resolve_within),
    &Function::new("readWKB", wkb::resolve_any),
    &Function::new("readWKT", wkt::resolve_any),
    &Function::new("readWKBLineString", wkb::resolve_read),
    &Function::new("readWKBMultiLineString", wkb::resolve_read),
    &Function::new("readWKBMultiPoint", wkb::resolve_read),
    &Function::new("readWKBMultiPolygon", wkb::resolve_read),
    &Function::new("readWKBPoint", wkb::resolve_read),
    &Function::new("readWKBPolygon", wkb::resolve_read),
    &Function::new("readWKTLineString", wkt::resolve_read),
    &Function::new("readWKTMultiLineString", wkt::resolve_read),
    &Function::new("readWKTMultiPoint", wkt::resolve_read),
    &Function::new("readWKTMultiPolygon", wkt::resolve_read),
    &Function::new("readWKTPoint", wkt::resolve_read),
    &Function::new("readWKTPolygon", wkt::resolve_read),
    &Function::new("readWKTRing", wkt::resolve_read),
    &Function::new("svg", wkt::resolve_svg),
    &Function::new("wkb", wkb::resolve_write),
    &Function::new("wkt", wkt::resolve_wkt).of_any_type(),
];

#[cfg(feature = "h3")]
pub(crate) use h3::FUNCTIONS as H3;

/// The functions of H3, which a build may leave out.
#[cfg(not(feature = "h3"))]
pub(crate) const H3: &[&dyn ScalarFunction] = &[];
