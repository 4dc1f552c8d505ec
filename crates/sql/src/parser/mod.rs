//! The parser: recursive descent over tokens, with precedence climbing for operators. Here are the entry points and the cursor
//! that every part shares; each family of statements has a file. A text that fails is parsed a second time to learn what was
//! expected where it failed, so that the first time costs nothing for it.

mod access;
mod alter;
mod create;
mod data_type;
mod dictionary;
mod expression;
mod function;
mod insert;
mod literal;
mod maintenance;
mod script;
mod select;
mod show;
mod system;
mod table;

pub use script::{ScriptStatement, Terminator, next_statement};
pub(crate) use system::is_system_keyword;

use crate::ast::{
    ColumnDeclaration, DataType, Expression, Identifier, OnCluster, ProjectionDeclaration, RefreshStrategy, Setting,
    SettingValue, Span, Statement, TableName, TtlElement,
};
use crate::error::{SYNTAX_ERROR, SyntaxError, TOO_DEEP_AST, TOO_DEEP_RECURSION, TOO_SLOW_PARSING, line_and_column};
use crate::keyword::Keyword as K;
use crate::lexer::{Lexer, Token, TokenKind as T, find};

/// What a text may cost. Zero takes a limit away, but the parser never uses more stack than a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParserLimits {
    /// Bytes of a statement without its inline data: `max_query_size`.
    pub max_query_size: usize,
    /// Nested calls of the parser: `max_parser_depth`. An expression in parentheses counts 5, a subquery 10.
    pub max_parser_depth: u32,
    /// How often the parser may try another way: `max_parser_backtracks`.
    pub max_parser_backtracks: u32,
    /// Height of the syntax tree: `max_ast_depth`. A function counts 2.
    pub max_ast_depth: u32,
    /// Bytes of stack that the parser may use, whatever the other limits say. Of the caller's thread, the rest is for others.
    pub stack_bytes_max: usize,
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self {
            max_query_size: 262_144,
            max_parser_depth: 1000,
            max_parser_backtracks: 1_000_000,
            max_ast_depth: 1000,
            stack_bytes_max: STACK_BYTES_MAX,
        }
    }
}

/// The highest that `max_ast_depth` can be set: whoever walks a tree of this height has room on a stack of 2 MiB.
const HIGHEST: u32 = 1000;

/// The highest that `max_parser_depth` can be set, for the same reason.
const DEEPEST: u32 = 2000;

/// The default of [`ParserLimits::stack_bytes_max`]: threads have 2 MiB unless they ask for more.
const STACK_BYTES_MAX: usize = 1_200_000;

/// Roughly where the stack of this thread ends now.
fn stack_address() -> usize {
    let here = 0u8;
    std::hint::black_box(&here) as *const u8 as usize
}

/// One statement of several, and where it and its inline data stand in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedStatement {
    /// The statement.
    pub statement: Statement,
    /// The statement's own text, without the semicolon and without inline data.
    pub span: Span,
    /// The inline data of `INSERT … VALUES` and `INSERT … FORMAT`: half-open byte range.
    pub data: Option<(usize, usize)>,
}

/// Parses one statement. A semicolon may end it, and inline data follow an INSERT.
///
/// # Errors
/// `SYNTAX_ERROR` (62) with what was found and expected; `TOO_DEEP_RECURSION` (306), `TOO_DEEP_AST` (167),
/// `TOO_SLOW_PARSING` when a limit is reached.
pub fn parse(text: &(impl AsRef<[u8]> + ?Sized), limits: &ParserLimits) -> Result<Statement, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let statement = parser.statement()?;
        if !matches!(&statement, Statement::Insert(insert) if insert.has_inline_data()) {
            parser.end_of_query()?;
        }
        Ok(statement)
    })
}

