//! Queries as text.

use super::Writer;
use crate::ast::{
    Expression, From, FromStep, GroupBy, Join, JoinConstraint, JoinKind, JoinLocality, JoinStrictness, OrderBy,
    OrderByItem, OutfileMode, Output, Query, QueryBody, Ratio, Select, SetOperation, SetOperator, SetQuantifier,
    TableExpression, TableSource, WithItem,
};

impl Writer {
    pub(super) fn query(&mut self, query: &Query) {
        self.query_body(&query.body, false, false);
        self.output(&query.output);
    }

    /// `wrap_first`, `wrap_last`: a SELECT at that end stands in parentheses, because EXCEPT is next to it, which could be taken for
    /// the transformer of `*`.
    fn query_body(&mut self, body: &QueryBody, wrap_first: bool, wrap_last: bool) {
        match body {
            QueryBody::Select(select) if wrap_first || wrap_last => self.block(|w| w.select(select)),
            QueryBody::Select(select) => self.select(select),
            QueryBody::SetOperation(operation) => self.set_operation(operation, wrap_first, wrap_last),
        }
    }

    fn set_operation(&mut self, operation: &SetOperation, wrap_first: bool, wrap_last: bool) {
        let operator = match operation.operator {
            SetOperator::Union => "UNION",
            SetOperator::Except => "EXCEPT",
            SetOperator::Intersect => "INTERSECT",
        };
        let quantifier = match operation.quantifier {
            SetQuantifier::Default if self.is_explicit && operation.operator != SetOperator::Union => " ALL",
            SetQuantifier::Default => "",
            SetQuantifier::All => " ALL",
            SetQuantifier::Distinct => " DISTINCT",
        };
        let except = operation.operator == SetOperator::Except;
        let last = operation.operands.len().saturating_sub(1);
        for (index, operand) in operation.operands.iter().enumerate() {
            if index > 0 {
                self.line();
                self.text(operator);
                self.text(quantifier);
                self.line();
            }
            if self.is_explicit || needs_parentheses(operation, operand, index) {
                self.block(|w| w.query_body(operand, false, false));
            } else {
                let before = if index == 0 { wrap_first } else { except };
                let after = if index == last { wrap_last } else { except };
                self.query_body(operand, before, after);
            }
        }
    }

    pub(super) fn with(&mut self, items: &[WithItem], recursive: bool) {
        self.text(if recursive { "WITH RECURSIVE" } else { "WITH" });
        self.lines(items, |w, item| w.with_item(item));
        self.line();
    }

    fn with_item(&mut self, item: &WithItem) {
        match item {
            WithItem::Expression(expression) => self.expression(expression, false),
            WithItem::Table { name, columns, materialized, query } => {
                self.identifier(name);
                if !columns.is_empty() {
                    self.text("(");
                    self.joined(columns, ", ", |w, column| w.identifier(column));
                    self.text(")");
                }
                self.text(if *materialized { " AS MATERIALIZED" } else { " AS" });
                self.line();
                self.block(|w| w.query(query));
            }
        }
    }

    fn select(&mut self, select: &Select) {
        if !select.with.is_empty() {
            self.with(&select.with, select.recursive);
        }
        self.text(if select.distinct { "SELECT DISTINCT" } else { "SELECT" });
        self.clause_list(&select.projection, |w, e| w.expression(e, false));
        match &select.from {
            Some(from) => self.from(from),
            None if self.is_explicit => {
                self.line();
                self.text("FROM system.one");
            }
            None => {}
        }
        self.condition("PREWHERE ", &select.prewhere);
        self.condition("WHERE ", &select.filter);
        if let Some(group_by) = &select.group_by {
            self.group_by(group_by);
        }
        if select.with_totals {
            self.indented(|w| {
                w.line();
                w.text("WITH TOTALS");
            });
        }
        self.condition("HAVING ", &select.having);
        if !select.windows.is_empty() {
            self.line();
            self.text("WINDOW");
            self.clause_list(&select.windows, |w, window| {
                w.identifier(&window.name);
                w.text(" AS (");
                w.window(&window.definition);
                w.text(")");
            });
        }
        self.condition("QUALIFY ", &select.qualify);
        if let Some(order_by) = &select.order_by {
            self.line();
            self.order_by(order_by);
        }
        if let Some(limit_by) = &select.limit_by {
            self.line();
            self.text("LIMIT ");
            if let Some(offset) = &limit_by.offset {
                self.expression(offset, false);
                self.text(", ");
            }
            self.expression(&limit_by.count, false);
            self.text(" BY");
            if limit_by.all {
                self.text(" ALL");
            } else {
                self.clause_list(&limit_by.by, |w, e| w.expression(e, false));
            }
        }
        if let Some(limit) = &select.limit {
            self.line();
            match (&limit.count, &limit.offset) {
                (Some(count), offset) => {
                    self.text("LIMIT ");
                    if let Some(offset) = offset {
                        self.expression(offset, false);
                        self.text(", ");
                    }
                    self.expression(count, false);
                    if limit.with_ties {
                        self.line();
                        self.text(" WITH TIES");
                    }
                }
                (None, Some(offset)) => {
                    self.text("OFFSET ");
                    self.expression(offset, false);
                }
                (None, None) => {}
            }
        }
        self.settings_clause(&select.settings);
    }

