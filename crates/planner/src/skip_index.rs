//! Skip indexes as statements declare them: their types, with arguments, and what each can be an index of.

use squall_functions::Tokenizer;
use squall_sql::ast::{self, ExpressionKind, Literal};
use squall_sql::{ParserLimits, parse_expression};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::analyzer::text;
use crate::expression::Expression;

/// The share of granules that a Bloom filter wrongly holds for possible, where none is given.
const FALSE_POSITIVES: f64 = 0.025;
/// What `GRANULARITY` of a text index is, which knows of every granule apart.
pub const TEXT_GRANULARITY: u64 = 100_000_000;
/// A filter of words has at most so many bytes.
const FILTER_BYTES_MAX: u64 = 16 << 20;
/// And so many bits a word.
const FILTER_HASHES_MAX: u64 = 64;
/// Arguments of a text index that say how it lies on disk, which is the server's own decision.
const LAYOUT_ARGUMENTS: [&str; 4] = [
    "dictionary_block_size",
    "dictionary_block_frontcoding_compression",
    "posting_list_block_size",
    "posting_list_codec",
];

/// A skip index's type.
#[derive(Clone, PartialEq, Debug)]
pub enum SkipIndexKind {
    /// `minmax`: the smallest and the largest value.
    MinMax,
    /// `set(n)`: the values, where they are at most so many; 0 is any number.
    Set {
        /// The number.
        rows_max: u64,
    },
    /// `bloom_filter([p])`: which values may be there.
    BloomFilter {
        /// The share of granules that are wrongly held for possible.
        false_positives: f64,
    },
    /// `tokenbf_v1` and `ngrambf_v1`: which words may be there.
    Words {
        /// How texts are cut into words.
        tokenizer: Tokenizer,
        /// The size of a filter.
        bytes: usize,
        /// Bits that a word sets.
        hashes: usize,
        /// What the words' hashes begin with.
        seed: u64,
    },
    /// `text(tokenizer = …)`: for each word, the granules that have it.
    Text {
        /// How texts are cut into words.
        tokenizer: Tokenizer,
    },
}

