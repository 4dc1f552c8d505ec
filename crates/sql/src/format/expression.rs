//! Expressions as text. Operators inside operators stand in parentheses, so that no reader needs to know the precedence.

use super::Writer;
use crate::ast::{
    CallSyntax, ColumnTransformer, Expression, ExpressionKind, FrameBound, FrameUnit, Function, Identifier, Lambda,
    Literal, MatchedColumns, Matcher, NullsAction, Over, WindowDefinition,
};

/// Operators with two sides, as ClickHouse writes them.
fn binary(name: &str) -> Option<&'static str> {
    Some(match name {
        "plus" => " + ",
        "minus" => " - ",
        "multiply" => " * ",
        "divide" => " / ",
        "modulo" => " % ",
        "equals" => " = ",
        "notEquals" => " != ",
        "less" => " < ",
        "greater" => " > ",
        "lessOrEquals" => " <= ",
        "greaterOrEquals" => " >= ",
        "like" => " LIKE ",
        "notLike" => " NOT LIKE ",
        "ilike" => " ILIKE ",
        "notILike" => " NOT ILIKE ",
        "in" => " IN ",
        "notIn" => " NOT IN ",
        "globalIn" => " GLOBAL IN ",
        "globalNotIn" => " GLOBAL NOT IN ",
        "isDistinctFrom" => " IS DISTINCT FROM ",
        "isNotDistinctFrom" => " <=> ",
        _ => return None,
    })
}

impl Writer {
    /// An expression with its alias. `nested`: it is the operand of an operator.
    pub(super) fn expression(&mut self, expression: &Expression, nested: bool) {
        let Some(alias) = &expression.alias else { return self.unaliased(expression, nested) };
        if nested {
            self.text("(");
            self.kind(expression, false);
        } else {
            self.unaliased(expression, false);
        }
        self.text(" AS ");
        self.identifier(alias);
        if nested {
            self.text(")");
        }
    }

    fn unaliased(&mut self, expression: &Expression, nested: bool) {
        let own =
            expression.parenthesized.0 && !self.is_explicit && !matches!(expression.kind, ExpressionKind::Subquery(_));
        if own {
            self.text("(");
            self.kind(expression, false);
            self.text(")");
        } else {
            self.kind(expression, nested);
        }
    }

    fn kind(&mut self, expression: &Expression, nested: bool) {
        match &expression.kind {
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::Identifier(parts) => self.compound(parts),
            ExpressionKind::Function(function) => self.function(function, nested),
            ExpressionKind::Lambda(lambda) => {
                let is_call = self.is_explicit || lambda.syntax.0.is_some();
                let wrap = (nested || self.wrap_lambdas) && !expression.parenthesized.0 && !is_call;
                if wrap {
                    self.text("(");
                }
                self.lambda(lambda);
                if wrap {
                    self.text(")");
                }
            }
            ExpressionKind::Subquery(query) => self.block(|w| w.query(query)),
            ExpressionKind::Parameter(parameter) => {
                self.text("{");
                self.name(&parameter.name);
                self.text(":");
                self.text(&parameter.data_type);
                self.text("}");
            }
            ExpressionKind::Matcher(matcher) => {
                // A lambda at the end would take the operator behind it for its own.
                let wrap_lambdas = self.wrap_lambdas;
                self.wrap_lambdas |= nested;
                self.matcher(matcher);
                self.wrap_lambdas = wrap_lambdas;
            }
        }
    }

