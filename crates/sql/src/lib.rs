//! The ClickHouse dialect: lexer, parser, syntax tree, formatter, positions of errors. It knows words, not meanings: no types,
//! no catalog, no settings but the parser's own limits.
//!
//! ```text
//! parse(text, &ParserLimits)        -> Result<Statement, SyntaxError>       one statement, `;` allowed at its end
//! parse_many(text, &ParserLimits)   -> Result<Vec<ParsedStatement>, …>      several, with the span of each and of its data
//! next_statement(text, begin, …)     -> Option<ScriptStatement>                 of a script, whether it parses or not
//! parse_expression, parse_data_type                                         parts of statements: defaults, types as text
//! format(&Statement), format_one_line(&Statement) -> String                 ClickHouse's formatQuery, formatQuerySingleLine
//! dump(&Statement)                  -> String                               the tree of EXPLAIN AST
//! normalize(text)                   -> Normalized                           literals replaced by `?`, their spans, a hash
//! plain_tokens(text)                -> Vec<PlainToken>                      words, brackets and literals of any text
//! spelled_tokens(text)              -> Vec<SpelledToken>                    all of it by ClickHouse's names, blanks and comments too
//! ```
//!
//! A text is bytes: string literals and inline data need not be UTF-8.

pub mod ast;
mod dump;
mod error;
mod format;
mod keyword;
mod lexer;
mod normalize;
mod parser;
mod plain_token;
mod spelled_token;

pub use dump::dump;
pub use error::{SYNTAX_ERROR, SyntaxError};
pub use format::{
    Quoting, format, format_data_type, format_explicit, format_expression, format_literal, format_one_line,
    format_projection, format_projection_select, format_quoted, format_refresh, format_ttl,
};
pub use keyword::{is_keyword, keywords};
pub use normalize::{Normalized, normalize};
pub use parser::{
    ParsedStatement, ParserLimits, ScriptStatement, Terminator, next_statement, parse, parse_columns, parse_data_type,
    parse_expression, parse_many, parse_projection, parse_refresh, parse_setting_value, parse_ttl,
};
pub use plain_token::{PlainKind, PlainToken, plain_tokens};
pub use spelled_token::{SPELLED_KINDS, SpelledToken, spelled_tokens};
