//! Constants: numbers, strings with their escapes, and the values of settings.

use super::{K, Parsed, Parser, T};
use crate::ast::{Expression, ExpressionKind, Literal, Setting, SettingValue};
use crate::lexer::Token;

impl Parser<'_> {
    /// A string, whichever way it is quoted.
    pub(super) fn string(&mut self) -> Parsed<Vec<u8>> {
        let token = self.peek();
        match string_value(token, self.bytes(token)) {
            Some(value) => {
                self.advance();
                Ok(value)
            }
            None => self.fail("string literal"),
        }
    }

    /// A string that must be UTF-8.
    pub(super) fn string_text(&mut self) -> Parsed<String> {
        let bytes = self.string()?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    /// A whole number without a sign.
    pub(super) fn unsigned(&mut self) -> Parsed<u64> {
        let token = self.peek();
        if token.kind == T::Number
            && let Some(Literal::UInt64(value)) = number(self.bytes(token), false)
        {
            self.advance();
            return Ok(value);
        }
        self.fail("number")
    }

    /// A whole number with an optional sign.
    pub(super) fn signed(&mut self) -> Parsed<i64> {
        match self.literal()? {
            Literal::UInt64(value) if i64::try_from(value).is_ok() => Ok(value as i64),
            Literal::Int64(value) => Ok(value),
            _ => self.fail("number"),
        }
    }

    /// A constant, without arrays and the like.
    pub(super) fn literal(&mut self) -> Parsed<Literal> {
        let token = self.peek();
        let negative = matches!(token.kind, T::Minus);
        if matches!(token.kind, T::Minus | T::Plus) {
            let next = self.ahead(1);
            let value = match next.kind {
                T::Number => number(self.bytes(next), negative),
                T::Word if next.keyword == K::INF || next.keyword == K::INFINITY => {
                    Some(Literal::float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }))
                }
                _ => None,
            };
            return match value {
                Some(value) => {
                    self.advance();
                    self.advance();
                    Ok(value)
                }
                None => self.fail("number"),
            };
        }
        let value = match token.kind {
            T::Number => number(self.bytes(token), false),
            T::Word => word_literal(token.keyword),
            _ => string_value(token, self.bytes(token)).map(Literal::String),
        };
        match value {
            Some(value) => {
                self.advance();
                Ok(value)
            }
            None => self.fail("literal"),
        }
    }

    /// A constant, an array, a tuple or a map of constants.
    pub(super) fn compound_literal(&mut self) -> Parsed<Literal> {
        let (close, map) = match self.peek().kind {
            T::OpenSquare => (T::CloseSquare, false),
            T::OpenRound => (T::CloseRound, false),
            T::OpenCurly => (T::CloseCurly, true),
            _ => return self.literal(),
        };
        self.enter(1)?;
        self.advance();
        let mut items = Vec::new();
        let mut pairs = Vec::new();
        while !self.accept(close) {
            if !(items.is_empty() && pairs.is_empty()) {
                self.need(T::Comma)?;
            }
            let item = self.compound_literal()?;
            if map {
                self.need(T::Colon)?;
                pairs.push((item, self.compound_literal()?));
            } else {
                items.push(item);
            }
        }
        self.leave(1);
        Ok(match close {
            T::CloseSquare => Literal::Array(items),
            T::CloseRound => Literal::Tuple(items),
            _ => Literal::Map(pairs),
        })
    }

    /// `a = 1, b = 'x', …`.
    pub(super) fn settings(&mut self) -> Parsed<Vec<Setting>> {
        self.list(|p| p.setting())
    }

    /// `name = value`, or `name` alone, which is `name = 1`.
    pub(super) fn setting(&mut self) -> Parsed<Setting> {
        let start = self.start();
        let name = self.dotted_name()?;
        let mut value =
            if self.accept(T::Equals) { self.setting_value()? } else { SettingValue::Literal(Literal::UInt64(1)) };
        // The values of query parameters are texts.
        if name.starts_with("param_") {
            let text = match &value {
                SettingValue::Literal(Literal::String(_)) | SettingValue::Default => None,
                SettingValue::Literal(literal) => Some(crate::format::format_literal(literal)),
                SettingValue::Expression(expression) => match &expression.kind {
                    ExpressionKind::Identifier(parts) => {
                        let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
                        Some(parts.join("."))
                    }
                    _ => None,
                },
            };
            if let Some(text) = text {
                value = SettingValue::Literal(Literal::string(text));
            }
        }
        Ok(Setting { name, value, span: self.span_from(start) })
    }

    /// The right side of a setting.
    pub(super) fn setting_value(&mut self) -> Parsed<SettingValue> {
        if self.at_keyword(K::DEFAULT) && self.ahead(1).kind != T::OpenRound {
            self.advance();
            return Ok(SettingValue::Default);
        }
        let token = self.peek();
        match token.kind {
            T::Word | T::QuotedIdentifier if word_literal(token.keyword).is_none() => {
                let start = token.start;
                let identifier = self.identifier()?;
                if self.at(T::OpenRound) {
                    let function = self.function_with_settings(identifier)?;
                    let kind = ExpressionKind::Function(Box::new(function));
                    let span = self.span_from(start);
                    return Ok(SettingValue::Expression(Box::new(Expression::new(kind, span))));
                }
                let kind = ExpressionKind::Identifier(vec![identifier]);
                let span = self.span_from(start);
                Ok(SettingValue::Expression(Box::new(Expression::new(kind, span))))
            }
            T::OpenCurly if self.ahead(1).kind == T::Word && self.ahead(2).kind == T::Colon => {
                Ok(SettingValue::Expression(Box::new(self.query_parameter()?)))
            }
            _ => Ok(SettingValue::Literal(self.compound_literal()?)),
        }
    }
}

