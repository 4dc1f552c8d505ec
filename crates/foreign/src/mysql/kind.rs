//! MySQL's types: what they are here, how their values come, and how conditions name them.

use squall_types::DataType;

use crate::condition::{Operand, OperandKind};
use crate::engine::{Columns, DateAs};

/// The most digits of a decimal.
const DIGITS_MAX: u8 = 76;

/// How values of a column come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Integers, floats.
    Number,
    /// `decimal`, as text.
    Decimal,
    /// `bit`, as bytes.
    Bits,
    /// `date`.
    Date,
    /// `datetime`: the time that a clock of the session's zone shows.
    Clock,
    /// `timestamp`.
    Instant,
    /// `char`, `varchar`, `text` and `enum`.
    Text,
    /// `binary` and `blob`.
    Bytes,
    /// Anything else, as text; a time has so many digits behind its second.
    Other(u8),
}

/// A type as MySQL describes it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Declared {
    /// Its name, without parameters.
    pub name: String,
    pub is_unsigned: bool,
    /// Of `binary`.
    pub length: usize,
    /// Of `decimal`.
    pub precision: u8,
    /// Of `decimal`; of times the digits behind the second.
    pub scale: u8,
}

impl Declared {
    /// How values come, and what they are here.
    pub fn meaning(&self, wanted: Columns) -> (Kind, DataType) {
        let integer = |signed, unsigned| (Kind::Number, if self.is_unsigned { unsigned } else { signed });
        match self.name.as_str() {
            "tinyint" => integer(DataType::Int8, DataType::UInt8),
            "smallint" => integer(DataType::Int16, DataType::UInt16),
            "mediumint" | "int" | "integer" => integer(DataType::Int32, DataType::UInt32),
            "bigint" => integer(DataType::Int64, DataType::UInt64),
            "float" => (Kind::Number, DataType::Float32),
            "double" => (Kind::Number, DataType::Float64),
            "decimal" | "numeric" if wanted.decimals && self.precision <= DIGITS_MAX => {
                (Kind::Decimal, DataType::Decimal(self.precision.max(1), self.scale))
            }
            "date" => match wanted.dates {
                DateAs::Date32 => (Kind::Date, DataType::Date32),
                DateAs::Date => (Kind::Date, DataType::Date),
                DateAs::String => (Kind::Other(0), DataType::String),
            },
            name @ ("datetime" | "timestamp") => {
                let kind = if name == "datetime" { Kind::Clock } else { Kind::Instant };
                let is_whole = !wanted.fractions || (kind == Kind::Instant && self.scale == 0);
                (kind, if is_whole { DataType::DateTime(None) } else { DataType::DateTime64(self.scale.min(9), None) })
            }
            "bit" => (Kind::Bits, DataType::UInt64),
            "binary" => (Kind::Bytes, DataType::FixedString(self.length.max(1))),
            "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => (Kind::Bytes, DataType::String),
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" => {
                (Kind::Text, DataType::String)
            }
            _ => (Kind::Other(self.scale.min(6)), DataType::String),
        }
    }
}

impl Kind {
    /// How conditions name a column of this name in quotes.
    pub(super) fn operand(self, name: &str, declared: &Declared, data_type: &DataType) -> Option<Operand> {
        let is_cut = *data_type == DataType::DateTime(None) && (self == Self::Clock || declared.scale > 0);
        let kind = match self {
            Self::Number | Self::Decimal => OperandKind::Number,
            // A `DateTime` has not every moment that `datetime` has, and no fractions.
            Self::Clock | Self::Instant if is_cut => return None,
            Self::Date | Self::Clock => OperandKind::Moment,
            Self::Instant => OperandKind::Instant,
            Self::Text => {
                OperandKind::Text { bytewise: Some(format!("CAST(CONVERT({name} USING utf8mb4) AS BINARY)")) }
            }
            _ => return None,
        };
        Some(Operand { sql: name.to_owned(), kind })
    }
}
