//! Values of other rows: `lag`, `lead`, `nth_value`, the ends of the frame.

use std::ops::Range;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, least_supertype};

use super::{FrameUse, OtherRows, Place, WindowFunction, WindowRows, WindowWalk, bad_arguments, wrong_count};
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

    fn needs_frames(&self) -> bool {
        self.is_in_frame
    }

    fn walk(&self) -> WindowWalk<'_> {
        WindowWalk::Others(self)
    }
}

impl OtherRows for Offset {
    fn positions(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Vec<Option<u64>>> {
        let offsets = Offsets::of(arguments.get(1), &self.name, 0)?;
        let position = |(at, place): (usize, &Place)| {
            let offset = offsets.of_row(at)?;
            let row = rows.first + at as u64;
            let other = match self.direction {
                Direction::Before => row.checked_sub(offset),
                Direction::After => row.checked_add(offset),
            };
            let begin = row - place.row;
            let within = if self.is_in_frame { rows.frames[at].clone() } else { begin..begin + place.rows };
            Ok(other.filter(|other| within.contains(other)))
        };
        rows.places.iter().enumerate().map(position).collect()
    }

    fn defaults<'a>(&self, arguments: &'a [Column]) -> Option<&'a Column> {
        arguments.get(2)
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

    fn needs_frames(&self) -> bool {
        true
    }

    fn walk(&self) -> WindowWalk<'_> {
        WindowWalk::Others(self)
    }
}

impl OtherRows for NthValue {
    fn positions(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Vec<Option<u64>>> {
        let [_, number] = arguments else { return Err(Error::logical("nth_value without a number")) };
        let numbers = Offsets::of(Some(number), "nth_value", 1)?;
        let of_row = |(row, frame): (usize, &Range<u64>)| {
            let at = frame.start.saturating_add(numbers.of_row(row)? - 1);
            Ok((at < frame.end).then_some(at))
        };
        rows.frames.iter().enumerate().map(of_row).collect()
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

    fn needs_frames(&self) -> bool {
        true
    }

    fn walk(&self) -> WindowWalk<'_> {
        WindowWalk::Others(self)
    }
}

impl OtherRows for EndOfFrame {
    fn positions(&self, rows: &WindowRows<'_>, _: &[Column]) -> Result<Vec<Option<u64>>> {
        let of_frame = |frame: &Range<u64>| match self.direction {
            _ if frame.is_empty() => None,
            Direction::Before => Some(frame.start),
            Direction::After => Some(frame.end - 1),
        };
        Ok(rows.frames.iter().map(of_frame).collect())
    }
}
