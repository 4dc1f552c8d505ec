//! `extractKeyValuePairs`: keys and values read out of text like `name:neymar, age:31`, as a map.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, Strings, StringsBuilder};
use crate::scalar::tuple::from_elements;

/// What a quote inside of what is not quoted means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StrayQuote {
    /// The key or the pair is dropped.
    Invalid,
    /// It is a character like others.
    Accept,
    /// What follows is quoted.
    Promote,
}

struct Syntax {
    /// Between a key and its value.
    assigns: u8,
    /// Between pairs.
    separates: Vec<u8>,
    quote: u8,
    stray: StrayQuote,
    has_escapes: bool,
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=5)?;
    call.strings(0..call.arguments.len())?;
    let bad = |what: String| Error::new(ErrorCode::BAD_ARGUMENTS, what);
    let one = |at: usize, otherwise: u8| -> Result<u8> {
        if at >= call.arguments.len() {
            return Ok(otherwise);
        }
        match call.constant_bytes(at)? {
            [byte] => Ok(*byte),
            _ => Err(bad(format!("Control character argument {} of {} must be one byte", at + 1, call.name))),
        }
    };
    let separates = if call.arguments.len() > 2 { call.constant_bytes(2)?.to_vec() } else { b" ,;".to_vec() };
    let stray = match if call.arguments.len() > 4 { call.constant_bytes(4)? } else { b"INVALID" } {
        text if text.eq_ignore_ascii_case(b"invalid") => StrayQuote::Invalid,
        text if text.eq_ignore_ascii_case(b"accept") => StrayQuote::Accept,
        text if text.eq_ignore_ascii_case(b"promote") => StrayQuote::Promote,
        _ => return Err(bad(format!("Unknown strategy for unexpected quotes of function {}", call.name))),
    };
    let syntax = Syntax {
        assigns: one(1, b':')?,
        separates,
        quote: one(3, b'"')?,
        stray,
        has_escapes: call.name.ends_with("WithEscaping"),
    };
    if syntax.separates.contains(&syntax.assigns)
        || syntax.assigns == syntax.quote
        || syntax.separates.contains(&syntax.quote)
    {
        return Err(bad(format!("Delimiters and the quoting character of {} must differ", call.name)));
    }
    let result = DataType::Map(Arc::new(DataType::String), Arc::new(DataType::String));
    let pairs_max = call.context.settings.extract_key_value_pairs_max_pairs_per_row;
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let (mut keys, mut values) = (StringsBuilder::new(rows, 0)?, StringsBuilder::new(rows, 0)?);
        let (mut ends, mut count) = (vec![0], 0_usize);
        for row in 0..rows {
            checkpoint(8 * texts.get(row).len())?;
            let mut reader = Reader { syntax: &syntax, rest: texts.get(row) };
            let before = count;
            while let Some((key, value)) = reader.pair() {
                keys.push(&key)?;
                values.push(&value)?;
                count += 1;
                if pairs_max > 0 && (count - before) as u64 > pairs_max {
                    return Err(Error::new(
                        ErrorCode::LIMIT_EXCEEDED,
                        format!("Number of pairs produced exceeded the limit of {pairs_max}"),
                    ));
                }
            }
            ends.push(count as i32);
        }
        let entry = result.map_entry_type();
        let entries: Column = from_elements(&entry, &[keys.finish()?, values.finish()?], count)?;
        Ok(list_column(&entry, ends, entries.to_array()?)?.with_type(result.clone()))
    })
}

struct Reader<'a> {
    syntax: &'a Syntax,
    rest: &'a [u8],
}

/// How reading a key or a value ended.
#[derive(PartialEq, Eq)]
enum End {
    Assigned,
    Separated,
    Text,
    Invalid,
}

impl Reader<'_> {
    fn take(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next pair; what is none is passed over.
    fn pair(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        loop {
            while self
                .rest
                .first()
                .is_some_and(|byte| self.syntax.separates.contains(byte) || *byte == self.syntax.assigns)
            {
                self.take();
            }
            if self.rest.is_empty() {
                return None;
            }
            let (key, end) = self.item(true);
            if end != End::Assigned || key.is_empty() {
                continue;
            }
            let (value, end) = self.item(false);
            if end != End::Invalid {
                return Some((key, value));
            }
        }
    }

    /// A key or a value, quoted or not.
    fn item(&mut self, is_key: bool) -> (Vec<u8>, End) {
        let mut item = Vec::new();
        if self.rest.first() == Some(&self.syntax.quote) {
            self.take();
            return self.quoted(item, is_key);
        }
        while let Some(byte) = self.take() {
            match byte {
                byte if byte == self.syntax.assigns && is_key => return (item, End::Assigned),
                byte if self.syntax.separates.contains(&byte) => return (item, End::Separated),
                b'\\' if self.syntax.has_escapes => self.escape(&mut item),
                byte if byte == self.syntax.quote => match self.syntax.stray {
                    StrayQuote::Accept => item.push(byte),
                    StrayQuote::Promote => {
                        item.clear();
                        return self.quoted(item, is_key);
                    }
                    StrayQuote::Invalid => {
                        self.pass_over();
                        return (item, End::Invalid);
                    }
                },
                other => item.push(other),
            }
        }
        (item, End::Text)
    }

    /// What stands before the closing quote, the opening one read already.
    fn quoted(&mut self, mut item: Vec<u8>, is_key: bool) -> (Vec<u8>, End) {
        while let Some(byte) = self.take() {
            match byte {
                b'\\' if self.syntax.has_escapes => self.escape(&mut item),
                byte if byte == self.syntax.quote => {
                    return match self.rest.first() {
                        Some(next) if *next == self.syntax.assigns && is_key => {
                            self.take();
                            (item, End::Assigned)
                        }
                        None => (item, End::Text),
                        Some(_) => (item, End::Separated),
                    };
                }
                other => item.push(other),
            }
        }
        (item, End::Invalid)
    }

    /// Goes on to the next separator.
    fn pass_over(&mut self) {
        while self.rest.first().is_some_and(|byte| !self.syntax.separates.contains(byte)) {
            self.take();
        }
    }

    fn escape(&mut self, item: &mut Vec<u8>) {
        let Some(letter) = self.take() else { return };
        item.push(match letter {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'a' => 7,
            b'v' => 11,
            b'e' => 27,
            b'0' => 0,
            b'x' => {
                let digits = self.rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    Some(byte) => {
                        self.rest = self.rest.get(2..).unwrap_or_default();
                        byte
                    }
                    None => b'x',
                }
            }
            other => other,
        });
    }
}