    pub(super) fn settings_clause(&mut self, settings: &[crate::ast::Setting]) {
        if !settings.is_empty() {
            self.line();
            self.text("SETTINGS ");
            self.settings(settings);
        }
    }

    fn condition(&mut self, keyword: &str, condition: &Option<Expression>) {
        if let Some(condition) = condition {
            self.line();
            self.text(keyword);
            self.expression(condition, false);
        }
    }

    pub(super) fn group_by(&mut self, group_by: &GroupBy) {
        self.line();
        self.text("GROUP BY");
        match group_by {
            GroupBy::All => self.text(" ALL"),
            GroupBy::Expressions(keys) => self.clause_list(keys, |w, e| w.expression(e, false)),
            GroupBy::Rollup(keys) | GroupBy::Cube(keys) => {
                self.clause_list(keys, |w, e| w.expression(e, false));
                self.indented(|w| {
                    w.line();
                    w.text(if matches!(group_by, GroupBy::Rollup(_)) { "WITH ROLLUP" } else { "WITH CUBE" });
                });
            }
            GroupBy::GroupingSets(sets) => {
                self.indented(|w| {
                    w.line();
                    w.text("GROUPING SETS (");
                    w.indented(|w| {
                        for (index, set) in sets.iter().enumerate() {
                            if index > 0 {
                                w.text(",");
                                w.line();
                            } else {
                                w.break_line();
                            }
                            if !w.one_line {
                                // ClickHouse does not go deeper here.
                                let trimmed = w.out.trim_end_matches(' ').len();
                                w.out.truncate(trimmed);
                                w.out.push_str(&"    ".repeat(w.indent));
                            }
                            w.text("(");
                            w.expressions(set);
                            w.text(")");
                        }
                    });
                    w.text(")");
                });
            }
        }
    }

    pub(super) fn order_by(&mut self, order_by: &OrderBy) {
        self.text("ORDER BY");
        self.clause_list(&order_by.items, |w, item| w.order_by_item(item, order_by.all));
        if let Some(columns) = &order_by.interpolate {
            self.line();
            self.text("INTERPOLATE");
            if !columns.is_empty() {
                self.text(" (");
                self.joined(columns, ", ", |w, item| {
                    w.quoted(&item.column.value);
                    w.text(" AS ");
                    w.expression(&item.expression, false);
                });
                self.text(")");
            }
        }
    }

    pub(super) fn order_by_item(&mut self, item: &OrderByItem, all: bool) {
        if all {
            self.text("ALL");
        } else {
            self.expression(&item.expression, false);
        }
        self.text(if item.descending { " DESC" } else { " ASC" });
        match item.nulls_first {
            Some(true) => self.text(" NULLS FIRST"),
            Some(false) => self.text(" NULLS LAST"),
            None => {}
        }
        if let Some(collation) = &item.collation {
            self.text(" COLLATE ");
            self.string(collation);
        }
        if let Some(fill) = &item.fill {
            self.text(" WITH FILL");
            let parts =
                [(" FROM ", &fill.from), (" TO ", &fill.to), (" STEP ", &fill.step), (" STALENESS ", &fill.staleness)];
            for (keyword, part) in parts {
                if let Some(part) = part {
                    self.text(keyword);
                    self.expression(part, false);
                }
            }
        }
    }

    pub(super) fn output(&mut self, output: &Output) {
        if let Some(outfile) = &output.outfile {
            self.line();
            self.text("INTO OUTFILE ");
            self.expression(&outfile.file, false);
            match outfile.mode {
                OutfileMode::Create => {}
                OutfileMode::Append => self.text(" APPEND"),
                OutfileMode::Truncate => self.text(" TRUNCATE"),
            }
            if outfile.and_stdout {
                self.text(" AND STDOUT");
            }
            if let Some(compression) = &outfile.compression {
                self.text(" COMPRESSION ");
                self.literal(compression);
            }
            if let Some(level) = &outfile.level {
                self.text(" LEVEL ");
                self.literal(level);
            }
        }
        if let Some(format) = &output.format {
            self.line();
            self.text("FORMAT ");
            self.identifier(format);
        }
        self.settings_clause(&output.settings);
    }

