//! A parsed document: the tape that `simd-json` makes of a text, and elements of it. An element is a place on the tape; nothing is copied.

use crate::error::Result;
use crate::text::{append_float64, append_integer, append_json};
use crate::{checkpoint, reserve};
use simd_json::{Buffers, Node, StaticNode, Tape};

/// Parses texts, with its buffers kept between them.
#[derive(Default)]
pub struct Parser {
    text: Vec<u8>,
    buffers: Buffers,
}

impl Parser {
    /// The document of a text; `None` where it is no JSON.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn parse(&mut self, text: &[u8]) -> Result<Option<Tape<'_>>> {
        checkpoint(64 + text.len())?;
        reserve(text.len())?;
        self.text.clear();
        self.text.extend_from_slice(text);
        Ok(simd_json::to_tape_with_buffers(&mut self.text, &mut self.buffers).ok())
    }
}

/// An element of a document.
#[derive(Clone, Copy)]
pub struct Element<'t, 'i> {
    tape: &'t [Node<'i>],
}

impl<'t, 'i> Element<'t, 'i> {
    /// The whole document.
    pub fn root(tape: &'t Tape<'i>) -> Option<Self> {
        (!tape.0.is_empty()).then_some(Self { tape: &tape.0 })
    }

    /// What it is.
    pub fn node(&self) -> Node<'i> {
        self.tape.first().copied().unwrap_or(Node::Static(StaticNode::Null))
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.node() == Node::Static(StaticNode::Null)
    }

    /// Nodes of the tape that belong to it.
    fn nodes(&self) -> usize {
        match self.node() {
            Node::Object { count, .. } | Node::Array { count, .. } => count + 1,
            _ => 1,
        }
    }

    /// The items of an array; nothing of anything else.
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'t, 'i> {
        let len = if let Node::Array { len, .. } = self.node() { len } else { 0 };
        let mut rest = self.tape.get(1..).unwrap_or_default();
        (0..len).map(move |_| {
            let item = Self { tape: rest };
            rest = rest.get(item.nodes()..).unwrap_or_default();
            item
        })
    }

    /// The keys and values of an object; nothing of anything else.
    pub fn members(&self) -> impl Iterator<Item = (&'i str, Self)> + use<'t, 'i> {
        let len = if let Node::Object { len, .. } = self.node() { len } else { 0 };
        let mut rest = self.tape.get(1..).unwrap_or_default();
        (0..len).map(move |_| {
            let key = if let Some(Node::String(key)) = rest.first() { key } else { "" };
            let value = Self { tape: rest.get(1..).unwrap_or_default() };
            rest = value.tape.get(value.nodes()..).unwrap_or_default();
            (key, value)
        })
    }

    /// Whether it has no items and no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items or members it has.
    pub fn len(&self) -> usize {
        match self.node() {
            Node::Object { len, .. } | Node::Array { len, .. } => len,
            _ => 0,
        }
    }

    /// The value of the first member of this name.
    pub fn member(&self, name: &[u8], in_any_case: bool) -> Option<(&'i str, Self)> {
        self.members().find(|(key, _)| match in_any_case {
            true => key.as_bytes().eq_ignore_ascii_case(name),
            false => key.as_bytes() == name,
        })
    }

    /// Appends it as JSON without spaces; floats as ClickHouse prints them.
    pub fn append(&self, out: &mut Vec<u8>) {
        match self.node() {
            Node::String(text) => append_json(out, text.as_bytes(), false),
            Node::Static(StaticNode::F64(number)) => append_float64(out, number),
            Node::Static(StaticNode::I64(number)) => append_integer(out, number),
            Node::Static(StaticNode::U64(number)) => append_integer(out, number),
            Node::Static(StaticNode::Bool(is_true)) => out.extend_from_slice(if is_true { b"true" } else { b"false" }),
            Node::Static(StaticNode::Null) => out.extend_from_slice(b"null"),
            Node::Array { .. } => {
                out.push(b'[');
                for (at, item) in self.items().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.append(out);
                }
                out.push(b']');
            }
            Node::Object { .. } => {
                out.push(b'{');
                for (at, (key, value)) in self.members().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    append_json(out, key.as_bytes(), false);
                    out.push(b':');
                    value.append(out);
                }
                out.push(b'}');
            }
        }
    }
}
