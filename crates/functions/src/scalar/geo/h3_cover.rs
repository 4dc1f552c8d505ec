//! `h3PolygonToCells`: the cells of H3 that cover polygons. The cells along the sides are found by walking them; from there the inside is
//! filled from neighbour to neighbour. Only cells near a side are looked at closely: all others are inside or outside as a whole.

use std::collections::HashSet;
use std::sync::Arc;

use h3o::{CellIndex, LatLng, Resolution};
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use super::h3::{CELLS_MAX, Indices, edge_metres, resolution, too_many};
use super::inside::{Place, is_in_polygon, place};
use super::shape::{Point, Polygon, Ring, Shapes, geometry};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, integers};

/// Which cells belong to a polygon.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Containment {
    /// Those whose middle is inside.
    Centre,
    /// Those that are inside as a whole.
    Full,
    /// Those of which any part is inside.
    Overlapping,
    /// Those around which the upright rectangle overlaps.
    OverlappingBox,
}

/// `h3PolygonToCells(geometry, resolution)`, `h3PolygonToCellsWithContainment(geometry, resolution, flags)`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let count = if call.name == "h3PolygonToCells" { 2 } else { 3 };
    call.arguments(count..=count)?;
    if geometry(call, 0)? == 0 {
        return Err(call.illegal(0));
    }
    call.integers(1..count)?;
    let name = call.name;
    call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
        let shapes = Shapes::of(argument(arguments, 0)?)?;
        let resolutions = integers(arguments, 1, rows)?;
        let flags = if count == 3 { integers(arguments, 2, rows)? } else { vec![0; rows] };
        let mut cells = Indices::new();
        for row in 0..rows {
            let containment = match flags[row] {
                0 => Containment::Centre,
                1 => Containment::Full,
                2 => Containment::Overlapping,
                3 => Containment::OverlappingBox,
                other => {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!("The argument 'flags' ({other}) of function {name} must be from 0 to 3"),
                    ));
                }
            };
            let resolution = resolution(resolutions[row], name)?;
            let mut found = HashSet::new();
            for polygon in shapes.multipolygon(row) {
                Cover { resolution, containment, name }.add(polygon, &mut found)?;
            }
            let mut found: Vec<u64> = found.into_iter().map(u64::from).collect();
            found.sort_unstable();
            cells.push(found.into_iter())?;
        }
        cells.finish()
    })
}

/// How polygons are covered.
struct Cover {
    resolution: Resolution,
    containment: Containment,
    name: &'static str,
}

