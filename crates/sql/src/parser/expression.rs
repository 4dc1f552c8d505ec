//! Expressions: operands, operators by precedence, aliases, matchers.

use super::literal::{number, string_value, word_literal};
use super::{K, Parsed, Parser, T};
use crate::ast::{
    CallSyntax, ColumnTransformer, Expression, ExpressionKind, Function, Identifier, IntervalUnit, Lambda, Literal,
    MatchedColumns, Matcher, QueryParameter, Span, Written,
};
use crate::error::TOO_BIG_AST;
use crate::format::format_data_type;

// How tightly operators bind. The right side of a left-associative operator binds one tighter.
const LAMBDA: u8 = 1;
const TERNARY: u8 = 2;
const OR: u8 = 3;
const AND: u8 = 4;
const NOT: u8 = 5;
const IS: u8 = 6;
const BETWEEN: u8 = 7;
const COMPARISON: u8 = 9;
const CONCATENATION: u8 = 10;
const ADDITION: u8 = 11;
const MULTIPLICATION: u8 = 12;
const NEGATION: u8 = 13;
const ACCESS: u8 = 14;

/// What follows an operand.
enum Operator {
    /// An operator with a right side.
    Binary(&'static str, u8, usize),
    /// `AND`, `OR`, `||`: chains of them are one call.
    Chain(&'static str, u8),
    /// A comparison, which may be followed by `ANY (SELECT …)`.
    Comparison(&'static str, usize),
    Ternary,
    Is,
    Between(bool),
    AtTimeZone,
    Cast,
    Subscript,
    Member,
    Arrow,
}

/// A call written as an operator.
pub(super) fn operator(name: &str, arguments: Vec<Expression>, span: Span) -> Expression {
    let mut function = Function::new(name, arguments);
    function.syntax = Written(CallSyntax::Operator);
    Expression::new(ExpressionKind::Function(Box::new(function)), span)
}

/// A call written as one.
pub(super) fn call(name: &str, arguments: Vec<Expression>, span: Span) -> Expression {
    Expression::new(ExpressionKind::Function(Box::new(Function::new(name, arguments))), span)
}

/// Words that end an expression and so cannot be an alias without `AS`.
pub(super) fn is_restricted_alias(keyword: K) -> bool {
    matches!(
        keyword,
        K::ALL
            | K::AND
            | K::ANTI
            | K::ANY
            | K::ARRAY
            | K::AS
            | K::ASOF
            | K::BETWEEN
            | K::CROSS
            | K::DIV
            | K::ELSE
            | K::EXCEPT
            | K::FINAL
            | K::FORMAT
            | K::FROM
            | K::FULL
            | K::GLOBAL
            | K::GROUP
            | K::HAVING
            | K::ILIKE
            | K::IN
            | K::INNER
            | K::INTERSECT
            | K::INTO
            | K::IS
            | K::JOIN
            | K::LEFT
            | K::LIKE
            | K::LIMIT
            | K::MOD
            | K::NATURAL
            | K::NOT
            | K::OFFSET
            | K::ON
            | K::OR
            | K::ORDER
            | K::PASTE
            | K::PREWHERE
            | K::QUALIFY
            | K::RIGHT
            | K::SAMPLE
            | K::SEMI
            | K::SETTINGS
            | K::UNION
            | K::USING
            | K::WHERE
            | K::WINDOW
            | K::WITH
    )
}

impl Parser<'_> {
    /// An expression, with an alias if `AS` says so.
    pub(crate) fn expression(&mut self) -> Parsed<Expression> {
        self.aliased(false)
    }

    /// An expression, with an alias even without `AS`.
    pub(super) fn expression_or_alias(&mut self) -> Parsed<Expression> {
        self.aliased(true)
    }

    fn aliased(&mut self, implicit: bool) -> Parsed<Expression> {
        let before = self.grow();
        // A lone FROM is a column's name, but then the clause FROM may not be meant as well.
        let lone_from = self.at_keyword(K::FROM) && self.at(T::Word);
        let mut expression = self.operators(LAMBDA)?;
        let bare = lone_from && matches!(&expression.kind, ExpressionKind::Identifier(parts) if parts.len() == 1);
        if self.keyword(K::AS) || (implicit && !bare && self.at_implicit_alias()) {
            expression.alias = Some(Box::new(self.identifier()?));
        }
        self.grown(before, 0)?;
        Ok(expression)
    }

    fn at_implicit_alias(&mut self) -> bool {
        let token = self.peek();
        let is_alias = match token.kind {
            T::QuotedIdentifier => true,
            T::Word => !is_restricted_alias(token.keyword) && !self.at_clause_that_looks_like_an_alias(),
            _ => false,
        };
        if !is_alias {
            self.missed("identifier");
        }
        is_alias
    }

    /// `FETCH FIRST`, `PARALLEL WITH`: words that could be aliases but for the next.
    pub(super) fn at_clause_that_looks_like_an_alias(&mut self) -> bool {
        let next = self.ahead(1).keyword;
        match self.peek().keyword {
            K::FETCH => matches!(next, K::FIRST | K::NEXT),
            K::PARALLEL => next == K::WITH,
            K::COMMENT => self.ahead(1).kind == T::String,
            _ => false,
        }
    }

    /// Operands joined by operators that bind at least as tightly as `lowest`.
    fn operators(&mut self, lowest: u8) -> Parsed<Expression> {
        self.enter(1)?;
        let before = self.grow();
        let left = self.operand()?;
        let expression = self.operators_after(left, lowest)?;
        self.leave(1);
        self.grown(before, 0)?;
        Ok(expression)
    }

    /// Goes on with the operators after `left`, of which the height is measured already.
    fn operators_after(&mut self, mut left: Expression, lowest: u8) -> Parsed<Expression> {
        // The chain that the last turn built or extended; only its own operator may extend it.
        let mut chain = "";
        while let Some(next) = self.peek_operator(lowest) {
            let start = left.span.start;
            let left_height = self.grow();
            let mut grows = 2;
            let mut extended = false;
            let mut builds = "";
            left = match next {
                Operator::Binary(name, binding, tokens) => {
                    self.skip(tokens);
                    let right = self.operators(binding + 1)?;
                    let mut operands = vec![left, right];
                    if is_like(name) && self.word("ESCAPE") {
                        operands.push(self.operators(binding + 1)?);
                    }
                    let span = self.span_from(start);
                    if operands.len() > 2 { call(name, operands, span) } else { operator(name, operands, span) }
                }
                Operator::Chain(name, binding) => {
                    self.skip(1);
                    let right = self.operators(binding + 1)?;
                    let span = self.span_from(start);
                    builds = name;
                    if chain == name
                        && let ExpressionKind::Function(function) = &mut left.kind
                    {
                        function.arguments.push(right);
                        left.span = span;
                        extended = true;
                        left
                    } else {
                        operator(name, vec![left, right], span)
                    }
                }
                Operator::Comparison(name, tokens) => {
                    self.skip(tokens);
                    self.comparison(name, left)?
                }
                Operator::Ternary => {
                    self.skip(1);
                    let then = self.operators(TERNARY)?;
                    self.need(T::Colon)?;
                    let otherwise = self.operators(TERNARY)?;
                    let span = self.span_from(start);
                    call("if", vec![left, then, otherwise], span)
                }
                Operator::Is => self.is_operator(left)?,
                Operator::Between(negated) => {
                    self.skip(if negated { 2 } else { 1 });
                    grows = 4;
                    let low = self.operators(BETWEEN + 1)?;
                    self.need_keyword(K::AND)?;
                    let high = self.operators(BETWEEN + 1)?;
                    let span = self.span_from(start);
                    self.copy(&left)?;
                    let names =
                        if negated { ["or", "less", "greater"] } else { ["and", "greaterOrEquals", "lessOrEquals"] };
                    let [both, lower, upper] = names;
                    let lower = operator(lower, vec![left.clone(), low], span);
                    operator(both, vec![lower, operator(upper, vec![left, high], span)], span)
                }
                Operator::AtTimeZone => {
                    self.skip(3);
                    let zone = self.operators(ACCESS)?;
                    let span = self.span_from(start);
                    call("toTimeZone", vec![left, zone], span)
                }
                Operator::Cast => {
                    self.skip(1);
                    self.cast_operator(left)?
                }
                Operator::Subscript => {
                    self.skip(1);
                    self.enter(2)?;
                    let index = self.expression()?;
                    self.need(T::CloseSquare)?;
                    self.leave(2);
                    let span = self.span_from(start);
                    operator("arrayElement", vec![left, index], span)
                }
                Operator::Member => {
                    self.skip(1);
                    self.member(left)?
                }
                Operator::Arrow => {
                    let parameters = self.lambda_parameters(left)?;
                    self.skip(1);
                    self.enter(2)?;
                    let body = self.expression_without_alias()?;
                    self.leave(2);
                    let span = self.span_from(start);
                    grows = 4;
                    let lambda = Lambda { parameters, body, syntax: Written::default() };
                    Expression::new(ExpressionKind::Lambda(Box::new(lambda)), span)
                }
            };
            chain = builds;
            if extended {
                // The call stood above its other arguments already.
                self.grown(left_height, grows)?;
            } else {
                self.height = self.height.max(left_height);
                self.grown(0, grows)?;
            }
        }
        Ok(left)
    }

    /// Accounts for a copy of `expression`: BETWEEN needs its left side twice, so a chain of them would double every time.
    fn copy(&mut self, expression: &Expression) -> Parsed<()> {
        const COPIED_NODES_MAX: usize = 50_000;
        let weight = self.weight(expression);
        self.copied_nodes = self.copied_nodes.saturating_add(weight);
        if self.copied_nodes > COPIED_NODES_MAX {
            return self.fatal(TOO_BIG_AST, format!("AST is too big. Maximum: {COPIED_NODES_MAX}."));
        }
        Ok(())
    }

    /// At least the number of nodes of `expression`.
    fn weight(&self, expression: &Expression) -> usize {
        let length = (expression.span.end.saturating_sub(expression.span.start)) as usize;
        match &expression.kind {
            ExpressionKind::Function(function) => {
                let parameters = function.parameters.iter().flatten();
                1 + function.arguments.iter().chain(parameters).map(|e| self.weight(e)).sum::<usize>()
            }
            ExpressionKind::Lambda(lambda) => 1 + self.weight(&lambda.body),
            ExpressionKind::Identifier(_) | ExpressionKind::Parameter(_) => 1,
            ExpressionKind::Literal(_) => 1 + length / 16,
            ExpressionKind::Subquery(_) | ExpressionKind::Matcher(_) => length + self.copied_nodes,
        }
    }

    pub(super) fn skip(&mut self, tokens: usize) {
        for _ in 0..tokens {
            self.advance();
        }
    }

    /// An expression after which `AS` belongs to something else.
    pub(super) fn expression_without_alias(&mut self) -> Parsed<Expression> {
        let before = self.grow();
        let expression = self.operators(LAMBDA)?;
        self.grown(before, 0)?;
        Ok(expression)
    }

    /// The operator that stands here, if it binds at least as tightly as `lowest`.
    fn peek_operator(&mut self, lowest: u8) -> Option<Operator> {
        use Operator::{Between, Binary, Chain, Comparison};
        let token = self.peek();
        let next = match token.kind {
            T::Plus => Binary("plus", ADDITION, 1),
            T::Minus => Binary("minus", ADDITION, 1),
            T::Asterisk => Binary("multiply", MULTIPLICATION, 1),
            T::Slash => Binary("divide", MULTIPLICATION, 1),
            T::Percent => Binary("modulo", MULTIPLICATION, 1),
            T::Equals => Comparison("equals", 1),
            T::NotEquals => Comparison("notEquals", 1),
            T::Less => Comparison("less", 1),
            T::Greater => Comparison("greater", 1),
            T::LessOrEquals => Comparison("lessOrEquals", 1),
            T::GreaterOrEquals => Comparison("greaterOrEquals", 1),
            T::Spaceship => Binary("isNotDistinctFrom", COMPARISON, 1),
            T::Match => Binary("match", COMPARISON, 1),
            T::MatchAnyCase => Binary("matchCaseInsensitive", COMPARISON, 1),
            T::NotMatch => Binary("notMatch", COMPARISON, 1),
            T::NotMatchAnyCase => Binary("notMatchCaseInsensitive", COMPARISON, 1),
            T::Concatenation => Chain("concat", CONCATENATION),
            T::Question => Operator::Ternary,
            T::DoubleColon => Operator::Cast,
            T::OpenSquare => Operator::Subscript,
            T::Dot => Operator::Member,
            T::Arrow => Operator::Arrow,
            T::Word => match token.keyword {
                K::AND => Chain("and", AND),
                K::OR => Chain("or", OR),
                K::IS => Operator::Is,
                K::BETWEEN => Between(false),
                K::LIKE => Binary("like", COMPARISON, 1),
                K::ILIKE => Binary("ilike", COMPARISON, 1),
                K::REGEXP => Binary("match", COMPARISON, 1),
                // `UPDATE a = 1 IN PARTITION p`.
                K::IN if self.keyword_ahead(1, K::PARTITION) => return None,
                K::IN => Binary("in", COMPARISON, 1),
                K::MOD => Binary("modulo", MULTIPLICATION, 1),
                K::DIV => Binary("intDiv", MULTIPLICATION, 1),
                K::NOT => match self.ahead(1).keyword {
                    K::BETWEEN => Between(true),
                    K::LIKE => Binary("notLike", COMPARISON, 2),
                    K::ILIKE => Binary("notILike", COMPARISON, 2),
                    K::IN => Binary("notIn", COMPARISON, 2),
                    _ => return None,
                },
                K::GLOBAL => match (self.ahead(1).keyword, self.ahead(2).keyword) {
                    (K::IN, _) => Binary("globalIn", COMPARISON, 2),
                    (K::NOT, K::IN) => Binary("globalNotIn", COMPARISON, 3),
                    _ => return None,
                },
                K::AT if self.keyword_ahead(1, K::TIME) && self.keyword_ahead(2, K::ZONE) => Operator::AtTimeZone,
                _ => {
                    self.missed_operators();
                    return None;
                }
            },
            _ => {
                self.missed_operators();
                return None;
            }
        };
        let binding = match &next {
            Binary(_, binding, _) | Chain(_, binding) => *binding,
            Comparison(..) => COMPARISON,
            Operator::Ternary => TERNARY,
            Operator::Is => IS,
            Between(_) => BETWEEN,
            Operator::Arrow => LAMBDA,
            Operator::AtTimeZone | Operator::Cast | Operator::Subscript | Operator::Member => ACCESS,
        };
        (binding >= lowest).then_some(next)
    }

    fn missed_operators(&mut self) {
        const PHRASES: &[&str] = &[
            "token",
            "DoubleColon",
            "OR",
            "AND",
            "IS NOT DISTINCT FROM",
            "IS DISTINCT FROM",
            "IS NULL",
            "IS NOT NULL",
            "BETWEEN",
            "NOT BETWEEN",
            "LIKE",
            "ILIKE",
            "NOT LIKE",
            "NOT ILIKE",
            "REGEXP",
            "IN",
            "NOT IN",
            "GLOBAL IN",
            "GLOBAL NOT IN",
            "AT TIME ZONE",
            "MOD",
            "DIV",
            "alias",
        ];
        for phrase in PHRASES {
            self.missed(phrase);
        }
    }

    /// The right side of a comparison, which may be `ANY (SELECT …)` or `ALL (SELECT …)`.
    fn comparison(&mut self, name: &'static str, left: Expression) -> Parsed<Expression> {
        let start = left.span.start;
        let quantifier = self.peek().keyword;
        if matches!(quantifier, K::ANY | K::ALL | K::SOME)
            && self.ahead(1).kind == T::OpenRound
            && matches!(self.ahead(2).keyword, K::SELECT | K::WITH)
        {
            self.advance();
            let subquery = self.operand()?;
            let any = quantifier != K::ALL;
            let span = self.span_from(start);
            let (name, aggregate) = match (name, any) {
                ("equals", true) => ("in", None),
                ("notEquals", false) => ("notIn", None),
                ("equals", false) => ("in", Some("singleValueOrNull")),
                ("notEquals", true) => ("notIn", Some("singleValueOrNull")),
                ("less" | "lessOrEquals", true) | ("greater" | "greaterOrEquals", false) => (name, Some("max")),
                _ => (name, Some("min")),
            };
            let right = match aggregate {
                Some(aggregate) => {
                    self.height += 8;
                    aggregate_over(aggregate, subquery)
                }
                None => subquery,
            };
            return Ok(operator(name, vec![left, right], span));
        }
        let right = self.operators(COMPARISON + 1)?;
        let span = self.span_from(start);
        Ok(operator(name, vec![left, right], span))
    }

    /// `IS [NOT] NULL | DISTINCT FROM | TRUE | FALSE | UNKNOWN`.
    fn is_operator(&mut self, left: Expression) -> Parsed<Expression> {
        let start = left.span.start;
        self.skip(1);
        let negated = self.keyword(K::NOT);
        if self.keyword(K::NULL) || self.keyword(K::UNKNOWN) {
            let span = self.span_from(start);
            return Ok(operator(if negated { "isNotNull" } else { "isNull" }, vec![left], span));
        }
        // Not being distinct is what IS TRUE means.
        let (name, right) = if self.keywords(&[K::DISTINCT, K::FROM], "DISTINCT FROM") {
            (if negated { "isNotDistinctFrom" } else { "isDistinctFrom" }, self.operators(COMPARISON + 1)?)
        } else {
            let truth = self.keyword(K::TRUE);
            if !truth {
                self.need_keyword(K::FALSE)?;
            }
            (if negated { "isDistinctFrom" } else { "isNotDistinctFrom" }, Expression::literal(Literal::Bool(truth)))
        };
        let span = self.span_from(start);
        Ok(operator(name, vec![left, right], span))
    }

    /// `left::Type`. A constant on the left is kept as the text that it was written as.
    fn cast_operator(&mut self, mut left: Expression) -> Parsed<Expression> {
        let start = left.span.start;
        let source = self.span_bytes(left.span);
        if left.alias.is_none()
            && let ExpressionKind::Literal(value) = &mut left.kind
            && !matches!(value, Literal::String(_) | Literal::Null | Literal::Bool(_))
        {
            *value = Literal::String(source.to_vec());
            left.parenthesized = Written(false);
        }
        let data_type = self.data_type()?;
        let span = self.span_from(start);
        let text =
            Expression::new(ExpressionKind::Literal(Literal::string(format_data_type(&data_type))), data_type.span);
        Ok(call("CAST", vec![left, text], span))
    }

    /// What follows a dot after an operand.
    fn member(&mut self, left: Expression) -> Parsed<Expression> {
        let start = left.span.start;
        let token = self.peek();
        let index = match token.kind {
            T::Number => {
                let Some(value @ Literal::UInt64(_)) = number(self.bytes(token), false) else {
                    return self.fail("number");
                };
                self.advance();
                Expression::new(ExpressionKind::Literal(value), Span::new(token.start, token.end))
            }
            T::Minus => {
                self.advance();
                let value = self.unsigned()?;
                let span = self.span_from(token.start);
                let value = Expression::new(ExpressionKind::Literal(Literal::UInt64(value)), span);
                operator("negate", vec![value], span)
            }
            _ => {
                let name = self.identifier()?;
                Expression::new(ExpressionKind::Literal(Literal::string(&name.value)), name.span)
            }
        };
        let span = self.span_from(start);
        Ok(operator("tupleElement", vec![left, index], span))
    }

    /// The names before `->`.
    fn lambda_parameters(&mut self, left: Expression) -> Parsed<Vec<Identifier>> {
        let single = |expression: Expression| match expression.kind {
            ExpressionKind::Identifier(mut parts) if parts.len() == 1 && expression.alias.is_none() => parts.pop(),
            _ => None,
        };
        let parameters = match left.kind {
            ExpressionKind::Function(function)
                if function.name == "tuple" && matches!(function.syntax, Written(CallSyntax::Operator)) =>
            {
                function.arguments.into_iter().map(single).collect()
            }
            _ => single(left).map(|parameter| vec![parameter]),
        };
        match parameters {
            Some(parameters) => Ok(parameters),
            None => self.fail("lambda expression"),
        }
    }

    /// One operand with its prefix operators.
    fn operand(&mut self) -> Parsed<Expression> {
        let token = self.peek();
        let span = Span::new(token.start, token.end);
        match token.kind {
            T::Number => match number(self.bytes(token), false) {
                Some(value) => {
                    self.advance();
                    Ok(Expression::new(ExpressionKind::Literal(value), span))
                }
                None => self.fail("number"),
            },
            T::String | T::HereDoc | T::HexString | T::BinaryString => {
                let value = string_value(token, self.bytes(token)).unwrap_or_default();
                self.advance();
                Ok(Expression::new(ExpressionKind::Literal(Literal::String(value)), span))
            }
            T::Minus => self.negation(),
            T::Plus => {
                self.advance();
                self.enter(2)?;
                let operand = self.operators(NEGATION)?;
                self.leave(2);
                Ok(operand)
            }
            T::OpenRound => self.parentheses(),
            T::OpenSquare => self.array(),
            T::OpenCurly => self.substitution(),
            T::Asterisk => {
                self.advance();
                self.matcher(MatchedColumns::All, Vec::new(), token.start)
            }
            T::DoubleAt => self.global_variable(),
            T::QuotedIdentifier => self.name(),
            T::Word => self.word_operand(token.keyword),
            _ => {
                for what in [
                    "NOT",
                    "INTERVAL",
                    "CASE",
                    "DATE",
                    "TIMESTAMP",
                    "tuple",
                    "collection of literals",
                    "array",
                    "number",
                    "literal",
                    "NULL",
                    "Bool",
                    "TRUE",
                    "FALSE",
                    "string literal",
                    "asterisk",
                    "qualified asterisk",
                    "compound identifier",
                    "identifier",
                    "COLUMNS matcher",
                    "COLUMNS",
                    "function name",
                    "substitution",
                    "MySQL-style global variable",
                ] {
                    self.missed(what);
                }
                self.fail("expression")
            }
        }
    }

    /// An operand that begins with a word.
    fn word_operand(&mut self, keyword: K) -> Parsed<Expression> {
        let token = self.peek();
        let span = Span::new(token.start, token.end);
        let next = self.ahead(1).kind;
        match keyword {
            K::NONE => self.name(),
            K::NOT => {
                self.advance();
                self.enter(2)?;
                let before = self.grow();
                let operand = self.operators(NOT)?;
                self.grown(before, 2)?;
                self.leave(2);
                Ok(operator("not", vec![operand], self.span_from(token.start)))
            }
            K::NULL | K::TRUE | K::FALSE | K::INF | K::INFINITY | K::NAN => match word_literal(keyword) {
                Some(value) => {
                    self.advance();
                    Ok(Expression::new(ExpressionKind::Literal(value), span))
                }
                None => self.fail("literal"),
            },
            K::CASE => match self.attempt(|p| p.case())? {
                Some(case) => Ok(case),
                None => self.name(),
            },
            // `interval AS d` names a column.
            K::INTERVAL
                if !matches!(next, T::Comma | T::End | T::CloseRound | T::Dot)
                    && !is_restricted_alias(self.ahead(1).keyword) =>
            {
                match self.attempt(|p| p.interval())? {
                    Some(interval) => Ok(interval),
                    None => self.name(),
                }
            }
            K::DATE | K::TIMESTAMP if matches!(next, T::String | T::HereDoc) => {
                self.advance();
                let name = if keyword == K::DATE { "toDate" } else { "toDateTime" };
                let text = self.operand()?;
                Ok(call(name, vec![text], self.span_from(token.start)))
            }
            _ if next == T::OpenRound => match self.special_function(keyword)? {
                Some(function) => Ok(function),
                None => self.name(),
            },
            _ => self.name(),
        }
    }

    /// `-operand`; before a number the sign belongs to the number.
    fn negation(&mut self) -> Parsed<Expression> {
        let token = self.peek();
        let next = self.ahead(1);
        let literal = match next.kind {
            T::Number => number(self.bytes(next), true),
            T::Word if next.keyword == K::INF => Some(Literal::float(f64::NEG_INFINITY)),
            _ => None,
        };
        if let Some(value) = literal {
            self.skip(2);
            return Ok(Expression::new(ExpressionKind::Literal(value), Span::new(token.start, next.end)));
        }
        self.advance();
        self.enter(2)?;
        let before = self.grow();
        let operand = self.operators(NEGATION)?;
        self.grown(before, 2)?;
        self.leave(2);
        Ok(operator("negate", vec![operand], self.span_from(token.start)))
    }

    /// `(…)`: an expression, a tuple, a subquery, or the names of a lambda.
    fn parentheses(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.enter(4)?;
        if let Some(query) = self.subquery()? {
            self.leave(4);
            self.height += 3;
            return Ok(Expression::new(ExpressionKind::Subquery(Box::new(query)), self.span_from(start)));
        }
        self.advance();
        let before = self.grow();
        let mut items = Vec::new();
        let mut tuple = false;
        while !self.at(T::CloseRound) {
            items.push(self.expression()?);
            if !self.accept(T::Comma) {
                break;
            }
            tuple = true;
        }
        self.need(T::CloseRound)?;
        self.leave(4);
        let span = self.span_from(start);
        if !tuple && let Some(mut item) = items.pop() {
            self.grown(before, 0)?;
            if item.alias.is_none() {
                item.span = span;
            }
            item.parenthesized = Written(!matches!(item.kind, ExpressionKind::Literal(Literal::Tuple(_))));
            return Ok(item);
        }
        if items.len() > 1 && items.iter().all(is_plain_literal) {
            self.grown(before, 0)?;
            return Ok(Expression::new(ExpressionKind::Literal(Literal::Tuple(literals(items))), span));
        }
        self.grown(before, 2)?;
        Ok(operator("tuple", items, span))
    }

    /// `[…]`.
    fn array(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.advance();
        self.enter(2)?;
        let before = self.grow();
        let mut items = Vec::new();
        if !self.accept(T::CloseSquare) {
            items = self.list(|p| p.expression())?;
            self.need(T::CloseSquare)?;
        }
        self.leave(2);
        let span = self.span_from(start);
        if items.iter().all(is_plain_literal) {
            self.grown(before, 0)?;
            return Ok(Expression::new(ExpressionKind::Literal(Literal::Array(literals(items))), span));
        }
        self.grown(before, 2)?;
        Ok(operator("array", items, span))
    }

    /// `{name:Type}`, or an identifier that begins with `{name:Identifier}`, or a map `{'key': value}`.
    fn substitution(&mut self) -> Parsed<Expression> {
        if self.ahead(2).kind == T::Colon && self.word_ahead(3, "Identifier") && self.ahead(4).kind == T::CloseCurly {
            return self.name();
        }
        self.query_parameter()
    }

    /// `{name:Type}`.
    pub(super) fn query_parameter(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.need(T::OpenCurly)?;
        let token = self.peek();
        if token.kind != T::Word {
            return self.fail("substitution name (identifier)");
        }
        let name = self.identifier()?.value;
        self.need(T::Colon)?;
        let data_type = format_data_type(&self.data_type()?);
        self.need(T::CloseCurly)?;
        let kind = ExpressionKind::Parameter(Box::new(QueryParameter { name, data_type }));
        Ok(Expression::new(kind, self.span_from(start)))
    }

    /// `@@name`, `@@global.name`, `@@session.name`.
    fn global_variable(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.advance();
        let mut name = self.identifier()?;
        while self.at(T::Dot) {
            self.advance();
            name = self.identifier()?;
        }
        let span = self.span_from(start);
        let text = Expression::new(ExpressionKind::Literal(Literal::string(&name.value)), name.span);
        let mut expression = call("globalVariable", vec![text], span);
        expression.alias = Some(Box::new(Identifier { value: format!("@@{}", name.value), parameter: false, span }));
        Ok(expression)
    }

    /// What begins with a name: a column, a qualified matcher, a function.
    fn name(&mut self) -> Parsed<Expression> {
        let start = self.start();
        let mut parts = vec![self.identifier()?];
        while self.at(T::Dot) {
            let next = self.ahead(1);
            match next.kind {
                T::Word | T::QuotedIdentifier => {
                    if next.keyword == K::COLUMNS
                        && next.kind == T::Word
                        && self.ahead(2).kind == T::OpenRound
                        && self.bytes(next) == b"COLUMNS"
                    {
                        self.skip(2);
                        return self.columns_matcher(parts, start);
                    }
                    self.advance();
                    parts.push(self.identifier()?);
                }
                T::OpenCurly => {
                    self.advance();
                    parts.push(self.identifier()?);
                }
                T::Asterisk => {
                    self.skip(2);
                    return self.matcher(MatchedColumns::All, parts, start);
                }
                // `json.:Type`: the values of one type; `json.^path`: an object inside.
                T::Colon | T::Caret => {
                    let from = next.start;
                    self.skip(2);
                    let prefix = if next.kind == T::Colon { ':' } else { '^' };
                    let part = self.identifier()?;
                    let value = format!("{prefix}{}", part.value);
                    parts.push(Identifier { value, parameter: false, span: self.span_from(from) });
                }
                _ => break,
            }
        }
        // `json.a[].b`: the path through arrays of objects.
        while self.at(T::OpenSquare) && self.ahead(1).kind == T::CloseSquare {
            let from = self.start();
            let mut levels = 0;
            while self.at(T::OpenSquare) && self.ahead(1).kind == T::CloseSquare {
                self.skip(2);
                levels += 1;
                if levels > 64 {
                    return self.fail("identifier");
                }
            }
            let value = format!(":{}JSON{}", "Array(".repeat(levels), ")".repeat(levels));
            parts.push(Identifier { value, parameter: false, span: self.span_from(from) });
            while self.at(T::Dot) {
                match self.ahead(1).kind {
                    T::Word | T::QuotedIdentifier => {
                        self.advance();
                        parts.push(self.identifier()?);
                    }
                    T::Colon => {
                        let from = self.ahead(1).start;
                        self.skip(2);
                        let part = self.identifier()?;
                        let value = format!(":{}", part.value);
                        parts.push(Identifier { value, parameter: false, span: self.span_from(from) });
                    }
                    _ => break,
                }
            }
        }
        if self.at(T::OpenRound) {
            let name = match parts.len() {
                1 => parts.pop().unwrap_or_else(|| Identifier::new("")),
                _ => Identifier {
                    value: parts.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join("."),
                    parameter: false,
                    span: self.span_from(start),
                },
            };
            return self.function_call(name);
        }
        Ok(Expression::new(ExpressionKind::Identifier(parts), self.span_from(start)))
    }

    /// `COLUMNS(…)`, the word read already.
    pub(super) fn columns_matcher(&mut self, qualifier: Vec<Identifier>, start: u32) -> Parsed<Expression> {
        self.need(T::OpenRound)?;
        let columns = if matches!(self.peek().kind, T::String | T::HereDoc) && self.ahead(1).kind == T::CloseRound {
            MatchedColumns::Regexp(self.string_text()?)
        } else {
            self.enter(2)?;
            let columns = self.list(|p| p.expression())?;
            self.leave(2);
            MatchedColumns::List(columns)
        };
        self.need(T::CloseRound)?;
        self.matcher(columns, qualifier, start)
    }

    /// The transformers after a matcher.
    fn matcher(&mut self, columns: MatchedColumns, qualifier: Vec<Identifier>, start: u32) -> Parsed<Expression> {
        let mut transformers = Vec::new();
        let mut columns = columns;
        if columns == MatchedColumns::All && matches!(self.peek().keyword, K::LIKE | K::ILIKE) {
            let in_any_case = self.peek().keyword == K::ILIKE;
            self.advance();
            columns = MatchedColumns::Regexp(regexp_of_like(&self.string_text()?, in_any_case));
        }
        loop {
            // EXCEPT also combines queries.
            if self.at_keyword(K::EXCEPT)
                && !matches!(self.ahead(1).keyword, K::SELECT | K::ALL | K::DISTINCT | K::WITH)
                && !(self.ahead(1).kind == T::OpenRound && matches!(self.ahead(2).keyword, K::SELECT | K::WITH))
            {
                self.advance();
                transformers.push(self.except_transformer()?);
            } else if self.at_keyword(K::REPLACE) {
                self.advance();
                transformers.push(self.replace_transformer()?);
            } else if self.keyword(K::APPLY) {
                transformers.push(self.apply_transformer()?);
            } else {
                break;
            }
        }
        let kind = ExpressionKind::Matcher(Box::new(Matcher { columns, qualifier, transformers }));
        Ok(Expression::new(kind, self.span_from(start)))
    }

    fn except_transformer(&mut self) -> Parsed<ColumnTransformer> {
        let strict = self.keyword(K::STRICT);
        let round = self.accept(T::OpenRound);
        if matches!(self.peek().kind, T::String | T::HereDoc) {
            let regexp = self.string_text()?;
            if round {
                self.need(T::CloseRound)?;
            }
            return Ok(ColumnTransformer::ExceptRegexp(regexp));
        }
        let columns = if round {
            let columns = self.list(|p| p.nested_identifier())?;
            self.need(T::CloseRound)?;
            columns
        } else {
            vec![self.nested_identifier()?]
        };
        Ok(ColumnTransformer::Except { columns, strict })
    }

    fn replace_transformer(&mut self) -> Parsed<ColumnTransformer> {
        let strict = self.keyword(K::STRICT);
        let round = self.accept(T::OpenRound);
        let item = |p: &mut Self| {
            let mut expression = p.expression()?;
            match expression.alias.take() {
                Some(name) => Ok((expression, *name)),
                None => p.fail("alias"),
            }
        };
        let items = if round {
            let items = self.list(item)?;
            self.need(T::CloseRound)?;
            items
        } else {
            vec![item(self)?]
        };
        Ok(ColumnTransformer::Replace { items, strict })
    }

    fn apply_transformer(&mut self) -> Parsed<ColumnTransformer> {
        let round = self.accept(T::OpenRound);
        let lambda = self.attempt(|p| match p.expression_without_alias()?.kind {
            ExpressionKind::Lambda(lambda) => Ok(*lambda),
            _ => p.fail("lambda expression"),
        })?;
        let transformer = match lambda {
            Some(lambda) => {
                let prefix = if round && self.accept(T::Comma) { Some(self.string_text()?) } else { None };
                ColumnTransformer::ApplyLambda { lambda, prefix }
            }
            None => {
                let name = self.identifier()?.value;
                if name == "lambda" {
                    return self.fail("lambda expression");
                }
                let parameters = if self.at(T::OpenRound) { self.round_list(|p| p.expression())? } else { Vec::new() };
                let prefix = if round && self.accept(T::Comma) { Some(self.string_text()?) } else { None };
                ColumnTransformer::ApplyFunction { name, parameters, prefix }
            }
        };
        if round {
            self.need(T::CloseRound)?;
        }
        Ok(transformer)
    }

    /// `CASE [operand] WHEN … THEN … [ELSE …] END`.
    fn case(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.advance();
        self.enter(2)?;
        let before = self.grow();
        let mut arguments = Vec::new();
        let has_operand = !self.at_keyword(K::WHEN);
        if has_operand {
            arguments.push(self.expression()?);
        }
        if !self.at_keyword(K::WHEN) {
            return self.fail("WHEN");
        }
        while self.keyword(K::WHEN) {
            arguments.push(self.expression()?);
            self.need_keyword(K::THEN)?;
            arguments.push(self.expression()?);
        }
        if self.keyword(K::ELSE) {
            arguments.push(self.expression()?);
        } else {
            arguments.push(Expression::literal(Literal::Null));
        }
        self.need_keyword(K::END)?;
        self.leave(2);
        self.grown(before, 2)?;
        Ok(call(if has_operand { "caseWithExpression" } else { "multiIf" }, arguments, self.span_from(start)))
    }

    /// `INTERVAL amount unit`, `INTERVAL '1 day 2 hours'`.
    fn interval(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.advance();
        self.enter(2)?;
        let before = self.grow();
        let token = self.peek();
        let text = match token.kind {
            T::String => self.interval_text(token.start)?,
            _ => None,
        };
        let interval = match text {
            Some(interval) => interval,
            None => {
                let mut amount = self.operators(ADDITION)?;
                if self.keyword(K::AS) {
                    amount.alias = Some(Box::new(self.identifier()?));
                }
                let Some(unit) = self.interval_unit() else { return self.fail("interval unit") };
                let span = self.span_from(start);
                call(&format!("toInterval{}", unit.name()), vec![amount], span)
            }
        };
        self.leave(2);
        self.grown(before, 2)?;
        Ok(interval)
    }

    /// The intervals in `'1 day 2 hours'`; none when the text is a number alone, whose unit follows.
    fn interval_text(&mut self, start: u32) -> Parsed<Option<Expression>> {
        let token = self.peek();
        let text = String::from_utf8_lossy(&string_value(token, self.bytes(token)).unwrap_or_default()).into_owned();
        let mut words = text.split_ascii_whitespace();
        let mut intervals = Vec::new();
        while let Some(amount) = words.next() {
            let (Ok(amount), Some(unit)) = (
                amount.parse::<i64>(),
                words.next().and_then(|w| interval_unit(crate::keyword::keyword(w.as_bytes()))),
            ) else {
                return Ok(None);
            };
            let literal = if amount < 0 { Literal::Int64(amount) } else { Literal::UInt64(amount as u64) };
            let span = Span::new(token.start, token.end);
            let amount = Expression::new(ExpressionKind::Literal(literal), span);
            intervals.push(call(&format!("toInterval{}", unit.name()), vec![amount], span));
        }
        if intervals.is_empty() {
            return Ok(None);
        }
        self.advance();
        if intervals.len() == 1 {
            return Ok(intervals.pop());
        }
        let span = self.span_from(start);
        Ok(Some(operator("tuple", intervals, span)))
    }

    /// A unit of time.
    pub(super) fn interval_unit(&mut self) -> Option<IntervalUnit> {
        let unit = interval_unit(self.peek().keyword);
        match unit {
            Some(_) => self.advance(),
            None => {
                for name in [
                    "NANOSECOND",
                    "MICROSECOND",
                    "MILLISECOND",
                    "SECOND",
                    "MINUTE",
                    "HOUR",
                    "DAY",
                    "WEEK",
                    "MONTH",
                    "QUARTER",
                    "YEAR",
                ] {
                    self.missed(name);
                }
            }
        }
        unit
    }
}

/// The regular expression that matches what a pattern of LIKE matches.
fn regexp_of_like(pattern: &str, in_any_case: bool) -> String {
    let mut regexp = if in_any_case { "(?is)^".to_owned() } else { "(?s)^".to_owned() };
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let literal = match letter {
            '%' => {
                regexp.push_str(".*");
                continue;
            }
            '_' => {
                regexp.push('.');
                continue;
            }
            '\\' => letters.next().unwrap_or('\\'),
            other => other,
        };
        if literal.is_ascii_punctuation() {
            regexp.push('\\');
        }
        regexp.push(literal);
    }
    regexp.push('$');
    regexp
}

fn is_plain_literal(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Literal(_)) && expression.alias.is_none()
}

