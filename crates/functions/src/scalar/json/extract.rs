//! `JSONExtract` and its forms for one type: an element by path as a column of that type, its default where there is none that fits.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use simd_json::{Node, StaticNode};
use squall_types::text::read_float64;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::column::Builder;
use super::steps;
use crate::function::BoundFunction;
use crate::scalar::kernel::bytes_column;
use crate::scalar::simple::{Call, StringsBuilder};
use squall_types::json::document::Element;

type Bound = Result<Arc<dyn BoundFunction>>;

/// The type that the last argument names, which is read before anything else.
pub(super) fn constant_type(call: &Call<'_>) -> Result<DataType> {
    steps::check_count(call, 1)?;
    let last = call.arguments.len() - 1;
    let named = call.constant(last).and_then(|value| value.as_str()).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!(
                "The last argument of function {} should be a constant string specifying the return data type",
                call.name
            ),
        )
    })?;
    DataType::parse(named)
}

pub(super) fn resolve(call: &Call<'_>) -> Bound {
    let (name, result) = (call.name, constant_type(call)?);
    steps::check(call, 1)?;
    let options = call.text_options()?;
    let plain = result.without_names();
    // What cannot be built is refused before there are rows.
    Builder::new(&plain, &options)?;
    call.bind(result.clone(), move |arguments, rows| {
        let mut builder = Builder::new(&plain, &options)?;
        steps::for_each(name, arguments, 1, rows, |found| {
            if !found.map_or(Ok(false), |found| builder.append(found.element))? {
                builder.append_default();
            }
            Ok(())
        })?;
        Ok(builder.finish()?.with_type(result.clone()))
    })
}

/// The integer that an element is or tells; floats are cut.
pub(super) fn integer(element: Element<'_, '_>) -> Option<i128> {
    let cut = |number: f64| (number.abs() < 1e20).then_some(number as i128);
    match element.node() {
        Node::Static(StaticNode::I64(number)) => Some(number.into()),
        Node::Static(StaticNode::U64(number)) => Some(number.into()),
        Node::Static(StaticNode::F64(number)) => cut(number),
        Node::String(text) => whole_integer(text.as_bytes()).or_else(|| whole_float(text.as_bytes()).and_then(cut)),
        _ => None,
    }
}

fn whole_integer(text: &[u8]) -> Option<i128> {
    // What has more digits is past every integer that is asked for.
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn whole_float(text: &[u8]) -> Option<f64> {
    read_float64(text).filter(|(_, used)| *used == text.len() && *used > 0).map(|(number, _)| number)
}

/// The number that an element is or tells.
pub(super) fn float(element: Element<'_, '_>) -> Option<f64> {
    match element.node() {
        Node::Static(StaticNode::I64(number)) => Some(number as f64),
        Node::Static(StaticNode::U64(number)) => Some(number as f64),
        Node::Static(StaticNode::F64(number)) => Some(number),
        Node::String(text) => whole_float(text.as_bytes()),
        _ => None,
    }
}

pub(super) fn resolve_int(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::Int64, move |arguments, rows| {
        let mut values = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            values.push(found.and_then(|found| integer(found.element)?.try_into().ok()).unwrap_or(0));
            Ok(())
        })?;
        Ok(Column::from_primitive::<Int64Type>(DataType::Int64, values))
    })
}

pub(super) fn resolve_uint(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let mut values = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            values.push(found.and_then(|found| integer(found.element)?.try_into().ok()).unwrap_or(0));
            Ok(())
        })?;
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, values))
    })
}

pub(super) fn resolve_float(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::Float64, move |arguments, rows| {
        let mut values = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            values.push(found.and_then(|found| float(found.element)).unwrap_or(0.0));
            Ok(())
        })?;
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

pub(super) fn resolve_bool(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let mut values = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            let is_true = found.is_some_and(|found| match found.element.node() {
                Node::Static(StaticNode::Bool(is_true)) => is_true,
                Node::Static(StaticNode::I64(number)) => number != 0,
                Node::Static(StaticNode::U64(number)) => number != 0,
                _ => false,
            });
            values.push(u8::from(is_true));
            Ok(())
        })?;
        Ok(bytes_column(values))
    })
}

pub(super) fn resolve_raw(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::String, move |arguments, rows| {
        let mut out = StringsBuilder::new(rows, 0)?;
        steps::for_each(name, arguments, 0, rows, |found| {
            if let Some(found) = found {
                found.element.append(&mut out.bytes);
            }
            out.end_row()
        })?;
        out.finish()
    })
}

/// A string as it is, anything else but `null` as JSON.
pub(super) fn resolve_string(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::String, move |arguments, rows| {
        let mut out = StringsBuilder::new(rows, 0)?;
        steps::for_each(name, arguments, 0, rows, |found| {
            match found.map(|found| (found.element, found.element.node())) {
                None | Some((_, Node::Static(StaticNode::Null))) => {}
                Some((_, Node::String(text))) => out.bytes.extend_from_slice(text.as_bytes()),
                Some((element, _)) => element.append(&mut out.bytes),
            }
            out.end_row()
        })?;
        out.finish()
    })
}
