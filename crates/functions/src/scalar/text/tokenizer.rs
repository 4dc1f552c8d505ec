//! How texts, and the patterns of LIKE, are cut into words: what `tokens`, `hasAnyTokens` and their like have in common.

use std::fmt;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::sparse_grams::{self, Lengths};
use crate::scalar::simple::Call;

/// How texts are cut into words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tokenizer {
    /// At whatever is ASCII and neither a letter nor a digit.
    SplitByNonAlpha,
    /// At any of these.
    SplitByString(Vec<Vec<u8>>),
    /// Into all runs of so many characters.
    Ngrams(usize),
    /// Into runs that their hashes choose.
    SparseGrams(Lengths),
    /// Into words of ASCII letters and digits, and single characters of other scripts.
    AsciiCjk,
    /// Not at all.
    Array,
}

/// As a function takes it: `ngrams(3)`.
impl fmt::Display for Tokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SplitByNonAlpha => formatter.write_str("splitByNonAlpha"),
            Self::SplitByString(separators) => {
                let shown = separators.iter().map(|separator| format!("'{}'", String::from_utf8_lossy(separator)));
                write!(formatter, "splitByString([{}])", shown.collect::<Vec<_>>().join(", "))
            }
            Self::Ngrams(length) => write!(formatter, "ngrams({length})"),
            Self::SparseGrams(lengths) => write!(formatter, "sparseGrams({lengths})"),
            Self::AsciiCjk => formatter.write_str("asciiCJK"),
            Self::Array => formatter.write_str("array"),
        }
    }
}

/// Names of the tokenizer that none is.
const DEFAULT_NAMES: [&str; 3] = ["splitByNonAlpha", "tokenbf_v1", "default"];

impl Tokenizer {
    /// Of arguments: a name and what it takes. The default where there are none.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an unknown name, `ILLEGAL_TYPE_OF_ARGUMENT`, `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`.
    pub(in crate::scalar) fn of_arguments(call: &Call<'_>, at: usize) -> Result<Self> {
        if call.arguments.len() <= at {
            return Ok(Self::SplitByNonAlpha);
        }
        let Some(name) = call.constant(at).and_then(Value::as_str) else {
            return Err(illegal(call, at, "tokenizer", "const String"));
        };
        let length = |place: usize, otherwise: usize| match call.arguments.get(at + place) {
            None => Ok(otherwise),
            Some(_) => match call.constant(at + place).and_then(Value::as_u64) {
                Some(length) => Ok(usize::try_from(length).unwrap_or(usize::MAX)),
                None => Err(illegal(call, at + place, name, "const UInt8")),
            },
        };
        let (tokenizer, parameters) = match name {
            "splitByNonAlpha" => (Self::SplitByNonAlpha, 0),
            "asciiCJK" => (Self::AsciiCjk, 0),
            "array" => (Self::Array, 0),
            "ngrams" => match length(1, 3)? {
                0 => return Err(wrong_parameter(name, "ngram length must be at least 1, but got 0")),
                length => (Self::Ngrams(length), 1),
            },
            "sparseGrams" => (Self::SparseGrams(Lengths::new(length(1, 3)?, length(2, 100)?, length(3, 0)?)?), 3),
            "splitByString" => match (call.arguments.get(at + 1), call.constant(at + 1)) {
                (None, _) => (Self::SplitByString(vec![b" ".to_vec()]), 1),
                (Some(_), Some(Value::Array(separators))) => {
                    let separators: Vec<_> = separators.iter().filter_map(Value::as_bytes).collect();
                    if separators.is_empty() || separators.iter().any(|separator| separator.is_empty()) {
                        return Err(wrong_parameter(name, "the separators argument cannot be empty"));
                    }
                    (Self::SplitByString(separators.into_iter().map(<[u8]>::to_vec).collect()), 1)
                }
                (Some(_), _) => return Err(illegal(call, at + 1, "separators", "const Array")),
            },
            unknown => {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown tokenizer: '{unknown}'")));
            }
        };
        call.arguments(0..=at + 1 + parameters)?;
        Ok(tokenizer)
    }

