//! The values of expressions over rows: columns by position, constants, functions of both. It is the only evaluator: the engine computes
//! rows by it, storage keys and defaults, and a rule what a condition says of a few values.
//!
//! Functions with lazy arguments (`if`, `and`) get one that may be an error for some values (a division, a conversion of text)
//! only for the rows that need it, as ClickHouse's `short_circuit_function_evaluation` does: `if(x = 0, 0, intDiv(1, x))` is no error.

use arrow_array::{Array, BooleanArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use squall_functions::{Lazy, Selection, truth};
use squall_types::{Block, Column, Error, Result, default_value};

use crate::Expression;

/// Where an expression finds its columns.
pub trait Columns {
    /// How many rows each column has.
    fn rows(&self) -> usize;

    /// The column that the expression refers to by this position.
    ///
    /// # Errors
    /// Where there is none.
    fn column(&self, position: usize) -> Result<Column>;
}

impl Columns for Block {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn column(&self, position: usize) -> Result<Column> {
        Ok(self.column(position).clone())
    }
}

/// The values of an expression.
///
/// # Errors
/// The functions' own.
pub fn evaluate(expression: &Expression, columns: &dyn Columns) -> Result<Column> {
    let rows = columns.rows();
    match expression {
        Expression::Column { position, .. } => columns.column(*position),
        Expression::Constant { value, data_type } => Column::constant(data_type.clone(), value, rows),
        Expression::Function { function, arguments, .. } => {
            let properties = function.properties();
            let evaluate_at = |(at, argument): (usize, &Expression)| match argument {
                // A set of many values would be copied for every block.
                Expression::Constant { data_type, .. } if at >= properties.bound_from && !data_type.is_nullable() => {
                    Column::constant(data_type.clone(), &default_value(data_type), rows)
                }
                other => evaluate(other, columns),
            };
            let values = match properties.lazy {
                Some(lazy) if arguments.iter().skip(1).any(Expression::may_throw) => {
                    evaluate_lazily(lazy, arguments, columns)?
                }
                _ => arguments.iter().enumerate().map(evaluate_at).collect::<Result<Vec<_>>>()?,
            };
            function.execute(&values, rows)
        }
        Expression::HigherOrder { function, lambda, operands, .. } => {
            let operands = operands.iter().map(|operand| evaluate(operand, columns)).collect::<Result<Vec<_>>>()?;
            lambda.apply(&**function, &operands, rows)
        }
    }
}

/// Evaluates a condition: a row passes where the value is neither 0 nor NULL.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER`, and the functions' own.
pub fn select(condition: &Expression, columns: &dyn Columns) -> Result<Selection> {
    Selection::of(&evaluate(condition, columns)?)
}

/// The arguments' values, with defaults in rows where an argument does not count.
fn evaluate_lazily(lazy: Lazy, arguments: &[Expression], columns: &dyn Columns) -> Result<Vec<Column>> {
    let mut values = Vec::with_capacity(arguments.len());
    // Rows that are not decided yet.
    let mut open = BooleanBuffer::new_set(columns.rows());
    // Rows that the last condition of `multiIf` chose.
    let mut chosen = open.clone();
    for (at, argument) in arguments.iter().enumerate() {
        let is_condition = match lazy {
            Lazy::If => at == 0,
            Lazy::MultiIf => at % 2 == 0 && at + 1 < arguments.len(),
            Lazy::And | Lazy::Or => true,
        };
        let wanted = match lazy {
            Lazy::If if at == 1 => &chosen,
            Lazy::MultiIf if at % 2 == 1 => &chosen,
            _ => &open,
        };
        let column = evaluate_where(argument, columns, wanted)?;
        if is_condition {
            open = match lazy {
                Lazy::If | Lazy::MultiIf => {
                    let holds = truth(&column.materialize()?)?;
                    chosen = &open & &holds;
                    &open & &!&holds
                }
                // A NULL does not decide `and`: a 0 after it does.
                Lazy::And => &open & &(&truth(&column.materialize()?)? | &nulls_of(&column)?),
                Lazy::Or => &open & &!&truth(&column.materialize()?)?,
            };
        }
        values.push(column);
    }
    Ok(values)
}

fn nulls_of(column: &Column) -> Result<BooleanBuffer> {
    let column = column.materialize()?;
    Ok(match column.array().logical_nulls() {
        Some(nulls) => !nulls.inner(),
        None => BooleanBuffer::new_unset(column.rows()),
    })
}

/// Those columns that an expression reads, in some of their rows.
struct WantedRows {
    columns: Vec<(usize, Column)>,
    rows: usize,
}

impl WantedRows {
    fn of(expression: &Expression, columns: &dyn Columns, wanted: &BooleanBuffer, rows: usize) -> Result<Self> {
        let mut positions = Vec::new();
        expression.visit_columns(&mut |position| positions.push(position));
        positions.sort_unstable();
        positions.dedup();
        let mask = BooleanArray::new(wanted.clone(), None);
        let read = |position| Ok((position, columns.column(position)?.filter(&mask, rows)?));
        Ok(Self { columns: positions.into_iter().map(read).collect::<Result<_>>()?, rows })
    }
}

impl Columns for WantedRows {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, position: usize) -> Result<Column> {
        let column = self.columns.iter().find(|(at, _)| *at == position);
        column.map(|(_, column)| column.clone()).ok_or_else(|| Error::logical("a column that no visit has named"))
    }
}

/// The values of an expression in the wanted rows, the type's default in others.
fn evaluate_where(expression: &Expression, columns: &dyn Columns, wanted: &BooleanBuffer) -> Result<Column> {
    let rows = wanted.count_set_bits();
    if rows == columns.rows() || !expression.may_throw() {
        return evaluate(expression, columns);
    }
    let default = || Column::default_values(expression.data_type().clone(), 1);
    if rows == 0 {
        return Ok(Column::repeat(&default()?.materialize()?, columns.rows()));
    }
    let some = WantedRows::of(expression, columns, wanted, rows)?;
    let values = evaluate(expression, &some)?.materialize()?;
    let with_default = Column::concat(&[values, default()?])?;
    let mut next = 0;
    let position = |is_wanted: bool| {
        if !is_wanted {
            return rows as u32;
        }
        next += 1;
        next - 1
    };
    let positions: Vec<u32> = wanted.iter().map(position).collect();
    with_default.take(&UInt32Array::from(positions))
}