/// The literal that a word is.
pub(super) fn word_literal(keyword: K) -> Option<Literal> {
    Some(match keyword {
        K::NULL => Literal::Null,
        K::TRUE => Literal::Bool(true),
        K::FALSE => Literal::Bool(false),
        K::INF | K::INFINITY => Literal::float(f64::INFINITY),
        K::NAN => Literal::float(f64::NAN),
        _ => return None,
    })
}

/// The value of a token that is a string of any kind.
pub(super) fn string_value(token: Token, bytes: &[u8]) -> Option<Vec<u8>> {
    match token.kind {
        T::String => Some(unquote(bytes)),
        T::HereDoc => {
            let tag = bytes.iter().skip(1).position(|&b| b == b'$')? + 2;
            Some(bytes.get(tag..bytes.len().checked_sub(tag)?)?.to_vec())
        }
        T::HexString => {
            let digits = bytes.get(2..bytes.len().checked_sub(1)?)?;
            let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
            let (first, pairs) = if digits.len() % 2 == 1 { digits.split_at(1) } else { digits.split_at(0) };
            let mut value: Vec<u8> = first.iter().map(|&b| digit(b)).collect();
            value.extend(pairs.chunks(2).map(|pair| pair.iter().fold(0, |v, &b| (v << 4) | digit(b))));
            Some(value)
        }
        T::BinaryString => {
            let digits = bytes.get(2..bytes.len().checked_sub(1)?)?;
            let (first, rest) = digits.split_at(digits.len() % 8);
            let byte = |bits: &[u8]| bits.iter().fold(0u8, |v, &b| (v << 1) | (b & 1));
            let mut value = Vec::new();
            if !first.is_empty() {
                value.push(byte(first));
            }
            value.extend(rest.chunks(8).map(byte));
            Some(value)
        }
        _ => None,
    }
}

/// What stands between the quotes, its escapes and doubled quotes resolved.
pub(super) fn unquote(bytes: &[u8]) -> Vec<u8> {
    if bytes.first() == Some(&0xe2) {
        return bytes.get(3..bytes.len().saturating_sub(3)).unwrap_or(&[]).to_vec();
    }
    let Some((&quote, rest)) = bytes.split_first() else { return Vec::new() };
    let body = rest.get(..rest.len().saturating_sub(1)).unwrap_or(&[]);
    if !body.iter().any(|&b| b == b'\\' || b == quote) {
        return body.to_vec();
    }
    let mut value = Vec::with_capacity(body.len());
    let mut bytes = body.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            bytes.next();
            value.push(quote);
            continue;
        }
        if byte != b'\\' {
            value.push(byte);
            continue;
        }
        let Some(escape) = bytes.next() else { break };
        match escape {
            b'n' => value.push(b'\n'),
            b't' => value.push(b'\t'),
            b'r' => value.push(b'\r'),
            b'0' => value.push(0),
            b'a' => value.push(7),
            b'b' => value.push(8),
            b'f' => value.push(12),
            b'v' => value.push(11),
            b'e' => value.push(27),
            b'N' => {}
            b'x' => {
                let mut digit = || bytes.next().and_then(|b| (b as char).to_digit(16)).unwrap_or(0) as u8;
                let high = digit();
                value.push((high << 4) | digit());
            }
            b'\\' | b'\'' | b'"' | b'`' | b'/' | b'=' => value.push(escape),
            // An escape that means nothing keeps its backslash.
            other => {
                value.push(b'\\');
                value.push(other);
            }
        }
    }
    value
}

/// The value of a number token; none when it is too large for a float.
pub(super) fn number(bytes: &[u8], negative: bool) -> Option<Literal> {
    // Short decimal numbers are most of them.
    if bytes.len() <= 18 && bytes.iter().all(u8::is_ascii_digit) {
        let value = bytes.iter().fold(0u64, |v, b| v * 10 + u64::from(b - b'0'));
        return Some(whole(u128::from(value), negative));
    }
    let text: String = bytes.iter().filter(|&&b| b != b'_').map(|&b| b.to_ascii_lowercase() as char).collect();
    if let Some(digits) = text.strip_prefix("0x") {
        if let Ok(value) = u64::from_str_radix(digits, 16) {
            return Some(whole(u128::from(value), negative));
        }
        let value = hex_float(digits)?;
        return Some(Literal::float(if negative { -value } else { value }));
    }
    if let Some(digits) = text.strip_prefix("0b") {
        let value = u64::from_str_radix(digits, 2).ok()?;
        return Some(whole(u128::from(value), negative));
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(whole(u128::from(value), negative));
    }
    let value = text.parse::<f64>().ok().filter(|v| v.is_finite())?;
    Some(Literal::float(if negative { -value } else { value }))
}

fn whole(value: u128, negative: bool) -> Literal {
    if !negative || value == 0 {
        return match u64::try_from(value) {
            Ok(value) => Literal::UInt64(value),
            Err(_) => Literal::float(value as f64),
        };
    }
    match i64::try_from(-(value as i128)) {
        Ok(value) => Literal::Int64(value),
        Err(_) => Literal::float(-(value as f64)),
    }
}

/// `1.8p3`, the prefix taken off.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once('p') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let scale = exponent.clamp(-4096, 4096) - 4 * i32::try_from(fraction.len()).ok()?;
    let value = value * 2f64.powi(scale);
    value.is_finite().then_some(value)
}
