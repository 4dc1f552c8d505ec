//! A scan's condition as SQL for another server, so that rows that cannot match stay there. It need not be whole, and it may let more rows
//! through than match: rows that come are filtered again. It must not hold back a row that matches here.

use std::sync::Arc;

use squall_planner::Expression;
use squall_remote::sayable;
use squall_types::calendar::TimeZone;
use squall_types::{CastMode, CastOptions, DataType, Schema, Value, cast_value};

/// The most values of a list that are sent.
const VALUES_MAX: usize = 10_000;
/// Decimals of more digits than a `Float64` has are not compared with one there.
const FLOAT_DIGITS: u8 = 15;

/// A column in a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The column in the server's SQL.
    pub sql: String,
    /// What it can be compared with.
    pub kind: OperandKind,
}

/// What a column can be compared with, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// Numbers.
    Number,
    /// Strings. By its collation the server may find more equal than there are, and it has an order of its own.
    Text {
        /// What compares byte by byte, where the server has that.
        bytewise: Option<String>,
    },
    /// Dates and times, as text in the session's time zone.
    Moment,
    /// Times as text in UTC.
    Instant,
    /// UUIDs, which have another order there.
    Uuid,
}

/// How conditions are said to a server.
pub(crate) struct Wording<'a> {
    /// The columns of a condition, in the order of `schema`.
    pub operands: Vec<Option<&'a Operand>>,
    /// Their types.
    pub schema: &'a Schema,
    /// A string literal.
    pub literal: fn(&[u8]) -> Option<String>,
    /// The time zone of times that name none.
    pub zone: &'a TimeZone,
}

impl Wording<'_> {
    /// The part of a condition that the server can be asked for; `None` where there is none.
    pub fn sql(&self, condition: &Expression) -> Option<String> {
        sayable(condition, &|part| self.whole(part))
    }

    fn whole(&self, condition: &Expression) -> Option<String> {
        let Expression::Function { name, arguments, .. } = condition else { return None };
        match (&**name, &arguments[..]) {
            ("or", parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.sql(part)).collect::<Option<_>>()?;
                Some(format!("({})", parts.join(" OR ")))
            }
            ("isNull", [value]) => Some(format!("{} IS NULL", self.operand(value)?.0.sql)),
            ("isNotNull", [value]) => Some(format!("{} IS NOT NULL", self.operand(value)?.0.sql)),
            ("in", [value, set]) => self.list(value, set),
            (name, [left, right]) => {
                let operator = operator(name)?;
                match self.operand(left) {
                    Some(column) => self.comparison(column, operator, right),
                    None => self.comparison(self.operand(right)?, mirrored(operator), left),
                }
            }
            _ => None,
        }
    }

    fn operand(&self, expression: &Expression) -> Option<(&Operand, &DataType)> {
        let Expression::Column { position, .. } = expression else { return None };
        let operand = (*self.operands.get(*position)?)?;
        Some((operand, self.schema.types().nth(*position)?.inner()))
    }

    fn comparison(&self, column: (&Operand, &DataType), operator: &str, constant: &Expression) -> Option<String> {
        let Expression::Constant { value, data_type } = constant else { return None };
        let value = self.value(column, value, data_type)?;
        let (operand, _) = column;
        let sql = match (&operand.kind, operator) {
            (_, "=")
            | (OperandKind::Number | OperandKind::Moment | OperandKind::Instant, _)
            | (OperandKind::Uuid, "<>") => &operand.sql,
            (OperandKind::Text { bytewise }, _) => bytewise.as_ref()?,
            (OperandKind::Uuid, _) => return None,
        };
        Some(format!("{sql} {operator} {value}"))
    }

    fn list(&self, value: &Expression, set: &Expression) -> Option<String> {
        let column = self.operand(value)?;
        let Expression::Constant { value: Value::Array(items), data_type: DataType::Array(item) } = set else {
            return None;
        };
        if items.len() > VALUES_MAX {
            return None;
        }
        let items = items.iter().filter(|item| !item.is_null());
        let items: Vec<String> = items.map(|value| self.value(column, value, item)).collect::<Option<_>>()?;
        (!items.is_empty()).then(|| format!("{} IN ({})", column.0.sql, items.join(", ")))
    }

    /// A constant that a column is compared with.
    fn value(&self, (operand, column): (&Operand, &DataType), value: &Value, of: &DataType) -> Option<String> {
        let of = of.inner();
        match (&operand.kind, value) {
            (_, Value::Null) => None,
            (OperandKind::Number, Value::Float64(number)) => {
                let is_exact = number.is_finite() && (!column.is_decimal() || column.precision() <= FLOAT_DIGITS);
                is_exact.then(|| format!("{number:?}"))
            }
            (OperandKind::Number, _) if of.is_any_number() || of.is_decimal() || *of == DataType::Bool => {
                let number = if let Value::Bool(flag) = value { &Value::UInt64(u64::from(*flag)) } else { value };
                let of = if *of == DataType::Bool { &DataType::UInt8 } else { of };
                self.text(number, of)
            }
            (OperandKind::Text { .. }, Value::String(text)) if *of == DataType::String => (self.literal)(text),
            (OperandKind::Uuid, Value::Uuid(_)) => (self.literal)(self.text(value, of)?.as_bytes()),
            (OperandKind::Moment | OperandKind::Instant, _) if may_compare(column, of) => {
                let moment = cast_value(value, of, &in_zone(column, None), &self.options()).ok()?;
                let zone = (operand.kind == OperandKind::Instant).then(|| Arc::from("UTC"));
                (self.literal)(self.text(&moment, &in_zone(column, zone))?.as_bytes())
            }
            _ => None,
        }
    }

    fn text(&self, value: &Value, of: &DataType) -> Option<String> {
        match cast_value(value, of, &DataType::String, &self.options()) {
            Ok(Value::String(text)) => String::from_utf8(text.to_vec()).ok(),
            _ => None,
        }
    }

    fn options(&self) -> CastOptions {
        CastOptions::new(CastMode::Plain, self.zone.clone())
    }
}

