//! The arguments that lead to an element: keys of objects, and positions in arrays and objects, each a constant or one for each row.

use squall_types::{Column, Error, ErrorCode, Result};

use crate::scalar::simple::{Call, Strings, integers};
use squall_types::json::document::{Element, Parser};

/// Checks that there is a document, beside `last` arguments at the end.
pub(super) fn check_count(call: &Call<'_>, last: usize) -> Result<()> {
    if call.arguments.len() < 1 + last {
        let wanted = if last == 0 { "one argument" } else { "two arguments" };
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} requires at least {wanted}", call.name),
        ));
    }
    Ok(())
}

/// Checks the document and the steps; `last` arguments at the end are no steps.
pub(super) fn check(call: &Call<'_>, last: usize) -> Result<()> {
    check_count(call, last)?;
    let document = call.type_of(0);
    if !document.is_string_or_fixed_string() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "The first argument of function {} should be a string containing JSON or a JSON object, illegal type: \
                 {document}",
                call.name
            ),
        ));
    }
    for at in 1..call.arguments.len() - last {
        let step = call.type_of(at);
        if !step.is_string_or_fixed_string() && !step.is_integer() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "The argument {} of function {} should be a string specifying key or an integer specifying index, \
                     illegal type: {step}",
                    at + 1,
                    call.name
                ),
            ));
        }
    }
    Ok(())
}

enum Step<'a> {
    Names(Strings<'a>),
    Positions(Vec<i64>),
}

/// An element, and the last key or the last position's key that led there.
#[derive(Clone, Copy)]
pub(super) struct Found<'t, 'i, 'k> {
    pub element: Element<'t, 'i>,
    pub key: Option<&'k [u8]>,
}

/// Calls `visit` with each row's element, `None` where the text is no JSON or has no such element. `last` arguments are no steps.
pub(super) fn for_each(
    name: &str,
    arguments: &[Column],
    last: usize,
    rows: usize,
    mut visit: impl FnMut(Option<Found<'_, '_, '_>>) -> Result<()>,
) -> Result<()> {
    let in_any_case = name.ends_with("CaseInsensitive");
    let documents = Strings::of(arguments, 0)?;
    let steps = (1..arguments.len().saturating_sub(last)).map(|at| {
        let column = arguments.get(at).ok_or_else(|| Error::logical("a step is missing"))?;
        Ok(match column.data_type().is_string_or_fixed_string() {
            true => Step::Names(Strings::of(arguments, at)?),
            false => Step::Positions(integers(arguments, at, rows)?),
        })
    });
    let steps = steps.collect::<Result<Vec<_>>>()?;
    let mut parser = Parser::default();
    if let Strings::Constant(document) = documents {
        let tape = parser.parse(document)?;
        let root = tape.as_ref().and_then(Element::root);
        return (0..rows).try_for_each(|row| visit(root.and_then(|root| walk(root, &steps, row, in_any_case))));
    }
    for row in 0..rows {
        let tape = parser.parse(documents.get(row))?;
        let root = tape.as_ref().and_then(Element::root);
        visit(root.and_then(|root| walk(root, &steps, row, in_any_case)))?;
    }
    Ok(())
}

fn walk<'t, 'i, 'k>(
    root: Element<'t, 'i>,
    steps: &[Step<'k>],
    row: usize,
    in_any_case: bool,
) -> Option<Found<'t, 'i, 'k>>
where
    'i: 'k,
{
    let mut found = Found { element: root, key: None };
    for step in steps {
        let (key, element) = match step {
            Step::Names(names) => {
                let (key, element) = found.element.member(names.get(row), in_any_case)?;
                (Some(key.as_bytes()), element)
            }
            Step::Positions(positions) => {
                let (position, len) = (positions[row], found.element.len());
                let at = match position {
                    1.. => usize::try_from(position - 1).ok()?,
                    _ => len.checked_sub(usize::try_from(position.unsigned_abs()).ok()?)?,
                };
                // Counted from the end, position 0 is past it.
                if at >= len {
                    return None;
                }
                match found.element.items().nth(at) {
                    Some(item) => (None, item),
                    None => {
                        let (key, value) = found.element.members().nth(at)?;
                        (Some(key.as_bytes()), value)
                    }
                }
            }
        };
        found = Found { element, key };
    }
    Some(found)
}
