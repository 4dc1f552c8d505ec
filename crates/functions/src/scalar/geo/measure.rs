//! Areas, perimeters, distances and hulls of geometries, in the plane or on a sphere of radius 1 with coordinates in degrees.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt8Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Shape, checkpoint};

use super::inside::{Place, is_in_polygon, place};
use super::overlay::{Relation, corrected};
use super::shape::{MultiPolygon, Point, Shapes, ShapesBuilder, geometry};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Where points are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    Plane,
    Sphere,
}

impl Space {
    /// Of a function by its name's end.
    pub fn of(call: &Call<'_>) -> Self {
        if call.name.ends_with("Spherical") { Self::Sphere } else { Self::Plane }
    }

    fn distance(self, from: Point, to: Point) -> f64 {
        match self {
            Self::Plane => {
                let (x, y) = (from.0 - to.0, from.1 - to.1);
                (x * x + y * y).sqrt()
            }
            Self::Sphere => {
                // The haversine formula.
                let [(from_x, from_y), (to_x, to_y)] = [from, to].map(|(x, y)| (x.to_radians(), y.to_radians()));
                let half = |angle: f64| (angle / 2.0).sin().powi(2);
                let chord = half(to_y - from_y) + from_y.cos() * to_y.cos() * half(to_x - from_x);
                2.0 * chord.sqrt().min(1.0).asin()
            }
        }
    }

    /// Twice what a side adds to an area; on a sphere the excess of its trapezoid.
    fn side(self, from: Point, to: Point) -> f64 {
        match self {
            Self::Plane => (from.0 + to.0) * (from.1 - to.1),
            Self::Sphere => {
                let [(from_x, from_y), (to_x, to_y)] = [from, to].map(|(x, y)| (x.to_radians(), y.to_radians()));
                let mut width = to_x - from_x;
                if width.abs() > std::f64::consts::PI {
                    width -= 2.0 * std::f64::consts::PI * width.signum();
                }
                let [low, high] = [from_y, to_y].map(|y| (y / 2.0).tan());
                4.0 * ((width / 2.0).tan() * (low + high) / (1.0 + low * high)).atan()
            }
        }
    }

    /// The area of a ring whose points are clockwise; below zero of others, 0 of fewer than four points.
    fn area(self, ring: &[Point]) -> f64 {
        if ring.len() < 4 {
            return 0.0;
        }
        ring.windows(2).map(|side| self.side(side[0], side[1])).sum::<f64>() / 2.0
    }

    /// How far a point is from a side.
    fn to_side(self, point: Point, from: Point, to: Point) -> f64 {
        match self {
            Self::Plane => {
                let (x, y) = (to.0 - from.0, to.1 - from.1);
                let along = (point.0 - from.0) * x + (point.1 - from.1) * y;
                let length = x * x + y * y;
                if along <= 0.0 || length == 0.0 {
                    return self.distance(point, from);
                }
                if along >= length {
                    return self.distance(point, to);
                }
                let share = along / length;
                self.distance(point, (from.0 + share * x, from.1 + share * y))
            }
            Self::Sphere => {
                let [point_at, from_at, to_at] = [point, from, to].map(unit);
                let normal = cross(from_at, to_at);
                let ends = self.distance(point, from).min(self.distance(point, to));
                let length = dot(normal, normal).sqrt();
                if length == 0.0 {
                    return ends;
                }
                // The foot is between the ends where the point is on the inner sides of both.
                let is_between =
                    dot(cross(normal, from_at), point_at) >= 0.0 && dot(cross(to_at, normal), point_at) >= 0.0;
                if is_between { (dot(normal, point_at) / length).abs().min(1.0).asin() } else { ends }
            }
        }
    }
}

/// A point of the sphere as a vector.
pub(super) fn unit((x, y): Point) -> [f64; 3] {
    let (x, y) = (x.to_radians(), y.to_radians());
    [x.cos() * y.cos(), x.sin() * y.cos(), y.sin()]
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A number for each geometry, summed over its rings.
fn of_rings(call: &Call<'_>, measure: fn(Space, &[Point]) -> f64) -> Bound {
    call.arguments(1..=1)?;
    let depth = geometry(call, 0)?;
    if depth == 0 {
        return Err(no_point(call));
    }
    let space = Space::of(call);
    call.bind(DataType::Float64, move |arguments, rows| {
        let shapes = Shapes::of_finite(argument(arguments, 0)?)?;
        let mut sums = Vec::with_capacity(rows);
        for row in 0..rows {
            let shape = shapes.multipolygon(row);
            checkpoint(points(&shape) * 32)?;
            sums.push(shape.iter().flatten().map(|ring| measure(space, ring)).sum());
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, sums))
    })
}

fn no_point(call: &Call<'_>) -> Error {
    Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("Any argument of function {} must not be Point", call.name))
}

pub(super) fn points(shape: &MultiPolygon) -> usize {
    8 + shape.iter().flatten().map(Vec::len).sum::<usize>()
}

pub(super) fn resolve_area(call: &Call<'_>) -> Bound {
    of_rings(call, Space::area)
}

pub(super) fn resolve_perimeter(call: &Call<'_>) -> Bound {
    of_rings(call, |space, ring| ring.windows(2).map(|side| space.distance(side[0], side[1])).sum())
}

/// The convex hull by Andrew's monotone chain, clockwise from the leftmost point.
pub(super) fn resolve_hull(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if geometry(call, 0)? == 0 {
        return Err(no_point(call));
    }
    call.bind(Shape::Polygon.data_type(), |arguments, rows| {
        let shapes = Shapes::of_finite(argument(arguments, 0)?)?;
        let mut builder = ShapesBuilder::new(2);
        for row in 0..rows {
            let shape = shapes.multipolygon(row);
            checkpoint(points(&shape) * 64)?;
            let mut all: Vec<Point> = shape.into_iter().flatten().flatten().collect();
            all.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)));
            all.dedup();
            builder.polygon(&[hull(&all)])?;
        }
        builder.finish(Shape::Polygon)
    })
}