/// Parses statements separated by semicolons. Inline data of `VALUES` end at a semicolon outside of quotes and parentheses, those of
/// other formats at the end of the line.
///
/// # Errors
/// As [`parse`]; positions are those in the whole text.
pub fn parse_many(
    text: &(impl AsRef<[u8]> + ?Sized),
    limits: &ParserLimits,
) -> Result<Vec<ParsedStatement>, SyntaxError> {
    let text = text.as_ref();
    let mut statements = Vec::new();
    let mut begin = 0;
    loop {
        let mut lexer = Lexer::new(text, begin, 0);
        let mut token = lexer.next_token();
        while token.kind == T::Semicolon {
            token = lexer.next_token();
        }
        if token.kind == T::End {
            return Ok(statements);
        }
        begin = token.start as usize;
        let (parsed, end, _) = entry_at(text, begin, limits, |parser| script::one(parser, text, begin))?;
        statements.push(parsed);
        begin = end.max(begin + 1);
    }
}

/// Where inline data that begin at `from` end.
fn inline_data_end(text: &[u8], from: usize, values: bool) -> usize {
    if !values {
        return find(text.get(from..).unwrap_or(&[]), b"\n").map_or(text.len(), |n| from + n);
    }
    let mut lexer = Lexer::new(text, from, 0);
    let mut depth = 0u32;
    loop {
        let token = lexer.next_token();
        match token.kind {
            T::End => return text.len(),
            T::OpenRound | T::OpenSquare | T::OpenCurly => depth += 1,
            T::CloseRound | T::CloseSquare | T::CloseCurly => depth = depth.saturating_sub(1),
            T::Semicolon if depth == 0 => return token.start as usize,
            _ => {}
        }
    }
}

/// Parses one expression, as in a column's default.
///
/// # Errors
/// As [`parse`].
pub fn parse_expression(text: &(impl AsRef<[u8]> + ?Sized), limits: &ParserLimits) -> Result<Expression, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let expression = parser.expression()?;
        parser.end_of_query()?;
        Ok(expression)
    })
}

/// Parses one element of a table's TTL.
///
/// # Errors
/// As [`parse`].
pub fn parse_ttl(text: &(impl AsRef<[u8]> + ?Sized), limits: &ParserLimits) -> Result<TtlElement, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let element = parser.ttl_element()?;
        parser.end_of_query()?;
        Ok(element)
    })
}

/// Parses a projection of a table: `name (SELECT …) [WITH SETTINGS (…)]`.
///
/// # Errors
/// As [`parse`].
pub fn parse_projection(
    text: &(impl AsRef<[u8]> + ?Sized),
    limits: &ParserLimits,
) -> Result<ProjectionDeclaration, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let projection = parser.projection_declaration()?;
        parser.end_of_query()?;
        Ok(projection)
    })
}

/// Parses when a view is refreshed: `[REFRESH] EVERY | AFTER …`.
///
/// # Errors
/// As [`parse`].
pub fn parse_refresh(
    text: &(impl AsRef<[u8]> + ?Sized),
    limits: &ParserLimits,
) -> Result<RefreshStrategy, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        parser.keyword(K::REFRESH);
        let strategy = parser.refresh_strategy()?;
        parser.end_of_query()?;
        Ok(strategy)
    })
}

/// Parses one data type, as in the second argument of `CAST`.
///
/// # Errors
/// As [`parse`].
pub fn parse_data_type(text: &(impl AsRef<[u8]> + ?Sized), limits: &ParserLimits) -> Result<DataType, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let data_type = parser.data_type()?;
        parser.end_of_query()?;
        Ok(data_type)
    })
}

/// Parses the columns of a table function's structure: `a UInt8, b String DEFAULT 'x'`.
///
/// # Errors
/// As [`parse`].
pub fn parse_columns(
    text: &(impl AsRef<[u8]> + ?Sized),
    limits: &ParserLimits,
) -> Result<Vec<ColumnDeclaration>, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let columns = parser.list(|parser| parser.column_declaration(true))?;
        parser.end_of_query()?;
        Ok(columns)
    })
}

