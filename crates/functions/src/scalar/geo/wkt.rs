//! Geometries as text: WKT (OGC 06-103r4), read and written, and SVG.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Shape, TypeName, checkpoint};

use super::shape::{AnyShapesBuilder, Point, Shapes, ShapesBuilder, geometry};
use crate::by_alternative;
use crate::function::{Argument, BoundFunction};
use crate::scalar::simple::{Call, Strings, argument, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// A float with six digits that count, as C's `%g` has it.
pub(super) fn put_float(value: f64, out: &mut Vec<u8>) {
    const DIGITS: i32 = 6;
    if !value.is_finite() {
        let text = if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        };
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let scientific = format!("{:.*e}", DIGITS as usize - 1, value);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    let text = if (-4..DIGITS).contains(&exponent) {
        trim(&format!("{:.*}", (DIGITS - 1 - exponent).max(0) as usize, value))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(digits), exponent.abs())
    };
    out.extend_from_slice(text.as_bytes());
}

fn put_points(points: &[Point], between: (&str, &str), is_closed: bool, out: &mut Vec<u8>) {
    let closing = points.first().filter(|first| is_closed && points.last() != Some(first));
    for (at, (x, y)) in points.iter().chain(closing).enumerate() {
        if at > 0 {
            out.extend_from_slice(between.1.as_bytes());
        }
        put_float(*x, out);
        out.extend_from_slice(between.0.as_bytes());
        put_float(*y, out);
    }
}

fn put_rings(rings: &[&[Point]], is_closed: bool, out: &mut Vec<u8>) {
    out.push(b'(');
    for (at, ring) in rings.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",(" } else { b"(" });
        put_points(ring, (" ", ","), is_closed, out);
        out.push(b')');
    }
    out.push(b')');
}

/// Whether a type is one of lines, which are not closed.
fn is_of_lines(data_type: &DataType) -> bool {
    let DataType::Named(named) = data_type else { return false };
    matches!(named.name, TypeName::Shape(Shape::LineString | Shape::MultiLineString))
}

pub(super) fn resolve_wkt(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    // A geometry of any shape is written by its own.
    let shapes = call.type_of(0).without_names();
    if shapes.is_of_alternatives() {
        let function = by_alternative::bind(call.name, &[Argument::of(shapes.clone())], 0, call.context)?;
        return call.bind(function.return_type().clone(), move |arguments, rows| {
            function.execute(&[argument(arguments, 0)?.clone().with_type(shapes.clone())], rows)
        });
    }
    let are_lines = is_of_lines(call.type_of(0));
    let plain = call.type_of(0).computed();
    let depth = geometry(&Call { arguments: &[Argument::of(plain.clone())], ..*call }, 0)?;
    call.bind(DataType::String, move |arguments, rows| {
        let shapes = Shapes::of_finite(&argument(arguments, 0)?.clone().with_type(plain.clone()))?;
        string_column(rows, 32 * rows, |out, row| {
            checkpoint(256)?;
            match depth {
                0 => {
                    out.extend_from_slice(b"POINT(");
                    put_points(&[shapes.point(row)], (" ", ","), false, out);
                    out.push(b')');
                }
                1 if are_lines => {
                    out.extend_from_slice(b"LINESTRING(");
                    shapes.rings(row).iter().for_each(|line| put_points(line, (" ", ","), false, out));
                    out.push(b')');
                }
                2 if are_lines => {
                    out.extend_from_slice(b"MULTILINESTRING");
                    let lines = shapes.rings(row);
                    if lines.is_empty() { out.extend_from_slice(b"()") } else { put_rings(&lines, false, out) }
                }
                1 | 2 => {
                    let rings = shapes.rings(row);
                    out.extend_from_slice(b"POLYGON");
                    if depth == 1 && rings.iter().all(|ring| ring.is_empty()) {
                        out.extend_from_slice(b"()");
                    } else {
                        put_rings(&rings, depth == 2, out);
                    }
                }
                _ => {
                    out.extend_from_slice(b"MULTIPOLYGON(");
                    for (at, polygon) in shapes.polygons(row).iter().enumerate() {
                        if at > 0 {
                            out.push(b',');
                        }
                        put_rings(polygon, true, out);
                    }
                    out.push(b')');
                }
            }
            Ok(())
        })
    })
}