    /// Of one argument, `name` or `name(parameters)`; the default where there is none.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an unknown name.
    pub(in crate::scalar) fn of_description(call: &Call<'_>, at: usize) -> Result<Self> {
        if call.arguments.len() <= at {
            return Ok(Self::SplitByNonAlpha);
        }
        let text = String::from_utf8_lossy(call.constant_bytes(at)?).into_owned();
        Self::of_text(&text)?.ok_or_else(|| {
            let name = text.split('(').next().unwrap_or_default().trim();
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Function {} does not support the tokenizer '{name}'", call.name),
            )
        })
    }

    /// Of `name` or `name(parameters)`; `None` for an unknown name.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for parameters that it does not take.
    pub fn of_text(text: &str) -> Result<Option<Self>> {
        let (name, inner) = match text.split_once('(') {
            Some((name, inner)) => (name, inner.trim_end().trim_end_matches(')')),
            None => (text, ""),
        };
        let mut numbers = inner.split(',').filter_map(|number| number.trim().parse().ok());
        Ok(Some(match name.trim() {
            name if DEFAULT_NAMES.contains(&name) => Self::SplitByNonAlpha,
            "array" | "no_op" => Self::Array,
            "asciiCJK" => Self::AsciiCjk,
            "ngrams" | "ngram" | "ngrambf_v1" => Self::Ngrams(numbers.next().unwrap_or(3).max(1)),
            "sparseGrams" => {
                let mut next = |otherwise| numbers.next().unwrap_or(otherwise);
                Self::SparseGrams(Lengths::new(next(3), next(100), next(0))?)
            }
            "splitByString" | "split" => {
                let inner = inner.trim().trim_start_matches('[').trim_end_matches(']');
                let own = inner.split('\'').skip(1).step_by(2).map(|text| text.as_bytes().to_vec());
                let separators: Vec<Vec<u8>> = own.filter(|text| !text.is_empty()).collect();
                Self::SplitByString(if separators.is_empty() { vec![b" ".to_vec()] } else { separators })
            }
            _ => return Ok(None),
        }))
    }

    /// Calls `found` with each word of a text, in their order.
    ///
    /// # Errors
    /// Those of `found` and of a checkpoint.
    pub fn each_word<'a>(&self, text: &'a [u8], mut found: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::SplitByNonAlpha => {
                squall_types::checkpoint(8 * text.len())?;
                let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
                text.split(|byte| !is_of_word(byte)).filter(|word| !word.is_empty()).try_for_each(found)
            }
            other => other.words(text)?.into_iter().try_for_each(&mut found),
        }
    }

    /// The words of a text, in their order.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn words<'a>(&self, text: &'a [u8]) -> Result<Vec<&'a [u8]>> {
        squall_types::checkpoint(8 * text.len())?;
        Ok(match self {
            Self::Array if text.is_empty() => Vec::new(),
            Self::Array => vec![text],
            Self::SplitByNonAlpha => {
                let mut words = Vec::new();
                self.each_word(text, |word| {
                    words.push(word);
                    Ok(())
                })?;
                words
            }
            Self::Ngrams(size) => {
                let starts: Vec<usize> =
                    (0..text.len()).filter(|at| text[*at] & 0xC0 != 0x80).chain([text.len()]).collect();
                starts.windows(size + 1).map(|window| &text[window[0]..window[*size]]).collect()
            }
            Self::SparseGrams(lengths) => {
                let mut words = Vec::new();
                sparse_grams::each(text, true, *lengths, &mut |part| {
                    words.push(part);
                    Ok(())
                })?;
                words
            }
            Self::AsciiCjk => ascii_and_cjk(text),
            Self::SplitByString(separators) => {
                let (mut words, mut start, mut at) = (Vec::new(), 0, 0);
                while at < text.len() {
                    match separators.iter().find(|separator| text[at..].starts_with(separator)) {
                        Some(separator) => {
                            words.push(&text[start..at]);
                            at += separator.len();
                            start = at;
                        }
                        None => at += 1,
                    }
                }
                words.push(&text[start..]);
                words.retain(|word| !word.is_empty());
                words
            }
        })
    }

    /// The words that every text has which holds this piece. Where the piece is open at a side, something else may stand there; otherwise
    /// the text begins or ends with it. Nothing where it is not known.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn words_around<'a>(&self, piece: &'a [u8], open_left: bool, open_right: bool) -> Result<Vec<&'a [u8]>> {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        match self {
            _ if !open_left && !open_right => self.words(piece),
            // Where a word ends that begins in the piece is not known.
            Self::Array | Self::SplitByString(_) | Self::AsciiCjk | Self::SparseGrams(_) => Ok(Vec::new()),
            Self::SplitByNonAlpha => {
                let mut words = self.words(piece)?;
                if open_right && piece.last().is_some_and(is_of_word) {
                    words.pop();
                }
                if open_left && piece.first().is_some_and(is_of_word) && !words.is_empty() {
                    words.remove(0);
                }
                Ok(words)
            }
            // A piece that begins or ends within a character has characters of its own.
            Self::Ngrams(_) => match std::str::from_utf8(piece) {
                Ok(_) => self.words(piece),
                Err(_) => Ok(Vec::new()),
            },
        }
    }

    /// The words that every text has which is like a pattern.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where nothing is known of the words of such texts, and those of a checkpoint.
    pub fn words_of_pattern(&self, pattern: &[u8]) -> Result<Vec<Vec<u8>>> {
        let may_be_cut: fn(&[u8]) -> bool = match self {
            Self::SplitByNonAlpha => |_| true,
            // A character that is a word by itself ends there.
            Self::AsciiCjk => <[u8]>::is_ascii,
            Self::Ngrams(_) | Self::SparseGrams(_) => |_| false,
            Self::SplitByString(_) => return Err(unknown_pattern("splitByString")),
            Self::Array => return Err(unknown_pattern("array")),
        };
        let mut found = Vec::new();
        for run in runs(pattern, matches!(self, Self::SparseGrams(_))) {
            let words = self.words(&run.text)?;
            let bounds = run.text.as_ptr_range();
            for word in words {
                let is_cut = run.is_open_before && word.as_ptr_range().start == bounds.start
                    || run.is_open_after && word.as_ptr_range().end == bounds.end;
                if !(is_cut && may_be_cut(word)) {
                    found.push(word.to_vec());
                }
            }
        }
        Ok(found)
    }
}

