//! Points, rings, polygons and multipolygons in columns: tuples of two numbers, and arrays of them nested up to three times.

use std::ops::Range;
use std::sync::Arc;

use squall_types::{Alternatives, Column, DataType, Error, ErrorCode, Result, Shape, grow};

use crate::scalar::array::{Lists, list_column};
use crate::scalar::simple::{Call, floats};
use crate::scalar::tuple::{elements, from_elements};

/// Longitude and latitude, or x and y.
pub(super) type Point = (f64, f64);
pub(super) type Ring = Vec<Point>;
/// The outline and the holes.
pub(super) type Polygon = Vec<Ring>;
pub(super) type MultiPolygon = Vec<Polygon>;

/// How often arrays of points are nested: 0 of a point, 1 of a ring, 2 of a polygon, 3 of a multipolygon.
pub(super) fn depth(data_type: &DataType, is_coordinate: fn(&DataType) -> bool) -> Option<usize> {
    match data_type {
        DataType::Array(item) => depth(item, is_coordinate).map(|depth| depth + 1),
        DataType::Tuple(elements) => {
            (elements.len() == 2 && elements.iter().all(|element| is_coordinate(&element.data_type))).then_some(0)
        }
        _ => None,
    }
}

/// The depth of an argument that must be a geometry of floats.
pub(super) fn geometry(call: &Call<'_>, at: usize) -> Result<usize> {
    let found = depth(call.type_of(at), |data_type| *data_type == DataType::Float64).filter(|depth| *depth <= 3);
    found.ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown geometry type {}", call.type_of(at))))
}

/// The geometries of a column.
pub(super) struct Shapes {
    /// From the outermost arrays to those of points.
    levels: Vec<Lists>,
    points: Vec<Point>,
    is_constant: bool,
}

impl Shapes {
    pub fn of(column: &Column) -> Result<Self> {
        let mut levels: Vec<Lists> = Vec::new();
        let mut items = column.clone();
        while let DataType::Array(_) = items.data_type() {
            let lists = Lists::of_column(&items)?;
            items = lists.items.clone();
            levels.push(lists);
        }
        let rows = if items.is_constant() { 1 } else { items.rows() };
        let parts = elements(&items)?;
        let (x, y) = (floats(&parts, 0, rows)?, floats(&parts, 1, rows)?);
        Ok(Self { levels, points: x.into_iter().zip(y).collect(), is_constant: column.is_constant() })
    }

    /// The same where every coordinate must be a finite number.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_ARGUMENT`.
    pub fn of_finite(column: &Column) -> Result<Self> {
        let shapes = Self::of(column)?;
        let coordinates = || shapes.points.iter().flat_map(|(x, y)| [*x, *y]);
        let Some(wrong) = coordinates().find(|coordinate| !coordinate.is_finite()) else { return Ok(shapes) };
        let what = if wrong.is_nan() { "NaN" } else { "infinite" };
        Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("Point's component must not be {what}")))
    }

    /// How often arrays are nested.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The only point of a row of points.
    pub fn point(&self, row: usize) -> Point {
        self.points.get(if self.is_constant { 0 } else { row }).copied().unwrap_or_default()
    }

    fn ring(&self, range: Range<usize>) -> &[Point] {
        self.points.get(range).unwrap_or_default()
    }

    /// The rings of a row that has one polygon or one ring.
    pub fn rings(&self, row: usize) -> Vec<&[Point]> {
        match &self.levels[..] {
            [points] => vec![self.ring(points.range(row))],
            [rings, points] => rings.range(row).map(|at| self.ring(points.range(at))).collect(),
            _ => Vec::new(),
        }
    }

    /// The polygons of a row that has several.
    pub fn polygons(&self, row: usize) -> Vec<Vec<&[Point]>> {
        let [polygons, rings, points] = &self.levels[..] else { return Vec::new() };
        let of_polygon = |at: usize| rings.range(at).map(|at| self.ring(points.range(at))).collect();
        polygons.range(row).map(of_polygon).collect()
    }

    /// The geometry of a row as polygons; a point as a ring of one.
    pub fn multipolygon(&self, row: usize) -> MultiPolygon {
        let owned = |rings: Vec<&[Point]>| rings.into_iter().map(<[Point]>::to_vec).collect::<Polygon>();
        match self.levels.len() {
            0 => vec![vec![vec![self.point(row)]]],
            3 => self.polygons(row).into_iter().map(owned).collect(),
            _ => vec![owned(self.rings(row))],
        }
    }
}

