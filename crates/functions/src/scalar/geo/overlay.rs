//! Union, intersection and difference of polygons: the sides of both are cut where they meet, the pieces that the result has are
//! chosen by whether they are inside of the other, and put together to rings.

use std::collections::HashMap;
use std::sync::Arc;

use squall_types::{Result, Shape, checkpoint};

use super::inside::{Place, is_in_polygon, place};
use super::measure::{Space, cross, dot, points, unit};
use super::shape::{MultiPolygon, Point, Polygon, Ring, Shapes, ShapesBuilder, geometry};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};

/// What two geometries become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    Intersection,
    Union,
    SymmetricDifference,
}

pub(super) fn resolve(call: &Call<'_>, rule: Rule) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    for at in 0..2 {
        if geometry(call, at)? == 0 {
            return Err(squall_types::Error::new(
                squall_types::ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Any argument of function {} must not be Point", call.name),
            ));
        }
    }
    let space = Space::of(call);
    call.bind(Shape::MultiPolygon.data_type(), move |arguments, rows| {
        let (left, right) = (Shapes::of_finite(argument(arguments, 0)?)?, Shapes::of_finite(argument(arguments, 1)?)?);
        let mut builder = ShapesBuilder::new(3);
        for row in 0..rows {
            let (left, right) = (corrected(left.multipolygon(row)), corrected(right.multipolygon(row)));
            checkpoint(points(&left).saturating_mul(points(&right)).saturating_mul(16))?;
            builder.multipolygon(&overlay(space, &left, &right, rule))?;
        }
        builder.finish(Shape::MultiPolygon)
    })
}

/// Twice the area of a closed ring, above zero where it is clockwise.
fn doubled_area(ring: &[Point]) -> f64 {
    ring.windows(2).map(|side| (side[0].0 + side[1].0) * (side[0].1 - side[1].1)).sum()
}

/// The same polygons with closed rings, outlines clockwise and holes the other way.
pub(super) fn corrected(mut shape: MultiPolygon) -> MultiPolygon {
    for polygon in &mut shape {
        for (at, ring) in polygon.iter_mut().enumerate() {
            if let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied())
                && first != last
            {
                ring.push(first);
            }
            let area = doubled_area(ring);
            if (at == 0 && area < 0.0) || (at > 0 && area > 0.0) {
                ring.reverse();
            }
        }
    }
    shape
}

/// Where a piece of a side is, seen from the other geometry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    In,
    Out,
    /// On a side of the other in the same direction.
    Along,
    /// On a side of the other in the opposite direction.
    Against,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Point,
    to: Point,
    side: Side,
    /// Whether it begins where the sides of both meet.
    is_turn: bool,
}

/// Points as keys; zeros of both signs are one.
fn key(point: Point) -> (u64, u64) {
    ((point.0 + 0.0).to_bits(), (point.1 + 0.0).to_bits())
}

/// The points at which one side is cut by another.
fn meet(space: Space, (a, b): (Point, Point), (c, d): (Point, Point)) -> Vec<Point> {
    let lies_apart = |p: fn(f64, f64) -> f64, q: fn(f64, f64) -> f64| {
        q(a.0, b.0) < p(c.0, d.0) || q(c.0, d.0) < p(a.0, b.0) || q(a.1, b.1) < p(c.1, d.1) || q(c.1, d.1) < p(a.1, b.1)
    };
    if space == Space::Plane && lies_apart(f64::min, f64::max) {
        return Vec::new();
    }
    let turn = |p: Point, q: Point, r: Point| match space {
        Space::Plane => (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0),
        Space::Sphere if p == r || q == r => 0.0,
        Space::Sphere => dot(cross(unit(p), unit(q)), unit(r)),
    };
    let (of_c, of_d) = (turn(a, b, c), turn(a, b, d));
    let (of_a, of_b) = (turn(c, d, a), turn(c, d, b));
    let is_on = |p: Point, q: Point, r: Point| {
        r.0 >= p.0.min(q.0) && r.0 <= p.0.max(q.0) && r.1 >= p.1.min(q.1) && r.1 <= p.1.max(q.1)
    };
    let mut found: Vec<Point> = Vec::new();
    for (value, p, q, r) in [(of_c, a, b, c), (of_d, a, b, d), (of_a, c, d, a), (of_b, c, d, b)] {
        if value == 0.0 && is_on(p, q, r) && !found.contains(&r) {
            found.push(r);
        }
    }
    if found.is_empty() && (of_c > 0.0) != (of_d > 0.0) && (of_a > 0.0) != (of_b > 0.0) {
        found.push(match space {
            Space::Plane => {
                let share = of_a / (of_a - of_b);
                (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1))
            }
            Space::Sphere => {
                let at = cross(cross(unit(a), unit(b)), cross(unit(c), unit(d)));
                // Of the two points where great circles meet, the one on the sides.
                let towards = dot(at, unit(a)) + dot(at, unit(b));
                let [x, y, z] = if towards < 0.0 { at.map(|part| -part) } else { at };
                (y.atan2(x).to_degrees(), z.atan2((x * x + y * y).sqrt()).to_degrees())
            }
        });
    }
    found
}

