//! Values of `Variant` and `Dynamic` in text: the first alternative that takes a text, or the type that it suggests.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt8Array};

use super::Scratch;
use super::input::Input;
use super::node::Node;
use crate::alternatives::{DynamicWriter, put_dynamic, variant_array};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::json::document::{Element, Parser};
use crate::text::TextOptions;
use crate::text::literal::{Inference, Literal, json_extent};
use crate::variant_type::NULL_ALTERNATIVE;

/// Builds a `Variant`.
#[derive(Debug)]
pub(in crate::text) struct VariantReader {
    alternatives: Arc<[DataType]>,
    nodes: Vec<Node>,
    /// The alternatives in the order in which a text is tried as theirs.
    order: Vec<usize>,
    numbers: Vec<u8>,
}

/// The place of a type among those that a text is tried as: what takes fewer texts comes first.
fn rank(data_type: &DataType) -> u8 {
    match data_type.inner() {
        DataType::Bool => 0,
        integer if integer.is_any_integer() => 1,
        DataType::Decimal(..) | DataType::Interval(_) => 2,
        float if float.is_any_float() => 3,
        DataType::Date | DataType::Date32 => 4,
        DataType::Time | DataType::Time64(_) => 5,
        DataType::DateTime(_) => 6,
        DataType::DateTime64(..) => 7,
        DataType::UUID | DataType::IPv4 | DataType::IPv6 | DataType::Enum8(_) | DataType::Enum16(_) => 8,
        DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) => 9,
        DataType::Json(_) => 10,
        DataType::FixedString(_) => 11,
        _ => 12,
    }
}

impl VariantReader {
    pub fn new(alternatives: &Arc<[DataType]>, options: &TextOptions) -> Result<Self> {
        let nodes = alternatives.iter().map(|one| Node::new(&one.held_alternative(), options));
        let mut order: Vec<usize> = (0..alternatives.len()).collect();
        order.sort_by_key(|at| alternatives.get(*at).map_or(0, rank));
        Ok(Self {
            alternatives: alternatives.clone(),
            nodes: nodes.collect::<Result<_>>()?,
            order,
            numbers: Vec::new(),
        })
    }

    pub fn rows(&self) -> usize {
        self.numbers.len()
    }

    pub fn truncate(&mut self, rows: usize) {
        self.nodes.iter_mut().for_each(|node| node.truncate(rows));
        self.numbers.truncate(rows);
    }

    pub fn append_null(&mut self) {
        self.nodes.iter_mut().for_each(Node::append_default);
        self.numbers.push(NULL_ALTERNATIVE);
    }

    /// Appends what the first alternative that reads it makes of a value; `allowed` leaves some out.
    pub fn read(
        &mut self,
        allowed: impl Fn(&DataType) -> bool,
        mut read: impl FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        let rows = self.rows();
        for at in self.order.clone() {
            let (Some(node), Some(alternative)) = (self.nodes.get_mut(at), self.alternatives.get(at)) else { continue };
            if !allowed(alternative) {
                continue;
            }
            if read(node).is_ok() {
                self.numbers.push(at as u8);
                let others = self.nodes.iter_mut().enumerate().filter(|(other, _)| *other != at);
                others.for_each(|(_, node)| node.append_default());
                return Ok(());
            }
            node.truncate(rows);
        }
        Err(Error::new(ErrorCode::INCORRECT_DATA, "Cannot parse value of Variant: no alternative takes the text"))
    }

    pub fn read_whole(&mut self, field: &[u8], scratch: &mut Scratch) -> Result<()> {
        let allowed = |one: &DataType| !is_too_long(one, field) && (*one != DataType::Bool || is_truth(field));
        self.read(allowed, |node| node.read_whole(field, scratch))
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        let numbers: ArrayRef = Arc::new(UInt8Array::from(std::mem::take(&mut self.numbers)));
        let mut columns = vec![numbers];
        for node in &mut self.nodes {
            columns.push(node.finish()?);
        }
        variant_array(&self.alternatives, columns)
    }
}

/// Whether a text is a `Bool` rather than another alternative: as those are written.
fn is_truth(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false")
}

