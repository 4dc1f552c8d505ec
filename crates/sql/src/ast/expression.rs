//! Expressions. Operators are functions under ClickHouse's names (`a + b` is `plus(a, b)`, `a::UInt8` is
//! `CAST(a, 'UInt8')`, `x -> x + 1` is a lambda), so whoever resolves names meets one kind of call.

use super::{Identifier, Literal, OrderBy, Query, Span, Written};

/// An expression with its optional alias.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// `AS alias`. ClickHouse lets any subexpression have one.
    pub alias: Option<Box<Identifier>>,
    /// Whether it was written in parentheses of its own.
    pub parenthesized: Written<bool>,
    /// Where it stands, without the alias.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionKind {
    /// A constant, also an array or a tuple whose elements are all constants without aliases.
    Literal(Literal),
    /// A column, alias or nested name: `a`, `t.a`, `db.t.a.b`. Never empty.
    Identifier(Vec<Identifier>),
    /// A function call or an operator.
    Function(Box<Function>),
    /// `x -> body`, `(x, y) -> body`.
    Lambda(Box<Lambda>),
    /// `(SELECT …)`, also the operand of `IN` and the argument of `exists`. `= ANY (SELECT …)` is `in(…)`, `> ALL (SELECT …)` is
    /// `greater(…, (SELECT max(*) FROM (SELECT …)))`, and so on.
    Subquery(Box<Query>),
    /// `{name:Type}`.
    Parameter(Box<QueryParameter>),
    /// `*`, `t.*`, `COLUMNS('regexp')`, `COLUMNS(a, b)`, each with its transformers.
    Matcher(Box<Matcher>),
}

/// A call of a function by name. What ClickHouse rewrites while parsing is rewritten: `count(DISTINCT a)` is
/// `countDistinct(a)`, `sum(a) FILTER (WHERE b)` is `sumIf(a, b)`, `CASE` is `multiIf` or `caseWithExpression`,
/// `INTERVAL 1 DAY` is `toIntervalDay(1)`, `a ? b : c` is `if(a, b, c)`, `t.1` is `tupleElement(t, 1)`, `a BETWEEN b AND c`
/// is `and(greaterOrEquals(a, b), lessOrEquals(a, c))`, `EXISTS (…)` is `exists(…)`. Chains of `AND` and of `OR` are one
/// call with many arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// The name as written; ClickHouse's name when an operator was written.
    pub name: String,
    /// Where the name or the operator stands.
    pub name_span: Span,
    /// The first pair of parentheses of `quantile(0.9)(x)`.
    pub parameters: Option<Vec<Expression>>,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// `RESPECT NULLS` or `IGNORE NULLS`.
    pub nulls: Option<NullsAction>,
    /// `OVER …`: the call is a window function.
    pub over: Option<Box<Over>>,
    /// The settings inside the parentheses of a table function: `s3(…, SETTINGS a = 1)`.
    pub settings: Vec<super::Setting>,
    /// How the call was written; equality ignores it.
    pub syntax: Written<CallSyntax>,
}

/// How a call was written. It matters to the formatter alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallSyntax {
    /// `name(arguments)`.
    #[default]
    Call,
    /// An operator: `a + b`, `a IS NULL`, `a[1]`, `(a, b)`.
    Operator,
    /// A name without parentheses, where a call without arguments may be one: engines, codecs, `CURRENT_DATE`.
    Bare,
}

/// What a function does with NULLs among its input rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NullsAction {
    /// `RESPECT NULLS`.
    Respect,
    /// `IGNORE NULLS`.
    Ignore,
}

/// `(x, y) -> body`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lambda {
    /// The names of the arguments; may be empty.
    pub parameters: Vec<Identifier>,
    /// What it computes.
    pub body: Expression,
    /// How the tuple of names was written in `lambda(tuple(x), x + 1)`; nothing of `x -> x + 1`.
    pub syntax: Written<Option<CallSyntax>>,
}

/// `{name:Type}`, replaced by the value that the client sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryParameter {
    /// The parameter's name.
    pub name: String,
    /// The type's text, as ClickHouse normalises it.
    pub data_type: String,
}

/// An expression that stands for several columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matcher {
    /// Which columns.
    pub columns: MatchedColumns,
    /// `t` of `t.*` or `t.COLUMNS(…)`; empty when unqualified.
    pub qualifier: Vec<Identifier>,
    /// `APPLY`, `EXCEPT` and `REPLACE`, in the order written.
    pub transformers: Vec<ColumnTransformer>,
}