/// Whether a constant of a type is a moment that a column can have: cut to fit, it would be another.
fn may_compare(column: &DataType, constant: &DataType) -> bool {
    match (column, constant) {
        (DataType::Date | DataType::Date32, DataType::Date | DataType::Date32) => true,
        (
            DataType::DateTime(_) | DataType::DateTime64(..),
            DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..),
        ) => constant.time_digits() <= column.time_digits(),
        _ => false,
    }
}

/// The type of a moment that a column is compared with, in a zone or in the session's; that of whole seconds has a range that no constant leaves.
fn in_zone(column: &DataType, zone: Option<Arc<str>>) -> DataType {
    match column {
        DataType::DateTime64(digits, _) => DataType::DateTime64(*digits, zone),
        DataType::DateTime(_) => DataType::DateTime64(0, zone),
        DataType::Date => DataType::Date32,
        other => other.clone(),
    }
}

fn operator(function: &str) -> Option<&'static str> {
    Some(match function {
        "equals" => "=",
        "notEquals" => "<>",
        "less" => "<",
        "lessOrEquals" => "<=",
        "greater" => ">",
        "greaterOrEquals" => ">=",
        _ => return None,
    })
}

/// The operator with its sides changed.
fn mirrored(operator: &'static str) -> &'static str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_planner::call;

    use super::*;

    fn literal(text: &[u8]) -> Option<String> {
        Some(format!("'{}'", String::from_utf8_lossy(text)))
    }

    fn said(condition: &Expression) -> Option<String> {
        let operand = |sql: &str, kind| Operand { sql: sql.to_owned(), kind };
        let text = OperandKind::Text { bytewise: Some("s BYTES".to_owned()) };
        let operands = [
            operand("n", OperandKind::Number),
            operand("s", text),
            operand("t", OperandKind::Moment),
            operand("d", OperandKind::Number),
        ];
        let types = [
            ("n", DataType::Int32.to_nullable()),
            ("s", DataType::String),
            ("t", DataType::DateTime64(3, None)),
            ("d", DataType::Decimal(38, 19)),
        ];
        let wording = Wording {
            operands: operands.iter().map(Some).collect(),
            schema: &Schema::new(types),
            literal,
            zone: &TimeZone::named("Europe/Berlin").unwrap(),
        };
        wording.sql(condition)
    }

    fn of(function: &str, arguments: Vec<Expression>) -> Expression {
        call(function, arguments, &FunctionContext::outside_queries("UTC")).unwrap()
    }

    fn column(position: usize) -> Expression {
        let types =
            [DataType::Int32.to_nullable(), DataType::String, DataType::DateTime64(3, None), DataType::Decimal(38, 19)];
        Expression::Column { position, data_type: types[position].clone() }
    }

    fn constant(value: Value, data_type: DataType) -> Expression {
        Expression::Constant { value, data_type }
    }

    #[test]
    fn comparisons_are_said() {
        let one = || constant(Value::UInt64(1), DataType::UInt8);
        let text = || constant(Value::string("x"), DataType::String);
        let cases = [
            (of("equals", vec![column(0), one()]), Some("n = 1")),
            (of("less", vec![one(), column(0)]), Some("n > 1")),
            (of("isNull", vec![column(0)]), Some("n IS NULL")),
            (of("equals", vec![column(1), text()]), Some("s = 'x'")),
            (of("notEquals", vec![column(1), text()]), Some("s BYTES <> 'x'")),
            (of("greater", vec![column(0), constant(Value::Float64(1.5), DataType::Float64)]), Some("n > 1.5")),
            (of("greater", vec![column(0), constant(Value::Float64(f64::NAN), DataType::Float64)]), None),
            // Decimals of many digits are compared with floats here alone.
            (of("greater", vec![column(3), constant(Value::Float64(1.5), DataType::Float64)]), None),
            (of("equals", vec![column(0), column(0)]), None),
        ];
        for (condition, wanted) in cases {
            assert_eq!(said(&condition).as_deref(), wanted, "{condition:?}");
        }
    }

    #[test]
    fn moments_are_told_in_the_sessions_zone() {
        let moment = |ticks: i64, digits| constant(Value::Int64(ticks), DataType::DateTime64(digits, None));
        let whole = constant(Value::UInt64(0), DataType::DateTime(Some("UTC".into())));
        assert_eq!(said(&of("less", vec![column(2), moment(1, 3)])).as_deref(), Some("t < '1970-01-01 01:00:00.001'"));
        assert_eq!(said(&of("less", vec![column(2), whole])).as_deref(), Some("t < '1970-01-01 01:00:00.000'"));
        // Cut to the column's digits it would be another moment.
        assert_eq!(said(&of("less", vec![column(2), moment(1, 6)])), None);
    }

    #[test]
    fn what_cannot_be_said_is_left_out() {
        let one = || constant(Value::UInt64(1), DataType::UInt8);
        let known = || of("equals", vec![column(0), one()]);
        let unknown = || of("equals", vec![of("length", vec![column(1)]), one()]);
        assert_eq!(said(&of("and", vec![known(), unknown()])).as_deref(), Some("n = 1"));
        assert_eq!(said(&of("or", vec![known(), unknown()])), None);
        let either = of("or", vec![known(), of("and", vec![known(), unknown()])]);
        assert_eq!(said(&either).as_deref(), Some("(n = 1 OR n = 1)"));
        // What lets more rows through than match must not be negated.
        assert_eq!(said(&of("not", vec![known()])), None);
    }
}