/// Whether a text is too long for a date alone, which would be read without its time.
fn is_too_long(data_type: &DataType, text: &[u8]) -> bool {
    matches!(data_type, DataType::Date | DataType::Date32) && text.len() > 10
}

/// The text in quotes at the front, up to the next quote.
fn quoted_text<'a>(input: &Input<'a>, quote: u8) -> &'a [u8] {
    let text = input.rest().strip_prefix(&[quote]).unwrap_or_default();
    text.get(..text.iter().position(|byte| *byte == quote).unwrap_or(text.len())).unwrap_or_default()
}

/// Whether values of a type are in quotes where others are in brackets or bare.
fn is_quoted(data_type: &DataType) -> bool {
    let inner = data_type.inner();
    !inner.is_nested() && !inner.is_any_number() && !inner.is_any_float() && *inner != DataType::Bool
}

impl VariantReader {
    pub fn read_quoted(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        if input.eat_word(b"NULL") {
            self.append_null();
            return Ok(());
        }
        let (start, is_text) = (input.at, input.peek() == Some(b'\''));
        let text = quoted_text(input, b'\'');
        let may_be_text = |one: &DataType| if *one == DataType::Bool { is_truth(text) } else { is_quoted(one) };
        let allowed = |one: &DataType| (!is_text || may_be_text(one)) && !is_too_long(one, text);
        self.read(allowed, |node| {
            input.at = start;
            node.read_quoted(input, scratch)?;
            at_end(input)
        })
    }

    pub fn read_json(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        let (start, is_text, text) = (input.at, input.peek() == Some(b'"'), quoted_text(input, b'"'));
        self.read(
            |one| !is_too_long(one, text) && (!is_text || *one != DataType::Bool),
            |node| {
                input.at = start;
                node.read_json(input, scratch)?;
                at_end(input)
            },
        )
    }
}

/// Whether a value ends here, and is not the beginning of a longer one.
fn at_end(input: &mut Input<'_>) -> Result<()> {
    match input.peek() {
        Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+') => {
            Err(Error::new(ErrorCode::INCORRECT_DATA, "a longer value"))
        }
        _ => Ok(()),
    }
}

/// Builds a `Dynamic`.
#[derive(Debug)]
pub(in crate::text) struct DynamicReader {
    writer: DynamicWriter,
    inference: Inference,
}

impl DynamicReader {
    pub fn new(options: &TextOptions) -> Self {
        let inference = Inference { time_zone: options.time_zone.clone(), objects: None };
        Self { writer: DynamicWriter::default(), inference }
    }

    pub fn rows(&self) -> usize {
        self.writer.rows()
    }

    pub fn truncate(&mut self, rows: usize) {
        self.writer.truncate(rows);
    }

    pub fn append_null(&mut self) {
        // An empty row does not make it longer.
        let _ = self.writer.end_row();
    }

    fn append(&mut self, literal: &Literal) -> Result<()> {
        put_dynamic(&self.inference.typed(literal)?, &mut self.writer.bytes)?;
        self.writer.end_row()
    }

    pub fn read_whole(&mut self, field: &[u8]) -> Result<()> {
        self.append(&Literal::of_field(field))
    }

    pub fn read_quoted(&mut self, input: &mut Input<'_>) -> Result<()> {
        let Some((literal, read)) = Literal::of_sql(input.rest()) else { return input.expect(b'\'') };
        input.at += read;
        self.append(&literal)
    }

    pub fn read_json(&mut self, input: &mut Input<'_>) -> Result<()> {
        let value = json_value(input)?;
        let mut parser = Parser::default();
        let tape = parser.parse(value)?;
        let element = tape.as_ref().and_then(Element::root).ok_or_else(|| super::object::no_json(value))?;
        self.append(&Literal::of_json(&element))
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        self.writer.finish()
    }
}

/// Takes the bytes of the JSON value at the front.
pub(super) fn json_value<'a>(input: &mut Input<'a>) -> Result<&'a [u8]> {
    let rest = input.rest();
    let length = json_extent(rest).ok_or_else(|| super::object::no_json(rest))?;
    input.at += length;
    Ok(rest.get(..length).unwrap_or_default())
}
