//! SELECT and what combines SELECTs.

use super::expression::{call, is_restricted_alias};
use super::{K, Parsed, Parser, T};
use crate::ast::{
    ArrayJoin, Expression, ExpressionKind, From, FromStep, GroupBy, Identifier, InterpolateItem, IntoOutfile, Join,
    JoinConstraint, JoinKind, JoinLocality, JoinStrictness, Limit, LimitBy, Literal, MatchedColumns, Matcher,
    NamedWindow, OrderBy, OrderByItem, OutfileMode, Output, Query, QueryBody, Ratio, Sample, Select, SetOperation,
    SetOperator, SetQuantifier, Span, TableExpression, TableName, TableSource, WithFill, WithItem,
};
use crate::error::{
    BAD_ARGUMENTS, OFFSET_FETCH_WITHOUT_ORDER_BY, SYNTAX_ERROR, TOP_AND_LIMIT_TOGETHER, WITH_TIES_WITHOUT_ORDER_BY,
};
use crate::format::format_settings;

impl Parser<'_> {
    /// A query with its output clauses.
    pub(super) fn query(&mut self) -> Parsed<Query> {
        let mut query = self.query_without_output()?;
        query.output = self.output()?;
        query.span = self.span_from(query.span.start);
        Ok(query)
    }

    /// A query without `INTO OUTFILE`, `FORMAT` and the settings after them.
    pub(super) fn query_without_output(&mut self) -> Parsed<Query> {
        self.enter(8)?;
        let start = self.start();
        let (before, settings_before) = (self.grow(), self.settings_met.len());
        let body = self.set_operations()?;
        self.leave(8);
        self.grown(before, 3)?;
        // Settings that cut a result are about that of the query which names them, and not of those around it.
        let mut settings_within = self.settings_met.split_off(settings_before);
        settings_within.retain(|setting| !setting.cuts_result());
        self.settings_met.extend_from_slice(&settings_within);
        settings_within.extend(body.settings().iter().filter(|setting| setting.cuts_result()).cloned());
        Ok(Query { settings_within, ..Query::of(body, self.span_from(start)) })
    }

    /// Whether a query begins here.
    pub(super) fn at_query(&mut self) -> bool {
        let mut ahead = 0;
        while self.ahead(ahead).kind == T::OpenRound {
            ahead += 1;
        }
        matches!(self.ahead(ahead).keyword, K::SELECT | K::WITH | K::FROM) && self.ahead(ahead).kind == T::Word
    }

    /// `(query)`, when a parenthesis is here and a query is in it; what looks like one but is not is left alone.
    pub(super) fn subquery(&mut self) -> Parsed<Option<Query>> {
        let position = self.position;
        let mut ahead = 1;
        while self.ahead(ahead).kind == T::OpenRound {
            ahead += 1;
        }
        let first = self.ahead(ahead);
        let may = match first.keyword {
            K::SELECT | K::WITH | K::FROM => !matches!(self.ahead(ahead + 1).kind, T::Comma | T::CloseRound | T::Dot),
            K::EXPLAIN => ahead == 1 && self.ahead(ahead + 1).kind == T::Word,
            _ => false,
        };
        if !may || self.not_subqueries.contains(&position) {
            return Ok(None);
        }
        let explain = first.keyword == K::EXPLAIN;
        let query = self.attempt(|p| {
            p.advance();
            let query = if explain { p.explain_as_table()? } else { p.query_without_output()? };
            p.need(T::CloseRound)?;
            Ok(query)
        })?;
        if query.is_none() {
            self.not_subqueries.push(position);
        }
        Ok(query)
    }

    /// `EXPLAIN …` as `SELECT * FROM viewExplain('kind', 'settings', (query))`.
    fn explain_as_table(&mut self) -> Parsed<Query> {
        let start = self.start();
        self.advance();
        let (kind, settings) = self.explain_kind()?;
        if matches!(self.peek().keyword, K::CREATE | K::ALTER | K::DROP) {
            return self.fatal(BAD_ARGUMENTS, "EXPLAIN inside subquery supports only SELECT queries");
        }
        let query = self.query_without_output()?;
        let span = self.span_from(start);
        let text = |text: String| Expression::new(ExpressionKind::Literal(Literal::string(text)), span);
        let mut name = "EXPLAIN".to_string();
        if let Some(words) = kind.keywords() {
            name = format!("EXPLAIN {words}");
        }
        let subquery = Expression::new(ExpressionKind::Subquery(Box::new(query)), span);
        let function = call("viewExplain", vec![text(name), text(format_settings(&settings)), subquery], span);
        Ok(self.select_all_from(function, span))
    }

    /// `SELECT * FROM function`.
    fn select_all_from(&mut self, function: Expression, span: Span) -> Query {
        self.height += 6;
        let source = match function.kind {
            ExpressionKind::Function(function) => TableSource::Function(function),
            _ => TableSource::Table(TableName::new("")),
        };
        let table = plain_table(source, span);
        select_all(From { table: Some(table), steps: Vec::new() }, span)
    }

    /// Queries combined by UNION and EXCEPT.
    fn set_operations(&mut self) -> Parsed<QueryBody> {
        let start = self.start();
        let mut left = self.intersections()?;
        let mut extends = None;
        loop {
            let operator = match self.peek().keyword {
                K::UNION => SetOperator::Union,
                K::EXCEPT => SetOperator::Except,
                _ => {
                    self.missed("UNION");
                    self.missed("EXCEPT");
                    return Ok(left);
                }
            };
            self.advance();
            let quantifier = self.quantifier();
            let right = self.intersections()?;
            left = self.combine(left, operator, quantifier, right, &mut extends, start)?;
        }
    }

    fn intersections(&mut self) -> Parsed<QueryBody> {
        let start = self.start();
        let mut left = self.query_operand()?;
        let mut extends = None;
        while self.keyword(K::INTERSECT) {
            let quantifier = self.quantifier();
            let right = self.query_operand()?;
            left = self.combine(left, SetOperator::Intersect, quantifier, right, &mut extends, start)?;
        }
        Ok(left)
    }

    fn quantifier(&mut self) -> SetQuantifier {
        if self.keyword(K::ALL) {
            SetQuantifier::All
        } else if self.keyword(K::DISTINCT) {
            SetQuantifier::Distinct
        } else {
            SetQuantifier::Default
        }
    }

    /// Joins two bodies; a chain of one operation becomes one operation of many operands.
    fn combine(
        &mut self,
        left: QueryBody,
        operator: SetOperator,
        quantifier: SetQuantifier,
        right: QueryBody,
        extends: &mut Option<(SetOperator, SetQuantifier)>,
        start: u32,
    ) -> Parsed<QueryBody> {
        let span = self.span_from(start);
        if *extends == Some((operator, quantifier))
            && let QueryBody::SetOperation(mut operation) = left
        {
            operation.operands.push(right);
            operation.span = span;
            return Ok(QueryBody::SetOperation(operation));
        }
        *extends = Some((operator, quantifier));
        self.grown(0, 2)?;
        Ok(QueryBody::SetOperation(Box::new(SetOperation { operator, quantifier, operands: vec![left, right], span })))
    }

    /// One SELECT, or a query in parentheses.
    fn query_operand(&mut self) -> Parsed<QueryBody> {
        if self.at(T::OpenRound) {
            self.enter(4)?;
            self.advance();
            let body = self.set_operations()?;
            self.need(T::CloseRound)?;
            self.leave(4);
            return Ok(body);
        }
        Ok(QueryBody::Select(Box::new(self.select()?)))
    }

    /// The items of WITH, the word read already, and whether it is recursive.
    pub(super) fn with_items(&mut self) -> Parsed<(Vec<WithItem>, bool)> {
        let recursive = self.at_keyword(K::RECURSIVE)
            && matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier | T::Number | T::String)
            && self.ahead(1).keyword != K::AS;
        if recursive {
            self.advance();
        }
        let mut items = vec![self.with_item()?];
        while self.accept(T::Comma) {
            if self.at_keyword(K::SELECT) && self.ahead(1).kind != T::Comma && !self.keyword_ahead(1, K::AS) {
                break;
            }
            items.push(self.with_item()?);
        }
        Ok((items, recursive))
    }

    fn with_item(&mut self) -> Parsed<WithItem> {
        let table = if matches!(self.peek().kind, T::Word | T::QuotedIdentifier) {
            self.attempt(|p| {
                let name = p.identifier()?;
                let columns = if p.at(T::OpenRound) { p.round_list(|p| p.identifier())? } else { Vec::new() };
                p.need_keyword(K::AS)?;
                let materialized = p.keyword(K::MATERIALIZED);
                if !p.at(T::OpenRound) {
                    return p.fail("subquery");
                }
                match p.subquery()? {
                    Some(query) => Ok(WithItem::Table { name, columns, materialized, query: Box::new(query) }),
                    None => p.fail("subquery"),
                }
            })?
        } else {
            None
        };
        match table {
            Some(table) => Ok(table),
            None => Ok(WithItem::Expression(self.expression_or_alias()?)),
        }
    }

    /// One SELECT with all its clauses.
    pub(super) fn select(&mut self) -> Parsed<Select> {
        let start = self.start();
        let mut select = Select::default();
        if self.keyword(K::WITH) {
            (select.with, select.recursive) = self.with_items()?;
        }
        if self.at_keyword(K::FROM) {
            self.advance();
            select.from = Some(self.from()?);
        }
        self.need_keyword(K::SELECT)?;
        let distinct_on = self.distinct(&mut select)?;
        let top = self.top()?;
        self.projection(&mut select)?;
        if select.from.is_none() && self.keyword(K::FROM) {
            select.from = Some(self.from()?);
        } else if select.from.is_none() && self.at_join_clause() {
            let steps = self.join_steps()?;
            select.from = Some(From { table: None, steps });
        }
        if self.keyword(K::PREWHERE) {
            select.prewhere = Some(self.expression()?);
        }
        if self.keyword(K::WHERE) {
            select.filter = Some(self.expression()?);
        }
        if self.keywords(&[K::GROUP, K::BY], "GROUP BY") {
            select.group_by = Some(self.group_by()?);
        }
        self.group_modifiers(&mut select);
        if self.keyword(K::HAVING) {
            select.having = Some(self.expression()?);
        }
        if self.keyword(K::WINDOW) {
            select.windows = self.list(|p| {
                let name = p.identifier()?;
                p.need_keyword(K::AS)?;
                Ok(NamedWindow { name, definition: p.window_definition()? })
            })?;
        }
        if self.keyword(K::QUALIFY) {
            select.qualify = Some(self.expression()?);
        }
        if self.keywords(&[K::ORDER, K::BY], "ORDER BY") {
            select.order_by = Some(self.order_by()?);
        }
        self.limits(&mut select, top)?;
        if let Some(by) = distinct_on {
            if select.limit_by.is_some() {
                return self.fatal(590, "DISTINCT ON and LIMIT BY are not supported together");
            }
            let count = Expression::literal(Literal::UInt64(1));
            select.limit_by = Some(LimitBy { count, offset: None, by, all: false });
        }
        select.settings = self.settings_clause()?;
        self.settings_met.extend_from_slice(&select.settings);
        select.span = self.span_from(start);
        Ok(select)
    }

    /// ALL or DISTINCT; gives the expressions of DISTINCT ON.
    fn distinct(&mut self, select: &mut Select) -> Parsed<Option<Vec<Expression>>> {
        let next = self.ahead(1);
        let names_column = matches!(next.kind, T::Comma | T::End | T::CloseRound | T::Dot) || next.keyword == K::FROM;
        if self.at_keyword(K::ALL) && !names_column {
            self.advance();
        } else if self.at_keyword(K::DISTINCT) && self.keyword_ahead(1, K::ON) && self.ahead(2).kind == T::OpenRound {
            self.skip(2);
            self.need(T::OpenRound)?;
            let expressions = self.list(|p| p.expression())?;
            self.need(T::CloseRound)?;
            return Ok(Some(expressions));
        } else if self.at_keyword(K::DISTINCT) && !names_column {
            self.advance();
            select.distinct = true;
        }
        Ok(None)
    }

    /// `TOP n`, with which LIMIT may stand before what is selected.
    fn top(&mut self) -> Parsed<Option<Limit>> {
        if !self.at_keyword(K::TOP) || !matches!(self.ahead(1).kind, T::Number | T::OpenRound) {
            return Ok(None);
        }
        self.advance();
        let count = if self.at(T::OpenRound) {
            self.advance();
            let count = self.expression()?;
            self.need(T::CloseRound)?;
            count
        } else {
            let start = self.start();
            let value = self.literal()?;
            Expression::new(ExpressionKind::Literal(value), self.span_from(start))
        };
        let with_ties = self.keywords(&[K::WITH, K::TIES], "WITH TIES");
        Ok(Some(Limit { count: Some(count), offset: None, with_ties }))
    }

    /// The selected expressions; a comma may follow the last.
    fn projection(&mut self, select: &mut Select) -> Parsed<()> {
        loop {
            select.projection.push(self.expression_or_alias()?);
            if !self.accept(T::Comma) {
                return Ok(());
            }
            let ends = match self.peek().kind {
                T::End | T::Semicolon | T::CloseRound => true,
                _ => self.at_keyword(K::FROM) && !matches!(self.ahead(1).kind, T::Comma | T::Dot | T::End),
            };
            if ends {
                return Ok(());
            }
        }
    }

    /// `GROUP BY`, the words read already.
    pub(super) fn group_by(&mut self) -> Parsed<GroupBy> {
        if self.at_keyword(K::ALL) && !matches!(self.ahead(1).kind, T::Dot | T::Comma | T::OpenRound) {
            self.advance();
            return Ok(GroupBy::All);
        }
        if self.keywords(&[K::GROUPING, K::SETS], "GROUPING SETS") {
            let sets = self.round_list(|p| {
                if p.at(T::OpenRound) {
                    return p.round_list(|p| p.expression());
                }
                Ok(vec![p.expression()?])
            })?;
            return Ok(GroupBy::GroupingSets(sets));
        }
        let kind = self.peek().keyword;
        if matches!(kind, K::ROLLUP | K::CUBE) && self.ahead(1).kind == T::OpenRound {
            self.advance();
            let keys = self.round_list(|p| p.expression())?;
            return Ok(if kind == K::ROLLUP { GroupBy::Rollup(keys) } else { GroupBy::Cube(keys) });
        }
        Ok(GroupBy::Expressions(self.list(|p| p.expression())?))
    }

    /// `WITH ROLLUP`, `WITH CUBE`, `WITH TOTALS`.
    fn group_modifiers(&mut self, select: &mut Select) {
        loop {
            if self.keywords(&[K::WITH, K::TOTALS], "WITH TOTALS") {
                select.with_totals = true;
                continue;
            }
            let rollup = self.keywords(&[K::WITH, K::ROLLUP], "WITH ROLLUP");
            if !rollup && !self.keywords(&[K::WITH, K::CUBE], "WITH CUBE") {
                return;
            }
            if let Some(GroupBy::Expressions(keys)) = &mut select.group_by {
                let keys = std::mem::take(keys);
                select.group_by = Some(if rollup { GroupBy::Rollup(keys) } else { GroupBy::Cube(keys) });
            }
        }
    }

    /// `ORDER BY`, the words read already.
    pub(super) fn order_by(&mut self) -> Parsed<OrderBy> {
        let all = self.at_keyword(K::ALL) && !matches!(self.ahead(1).kind, T::Dot | T::OpenRound | T::Comma);
        let mut items = self.list(|p| p.order_by_item())?;
        let all = all && items.len() == 1;
        if let (true, Some(item)) = (all, items.first_mut()) {
            item.expression.kind = ExpressionKind::Identifier(vec![Identifier::new("all")]);
        }
        let mut interpolate = None;
        if items.iter().any(|item| item.fill.is_some()) && self.keyword(K::INTERPOLATE) {
            let columns = if self.at(T::OpenRound) {
                self.round_list(|p| {
                    let column = p.identifier()?;
                    let expression = if p.keyword(K::AS) {
                        p.expression()?
                    } else {
                        Expression::new(ExpressionKind::Identifier(vec![column.clone()]), column.span)
                    };
                    Ok(InterpolateItem { column, expression })
                })?
            } else {
                Vec::new()
            };
            interpolate = Some(columns);
        }
        Ok(OrderBy { items, all, interpolate })
    }

    fn order_by_item(&mut self) -> Parsed<OrderByItem> {
        let expression = self.expression()?;
        let mut descending = false;
        if self.keyword(K::DESC) || self.keyword(K::DESCENDING) {
            descending = true;
        } else if !self.keyword(K::ASC) {
            let _ = self.keyword(K::ASCENDING);
        }
        let mut nulls_first = None;
        if self.keyword(K::NULLS) {
            let first = self.keyword(K::FIRST);
            if !first {
                self.need_keyword(K::LAST)?;
            }
            nulls_first = Some(first);
        }
        let collation = if self.keyword(K::COLLATE) { Some(self.string_text()?) } else { None };
        let mut fill = None;
        if self.keywords(&[K::WITH, K::FILL], "WITH FILL") {
            let mut with_fill = WithFill::default();
            if self.keyword(K::FROM) {
                with_fill.from = Some(self.expression()?);
            }
            if self.keyword(K::TO) {
                with_fill.to = Some(self.expression()?);
            }
            if self.keyword(K::STEP) {
                with_fill.step = Some(self.expression()?);
            }
            if self.keyword(K::STALENESS) {
                with_fill.staleness = Some(self.expression()?);
            }
            fill = Some(with_fill);
        }
        Ok(OrderByItem { expression, descending, nulls_first, collation, fill })
    }

    /// `LIMIT … BY`, `LIMIT`, `OFFSET`, `FETCH`.
    fn limits(&mut self, select: &mut Select, top: Option<Limit>) -> Parsed<()> {
        let has_top = top.is_some();
        let mut limit = top;
        while self.keyword(K::LIMIT) {
            let first = self.expression()?;
            let (count, offset) = if self.accept(T::Comma) {
                (self.expression()?, Some(first))
            } else if self.keyword(K::OFFSET) {
                let offset = self.expression()?;
                (first, Some(offset))
            } else {
                (first, None)
            };
            if select.limit_by.is_none() && limit.is_none() && self.keyword(K::BY) {
                let all = self.at_keyword(K::ALL) && !matches!(self.ahead(1).kind, T::Dot | T::Comma | T::OpenRound);
                if all {
                    self.advance();
                }
                let by = if all { Vec::new() } else { self.list(|p| p.expression())? };
                select.limit_by = Some(LimitBy { count, offset, by, all });
                continue;
            }
            if has_top {
                return self.fatal(TOP_AND_LIMIT_TOGETHER, "Can not use TOP and LIMIT together");
            }
            let with_ties = self.keywords(&[K::WITH, K::TIES], "WITH TIES");
            limit = Some(Limit { count: Some(count), offset, with_ties });
            break;
        }
        if limit.as_ref().is_none_or(|l| l.offset.is_none()) && self.keyword(K::OFFSET) {
            let offset = self.expression()?;
            let rows = self.keyword(K::ROW) || self.keyword(K::ROWS);
            let limit = limit.get_or_insert(Limit { count: None, offset: None, with_ties: false });
            limit.offset = Some(offset);
            if rows && self.at_keyword(K::FETCH) && select.order_by.is_none() {
                return self.fatal(OFFSET_FETCH_WITHOUT_ORDER_BY, "Can not use OFFSET FETCH clause without ORDER BY");
            }
        }
        if limit.as_ref().is_none_or(|l| l.count.is_none()) && self.keyword(K::FETCH) {
            if select.order_by.is_none() {
                return self.fatal(OFFSET_FETCH_WITHOUT_ORDER_BY, "Can not use OFFSET FETCH clause without ORDER BY");
            }
            if !self.keyword(K::FIRST) {
                self.need_keyword(K::NEXT)?;
            }
            let count = if matches!(self.peek().keyword, K::ROW | K::ROWS) {
                Expression::literal(Literal::UInt64(1))
            } else {
                self.expression()?
            };
            if !self.keyword(K::ROW) {
                self.need_keyword(K::ROWS)?;
            }
            let with_ties = self.keywords(&[K::WITH, K::TIES], "WITH TIES");
            if !with_ties {
                self.need_keyword(K::ONLY)?;
            }
            let limit = limit.get_or_insert(Limit { count: None, offset: None, with_ties });
            limit.count = Some(count);
            limit.with_ties = with_ties;
        }
        if limit.as_ref().is_some_and(|l| l.with_ties) && select.order_by.is_none() {
            return self.fatal(WITH_TIES_WITHOUT_ORDER_BY, "Can not use WITH TIES without ORDER BY");
        }
        select.limit = limit;
        Ok(())
    }

    /// `INTO OUTFILE`, `FORMAT`, `SETTINGS`.
    pub(super) fn output(&mut self) -> Parsed<Output> {
        let mut output = Output::default();
        if self.keywords(&[K::INTO, K::OUTFILE], "INTO OUTFILE") {
            let start = self.start();
            let file = self.string()?;
            let file = Expression::new(ExpressionKind::Literal(Literal::String(file)), self.span_from(start));
            let mut mode = OutfileMode::Create;
            let mut and_stdout = false;
            if self.keyword(K::APPEND) {
                mode = OutfileMode::Append;
            } else if self.keyword(K::TRUNCATE) {
                mode = OutfileMode::Truncate;
            }
            if self.keywords(&[K::AND, K::STDOUT], "AND STDOUT") {
                and_stdout = true;
            }
            let compression = if self.keyword(K::COMPRESSION) { Some(Literal::String(self.string()?)) } else { None };
            let level = if compression.is_some() && self.keyword(K::LEVEL) { Some(self.literal()?) } else { None };
            output.outfile = Some(IntoOutfile { file, mode, and_stdout, compression, level });
        }
        if self.keyword(K::FORMAT) {
            output.format = Some(self.identifier()?);
        }
        if self.keyword(K::SETTINGS) {
            output.settings = self.settings()?;
            if output.format.is_none() && self.keyword(K::FORMAT) {
                output.format = Some(self.identifier()?);
            }
        }
        Ok(output)
    }

    /// `FROM`, the word read already.
    fn from(&mut self) -> Parsed<From> {
        let table = Some(self.table_expression()?);
        let steps = self.join_steps()?;
        Ok(From { table, steps })
    }

    fn at_join_clause(&mut self) -> bool {
        match self.peek().keyword {
            K::ARRAY => self.keyword_ahead(1, K::JOIN),
            K::LEFT | K::INNER => self.keyword_ahead(1, K::ARRAY) && self.keyword_ahead(2, K::JOIN),
            _ => false,
        }
    }

    fn join_steps(&mut self) -> Parsed<Vec<FromStep>> {
        let mut steps = Vec::new();
        loop {
            let start = self.start();
            if self.at_join_clause() {
                let left = self.keyword(K::LEFT);
                let _ = self.keyword(K::INNER);
                self.skip(2);
                let expressions = self.list(|p| p.expression_or_alias())?;
                steps.push(FromStep::ArrayJoin(ArrayJoin { left, expressions, span: self.span_from(start) }));
            } else if self.accept(T::Comma) {
                let table = self.table_expression()?;
                steps.push(FromStep::Join(Box::new(Join {
                    locality: JoinLocality::Unspecified,
                    kind: JoinKind::Comma,
                    strictness: JoinStrictness::Unspecified,
                    table,
                    constraint: JoinConstraint::None,
                    span: self.span_from(start),
                })));
            } else {
                match self.attempt(|p| p.join_keywords())? {
                    Some((locality, natural, kind, strictness)) => {
                        let join = self.join(locality, natural, kind, strictness, start)?;
                        steps.push(FromStep::Join(Box::new(join)));
                    }
                    None => return Ok(steps),
                }
            }
        }
    }

    /// The words before and with `JOIN`.
    fn join_keywords(&mut self) -> Parsed<(JoinLocality, bool, JoinKind, JoinStrictness)> {
        let locality = if self.keyword(K::GLOBAL) {
            JoinLocality::Global
        } else if self.keyword(K::LOCAL) {
            JoinLocality::Local
        } else {
            JoinLocality::Unspecified
        };
        let natural = self.keyword(K::NATURAL);
        let mut strictness = self.join_strictness();
        let kind = if self.keyword(K::INNER) {
            JoinKind::Inner
        } else if self.keyword(K::LEFT) {
            JoinKind::Left
        } else if self.keyword(K::RIGHT) {
            JoinKind::Right
        } else if self.keyword(K::FULL) {
            JoinKind::Full
        } else if self.keyword(K::CROSS) {
            JoinKind::Cross
        } else if self.keyword(K::PASTE) {
            JoinKind::Paste
        } else {
            JoinKind::Inner
        };
        if strictness == JoinStrictness::Unspecified {
            strictness = self.join_strictness();
        }
        if matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full) {
            let _ = self.keyword(K::OUTER);
        }
        self.need_keyword(K::JOIN)?;
        Ok((locality, natural, kind, strictness))
    }

    fn join_strictness(&mut self) -> JoinStrictness {
        if self.keyword(K::ANY) {
            JoinStrictness::Any
        } else if self.keyword(K::ALL) {
            JoinStrictness::All
        } else if self.keyword(K::ASOF) {
            JoinStrictness::Asof
        } else if self.keyword(K::SEMI) || self.keyword(K::ONLY) {
            JoinStrictness::Semi
        } else if self.keyword(K::ANTI) {
            JoinStrictness::Anti
        } else {
            JoinStrictness::Unspecified
        }
    }

    fn join(
        &mut self,
        locality: JoinLocality,
        natural: bool,
        kind: JoinKind,
        strictness: JoinStrictness,
        start: u32,
    ) -> Parsed<Join> {
        let table = self.table_expression()?;
        let constraint = if natural {
            JoinConstraint::Natural
        } else if matches!(kind, JoinKind::Cross | JoinKind::Paste) {
            JoinConstraint::None
        } else if self.keyword(K::USING) {
            if self.at(T::OpenRound) {
                JoinConstraint::Using(self.round_list(|p| p.expression_or_alias())?)
            } else {
                JoinConstraint::Using(self.list(|p| p.expression())?)
            }
        } else {
            self.need_keyword(K::ON)?;
            JoinConstraint::On(self.expression()?)
        };
        if kind == JoinKind::Paste && strictness != JoinStrictness::Unspecified {
            return self
                .fatal(SYNTAX_ERROR, "PASTE JOIN has no strictness: ANY, ALL and their like cannot stand with it");
        }
        if matches!(strictness, JoinStrictness::Semi | JoinStrictness::Anti)
            && !matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Inner)
        {
            return self.fatal(SYNTAX_ERROR, "SEMI|ANTI JOIN should be LEFT or RIGHT.");
        }
        let kind = match (strictness, kind) {
            (JoinStrictness::Semi | JoinStrictness::Anti, JoinKind::Inner) => JoinKind::Left,
            (_, kind) => kind,
        };
        Ok(Join { locality, kind, strictness, table, constraint, span: self.span_from(start) })
    }

    /// A table, a table function or a subquery, with its alias, FINAL and SAMPLE.
    pub(super) fn table_expression(&mut self) -> Parsed<TableExpression> {
        let start = self.start();
        let before = self.grow();
        let source = self.table_source()?;
        let mut table = plain_table(source, Span::default());
        if self.keyword(K::AS) {
            table.alias = Some(self.identifier()?);
        } else {
            let token = self.peek();
            let is_alias = match token.kind {
                T::QuotedIdentifier => true,
                T::Word => !is_restricted_table_alias(token.keyword) && !self.at_clause_that_looks_like_an_alias(),
                _ => false,
            };
            if is_alias {
                table.alias = Some(self.identifier()?);
            } else {
                self.missed("identifier");
            }
        }
        if table.alias.is_some() && self.at(T::OpenRound) {
            table.column_aliases = self.round_list(|p| p.identifier())?;
        }
        table.with_final = self.keyword(K::FINAL);
        if self.keyword(K::SAMPLE) {
            let size = self.ratio()?;
            let offset = if self.keyword(K::OFFSET) { Some(self.ratio()?) } else { None };
            table.sample = Some(Sample { size, offset });
        }
        table.span = self.span_from(start);
        self.grown(before, 2)?;
        Ok(table)
    }

    fn table_source(&mut self) -> Parsed<TableSource> {
        let start = self.start();
        if self.at(T::OpenRound) {
            self.enter(4)?;
            let source = self.table_in_parentheses()?;
            self.leave(4);
            return Ok(source);
        }
        if matches!(self.peek().kind, T::String | T::HereDoc) {
            // clickhouse-local reads `FROM 'file.csv'` as a table's name.
            let value = self.string_text()?;
            let span = self.span_from(start);
            let table = Identifier { value, parameter: false, span };
            return Ok(TableSource::Table(TableName { database: None, table, uuid: None, span }));
        }
        if !matches!(self.peek().kind, T::Word | T::QuotedIdentifier | T::OpenCurly) {
            for what in [
                "table",
                "table function",
                "subquery or list of joined tables",
                "table or subquery or table function",
                "element of expression with optional alias",
                "SELECT or EXPLAIN subquery",
                "function",
                "function name",
                "compound identifier",
                "identifier",
                "string literal table identifier",
            ] {
                self.missed(what);
            }
        }
        let first = self.identifier()?;
        let mut parts = vec![first];
        while self.at(T::Dot) {
            self.advance();
            parts.push(self.identifier()?);
        }
        let span = self.span_from(start);
        if self.at(T::OpenRound) {
            let value = parts.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join(".");
            let function = self.function_with_settings(Identifier { value, parameter: false, span })?;
            return Ok(TableSource::Function(Box::new(function)));
        }
        let mut parts = parts.into_iter();
        let name = match (parts.next(), parts.next()) {
            (Some(table), None) => TableName { database: None, table, uuid: None, span },
            (Some(database), Some(mut table)) => {
                // A database from a data lake catalog holds tables whose names have dots.
                for part in parts {
                    table.value.push('.');
                    table.value.push_str(&part.value);
                }
                TableName { database: Some(database), table, uuid: None, span }
            }
            _ => return self.fail("table"),
        };
        Ok(TableSource::Table(name))
    }

    /// `(SELECT …)`, `(VALUES …)`, `(t1 JOIN t2 …)`.
    fn table_in_parentheses(&mut self) -> Parsed<TableSource> {
        let start = self.start();
        if let Some(query) = self.subquery()? {
            self.height += 1;
            return Ok(TableSource::Subquery(Box::new(query)));
        }
        self.advance();
        if self.at_keyword(K::VALUES) && self.ahead(1).kind == T::OpenRound {
            self.advance();
            let rows = self.list(|p| p.expression())?;
            self.need(T::CloseRound)?;
            let span = self.span_from(start);
            let function = call("SQLStandardValues", rows, span);
            return Ok(TableSource::Subquery(Box::new(self.select_all_from(function, span))));
        }
        let from = self.from()?;
        self.need(T::CloseRound)?;
        self.height += 6;
        let span = self.span_from(start);
        match from {
            // `((SELECT 1))`, `(t)`.
            From { table: Some(table), steps }
                if steps.is_empty() && table.alias.is_none() && table.sample.is_none() =>
            {
                match table.source {
                    TableSource::Subquery(query) => Ok(TableSource::Subquery(query)),
                    source => {
                        let table = TableExpression { source, ..table };
                        let from = From { table: Some(table), steps };
                        Ok(TableSource::Subquery(Box::new(select_all(from, span))))
                    }
                }
            }
            from => Ok(TableSource::Subquery(Box::new(select_all(from, span)))),
        }
    }

    /// `0.1`, `1/10`.
    fn ratio(&mut self) -> Parsed<Ratio> {
        let (numerator, mut denominator) = self.decimal()?;
        if !self.accept(T::Slash) {
            return Ok(Ratio { numerator, denominator });
        }
        let (by, scale) = self.decimal()?;
        let Some(numerator) = numerator.checked_mul(scale) else { return self.fail("number") };
        let Some(product) = denominator.checked_mul(by) else { return self.fail("number") };
        denominator = product;
        Ok(Ratio { numerator, denominator })
    }

    /// A decimal number as an exact fraction.
    fn decimal(&mut self) -> Parsed<(u128, u128)> {
        let token = self.peek();
        let text = String::from_utf8_lossy(self.bytes(token)).into_owned();
        let parsed = (token.kind == T::Number).then(|| exact_decimal(&text)).flatten();
        match parsed {
            Some(fraction) => {
                self.advance();
                Ok(fraction)
            }
            None => self.fail("ratio"),
        }
    }
}