/// The columns that a matcher stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatchedColumns {
    /// `*`.
    All,
    /// `COLUMNS('regexp')`.
    Regexp(String),
    /// `COLUMNS(a, t.b)`.
    List(Vec<Expression>),
}

/// What happens to each column that a matcher found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnTransformer {
    /// `APPLY(function)`, `APPLY(quantile(0.9))`, `APPLY(function, 'prefix')`.
    ApplyFunction {
        /// The function to call with the column as its argument.
        name: String,
        /// Parameters of a parametric function.
        parameters: Vec<Expression>,
        /// Put before the column's name.
        prefix: Option<String>,
    },
    /// `APPLY(x -> f(x))`.
    ApplyLambda {
        /// A lambda of one argument.
        lambda: Lambda,
        /// Put before the column's name.
        prefix: Option<String>,
    },
    /// `EXCEPT (a, b)`.
    Except {
        /// The columns left out.
        columns: Vec<Identifier>,
        /// `STRICT`: each must be there.
        strict: bool,
    },
    /// `EXCEPT ('regexp')`.
    ExceptRegexp(String),
    /// `REPLACE (expression AS column, …)`.
    Replace {
        /// The new value of each column, its name in the expression's place of the pair.
        items: Vec<(Expression, Identifier)>,
        /// `STRICT`: each must be there.
        strict: bool,
    },
}

/// The window of a window function.
#[expect(clippy::large_enum_variant, reason = "a function holds it in a box")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Over {
    /// `OVER name`.
    Name(Identifier),
    /// `OVER (…)`.
    Definition(WindowDefinition),
}

/// `([parent] [PARTITION BY …] [ORDER BY …] [frame])`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WindowDefinition {
    /// A named window that this one refines.
    pub parent: Option<Identifier>,
    /// `PARTITION BY`.
    pub partition_by: Vec<Expression>,
    /// `ORDER BY`.
    pub order_by: Option<OrderBy>,
    /// The frame, when written.
    pub frame: Option<WindowFrame>,
}

/// `ROWS BETWEEN begin AND end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WindowFrame {
    /// What the bounds count.
    pub unit: FrameUnit,
    /// Where the frame begins.
    pub begin: FrameBound,
    /// Where it ends; `CURRENT ROW` when not written.
    pub end: FrameBound,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Values of the sorting expression.
    Range,
    /// Groups of peers.
    Groups,
}

/// One bound of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FrameBound {
    /// `CURRENT ROW`.
    CurrentRow,
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
    /// `n PRECEDING`.
    Preceding(Expression),
    /// `n FOLLOWING`.
    Following(Expression),
}

impl Expression {
    /// An expression without an alias.
    pub fn new(kind: ExpressionKind, span: Span) -> Self {
        Self { kind, alias: None, parenthesized: Written(false), span }
    }

    /// A literal that comes from no text.
    pub fn literal(value: Literal) -> Self {
        Self::new(ExpressionKind::Literal(value), Span::default())
    }

    /// A one-part identifier that comes from no text.
    pub fn identifier(name: impl Into<String>) -> Self {
        Self::new(ExpressionKind::Identifier(vec![Identifier::new(name)]), Span::default())
    }

    /// A plain call that comes from no text.
    pub fn function(name: impl Into<String>, arguments: Vec<Expression>) -> Self {
        Self::new(ExpressionKind::Function(Box::new(Function::new(name, arguments))), Span::default())
    }

    /// The same expression under an alias.
    pub fn with_alias(mut self, alias: impl Into<String>) -> Self {
        self.alias = Some(Box::new(Identifier::new(alias)));
        self
    }

    /// The literal, if this is one.
    pub fn as_literal(&self) -> Option<&Literal> {
        match &self.kind {
            ExpressionKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The call, if this is one.
    pub fn as_function(&self) -> Option<&Function> {
        match &self.kind {
            ExpressionKind::Function(function) => Some(function),
            _ => None,
        }
    }
}

impl Function {
    /// A plain call that comes from no text.
    pub fn new(name: impl Into<String>, arguments: Vec<Expression>) -> Self {
        Self {
            name: name.into(),
            name_span: Span::default(),
            parameters: None,
            arguments,
            nulls: None,
            over: None,
            settings: Vec::new(),
            syntax: Written(CallSyntax::Call),
        }
    }
}
