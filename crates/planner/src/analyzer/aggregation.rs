//! GROUP BY: which expressions are keys, and what ClickHouse says where something is aggregated, or not, that should not be.

use squall_sql::ast::{self, ExpressionKind, Literal};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::graph::{NodeId, NodeKind};
use super::scope::Scope;
use super::select::Item;
use super::stage::Missing;

impl Scope<'_> {
    /// The keys of a GROUP BY, each once. Constants are dropped unless there is nothing else: without any key there would be a
    /// group even without rows.
    ///
    /// # Errors
    /// Those of the keys' expressions.
    pub fn group_keys(&mut self, group_by: &ast::GroupBy, items: &[Item]) -> Result<Vec<NodeId>> {
        let mut keys = Vec::new();
        match group_by {
            ast::GroupBy::Expressions(expressions) => {
                for expression in expressions {
                    self.add_key(expression, items, &mut keys)?;
                }
            }
            ast::GroupBy::All => {
                for item in items {
                    self.add_keys_within(item.node, &mut keys);
                }
                // Nothing but aggregates: one group, also of no rows.
                if keys.is_empty() {
                    return Ok(keys);
                }
            }
            ast::GroupBy::Rollup(_) | ast::GroupBy::Cube(_) | ast::GroupBy::GroupingSets(_) => {
                return Err(Error::logical("several sets of keys where one was expected"));
            }
        }
        if !self.analyzer.context.settings.allow_suspicious_types_in_group_by {
            keys.iter().try_for_each(|key| self.check_key(*key, "GROUP BY", "allow_suspicious_types_in_group_by"))?;
        }
        let is_constant = |scope: &Self, key: NodeId| scope.graph.constant_value(key).is_some();
        let mut distinct = Vec::with_capacity(keys.len());
        for key in &keys {
            if !is_constant(self, *key) && !distinct.contains(key) {
                distinct.push(*key);
            }
        }
        let settings = self.analyzer.context.settings;
        let gives_row = !settings.empty_result_for_aggregation_by_constant_keys_on_empty_set
            && !settings.empty_result_for_aggregation_by_empty_set;
        if distinct.is_empty() && !(gives_row && keys.iter().any(|key| is_constant(self, *key))) {
            distinct.push(match keys.first() {
                Some(constant) => *constant,
                None => self.key_of_none(),
            });
        }
        Ok(distinct)
    }

    /// A key that is the same for all rows: with it there is no group where there are no rows.
    pub fn key_of_none(&mut self) -> NodeId {
        self.graph.constant(Value::UInt64(1), DataType::UInt8)
    }

    /// Refuses a key whose values may be of several types.
    ///
    /// # Errors
    /// `ILLEGAL_COLUMN`.
    pub fn check_key(&self, key: NodeId, clause: &str, setting: &str) -> Result<()> {
        if !self.graph.data_type(key).has_alternatives() {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!(
                "Data types Variant/Dynamic are not allowed in {clause} keys, because it can lead to unexpected results. Consider using a \
                 subcolumn with a specific data type instead (for example 'column.Int64' or 'json.some.path.:Int64' if its a JSON path \
                 subcolumn) or casting this column to a specific data type. Set setting {setting} = 1 in order to allow it"
            ),
        ))
    }

    /// Adds a key of GROUP BY, which may stand for several.
    ///
    /// # Errors
    /// Those of the key's expression.
    pub fn add_key(&mut self, expression: &ast::Expression, items: &[Item], keys: &mut Vec<NodeId>) -> Result<()> {
        if let Some(item) = self.positional(expression, items)? {
            keys.push(item.node);
            return Ok(());
        }
        match &expression.kind {
            // `GROUP BY (a, b)` is `GROUP BY a, b`.
            ExpressionKind::Function(call) if call.name == "tuple" && expression.alias.is_none() => {
                for argument in &call.arguments {
                    match &argument.kind {
                        ExpressionKind::Matcher(matcher) => {
                            keys.extend(self.expand(matcher)?.into_iter().map(|(node, _)| node));
                        }
                        _ => keys.push(self.resolve(argument)?),
                    }
                }
                keys.push(self.resolve(expression)?);
            }
            ExpressionKind::Literal(Literal::Tuple(_)) => {}
            ExpressionKind::Matcher(matcher) => keys.extend(self.expand(matcher)?.into_iter().map(|(node, _)| node)),
            _ => keys.push(self.resolve(expression)?),
        }
        Ok(())
    }

    /// The largest expressions below `node` that are not aggregated.
    fn add_keys_within(&self, node: NodeId, keys: &mut Vec<NodeId>) {
        let found = self.graph.node(node);
        match &found.kind {
            NodeKind::Constant(_) | NodeKind::Aggregate { .. } => {}
            _ if !found.has_aggregate => keys.push(node),
            _ => self.graph.children(node).iter().for_each(|child| self.add_keys_within(*child, keys)),
        }
    }

    /// The selected item that a number stands for: `GROUP BY 1`, `ORDER BY -1`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a number that no item has.
    pub fn positional<'i>(&self, expression: &ast::Expression, items: &'i [Item]) -> Result<Option<&'i Item>> {
        let (number, at) = match (&expression.kind, &expression.alias) {
            (ExpressionKind::Literal(Literal::UInt64(number)), None) => {
                (number.to_string(), usize::try_from(*number).ok().and_then(|number| number.checked_sub(1)))
            }
            // ClickHouse takes `true` for the number that it is.
            (ExpressionKind::Literal(Literal::Bool(number)), None) => {
                (u8::from(*number).to_string(), usize::from(*number).checked_sub(1))
            }
            (ExpressionKind::Literal(Literal::Int64(number)), None) => (
                number.to_string(),
                usize::try_from(number.unsigned_abs()).ok().and_then(|back| items.len().checked_sub(back)),
            ),
            _ => return Ok(None),
        };
        if !self.analyzer.context.settings.enable_positional_arguments {
            return Ok(None);
        }
        match at.and_then(|at| items.get(at)) {
            Some(item) => Ok(Some(item)),
            None => Err(self.in_scope(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Positional argument number {number} is out of bounds. Expected in range [1, {}]", items.len()),
            ))),
        }
    }

    /// Refuses window functions where windows are not computed yet: in WHERE, in GROUP BY, in HAVING.
    ///
    /// # Errors
    /// `ILLEGAL_AGGREGATION`.
    pub fn check_windows_apart(
        &mut self,
        filters: &[(NodeId, &str)],
        keys: &[NodeId],
        having: Option<NodeId>,
    ) -> Result<()> {
        let keys = keys.iter().map(|key| (*key, "GROUP BY"));
        let having = having.map(|having| (having, "HAVING"));
        for (node, clause) in filters.iter().copied().chain(keys).chain(having) {
            if self.graph.node(node).has_window {
                return Err(self.window_found(node, &format!("is found in {clause} in query")));
            }
        }
        Ok(())
    }

    /// Refuses aggregates where rows are not grouped yet: in WHERE, in GROUP BY, within aggregates.
    ///
    /// # Errors
    /// `ILLEGAL_AGGREGATION`.
    pub fn check_aggregates(&mut self, filters: &[(NodeId, &str)], keys: &[NodeId]) -> Result<()> {
        for (filter, clause) in filters {
            self.check_not_aggregated(
                *filter,
                &format!(
                    "is found in {clause} in query. Aggregate functions are not allowed in WHERE and PREWHERE, because \
                     they are computed after filtering; use HAVING to filter by the result of an aggregation"
                ),
            )?;
        }
        for key in keys {
            self.check_not_aggregated(*key, "is found in GROUP BY in query")?;
        }
        match self.nested_aggregate {
            Some(nested) => self.check_not_aggregated(nested, "is found inside another aggregate function in query"),
            None => Ok(()),
        }
    }

    /// Refuses aggregates in an expression.
    ///
    /// # Errors
    /// `ILLEGAL_AGGREGATION`.
    pub fn check_not_aggregated(&mut self, node: NodeId, found: &str) -> Result<()> {
        if !self.graph.node(node).has_aggregate {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::ILLEGAL_AGGREGATION,
            format!("Aggregate function {} {found}", self.aggregate_text(node)),
        ))
    }

    /// The first aggregate in an expression, as it is written in the query.
    pub fn aggregate_text(&mut self, node: NodeId) -> String {
        let aggregate = super::Stage::aggregates(&self.graph, &[node], &[]).first().copied();
        let name = match aggregate.map(|aggregate| &self.graph.node(aggregate).kind) {
            Some(NodeKind::Aggregate { call, .. }) => call.name.clone(),
            _ => return String::new(),
        };
        for expression in self.expressions() {
            if let Some(written) = self.find_call(expression, &name) {
                return super::text::expression(written);
            }
        }
        name.to_string()
    }

    /// The call within an expression whose name in results is `name`.
    fn find_call<'e>(&mut self, expression: &'e ast::Expression, name: &str) -> Option<&'e ast::Expression> {
        let ExpressionKind::Function(call) = &expression.kind else { return None };
        let mut shown = String::new();
        if self.append_call_name(call, &mut shown).is_ok() && shown == name {
            return Some(expression);
        }
        call.arguments.iter().find_map(|argument| self.find_call(argument, name))
    }

    /// The error for a column that is gone because rows were grouped.
    pub fn not_an_aggregate(&self, missing: &Missing) -> Error {
        match self.graph.node(missing.0).kind {
            NodeKind::Column(column) => Error::new(
                ErrorCode::NOT_AN_AGGREGATE,
                format!(
                    "Column '{}' is not under aggregate function and not in GROUP BY keys. In query {}",
                    self.source.full_name(column),
                    self.text()
                ),
            ),
            _ => Error::logical(format!("expression {:?} is not available at its step of the plan", missing.0)),
        }
    }
}