impl Cover {
    /// Adds the cells of a polygon.
    fn add(&self, mut polygon: Polygon, found: &mut HashSet<CellIndex>) -> Result<()> {
        let mut points = polygon.iter().flatten();
        if points.any(|(longitude, latitude)| !(longitude.abs() <= 180.0 && latitude.abs() <= 90.0)) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Every vertex of a geometry of function {} must be on the sphere", self.name),
            ));
        }
        let longitudes = || polygon.iter().flatten().map(|point| point.0);
        let span = longitudes().fold(f64::MIN, f64::max) - longitudes().fold(f64::MAX, f64::min);
        // A polygon over the meridian of 180 degrees goes on beyond it.
        let is_wrapped = span > 180.0;
        polygon.iter_mut().flatten().for_each(|point| *point = wrapped(*point, is_wrapped));
        let near = self.along_sides(&polygon)?;
        let rings: Vec<&[Point]> = polygon.iter().map(Vec::as_slice).collect();
        let sides: usize = rings.iter().map(|ring| ring.len()).sum();
        let mut seen: HashSet<CellIndex> = near.clone();
        let mut open: Vec<CellIndex> = near.iter().copied().collect();
        while let Some(cell) = open.pop() {
            checkpoint(500 + 16 * sides)?;
            let centre = wrapped(point(LatLng::from(cell)), is_wrapped);
            let is_inside = is_in_polygon(centre, &rings);
            let belongs = match self.containment {
                Containment::Centre => is_inside,
                _ if !near.contains(&cell) => is_inside,
                containment => touches(cell, is_wrapped, &rings, containment),
            };
            if belongs {
                found.insert(cell);
                if found.len() as u64 > CELLS_MAX {
                    return Err(too_many(self.name));
                }
            }
            if is_inside || belongs {
                let next = cell.grid_disk::<Vec<_>>(1).into_iter();
                open.extend(next.filter(|neighbour| seen.insert(*neighbour)));
            }
        }
        Ok(())
    }

    /// The cells that a side may go through.
    fn along_sides(&self, polygon: &Polygon) -> Result<HashSet<CellIndex>> {
        /// Metres of a degree of a great circle.
        const DEGREE_METRES: f64 = 111_195.0;
        let step = edge_metres(self.resolution) / DEGREE_METRES / 2.0;
        let mut cells = HashSet::new();
        for ring in polygon {
            for (from, to) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                let (across, up) = (to.0 - from.0, to.1 - from.1);
                let steps = (across.hypot(up) / step).ceil().max(1.0);
                if steps > CELLS_MAX as f64 {
                    return Err(too_many(self.name));
                }
                for at in 0..steps as u64 {
                    checkpoint(500)?;
                    let share = at as f64 / steps;
                    let longitude = from.0 + share * across;
                    let longitude = if longitude > 180.0 { longitude - 360.0 } else { longitude };
                    let place = LatLng::new(from.1 + share * up, longitude);
                    if let Ok(place) = place {
                        cells.insert(place.to_cell(self.resolution));
                    }
                }
            }
        }
        let around: Vec<CellIndex> = cells.iter().flat_map(|cell| cell.grid_disk::<Vec<_>>(1)).collect();
        cells.extend(around);
        Ok(cells)
    }
}

fn point(place: LatLng) -> Point {
    (place.lng(), place.lat())
}

/// A point with its longitude from 0 to 360 where asked.
fn wrapped((longitude, latitude): Point, is_wrapped: bool) -> Point {
    (if is_wrapped && longitude < 0.0 { longitude + 360.0 } else { longitude }, latitude)
}

/// Whether a cell at a side belongs to the polygon.
fn touches(cell: CellIndex, is_wrapped: bool, rings: &[&[Point]], containment: Containment) -> bool {
    let mut corners: Ring = cell.boundary().iter().map(|corner| wrapped(point(*corner), is_wrapped)).collect();
    if containment == Containment::OverlappingBox {
        let bounds = |of: fn(&Point) -> f64| {
            let values = corners.iter().map(of);
            values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
        };
        let ((left, right), (bottom, top)) = (bounds(|corner| corner.0), bounds(|corner| corner.1));
        corners = vec![(left, bottom), (right, bottom), (right, top), (left, top)];
    }
    let crosses = rings.iter().any(|ring| pairs(ring).any(|side| pairs(&corners).any(|own| cross(side, own))));
    let mut inside = corners.iter().map(|corner| is_in_polygon(*corner, rings));
    match containment {
        Containment::Full => !crosses && inside.all(|is| is),
        _ => {
            let is_around = |vertex: &Point| place(*vertex, &corners) != Place::Outside;
            crosses || inside.any(|is| is) || rings.iter().any(|ring| ring.iter().any(is_around))
        }
    }
}

/// The sides of a ring.
fn pairs(ring: &[Point]) -> impl Iterator<Item = (Point, Point)> {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}

/// Whether two lines cross.
fn cross((from, to): (Point, Point), (start, end): (Point, Point)) -> bool {
    let side = |(from, to): (Point, Point), at: Point| {
        ((to.0 - from.0) * (at.1 - from.1) - (to.1 - from.1) * (at.0 - from.0)).signum()
    };
    side((from, to), start) != side((from, to), end) && side((start, end), from) != side((start, end), to)
}
