//! One SELECT: its clauses are resolved in ClickHouse's order and become steps of the plan.

mod steps;

use std::sync::Arc;

use squall_functions::scalar_exists;
use squall_sql::ast::{self, ExpressionKind};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::Analyzer;
use super::fill::{FillOf, Interpolated};
use super::graph::NodeId;
use super::grouping::Keys;
use super::limit::RowRange;
use super::scope::{Outer, Scope};
use super::stage::{ArrayItems, Unbuilt};
use crate::plan::Plan;
use steps::build_steps;

/// What a SELECT counts for, besides its expressions, towards `max_expanded_ast_elements`.
const SELECT_ELEMENTS: usize = 10;

/// The function that gives a text's place in the order of a language.
const COLLATION_KEY: &str = "__collationKey";

/// One selected expression.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it computes.
    pub node: NodeId,
    /// Its name in the result.
    pub name: Arc<str>,
}

/// A key of ORDER BY.
#[derive(Clone)]
struct OrderKey {
    node: NodeId,
    descending: bool,
    nulls_first: bool,
    fill: Option<Box<FillOf>>,
}

/// The clauses of a SELECT, resolved.
struct Clauses {
    items: Vec<Item>,
    filters: Vec<NodeId>,
    /// None where rows are not grouped.
    keys: Option<Keys>,
    with_totals: bool,
    /// Whether the totals are those of the groups that HAVING leaves.
    totals_of_having: bool,
    /// All of HAVING's conditions.
    having: Vec<NodeId>,
    qualify: Option<NodeId>,
    order: Vec<OrderKey>,
    interpolated: Vec<Interpolated>,
    /// Whether rows are filled in groups of equal keys before the first filled one.
    fills_groups: bool,
    distinct: bool,
    /// Keys and the rows of each group.
    limit_by: Option<(Vec<NodeId>, RowRange)>,
    limit: Option<RowRange>,
    with_ties: bool,
}

impl Clauses {
    fn has_fill(&self) -> bool {
        self.order.iter().any(|key| key.fill.is_some())
    }
}

impl Analyzer<'_> {
    /// The plan of one SELECT.
    ///
    /// # Errors
    /// Everything that can be wrong with one.
    pub fn plan_select<'b>(&'b self, select: &'b ast::Select, outer: Option<&'b dyn Outer>) -> Result<Plan> {
        // Even the least SELECT costs a step of the plan.
        for _ in 0..SELECT_ELEMENTS {
            self.count_element()?;
        }
        let mut scope = Scope::new(self, outer, select)?;
        if let Some(from) = &select.from {
            scope.add_from(from)?;
        }
        let clauses = scope.clauses(select)?;
        scope.build(clauses)
    }
}

