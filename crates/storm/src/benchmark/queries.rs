//! Queries as standard input has them: one a line, or a script with semicolons between them.

use std::io::{BufRead, Read};

use squall_types::{Error, ErrorCode, Result};

/// The bytes of all queries that may be loaded.
const QUERIES_BYTES_MAX: u64 = 1 << 30;

/// How queries stand in the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One a line, escaped as TabSeparated is.
    #[default]
    Tsv,
    /// Semicolons between them.
    Script,
}

/// Reads all queries.
///
/// # Errors
/// Where there is none, or too many.
pub fn read(input: impl BufRead, format: Format) -> Result<Vec<String>> {
    let mut text = String::new();
    let read = input.take(QUERIES_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| Error::new(ErrorCode::CANNOT_READ_FROM_ISTREAM, error.to_string()))?;
    if text.len() as u64 > QUERIES_BYTES_MAX {
        return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, format!("More than {QUERIES_BYTES_MAX} bytes of queries")));
    }
    let queries: Vec<String> = match format {
        Format::Tsv => text.lines().filter(|line| !line.trim().is_empty()).map(unescape).collect(),
        Format::Script => statements(&text),
    };
    if queries.is_empty() {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Empty list of queries."));
    }
    Ok(queries)
}

/// A field of TabSeparated as what it means.
fn unescape(line: &str) -> String {
    let mut query = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            query.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => query.push('\n'),
            Some('t') => query.push('\t'),
            Some('r') => query.push('\r'),
            Some('b') => query.push('\u{8}'),
            Some('f') => query.push('\u{c}'),
            Some('0') => query.push('\0'),
            Some(other) => query.push(other),
            None => query.push('\\'),
        }
    }
    query
}

/// The statements of a script; semicolons within quotes and comments end none.
pub(crate) fn statements(script: &str) -> Vec<String> {
    let bytes = script.as_bytes();
    let (mut statements, mut begin, mut at, mut has_code) = (Vec::new(), 0, 0, false);
    let end_of =
        |from: usize, end: &str| script[from..].find(end).map_or(bytes.len(), |found| from + found + end.len());
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' | b'`' => {
                has_code = true;
                at += 1;
                while bytes.get(at).is_some_and(|&inner| inner != byte) {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' if bytes[at..].starts_with(b"--") => at = end_of(at, "\n"),
            b'/' if bytes[at..].starts_with(b"/*") => at = end_of(at, "*/"),
            b';' => {
                if has_code {
                    statements.push(script[begin..at].trim().to_owned());
                }
                (begin, at, has_code) = (at + 1, at + 1, false);
            }
            other => {
                has_code |= !other.is_ascii_whitespace();
                at += 1;
            }
        }
    }
    if has_code {
        statements.push(script[begin..].trim().to_owned());
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_lines() {
        assert_eq!(read(&b"select 1\n\nselect '\\\\n\\t'"[..], Format::Tsv).unwrap(), ["select 1", "select '\\n\t'"]);
        assert_eq!(read(&b"\n"[..], Format::Tsv).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }

    #[test]
    fn scripts_are_cut_at_semicolons() {
        let script = "-- first; really\nSELECT ';', \"a;\\\"b\", '\\';' /* ; */\n;\n;; SELECT\n2 -- end;\n; -- nothing";
        let found = read(script.as_bytes(), Format::Script).unwrap();
        assert_eq!(found, ["-- first; really\nSELECT ';', \"a;\\\"b\", '\\';' /* ; */", "SELECT\n2 -- end;"]);
        assert!(read(&b"-- nothing"[..], Format::Script).is_err());
        // What is cut off within a quote is the server's to complain of.
        assert_eq!(read(&b"SELECT 'x;"[..], Format::Script).unwrap(), ["SELECT 'x;"]);
        assert_eq!(read("SELECT 'é\\".as_bytes(), Format::Script).unwrap().len(), 1);
    }
}
