//! Calls: arguments, parameters, FILTER, OVER, and the functions that have a syntax of their own.

use super::expression::call;
use super::{K, Parsed, Parser, T};
use crate::ast::{
    Expression, ExpressionKind, FrameBound, FrameUnit, Function, Identifier, Lambda, Literal, MatchedColumns,
    NullsAction, Over, WindowDefinition, WindowFrame, Written,
};
use crate::format::format_data_type;

impl Parser<'_> {
    /// A call whose name is read already and which has a parenthesis next.
    pub(super) fn function_call(&mut self, name: Identifier) -> Parsed<Expression> {
        let start = name.span.start;
        self.enter(2)?;
        let before = self.grow();
        let mut function = Function::new("", Vec::new());
        function.name_span = name.span;
        function.name = name.value;
        let distinct = self.arguments(&mut function)?;
        if !distinct && self.at(T::OpenRound) {
            function.parameters = Some(std::mem::take(&mut function.arguments));
            self.arguments(&mut function)?;
        }
        loop {
            if function.nulls.is_none() && self.keywords(&[K::RESPECT, K::NULLS], "RESPECT NULLS") {
                function.nulls = Some(NullsAction::Respect);
            } else if function.nulls.is_none() && self.keywords(&[K::IGNORE, K::NULLS], "IGNORE NULLS") {
                function.nulls = Some(NullsAction::Ignore);
            } else if self.at_keyword(K::FILTER)
                && self.ahead(1).kind == T::OpenRound
                && self.keyword_ahead(2, K::WHERE)
            {
                self.advance();
                self.advance();
                self.advance();
                let condition = self.expression()?;
                self.need(T::CloseRound)?;
                // `count(*) FILTER (…)` is `countIf(…)`.
                if let [only] = function.arguments.as_slice()
                    && matches!(&only.kind, ExpressionKind::Matcher(m) if m.columns == MatchedColumns::All && m.qualifier.is_empty())
                {
                    function.arguments.clear();
                }
                function.name.push_str("If");
                function.arguments.push(condition);
            } else if self.at_keyword(K::OVER)
                && matches!(self.ahead(1).kind, T::OpenRound | T::Word | T::QuotedIdentifier)
            {
                self.advance();
                function.over = Some(Box::new(self.over()?));
                break;
            } else {
                break;
            }
        }
        self.leave(2);
        self.grown(before, 2)?;
        let span = self.span_from(start);
        let kind = match lambda_of(&mut function) {
            Some(lambda) => ExpressionKind::Lambda(Box::new(lambda)),
            None => ExpressionKind::Function(Box::new(function)),
        };
        Ok(Expression::new(kind, span))
    }

    /// `(arguments)`. Whether they are `DISTINCT`, which becomes part of the name.
    fn arguments(&mut self, function: &mut Function) -> Parsed<bool> {
        self.need(T::OpenRound)?;
        if self.accept(T::CloseRound) {
            return Ok(false);
        }
        let next = self.ahead(1).kind;
        let distinct = self.at_keyword(K::DISTINCT) && !matches!(next, T::Comma | T::CloseRound | T::Dot | T::Equals);
        if distinct {
            self.advance();
            function.name.push_str("Distinct");
        } else if self.at_keyword(K::ALL)
            && !matches!(next, T::Comma | T::CloseRound | T::Dot | T::Equals | T::OpenRound)
        {
            self.advance();
        }
        let takes_query = ["view", "viewIfPermitted"].iter().any(|n| function.name.eq_ignore_ascii_case(n));
        if takes_query && matches!(self.peek().keyword, K::SELECT | K::WITH | K::FROM) {
            let start = self.start();
            let query = self.query_without_output()?;
            self.height += 3;
            let span = self.span_from(start);
            function.arguments.push(Expression::new(ExpressionKind::Subquery(Box::new(query)), span));
            if self.keyword(K::ELSE) {
                function.arguments.push(self.expression()?);
            }
            self.need(T::CloseRound)?;
            return Ok(false);
        }
        loop {
            if self.at_keyword(K::SETTINGS) && self.ahead(1).kind == T::Word && self.ahead(2).kind == T::Equals {
                self.advance();
                function.settings = self.settings()?;
                break;
            }
            let argument = self.expression()?;
            function.arguments.push(argument);
            with_names_before(&mut function.arguments);
            if !self.accept(T::Comma) {
                break;
            }
        }
        self.need(T::CloseRound)?;
        Ok(distinct)
    }

    /// `name` or `name(arguments)`, as in engines and codecs.
    pub(super) fn bare_or_call(&mut self) -> Parsed<Function> {
        let start = self.start();
        let name = Identifier { value: self.dotted_name()?, parameter: false, span: self.span_from(start) };
        if self.at(T::OpenRound) {
            return self.function_with_settings(name);
        }
        let mut function = Function::new(name.value, Vec::new());
        function.name_span = name.span;
        function.syntax.0 = crate::ast::CallSyntax::Bare;
        Ok(function)
    }

    /// A plain call whose name is read already: a table function, an engine, `disk(type = …)`.
    pub(super) fn function_with_settings(&mut self, name: Identifier) -> Parsed<Function> {
        self.enter(2)?;
        let before = self.grow();
        let mut function = Function::new("", Vec::new());
        function.name_span = name.span;
        function.name = name.value;
        // A list that follows is that of an INSERT's columns: table functions have no parameters.
        self.arguments(&mut function)?;
        self.leave(2);
        self.grown(before, 2)?;
        Ok(function)
    }

    /// `OVER name` or `OVER (…)`, the word read already.
    fn over(&mut self) -> Parsed<Over> {
        if self.at(T::OpenRound) {
            self.window_definition().map(Over::Definition)
        } else {
            self.identifier().map(Over::Name)
        }
    }

    /// `([parent] [PARTITION BY …] [ORDER BY …] [frame])`.
    pub(super) fn window_definition(&mut self) -> Parsed<WindowDefinition> {
        self.need(T::OpenRound)?;
        let mut window = WindowDefinition::default();
        let token = self.peek();
        let clause = match token.keyword {
            K::PARTITION | K::ORDER => self.keyword_ahead(1, K::BY),
            K::ROWS | K::RANGE | K::GROUPS => !matches!(self.ahead(1).kind, T::CloseRound),
            _ => false,
        };
        if matches!(token.kind, T::Word | T::QuotedIdentifier) && !clause {
            window.parent = Some(self.identifier()?);
        }
        if self.keywords(&[K::PARTITION, K::BY], "PARTITION BY") {
            window.partition_by = self.list(|p| p.expression())?;
        }
        if self.keywords(&[K::ORDER, K::BY], "ORDER BY") {
            window.order_by = Some(self.order_by()?);
        }
        let unit = if self.keyword(K::ROWS) {
            Some(FrameUnit::Rows)
        } else if self.keyword(K::RANGE) {
            Some(FrameUnit::Range)
        } else if self.keyword(K::GROUPS) {
            Some(FrameUnit::Groups)
        } else {
            None
        };
        if let Some(unit) = unit {
            let (begin, end) = if self.keyword(K::BETWEEN) {
                let begin = self.frame_bound()?;
                self.need_keyword(K::AND)?;
                (begin, self.frame_bound()?)
            } else {
                (self.frame_bound()?, FrameBound::CurrentRow)
            };
            window.frame = Some(WindowFrame { unit, begin, end });
        }
        self.need(T::CloseRound)?;
        Ok(window)
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.keywords(&[K::CURRENT, K::ROW], "CURRENT ROW") {
            return Ok(FrameBound::CurrentRow);
        }
        if self.keyword(K::UNBOUNDED) {
            if self.keyword(K::PRECEDING) {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.need_keyword(K::FOLLOWING)?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let amount = self.expression()?;
        if self.keyword(K::PRECEDING) {
            return Ok(FrameBound::Preceding(amount));
        }
        self.need_keyword(K::FOLLOWING)?;
        Ok(FrameBound::Following(amount))
    }

    /// A function with a syntax of its own; none when it is an ordinary call after all.
    pub(super) fn special_function(&mut self, keyword: K) -> Parsed<Option<Expression>> {
        match keyword {
            K::CAST => self.special(|p| p.cast()),
            K::EXTRACT => self.special(|p| p.extract()),
            K::SUBSTRING => self.special(|p| p.substring()),
            K::POSITION => self.special(|p| p.position_of()),
            K::TRIM => self.special(|p| p.trim()),
            K::LTRIM => self.renamed("trimLeft").map(Some),
            K::RTRIM => self.renamed("trimRight").map(Some),
            K::OVERLAY => self.special(|p| p.overlay()),
            K::EXISTS => self.special(|p| p.exists()),
            K::COLUMNS => {
                let start = self.start();
                self.advance();
                self.columns_matcher(Vec::new(), start).map(Some)
            }
            K::DATE_ADD | K::DATEADD | K::TIMESTAMP_ADD | K::TIMESTAMPADD => {
                self.special(|p| p.date_arithmetic("plus"))
            }
            K::DATE_SUB | K::DATESUB | K::TIMESTAMP_SUB | K::TIMESTAMPSUB => {
                self.special(|p| p.date_arithmetic("minus"))
            }
            K::DATE_DIFF | K::DATEDIFF | K::TIMESTAMP_DIFF | K::TIMESTAMPDIFF => self.special(|p| p.date_diff()),
            _ => Ok(None),
        }
    }

    /// Tries a syntax of its own, the name and the parenthesis being here.
    fn special(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<Expression>) -> Parsed<Option<Expression>> {
        self.enter(2)?;
        let tried = self.attempt(|p| {
            let before = p.grow();
            p.advance();
            p.advance();
            let expression = rule(p)?;
            p.need(T::CloseRound)?;
            p.grown(before, 2)?;
            Ok(expression)
        })?;
        self.leave(2);
        Ok(tried.map(|mut expression| {
            expression.span = expression.span.to(self.span_from(expression.span.start));
            expression
        }))
    }

    /// An ordinary call of a function that has another name.
    fn renamed(&mut self, name: &str) -> Parsed<Expression> {
        let mut identifier = self.identifier()?;
        identifier.value = name.to_string();
        self.function_call(identifier)
    }

    /// Offset of the function's name, the name and the parenthesis being read.
    fn special_start(&mut self) -> u32 {
        let here = self.start();
        self.token_before(2).map_or(here, |t| t.start)
    }

    /// `CAST(x AS Type)`, `CAST(x, 'Type')`.
    fn cast(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let mut value = self.expression()?;
        if self.accept(T::Comma) {
            let data_type = self.expression()?;
            return Ok(call("CAST", vec![value, data_type], self.span_from(start)));
        }
        // What follows AS was taken for an alias if it is one word: `CAST(x AS UInt8)`.
        let data_type = match value.alias.take() {
            Some(alias) => {
                self.rewind_to(alias.span.start);
                match self.attempt(|p| {
                    let data_type = p.data_type()?;
                    if p.at(T::CloseRound) { Ok(data_type) } else { p.fail("ClosingRoundBracket") }
                })? {
                    Some(data_type) => data_type,
                    // `CAST(x AS alias AS UInt8)`, `CAST(x AS alias, 'UInt8')`.
                    None => {
                        value.alias = Some(Box::new(self.identifier()?));
                        if self.accept(T::Comma) {
                            let data_type = self.expression()?;
                            return Ok(call("CAST", vec![value, data_type], self.span_from(start)));
                        }
                        self.need_keyword(K::AS)?;
                        self.data_type()?
                    }
                }
            }
            None => {
                self.need_keyword(K::AS)?;
                self.data_type()?
            }
        };
        let text = Literal::string(format_data_type(&data_type));
        let text = Expression::new(ExpressionKind::Literal(text), data_type.span);
        Ok(call("CAST", vec![value, text], self.span_from(start)))
    }

    /// `EXTRACT(unit FROM x)`.
    fn extract(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let token = self.peek();
        let word = self.bytes(token).to_ascii_lowercase();
        let name = match word.as_slice() {
            b"epoch" => "toUnixTimestamp",
            b"dow" | b"isodow" => "toDayOfWeek",
            b"doy" => "toDayOfYear",
            b"isoyear" => "toISOYear",
            b"century" => "toCentury",
            b"decade" => "toDecade",
            b"millennium" => "toMillennium",
            _ => match super::expression::interval_unit(token.keyword) {
                Some(unit) => match unit.name() {
                    "Second" => "toSecond",
                    "Minute" => "toMinute",
                    "Hour" => "toHour",
                    "Day" => "toDayOfMonth",
                    "Week" => "toISOWeek",
                    "Month" => "toMonth",
                    "Quarter" => "toQuarter",
                    "Year" => "toYear",
                    "Millisecond" => "toMillisecond",
                    "Microsecond" => "toMicrosecond",
                    _ => "toNanosecond",
                },
                None => return self.fail("interval unit"),
            },
        };
        self.advance();
        self.need_keyword(K::FROM)?;
        let value = self.expression()?;
        Ok(call(name, vec![value], self.span_from(start)))
    }

    /// `SUBSTRING(x FROM n [FOR m])`.
    fn substring(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let mut arguments = vec![self.expression()?];
        self.need_keyword(K::FROM)?;
        arguments.push(self.expression()?);
        if self.keyword(K::FOR) {
            arguments.push(self.expression()?);
        }
        Ok(call("substring", arguments, self.span_from(start)))
    }

    /// `POSITION(needle IN haystack)`.
    fn position_of(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let found = self.expression()?;
        if self.at(T::CloseRound)
            && found.alias.is_none()
            && let ExpressionKind::Function(function) = found.kind
            && function.name == "in"
            && matches!(function.syntax.0, crate::ast::CallSyntax::Operator)
            && let Ok([needle, haystack]) = <[Expression; 2]>::try_from(function.arguments)
        {
            return Ok(call("position", vec![haystack, needle], self.span_from(start)));
        }
        self.fail("IN")
    }

    /// `TRIM([BOTH | LEADING | TRAILING what FROM] x [, what])`.
    fn trim(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let next = self.ahead(1).kind;
        let side = match self.peek().keyword {
            K::BOTH => Some("trimBoth"),
            K::LEADING => Some("trimLeft"),
            K::TRAILING => Some("trimRight"),
            _ => None,
        };
        if let Some(name) = side
            && !matches!(next, T::CloseRound | T::Comma)
        {
            self.advance();
            let what = self.expression()?;
            self.need_keyword(K::FROM)?;
            let value = self.expression()?;
            return Ok(call(name, vec![value, what], self.span_from(start)));
        }
        let arguments = if self.at(T::CloseRound) { Vec::new() } else { self.list(|p| p.expression())? };
        Ok(call("trimBoth", arguments, self.span_from(start)))
    }

    /// `OVERLAY(x PLACING y FROM n [FOR m])`.
    fn overlay(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let mut arguments = vec![self.expression()?];
        self.need_keyword(K::PLACING)?;
        arguments.push(self.expression()?);
        self.need_keyword(K::FROM)?;
        arguments.push(self.expression()?);
        if self.keyword(K::FOR) {
            arguments.push(self.expression()?);
        }
        Ok(call("overlay", arguments, self.span_from(start)))
    }

    /// `EXISTS(SELECT …)`.
    fn exists(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        if !matches!(self.peek().keyword, K::SELECT | K::WITH | K::FROM) && !self.at(T::OpenRound) {
            return self.fail("SELECT");
        }
        let from = self.start();
        let query = self.query_without_output()?;
        self.height += 3;
        let subquery = Expression::new(ExpressionKind::Subquery(Box::new(query)), self.span_from(from));
        Ok(call("exists", vec![subquery], self.span_from(start)))
    }

    /// `DATE_ADD(unit, amount, x)`, `DATE_ADD(x, INTERVAL …)`.
    fn date_arithmetic(&mut self, name: &'static str) -> Parsed<Expression> {
        let start = self.special_start();
        let unit = if self.ahead(1).kind == T::Comma {
            self.attempt(|p| match p.interval_unit() {
                Some(unit) => Ok(unit),
                None => p.fail("interval unit"),
            })?
        } else {
            None
        };
        if let Some(unit) = unit {
            self.need(T::Comma)?;
            let amount = self.expression()?;
            self.need(T::Comma)?;
            let value = self.expression()?;
            let span = self.span_from(start);
            let interval = call(&format!("toInterval{}", unit.name()), vec![amount], span);
            self.height += 2;
            return Ok(call(name, vec![value, interval], span));
        }
        let value = self.expression()?;
        self.need(T::Comma)?;
        let interval = self.expression()?;
        if !self.at(T::CloseRound) {
            return self.fail("ClosingRoundBracket");
        }
        Ok(call(name, vec![value, interval], self.span_from(start)))
    }

    /// `DATE_DIFF(unit, a, b)`.
    fn date_diff(&mut self) -> Parsed<Expression> {
        let start = self.special_start();
        let unit_span = self.start();
        let unit = if self.at(T::String) {
            self.expression()?
        } else {
            if self.ahead(1).kind != T::Comma {
                return self.fail("interval unit");
            }
            let Some(unit) = self.interval_unit() else { return self.fail("interval unit") };
            let text = Literal::string(unit.name().to_ascii_lowercase());
            Expression::new(ExpressionKind::Literal(text), self.span_from(unit_span))
        };
        let mut arguments = vec![unit];
        while self.accept(T::Comma) {
            arguments.push(self.expression()?);
        }
        Ok(call("dateDiff", arguments, self.span_from(start)))
    }
}

/// What `lambda(tuple(x), x + 1)` means: `x -> x + 1`. Other calls are left as they are.
fn lambda_of(function: &mut Function) -> Option<Lambda> {
    if function.name != "lambda" || function.parameters.is_some() || function.over.is_some() {
        return None;
    }
    let [parameters, _] = function.arguments.as_slice() else { return None };
    let ExpressionKind::Function(tuple) = &parameters.kind else { return None };
    if tuple.name != "tuple" {
        return None;
    }
    let name = |argument: &Expression| match &argument.kind {
        ExpressionKind::Identifier(parts) if argument.alias.is_none() => match parts.as_slice() {
            [name] => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let parameters = tuple.arguments.iter().map(name).collect::<Option<Vec<_>>>()?;
    let syntax = Written(Some(tuple.syntax.0));
    Some(Lambda { parameters, body: function.arguments.pop()?, syntax })
}

/// Makes `x, y -> x + y` what `(x, y) -> x + y` is: names in front of a lambda without parentheses are its parameters too.
fn with_names_before(arguments: &mut Vec<Expression>) {
    let Some((last, before)) = arguments.split_last() else { return };
    let ExpressionKind::Lambda(lambda) = &last.kind else { return };
    let is_arrow = lambda.syntax.0.is_none();
    if before.is_empty() || !is_arrow || lambda.parameters.len() != 1 || last.alias.is_some() || last.parenthesized.0 {
        return;
    }
    let name = |expression: &Expression| match &expression.kind {
        ExpressionKind::Identifier(parts) if expression.alias.is_none() => match &parts[..] {
            [name] => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let Some(mut parameters) = before.iter().map(name).collect::<Option<Vec<_>>>() else { return };
    let start = before.first().map_or(last.span.start, |first| first.span.start);
    let Some(mut last) = arguments.pop() else { return };
    if let ExpressionKind::Lambda(lambda) = &mut last.kind {
        parameters.append(&mut lambda.parameters);
        lambda.parameters = parameters;
    }
    last.span.start = start;
    *arguments = vec![last];
}