fn sides(shape: &MultiPolygon) -> Vec<(Point, Point)> {
    let all = shape.iter().flatten().flat_map(|ring| ring.windows(2).map(|side| (side[0], side[1])));
    all.filter(|(from, to)| from != to).collect()
}

/// The sides of both, cut where they meet, and which of those places are no ends of pieces before.
fn cut(space: Space, left: &MultiPolygon, right: &MultiPolygon) -> [Vec<(Point, Point, bool)>; 2] {
    let (left, right) = (sides(left), sides(right));
    let mut cuts = [vec![Vec::new(); left.len()], vec![Vec::new(); right.len()]];
    for (at, side) in left.iter().enumerate() {
        for (other_at, other) in right.iter().enumerate() {
            let found = meet(space, *side, *other);
            cuts[0][at].extend(&found);
            cuts[1][other_at].extend(found);
        }
    }
    let [of_left, of_right] = cuts;
    let pieces = |sides: &[(Point, Point)], cuts: Vec<Vec<Point>>| {
        let mut pieces = Vec::new();
        for ((from, to), mut cuts) in sides.iter().zip(cuts) {
            let along = |point: &Point| (point.0 - from.0).powi(2) + (point.1 - from.1).powi(2);
            cuts.sort_by(|left, right| along(left).total_cmp(&along(right)));
            let mut start = (*from, cuts.first() == Some(from));
            for point in cuts.into_iter().map(|point| (point, true)).chain([(*to, false)]) {
                if point.0 != start.0 {
                    pieces.push((start.0, point.0, start.1));
                    start = point;
                }
            }
        }
        pieces
    };
    [pieces(&left, of_left), pieces(&right, of_right)]
}

/// The pieces of one geometry, seen from the other.
fn seen(own: &[(Point, Point, bool)], others: &[(Point, Point, bool)], other: &MultiPolygon) -> Vec<Piece> {
    let known: HashMap<_, ()> = others.iter().map(|(from, to, _)| ((key(*from), key(*to)), ())).collect();
    let side_of = |from: Point, to: Point| {
        if known.contains_key(&(key(from), key(to))) {
            return Side::Along;
        }
        if known.contains_key(&(key(to), key(from))) {
            return Side::Against;
        }
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let holds = |polygon: &Polygon| is_in_polygon(middle, &polygon.iter().map(Vec::as_slice).collect::<Vec<_>>());
        if other.iter().any(holds) { Side::In } else { Side::Out }
    };
    own.iter().map(|&(from, to, is_turn)| Piece { from, to, side: side_of(from, to), is_turn }).collect()
}

/// How two geometries lie to each other.
#[derive(Debug)]
pub(super) struct Relation {
    /// Whether some side of the left is in the right.
    pub left_in: bool,
    pub left_out: bool,
    pub right_in: bool,
    pub right_out: bool,
    /// Whether their sides meet anywhere.
    pub meets: bool,
}

impl Relation {
    pub fn of(space: Space, left: &MultiPolygon, right: &MultiPolygon) -> Self {
        let [of_left, of_right] = cut(space, left, right);
        let meets = [&of_left, &of_right].iter().any(|pieces| pieces.iter().any(|(.., is_turn)| *is_turn));
        let (of_left, of_right) = (seen(&of_left, &of_right, right), seen(&of_right, &of_left, left));
        let has = |pieces: &[Piece], side: Side| pieces.iter().any(|piece| piece.side == side);
        Self {
            left_in: has(&of_left, Side::In),
            left_out: has(&of_left, Side::Out),
            right_in: has(&of_right, Side::In),
            right_out: has(&of_right, Side::Out),
            meets,
        }
    }
}

