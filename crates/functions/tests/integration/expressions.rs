//! Scalar functions against ClickHouse itself: `data/expressions/*.tsv` holds expressions with the type and the value that ClickHouse
//! gives, written by the script beside them. Each is tried twice: with constants, and with columns of several rows.

use std::sync::Arc;

use squall_functions::{Argument, FunctionContext, Moment, resolve_scalar};
use squall_types::text::{TextOptions, TextStyle, ValueReader, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

/// Rows of the columns in the second try.
const ROWS: usize = 3;

fn context() -> FunctionContext {
    FunctionContext {
        moment: Moment::new(1_600_000_000_123_456_789, 5, "default".into(), "some-query".into()),
        current_database: Arc::from("default"),
        host_name: Arc::from("localhost"),
        server_version: Arc::from("26.9.2.1"),
        ..FunctionContext::outside_queries("UTC")
    }
}

/// Evaluates one expression while it reads it: calls, literals, `literal::Type`, `[…]`.
struct Evaluator<'a> {
    text: &'a [u8],
    at: usize,
    /// Literals are constants; otherwise columns of [`ROWS`] rows.
    constants: bool,
}

impl Evaluator<'_> {
    fn bad(&self) -> Error {
        Error::logical(format!("the test cannot read its expression from byte {}", self.at))
    }

    fn spaces(&mut self) {
        while self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    fn eat(&mut self, symbol: u8) -> bool {
        self.spaces();
        let found = self.text.get(self.at) == Some(&symbol);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> &str {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len());
        self.at += end;
        std::str::from_utf8(&rest[..end]).unwrap()
    }

    fn literal(&self, data_type: DataType, value: &Value) -> Result<Column> {
        let column = Column::constant(data_type, value, ROWS)?;
        if self.constants { Ok(column) } else { column.materialize() }
    }

    fn expression(&mut self) -> Result<Column> {
        let column = self.primary()?;
        self.spaces();
        if !self.text[self.at..].starts_with(b"::") {
            return Ok(column);
        }
        self.at += 2;
        let data_type = DataType::parse(&self.type_name())?;
        let Value::String(text) = column.value(0) else { return Err(self.bad()) };
        let mut reader = ValueReader::new(&data_type, &TextOptions::default())?;
        reader.read_whole(&text)?;
        self.literal(data_type, &reader.finish()?.value(0))
    }

    fn type_name(&mut self) -> String {
        let start = self.at;
        self.word();
        let mut depth = 0;
        if self.text.get(self.at) == Some(&b'(') {
            loop {
                match self.text.get(self.at) {
                    Some(b'(') => depth += 1,
                    Some(b')') => depth -= 1,
                    None => break,
                    _ => {}
                }
                self.at += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        String::from_utf8(self.text[start..self.at].to_vec()).unwrap()
    }

    fn primary(&mut self) -> Result<Column> {
        self.spaces();
        match self.text.get(self.at).copied() {
            Some(b'\'') => {
                let mut bytes = Vec::new();
                self.at += squall_types::text::read_quoted(&mut bytes, &self.text[self.at..])?;
                self.literal(DataType::String, &Value::string(bytes))
            }
            Some(b'[') => {
                self.at += 1;
                let items = self.list(b']')?;
                self.call("array", items)
            }
            Some(b'(') => {
                self.at += 1;
                let items = self.list(b')')?;
                self.call("tuple", items)
            }
            Some(byte) if byte.is_ascii_digit() || byte == b'-' => {
                let start = self.at;
                self.at += 1;
                while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_digit() || b".e".contains(byte)) {
                    self.at += 1;
                }
                let number = std::str::from_utf8(&self.text[start..self.at]).unwrap();
                let value = match (number.parse::<u64>(), number.parse::<i64>()) {
                    (Ok(value), _) => Value::UInt64(value),
                    (_, Ok(value)) => Value::Int64(value),
                    _ => Value::Float64(number.parse().map_err(|_| self.bad())?),
                };
                self.literal(value.literal_type(), &value)
            }
            Some(_) => match self.word().to_owned().as_str() {
                "NULL" => self.literal(Value::Null.literal_type(), &Value::Null),
                "true" => self.literal(DataType::Bool, &Value::Bool(true)),
                "false" => self.literal(DataType::Bool, &Value::Bool(false)),
                "INTERVAL" => {
                    let count = self.expression()?.value(0).as_i64().ok_or_else(|| self.bad())?;
                    let unit = self.word().to_ascii_lowercase();
                    let name = format!("Interval{}{}", unit[..1].to_uppercase(), &unit[1..]);
                    self.literal(DataType::parse(&name)?, &Value::Int64(count))
                }
                name if self.eat(b'(') => {
                    let arguments = self.list(b')')?;
                    self.call(name, arguments)
                }
                _ => Err(self.bad()),
            },
            None => Err(self.bad()),
        }
    }

    fn list(&mut self, end: u8) -> Result<Vec<Column>> {
        let mut items = Vec::new();
        if self.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(self.expression()?);
            if !self.eat(b',') {
                break;
            }
            if self.eat(end) {
                return Ok(items);
            }
        }
        if self.eat(end) { Ok(items) } else { Err(self.bad()) }
    }

    fn call(&self, name: &str, arguments: Vec<Column>) -> Result<Column> {
        let described: Vec<Argument> = arguments
            .iter()
            .map(|column| Argument { data_type: column.data_type().clone(), constant: column.constant_value() })
            .collect();
        let function = resolve_scalar(name, &described, &context())?;
        let result = function.execute(&arguments, ROWS)?;
        assert_eq!(result.data_type(), function.return_type(), "{name}");
        assert_eq!(result.rows(), ROWS, "{name}");
        Ok(result)
    }
}

