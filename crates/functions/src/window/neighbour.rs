//! Values of other rows: `lag`, `lead`, `nth_value`, the ends of the frame.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, least_supertype};

use super::{FrameUse, RowRange, WindowFunction, WindowRows, bad_arguments, wrong_count};
use crate::function::Argument;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Before,
    After,
}

/// `lag(value[, offset[, default]])` and its kin.
pub(super) fn offset(
    name: &str,
    arguments: &[Argument],
    direction: Direction,
    is_in_frame: bool,
) -> Result<Arc<dyn WindowFunction>> {
    let Some(value) = arguments.first() else {
        return Err(Error::new(
            ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            format!("Function {name} takes at least one argument"),
        ));
    };
    if let Some(offset) = arguments.get(1)
        && !offset.data_type.is_integer()
    {
        return Err(bad_arguments(format!("Offset must be an integer, '{}' given", offset.data_type)));
    }
    if let Some(default) = arguments.get(2) {
        let (wanted, given) = (&value.data_type, &default.data_type);
        let common = least_supertype(&[wanted.clone(), given.clone()]).map_err(|_| {
            bad_arguments(format!(
                "There is no supertype for the argument type '{wanted}' and the default value type '{given}'"
            ))
        })?;
        if common != *wanted {
            return Err(bad_arguments(format!(
                "The supertype '{common}' for the argument type '{wanted}' and the default value type '{given}' is not \
                 the same as the argument type"
            )));
        }
    }
    if arguments.len() > 3 {
        return Err(Error::new(
            ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            format!("Function '{name}' accepts at most 3 arguments, {} given", arguments.len()),
        ));
    }
    Ok(Arc::new(Offset { name: name.into(), return_type: value.data_type.clone(), direction, is_in_frame }))
}

#[derive(Debug)]
struct Offset {
    name: Arc<str>,
    return_type: DataType,
    direction: Direction,
    is_in_frame: bool,
}

impl WindowFunction for Offset {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn frame_use(&self) -> FrameUse {
        if self.is_in_frame { FrameUse::Any } else { FrameUse::NotWritten }
    }

    fn execute(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Column> {
        let [value, others @ ..] = arguments else { return Err(Error::logical("lag without a value")) };
        let offsets = Offsets::of(others.first(), &self.name, 0)?;
        let source = |row: usize, within: &RowRange| -> Result<Option<u32>> {
            let offset = offsets.of_row(row)?;
            let row = row as u64;
            let at = match self.direction {
                Direction::Before => row.checked_sub(offset),
                Direction::After => row.checked_add(offset),
            };
            let is_within = |at: &u64| (u64::from(within.begin)..u64::from(within.end)).contains(at);
            Ok(at.filter(is_within).map(|at| at as u32))
        };
        let mut positions = Vec::with_capacity(rows.rows());
        for partition in rows.partitions {
            for row in partition.range() {
                let within = if self.is_in_frame { &rows.frames[row] } else { partition };
                positions.push(source(row, within)?);
            }
        }
        take(value, &positions, others.get(1))
    }
}

/// How far away the wanted row is, which may differ from row to row.
struct Offsets<'a> {
    column: Option<&'a Column>,
    name: &'a str,
    least: u64,
    constant: Option<u64>,
}

impl<'a> Offsets<'a> {
    fn of(column: Option<&'a Column>, name: &'a str, least: u64) -> Result<Self> {
        let mut offsets = Self { column, name, least, constant: None };
        offsets.constant = match column {
            None => Some(1),
            Some(column) if column.is_constant() => Some(offsets.read(column, 0)?),
            Some(_) => None,
        };
        Ok(offsets)
    }

    fn of_row(&self, row: usize) -> Result<u64> {
        match (self.constant, self.column) {
            (Some(offset), _) => Ok(offset),
            (None, Some(column)) => self.read(column, row),
            (None, None) => Ok(1),
        }
    }

    fn read(&self, column: &Column, row: usize) -> Result<u64> {
        let value = column.value(row);
        let offset = value.as_u64().filter(|offset| *offset >= self.least && i64::try_from(*offset).is_ok());
        offset.ok_or_else(|| {
            bad_arguments(format!(
                "The offset for function {} must be in ({}, {}], {value} given",
                self.name,
                self.least,
                i64::MAX
            ))
        })
    }
}

/// The values at these positions; where there is none, the row's own default or the type's.
fn take(value: &Column, positions: &[Option<u32>], default: Option<&Column>) -> Result<Column> {
    let rows = positions.len();
    let data_type = value.data_type();
    let default = match default {
        Some(default) => cast(default, data_type, &CastOptions::default())?,
        None => Column::default_values(data_type.clone(), rows)?,
    };
    // Defaults come after the values: all of them, or the only one.
    let is_constant = default.is_constant();
    let defaults = if is_constant { default.slice(0, 1) } else { default };
    let all = Column::concat(&[value.slice(0, rows).materialize()?, defaults])?;
    let place = |(row, position): (usize, &Option<u32>)| match position {
        Some(position) => *position,
        None if is_constant => rows as u32,
        None => (rows + row) as u32,
    };
    all.take(&positions.iter().enumerate().map(|position| Some(place(position))).collect::<UInt32Array>())
}

/// `nth_value(value, n)`: of the frame, from 1.
pub(super) fn nth_value(arguments: &[Argument]) -> Result<Arc<dyn WindowFunction>> {
    let [value, number] = arguments else {
        return Err(wrong_count("Function nth_value takes exactly two arguments"));
    };
    if !number.data_type.is_integer() {
        return Err(bad_arguments(format!("Offset must be an integer, '{}' given", number.data_type)));
    }
    Ok(Arc::new(NthValue(value.data_type.clone())))
}

#[derive(Debug)]
struct NthValue(DataType);

impl WindowFunction for NthValue {
    fn return_type(&self) -> &DataType {
        &self.0
    }

    fn execute(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Column> {
        let [value, number] = arguments else { return Err(Error::logical("nth_value without a number")) };
        let numbers = Offsets::of(Some(number), "nth_value", 1)?;
        let of_row = |(row, frame): (usize, &RowRange)| {
            let at = u64::from(frame.begin).saturating_add(numbers.of_row(row)? - 1);
            Ok((at < u64::from(frame.end)).then_some(at as u32))
        };
        let positions = rows.frames.iter().enumerate().map(of_row).collect::<Result<Vec<_>>>()?;
        take(value, &positions, None)
    }
}

/// `first_value(value) RESPECT NULLS`, `last_value(value) RESPECT NULLS`.
pub(super) fn end_of_frame(
    name: &str,
    arguments: &[Argument],
    direction: Direction,
) -> Result<Arc<dyn WindowFunction>> {
    let [value] = arguments else {
        return Err(wrong_count(format!("Aggregate function {name} requires single argument")));
    };
    Ok(Arc::new(EndOfFrame { return_type: value.data_type.clone(), direction }))
}

#[derive(Debug)]
struct EndOfFrame {
    return_type: DataType,
    direction: Direction,
}

impl WindowFunction for EndOfFrame {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn execute(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Column> {
        let [value] = arguments else { return Err(Error::logical("first_value without a value")) };
        let of_frame = |frame: &RowRange| match self.direction {
            _ if frame.begin == frame.end => None,
            Direction::Before => Some(frame.begin),
            Direction::After => Some(frame.end - 1),
        };
        take(value, &rows.frames.iter().map(of_frame).collect::<Vec<_>>(), None)
    }
}