impl SkipIndexKind {
    /// Reads the SQL of a type: `set(100)`.
    ///
    /// # Errors
    /// As [`of_function`](Self::of_function).
    pub fn parse(sql: &str) -> Result<Self> {
        let parsed = parse_expression(sql, &ParserLimits::default())
            .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))?;
        match &parsed.kind {
            ExpressionKind::Function(function) => Self::of_function(function),
            ExpressionKind::Identifier(_) => Self::of_name(sql, &[]),
            _ => Err(unknown(sql)),
        }
    }

    /// The type that a declaration names.
    ///
    /// # Errors
    /// `INCORRECT_QUERY` for an unknown type, `BAD_ARGUMENTS` for wrong arguments, `NOT_IMPLEMENTED` for types that are not here.
    pub fn of_function(function: &ast::Function) -> Result<Self> {
        Self::of_name(&function.name, &function.arguments)
    }

    fn of_name(name: &str, arguments: &[ast::Expression]) -> Result<Self> {
        let whole = |at: usize| arguments.get(at).and_then(whole_number);
        let bad = |message: &str| Error::new(ErrorCode::BAD_ARGUMENTS, message);
        Ok(match name {
            "minmax" => Self::MinMax,
            "set" => match (arguments.len(), whole(0)) {
                (1, Some(rows_max)) => Self::Set { rows_max },
                (1, None) => return Err(incorrect("Set index argument must be positive integer.")),
                _ => return Err(incorrect("Set index must have exactly one argument")),
            },
            "bloom_filter" => {
                let false_positives = match arguments {
                    [] => FALSE_POSITIVES,
                    [one] => number(one)
                        .filter(|share| (0.0..1.0).contains(share) && *share > 0.0)
                        .ok_or_else(|| bad("The BloomFilter false positive must be a double number between 0 and 1"))?,
                    _ => {
                        return Err(Error::new(
                            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                            "BloomFilter index cannot have more than one parameter",
                        ));
                    }
                };
                Self::BloomFilter { false_positives }
            }
            name @ ("tokenbf_v1" | "ngrambf_v1") => {
                let is_ngrams = name == "ngrambf_v1";
                let wanted = if is_ngrams { 4 } else { 3 };
                let kind = name.trim_end_matches("_v1");
                if arguments.len() != wanted {
                    return Err(bad(&format!("`{kind}` index must have exactly {wanted} arguments")));
                }
                let mut numbers = (0..wanted).map(whole);
                let mut next = || {
                    numbers
                        .next()
                        .flatten()
                        .ok_or_else(|| bad("All parameters to *bf_v1 index must be unsigned integers"))
                };
                let tokenizer = match is_ngrams {
                    true => Tokenizer::Ngrams(usize::try_from(next()?).unwrap_or(usize::MAX).max(1)),
                    false => Tokenizer::SplitByNonAlpha,
                };
                let (bytes, hashes, seed) = (next()?, next()?, next()?);
                if bytes == 0 || bytes > FILTER_BYTES_MAX || hashes == 0 || hashes > FILTER_HASHES_MAX {
                    return Err(bad("The size of the bloom filter and the number of its hashes are out of bounds"));
                }
                Self::Words { tokenizer, bytes: bytes as usize, hashes: hashes as usize, seed }
            }
            "text" => Self::Text { tokenizer: tokenizer_of(arguments)? },
            "hypothesis" | "vector_similarity" | "sparse_grams" => {
                return Err(Error::not_implemented(format!("A skip index of type {name}")));
            }
            other => return Err(unknown(other)),
        })
    }

    /// Checks that there can be such an index of these expressions.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`, `ILLEGAL_COLUMN`, `INCORRECT_QUERY`.
    pub fn check(&self, expressions: &[Expression]) -> Result<()> {
        for expression in expressions {
            let data_type = expression.data_type();
            let (item, is_array) = match data_type.inner() {
                DataType::Array(item) => (item.inner(), true),
                plain => (plain, false),
            };
            match self {
                Self::MinMax | Self::Set { .. } => {}
                Self::BloomFilter { .. } => {
                    if item.is_nested()
                        || item.is_decimal()
                        || item.is_of_alternatives()
                        || matches!(item, DataType::AggregateFunction(_))
                    {
                        let message = format!("Unexpected type {data_type} of bloom filter index");
                        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
                    }
                }
                Self::Words { .. } if item.is_string_or_fixed_string() && !(is_array && data_type.is_nullable()) => {}
                Self::Words { .. } => {
                    let message = "Ngram and token bloom filter indexes can only be used with column types `String`, \
                                   `FixedString`, `LowCardinality(String)`, `LowCardinality(FixedString)`, `Array(String)` \
                                   or `Array(FixedString)`";
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
                Self::Text { .. } if item.is_string_or_fixed_string() => {}
                Self::Text { .. } => {
                    let message = format!(
                        "Text index must be created on columns of type with base type of String or FixedString, got: {data_type}"
                    );
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
            }
        }
        if matches!(self, Self::Text { .. }) && expressions.len() > 1 {
            return Err(incorrect("Text index must be created on a single column"));
        }
        Ok(())
    }
}

/// The expressions that an index is of: the elements of a tuple, or the one there is.
pub fn indexed_expressions(expression: &Expression) -> Vec<Expression> {
    match expression {
        Expression::Function { name, arguments, .. } if &**name == "tuple" && !arguments.is_empty() => {
            arguments.clone()
        }
        one => vec![one.clone()],
    }
}

fn tokenizer_of(arguments: &[ast::Expression]) -> Result<Tokenizer> {
    let bad = |message: String| Error::new(ErrorCode::BAD_ARGUMENTS, message);
    let mut tokenizer = None;
    for argument in arguments {
        let ExpressionKind::Function(pair) = &argument.kind else {
            return Err(bad("Arguments of a text index must be pairs: text(tokenizer = …)".to_owned()));
        };
        let [name, value] = pair.arguments.as_slice() else {
            return Err(bad("Arguments of a text index must be pairs: text(tokenizer = …)".to_owned()));
        };
        let name = text::expression(name);
        match name.as_str() {
            "tokenizer" => {
                let own = match value.as_literal() {
                    Some(Literal::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
                    _ => text::expression(value),
                };
                let known = Tokenizer::of_text(&own)?.ok_or_else(|| bad(format!("Unknown tokenizer: '{own}'")))?;
                tokenizer = Some(known);
            }
            known if LAYOUT_ARGUMENTS.contains(&known) => {}
            "preprocessor" => return Err(Error::not_implemented("The preprocessor of a text index")),
            other => return Err(bad(format!("Unexpected text index arguments: {other}"))),
        }
    }
    tokenizer.ok_or_else(|| bad("Text index argument 'tokenizer' is required".to_owned()))
}

fn whole_number(expression: &ast::Expression) -> Option<u64> {
    match expression.as_literal() {
        Some(Literal::UInt64(number)) => Some(*number),
        _ => None,
    }
}

fn number(expression: &ast::Expression) -> Option<f64> {
    match expression.as_literal() {
        Some(Literal::UInt64(number)) => Some(*number as f64),
        Some(Literal::Float64(number)) => Some(number.0),
        _ => None,
    }
}

fn incorrect(message: &str) -> Error {
    Error::new(ErrorCode::INCORRECT_QUERY, message)
}

fn unknown(name: &str) -> Error {
    incorrect(&format!("Unknown Index type '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_with_their_arguments() {
        assert_eq!(SkipIndexKind::parse("minmax").unwrap(), SkipIndexKind::MinMax);
        assert_eq!(SkipIndexKind::parse("set(100)").unwrap(), SkipIndexKind::Set { rows_max: 100 });
        let text = |tokenizer| SkipIndexKind::Text { tokenizer };
        assert_eq!(SkipIndexKind::parse("text(tokenizer = ngrams(4))").unwrap(), text(Tokenizer::Ngrams(4)));
        assert_eq!(SkipIndexKind::parse("text(tokenizer = 'array')").unwrap(), text(Tokenizer::Array));
        let code = |sql: &str| SkipIndexKind::parse(sql).unwrap_err().code;
        assert_eq!(code("set"), ErrorCode::INCORRECT_QUERY);
        assert_eq!(code("bloom_filter(2)"), ErrorCode::BAD_ARGUMENTS);
        assert_eq!(code("tokenbf_v1(1)"), ErrorCode::BAD_ARGUMENTS);
        assert_eq!(code("text(tokenizer = 'a')"), ErrorCode::BAD_ARGUMENTS);
        assert_eq!(code("text()"), ErrorCode::BAD_ARGUMENTS);
        assert_eq!(code("unheard_of"), ErrorCode::INCORRECT_QUERY);
    }
}
