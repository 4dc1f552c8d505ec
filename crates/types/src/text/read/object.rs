//! Values of `JSON` in text: a document is cut into paths.

use std::sync::Arc;

use arrow_array::ArrayRef;
use regex::bytes::Regex;
use simd_json::{Node as Kind, StaticNode};

use super::Scratch;
use super::input::{Input, shown};
use super::node::Node;
use crate::alternatives::{put_dynamic, type_prefix};
use crate::binary::put_string;
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::json::document::{Element, Parser};
use crate::json::paths::{OtherPathsWriter, json_array};
use crate::json_type::JsonType;
use crate::text::TextOptions;
use crate::text::literal::{Inference, Literal};

/// Builds a `JSON`.
pub(in crate::text) struct ObjectReader {
    json: Arc<JsonType>,
    typed: Vec<Node>,
    others: OtherPathsWriter,
    skipped_by_regexp: Vec<Regex>,
    inference: Inference,
    parser: Parser,
    /// What scalars of these types begin with.
    prefixes: [Vec<u8>; 5],
}

impl std::fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ObjectReader of {}", self.json)
    }
}

/// `INCORRECT_DATA` for a text that is no JSON.
pub(super) fn no_json(text: &[u8]) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Cannot parse JSON object here: {}", shown(text)))
}

/// A path of the row that is being read.
struct Found {
    path: Vec<u8>,
    /// Its value as a row of a `Dynamic`.
    value: Vec<u8>,
}

impl ObjectReader {
    pub fn new(json: &Arc<JsonType>, options: &TextOptions) -> Result<Self> {
        let regexps = json.skipped_by_regexp.iter().map(|expression| {
            Regex::new(expression).map_err(|error| {
                Error::new(ErrorCode::CANNOT_COMPILE_REGEXP, format!("Invalid regexp '{expression}': {error}"))
            })
        });
        let types = [DataType::Int64, DataType::UInt64, DataType::Float64, DataType::Bool, DataType::String];
        Ok(Self {
            json: json.clone(),
            typed: json.typed.iter().map(|(_, data_type)| Node::new(data_type, options)).collect::<Result<_>>()?,
            others: OtherPathsWriter::default(),
            skipped_by_regexp: regexps.collect::<Result<_>>()?,
            inference: Inference { time_zone: options.time_zone.clone(), objects: Some(Arc::new(json.nested())) },
            parser: Parser::default(),
            prefixes: types.map(|data_type| type_prefix(&data_type)),
        })
    }

    pub fn rows(&self) -> usize {
        self.others.rows()
    }

    pub fn truncate(&mut self, rows: usize) {
        self.typed.iter_mut().for_each(|node| node.truncate(rows));
        self.others.truncate(rows);
    }

    pub fn append_default(&mut self) {
        self.typed.iter_mut().for_each(Node::append_default);
        // A row without paths does not make them more.
        let _ = self.others.end_row();
    }

    /// Appends the object that a text is.
    pub fn read(&mut self, text: &[u8], scratch: &mut Scratch) -> Result<()> {
        let rows = self.rows();
        let mut parser = std::mem::take(&mut self.parser);
        let result = self.read_with(&mut parser, text, scratch);
        self.parser = parser;
        if result.is_err() {
            self.truncate(rows);
        }
        result
    }

    fn read_with(&mut self, parser: &mut Parser, text: &[u8], scratch: &mut Scratch) -> Result<()> {
        let tape = parser.parse(text)?;
        let element = tape.as_ref().and_then(Element::root).ok_or_else(|| no_json(text))?;
        if !matches!(element.node(), Kind::Object { .. }) {
            return Err(Error::new(
                ErrorCode::INCORRECT_DATA,
                format!(
                    "Cannot insert data into JSON column: Cannot read JSON object from JSON element: {}",
                    shown(text)
                ),
            ));
        }
        let rows = self.rows();
        let mut found = Vec::new();
        self.object(&element, true, &mut Vec::new(), &mut found, scratch)?;
        found.sort_by(|left, right| left.path.cmp(&right.path));
        if let Some(twice) = found.windows(2).find(|pair| pair[0].path == pair[1].path) {
            return Err(duplicate(&twice[0].path));
        }
        for Found { path, value } in found {
            self.others.values.bytes.extend_from_slice(&value);
            self.others.end_path(&path)?;
        }
        self.typed.iter_mut().filter(|node| node.rows() == rows).for_each(Node::append_default);
        self.others.end_row()
    }

