//! PostgreSQL's types: what they are here, how their values are asked for, and how conditions name them.

use squall_types::{DataType, Error, ErrorCode, Result};

use crate::condition::{Operand, OperandKind};

/// The digits of a `numeric` that says none, and how many of them come after the point.
const NUMERIC: (u8, u8) = (38, 19);
/// The most digits of a decimal.
const DIGITS_MAX: u8 = 76;

/// How values of a column come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// How each value, or each item of the arrays, comes.
    pub item: Item,
    /// The dimensions of arrays; 0 of what is none.
    pub dimensions: u8,
}

/// How a value comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// `smallint`, `integer` and `bigint`, by their bytes.
    Integer,
    /// `real` and `double precision`.
    Float,
    /// `boolean`.
    Flag,
    /// `text` and `character varying`.
    Text,
    /// `character(n)`, with blanks at its end, and `name`.
    Padded,
    /// `bytea`.
    Bytes,
    /// `uuid`.
    Uuid,
    /// `date`.
    Date,
    /// `timestamp`: the time that a clock of the session's zone shows.
    Clock,
    /// `timestamp with time zone`.
    Instant,
    /// `numeric`, as text.
    Decimal,
    /// Anything else, as text.
    Other,
}

impl Kind {
    /// What a type's name means: how values come, and what they are here.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a `numeric` of too many digits.
    pub fn of(name: &str, dimensions: u8) -> Result<(Self, DataType)> {
        let item = name.trim_end_matches("[]");
        let (item, data_type) = item_of(item)?;
        Ok((Self { item, dimensions }, data_type))
    }

    /// What is asked for of a column of this name in quotes.
    pub fn expression(self, name: &str) -> String {
        match (self.item, self.dimensions) {
            (Item::Decimal | Item::Other, 0) => format!("{name}::text"),
            (Item::Decimal | Item::Other, _) => format!("{name}::text[]"),
            _ => name.to_owned(),
        }
    }

    /// How conditions name the column. Values that are cast for us are compared as they come.
    pub fn operand(self, name: &str) -> Option<Operand> {
        if self.dimensions > 0 {
            return None;
        }
        let plain = name.to_owned();
        let bytewise = |sql: &str| OperandKind::Text { bytewise: Some(format!("{sql} COLLATE \"C\"")) };
        let (sql, kind) = match self.item {
            Item::Integer | Item::Float | Item::Decimal => (plain, OperandKind::Number),
            Item::Flag => (format!("{name}::integer"), OperandKind::Number),
            Item::Text => (plain, bytewise(name)),
            Item::Padded => (plain, OperandKind::Text { bytewise: None }),
            Item::Other => {
                let text = format!("{name}::text");
                (text.clone(), bytewise(&text))
            }
            Item::Uuid => (plain, OperandKind::Uuid),
            Item::Date | Item::Clock | Item::Instant => (plain, OperandKind::Moment),
            Item::Bytes => return None,
        };
        Some(Operand { sql, kind })
    }
}

fn item_of(name: &str) -> Result<(Item, DataType)> {
    let (base, parameters) = match name.split_once('(') {
        Some((base, rest)) => (base.trim_end(), rest.split_once(')').map_or(rest, |(inside, _)| inside)),
        None => (name, ""),
    };
    Ok(match base {
        "smallint" => (Item::Integer, DataType::Int16),
        "integer" => (Item::Integer, DataType::Int32),
        "bigint" => (Item::Integer, DataType::Int64),
        "real" => (Item::Float, DataType::Float32),
        "double precision" => (Item::Float, DataType::Float64),
        "boolean" => (Item::Flag, DataType::UInt8),
        "text" | "character varying" => (Item::Text, DataType::String),
        "character" | "name" => (Item::Padded, DataType::String),
        "bytea" => (Item::Bytes, DataType::String),
        "uuid" => (Item::Uuid, DataType::UUID),
        "date" => (Item::Date, DataType::Date),
        "numeric" => (Item::Decimal, decimal(name, parameters)?),
        _ if base.starts_with("timestamp") => {
            let item = if name.ends_with("with time zone") { Item::Instant } else { Item::Clock };
            (item, DataType::DateTime64(6, None))
        }
        _ => (Item::Other, DataType::String),
    })
}

fn decimal(name: &str, parameters: &str) -> Result<DataType> {
    if parameters.is_empty() {
        return Ok(DataType::Decimal(NUMERIC.0, NUMERIC.1));
    }
    let too_big = || {
        let message =
            format!("The type {name} of PostgreSQL has no counterpart: a decimal has up to {DIGITS_MAX} digits");
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    };
    let (digits, scale) = parameters.split_once(',').unwrap_or((parameters, "0"));
    let digits: u8 = digits.trim().parse().map_err(|_| too_big())?;
    let scale: u8 = scale.trim().parse().map_err(|_| too_big())?;
    if digits > DIGITS_MAX || scale > digits {
        return Err(too_big());
    }
    Ok(DataType::Decimal(digits, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_counterparts() {
        for (name, data_type, expression) in [
            ("smallint", "Int16", "c"),
            ("character varying(10)", "String", "c"),
            ("numeric(9,2)", "Decimal(9, 2)", "c::text"),
            ("numeric", "Decimal(38, 19)", "c::text"),
            ("timestamp(3) with time zone", "DateTime64(6)", "c"),
            ("interval", "String", "c::text"),
            ("boolean", "UInt8", "c"),
        ] {
            let (kind, found) = Kind::of(name, 0).unwrap();
            assert_eq!((found.to_string().as_str(), kind.expression("c").as_str()), (data_type, expression), "{name}");
        }
        let (kind, item) = Kind::of("numeric(5,1)[]", 2).unwrap();
        assert_eq!((item.to_string().as_str(), kind.expression("c").as_str()), ("Decimal(5, 1)", "c::text[]"));
        assert!(Kind::of("numeric(100,2)", 0).is_err());
    }
}
