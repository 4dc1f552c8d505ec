//! Scripts: statements one after another, as people write them in files and at prompts. A statement that does not parse ends where its
//! tokens say so, so that those behind it are still found.

use super::{ParsedStatement, Parser, ParserLimits, entry_at, inline_data_end};
use crate::ast::Statement;
use crate::error::SyntaxError;
use crate::lexer::{Lexer, TokenKind as T};

/// What stands behind a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// The end of the text.
    End,
    /// `;`.
    Semicolon,
    /// `\G`: the result is wanted in the format `Vertical`.
    Vertical,
}

/// One statement of a script, whether it parses or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStatement {
    /// The statement, or what is wrong with it; positions are those in the whole script.
    pub statement: Result<Statement, SyntaxError>,
    /// The statement's own text, without what ends it and without inline data: half-open byte range.
    pub text: (usize, usize),
    /// The inline data of `INSERT … VALUES` and `INSERT … FORMAT`: half-open byte range.
    pub data: Option<(usize, usize)>,
    /// Where to look for the next one.
    pub end: usize,
    /// What ends it.
    pub terminator: Terminator,
}

/// The first statement at or behind `begin`; `None` where there are only blanks, comments and semicolons.
pub fn next_statement(
    script: &(impl AsRef<[u8]> + ?Sized),
    begin: usize,
    limits: &ParserLimits,
) -> Option<ScriptStatement> {
    let script = script.as_ref();
    let mut lexer = Lexer::new(script, begin, 0);
    let mut token = lexer.next_token();
    while matches!(token.kind, T::Semicolon | T::VerticalDelimiter) {
        token = lexer.next_token();
    }
    if token.kind == T::End {
        return None;
    }
    let begin = token.start as usize;
    Some(match entry_at(script, begin, limits, |parser| one(parser, script, begin)) {
        Ok((parsed, end, terminator)) => ScriptStatement {
            statement: Ok(parsed.statement),
            text: (parsed.span.start as usize, parsed.span.end as usize),
            data: parsed.data,
            end: end.max(begin + 1),
            terminator,
        },
        Err(error) => {
            while !matches!(token.kind, T::End | T::Semicolon | T::VerticalDelimiter) {
                token = lexer.next_token();
            }
            let (start, end) = (token.start as usize, token.end as usize);
            let terminator = terminator(token.kind);
            ScriptStatement { statement: Err(error), text: (begin, start), data: None, end, terminator }
        }
    })
}

fn terminator(kind: T) -> Terminator {
    match kind {
        T::Semicolon => Terminator::Semicolon,
        T::VerticalDelimiter => Terminator::Vertical,
        _ => Terminator::End,
    }
}

/// The statement at `begin`, where the next may begin, and what stands between the two.
pub(super) fn one(
    parser: &mut Parser<'_>,
    text: &[u8],
    begin: usize,
) -> super::Parsed<(ParsedStatement, usize, Terminator)> {
    let statement = parser.statement()?;
    let span = parser.span_from(begin as u32);
    if let Statement::Insert(insert) = &statement
        && insert.has_inline_data()
    {
        let from = insert.inline_data_offset().unwrap_or(text.len());
        let to = inline_data_end(text, from, insert.inline_format() == Some("Values"));
        let data = (from < to).then_some((from, to));
        let terminator = if text.get(to) == Some(&b';') { Terminator::Semicolon } else { Terminator::End };
        return Ok((ParsedStatement { statement, span, data }, to, terminator));
    }
    let next = parser.peek();
    if !matches!(next.kind, T::End | T::Semicolon | T::VerticalDelimiter) {
        return parser.fail("end of query");
    }
    Ok((ParsedStatement { statement, span, data: None }, next.end as usize, terminator(next.kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(script: &str) -> Vec<(String, Option<String>, Terminator, bool)> {
        let mut found = Vec::new();
        let mut begin = 0;
        while let Some(next) = next_statement(script, begin, &ParserLimits::default()) {
            let text = |(from, to): (usize, usize)| script[from..to].to_owned();
            found.push((text(next.text), next.data.map(text), next.terminator, next.statement.is_ok()));
            begin = next.end;
        }
        found
    }

    #[test]
    fn statements_are_found_one_by_one() {
        assert_eq!(split("; -- nothing\n"), []);
        let found = split("SELECT 1; SELECT ';' \\G INSERT INTO t VALUES (1), (';'); SELEC 2 ';'; SELECT 3 -- end");
        let texts: Vec<&str> = found.iter().map(|(text, ..)| text.as_str()).collect();
        assert_eq!(texts, ["SELECT 1", "SELECT ';'", "INSERT INTO t VALUES", "SELEC 2 ';'", "SELECT 3"]);
        let ends: Vec<Terminator> = found.iter().map(|(_, _, terminator, _)| *terminator).collect();
        use Terminator::{End, Semicolon, Vertical};
        assert_eq!(ends, [Semicolon, Vertical, Semicolon, Semicolon, End]);
        assert_eq!(found[2].1.as_deref().map(str::trim), Some("(1), (';')"));
        let parsed: Vec<bool> = found.iter().map(|(.., parsed)| *parsed).collect();
        assert_eq!(parsed, [true, true, true, false, true]);
    }
}