fn literals(items: Vec<Expression>) -> Vec<Literal> {
    items
        .into_iter()
        .filter_map(|item| match item.kind {
            ExpressionKind::Literal(value) => Some(value),
            _ => None,
        })
        .collect()
}

/// `(SELECT aggregate(*) FROM subquery)`.
fn aggregate_over(aggregate: &str, subquery: Expression) -> Expression {
    use crate::ast::{From, Query, QueryBody, Select, TableExpression, TableSource};
    let span = subquery.span;
    let ExpressionKind::Subquery(query) = subquery.kind else { return subquery };
    let star = Matcher { columns: MatchedColumns::All, qualifier: Vec::new(), transformers: Vec::new() };
    let star = Expression::new(ExpressionKind::Matcher(Box::new(star)), span);
    let table = TableExpression {
        source: TableSource::Subquery(query),
        alias: None,
        column_aliases: Vec::new(),
        with_final: false,
        sample: None,
        span,
    };
    let select = Select {
        projection: vec![call(aggregate, vec![star], span)],
        from: Some(From { table: Some(table), steps: Vec::new() }),
        span,
        ..Select::default()
    };
    let query = Query::of(QueryBody::Select(Box::new(select)), span);
    Expression::new(ExpressionKind::Subquery(Box::new(query)), span)
}

