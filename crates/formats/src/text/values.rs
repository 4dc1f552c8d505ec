//! Values: rows as tuples of SQL literals, in one line with commas between them.

use squall_types::text::{TextOptions, TextStyle, ValueReader, ValueWriter};
use squall_types::{Block, Column, Error, ErrorCode, Result};

use crate::input::{RowReader, Rows};
use crate::options::{Evaluate, FormatOptions};
use crate::output::{OutputFormat, Statistics, append_after};
use crate::split::RowEnds;
use crate::text::field::Fields;
use crate::text::null_parts::{nulls_as_defaults, with_nulls};
use crate::text::scan::{Until, scan, skip_spaces};
use crate::wire::{Cursor, Stop};

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct ValuesOutput {
    fields: Fields,
    rows: u64,
}

impl ValuesOutput {
    pub fn new(options: &FormatOptions) -> Self {
        Self { fields: Fields::new(TextStyle::Quoted, options), rows: 0 }
    }
}

impl OutputFormat for ValuesOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            out.extend_from_slice(if self.rows > 0 { b",(" } else { b"(" });
            self.rows += 1;
            for (at, field) in fields.iter_mut().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                field.write(row, out);
            }
            out.push(b')');
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(Self { rows: 1, ..self.clone() }))
    }

    fn append(&mut self, rows: u64, written: &[u8], out: &mut Vec<u8>) {
        append_after(&mut self.rows, rows, b",", written, out);
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// Reads Values.
#[derive(Clone)]
pub(crate) struct ValuesReader {
    evaluate: Option<Evaluate>,
    may_evaluate: bool,
    text: TextOptions,
    is_ended: bool,
}

impl ValuesReader {
    pub fn new(options: &FormatOptions) -> Self {
        let settings = &options.settings;
        // ClickHouse has templates of expressions beside expressions; to us they are one.
        let may_evaluate = settings.input_format_values_interpret_expressions
            || settings.input_format_values_deduce_templates_of_expressions;
        Self { evaluate: options.evaluate.clone(), may_evaluate, text: options.text(), is_ended: false }
    }

    /// Reads one element of a row: a literal, or an expression.
    fn read_element(&self, position: usize, element: &[u8], rows: &mut Rows<ValueReader>) -> Result<()> {
        if element.eq_ignore_ascii_case(b"DEFAULT") {
            return rows.omit(position);
        }
        let null_as_default = rows.table.null_as_default;
        let reader = rows.column(position)?;
        if element.eq_ignore_ascii_case(b"NULL") && !reader.data_type().is_nullable() && null_as_default {
            return rows.omit(position);
        }
        let before = reader.rows();
        let literal = match reader.read_quoted(element) {
            Ok(read) if read == element.len() => return Ok(()),
            Ok(read) => {
                let rest = String::from_utf8_lossy(element.get(read..).unwrap_or_default()).into_owned();
                Error::new(
                    ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                    format!("Cannot parse expression of type {} here: {rest}", reader.data_type()),
                )
            }
            // A decimal that is too large would be one as an expression, too, whose numbers are floats.
            Err(error) if error.code == ErrorCode::ARGUMENT_OUT_OF_BOUND => return Err(error),
            Err(error) => error,
        };
        reader.truncate(before);
        if !self.may_evaluate {
            return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, "Interpreting expressions is disabled"));
        }
        let Some(evaluate) = &self.evaluate else { return Err(literal) };
        let Ok(expression) = std::str::from_utf8(element) else { return Err(literal) };
        let data_type = reader.data_type().clone();
        let value = match evaluate(expression, &data_type) {
            Err(error) if is_of_null(&error) => {
                // The expression is one of a type that has NULLs, unless the error was another one.
                let Ok(value) = evaluate(expression, &with_nulls(&data_type)) else { return Err(error) };
                if !null_as_default {
                    let message = format!("Cannot insert NULL value into a column of type '{data_type}'");
                    return Err(Error::new(ErrorCode::TYPE_MISMATCH, message));
                }
                if value.is_null() {
                    return rows.omit(position);
                }
                nulls_as_defaults(&value, &data_type)
            }
            value => value?,
        };
        // Through the text of a literal, which every type has and reads back.
        let column = Column::constant(data_type, &value, 1)?;
        let mut literal = Vec::new();
        ValueWriter::new(&column, TextStyle::Quoted, &self.text)?.write(&mut literal, 0);
        rows.column(position)?.read_quoted(&literal)?;
        Ok(())
    }
}

/// Whether an error says that a NULL has no place in a type.
fn is_of_null(error: &Error) -> bool {
    matches!(error.code, ErrorCode::CANNOT_CONVERT_TYPE | ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN)
}

impl RowReader for ValuesReader {
    type Column = ValueReader;

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::Brackets(b'(', b')'), self.clone()))
    }

    fn is_open(&self) -> bool {
        !self.is_ended
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if self.is_ended {
            input.advance(input.rest().len());
            return Ok(false);
        }
        skip_spaces(input);
        if input.eat(b',')? {
            skip_spaces(input);
        }
        match input.peek()? {
            None => return Ok(false),
            Some(b';') => {
                self.is_ended = true;
                input.advance(input.rest().len());
                return Ok(false);
            }
            Some(b'(') => {}
            Some(_) => {
                let message = "Cannot parse input: expected '('";
                return Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)));
            }
        }
        let length = scan(input, Until::Close, b"'\"`")?;
        let start = input.position();
        let row = input.rest().get(1..length - 1).unwrap_or_default();
        let mut elements = Cursor::complete(row);
        for position in 0..rows.width() {
            skip_spaces(&mut elements);
            let end = scan(&elements, Until::Separator, b"'\"`")?;
            let element = elements.rest().get(..end).unwrap_or_default().trim_ascii_end();
            input.seek(start + 1 + elements.position());
            if element.is_empty() && elements.is_empty() && position > 0 {
                let message = "Cannot parse input: expected ','";
                return Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)));
            }
            self.read_element(position, element, rows)?;
            elements.advance(end);
            let has_more = elements.eat(b',')?;
            // The last element may have a comma after it.
            let is_last = position + 1 == rows.width();
            if is_last && !elements.rest().trim_ascii().is_empty() || !is_last && !has_more {
                input.seek(start + 1 + elements.position());
                let expected = if is_last { ')' } else { ',' };
                let message = format!("Cannot parse input: expected '{expected}'");
                return Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)));
            }
        }
        input.seek(start + length);
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        skip_spaces(input);
        input.eat(b',')?;
        skip_spaces(input);
        let length = scan(input, Until::Close, b"'\"`")?;
        input.advance(length);
        Ok(())
    }
}
