//! Expressions over blocks: columns by position, constants, functions of both.
//!
//! Functions with lazy arguments (`if`, `and`) get one that may be an error for some values (a division, a conversion of text)
//! only for the rows that need it, as ClickHouse's `short_circuit_function_evaluation` does: `if(x = 0, 0, intDiv(1, x))` is no error.

use arrow_array::{Array, BooleanArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use squall_functions::{Lazy, Selection, truth};
use squall_planner::Expression;
use squall_types::{Block, Column, Result, default_value};

/// The values of an expression over a block.
///
/// # Errors
/// The functions' own.
pub fn evaluate(expression: &Expression, block: &Block) -> Result<Column> {
    match expression {
        Expression::Column { position, .. } => Ok(block.column(*position).clone()),
        Expression::Constant { value, data_type } => Column::constant(data_type.clone(), value, block.rows()),
        Expression::Function { function, arguments, .. } => {
            let properties = function.properties();
            let evaluate_at = |(at, argument): (usize, &Expression)| match argument {
                // A set of many values would be copied for every block.
                Expression::Constant { data_type, .. } if at >= properties.bound_from && !data_type.is_nullable() => {
                    Column::constant(data_type.clone(), &default_value(data_type), block.rows())
                }
                other => evaluate(other, block),
            };
            let columns = match properties.lazy {
                Some(lazy) if arguments.iter().skip(1).any(Expression::may_throw) => {
                    evaluate_lazily(lazy, arguments, block)?
                }
                _ => arguments.iter().enumerate().map(evaluate_at).collect::<Result<Vec<_>>>()?,
            };
            function.execute(&columns, block.rows())
        }
        Expression::HigherOrder { function, lambda, operands, .. } => {
            let operands = operands.iter().map(|operand| evaluate(operand, block)).collect::<Result<Vec<_>>>()?;
            lambda.apply(&**function, &operands, block.rows(), &evaluate)
        }
    }
}

/// The arguments' values, with defaults in rows where an argument does not count.
fn evaluate_lazily(lazy: Lazy, arguments: &[Expression], block: &Block) -> Result<Vec<Column>> {
    let mut columns = Vec::with_capacity(arguments.len());
    // Rows that are not decided yet.
    let mut open = BooleanBuffer::new_set(block.rows());
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
        let column = evaluate_where(argument, block, wanted)?;
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
        columns.push(column);
    }
    Ok(columns)
}

fn nulls_of(column: &Column) -> Result<BooleanBuffer> {
    let column = column.materialize()?;
    Ok(match column.array().logical_nulls() {
        Some(nulls) => !nulls.inner(),
        None => BooleanBuffer::new_unset(column.rows()),
    })
}

/// The values of an expression in the wanted rows, the type's default in others.
fn evaluate_where(expression: &Expression, block: &Block, wanted: &BooleanBuffer) -> Result<Column> {
    let rows = wanted.count_set_bits();
    if rows == block.rows() || !expression.may_throw() {
        return evaluate(expression, block);
    }
    let default = || Column::default_values(expression.data_type().clone(), 1);
    if rows == 0 {
        return Ok(Column::repeat(&default()?.materialize()?, block.rows()));
    }
    let mut is_read = vec![false; block.columns().len()];
    expression.visit_columns(&mut |column| is_read[column] = true);
    let mask = BooleanArray::new(wanted.clone(), None);
    // What is not read only has to be as long.
    let columns = block.columns().iter().zip(is_read);
    let columns =
        columns.map(|(column, is_read)| if is_read { column.filter(&mask, rows) } else { Ok(column.slice(0, rows)) });
    let some = Block::new(block.schema().clone(), columns.collect::<Result<_>>()?, rows);
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

/// Evaluates a condition: a row passes where the value is neither 0 nor NULL.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER`, and the functions' own.
pub fn select(predicate: &Expression, block: &Block) -> Result<Selection> {
    Selection::of(&evaluate(predicate, block)?)
}
