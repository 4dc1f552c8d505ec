//! Values written element by element, for formats that show what nests in their own way: JSON over several lines, XML, and the named
//! tuples of Pretty.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_buffer::OffsetBuffer;
use squall_types::text::{TextOptions, TextStyle, ValueWriter, append_json};
use squall_types::{Column, DataType, Error, Result};

use crate::json::lines;
use crate::text::field::{Nulls, element_of};

/// A column as a tree of its arrays, tuples and maps, down to values that `types` prints.
#[derive(Debug)]
pub(crate) enum Nested {
    /// A value that is not nested.
    Value(Box<Leaf>),
    Array {
        offsets: OffsetBuffer<i32>,
        items: Box<Nested>,
    },
    Map {
        offsets: OffsetBuffer<i32>,
        keys: Box<Nested>,
        values: Box<Nested>,
    },
    Tuple {
        elements: Vec<(Option<Arc<str>>, Nested)>,
    },
}

/// A value that is not nested, in JSON, bare, and in quotes.
#[derive(Debug)]
pub(crate) struct Leaf {
    json: ValueWriter,
    plain: ValueWriter,
    quoted: ValueWriter,
    nulls: Nulls,
    /// Objects, which JSON over several lines takes apart.
    is_object: bool,
}

/// What each level of lines is indented with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indent(pub &'static str);

impl Indent {
    /// Ends the line and indents the next.
    pub fn new_line(self, depth: usize, out: &mut Vec<u8>) {
        out.push(b'\n');
        (0..depth).for_each(|_| out.extend_from_slice(self.0.as_bytes()));
    }
}

fn range(offsets: &OffsetBuffer<i32>, row: usize) -> Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

impl Nested {
    /// The tree of a column, whose constant is written out.
    pub fn new(column: &Column, text: &TextOptions) -> Result<Self> {
        let column = &column.materialize()?;
        let bad = || Error::logical(format!("a column of {} over another array", column.data_type()));
        let list = || column.array().as_list_opt::<i32>().ok_or_else(bad);
        Ok(match column.data_type() {
            DataType::SimpleAggregateFunction(simple) => {
                return Self::new(&column.clone().with_type(simple.values().clone()), text);
            }
            DataType::Named(named) => {
                return Self::new(&column.clone().with_type(named.values().clone()), text);
            }
            DataType::Array(item) => {
                let items = Column::new((**item).clone(), list()?.values().clone());
                Self::Array { offsets: list()?.offsets().clone(), items: Box::new(Self::new(&items, text)?) }
            }
            DataType::Map(key, value) => {
                let entries = list()?.values().as_struct_opt().ok_or_else(bad)?;
                let keys = Column::new((**key).clone(), entries.column(0).clone());
                let values = Column::new((**value).clone(), entries.column(1).clone());
                Self::Map {
                    offsets: list()?.offsets().clone(),
                    keys: Box::new(Self::new(&keys, text)?),
                    values: Box::new(Self::new(&values, text)?),
                }
            }
            DataType::Tuple(elements) => Self::Tuple {
                elements: elements
                    .iter()
                    .enumerate()
                    .map(|(at, element)| {
                        let column = element_of(column, at, &element.data_type)?;
                        Ok((element.name.clone(), Self::new(&column, text)?))
                    })
                    .collect::<Result<_>>()?,
            },
            _ => Self::Value(Box::new(Leaf {
                json: ValueWriter::new(column, TextStyle::Json, text)?,
                plain: ValueWriter::new(column, TextStyle::Plain, text)?,
                quoted: ValueWriter::new(column, TextStyle::Quoted, text)?,
                nulls: Nulls::new(column),
                is_object: matches!(column.data_type().inner(), DataType::Json(_)),
            })),
        })
    }

    fn is_value(&self) -> bool {
        matches!(self, Self::Value(leaf) if !leaf.is_object)
    }

    fn is_null(&self, row: usize) -> bool {
        matches!(self, Self::Value(leaf) if leaf.nulls.is_null(row))
    }

    fn is_named(elements: &[(Option<Arc<str>>, Self)]) -> bool {
        !elements.is_empty() && elements.iter().all(|(name, _)| name.is_some())
    }

