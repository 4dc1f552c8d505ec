//! Types that are another type under a name of their own: shapes on a plane or a sphere, and the vectors of `QBit`, which distances are
//! computed of by some of their bits.

use std::fmt;
use std::sync::Arc;

use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};

/// A name, and the type of the values under it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NamedType {
    /// The name.
    pub name: TypeName,
    values: DataType,
}

/// Names that types have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeName {
    /// One of the shapes.
    Shape(Shape),
    /// `QBit(element, dimension[, stride])`.
    QBit(QBit),
}

/// A shape, of points that are pairs of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)] // The variants are ClickHouse's own names.
pub enum Shape {
    /// Any of the others.
    Geometry,
    LineString,
    MultiLineString,
    MultiPoint,
    MultiPolygon,
    Point,
    Polygon,
    Ring,
}

impl Shape {
    /// Every shape, by name.
    pub const ALL: [Self; 8] = [
        Self::Geometry,
        Self::LineString,
        Self::MultiLineString,
        Self::MultiPoint,
        Self::MultiPolygon,
        Self::Point,
        Self::Polygon,
        Self::Ring,
    ];

    /// The shape of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// ClickHouse's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Geometry => "Geometry",
            Self::LineString => "LineString",
            Self::MultiLineString => "MultiLineString",
            Self::MultiPoint => "MultiPoint",
            Self::MultiPolygon => "MultiPolygon",
            Self::Point => "Point",
            Self::Polygon => "Polygon",
            Self::Ring => "Ring",
        }
    }

    /// How often arrays of points are nested in it; `None` of any shape.
    pub fn depth(self) -> Option<usize> {
        match self {
            Self::Geometry => None,
            Self::Point => Some(0),
            Self::LineString | Self::MultiPoint | Self::Ring => Some(1),
            Self::MultiLineString | Self::Polygon => Some(2),
            Self::MultiPolygon => Some(3),
        }
    }

    /// The type of its values.
    pub fn data_type(self) -> DataType {
        let values = match self.depth() {
            Some(depth) => {
                let point = DataType::tuple([DataType::Float64, DataType::Float64]);
                (0..depth).fold(point, |item, _| DataType::array(item))
            }
            // In the order of their names, as a variant has its types.
            None => DataType::Variant(Self::ALL[1..].iter().map(|shape| shape.data_type()).collect()),
        };
        DataType::Named(Arc::new(NamedType { name: TypeName::Shape(self), values }))
    }
}

/// Vectors of one dimension, held so that the highest bits of all elements can be read without the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct QBit {
    /// `Int8`, `BFloat16`, `Float32` or `Float64`.
    pub element: DataType,
    /// Elements of a vector.
    pub dimension: usize,
    /// Elements whose bits lie together: all, or a part of them.
    pub stride: usize,
}

impl QBit {
    /// The type of such vectors.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_ARGUMENT`, `UNEXPECTED_AST_STRUCTURE`, `BAD_ARGUMENTS`.
    pub fn data_type(element: DataType, dimension: u64, stride: Option<u64>) -> Result<DataType> {
        if !matches!(element, DataType::Int8 | DataType::BFloat16 | DataType::Float32 | DataType::Float64) {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "QBit data type only supports Int8, BFloat16, Float32, or Float64 as element type. Got: {element}"
                ),
            ));
        }
        let count = |number: u64| usize::try_from(number).ok().filter(|count| (1..=DIMENSION_MAX).contains(count));
        let wrong = |which: &str, number: u64| {
            Error::new(
                ErrorCode::UNEXPECTED_AST_STRUCTURE,
                format!("QBit data type must have a number (positive integer) as its {which} argument. Got: {number}"),
            )
        };
        let dimension = count(dimension).ok_or_else(|| wrong("second", dimension))?;
        let stride = match stride {
            None => dimension,
            Some(stride) => count(stride).ok_or_else(|| wrong("third", stride))?,
        };
        if !dimension.is_multiple_of(stride) || stride < dimension && !stride.is_multiple_of(8) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("The stride {stride} of a QBit must be a multiple of 8 that divides its dimension {dimension}"),
            ));
        }
        let values = DataType::array(element.clone());
        let name = TypeName::QBit(Self { element, dimension, stride });
        Ok(DataType::Named(Arc::new(NamedType { name, values })))
    }

    /// Bits of an element.
    pub fn bits(&self) -> usize {
        match self.element {
            DataType::Int8 => 8,
            DataType::BFloat16 => 16,
            DataType::Float32 => 32,
            _ => 64,
        }
    }
}

/// The longest vector.
const DIMENSION_MAX: usize = 1 << 20;

impl NamedType {
    /// The type of the values.
    pub fn values(&self) -> &DataType {
        &self.values
    }
}

impl fmt::Display for NamedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            TypeName::Shape(shape) => f.write_str(shape.name()),
            TypeName::QBit(QBit { element, dimension, stride }) if stride < dimension => {
                write!(f, "QBit({element}, {dimension}, {stride})")
            }
            TypeName::QBit(QBit { element, dimension, .. }) => write!(f, "QBit({element}, {dimension})"),
        }
    }
}
