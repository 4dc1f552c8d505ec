//! SQL's paths into JSON: `JSON_EXISTS`, `JSON_QUERY` and `JSON_VALUE`. A path is `$` and then `.name`, `."name"`, `["name"]`, `[1]`,
//! `[0 to 2, 4]` (the end of a range is outside of it where ClickHouse has it so) and `[*]`.

use std::sync::Arc;

use arrow_buffer::NullBuffer;
use simd_json::{Node, StaticNode};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::kernel::bytes_column;
use crate::scalar::simple::{Call, Strings, StringsBuilder};
use squall_types::json::document::{Element, Parser};

type Bound = Result<Arc<dyn BoundFunction>>;

enum Step {
    Member(Vec<u8>),
    /// Positions of items, each from and up to but not including.
    Items(Vec<(usize, usize)>),
    AllItems,
}

/// Reads a path.
struct Path<'a> {
    rest: &'a [u8],
}

impl<'a> Path<'a> {
    fn steps(text: &'a [u8]) -> Option<Vec<Step>> {
        let mut path = Path { rest: text };
        path.eat(b'$').then_some(())?;
        let mut steps = Vec::new();
        loop {
            path.skip_spaces();
            match path.rest.first() {
                None => return Some(steps),
                Some(b'.') => {
                    path.eat(b'.');
                    path.skip_spaces();
                    steps.push(Step::Member(path.quoted().or_else(|| path.name())?));
                }
                Some(b'[') => {
                    path.eat(b'[');
                    path.skip_spaces();
                    steps.push(path.brackets()?);
                    path.skip_spaces();
                    path.eat(b']').then_some(())?;
                }
                Some(_) => return None,
            }
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = self.rest.get(usize::from(found)..).unwrap_or_default();
        found
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    fn name(&mut self) -> Option<Vec<u8>> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let starts_well = self.rest.first().is_some_and(|byte| !byte.is_ascii_digit());
        (length > 0 && starts_well).then(|| self.take(length).to_vec())
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        let quote = self.rest.first().copied().filter(|quote| matches!(quote, b'"' | b'\'' | b'`'))?;
        self.take(1);
        let length = self.rest.iter().position(|byte| *byte == quote)?;
        let name = self.take(length).to_vec();
        self.take(1);
        Some(name)
    }

    fn number(&mut self) -> Option<usize> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(self.take(length)).ok()?.parse().ok()
    }

    fn brackets(&mut self) -> Option<Step> {
        if self.eat(b'*') {
            return Some(Step::AllItems);
        }
        if let Some(name) = self.quoted() {
            return Some(Step::Member(name));
        }
        let mut ranges = Vec::new();
        loop {
            let from = self.number()?;
            self.skip_spaces();
            let is_range = self.rest.get(..2).is_some_and(|word| word.eq_ignore_ascii_case(b"to"));
            let to = if is_range {
                self.take(2);
                self.skip_spaces();
                self.number().filter(|to| *to >= from)?
            } else {
                from.checked_add(1)?
            };
            ranges.push((from, to));
            self.skip_spaces();
            if !self.eat(b',') {
                return Some(Step::Items(ranges));
            }
            self.skip_spaces();
        }
    }
}

/// Calls `visit` with each element that the steps lead to, until it says that it has enough.
fn visit_all<'t, 'i>(
    element: Element<'t, 'i>,
    steps: &[Step],
    visit: &mut impl FnMut(Element<'t, 'i>) -> bool,
) -> bool {
    let Some((step, rest)) = steps.split_first() else { return visit(element) };
    match step {
        Step::Member(name) => element.member(name, false).is_some_and(|(_, value)| visit_all(value, rest, visit)),
        Step::AllItems => element.items().any(|item| visit_all(item, rest, visit)),
        Step::Items(ranges) => ranges
            .iter()
            .any(|&(from, to)| element.items().skip(from).take(to - from).any(|item| visit_all(item, rest, visit))),
    }
}

fn steps_of(call: &Call<'_>) -> Result<Vec<Step>> {
    call.arguments(2..=usize::MAX)?;
    call.strings([0, 1])?;
    let path = call.constant_bytes(1)?;
    Path::steps(path).ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, "Unable to parse JSONPath"))
}

pub(super) fn resolve_exists(call: &Call<'_>) -> Bound {
    let steps = steps_of(call)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut parser = Parser::default();
        let mut holds = Vec::with_capacity(rows);
        for row in 0..rows {
            let tape = parser.parse(texts.get(row))?;
            let root = tape.as_ref().and_then(Element::root);
            holds.push(u8::from(root.is_some_and(|root| visit_all(root, &steps, &mut |_| true))));
        }
        Ok(bytes_column(holds))
    })
}

pub(super) fn resolve_query(call: &Call<'_>) -> Bound {
    let steps = steps_of(call)?;
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut parser = Parser::default();
        let mut strings = StringsBuilder::new(rows, 0)?;
        for row in 0..rows {
            let tape = parser.parse(texts.get(row))?;
            let start = strings.bytes.len();
            if let Some(root) = tape.as_ref().and_then(Element::root) {
                visit_all(root, &steps, &mut |found| {
                    let separator: &[u8] = if strings.bytes.len() == start { b"[" } else { b", " };
                    strings.bytes.extend_from_slice(separator);
                    found.append(&mut strings.bytes);
                    false
                });
            }
            if strings.bytes.len() > start {
                strings.bytes.push(b']');
            }
            strings.end_row()?;
        }
        strings.finish()
    })
}

/// The first scalar; empty, or NULL where the settings say so, without one.
pub(super) fn resolve_value(call: &Call<'_>) -> Bound {
    let steps = steps_of(call)?;
    let settings = &call.context.settings;
    let (is_nullable, allows_complex) = (
        settings.function_json_value_return_type_allow_nullable,
        settings.function_json_value_return_type_allow_complex,
    );
    let result = if is_nullable { DataType::String.to_nullable() } else { DataType::String };
    call.bind(result, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut parser = Parser::default();
        let (mut strings, mut valid) = (StringsBuilder::new(rows, 0)?, Vec::with_capacity(rows));
        for row in 0..rows {
            let tape = parser.parse(texts.get(row))?;
            let mut first = None;
            if let Some(root) = tape.as_ref().and_then(Element::root) {
                visit_all(root, &steps, &mut |found| {
                    let is_complex = matches!(found.node(), Node::Array { .. } | Node::Object { .. });
                    let counts = allows_complex || !is_complex;
                    if counts {
                        first = Some(found);
                    }
                    counts
                });
            }
            // Where NULL is a result, the `null` of JSON is that too.
            let first = first.filter(|found| !is_nullable || found.node() != Node::Static(StaticNode::Null));
            match first.map(|found| (found, found.node())) {
                Some((_, Node::String(text))) => strings.bytes.extend_from_slice(text.as_bytes()),
                Some((found, _)) => found.append(&mut strings.bytes),
                None => {}
            }
            valid.push(first.is_some());
            strings.end_row()?;
        }
        let column: Column = strings.finish()?;
        if is_nullable { column.to_nullable(Some(NullBuffer::from(valid))) } else { Ok(column) }
    })
}