    /// Appends a row in JSON over several lines, the first of which stands at `depth`: maps and tuples, and arrays of them or of
    /// arrays.
    pub fn write_json(&mut self, row: usize, indent: Indent, depth: usize, text: &TextOptions, out: &mut Vec<u8>) {
        let mut separator = None;
        let mut next = |out: &mut Vec<u8>| {
            out.extend(separator.replace(b','));
            indent.new_line(depth + 1, out);
        };
        match self {
            Self::Value(leaf) if leaf.is_object => {
                let mut json = Vec::new();
                leaf.json.write(&mut json, row);
                lines::append(&json, indent, depth, out);
            }
            Self::Value(leaf) => leaf.json.write(out, row),
            Self::Array { offsets, items } if items.is_value() || range(offsets, row).is_empty() => {
                out.push(b'[');
                for item in range(offsets, row) {
                    out.extend(separator.replace(b','));
                    items.write_json(item, indent, depth, text, out);
                }
                out.push(b']');
            }
            Self::Array { offsets, items } => {
                out.push(b'[');
                for item in range(offsets, row) {
                    next(out);
                    items.write_json(item, indent, depth + 1, text, out);
                }
                indent.new_line(depth, out);
                out.push(b']');
            }
            Self::Map { offsets, keys, values } if text.json_map_as_array_of_tuples => {
                out.push(b'[');
                for item in range(offsets, row) {
                    next(out);
                    out.push(b'{');
                    indent.new_line(depth + 2, out);
                    out.extend_from_slice(b"\"keys\": ");
                    keys.write_json(item, indent, depth + 2, text, out);
                    out.push(b',');
                    indent.new_line(depth + 2, out);
                    out.extend_from_slice(b"\"values\": ");
                    values.write_json(item, indent, depth + 2, text, out);
                    indent.new_line(depth + 1, out);
                    out.push(b'}');
                }
                indent.new_line(depth, out);
                out.push(b']');
            }
            Self::Map { offsets, .. } if range(offsets, row).is_empty() => out.extend_from_slice(b"{}"),
            Self::Map { offsets, keys, values } => {
                out.push(b'{');
                let mut key = Vec::new();
                for item in range(offsets, row) {
                    next(out);
                    key.clear();
                    keys.write_plain(item, &mut key);
                    append_json(out, &key, text.json_escape_forward_slashes);
                    out.extend_from_slice(b": ");
                    values.write_json(item, indent, depth + 1, text, out);
                }
                indent.new_line(depth, out);
                out.push(b'}');
            }
            Self::Tuple { elements } => {
                let is_object = text.json_named_tuples_as_objects && Self::is_named(elements);
                out.push(if is_object { b'{' } else { b'[' });
                let skips_nulls = is_object && text.json_skip_nulls_in_named_tuples;
                let is_shown = |element: &Self| !(skips_nulls && element.is_null(row));
                if !elements.iter().any(|(_, element)| is_shown(element)) {
                    out.push(b'\n');
                }
                for (name, element) in elements {
                    if !is_shown(element) {
                        continue;
                    }
                    next(out);
                    if let (true, Some(name)) = (is_object, name) {
                        append_json(out, name.as_bytes(), text.json_escape_forward_slashes);
                        out.extend_from_slice(b": ");
                    }
                    element.write_json(row, indent, depth + 1, text, out);
                }
                indent.new_line(depth, out);
                out.push(if is_object { b'}' } else { b']' });
            }
        }
    }

    /// Appends a row bare where it is a value.
    fn write_plain(&mut self, row: usize, out: &mut Vec<u8>) {
        if let Self::Value(leaf) = self {
            leaf.plain.write(out, row);
        }
    }

    /// Appends a row as Pretty shows it: named tuples in JSON over several lines, all else as literals.
    pub fn write_pretty(&mut self, row: usize, is_inside: bool, text: &TextOptions, out: &mut Vec<u8>) {
        let mut separator = None;
        match self {
            Self::Value(leaf) if is_inside => leaf.quoted.write(out, row),
            Self::Value(leaf) => leaf.plain.write(out, row),
            Self::Tuple { elements } if Self::is_named(elements) => self.write_json(row, Indent("  "), 0, text, out),
            Self::Array { offsets, items } => {
                out.push(b'[');
                for item in range(offsets, row) {
                    out.extend(separator.replace(b','));
                    items.write_pretty(item, true, text, out);
                }
                out.push(b']');
            }
            Self::Map { offsets, keys, values } => {
                out.push(b'{');
                for item in range(offsets, row) {
                    out.extend(separator.replace(b','));
                    keys.write_pretty(item, true, text, out);
                    out.push(b':');
                    values.write_pretty(item, true, text, out);
                }
                out.push(b'}');
            }
            Self::Tuple { elements } => {
                out.push(b'(');
                for (_, element) in elements {
                    out.extend(separator.replace(b','));
                    element.write_pretty(row, true, text, out);
                }
                out.push(b')');
            }
        }
    }

    /// Appends a row as XML elements.
    pub fn write_xml(&mut self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Value(leaf) => {
                if leaf.nulls.is_null(row) {
                    out.extend_from_slice(b"\\N");
                } else {
                    let from = out.len();
                    leaf.plain.write(out, row);
                    escape_xml(out, from);
                }
            }
            Self::Array { offsets, items } => {
                out.extend_from_slice(b"<array>");
                for item in range(offsets, row) {
                    out.extend_from_slice(b"<elem>");
                    items.write_xml(item, out);
                    out.extend_from_slice(b"</elem>");
                }
                out.extend_from_slice(b"</array>");
            }
            Self::Map { offsets, keys, values } => {
                out.extend_from_slice(b"<map>");
                for item in range(offsets, row) {
                    out.extend_from_slice(b"<elem><key>");
                    keys.write_xml(item, out);
                    out.extend_from_slice(b"</key><value>");
                    values.write_xml(item, out);
                    out.extend_from_slice(b"</value></elem>");
                }
                out.extend_from_slice(b"</map>");
            }
            Self::Tuple { elements } => {
                out.extend_from_slice(b"<tuple>");
                for (_, element) in elements {
                    out.extend_from_slice(b"<elem>");
                    element.write_xml(row, out);
                    out.extend_from_slice(b"</elem>");
                }
                out.extend_from_slice(b"</tuple>");
            }
        }
    }
}

/// Appends text for XML: `<` and `&` as entities.
pub(crate) fn append_xml(out: &mut Vec<u8>, bytes: &[u8]) {
    let from = out.len();
    out.extend_from_slice(bytes);
    escape_xml(out, from);
}

/// Escapes what was written from a position on.
fn escape_xml(out: &mut Vec<u8>, from: usize) {
    let written = out.get(from..).unwrap_or_default();
    let Some(first) = memchr::memchr2(b'<', b'&', written) else { return };
    let rest = out.split_off(from + first);
    for byte in rest {
        match byte {
            b'<' => out.extend_from_slice(b"&lt;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            other => out.push(other),
        }
    }
}
