//! Geometries as bytes: WKB (OGC 06-103r4).

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Shape, checkpoint};

use super::shape::{AnyShapesBuilder, Point, Shapes, ShapesBuilder, geometry};
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The geometries by their numbers in the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Point = 1,
    LineString = 2,
    Polygon = 3,
    MultiPoint = 4,
    MultiLineString = 5,
    MultiPolygon = 6,
}

impl Kind {
    fn of_number(number: u32) -> Option<Self> {
        let all =
            [Self::Point, Self::LineString, Self::Polygon, Self::MultiPoint, Self::MultiLineString, Self::MultiPolygon];
        all.into_iter().find(|kind| *kind as u32 == number)
    }

    /// The shape that its values have.
    fn shape(self) -> Shape {
        match self {
            Self::Point => Shape::Point,
            Self::LineString => Shape::LineString,
            Self::MultiPoint => Shape::MultiPoint,
            Self::Polygon => Shape::Polygon,
            Self::MultiLineString => Shape::MultiLineString,
            Self::MultiPolygon => Shape::MultiPolygon,
        }
    }

    /// How deep arrays of its points are nested.
    fn depth(self) -> usize {
        self.shape().depth().unwrap_or(0)
    }

    /// What it consists of, where its parts are geometries with heads of their own.
    fn part(self) -> Option<Self> {
        match self {
            Self::MultiPoint => Some(Self::Point),
            Self::MultiLineString => Some(Self::LineString),
            Self::MultiPolygon => Some(Self::Polygon),
            Self::Point | Self::LineString | Self::Polygon => None,
        }
    }
}

fn put_head(kind: Kind, out: &mut Vec<u8>) {
    out.push(1);
    out.extend_from_slice(&(kind as u32).to_le_bytes());
}

fn put_points(points: &[Point], out: &mut Vec<u8>) {
    out.extend_from_slice(&(points.len() as u32).to_le_bytes());
    for (x, y) in points {
        out.extend_from_slice(&x.to_le_bytes());
        out.extend_from_slice(&y.to_le_bytes());
    }
}

fn put_polygon(rings: &[&[Point]], out: &mut Vec<u8>) {
    put_head(Kind::Polygon, out);
    out.extend_from_slice(&(rings.len() as u32).to_le_bytes());
    rings.iter().for_each(|ring| put_points(ring, out));
}

pub(super) fn resolve_write(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let depth = geometry(call, 0)?;
    call.bind(DataType::String, move |arguments, rows| {
        let shapes = Shapes::of(argument(arguments, 0)?)?;
        string_column(rows, 64 * rows, |out, row| {
            checkpoint(128)?;
            match depth {
                0 => {
                    put_head(Kind::Point, out);
                    let (x, y) = shapes.point(row);
                    out.extend_from_slice(&x.to_le_bytes());
                    out.extend_from_slice(&y.to_le_bytes());
                }
                1 => {
                    put_head(Kind::LineString, out);
                    put_points(shapes.rings(row).first().copied().unwrap_or_default(), out);
                }
                2 => put_polygon(&shapes.rings(row), out),
                _ => {
                    put_head(Kind::MultiPolygon, out);
                    let polygons = shapes.polygons(row);
                    out.extend_from_slice(&(polygons.len() as u32).to_le_bytes());
                    polygons.iter().for_each(|polygon| put_polygon(polygon, out));
                }
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_read(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    let kind = match name {
        "readWKBPoint" => Kind::Point,
        "readWKBLineString" => Kind::LineString,
        "readWKBPolygon" => Kind::Polygon,
        "readWKBMultiPoint" => Kind::MultiPoint,
        "readWKBMultiLineString" => Kind::MultiLineString,
        _ => Kind::MultiPolygon,
    };
    call.bind(kind.shape().data_type(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut builder = ShapesBuilder::new(kind.depth());
        for row in 0..rows {
            let bytes = texts.get(row);
            checkpoint(64 + bytes.len())?;
            Reader { bytes, is_big: false }.geometry(kind, name, &mut builder)?;
        }
        builder.finish(kind.shape())
    })
}

/// `readWKB`: a geometry of any kind.
pub(super) fn resolve_any(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    call.bind(Shape::Geometry.data_type(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut builder = AnyShapesBuilder::new();
        for row in 0..rows {
            let bytes = texts.get(row);
            checkpoint(64 + bytes.len())?;
            let mut head = Reader { bytes, is_big: false };
            head.is_big = head.take::<1>()? == [0];
            let number = head.count()?;
            let kind = Kind::of_number(number).ok_or_else(|| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("Incorrect type of geometry in WKB: {number}"))
            })?;
            Reader { bytes, is_big: false }.geometry(kind, name, builder.next(kind.shape())?)?;
        }
        builder.finish()
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// Whether numbers have their highest byte first.
    is_big: bool,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(|| {
            Error::new(
                ErrorCode::CANNOT_READ_ALL_DATA,
                format!("Cannot read all data. Bytes read: {}. Bytes expected: {N}", self.bytes.len()),
            )
        })?;
        self.bytes = rest;
        let mut taken = *first;
        if self.is_big {
            taken.reverse();
        }
        Ok(taken)
    }

    fn count(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn point(&mut self, builder: &mut ShapesBuilder) -> Result<()> {
        let (x, y) = (f64::from_le_bytes(self.take()?), f64::from_le_bytes(self.take()?));
        builder.point((x, y))
    }

    fn points(&mut self, builder: &mut ShapesBuilder) -> Result<()> {
        for _ in 0..self.count()? {
            self.point(builder)?;
        }
        builder.end(0)
    }

    fn geometry(&mut self, kind: Kind, name: &str, builder: &mut ShapesBuilder) -> Result<()> {
        self.is_big = self.take::<1>()? == [0];
        let number = self.count()?;
        if Kind::of_number(number) != Some(kind) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                match Kind::of_number(number) {
                    Some(found) => format!("Function {name}: expected geometry type {kind:?}, got {found:?}"),
                    None => format!("Incorrect type of geometry in WKB: {number}"),
                },
            ));
        }
        if let Some(part) = kind.part() {
            for _ in 0..self.count()? {
                self.geometry(part, name, builder)?;
            }
            return builder.end(kind.depth() - 1);
        }
        match kind {
            Kind::Point => self.point(builder),
            Kind::LineString => self.points(builder),
            _ => {
                for _ in 0..self.count()? {
                    self.points(builder)?;
                }
                builder.end(1)
            }
        }
    }
}