fn hull(sorted: &[Point]) -> Vec<Point> {
    let mut ring: Vec<Point> = Vec::with_capacity(sorted.len() + 1);
    let turns_left = |a: Point, b: Point, c: Point| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) >= 0.0;
    // The upper chain from left to right, then the lower one back.
    let mut least = 1;
    for (at, point) in sorted.iter().chain(sorted.iter().rev().skip(1)).enumerate() {
        if at == sorted.len() {
            least = ring.len();
        }
        while ring.len() > least && turns_left(ring[ring.len() - 2], ring[ring.len() - 1], *point) {
            ring.pop();
        }
        ring.push(*point);
    }
    ring
}

/// Two geometries, each brought into order, and a value of them.
fn of_two<T>(
    call: &Call<'_>,
    may_be_points: bool,
    measure: impl Fn(&MultiPolygon, &MultiPolygon, usize) -> Result<T> + Send + Sync + 'static,
    column: fn(Vec<T>) -> Column,
    return_type: DataType,
) -> Bound
where
    T: 'static,
{
    call.arguments(2..=2)?;
    for at in 0..2 {
        if geometry(call, at)? == 0 && !may_be_points {
            return Err(no_point(call));
        }
    }
    call.bind(return_type, move |arguments, rows| {
        let (left, right) = (Shapes::of_finite(argument(arguments, 0)?)?, Shapes::of_finite(argument(arguments, 1)?)?);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (left, right) = (corrected(left.multipolygon(row)), corrected(right.multipolygon(row)));
            checkpoint(points(&left).saturating_mul(points(&right)).saturating_mul(8))?;
            values.push(measure(&left, &right, row)?);
        }
        Ok(column(values))
    })
}

fn answers(values: Vec<bool>) -> Column {
    Column::from_primitive::<UInt8Type>(DataType::UInt8, values.into_iter().map(u8::from).collect())
}

pub(super) fn resolve_distance(call: &Call<'_>) -> Bound {
    let space = Space::of(call);
    let measure = move |left: &MultiPolygon, right: &MultiPolygon, _| {
        if touches(space, left, right) {
            return Ok(0.0);
        }
        let sides = |shape: &MultiPolygon| -> Vec<(Point, Point)> {
            let of_ring = |ring: &Vec<Point>| match ring[..] {
                [alone] => vec![(alone, alone)],
                _ => ring.windows(2).map(|side| (side[0], side[1])).collect(),
            };
            shape.iter().flatten().flat_map(of_ring).collect()
        };
        let mut least = f64::INFINITY;
        for (from, to) in sides(left) {
            for (other_from, other_to) in sides(right) {
                let between = [
                    space.to_side(from, other_from, other_to),
                    space.to_side(to, other_from, other_to),
                    space.to_side(other_from, from, to),
                    space.to_side(other_to, from, to),
                ];
                least = between.into_iter().fold(least, f64::min);
            }
        }
        Ok(least)
    };
    let column = |values| Column::from_primitive::<Float64Type>(DataType::Float64, values);
    of_two(call, false, measure, column, DataType::Float64)
}

/// Whether any point of one is in the other or on its border.
fn touches(space: Space, left: &MultiPolygon, right: &MultiPolygon) -> bool {
    let holds = |shape: &MultiPolygon, other: &MultiPolygon| {
        let mut outlines = other.iter().filter_map(|polygon| polygon.first()?.first());
        outlines.any(|point| shape.iter().any(|polygon| contains(polygon, *point)))
    };
    holds(left, right) || holds(right, left) || Relation::of(space, left, right).meets
}

fn contains(polygon: &[Vec<Point>], point: Point) -> bool {
    match polygon {
        // A point alone.
        [ring] if ring.len() == 1 => ring[0] == point,
        rings => is_in_polygon(point, &rings.iter().map(Vec::as_slice).collect::<Vec<_>>()),
    }
}

pub(super) fn resolve_intersects(call: &Call<'_>) -> Bound {
    let space = Space::of(call);
    let may_be_points = call.name.starts_with("geometry");
    let on_border = |shape: &MultiPolygon, other: &MultiPolygon| {
        let points = other.iter().flatten().filter(|ring| ring.len() == 1).flatten();
        let mut all = points.map(|point| shape.iter().flatten().any(|ring| place(*point, ring) == Place::Border));
        all.any(|is_on| is_on)
    };
    let measure = move |left: &MultiPolygon, right: &MultiPolygon, _| {
        Ok(touches(space, left, right) || on_border(left, right) || on_border(right, left))
    };
    of_two(call, may_be_points, measure, answers, DataType::UInt8)
}

pub(super) fn resolve_within(call: &Call<'_>) -> Bound {
    let space = Space::of(call);
    let measure = move |left: &MultiPolygon, right: &MultiPolygon, _| {
        let relation = Relation::of(space, left, right);
        Ok(!relation.left_out && !relation.right_in && points(left) > 8)
    };
    of_two(call, false, measure, answers, DataType::UInt8)
}

pub(super) fn resolve_equals(call: &Call<'_>) -> Bound {
    let space = Space::of(call);
    let measure = move |left: &MultiPolygon, right: &MultiPolygon, _| {
        let relation = Relation::of(space, left, right);
        Ok(!(relation.left_out || relation.left_in || relation.right_out || relation.right_in))
    };
    of_two(call, false, measure, answers, DataType::UInt8)
}