    fn object(
        &mut self,
        object: &Element<'_, '_>,
        is_root: bool,
        path: &mut Vec<u8>,
        found: &mut Vec<Found>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let length = path.len();
        for (key, value) in object.members() {
            // A key may be empty.
            if !is_root {
                path.push(b'.');
            }
            path.extend_from_slice(key.as_bytes());
            self.member(&value, path, found, scratch)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn is_skipped(&self, path: &[u8]) -> bool {
        self.json.skipped.iter().any(|skipped| {
            path.strip_prefix(skipped.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
        }) || self.skipped_by_regexp.iter().any(|expression| expression.is_match(path))
    }

    fn member(
        &mut self,
        value: &Element<'_, '_>,
        path: &mut Vec<u8>,
        found: &mut Vec<Found>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let rows = self.rows();
        let typed = self.json.typed.binary_search_by(|(known, _)| known.as_bytes().cmp(path));
        if let Some(node) = typed.ok().and_then(|at| self.typed.get_mut(at)) {
            if node.rows() > rows {
                return Err(duplicate(path));
            }
            let mut text = Vec::new();
            // A number is a truth.
            let number = match value.node() {
                Kind::Static(StaticNode::I64(number)) => Some(number as f64),
                Kind::Static(StaticNode::U64(number)) => Some(number as f64),
                Kind::Static(StaticNode::F64(number)) => Some(number),
                _ => None,
            };
            match number {
                Some(number) if matches!(node, Node::Bool(_)) => {
                    text.extend_from_slice(if number == 0.0 { b"false" } else { b"true" });
                }
                _ => value.append(&mut text),
            }
            let mut input = Input { text: &text, at: 0 };
            return node.read_json(&mut input, scratch).map_err(|error| {
                Error::new(
                    ErrorCode::INCORRECT_DATA,
                    format!(
                        "Cannot insert data into JSON column: {} (while reading path {})",
                        error.message,
                        shown(path)
                    ),
                )
            });
        }
        if self.is_skipped(path) {
            return Ok(());
        }
        let [int, uint, float, bool, string] = &self.prefixes;
        let mut out = Vec::new();
        match value.node() {
            Kind::Object { .. } => return self.object(value, false, path, found, scratch),
            Kind::Static(StaticNode::Null) => return Ok(()),
            Kind::Static(StaticNode::I64(number)) => {
                out.extend_from_slice(int);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Kind::Static(StaticNode::U64(number)) => {
                out.extend_from_slice(if i64::try_from(number).is_ok() { int } else { uint });
                out.extend_from_slice(&number.to_le_bytes());
            }
            Kind::Static(StaticNode::F64(number)) => {
                out.extend_from_slice(float);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Kind::Static(StaticNode::Bool(truth)) => {
                out.extend_from_slice(bool);
                out.push(truth.into());
            }
            Kind::String(text) if !text.as_bytes().first().is_some_and(u8::is_ascii_digit) => {
                out.extend_from_slice(string);
                put_string(text.as_bytes(), &mut out);
            }
            Kind::String(_) | Kind::Array { .. } => {
                put_dynamic(&self.inference.typed(&Literal::of_json(value))?, &mut out)?;
            }
        }
        found.push(Found { path: path.clone(), value: out });
        Ok(())
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        let mut parts = self.typed.iter_mut().map(Node::finish).collect::<Result<Vec<_>>>()?;
        parts.push(self.others.finish(&self.json)?);
        json_array(&self.json, parts)
    }
}

fn duplicate(path: &[u8]) -> Error {
    Error::new(
        ErrorCode::INCORRECT_DATA,
        format!(
            "Cannot insert data into JSON column: Duplicate path found during parsing JSON object: {}. You can enable setting \
             type_json_skip_duplicated_paths to skip duplicated paths during insert",
            shown(path)
        ),
    )
}