/// A ring as it is drawn: closed, an outline clockwise and a hole the other way round.
fn drawn(ring: &[Point], is_hole: bool) -> Vec<Point> {
    let mut points = ring.to_vec();
    if points.len() > 2 && points.first() != points.last() {
        points.extend(ring.first());
    }
    let twice_the_area: f64 = points.windows(2).map(|pair| pair[0].0 * pair[1].1 - pair[1].0 * pair[0].1).sum();
    if if is_hole { twice_the_area < 0.0 } else { twice_the_area > 0.0 } {
        points.reverse();
    }
    points
}

/// `svg(geometry[, style])`.
pub(super) fn resolve_svg(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    let depth = geometry(call, 0)?;
    call.strings([1].into_iter().filter(|at| *at < call.arguments.len()))?;
    call.bind(DataType::String, move |arguments, rows| {
        let shapes = Shapes::of_finite(argument(arguments, 0)?)?;
        let styles = if arguments.len() > 1 { Strings::of(arguments, 1)? } else { Strings::Constant(b"") };
        string_column(rows, 64 * rows, |out, row| {
            checkpoint(256)?;
            let style = styles.get(row);
            let end = |out: &mut Vec<u8>| {
                out.extend_from_slice(b" style=\"");
                out.extend_from_slice(style);
                out.extend_from_slice(b"\"/>");
            };
            let path = |rings: &[&[Point]], out: &mut Vec<u8>| {
                out.extend_from_slice(b"<g fill-rule=\"evenodd\"><path d=\"");
                for (at, ring) in rings.iter().enumerate() {
                    out.extend_from_slice(b"M ");
                    put_points(&drawn(ring, at > 0), (",", " L "), false, out);
                }
                out.extend_from_slice(b" z \"");
                end(out);
                out.extend_from_slice(b"</g>");
            };
            match depth {
                0 => {
                    let (x, y) = shapes.point(row);
                    out.extend_from_slice(b"<circle cx=\"");
                    put_float(x, out);
                    out.extend_from_slice(b"\" cy=\"");
                    put_float(y, out);
                    out.extend_from_slice(b"\" r=\"5\"");
                    end(out);
                }
                1 => {
                    out.extend_from_slice(b"<polygon points=\"");
                    let ring = shapes.rings(row).into_iter().next().unwrap_or_default();
                    put_points(&drawn(ring, false), (",", " "), false, out);
                    out.push(b'"');
                    end(out);
                }
                2 => path(&shapes.rings(row), out),
                _ => shapes.polygons(row).iter().for_each(|polygon| path(polygon, out)),
            }
            Ok(())
        })
    })
}

/// What a shape's text begins with.
fn word(shape: Shape) -> &'static str {
    match shape {
        Shape::Point => "POINT",
        Shape::LineString => "LINESTRING",
        Shape::MultiPoint => "MULTIPOINT",
        Shape::Ring | Shape::Polygon => "POLYGON",
        Shape::MultiLineString => "MULTILINESTRING",
        Shape::MultiPolygon | Shape::Geometry => "MULTIPOLYGON",
    }
}

pub(super) fn resolve_read(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if !call.type_of(0).is_string_or_fixed_string() {
        return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "First argument should be String"));
    }
    let shape = Shape::of(call.name.trim_start_matches("readWKT")).ok_or_else(|| Error::logical("an unknown shape"))?;
    call.bind(shape.data_type(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut builder = ShapesBuilder::new(shape.depth().unwrap_or(0));
        for row in 0..rows {
            read_one(texts.get(row), shape, &mut builder)?;
        }
        builder.finish(shape)
    })
}