/// The unit that a keyword names.
pub(super) fn interval_unit(keyword: K) -> Option<IntervalUnit> {
    Some(match keyword {
        K::NANOSECOND | K::NANOSECONDS | K::SQL_TSI_NANOSECOND | K::NS => IntervalUnit::Nanosecond,
        K::MICROSECOND | K::MICROSECONDS | K::SQL_TSI_MICROSECOND | K::MCS => IntervalUnit::Microsecond,
        K::MILLISECOND | K::MILLISECONDS | K::SQL_TSI_MILLISECOND | K::MS => IntervalUnit::Millisecond,
        K::SECOND | K::SECONDS | K::SQL_TSI_SECOND | K::SS | K::S => IntervalUnit::Second,
        K::MINUTE | K::MINUTES | K::SQL_TSI_MINUTE | K::MI | K::N => IntervalUnit::Minute,
        K::HOUR | K::HOURS | K::SQL_TSI_HOUR | K::HH | K::H => IntervalUnit::Hour,
        K::DAY | K::DAYS | K::SQL_TSI_DAY | K::DD | K::D => IntervalUnit::Day,
        K::WEEK | K::WEEKS | K::SQL_TSI_WEEK | K::WK | K::WW => IntervalUnit::Week,
        K::MONTH | K::MONTHS | K::SQL_TSI_MONTH | K::MM | K::M => IntervalUnit::Month,
        K::QUARTER | K::QUARTERS | K::SQL_TSI_QUARTER | K::QQ | K::Q => IntervalUnit::Quarter,
        K::YEAR | K::YEARS | K::SQL_TSI_YEAR | K::YYYY | K::YY => IntervalUnit::Year,
        _ => return None,
    })
}

/// Whether an operator takes `ESCAPE`.
fn is_like(name: &str) -> bool {
    matches!(name, "like" | "ilike" | "notLike" | "notILike")
}