/// Type and value in the last row, as the data files have them.
fn evaluate(expression: &[u8], constants: bool) -> Result<Vec<u8>> {
    let mut evaluator = Evaluator { text: expression, at: 0, constants };
    let column = evaluator.expression()?;
    evaluator.spaces();
    if evaluator.at != expression.len() {
        return Err(evaluator.bad());
    }
    let mut out = Vec::new();
    squall_types::text::append_escaped(&mut out, column.data_type().to_string().as_bytes());
    out.push(b'\t');
    ValueWriter::new(&column, TextStyle::Escaped, &TextOptions::default())?.write(&mut out, ROWS - 1);
    Ok(out)
}

/// The type without an outer `LowCardinality`, and the value.
fn without_dictionary(answer: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(answer);
    match text.strip_prefix("LowCardinality(").and_then(|rest| rest.split_once(")\t")) {
        Some((inner, value)) => format!("{inner}\t{value}").into_bytes(),
        None => text.into_owned().into_bytes(),
    }
}

#[test]
fn expressions_are_clickhouses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/expressions");
    let mut failures = Vec::new();
    let mut count = 0;
    let only = std::env::var("SQUALL_EXPRESSIONS").unwrap_or_default();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "tsv") || !path.to_string_lossy().contains(&only) {
            continue;
        }
        let text = std::fs::read(&path).unwrap();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#') {
            let mut fields = line.splitn(2, |byte| *byte == b'\t');
            let (expression, expected) = (fields.next().unwrap(), fields.next().unwrap_or_default());
            count += 1;
            for constants in [true, false] {
                let found = match evaluate(expression, constants) {
                    Ok(found) => found,
                    // Some arguments must be constants.
                    Err(error) if !constants && error.code == ErrorCode::ILLEGAL_COLUMN => continue,
                    Err(error) => format!("ERR\t{}\t{}", error.code.0, error.message).into_bytes(),
                };
                let is_error = expected.starts_with(b"ERR\t");
                let is_same = match found.strip_prefix(expected) {
                    Some(rest) => rest.is_empty() || is_error && rest[0] == b'\t',
                    // A dictionary is kept beside constants only.
                    None => !constants && without_dictionary(&found) == without_dictionary(expected),
                };
                if !is_same {
                    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let kind = if constants { "constants" } else { "columns" };
                    failures.push(format!(
                        "{} with {kind}\n   is {}\n  not {}",
                        show(expression),
                        show(&found),
                        show(expected)
                    ));
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} expressions differ:\n{}", failures.len(), failures.join("\n"));
}