    fn from(&mut self, from: &From) {
        if let Some(table) = &from.table {
            self.line();
            self.text("FROM");
            self.table_after_keyword(table);
        }
        for step in &from.steps {
            match step {
                FromStep::Join(join) => self.join(join),
                FromStep::ArrayJoin(array_join) => {
                    self.line();
                    self.text(if array_join.left { "LEFT ARRAY JOIN" } else { "ARRAY JOIN" });
                    self.clause_list(&array_join.expressions, |w, e| w.expression(e, false));
                }
            }
        }
    }

    /// A subquery begins a line, anything else goes on.
    fn table_after_keyword(&mut self, table: &TableExpression) {
        if matches!(table.source, TableSource::Subquery(_)) {
            self.line();
        } else {
            self.text(" ");
        }
        self.table_expression(table);
    }

    fn join(&mut self, join: &Join) {
        if join.kind == JoinKind::Comma {
            self.text(",");
            self.table_after_keyword(&join.table);
            return;
        }
        self.line();
        match join.locality {
            JoinLocality::Unspecified => {}
            JoinLocality::Local => self.text("LOCAL "),
            JoinLocality::Global => self.text("GLOBAL "),
        }
        if join.constraint == JoinConstraint::Natural {
            self.text("NATURAL ");
        }
        if join.kind != JoinKind::Cross && join.kind != JoinKind::Paste {
            self.text(match join.strictness {
                JoinStrictness::Unspecified if self.is_explicit => "ALL ",
                JoinStrictness::Unspecified => "",
                JoinStrictness::All => "ALL ",
                JoinStrictness::Any => "ANY ",
                JoinStrictness::Asof => "ASOF ",
                JoinStrictness::Semi => "SEMI ",
                JoinStrictness::Anti => "ANTI ",
            });
        }
        self.text(match join.kind {
            JoinKind::Inner => "INNER JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL OUTER JOIN",
            JoinKind::Cross | JoinKind::Comma => "CROSS JOIN",
            JoinKind::Paste => "PASTE JOIN",
        });
        self.table_after_keyword(&join.table);
        match &join.constraint {
            JoinConstraint::None | JoinConstraint::Natural => {}
            JoinConstraint::On(condition) => {
                self.text(" ON ");
                self.expression(condition, false);
            }
            JoinConstraint::Using(columns) => {
                self.text(" USING (");
                self.expressions(columns);
                self.text(")");
            }
        }
    }

    fn table_expression(&mut self, table: &TableExpression) {
        match &table.source {
            TableSource::Table(name) => self.table_name(name),
            TableSource::Function(function) => self.function(function, false),
            TableSource::Subquery(query) => self.block(|w| w.query(query)),
        }
        if let Some(alias) = &table.alias {
            self.text(" AS ");
            self.identifier(alias);
        }
        if !table.column_aliases.is_empty() {
            self.text("(");
            self.joined(&table.column_aliases, ", ", |w, column| w.identifier(column));
            self.text(")");
        }
        if table.with_final {
            self.line();
            self.text("FINAL");
        }
        if let Some(sample) = &table.sample {
            self.line();
            self.text("SAMPLE ");
            self.ratio(&sample.size);
            if let Some(offset) = &sample.offset {
                self.text(" OFFSET ");
                self.ratio(offset);
            }
        }
    }

    fn ratio(&mut self, ratio: &Ratio) {
        self.text(&ratio.numerator.to_string());
        if ratio.denominator > 1 {
            self.text(&format!(" / {}", ratio.denominator));
        }
    }
}

/// Whether an operand would be read differently without parentheses.
fn needs_parentheses(operation: &SetOperation, operand: &QueryBody, index: usize) -> bool {
    let QueryBody::SetOperation(inner) = operand else { return false };
    if inner.operator == SetOperator::Intersect {
        // INTERSECT binds tighter than the others, but chains of it go from left to right.
        return operation.operator == SetOperator::Intersect && (index > 0 || inner.quantifier == operation.quantifier);
    }
    let same = inner.operator == operation.operator && inner.quantifier == operation.quantifier;
    operation.operator == SetOperator::Intersect || index > 0 || same
}