/// Parses the right side of a setting.
///
/// # Errors
/// As [`parse`].
pub fn parse_setting_value(
    text: &(impl AsRef<[u8]> + ?Sized),
    limits: &ParserLimits,
) -> Result<SettingValue, SyntaxError> {
    entry(text.as_ref(), limits, |parser| {
        let value = parser.setting_value()?;
        parser.end_of_query()?;
        Ok(value)
    })
}

fn entry<R>(
    text: &[u8],
    limits: &ParserLimits,
    rule: impl for<'a> FnMut(&mut Parser<'a>) -> Result<R, Failure>,
) -> Result<R, SyntaxError> {
    entry_at(text, 0, limits, rule)
}

/// Runs `rule` on the text from `begin`; if it fails, runs it again to learn what was expected.
fn entry_at<R>(
    text: &[u8],
    begin: usize,
    limits: &ParserLimits,
    mut rule: impl for<'a> FnMut(&mut Parser<'a>) -> Result<R, Failure>,
) -> Result<R, SyntaxError> {
    if text.len() > u32::MAX as usize {
        return Err(SyntaxError {
            code: SYNTAX_ERROR,
            message: "Max query size exceeded".to_string(),
            position: 0,
            line: 1,
            column: 1,
            found: String::new(),
            expected: Vec::new(),
        });
    }
    if let Ok(value) = rule(&mut Parser::new(text, begin, limits, false)) {
        return Ok(value);
    }
    let mut parser = Parser::new(text, begin, limits, true);
    match rule(&mut parser) {
        Ok(value) => Ok(value),
        Err(failure) => Err(parser.error(failure)),
    }
}

/// Why a rule did not match.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something else was expected; the parser knows how far it came.
    Unexpected,
    /// A limit, or a message of its own: no other rule is tried.
    Fatal(Box<(u16, String)>),
}

pub(crate) type Parsed<R> = Result<R, Failure>;

