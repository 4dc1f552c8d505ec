//! Data types.

use super::{K, Parsed, Parser, T};
use crate::ast::{DataType, DataTypeArgument};

/// Names of several words, as their words after the first; the longest of those that begin alike come first.
const PHRASES: &[&[K]] = &[
    &[K::DOUBLE, K::PRECISION],
    &[K::CHARACTER, K::LARGE, K::OBJECT],
    &[K::CHARACTER, K::VARYING],
    &[K::CHAR, K::LARGE, K::OBJECT],
    &[K::CHAR, K::VARYING],
    &[K::NATIONAL, K::CHARACTER, K::LARGE, K::OBJECT],
    &[K::NATIONAL, K::CHARACTER, K::VARYING],
    &[K::NATIONAL, K::CHARACTER],
    &[K::NATIONAL, K::CHAR, K::VARYING],
    &[K::NATIONAL, K::CHAR],
    &[K::NCHAR, K::LARGE, K::OBJECT],
    &[K::NCHAR, K::VARYING],
];

impl Parser<'_> {
    /// Reads the width of MySQL's `INT(11) UNSIGNED`, which says nothing.
    fn forget_width(&mut self, name: &str) -> Parsed<()> {
        if !is_integer(name) || !self.at(T::OpenRound) {
            return Ok(());
        }
        let close = if self.ahead(1).kind == T::CloseRound { 1 } else { 2 };
        let is_signed = matches!(self.ahead(close + 1).keyword, K::UNSIGNED | K::SIGNED);
        if self.ahead(close).kind == T::CloseRound && (is_signed || close == 1) {
            (0..=close).for_each(|_| {
                self.advance();
            });
        }
        Ok(())
    }

    /// A data type.
    pub(crate) fn data_type(&mut self) -> Parsed<DataType> {
        self.enter(1)?;
        let before = self.grow();
        let start = self.start();
        let name = match self.type_phrase() {
            Some(phrase) => phrase,
            None => {
                if !matches!(self.peek().kind, T::Word | T::QuotedIdentifier) {
                    return self.fail("data type");
                }
                let mut name = self.identifier()?.value;
                self.forget_width(&name)?;
                // MySQL's `INT UNSIGNED`, `BIGINT SIGNED`.
                if matches!(self.peek().keyword, K::UNSIGNED | K::SIGNED) && is_integer(&name) {
                    name = format!("{} {}", name.to_ascii_uppercase(), self.peek().keyword.text());
                    self.advance();
                }
                name
            }
        };
        let arguments = if self.at(T::OpenRound) {
            self.advance();
            let json = name.eq_ignore_ascii_case("json") || name.eq_ignore_ascii_case("object");
            let mut arguments = Vec::new();
            while !self.accept(T::CloseRound) {
                if !arguments.is_empty() {
                    self.need(T::Comma)?;
                    if self.accept(T::CloseRound) {
                        break;
                    }
                }
                arguments.push(self.type_argument(json)?);
            }
            Some(arguments)
        } else {
            None
        };
        self.leave(1);
        self.grown(before, 1)?;
        Ok(DataType { name, arguments, span: self.span_from(start) })
    }

    /// How many words the name of several words has that begins here; 0 when none does.
    fn phrase_length(&mut self) -> usize {
        if !matches!(self.peek().keyword, K::DOUBLE | K::CHARACTER | K::CHAR | K::NATIONAL | K::NCHAR) {
            return 0;
        }
        let matching = PHRASES.iter().find(|phrase| phrase.iter().enumerate().all(|(i, k)| self.keyword_ahead(i, *k)));
        matching.map_or(0, |phrase| phrase.len())
    }

    /// Whether a name of several words stands here, and not a named element whose type is the second word.
    fn at_type_phrase(&mut self) -> bool {
        let length = self.phrase_length();
        length != 0 && matches!(self.ahead(length).kind, T::Comma | T::CloseRound | T::OpenRound)
    }

    fn type_phrase(&mut self) -> Option<String> {
        let length = self.phrase_length();
        let mut words = Vec::with_capacity(length);
        for _ in 0..length {
            words.push(self.peek().keyword.text());
            self.advance();
        }
        (length != 0).then(|| words.join(" "))
    }

    fn type_argument(&mut self, json: bool) -> Parsed<DataTypeArgument> {
        let token = self.peek();
        match token.kind {
            T::String | T::HereDoc | T::HexString | T::BinaryString => {
                let literal = self.literal()?;
                if self.accept(T::Equals) {
                    let name = literal.as_str().unwrap_or_default().to_string();
                    return Ok(DataTypeArgument::EnumValue { name, value: self.signed()? });
                }
                return Ok(DataTypeArgument::Literal(literal));
            }
            T::Number | T::Minus | T::Plus | T::OpenSquare => {
                return Ok(DataTypeArgument::Literal(self.compound_literal()?));
            }
            T::Word | T::QuotedIdentifier => {}
            _ => return self.fail("data type argument"),
        }
        let next = self.ahead(1);
        if json && token.keyword == K::SKIP {
            self.advance();
            if self.keyword(K::REGEXP) {
                return Ok(DataTypeArgument::SkipRegexp(self.string_text()?));
            }
            return Ok(DataTypeArgument::Skip(self.dotted_name()?));
        }
        if next.kind == T::Equals {
            let name = self.identifier()?.value;
            self.advance();
            return Ok(DataTypeArgument::Parameter { name, value: self.literal()? });
        }
        if self.at_type_phrase() {
            return Ok(DataTypeArgument::Type(self.data_type()?));
        }
        let unsigned = matches!(next.keyword, K::UNSIGNED | K::SIGNED);
        if matches!(next.kind, T::Word | T::QuotedIdentifier) && !unsigned {
            let name = self.identifier()?.value;
            return Ok(DataTypeArgument::Named { name, data_type: self.data_type()? });
        }
        if next.kind == T::Dot {
            let name = self.dotted_name()?;
            return Ok(DataTypeArgument::Named { name, data_type: self.data_type()? });
        }
        Ok(DataTypeArgument::Type(self.data_type()?))
    }
}

fn is_integer(name: &str) -> bool {
    ["tinyint", "smallint", "mediumint", "int", "integer", "bigint", "int1"]
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n))
}