fn overlay(space: Space, left: &MultiPolygon, right: &MultiPolygon, rule: Rule) -> MultiPolygon {
    let [of_left, of_right] = cut(space, left, right);
    let (of_left, of_right) = (seen(&of_left, &of_right, right), seen(&of_right, &of_left, left));
    let chosen = |pieces: &[Piece], wanted: &[Side]| -> Vec<Piece> {
        pieces.iter().filter(|piece| wanted.contains(&piece.side)).copied().collect()
    };
    let turned = |pieces: Vec<Piece>| -> Vec<Piece> {
        let turn = |piece: Piece| Piece { from: piece.to, to: piece.from, is_turn: false, ..piece };
        pieces.into_iter().rev().map(turn).collect()
    };
    // Rings begin where the sides of both meet, in the order of the left geometry's.
    let turns: Vec<Point> = of_left.iter().filter(|piece| piece.is_turn).map(|piece| piece.from).collect();
    let polygons = |pieces: Vec<Piece>| polygons(pieces, &turns);
    let mut result = match rule {
        Rule::Intersection => {
            polygons([chosen(&of_left, &[Side::In, Side::Along]), chosen(&of_right, &[Side::In])].concat())
        }
        Rule::Union => {
            polygons([chosen(&of_left, &[Side::Out, Side::Along]), chosen(&of_right, &[Side::Out])].concat())
        }
        Rule::SymmetricDifference => {
            let of_left_alone =
                [chosen(&of_left, &[Side::Out, Side::Against]), turned(chosen(&of_right, &[Side::In]))].concat();
            let of_right_alone =
                [chosen(&of_right, &[Side::Out, Side::Against]), turned(chosen(&of_left, &[Side::In]))].concat();
            let mut both = polygons(of_left_alone);
            both.extend(polygons(of_right_alone));
            both
        }
    };
    result.retain(|polygon| !polygon.is_empty());
    result
}

/// The polygons whose sides these pieces are; their rings begin at `turns`, as far as they have any.
fn polygons(pieces: Vec<Piece>, turns: &[Point]) -> MultiPolygon {
    let mut from: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        from.entry(key(piece.from)).or_default().push(at);
    }
    let mut is_used = vec![false; pieces.len()];
    let mut rings: Vec<Ring> = Vec::new();
    let at_turns = turns.iter().filter_map(|turn| from.get(&key(*turn))).flatten().copied();
    let starts = at_turns.chain(0..pieces.len());
    for start in starts {
        if is_used[start] {
            continue;
        }
        let mut ring = vec![pieces[start].from];
        let mut at = start;
        loop {
            is_used[at] = true;
            let piece = pieces[at];
            ring.push(piece.to);
            if key(piece.to) == key(pieces[start].from) {
                break;
            }
            let next = from.get(&key(piece.to)).into_iter().flatten().filter(|at| !is_used[**at]);
            // The sharpest turn to the right, so that rings which touch stay apart.
            let angle = |at: &&usize| {
                let other = pieces[**at];
                let back = (piece.from.1 - piece.to.1).atan2(piece.from.0 - piece.to.0);
                let on = (other.to.1 - other.from.1).atan2(other.to.0 - other.from.0);
                (on - back).rem_euclid(2.0 * std::f64::consts::PI)
            };
            match next.min_by(|left, right| angle(left).total_cmp(&angle(right))) {
                Some(next) => at = *next,
                None => break,
            }
        }
        let ring = straightened(ring);
        if ring.len() >= 4 && ring.first() == ring.last() && doubled_area(&ring) != 0.0 {
            rings.push(ring);
        }
    }
    let (outlines, holes): (Vec<Ring>, Vec<Ring>) = rings.into_iter().partition(|ring| doubled_area(ring) > 0.0);
    let mut polygons: MultiPolygon = outlines.into_iter().map(|outline| vec![outline]).collect();
    for hole in holes {
        let is_around = |polygon: &&mut Polygon| {
            let Some(outline) = polygon.first() else { return false };
            hole.iter().all(|point| place(*point, outline) != Place::Outside)
        };
        if let Some(polygon) = polygons.iter_mut().find(is_around) {
            polygon.push(hole);
        }
    }
    polygons
}

/// A ring without points that are on a straight line between their neighbours; its first point stays.
fn straightened(ring: Ring) -> Ring {
    let mut kept: Ring = Vec::with_capacity(ring.len());
    for point in ring {
        while let [.., a, b] = kept[..]
            && (b.0 - a.0) * (point.1 - a.1) == (b.1 - a.1) * (point.0 - a.0)
        {
            kept.pop();
        }
        kept.push(point);
    }
    kept
}