    /// `a.b.c`.
    pub(super) fn compound(&mut self, parts: &[Identifier]) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.text(".");
                // Subcolumns of JSON keep their prefix outside the quotes.
                if let Some(prefix) = part.value.chars().next().filter(|c| matches!(c, ':' | '^'))
                    && !part.parameter
                    && part.value.len() > 1
                {
                    self.text(if prefix == ':' { ":" } else { "^" });
                    self.name(part.value.get(1..).unwrap_or(""));
                    continue;
                }
            } else {
                self.operand_name(part);
                continue;
            }
            self.identifier(part);
        }
    }

    /// A name where an operand may begin: some words would be read as something else.
    fn operand_name(&mut self, name: &Identifier) {
        if !name.parameter && ["not", "infinity"].iter().any(|word| name.value.eq_ignore_ascii_case(word)) {
            self.quoted(&name.value);
        } else {
            self.identifier(name);
        }
    }

    /// The arguments of a call. Names before a lambda would be its parameters, so that it stands in parentheses.
    fn arguments(&mut self, arguments: &[Expression]) {
        let is_name = |argument: &Expression| {
            argument.alias.is_none() && matches!(&argument.kind, ExpressionKind::Identifier(parts) if parts.len() == 1)
        };
        match arguments.split_last() {
            Some((last, before))
                if !before.is_empty()
                    && matches!(last.kind, ExpressionKind::Lambda(_))
                    && before.iter().all(is_name) =>
            {
                self.expressions(before);
                self.text(", ");
                self.expression(last, true);
            }
            _ => self.expressions(arguments),
        }
    }

    pub(super) fn expressions(&mut self, items: &[Expression]) {
        let wrap_lambdas = std::mem::take(&mut self.wrap_lambdas);
        self.joined(items, ", ", |w, item| w.expression(item, false));
        self.wrap_lambdas = wrap_lambdas;
    }

    fn lambda(&mut self, lambda: &Lambda) {
        if self.is_explicit || lambda.syntax.0.is_some() {
            let is_plain = lambda.syntax.0 == Some(CallSyntax::Operator) && lambda.parameters.len() > 1;
            self.text(if is_plain && !self.is_explicit { "lambda((" } else { "lambda(tuple(" });
            self.joined(&lambda.parameters, ", ", |w, parameter| w.operand_name(parameter));
            self.text("), ");
            self.expression(&lambda.body, false);
            return self.text(")");
        }
        match lambda.parameters.as_slice() {
            [only] => self.operand_name(only),
            many => {
                self.text("(");
                self.joined(many, ", ", |w, parameter| w.operand_name(parameter));
                self.text(")");
            }
        }
        self.text(" -> ");
        self.expression(&lambda.body, true);
    }

    /// A call, as an operator when it was written as one.
    pub(super) fn function(&mut self, function: &Function, nested: bool) {
        if matches!(function.syntax.0, CallSyntax::Bare)
            && function.arguments.is_empty()
            && function.parameters.is_none()
        {
            return self.dotted(&function.name);
        }
        let plain = function.over.is_none() && function.nulls.is_none() && function.parameters.is_none();
        let may_be_operator = matches!(function.syntax.0, CallSyntax::Operator) && !self.is_explicit;
        if may_be_operator && plain && self.operator(function, nested) {
            return;
        }
        self.call(function);
    }

    /// Writes a call as an operator; false when it cannot be written so.
    fn operator(&mut self, function: &Function, nested: bool) -> bool {
        let name = function.name.as_str();
        let open = |w: &mut Self| {
            if nested {
                w.text("(");
            }
        };
        let close = |w: &mut Self| {
            if nested {
                w.text(")");
            }
        };
        match (name, function.arguments.as_slice()) {
            ("negate", [operand]) => {
                open(self);
                self.text("-");
                // `--` would begin a comment, and `-1` would be a literal.
                let bare = matches!(operand.kind, ExpressionKind::Literal(_))
                    && !operand.parenthesized.0
                    && operand.alias.is_none();
                if bare {
                    self.text("(");
                }
                self.expression(operand, true);
                if bare {
                    self.text(")");
                }
                close(self);
            }
            ("not", [operand]) => {
                open(self);
                self.text("NOT ");
                self.expression(operand, true);
                close(self);
            }
            ("isNull", [operand]) => {
                open(self);
                self.expression(operand, true);
                self.text(" IS NULL");
                close(self);
            }
            ("isNotNull", [operand]) => {
                open(self);
                self.expression(operand, true);
                self.text(" IS NOT NULL");
                close(self);
            }
            ("and" | "or", [_, _, ..]) => {
                open(self);
                let separator = if name == "and" { " AND " } else { " OR " };
                self.joined(&function.arguments, separator, |w, argument| w.expression(argument, true));
                close(self);
            }
            ("tuple", [_, _, ..]) => {
                self.text("(");
                self.expressions(&function.arguments);
                self.text(")");
            }
            ("array", arguments) => {
                self.text("[");
                self.expressions(arguments);
                self.text("]");
            }
            ("arrayElement", [array, index]) => {
                open(self);
                self.expression(array, true);
                self.text("[");
                self.expression(index, false);
                self.text("]");
                close(self);
            }
            ("tupleElement", [tuple, index]) => {
                let position = match &index.kind {
                    ExpressionKind::Literal(Literal::UInt64(position)) if index.alias.is_none() => *position,
                    _ => return false,
                };
                let number = matches!(&tuple.kind, ExpressionKind::Literal(value) if !matches!(value, Literal::Tuple(_) | Literal::Array(_)));
                if number && !tuple.parenthesized.0 {
                    return false;
                }
                open(self);
                let is_tuple = matches!(&tuple.kind, ExpressionKind::Function(f)
                    if f.name == "tuple" && f.arguments.len() > 1 && matches!(f.syntax.0, CallSyntax::Operator));
                let is_call =
                    matches!(tuple.kind, ExpressionKind::Function(_) | ExpressionKind::Lambda(_)) && !is_tuple;
                let wrap = is_call && !tuple.parenthesized.0 && tuple.alias.is_none();
                if wrap {
                    self.text("(");
                }
                self.expression(tuple, !wrap);
                if wrap {
                    self.text(")");
                }
                self.text(&format!(".{position}"));
                close(self);
            }
            ("in" | "notIn" | "globalIn" | "globalNotIn", [left, right]) => {
                open(self);
                self.expression(left, true);
                self.text(binary(name).unwrap_or(" IN "));
                let wrapped = match &right.kind {
                    ExpressionKind::Literal(Literal::Tuple(_) | Literal::Array(_)) | ExpressionKind::Subquery(_) => {
                        true
                    }
                    ExpressionKind::Function(f) => {
                        matches!(f.name.as_str(), "tuple" | "array")
                            || right.parenthesized.0
                            || !matches!(f.syntax.0, CallSyntax::Operator)
                    }
                    _ => right.parenthesized.0,
                } || right.alias.is_some();
                if !wrapped {
                    self.text("(");
                }
                // An alias belongs into the parentheses.
                self.expression(right, right.alias.is_some());
                if !wrapped {
                    self.text(")");
                }
                close(self);
            }
            (name, [left, right]) => {
                let Some(symbol) = binary(name) else { return false };
                open(self);
                self.expression(left, true);
                self.text(symbol);
                self.expression(right, true);
                close(self);
            }
            _ => return false,
        }
        true
    }

    /// `name(parameters)(arguments)`.
    fn call(&mut self, function: &Function) {
        if self.is_explicit && function.name == "not" {
            self.text("not");
        } else if has_own_syntax(&function.name) {
            self.quoted(&function.name);
        } else {
            self.name(&function.name);
        }
        if let Some(parameters) = &function.parameters {
            self.text("(");
            self.expressions(parameters);
            self.text(")");
        }
        self.text("(");
        let view = matches!(function.name.as_str(), "view" | "viewIfPermitted");
        if let (true, [Expression { kind: ExpressionKind::Subquery(query), alias: None, .. }, rest @ ..]) =
            (view, function.arguments.as_slice())
        {
            self.indented(|w| {
                w.break_line();
                w.query(query);
            });
            self.break_line();
            if let [otherwise] = rest {
                self.text(" ELSE ");
                self.expression(otherwise, false);
            }
        } else {
            self.arguments(&function.arguments);
        }
        if !function.settings.is_empty() {
            if !function.arguments.is_empty() {
                self.text(", ");
            }
            self.text("SETTINGS ");
            self.settings(&function.settings);
        }
        self.text(")");
        match function.nulls {
            Some(NullsAction::Respect) => self.text(" RESPECT NULLS"),
            Some(NullsAction::Ignore) => self.text(" IGNORE NULLS"),
            None => {}
        }
        match function.over.as_deref() {
            Some(Over::Name(name)) => {
                self.text(" OVER ");
                self.identifier(name);
            }
            Some(Over::Definition(definition)) => {
                self.text(" OVER (");
                self.window(definition);
                self.text(")");
            }
            None => {}
        }
    }

    /// What stands between the parentheses of a window.
    pub(super) fn window(&mut self, window: &WindowDefinition) {
        let mut space = "";
        if let Some(parent) = &window.parent {
            self.identifier(parent);
            space = " ";
        }
        if !window.partition_by.is_empty() {
            self.text(space);
            self.text("PARTITION BY ");
            self.expressions(&window.partition_by);
            space = " ";
        }
        if let Some(order_by) = &window.order_by {
            self.text(space);
            self.text("ORDER BY ");
            self.joined(&order_by.items, ", ", |w, item| w.order_by_item(item, order_by.all));
            space = " ";
        }
        if let Some(frame) = &window.frame {
            self.text(space);
            self.text(match frame.unit {
                FrameUnit::Rows => "ROWS BETWEEN ",
                FrameUnit::Range => "RANGE BETWEEN ",
                FrameUnit::Groups => "GROUPS BETWEEN ",
            });
            self.frame_bound(&frame.begin);
            self.text(" AND ");
            self.frame_bound(&frame.end);
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::CurrentRow => self.text("CURRENT ROW"),
            FrameBound::UnboundedPreceding => self.text("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.text("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding(amount) => {
                self.expression(amount, true);
                self.text(" PRECEDING");
            }
            FrameBound::Following(amount) => {
                self.expression(amount, true);
                self.text(" FOLLOWING");
            }
        }
    }

    fn matcher(&mut self, matcher: &Matcher) {
        if !matcher.qualifier.is_empty() {
            self.compound(&matcher.qualifier);
            self.text(".");
        }
        match &matcher.columns {
            MatchedColumns::All => self.text("*"),
            MatchedColumns::Regexp(regexp) => {
                self.text("COLUMNS(");
                self.string(regexp);
                self.text(")");
            }
            MatchedColumns::List(columns) => {
                self.text("COLUMNS(");
                self.expressions(columns);
                self.text(")");
            }
        }
        for transformer in &matcher.transformers {
            self.text(" ");
            self.transformer(transformer);
        }
    }

    fn transformer(&mut self, transformer: &ColumnTransformer) {
        match transformer {
            ColumnTransformer::ApplyFunction { name, parameters, prefix } => {
                self.text(if prefix.is_some() { "APPLY(" } else { "APPLY " });
                self.name(name);
                if !parameters.is_empty() {
                    self.text("(");
                    self.expressions(parameters);
                    self.text(")");
                }
                self.prefix(prefix);
            }
            ColumnTransformer::ApplyLambda { lambda, prefix } => {
                self.text(if prefix.is_some() { "APPLY(" } else { "APPLY " });
                let wrap = prefix.is_none() && self.wrap_lambdas;
                if wrap {
                    self.text("(");
                }
                self.lambda(lambda);
                if wrap {
                    self.text(")");
                }
                self.prefix(prefix);
            }
            ColumnTransformer::Except { columns, strict } => {
                self.text(if *strict { "EXCEPT STRICT " } else { "EXCEPT " });
                match columns.as_slice() {
                    [only] => self.nested(only),
                    many => {
                        self.text("(");
                        self.joined(many, ", ", |w, column| w.nested(column));
                        self.text(")");
                    }
                }
            }
            ColumnTransformer::ExceptRegexp(regexp) => {
                self.text("EXCEPT ");
                self.string(regexp);
            }
            ColumnTransformer::Replace { items, strict } => {
                self.text(if *strict { "REPLACE STRICT (" } else { "REPLACE (" });
                self.joined(items, ", ", |w, (expression, name)| {
                    w.expression(expression, false);
                    w.text(" AS ");
                    w.identifier(name);
                });
                self.text(")");
            }
        }
    }

    fn prefix(&mut self, prefix: &Option<String>) {
        if let Some(prefix) = prefix {
            self.text(", ");
            self.string(prefix);
            self.text(")");
        }
    }
}

/// Names that a call can only have in quotes, because the parser reads what is written with them as other functions.
fn has_own_syntax(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "cast",
        "columns",
        "date_add",
        "date_diff",
        "date_sub",
        "dateadd",
        "datediff",
        "datesub",
        "exists",
        "ltrim",
        "on",
        "not",
        "rtrim",
        "timestamp_add",
        "timestamp_diff",
        "timestamp_sub",
        "timestampadd",
        "timestampdiff",
        "timestampsub",
        "trim",
    ];
    NAMES.iter().any(|other| other.eq_ignore_ascii_case(name)) && !matches!(name, "CAST" | "dateDiff" | "exists")
}
