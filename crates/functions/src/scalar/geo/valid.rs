//! Whether polygons are valid, as ClickHouse asks of those that are constants: rings with an area that do not meet themselves, holes inside
//! the outline that do not cross it or lie in each other.

use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::inside::{Place, place};
use super::shape::Point;

/// Coordinates beyond are past what can be calculated with.
const COORDINATE_MAX: f64 = 1e16;

/// Refuses polygons that are not valid: the first ring is the outline, the others are holes.
///
/// # Errors
/// `BAD_ARGUMENTS` with the reason.
pub(super) fn check(rings: &[&[Point]]) -> Result<()> {
    let rings = rings.iter().map(|ring| distinct(ring)).collect::<Result<Vec<_>>>()?;
    let Some((outline, holes)) = rings.split_first() else { return Err(invalid("too few points")) };
    for ring in &rings {
        check_ring(ring)?;
    }
    check_crossings(&rings)?;
    for (at, hole) in holes.iter().enumerate() {
        checkpoint(8 * hole.len() * outline.len())?;
        if hole.iter().any(|point| place(*point, outline) == Place::Outside) {
            return Err(invalid("interior rings defined outside the outer boundary"));
        }
        let others = holes.iter().enumerate().filter(|(other, _)| *other != at);
        for (_, other) in others {
            checkpoint(8 * hole.len() * other.len())?;
            if hole.iter().all(|point| place(*point, other) == Place::Inside) {
                return Err(invalid("nested interior rings"));
            }
        }
    }
    Ok(())
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Polygon is not valid: Geometry has {what}"))
}

/// A ring without points that follow themselves, and without its first point at its end.
fn distinct(ring: &[Point]) -> Result<Vec<Point>> {
    let is_large = |coordinate: f64| !coordinate.is_finite() || coordinate.abs() > COORDINATE_MAX;
    if ring.iter().any(|(x, y)| is_large(*x) || is_large(*y)) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "The coordinates of the point are such that subsequent calculations cannot be performed correctly. Most likely they are very \
             large in modulus",
        ));
    }
    let mut points = ring.to_vec();
    points.dedup();
    while points.len() > 1 && points.first() == points.last() {
        points.pop();
    }
    Ok(points)
}

/// On which side of a line a point is: greater than zero on its left.
fn side(from: Point, to: Point, point: Point) -> f64 {
    (to.0 - from.0) * (point.1 - from.1) - (point.0 - from.0) * (to.1 - from.1)
}

fn check_ring(ring: &[Point]) -> Result<()> {
    if ring.len() < 3 {
        return Err(invalid("too few points"));
    }
    for (at, apex) in ring.iter().enumerate() {
        let (before, after) = (ring[(at + ring.len() - 1) % ring.len()], ring[(at + 1) % ring.len()]);
        let is_back = (apex.0 - before.0) * (after.0 - apex.0) + (apex.1 - before.1) * (after.1 - apex.1) < 0.0;
        if side(before, *apex, after) == 0.0 && is_back {
            return Err(invalid(&format!("spikes. A spike point was found with apex at ({}, {})", apex.0, apex.1)));
        }
    }
    Ok(())
}

/// A side of a ring.
struct Edge {
    ring: usize,
    at: usize,
    from: Point,
    to: Point,
}

impl Edge {
    fn least_x(&self) -> f64 {
        self.from.0.min(self.to.0)
    }

    fn most_x(&self) -> f64 {
        self.from.0.max(self.to.0)
    }
}

/// Refuses rings that meet themselves, and rings that cross or share a piece of a side. Edges are looked at by their least x, each beside
/// those that begin before it ends.
fn check_crossings(rings: &[Vec<Point>]) -> Result<()> {
    let mut edges = Vec::new();
    for (number, ring) in rings.iter().enumerate() {
        let edge = |at: usize| Edge { ring: number, at, from: ring[at], to: ring[(at + 1) % ring.len()] };
        edges.extend((0..ring.len()).map(edge));
    }
    edges.sort_by(|left, right| left.least_x().total_cmp(&right.least_x()));
    for (at, edge) in edges.iter().enumerate() {
        let beside = edges.iter().skip(at + 1).take_while(|other| other.least_x() <= edge.most_x());
        for other in beside {
            checkpoint(16)?;
            let points = rings[edge.ring].len();
            let distance = edge.at.abs_diff(other.at);
            let are_neighbours = edge.ring == other.ring && (distance == 1 || distance == points - 1);
            if !are_neighbours && meet(edge, other) {
                return Err(invalid("invalid self-intersections"));
            }
        }
    }
    Ok(())
}

/// Whether two sides that are no neighbours may not be where they are: those of one ring have a point in common, those of two rings cross
/// or lie on each other.
fn meet(left: &Edge, right: &Edge) -> bool {
    let (a, b) = (side(left.from, left.to, right.from), side(left.from, left.to, right.to));
    let (c, d) = (side(right.from, right.to, left.from), side(right.from, right.to, left.to));
    if a * b < 0.0 && c * d < 0.0 {
        return true;
    }
    let in_box = |edge: &Edge, point: Point| {
        (edge.least_x()..=edge.most_x()).contains(&point.0)
            && (edge.from.1.min(edge.to.1)..=edge.from.1.max(edge.to.1)).contains(&point.1)
    };
    let touches = [
        a == 0.0 && in_box(left, right.from),
        b == 0.0 && in_box(left, right.to),
        c == 0.0 && in_box(right, left.from),
        d == 0.0 && in_box(right, left.to),
    ];
    if left.ring == right.ring {
        return touches.contains(&true);
    }
    let is_one_line = a == 0.0 && b == 0.0;
    // Two ends that are one point are no piece of a side.
    let ends = [left.from, left.to].iter().filter(|end| in_box(right, **end)).count()
        + [right.from, right.to].iter().filter(|end| in_box(left, **end)).count();
    let shares_an_end = [left.from, left.to].iter().any(|end| *end == right.from || *end == right.to);
    is_one_line && ends > if shares_an_end { 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygons_are_valid_or_not() {
        let square: &[Point] = &[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)];
        let valid: &[&[&[Point]]] = &[
            &[square],
            &[&[(0.0, 0.0), (0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (0.0, 0.0)]],
            &[square, &[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]],
            &[square, &[(1.0, 1.0), (2.0, 1.0), (2.0, 2.0)], &[(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)]],
        ];
        for rings in valid {
            assert!(check(rings).is_ok(), "{rings:?}");
        }
        let refused: &[(&[&[Point]], &str)] = &[
            (&[&[(0.0, 0.0), (1.0, 1.0)]], "few points"),
            (&[&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]], "spikes"),
            (&[&[(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]], "spikes"),
            (&[&[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]], "self-intersections"),
            (&[&[(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (1.0, 0.0), (0.0, 2.0)]], "self-intersections"),
            (&[square, &[(5.0, 5.0), (6.0, 5.0), (6.0, 6.0)]], "outside"),
            (&[square, &[(3.0, 3.0), (6.0, 3.0), (6.0, 6.0), (3.0, 6.0)]], "self-intersections"),
            (&[square, &[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]], "self-intersections"),
            (&[square, &[(1.0, 1.0), (3.0, 1.0), (3.0, 3.0)], &[(2.0, 1.2), (2.8, 1.2), (2.8, 1.8)]], "nested"),
            (&[&[(0.0, 0.0), (2.0, 0.0), (f64::NAN, 2.0)]], "coordinates"),
        ];
        for (rings, reason) in refused {
            assert!(check(rings).unwrap_err().message.contains(reason), "{rings:?}");
        }
    }
}