/// `12.5e1` as a numerator and a power of ten.
fn exact_decimal(text: &str) -> Option<(u128, u128)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let numerator = format!("{whole}{fraction}").parse::<u128>().ok()?;
    let power = exponent - i32::try_from(fraction.len()).ok()?;
    let scale = 10u128.checked_pow(power.unsigned_abs())?;
    if power >= 0 { Some((numerator.checked_mul(scale)?, 1)) } else { Some((numerator, scale)) }
}

fn plain_table(source: TableSource, span: Span) -> TableExpression {
    TableExpression { source, alias: None, column_aliases: Vec::new(), with_final: false, sample: None, span }
}

/// `SELECT * FROM …`.
fn select_all(from: From, span: Span) -> Query {
    let star = Matcher { columns: MatchedColumns::All, qualifier: Vec::new(), transformers: Vec::new() };
    let star = Expression::new(ExpressionKind::Matcher(Box::new(star)), span);
    let select = Select { projection: vec![star], from: Some(from), span, ..Select::default() };
    Query::of(QueryBody::Select(Box::new(select)), span)
}

/// Words that go on after a table and so cannot be its alias without `AS`.
fn is_restricted_table_alias(keyword: K) -> bool {
    matches!(keyword, K::UUID | K::SELECT)
        || (is_restricted_alias(keyword) && !matches!(keyword, K::IS | K::MOD | K::DIV | K::AND | K::OR | K::IN))
}