/// The cursor over the tokens of one text.
pub(crate) struct Parser<'a> {
    text: &'a [u8],
    begin: usize,
    lexer: Lexer<'a>,
    tokens: Vec<Token>,
    position: usize,
    depth: u32,
    /// Where the stack ended when parsing began.
    stack_base: usize,
    /// Height of the expressions parsed since it was last reset.
    height: u32,
    backtracks: u32,
    /// Settings of the SELECTs parsed so far.
    settings_met: Vec<Setting>,
    /// Nodes that exist more often than they were written.
    copied_nodes: usize,
    limits: ParserLimits,
    /// Index of the furthest token at which something failed to match.
    furthest: usize,
    /// What would have matched there, in the order tried; only when `record`.
    expected: Vec<&'static str>,
    record: bool,
    /// Positions of opening parentheses that were tried as subqueries and are none.
    not_subqueries: Vec<usize>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], begin: usize, limits: &ParserLimits, record: bool) -> Self {
        let mut limits = *limits;
        if limits.max_parser_depth == 0 || limits.max_parser_depth > DEEPEST {
            limits.max_parser_depth = DEEPEST;
        }
        if limits.max_ast_depth == 0 || limits.max_ast_depth > HIGHEST {
            limits.max_ast_depth = HIGHEST;
        }
        Self {
            text,
            begin,
            lexer: Lexer::new(text, begin, limits.max_query_size),
            tokens: Vec::with_capacity((text.len().saturating_sub(begin) / 4 + 4).min(64)),
            position: 0,
            depth: 0,
            stack_base: stack_address(),
            height: 0,
            backtracks: 0,
            settings_met: Vec::new(),
            copied_nodes: 0,
            limits,
            furthest: 0,
            expected: Vec::new(),
            record,
            not_subqueries: Vec::new(),
        }
    }

    // Looking.

    /// The token `ahead` of the current one.
    pub(crate) fn ahead(&mut self, ahead: usize) -> Token {
        let index = self.position + ahead;
        while self.tokens.len() <= index {
            let token = self.lexer.next_token();
            self.tokens.push(token);
        }
        self.tokens.get(index).copied().unwrap_or(Token { kind: T::End, keyword: K::NONE, start: 0, end: 0 })
    }

    /// The current token.
    #[inline]
    pub(crate) fn peek(&mut self) -> Token {
        match self.tokens.get(self.position) {
            Some(token) => *token,
            None => self.ahead(0),
        }
    }

    /// Moves past the current token.
    pub(crate) fn advance(&mut self) {
        if self.peek().kind != T::End {
            self.position += 1;
        }
    }

    /// Whether the current token is of this kind, without a trace in error messages.
    pub(crate) fn at(&mut self, kind: T) -> bool {
        self.peek().kind == kind
    }

    /// Whether the current token is this keyword, without a trace in error messages.
    pub(crate) fn at_keyword(&mut self, keyword: K) -> bool {
        self.peek().keyword == keyword
    }

    /// Whether the token `ahead` is this keyword.
    pub(crate) fn keyword_ahead(&mut self, ahead: usize, keyword: K) -> bool {
        self.ahead(ahead).keyword == keyword
    }

    /// A token's bytes.
    pub(crate) fn bytes(&self, token: Token) -> &'a [u8] {
        self.text.get(token.start as usize..token.end as usize).unwrap_or(&[])
    }

    /// The bytes that a span covers.
    pub(crate) fn span_bytes(&self, span: Span) -> &'a [u8] {
        self.text.get(span.start as usize..span.end as usize).unwrap_or(&[])
    }

    /// Offset of the current token.
    pub(crate) fn start(&mut self) -> u32 {
        self.peek().start
    }

    /// From an offset to the end of the token before the current one.
    pub(crate) fn span_from(&self, start: u32) -> Span {
        let end = self.position.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(start, |t| t.end);
        Span::new(start, end.max(start))
    }

    /// The token `count` before the current one.
    pub(crate) fn token_before(&self, count: usize) -> Option<Token> {
        self.position.checked_sub(count).and_then(|i| self.tokens.get(i)).copied()
    }

    /// Goes back to the token that begins at `offset`.
    pub(crate) fn rewind_to(&mut self, offset: u32) {
        while self.position > 0 && self.start() > offset {
            self.position -= 1;
        }
    }

    // Expecting.

    #[cold]
    fn note(&mut self, what: &'static str) {
        if self.position > self.furthest {
            self.furthest = self.position;
            self.expected.clear();
        }
        if self.record && self.position == self.furthest && !self.expected.contains(&what) {
            self.expected.push(what);
        }
    }

    /// Remembers that `what` could stand here, for the error message.
    #[inline]
    pub(crate) fn missed(&mut self, what: &'static str) {
        if self.record {
            self.note(what);
        }
    }

    /// Fails, saying that `what` was expected here.
    pub(crate) fn fail<R>(&mut self, what: &'static str) -> Parsed<R> {
        self.missed(what);
        Err(Failure::Unexpected)
    }

    /// Fails with a message and a code of its own.
    pub(crate) fn fatal<R>(&self, code: u16, message: impl Into<String>) -> Parsed<R> {
        Err(Failure::Fatal(Box::new((code, message.into()))))
    }

    /// Accepts a token of this kind.
    #[inline]
    pub(crate) fn accept(&mut self, kind: T) -> bool {
        if self.peek().kind == kind {
            self.position += 1;
            return true;
        }
        if self.record {
            self.note(token_name(kind));
        }
        false
    }

    /// Requires a token of this kind.
    pub(crate) fn need(&mut self, kind: T) -> Parsed<()> {
        if self.accept(kind) { Ok(()) } else { Err(Failure::Unexpected) }
    }

    /// Accepts a keyword.
    #[inline]
    pub(crate) fn keyword(&mut self, keyword: K) -> bool {
        if self.peek().keyword == keyword {
            self.position += 1;
            return true;
        }
        if self.record {
            self.note(keyword.text());
        }
        false
    }

    /// Requires a keyword.
    pub(crate) fn need_keyword(&mut self, keyword: K) -> Parsed<()> {
        if self.keyword(keyword) { Ok(()) } else { Err(Failure::Unexpected) }
    }

    /// Accepts several keywords in a row, or none of them. `phrase` is what an error message calls them.
    pub(crate) fn keywords(&mut self, keywords: &[K], phrase: &'static str) -> bool {
        for (index, keyword) in keywords.iter().enumerate() {
            if self.ahead(index).keyword != *keyword {
                if self.record {
                    self.note(phrase);
                }
                return false;
            }
        }
        self.position += keywords.len();
        true
    }

    /// Accepts a word that is no keyword of the grammar.
    pub(crate) fn word(&mut self, word: &'static str) -> bool {
        let token = self.peek();
        if token.kind == T::Word && self.bytes(token).eq_ignore_ascii_case(word.as_bytes()) {
            self.position += 1;
            return true;
        }
        if self.record {
            self.note(word);
        }
        false
    }

    /// Whether the token `ahead` is this word.
    pub(crate) fn word_ahead(&mut self, ahead: usize, word: &str) -> bool {
        let token = self.ahead(ahead);
        token.kind == T::Word && self.bytes(token).eq_ignore_ascii_case(word.as_bytes())
    }

    // Trying.

    /// Runs `rule`; when it does not match, goes back to where it began.
    pub(crate) fn attempt<R>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<R>) -> Parsed<Option<R>> {
        let (position, depth, height) = (self.position, self.depth, self.height);
        let settings_met = self.settings_met.len();
        match rule(self) {
            Ok(value) => Ok(Some(value)),
            Err(Failure::Unexpected) => {
                if self.position > self.furthest {
                    self.furthest = self.position;
                    self.expected.clear();
                }
                self.position = position;
                self.depth = depth;
                self.height = height;
                self.settings_met.truncate(settings_met);
                self.backtracks += 1;
                if self.limits.max_parser_backtracks != 0 && self.backtracks > self.limits.max_parser_backtracks {
                    let limit = self.limits.max_parser_backtracks;
                    return self.fatal(
                        TOO_SLOW_PARSING,
                        format!(
                            "Maximum amount of backtracking ({limit}) exceeded in the parser. Consider rising \
                             max_parser_backtracks parameter."
                        ),
                    );
                }
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Goes `weight` levels deeper.
    pub(crate) fn enter(&mut self, weight: u32) -> Parsed<()> {
        self.depth += weight;
        if self.stack_base.abs_diff(stack_address()) > self.limits.stack_bytes_max {
            return self.fatal(TOO_DEEP_RECURSION, "Stack size too large: the text nests too deeply");
        }
        if self.depth > self.limits.max_parser_depth {
            let limit = self.limits.max_parser_depth;
            return self.fatal(
                TOO_DEEP_RECURSION,
                format!("Maximum parse depth ({limit}) exceeded. Consider rising max_parser_depth parameter."),
            );
        }
        Ok(())
    }

    /// Comes back from `enter`.
    pub(crate) fn leave(&mut self, weight: u32) {
        self.depth -= weight;
    }

    /// Begins to measure the height of a node: forgets what was measured before, and returns it for [`Self::grown`].
    pub(crate) fn grow(&mut self) -> u32 {
        std::mem::take(&mut self.height)
    }

    /// Ends the measuring of a node that stands `by` above its children.
    pub(crate) fn grown(&mut self, before: u32, by: u32) -> Parsed<()> {
        self.height += by;
        if self.height > self.limits.max_ast_depth {
            let limit = self.limits.max_ast_depth;
            return self.fatal(TOO_DEEP_AST, format!("AST is too deep. Maximum: {limit}."));
        }
        self.height = self.height.max(before);
        Ok(())
    }

    // Shared parts.

    /// Items separated by commas, at least one.
    pub(crate) fn list<R>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<R>) -> Parsed<Vec<R>> {
        let mut items = vec![item(self)?];
        while self.accept(T::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Items separated by commas in parentheses, perhaps none.
    pub(crate) fn round_list<R>(&mut self, item: impl FnMut(&mut Self) -> Parsed<R>) -> Parsed<Vec<R>> {
        self.need(T::OpenRound)?;
        if self.accept(T::CloseRound) {
            return Ok(Vec::new());
        }
        let items = self.list(item)?;
        self.need(T::CloseRound)?;
        Ok(items)
    }

    /// An identifier, quoted or not, or `{name:Identifier}`.
    pub(crate) fn identifier(&mut self) -> Parsed<Identifier> {
        let token = self.peek();
        match token.kind {
            T::Word => {
                self.position += 1;
                let value = String::from_utf8_lossy(self.bytes(token)).into_owned();
                Ok(Identifier { value, parameter: false, span: Span::new(token.start, token.end) })
            }
            T::QuotedIdentifier => {
                let Ok(value) = String::from_utf8(literal::unquote(self.bytes(token))) else {
                    return self.fail("identifier");
                };
                if value.is_empty() {
                    return self.fail("identifier");
                }
                self.position += 1;
                Ok(Identifier { value, parameter: false, span: Span::new(token.start, token.end) })
            }
            T::OpenCurly => {
                let name = self.attempt(|p| {
                    p.advance();
                    let name = p.ahead(0);
                    let kind = p.ahead(2);
                    if name.kind == T::Word
                        && p.ahead(1).kind == T::Colon
                        && p.bytes(kind).eq_ignore_ascii_case(b"Identifier")
                        && p.ahead(3).kind == T::CloseCurly
                    {
                        p.position += 4;
                        return Ok(String::from_utf8_lossy(p.bytes(name)).into_owned());
                    }
                    p.fail("substitution")
                })?;
                match name {
                    Some(value) => Ok(Identifier { value, parameter: true, span: self.span_from(token.start) }),
                    None => self.fail("identifier"),
                }
            }
            _ => self.fail("identifier"),
        }
    }

    /// An identifier or a string that stands for one.
    pub(crate) fn identifier_or_string(&mut self) -> Parsed<Identifier> {
        let token = self.peek();
        if matches!(token.kind, T::String | T::HereDoc) {
            let value = self.string_text()?;
            return Ok(Identifier { value, parameter: false, span: Span::new(token.start, token.end) });
        }
        self.identifier()
    }

    /// `a.b.c` as one text.
    pub(crate) fn dotted_name(&mut self) -> Parsed<String> {
        let mut name = self.identifier()?.value;
        while self.at(T::Dot) && matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier) {
            self.advance();
            name.push('.');
            name.push_str(&self.identifier()?.value);
        }
        Ok(name)
    }

    /// `a.b.c` as one identifier: a nested column.
    pub(crate) fn nested_identifier(&mut self) -> Parsed<Identifier> {
        let start = self.start();
        let parameter = self.at(T::OpenCurly);
        let value = self.dotted_name()?;
        Ok(Identifier { value, parameter, span: self.span_from(start) })
    }

    /// `[database.]table [UUID '…']`.
    pub(crate) fn table_name(&mut self) -> Parsed<TableName> {
        let start = self.start();
        let first = self.identifier()?;
        let mut name = if self.accept(T::Dot) {
            let table = self.identifier()?;
            TableName { database: Some(first), table, uuid: None, span: Span::default() }
        } else {
            TableName { database: None, table: first, uuid: None, span: Span::default() }
        };
        name.span = self.span_from(start);
        Ok(name)
    }

    /// `UUID '…'`.
    pub(crate) fn uuid_clause(&mut self) -> Parsed<Option<String>> {
        if self.keyword(K::UUID) { Ok(Some(self.string_text()?)) } else { Ok(None) }
    }

    /// `ON CLUSTER name`.
    pub(crate) fn on_cluster(&mut self) -> Parsed<OnCluster> {
        if !self.keywords(&[K::ON, K::CLUSTER], "ON CLUSTER") {
            return Ok(None);
        }
        // A name may hold a hyphen or a macro: `{cluster}`.
        if self.at(T::OpenCurly) && self.ahead(2).kind == T::CloseCurly {
            let start = self.start();
            self.position += 3;
            let span = self.span_from(start);
            let value = String::from_utf8_lossy(self.span_bytes(span)).into_owned();
            return Ok(Some(Identifier { value, parameter: false, span }));
        }
        self.identifier_or_string().map(Some)
    }

    /// `IF EXISTS`.
    pub(crate) fn if_exists(&mut self) -> bool {
        self.keywords(&[K::IF, K::EXISTS], "IF EXISTS")
    }

    /// `IF NOT EXISTS`.
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.keywords(&[K::IF, K::NOT, K::EXISTS], "IF NOT EXISTS")
    }

    /// `COMMENT 'text'`.
    pub(crate) fn comment(&mut self) -> Parsed<Option<String>> {
        if self.keyword(K::COMMENT) { Ok(Some(self.string_text()?)) } else { Ok(None) }
    }

    /// `SETTINGS a = 1, …`, when it is there.
    pub(crate) fn settings_clause(&mut self) -> Parsed<Vec<Setting>> {
        if self.keyword(K::SETTINGS) { self.settings() } else { Ok(Vec::new()) }
    }

    /// The end of the text, which a semicolon may precede.
    fn end_of_query(&mut self) -> Parsed<()> {
        let mark = self.position;
        if matches!(self.peek().kind, T::Semicolon | T::VerticalDelimiter) {
            while matches!(self.peek().kind, T::Semicolon | T::VerticalDelimiter) {
                self.advance();
            }
            if !self.at(T::End) {
                // ClickHouse points at what follows the semicolon.
                self.furthest = self.position;
                self.expected.clear();
                return self.fatal(SYNTAX_ERROR, "Multi-statements are not allowed");
            }
            return Ok(());
        }
        self.position = mark;
        if self.at(T::End) { Ok(()) } else { self.fail("end of query") }
    }

    // Saying what went wrong.

    fn error(&mut self, failure: Failure) -> SyntaxError {
        if self.position > self.furthest {
            self.furthest = self.position;
            self.expected.clear();
        }
        self.position = 0;
        let mut token = self.ahead(self.furthest);
        // A token that cannot be read is blamed first: nothing behind it was seen.
        if let Some(bad) = self.tokens.iter().find(|t| matches!(t.kind, T::Error(_)) && t.start <= token.end) {
            token = *bad;
        }
        let unmatched = match failure {
            Failure::Unexpected => self.unmatched_parentheses(),
            Failure::Fatal(_) => None,
        };
        if let Some((blamed, ..)) = &unmatched {
            token = *blamed;
        }
        let position = token.start as usize;
        let begin = self.begin.min(position);
        let (line, column) = line_and_column(self.text.get(begin..).unwrap_or(&[]), position - begin);
        let at_end = matches!(token.kind, T::End | T::Semicolon);
        let found = String::from_utf8_lossy(self.bytes(token)).into_owned();
        let mut error = SyntaxError {
            code: SYNTAX_ERROR,
            message: String::new(),
            position,
            line,
            column,
            found: if at_end { String::new() } else { found },
            expected: std::mem::take(&mut self.expected),
        };
        if let Failure::Fatal(fatal) = failure {
            let (code, message) = *fatal;
            error.code = code;
            error.message = message;
            return error;
        }
        if self.tokens.first().is_none_or(|t| matches!(t.kind, T::End | T::Semicolon)) {
            error.message = "Empty query".to_string();
            return error;
        }
        let mut message = String::new();
        if let T::Error(reason) = token.kind {
            message.push_str(reason.description());
            message.push_str(": ");
        }
        message.push_str(&format!("Syntax error: failed at position {}", position - self.begin + 1));
        message.push_str(" (");
        message.push_str(if at_end { "end of query" } else { &error.found });
        message.push(')');
        let text = self.text.get(self.begin..).unwrap_or(&[]);
        if find(text, b"\n").is_some_and(|n| n + 1 < text.len()) {
            message.push_str(&format!(" (line {line}, col {column})"));
        }
        message.push_str(": ");
        let shown_from = match &unmatched {
            Some((_, shown, _)) => *shown,
            None => position,
        };
        const SHOWN_BYTES: usize = 160;
        let rest = self.text.get(shown_from..).unwrap_or(&[]);
        message.push_str(&String::from_utf8_lossy(rest.get(..SHOWN_BYTES).unwrap_or(rest)));
        if rest.len() > SHOWN_BYTES {
            message.push_str("...");
        }
        message.push_str(". ");
        if let Some((_, _, problem)) = unmatched {
            message.push_str(&problem);
            error.expected.clear();
        } else if !matches!(token.kind, T::Error(_)) {
            match error.expected.as_slice() {
                [] => {}
                [one] => message.push_str(&format!("Expected {one}")),
                many => message.push_str(&format!("Expected one of: {}", many.join(", "))),
            }
        }
        error.message = message;
        error
    }

    /// The first parenthesis without a partner: the token to blame, where to show the text from, and what to say.
    fn unmatched_parentheses(&mut self) -> Option<(Token, usize, String)> {
        let mut open: Vec<Token> = Vec::new();
        let describe = |this: &Self, token: Token| {
            let bracket = String::from_utf8_lossy(this.bytes(token)).into_owned();
            format!("'{bracket}' at position {}", token.start as usize - this.begin + 1)
        };
        let mut index = 0;
        self.position = 0;
        loop {
            let token = self.ahead(index);
            index += 1;
            let opening = match token.kind {
                T::Error(_) => return None,
                T::OpenRound | T::OpenSquare => {
                    open.push(token);
                    continue;
                }
                T::CloseRound => T::OpenRound,
                T::CloseSquare => T::OpenSquare,
                T::End | T::Semicolon => {
                    let last = open.last()?.start as usize;
                    let all: Vec<String> = open.iter().map(|t| describe(self, *t)).collect();
                    let verb = if all.len() == 1 { "is" } else { "are" };
                    return Some((
                        token,
                        last,
                        format!("Unmatched parentheses: {} {verb} never closed", all.join(", ")),
                    ));
                }
                _ => continue,
            };
            let blamed = describe(self, token);
            let problem = match open.pop() {
                None => format!("Unmatched parentheses: {blamed} has no matching opening bracket"),
                Some(last) if last.kind != opening => {
                    format!("Unmatched parentheses: {blamed} does not match {}", describe(self, last))
                }
                Some(_) => continue,
            };
            return Some((token, token.start as usize, problem));
        }
    }
}

/// What error messages call a kind of token.
fn token_name(kind: T) -> &'static str {
    match kind {
        T::Comma => "Comma",
        T::OpenRound => "OpeningRoundBracket",
        T::CloseRound => "ClosingRoundBracket",
        T::OpenSquare => "OpeningSquareBracket",
        T::CloseSquare => "ClosingSquareBracket",
        T::OpenCurly => "OpeningCurlyBrace",
        T::CloseCurly => "ClosingCurlyBrace",
        T::Dot => "Dot",
        T::Equals => "Equals",
        T::DoubleColon => "DoubleColon",
        T::Asterisk => "Asterisk",
        T::Arrow => "Arrow",
        T::Colon => "Colon",
        _ => "token",
    }
}