/// Reads a geometry of a shape.
fn read_one(text: &[u8], shape: Shape, builder: &mut ShapesBuilder) -> Result<()> {
    checkpoint(64 + 16 * text.len())?;
    let (depth, is_ring) = (shape.depth().unwrap_or(0), shape == Shape::Ring);
    let mut reader = Reader { text, at: 0 };
    reader.expect_word(word(shape))?;
    if reader.takes_word("EMPTY") {
        let Some(level) = depth.checked_sub(1) else {
            let whole = String::from_utf8_lossy(text);
            return Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("Empty points are not supported: {whole}")));
        };
        return builder.end(level);
    }
    if is_ring {
        reader.expect(b'(')?;
    }
    reader.nested(depth, shape == Shape::MultiPoint, builder)?;
    if is_ring {
        reader.expect(b')')?;
    }
    reader.end()
}

/// `readWKT`: a geometry of any kind.
pub(super) fn resolve_any(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    // A polygon's text may be meant as a ring's only by who says so.
    let is_own = |shape: &Shape| !matches!(shape, Shape::Geometry | Shape::Ring);
    let shapes: Vec<Shape> = Shape::ALL.into_iter().filter(is_own).collect();
    call.bind(Shape::Geometry.data_type(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut builder = AnyShapesBuilder::new();
        for row in 0..rows {
            let text = texts.get(row);
            let found = shapes.iter().find(|shape| Reader { text, at: 0 }.takes_word(word(**shape)));
            let Some(shape) = found else {
                let whole = String::from_utf8_lossy(text);
                let message = format!("Error while parsing a WKT geometry: {whole}");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            };
            read_one(text, *shape, builder.next(*shape)?)?;
        }
        builder.finish()
    })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> Error {
        let whole = String::from_utf8_lossy(self.text);
        Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("Cannot parse WKT string: {what} in ({whole})"))
    }

    fn skip_spaces(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let is_found = rest[..length].eq_ignore_ascii_case(word.as_bytes());
        if is_found {
            self.at += length;
        }
        is_found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.takes_word(word) { Ok(()) } else { Err(self.wrong(&format!("Should start with '{word}''"))) }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let is_found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_found);
        is_found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.takes(byte) { Ok(()) } else { Err(self.wrong(&format!("Expected '{}'", byte as char))) }
    }

    fn end(&mut self) -> Result<()> {
        self.skip_spaces();
        if self.at == self.text.len() { Ok(()) } else { Err(self.wrong("Too many tokens at end of WKT string")) }
    }

    fn number(&mut self) -> Result<f64> {
        self.skip_spaces();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_of_number = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
        let token = &rest[..rest.iter().take_while(|byte| is_of_number(byte)).count()];
        self.at += token.len();
        let number = std::str::from_utf8(token).ok().and_then(|token| token.parse::<f64>().ok());
        number.ok_or_else(|| self.wrong("bad lexical cast: source type value could not be interpreted as target"))
    }

    fn point(&mut self) -> Result<Point> {
        let (x, y) = (self.number()?, self.number()?);
        // Of more coordinates the first two count.
        self.skip_spaces();
        while self.text.get(self.at).is_some_and(|byte| !matches!(byte, b',' | b')')) {
            self.number()?;
            self.skip_spaces();
        }
        Ok((x, y))
    }

    /// What is in parentheses; of several points, each may be in its own.
    fn nested(&mut self, depth: usize, is_of_points: bool, builder: &mut ShapesBuilder) -> Result<()> {
        self.expect(b'(')?;
        loop {
            if depth <= 1 {
                let is_in_own = is_of_points && self.takes(b'(');
                let point = self.point()?;
                if is_in_own {
                    self.expect(b')')?;
                }
                builder.point(point)?;
            } else {
                self.nested(depth - 1, is_of_points, builder)?;
            }
            if depth == 0 || !self.takes(b',') {
                break;
            }
        }
        self.expect(b')')?;
        match depth.checked_sub(1) {
            Some(level) => builder.end(level),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_six_digits() {
        let cases =
            [(1.0, "1"), (4.123456789, "4.12346"), (1e10, "1e+10"), (1e-7, "1e-07"), (-0.0, "-0"), (0.5, "0.5")];
        for (value, text) in cases {
            let mut out = Vec::new();
            put_float(value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }
}