/// A part of a pattern that stands for itself.
#[derive(Default)]
struct Run {
    text: Vec<u8>,
    /// Whether anything may stand before it.
    is_open_before: bool,
    is_open_after: bool,
}

/// The parts of a pattern between `%` and `_`; where asked, also between those that are meant as themselves.
fn runs(pattern: &[u8], ends_at_escapes: bool) -> Vec<Run> {
    let mut runs = vec![Run::default()];
    let end = |runs: &mut Vec<Run>| {
        if let Some(last) = runs.last_mut() {
            last.is_open_after = true;
        }
        runs.push(Run { is_open_before: true, ..Run::default() });
    };
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        let literal = match byte {
            b'%' | b'_' => None,
            b'\\' => match bytes.next() {
                Some(b'%' | b'_') if ends_at_escapes => None,
                Some(escaped) => Some(*escaped),
                None => break,
            },
            other => Some(*other),
        };
        match (literal, runs.last_mut()) {
            (Some(literal), Some(run)) => run.text.push(literal),
            _ => end(&mut runs),
        }
    }
    runs
}

/// Words of ASCII letters, digits and underscores, also with a point, an apostrophe or a colon between two letters, or one of the first two
/// between two digits; and characters beyond ASCII one by one.
fn ascii_and_cjk(text: &[u8]) -> Vec<&[u8]> {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let connects = |at: usize| match (text.get(at.wrapping_sub(1)), text[at], text.get(at + 1)) {
        (Some(before), b'.' | b'\'', Some(after)) if before.is_ascii_digit() => after.is_ascii_digit(),
        (Some(before), b'.' | b'\'' | b':', Some(after)) => before.is_ascii_alphabetic() && after.is_ascii_alphabetic(),
        _ => false,
    };
    let (mut words, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let begin = at;
        if text[at].is_ascii() {
            while at < text.len() && (is_of_word(text[at]) || at > begin && connects(at)) {
                at += 1;
            }
            if text[begin..at].iter().any(|byte| *byte != b'_') {
                words.push(&text[begin..at]);
            }
            at = at.max(begin + 1);
            continue;
        }
        at += 1;
        while text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
            at += 1;
        }
        if std::str::from_utf8(&text[begin..at]).is_ok() {
            words.push(&text[begin..at]);
        }
    }
    words
}

fn unknown_pattern(name: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Tokenizer '{name}' does not support LIKE pattern tokenization"))
}

fn wrong_parameter(name: &str, what: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Incorrect parameter of tokenizer '{name}': {what}"))
}

/// `ILLEGAL_TYPE_OF_ARGUMENT` for an argument that has a name.
fn illegal(call: &Call<'_>, at: usize, name: &str, expected: &str) -> Error {
    let place = ["1st", "2nd", "3rd", "4th", "5th"].get(at).copied().unwrap_or("last");
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "A value of illegal type was provided as {place} argument '{name}' to function '{}'. Expected: {expected}, got: {}",
            call.name,
            call.type_of(at)
        ),
    )
}

/// Checks that the first argument is a text.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_ARGUMENT`.
pub(in crate::scalar) fn check_text(call: &Call<'_>) -> Result<()> {
    match call.type_of(0) {
        DataType::String | DataType::FixedString(_) => Ok(()),
        _ => Err(illegal(call, 0, "value", "String or FixedString")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_an_open_side_are_not_known() {
        let around = |piece: &'static str, left, right| {
            let words = Tokenizer::SplitByNonAlpha.words_around(piece.as_bytes(), left, right).unwrap();
            words.into_iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>().join("|")
        };
        assert_eq!(around("ab cd ef", false, false), "ab|cd|ef");
        assert_eq!(around("ab cd ef", true, false), "cd|ef");
        assert_eq!(around("ab cd ef", false, true), "ab|cd");
        assert_eq!(around(" cd ", true, true), "cd");
        assert_eq!(around("cd", true, true), "");
        assert_eq!(Tokenizer::Ngrams(3).words_around(b"abcd", true, true).unwrap(), [b"abc", b"bcd"]);
        assert_eq!(Tokenizer::Array.words_around(b"ab", true, false).unwrap(), Vec::<&[u8]>::new());
    }
}
