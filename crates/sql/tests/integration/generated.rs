//! Generated trees: what the formatter writes of any expression parses to that expression.

use proptest::prelude::*;
use squall_sql::ast::{
    CallSyntax, Expression, ExpressionKind, Function, Identifier, Lambda, Literal, NullsAction, Over, Span,
    WindowDefinition, Written,
};
use squall_sql::{ParserLimits, format_expression, parse_expression};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,5}",
        2 => prop::sample::select(vec![
            "select", "from", "where", "null", "true", "inf", "interval", "case", "end", "not", "and", "in", "date", "all", "any",
            "distinct", "is", "left", "join", "final", "format", "cast", "trim", "extract", "over", "filter", "values", "x", "b",
        ]).prop_map(String::from),
        1 => "[a-zA-Z0-9 .`'\"\\\\\\-тё]{1,6}",
    ]
}

fn literal() -> impl Strategy<Value = Literal> {
    let simple = prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Bool),
        any::<u64>().prop_map(Literal::UInt64),
        (i64::MIN..0).prop_map(Literal::Int64),
        any::<f64>().prop_filter("nan has many forms", |v| !v.is_nan()).prop_map(Literal::float),
        Just(Literal::float(f64::NAN)),
        prop::collection::vec(any::<u8>(), 0..6).prop_map(Literal::String),
        "\\PC{0,8}".prop_map(Literal::string),
    ];
    simple.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Literal::Array),
            prop::collection::vec(inner, 2..4).prop_map(Literal::Tuple),
        ]
    })
}

fn operator(name: &str, arguments: Vec<Expression>) -> Expression {
    let mut function = Function::new(name, arguments);
    function.syntax = Written(CallSyntax::Operator);
    Expression::new(ExpressionKind::Function(Box::new(function)), Span::default())
}

/// An operand of AND and OR that is no such chain itself unless it stands in parentheses.
fn parenthesized(mut expression: Expression) -> Expression {
    expression.parenthesized = Written(!matches!(expression.kind, ExpressionKind::Literal(Literal::Tuple(_))));
    expression
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        literal().prop_map(Expression::literal),
        name().prop_map(Expression::identifier),
        (name(), name()).prop_filter("prefixes of JSON subcolumns", |(_, b)| !b.starts_with([':', '^'])).prop_map(
            |(a, b)| {
                Expression::new(
                    ExpressionKind::Identifier(vec![Identifier::new(a), Identifier::new(b)]),
                    Span::default(),
                )
            }
        ),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let binary = prop::sample::select(vec![
            "plus",
            "minus",
            "multiply",
            "divide",
            "modulo",
            "equals",
            "notEquals",
            "less",
            "greater",
            "lessOrEquals",
            "greaterOrEquals",
            "like",
            "notLike",
            "ilike",
            "notILike",
            "in",
            "notIn",
            "globalIn",
            "globalNotIn",
            "isDistinctFrom",
            "isNotDistinctFrom",
            "arrayElement",
        ]);
        let unary = prop::sample::select(vec!["not", "negate", "isNull", "isNotNull"]);
        let aliased = (inner.clone(), name(), any::<bool>())
            .prop_map(
                |(expression, alias, aliased)| {
                    if aliased && expression.alias.is_none() { expression.with_alias(alias) } else { expression }
                },
            )
            .boxed();
        prop_oneof![
            3 => (binary, aliased.clone(), aliased.clone()).prop_map(|(name, a, b)| operator(name, vec![a, b])),
            2 => (unary, aliased.clone()).prop_map(|(name, a)| operator(name, vec![a])),
            1 => (prop::sample::select(vec!["and", "or"]), prop::collection::vec(inner.clone(), 2..4))
                .prop_map(|(name, arguments)| operator(name, arguments.into_iter().map(parenthesized).collect())),
            1 => (inner.clone(), 1..9u64).prop_map(|(tuple, n)| {
                operator("tupleElement", vec![tuple, Expression::literal(Literal::UInt64(n))])
            }),
            1 => prop::collection::vec(aliased.clone(), 2..4)
                .prop_map(|mut items| { items.push(Expression::identifier("a")); operator("tuple", items) }),
            1 => prop::collection::vec(aliased.clone(), 1..4)
                .prop_map(|mut items| { items.push(Expression::identifier("a")); operator("array", items) }),
            2 => ("f[a-z]{1,4}", prop::collection::vec(aliased.clone(), 0..3), any::<bool>(), any::<bool>()).prop_map(
                |(name, arguments, nulls, over)| {
                    let mut function = Function::new(name, arguments);
                    function.nulls = nulls.then_some(NullsAction::Ignore);
                    function.over = over.then(|| Box::new(Over::Definition(WindowDefinition::default())));
                    Expression::new(ExpressionKind::Function(Box::new(function)), Span::default())
                }
            ),
            1 => (prop::collection::vec(name(), 0..3), inner.clone()).prop_map(|(parameters, body)| {
                let parameters = parameters.into_iter().map(Identifier::new).collect();
                let lambda = Lambda { parameters, body, syntax: Written::default() };
                Expression::new(ExpressionKind::Lambda(Box::new(lambda)), Span::default())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn expressions_round_trip(expression in expression()) {
        let text = format_expression(&expression);
        match parse_expression(&text, &ParserLimits::default()) {
            Ok(parsed) => prop_assert!(parsed == expression, "{}\n{}", text, format_expression(&parsed)),
            Err(error) => return Err(TestCaseError::fail(format!("{text}\n{error}"))),
        }
    }
}
