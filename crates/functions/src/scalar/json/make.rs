//! JSON made: of values (`toJSONString`), of other JSON by merging, and set out over lines.

use std::sync::Arc;

use simd_json::{Node, StaticNode};
use squall_types::text::{TextOptions, TextStyle, ValueWriter, append_json};
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, string_column};
use squall_types::json::document::{Element, Parser};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve_to_json(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let options = TextOptions::of(&call.context.settings, call.session_zone()?);
    call.bind(DataType::String, move |arguments, rows| {
        let mut writer = ValueWriter::new(argument(arguments, 0)?, TextStyle::Json, &options)?;
        string_column(rows, rows * 8, |out, row| {
            let before = out.len();
            writer.write(out, row);
            checkpoint(out.len() - before)
        })
    })
}

/// A document with members of others laid over its own. It owns its strings, as texts are parsed one after the other.
enum Merged {
    Object(Vec<(Vec<u8>, Merged)>),
    /// Anything else, as JSON.
    Other(Vec<u8>),
}

impl Merged {
    fn of(element: Element<'_, '_>) -> Self {
        if let Node::Object { .. } = element.node() {
            return Self::Object(element.members().map(|(key, value)| (key.into(), Self::of(value))).collect());
        }
        let mut text = Vec::new();
        append_exact(element, &mut text);
        Self::Other(text)
    }

    /// Lays an element over this one: members of objects one by one, anything else whole.
    fn merge(&mut self, element: Element<'_, '_>) {
        let (Self::Object(members), Node::Object { .. }) = (&mut *self, element.node()) else {
            *self = Self::of(element);
            return;
        };
        for (key, value) in element.members() {
            match members.iter_mut().find(|(name, _)| name == key.as_bytes()) {
                Some((_, own)) => own.merge(value),
                None => members.push((key.into(), Self::of(value))),
            }
        }
    }

    fn append(&self, out: &mut Vec<u8>) {
        match self {
            Self::Other(text) => out.extend_from_slice(text),
            Self::Object(members) => {
                out.push(b'{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    append_json(out, key, false);
                    out.push(b':');
                    value.append(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// Appends an element whose floats stay recognisable as floats.
fn append_exact(element: Element<'_, '_>, out: &mut Vec<u8>) {
    match element.node() {
        Node::Array { .. } => {
            out.push(b'[');
            for (at, item) in element.items().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                append_exact(item, out);
            }
            out.push(b']');
        }
        Node::Object { .. } => Merged::of(element).append(out),
        _ => append_scalar(element, out),
    }
}

fn append_scalar(element: Element<'_, '_>, out: &mut Vec<u8>) {
    let start = out.len();
    element.append(out);
    let is_float = matches!(element.node(), Node::Static(StaticNode::F64(_)));
    if is_float && out[start..].iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
        out.extend_from_slice(b".0");
    }
}

/// One document of several objects, later ones laid over earlier ones (RFC 7396, whose NULLs are values here).
///
/// # Errors
/// `BAD_ARGUMENTS` for a text that is no object.
pub(crate) fn merged_objects<'a>(texts: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) -> Result<()> {
    let mut parser = Parser::default();
    let mut merged = Merged::Object(Vec::new());
    for text in texts {
        checkpoint(16 * text.len())?;
        let tape = parser.parse(text)?;
        let refused = |why| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Wrong JSON string to merge{why}"));
        let root = tape.as_ref().and_then(Element::root).ok_or_else(|| refused(": Invalid value"))?;
        if !matches!(root.node(), Node::Object { .. }) {
            return Err(refused(". Expected JSON object"));
        }
        merged.merge(root);
    }
    merged.append(out);
    Ok(())
}

pub(super) fn resolve_merge_patch(call: &Call<'_>) -> Bound {
    call.arguments(1..=usize::MAX)?;
    call.strings(0..call.arguments.len())?;
    call.bind(DataType::String, move |arguments, rows| {
        let documents = (0..arguments.len()).map(|at| Strings::of(arguments, at)).collect::<Result<Vec<_>>>()?;
        let bytes = documents.iter().map(|strings| strings.bytes(rows)).sum();
        string_column(rows, bytes, |out, row| merged_objects(documents.iter().map(|texts| texts.get(row)), out))
    })
}

/// The spaces of `prettyPrintJSON` where nothing is said, and the most.
const INDENT: u64 = 4;
const INDENT_MAX: u64 = 32;

pub(super) fn resolve_pretty(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    call.strings([0])?;
    call.integers([1])?;
    let indent = match call.constant(1) {
        None if call.arguments.len() == 1 => INDENT,
        Some(indent) => indent.as_u64().filter(|indent| *indent <= INDENT_MAX).ok_or_else(|| {
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Indent parameter of function {} must be between 0 and {INDENT_MAX}, got {indent}", call.name),
            )
        })?,
        None => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Argument at index 1 for function {} must be constant", call.name),
            ));
        }
    };
    let name = call.name;
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut parser = Parser::default();
        string_column(rows, 2 * texts.bytes(rows), |out, row| {
            let tape = parser.parse(texts.get(row))?;
            let root = tape.as_ref().and_then(Element::root).ok_or_else(|| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("Invalid JSON string in function {name}"))
            })?;
            set_out(root, out, indent as usize, 0);
            Ok(())
        })
    })
}

fn set_out(element: Element<'_, '_>, out: &mut Vec<u8>, indent: usize, depth: usize) {
    let (open, close) = match element.node() {
        Node::Array { len: 1.., .. } => (b'[', b']'),
        Node::Object { len: 1.., .. } => (b'{', b'}'),
        _ => return append_scalar(element, out),
    };
    let new_line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', indent * depth));
    };
    out.push(open);
    let items = element.items().map(|item| ("", item)).chain(element.members());
    for (at, (key, value)) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        new_line(out, depth + 1);
        if open == b'{' {
            append_json(out, key.as_bytes(), false);
            out.extend_from_slice(b": ");
        }
        set_out(value, out, indent, depth + 1);
    }
    new_line(out, depth);
    out.push(close);
}
