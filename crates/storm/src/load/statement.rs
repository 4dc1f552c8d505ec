//! What is sent: a query with places for parameters, or a path to GET; its class in the report; and the answer that is expected.

use std::sync::{Arc, OnceLock};

use super::parameter::Parameter;
use crate::datagen::Random;

/// Bytes of an answer that are compared, beside its length.
pub const COMPARED_BYTES: usize = 1 << 16;

/// What a right answer is.
#[derive(Debug, Clone, Default)]
pub enum Expectation {
    /// Any.
    #[default]
    Anything,
    /// The same as the first one of the run.
    First(Arc<OnceLock<Vec<u8>>>),
    /// This text, without the line break at its end.
    Text(Arc<[u8]>),
}

impl Expectation {
    /// Whether answers need to be kept for it.
    pub fn looks(&self) -> bool {
        !matches!(self, Self::Anything)
    }

    /// Whether `answer` is right. The first one that is asked for becomes the measure of the others where there is none.
    pub fn accepts(&self, answer: &[u8]) -> bool {
        match self {
            Self::Anything => true,
            Self::First(first) => first.get_or_init(|| answer.to_vec()) == answer,
            Self::Text(text) => answer.trim_ascii_end() == &**text,
        }
    }

    /// What it compares with, for a message.
    pub fn description(&self) -> String {
        let text = match self {
            Self::Anything => return "anything".to_owned(),
            Self::First(first) => first.get().map(Vec::as_slice).unwrap_or_default(),
            Self::Text(text) => text,
        };
        super::excerpt(text)
    }
}

/// A piece of a statement's text.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// A parameter, by its number.
    Place(usize),
}

/// One statement of a load.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The class under which it is reported.
    pub class: String,
    /// How often it is sent, beside the others of its stream.
    pub weight: f64,
    /// What a right answer is.
    pub expectation: Expectation,
    /// Whether it is a path to GET rather than a query.
    pub is_path: bool,
    pieces: Vec<Piece>,
    parameters: Vec<Parameter>,
}

impl Statement {
    /// A query without parameters, the only one of its class.
    pub fn query(class: &str, text: &str) -> Self {
        Self::with_parameters(class, text, &[])
    }

    /// A path to GET over HTTP.
    pub fn path(class: &str, path: &str) -> Self {
        Statement { is_path: true, ..Self::query(class, path) }
    }

    /// A query in which `{name}` stands for a value of the parameter `name`, the same wherever it stands. Other braces are left as they are.
    pub fn with_parameters(class: &str, text: &str, parameters: &[(String, Parameter)]) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|rest| rest.find('{')).map(|at| at + from) {
            match place(&rest[at..], parameters) {
                Some((number, after)) => {
                    pieces.push(Piece::Text(rest[..at].to_owned()));
                    pieces.push(Piece::Place(number));
                    rest = after;
                    from = 0;
                }
                None => from = at + 1,
            }
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Statement {
            class: class.to_owned(),
            weight: 1.0,
            expectation: Expectation::Anything,
            is_path: false,
            pieces,
            parameters: parameters.iter().map(|(_, parameter)| parameter.clone()).collect(),
        }
    }

    /// Its text, where that is always the same.
    pub fn fixed_text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Writes its text with newly drawn values.
    pub fn write(&self, random: &mut Random, out: &mut String) {
        out.clear();
        // Where each parameter was drawn.
        let mut drawn = vec![None; self.parameters.len()];
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Place(number) => match drawn[*number] {
                    Some((from, to)) => {
                        let value = out[from..to].to_owned();
                        out.push_str(&value);
                    }
                    None => {
                        let from = out.len();
                        self.parameters[*number].draw(random, out);
                        drawn[*number] = Some((from, out.len()));
                    }
                },
            }
        }
    }
}

/// The parameter that stands at the beginning of `text`, by its number, and what comes after it.
fn place<'a>(text: &'a str, parameters: &[(String, Parameter)]) -> Option<(usize, &'a str)> {
    parameters.iter().enumerate().find_map(|(number, (name, _))| {
        text.strip_prefix('{')?.strip_prefix(name.as_str())?.strip_prefix('}').map(|after| (number, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_drawn_once_a_statement() {
        let parameters = [("id".to_owned(), "range(10, 99)".parse().unwrap())];
        let statement = Statement::with_parameters("a", "{id} {x:UInt8} {id}, {'a':{id}}", &parameters);
        assert!(statement.fixed_text().is_none());
        let (mut random, mut text) = (Random::new(1, 1), String::new());
        statement.write(&mut random, &mut text);
        let id = text[..2].to_owned();
        assert_eq!(text, format!("{id} {{x:UInt8}} {id}, {{'a':{id}}}"));
        assert_eq!(Statement::query("a", "{id}").fixed_text(), Some("{id}"));
    }

    #[test]
    fn answers_are_judged() {
        assert!(Expectation::Anything.accepts(b"x"));
        let first = Expectation::First(Arc::default());
        assert!(first.accepts(b"1\n") && first.accepts(b"1\n") && !first.accepts(b"2\n"));
        let text = Expectation::Text(b"1".as_slice().into());
        assert!(text.accepts(b"1\n") && !text.accepts(b"11\n"));
    }
}