impl Scope<'_> {
    /// # Errors
    /// `ILLEGAL_PREWHERE` where what is read has no columns that could be read before others.
    fn check_prewhere(&self, select: &ast::Select) -> Result<()> {
        let first = select.from.as_ref().and_then(|from| from.table.as_ref());
        let refused = match (first.map(|table| &table.source), self.source.as_table()) {
            (None, _) => "Storage SystemOne does not support PREWHERE".to_owned(),
            (Some(ast::TableSource::Subquery(_)), _) => {
                "Expected column source of PREWHERE to be table or table function".to_owned()
            }
            (Some(_), Some(table)) if !table.supports_prewhere() => {
                let (engine, database, name) = (table.engine(), table.database(), table.name());
                format!("Storage {engine} (table {database}.{name}) does not support PREWHERE")
            }
            (Some(_), _) => return Ok(()),
        };
        Err(self.in_scope(Error::new(ErrorCode::ILLEGAL_PREWHERE, refused)))
    }

    fn clauses(&mut self, select: &ast::Select) -> Result<Clauses> {
        let mut items = self.items(&select.projection)?;
        if items.is_empty() {
            return Err(self.in_scope(Error::new(
                ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED,
                "Empty list of columns in projection",
            )));
        }
        let filters = self.filters(select)?;
        let keys = select.group_by.as_ref().map(|group_by| self.grouping(group_by, &items)).transpose()?;
        let has_sets = keys.as_ref().is_some_and(|keys| keys.sets.is_some());
        if has_sets || self.needs_keys && keys.is_some() {
            // What was resolved so far knew nothing of the keys.
            self.begin_grouped(keys.as_ref().unwrap_or(&Keys::default()));
            items = self.items(&select.projection)?;
            if select.with_totals && matches!(select.group_by, Some(ast::GroupBy::GroupingSets(_))) {
                return Err(Error::new(
                    ErrorCode::NOT_IMPLEMENTED,
                    "WITH TOTALS and GROUPING SETS are not supported together",
                ));
            }
        }
        let having = self.having(select, has_sets)?;
        let qualify = match &select.qualify {
            Some(qualify) => {
                let node = self.resolve(qualify)?;
                Some(self.condition(node, "QUALIFY")?)
            }
            None => None,
        };
        let order = match &select.order_by {
            Some(order_by) => self.order(order_by, &items)?,
            None => Vec::new(),
        };
        let interpolated = match select.order_by.as_ref().and_then(|order_by| order_by.interpolate.as_ref()) {
            Some(columns) => {
                let keys: Vec<NodeId> = order.iter().map(|key| key.node).collect();
                self.interpolated(columns, &items, &keys)?
            }
            None => Vec::new(),
        };
        let limit_by = select.limit_by.as_ref().map(|limit_by| self.limit_by(limit_by, &items)).transpose()?;
        let limit = match &select.limit {
            Some(limit) => Some(self.row_range(limit.count.as_ref(), limit.offset.as_ref())?),
            None => None,
        };
        let with_ties = select.limit.as_ref().is_some_and(|limit| limit.with_ties);
        if with_ties && select.order_by.is_none() {
            return Err(Error::new(ErrorCode::WITH_TIES_WITHOUT_ORDER_BY, "Can not use WITH TIES without ORDER BY"));
        }
        let keys = self.settled_keys(keys, select.with_totals, &filters, having)?;
        let settings = self.analyzer.context.settings;
        Ok(Clauses {
            items,
            filters: self.conjuncts(&filters)?,
            keys,
            with_totals: select.with_totals,
            totals_of_having: select.with_totals && having.is_some() && settings.totals_mode != "before_having",
            having: self.conjuncts(&having.map(|having| (having, "HAVING")).into_iter().collect::<Vec<_>>())?,
            qualify,
            order,
            interpolated,
            fills_groups: settings.use_with_fill_by_sorting_prefix,
            distinct: select.distinct,
            limit_by,
            limit,
            with_ties,
        })
    }

    /// The conditions of PREWHERE and WHERE, each with its clause.
    fn filters(&mut self, select: &ast::Select) -> Result<Vec<(NodeId, &'static str)>> {
        let mut filters = Vec::new();
        for (filter, clause) in [(&select.prewhere, "PREWHERE"), (&select.filter, "WHERE")] {
            let Some(filter) = filter else { continue };
            if clause == "PREWHERE" {
                self.check_prewhere(select)?;
            }
            self.joins_sets = true;
            let node = self.resolve(filter)?;
            self.joins_sets = false;
            if clause == "PREWHERE" && self.graph.node(node).has_array_join {
                let name = self.name(filter)?;
                return Err(self.in_scope(Error::new(
                    ErrorCode::ILLEGAL_PREWHERE,
                    format!("ARRAY JOIN function {name} is found in PREWHERE in query"),
                )));
            }
            filters.push((self.condition(node, clause)?, clause));
        }
        Ok(filters)
    }

    /// The condition of HAVING.
    fn having(&mut self, select: &ast::Select, has_sets: bool) -> Result<Option<NodeId>> {
        match &select.having {
            Some(_) if select.with_totals && has_sets => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                "WITH TOTALS and WITH ROLLUP or CUBE are not supported together in presence of HAVING",
            )),
            Some(having) => {
                let node = self.resolve(having)?;
                Ok(Some(self.condition(node, "HAVING")?))
            }
            None => Ok(None),
        }
    }

    /// The keys of LIMIT BY, and which rows of each group it takes.
    fn limit_by(&mut self, limit_by: &ast::LimitBy, items: &[Item]) -> Result<(Vec<NodeId>, RowRange)> {
        let mut keys = Vec::new();
        if limit_by.all {
            keys.extend(items.iter().map(|item| item.node));
        }
        self.add_limit_keys(&limit_by.by, items, &mut keys)?;
        Ok((keys, self.row_range(Some(&limit_by.count), limit_by.offset.as_ref())?))
    }

    /// The keys that rows are grouped by, given those of GROUP BY; none where rows are not grouped.
    ///
    /// # Errors
    /// Where aggregates, window functions or GROUPING stand where they may not.
    fn settled_keys(
        &mut self,
        keys: Option<Keys>,
        with_totals: bool,
        filters: &[(NodeId, &'static str)],
        having: Option<NodeId>,
    ) -> Result<Option<Keys>> {
        if self.needs_keys && keys.is_none() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_AGGREGATION,
                format!("GROUPING function is found in SELECT without GROUP BY in query {}", self.text()),
            ));
        }
        let key_nodes: &[NodeId] = keys.as_ref().map_or(&[], |keys| &keys.keys);
        self.check_windows_apart(filters, key_nodes, having)?;
        self.check_aggregates(filters, key_nodes)?;
        // Also where nothing is left of them but their types: toTypeName(count()) is one row.
        let has_aggregates = self.graph.has_aggregates();
        Ok(match keys {
            None if has_aggregates || with_totals => {
                let is_empty_of_none = self.analyzer.context.settings.empty_result_for_aggregation_by_empty_set;
                let keys = if is_empty_of_none { vec![self.key_of_none()] } else { Vec::new() };
                Some(Keys { keys, sets: None })
            }
            keys => keys,
        })
    }

    /// Conditions cut at AND where subqueries that read outer columns are in them: these are tested last, on what the others leave.
    fn conjuncts(&mut self, conditions: &[(NodeId, &str)]) -> Result<Vec<NodeId>> {
        let mut all = Vec::with_capacity(conditions.len());
        for (condition, clause) in conditions {
            if !self.graph.node(*condition).has_subquery {
                all.push(*condition);
                continue;
            }
            let mut parts = Vec::new();
            self.graph.conjuncts(*condition, &mut parts);
            for part in parts {
                all.push(self.condition(part, clause)?);
            }
        }
        all.sort_by_key(|condition| self.graph.node(*condition).has_subquery);
        Ok(all)
    }

    fn items(&mut self, projection: &[ast::Expression]) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(projection.len());
        self.joins_sets = true;
        for expression in projection {
            match &expression.kind {
                ExpressionKind::Matcher(matcher) => {
                    for (node, name) in self.expand(matcher)? {
                        items.push(Item { node: self.as_grouped(node), name: name.into() });
                    }
                }
                ExpressionKind::Function(call) if call.name == "untuple" => {
                    self.untuple(expression, call, &mut items)?
                }
                _ => {
                    let node = self.resolve(expression)?;
                    let name = match &expression.alias {
                        Some(alias) => self.analyzer.identifier(alias)?.into(),
                        None => self.name(expression)?.into(),
                    };
                    items.push(Item { node, name });
                }
            }
        }
        self.joins_sets = false;
        if items.iter().any(|item| *self.graph.data_type(item.node) == DataType::Nothing) {
            return Err(self.in_scope(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Invalid projection column with type Nothing",
            )));
        }
        Ok(items)
    }

    /// `untuple(tuple)`: an item for each element.
    fn untuple(&mut self, expression: &ast::Expression, call: &ast::Function, items: &mut Vec<Item>) -> Result<()> {
        let shown = call.arguments.first().map_or(Ok(String::new()), |argument| self.name(argument))?;
        for (node, element) in self.untupled(call)? {
            let name = match &expression.alias {
                Some(alias) => format!("{}.{element}", self.analyzer.identifier(alias)?),
                None => format!("tupleElement({shown}, '{element}')"),
            };
            items.push(Item { node, name: name.into() });
        }
        Ok(())
    }

    /// What `untuple(tuple)` stands for: the elements, with their names.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `ILLEGAL_TYPE_OF_ARGUMENT` for what is no tuple.
    pub fn untupled(&mut self, call: &ast::Function) -> Result<Vec<(NodeId, String)>> {
        let [argument] = &call.arguments[..] else {
            return Err(self.in_scope(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function untuple must have 1 argument. Actual {}", call.arguments.len()),
            )));
        };
        let tuple = self.resolve_argument(argument)?;
        let DataType::Tuple(elements) = self.graph.data_type(tuple).without_names() else {
            return Err(self.in_scope(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Function untuple argument must have compound type. Actual {}", self.graph.data_type(tuple)),
            )));
        };
        let mut nodes = Vec::with_capacity(elements.len());
        for (at, element) in elements.iter().enumerate() {
            let number = self.graph.constant(Value::UInt64(at as u64 + 1), DataType::UInt64);
            let node = self.scalar("tupleElement", vec![tuple, number])?;
            nodes.push((node, element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned)));
        }
        Ok(nodes)
    }

    /// A condition that the engine can filter by: a float becomes whether it is not zero.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER`.
    pub fn condition(&mut self, node: NodeId, clause: &str) -> Result<NodeId> {
        let data_type = self.graph.data_type(node).inner().clone();
        match data_type {
            DataType::UInt8 | DataType::Bool if !matches!(self.graph.data_type(node), DataType::LowCardinality(_)) => {
                Ok(node)
            }
            DataType::Nothing if self.graph.data_type(node).is_nullable() => {
                Ok(self.graph.constant(Value::UInt64(0), DataType::UInt8))
            }
            DataType::UInt8 | DataType::Bool => {
                let name = self.graph.data_type(node).remove_low_cardinality().to_string();
                let name = self.graph.constant(Value::string(name), DataType::String);
                self.scalar("CAST", vec![node, name])
            }
            other if other.is_number() => {
                let zero = self.graph.constant(Value::UInt64(0), DataType::UInt8);
                let condition = self.scalar("notEquals", vec![node, zero])?;
                if matches!(self.graph.data_type(condition), DataType::LowCardinality(_)) {
                    let name = self.graph.data_type(condition).remove_low_cardinality().to_string();
                    let name = self.graph.constant(Value::string(name), DataType::String);
                    return self.scalar("CAST", vec![condition, name]);
                }
                Ok(condition)
            }
            _ => Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER,
                format!(
                    "Invalid type for filter in {clause}: {}. In query {}",
                    self.graph.data_type(node),
                    self.text()
                ),
            )),
        }
    }

    fn order(&mut self, order_by: &ast::OrderBy, items: &[Item]) -> Result<Vec<OrderKey>> {
        let mut order: Vec<OrderKey> = Vec::with_capacity(order_by.items.len());
        for item in &order_by.items {
            let nodes: Vec<NodeId> = if order_by.all {
                items.iter().map(|item| item.node).collect()
            } else {
                match self.positional(&item.expression, items)? {
                    Some(item) => vec![item.node],
                    None => vec![self.resolve(&item.expression)?],
                }
            };
            for node in nodes {
                if !self.analyzer.context.settings.allow_suspicious_types_in_order_by {
                    self.check_key(node, "ORDER BY", "allow_suspicious_types_in_order_by")?;
                }
                let node = match &item.collation {
                    Some(locale) => self.collated(node, locale)?,
                    None => node,
                };
                if let Some(fill) = &item.fill {
                    let fill = Some(Box::new(self.fill(fill, node, item.descending)?));
                    if order.iter().any(|key| key.node == node) {
                        return Err(Error::new(
                            ErrorCode::INVALID_WITH_FILL_EXPRESSION,
                            "WITH FILL of an expression that is in ORDER BY twice is not supported",
                        ));
                    }
                    let nulls_first = item.nulls_first.unwrap_or(false);
                    order.push(OrderKey { node, descending: item.descending, nulls_first, fill });
                    continue;
                }
                // A constant orders nothing, and neither does a key that came before.
                let is_known = order.iter().any(|key| key.node == node);
                if self.graph.constant_value(node).is_none() && !is_known {
                    order.push(OrderKey {
                        node,
                        descending: item.descending,
                        nulls_first: item.nulls_first.unwrap_or(false),
                        fill: None,
                    });
                }
            }
        }
        Ok(order)
    }

    /// The bytes by which texts are in the order of a language.
    ///
    /// # Errors
    /// `UNSUPPORTED_COLLATION_LOCALE`, `BAD_COLLATION` for what is no text.
    pub fn collated(&mut self, node: NodeId, locale: &str) -> Result<NodeId> {
        if !scalar_exists(COLLATION_KEY) {
            return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, "Squall was built without collations"));
        }
        let locale = self.graph.constant(Value::string(locale), DataType::String);
        self.scalar(COLLATION_KEY, vec![node, locale])
    }

    fn add_limit_keys(&mut self, by: &[ast::Expression], items: &[Item], keys: &mut Vec<NodeId>) -> Result<()> {
        for expression in by {
            match (&expression.kind, self.positional(expression, items)?) {
                (_, Some(item)) => keys.push(item.node),
                (ExpressionKind::Matcher(matcher), _) => {
                    keys.extend(self.expand(matcher)?.into_iter().map(|(node, _)| node));
                }
                _ => keys.push(self.resolve(expression)?),
            }
        }
        Ok(())
    }

    /// The source's ARRAY JOINs: each array with the column of its items, and whether rows of empty arrays stay.
    pub fn take_array_joins(&mut self) -> Vec<(Vec<ArrayItems>, bool)> {
        let array_joins = std::mem::take(&mut self.source.array_joins);
        // The items of ARRAY JOINs are columns like any other: those that nothing reads still make rows.
        let mut joins = Vec::with_capacity(array_joins.len());
        for join in &array_joins {
            let mut columns = Vec::with_capacity(join.arrays.len());
            for (at, array) in join.arrays.iter().enumerate() {
                let column = join.first_column + at;
                let item = self.graph.column(column, self.source.data_type(column));
                columns.push((*array, item, Arc::from(self.source.name(column))));
            }
            joins.push((columns, join.is_left));
        }
        joins
    }

    /// The steps of the plan, from the source up.
    fn build(mut self, clauses: Clauses) -> Result<Plan> {
        let joins = self.take_array_joins();
        let functions = &self.analyzer.context.functions;
        let Self { graph, source, .. } = &mut self;
        let mut stage = source.take_stage(graph);
        for (columns, is_left) in &joins {
            stage.array_join(columns, *is_left)?;
        }
        let result = build_steps(&mut stage, &clauses, functions);
        let plan = stage.into_plan();
        match result {
            Ok(()) => Ok(plan),
            Err(Unbuilt::Missing(missing)) => Err(self.not_an_aggregate(&missing)),
            Err(Unbuilt::Error(error)) => Err(error),
        }
    }
}