/// Builds a column of geometries of one depth.
pub(super) struct ShapesBuilder {
    /// Where each array ends, from those of points outwards.
    ends: Vec<Vec<i32>>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl ShapesBuilder {
    pub fn new(depth: usize) -> Self {
        Self { ends: vec![vec![0]; depth], x: Vec::new(), y: Vec::new() }
    }

    /// Appends a point, to the ring that is being built or as a row.
    pub fn point(&mut self, (x, y): Point) -> Result<()> {
        grow(&mut self.x, 1)?;
        grow(&mut self.y, 1)?;
        self.x.push(x);
        self.y.push(y);
        Ok(())
    }

    /// Ends the array of this level, 0 for that of points.
    pub fn end(&mut self, level: usize) -> Result<()> {
        let count = match level.checked_sub(1) {
            None => self.x.len(),
            Some(inner) => self.ends.get(inner).map_or(0, |ends| ends.len() - 1),
        };
        let end = i32::try_from(count)
            .map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block"))?;
        self.ends.get_mut(level).ok_or_else(|| Error::logical("a geometry is not nested so deep"))?.push(end);
        Ok(())
    }

    pub fn ring(&mut self, points: &[Point]) -> Result<()> {
        points.iter().try_for_each(|point| self.point(*point))?;
        self.end(0)
    }

    pub fn polygon(&mut self, rings: &[Ring]) -> Result<()> {
        rings.iter().try_for_each(|ring| self.ring(ring))?;
        self.end(1)
    }

    pub fn multipolygon(&mut self, polygons: &[Polygon]) -> Result<()> {
        polygons.iter().try_for_each(|polygon| self.polygon(polygon))?;
        self.end(2)
    }

    /// The column, of a shape that is nested as deep as the builder.
    pub fn finish(self, shape: Shape) -> Result<Column> {
        let rows = self.x.len();
        let parts = [self.x, self.y]
            .map(|values| Column::from_primitive::<arrow_array::types::Float64Type>(DataType::Float64, values));
        let mut column = from_elements(&Shape::Point.data_type().without_names(), &parts, rows)?;
        for ends in self.ends {
            column = list_column(&column.data_type().clone(), ends, Arc::clone(column.array()))?;
        }
        Ok(column.with_type(shape.data_type()))
    }
}

/// Builds a column of geometries of different shapes, a `Geometry`.
pub(super) struct AnyShapesBuilder {
    /// A builder for each shape that is one, and how many it has.
    builders: Vec<(Shape, ShapesBuilder, u32)>,
    rows: Vec<Option<(u32, u32)>>,
}

impl AnyShapesBuilder {
    pub fn new() -> Self {
        let builder = |shape: Shape| shape.depth().map(|depth| (shape, ShapesBuilder::new(depth), 0));
        Self { builders: Shape::ALL.into_iter().filter_map(builder).collect(), rows: Vec::new() }
    }

    /// Begins the next row, of this shape: who reads it appends it to the builder.
    pub fn next(&mut self, shape: Shape) -> Result<&mut ShapesBuilder> {
        let found = self.builders.iter_mut().enumerate().find(|(_, (own, ..))| *own == shape);
        let (at, (_, builder, count)) = found.ok_or_else(|| Error::logical("a geometry of no shape"))?;
        self.rows.push(Some((at as u32, *count)));
        *count += 1;
        Ok(builder)
    }

    pub fn finish(self) -> Result<Column> {
        let columns = self.builders.into_iter().map(|(shape, builder, _)| builder.finish(shape));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let array = Alternatives { columns, rows: self.rows }.to_variant(&types)?;
        Ok(Column::new(Shape::Geometry.data_type(), array))
    }
}
