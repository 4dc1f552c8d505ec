//! One SELECT: its clauses are resolved in ClickHouse's order and become steps of the plan.

use std::sync::Arc;

use squall_sql::ast::{self, ExpressionKind};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::Analyzer;
use super::graph::NodeId;
use super::scope::{Outer, Scope};
use super::stage::{ArrayItems, Missing, Stage};
use crate::expression::Expression;
use crate::plan::{Plan, SortKey};

/// What a SELECT counts for, besides its expressions, towards `max_expanded_ast_elements`.
const SELECT_ELEMENTS: usize = 10;

/// One selected expression.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it computes.
    pub node: NodeId,
    /// Its name in the result.
    pub name: Arc<str>,
}

/// A key of ORDER BY.
#[derive(Clone, Copy)]
struct OrderKey {
    node: NodeId,
    descending: bool,
    nulls_first: bool,
}

/// LIMIT and OFFSET as numbers.
#[derive(Clone, Copy)]
struct RowLimit {
    limit: Option<u64>,
    offset: u64,
    with_ties: bool,
}

/// The clauses of a SELECT, resolved.
struct Clauses {
    items: Vec<Item>,
    filters: Vec<NodeId>,
    /// None where rows are not grouped.
    keys: Option<Vec<NodeId>>,
    with_totals: bool,
    having: Option<NodeId>,
    qualify: Option<NodeId>,
    order: Vec<OrderKey>,
    distinct: bool,
    /// Keys, offset and count.
    limit_by: Option<(Vec<NodeId>, u64, u64)>,
    limit: Option<RowLimit>,
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
    fn clauses(&mut self, select: &ast::Select) -> Result<Clauses> {
        let items = self.items(&select.projection)?;
        if items.is_empty() {
            return Err(self.in_scope(Error::new(
                ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED,
                "Empty list of columns in projection",
            )));
        }
        let mut filters = Vec::new();
        for (filter, clause) in [(&select.prewhere, "PREWHERE"), (&select.filter, "WHERE")] {
            let Some(filter) = filter else { continue };
            let node = self.resolve(filter)?;
            filters.push((self.condition(node, clause)?, clause));
        }
        let keys = select.group_by.as_ref().map(|group_by| self.group_keys(group_by, &items)).transpose()?;
        let having = match &select.having {
            Some(having) => {
                let node = self.resolve(having)?;
                Some(self.condition(node, "HAVING")?)
            }
            None => None,
        };
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
        let limit_by = match &select.limit_by {
            Some(limit_by) => {
                let mut keys = Vec::new();
                if limit_by.all {
                    keys.extend(items.iter().map(|item| item.node));
                }
                self.add_limit_keys(&limit_by.by, &items, &mut keys)?;
                let count = self.row_count(&limit_by.count, "LIMIT")?;
                let offset = limit_by.offset.as_ref().map(|offset| self.row_count(offset, "OFFSET")).transpose()?;
                Some((keys, offset.unwrap_or(0), count))
            }
            None => None,
        };
        let limit = match &select.limit {
            Some(limit) => Some(RowLimit {
                limit: limit.count.as_ref().map(|count| self.row_count(count, "LIMIT")).transpose()?,
                offset: limit.offset.as_ref().map_or(Ok(0), |offset| self.row_count(offset, "OFFSET"))?,
                with_ties: limit.with_ties,
            }),
            None => None,
        };
        if limit.is_some_and(|limit| limit.with_ties) && select.order_by.is_none() {
            return Err(Error::new(ErrorCode::WITH_TIES_WITHOUT_ORDER_BY, "Can not use WITH TIES without ORDER BY"));
        }
        self.check_windows_apart(&filters, keys.as_deref().unwrap_or_default(), having)?;
        self.check_aggregates(&filters, keys.as_deref().unwrap_or_default())?;
        // Also where nothing is left of them but their types: toTypeName(count()) is one row.
        let has_aggregates = self.graph.has_aggregates();
        let keys = keys.or_else(|| (has_aggregates || select.with_totals).then(Vec::new));
        Ok(Clauses {
            items,
            filters: filters.into_iter().map(|(filter, _)| filter).collect(),
            keys,
            with_totals: select.with_totals,
            having,
            qualify,
            order,
            distinct: select.distinct,
            limit_by,
            limit,
        })
    }

    fn items(&mut self, projection: &[ast::Expression]) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(projection.len());
        for expression in projection {
            match &expression.kind {
                ExpressionKind::Matcher(matcher) => {
                    let columns = self.expand(matcher)?;
                    items.extend(columns.into_iter().map(|(node, name)| Item { node, name: name.into() }));
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
        Ok(items)
    }

    /// `untuple(tuple)`: an item for each element.
    fn untuple(&mut self, expression: &ast::Expression, call: &ast::Function, items: &mut Vec<Item>) -> Result<()> {
        let [argument] = &call.arguments[..] else {
            return Err(self.in_scope(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function untuple must have 1 argument. Actual {}", call.arguments.len()),
            )));
        };
        let tuple = self.resolve_argument(argument)?;
        let shown = self.name(argument)?;
        let DataType::Tuple(elements) = self.graph.data_type(tuple).clone() else {
            return Err(self.in_scope(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Function untuple argument must have compound type. Actual {}", self.graph.data_type(tuple)),
            )));
        };
        for (at, element) in elements.iter().enumerate() {
            let number = self.graph.constant(Value::UInt64(at as u64 + 1), DataType::UInt64);
            let node = self.scalar("tupleElement", vec![tuple, number])?;
            let element = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
            let name = match &expression.alias {
                Some(alias) => format!("{}.{element}", self.analyzer.identifier(alias)?),
                None => format!("tupleElement({shown}, '{element}')"),
            };
            items.push(Item { node, name: name.into() });
        }
        Ok(())
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
        if order_by.interpolate.is_some() {
            return Err(Error::not_implemented("INTERPOLATE"));
        }
        let mut order: Vec<OrderKey> = Vec::with_capacity(order_by.items.len());
        for item in &order_by.items {
            if item.fill.is_some() {
                return Err(Error::not_implemented("WITH FILL"));
            }
            if item.collation.is_some() {
                return Err(Error::new(
                    ErrorCode::SUPPORT_IS_DISABLED,
                    "Collations are not supported: text is ordered by its bytes",
                ));
            }
            let nodes: Vec<NodeId> = if order_by.all {
                items.iter().map(|item| item.node).collect()
            } else {
                match self.positional(&item.expression, items)? {
                    Some(item) => vec![item.node],
                    None => vec![self.resolve(&item.expression)?],
                }
            };
            for node in nodes {
                // A constant orders nothing, and neither does a key that came before.
                let is_known = order.iter().any(|key| key.node == node);
                if self.graph.constant_value(node).is_none() && !is_known {
                    order.push(OrderKey {
                        node,
                        descending: item.descending,
                        nulls_first: item.nulls_first.unwrap_or(false),
                    });
                }
            }
        }
        Ok(order)
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

    /// The number of a LIMIT or an OFFSET.
    fn row_count(&mut self, expression: &ast::Expression, clause: &str) -> Result<u64> {
        let node = self.resolve(expression)?;
        let refused = |scope: &Self| {
            scope.in_scope(Error::new(
                ErrorCode::INVALID_LIMIT_EXPRESSION,
                format!(
                    "{clause} expression must be constant with numeric type. Actual: {}",
                    super::text::expression(expression)
                ),
            ))
        };
        match self.graph.constant_value(node) {
            Some(Value::UInt64(count)) if self.graph.data_type(node).inner().is_integer() => Ok(*count),
            Some(Value::Int64(count)) if self.graph.data_type(node).inner().is_integer() => {
                u64::try_from(*count).map_err(|_| Error::not_implemented(format!("A negative {clause}")))
            }
            Some(Value::Float64(count)) if *count > 0.0 && *count < 1.0 => {
                Err(Error::not_implemented(format!("A fractional {clause}")))
            }
            Some(Value::Float64(count)) => Err(Error::new(
                ErrorCode::INVALID_LIMIT_EXPRESSION,
                format!(
                    "The value {count} of {clause} expression is not representable as UInt64 or Int64 or Float64 in the \
                     range (0, 1)"
                ),
            )),
            _ => Err(refused(self)),
        }
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
        let Self { graph, source, .. } = &mut self;
        let mut stage = source.take_stage(graph);
        for (columns, is_left) in &joins {
            stage.array_join(columns, *is_left)?;
        }
        let result = build_steps(&mut stage, &clauses);
        let plan = stage.into_plan();
        match result {
            Ok(()) => Ok(plan),
            Err(missing) => Err(self.not_an_aggregate(&missing)),
        }
    }
}

/// Puts the steps of a SELECT on top of its source.
fn build_steps(stage: &mut Stage<'_>, clauses: &Clauses) -> Result<(), Missing> {
    // What is computed once rows are grouped, or simply last.
    let mut last: Vec<NodeId> = clauses.items.iter().map(|item| item.node).collect();
    last.extend(clauses.order.iter().map(|key| key.node));
    last.extend(clauses.having);
    last.extend(clauses.qualify);
    last.extend(clauses.limit_by.iter().flat_map(|(keys, ..)| keys));

    if !clauses.filters.is_empty() {
        let mut later = last.clone();
        later.extend(clauses.keys.iter().flatten());
        stage.unnest(&clauses.filters)?;
        stage.keep_random(&clauses.filters, &later)?;
        for filter in &clauses.filters {
            let predicate = stage.lower(*filter)?;
            stage.then(|input| Plan::Filter { input, predicate });
        }
    }
    if let Some(keys) = &clauses.keys {
        let aggregates = stage.aggregates_below(&last, keys);
        let mut roots = keys.clone();
        for aggregate in &aggregates {
            roots.extend(stage.children(*aggregate));
        }
        stage.unnest(&roots)?;
        stage.share(&roots)?;
        stage.aggregate(keys, &aggregates, clauses.with_totals)?;
    }
    stage.unnest(&last)?;
    if let Some(having) = clauses.having {
        let predicate = stage.lower(having)?;
        stage.then(|input| Plan::Filter { input, predicate });
    }
    stage.windows(&last)?;
    if let Some(qualify) = clauses.qualify {
        let predicate = stage.lower(qualify)?;
        stage.then(|input| Plan::Filter { input, predicate });
    }
    let outputs: Vec<(NodeId, Arc<str>)> = clauses.items.iter().map(|item| (item.node, item.name.clone())).collect();
    let selected: Vec<NodeId> = outputs.iter().map(|(node, _)| *node).collect();

    // With a LIMIT, most rows that are sorted are thrown away: what is selected is better computed afterwards.
    let sorts_first = clauses.limit.is_some_and(|limit| limit.limit.is_some())
        && !clauses.order.is_empty()
        && !clauses.distinct
        && clauses.limit_by.is_none()
        && last.iter().all(|node| stage.is_deterministic(*node));
    if sorts_first {
        sort(stage, &clauses.order)?;
        limit(stage, clauses)?;
        stage.share(&selected)?;
        return stage.project(&outputs);
    }

    stage.share(&last)?;
    let mut columns = outputs.clone();
    let keys = clauses.order.iter().map(|key| key.node);
    for node in keys.chain(clauses.limit_by.iter().flat_map(|(keys, ..)| keys.iter().copied())) {
        let is_constant = matches!(stage.lower(node), Ok(Expression::Constant { .. }));
        if !is_constant && !columns.iter().any(|(known, _)| *known == node) {
            columns.push((node, "key".into()));
        }
    }
    stage.project(&columns)?;
    if clauses.distinct {
        if columns.len() == outputs.len() {
            stage.then(|input| Plan::Distinct { input });
        } else {
            // Rows are told apart by what is selected alone, but what they are sorted by must stay.
            let keys = selected.iter().map(|node| stage.lower(*node)).collect::<Result<_, _>>()?;
            stage.then(|input| Plan::LimitBy { input, offset: 0, limit: 1, keys });
        }
    }
    sort(stage, &clauses.order)?;
    if let Some((keys, offset, count)) = &clauses.limit_by {
        let keys = keys.iter().map(|key| stage.lower(*key)).collect::<Result<_, _>>()?;
        stage.then(|input| Plan::LimitBy { input, offset: *offset, limit: *count, keys });
    }
    limit(stage, clauses)?;
    if columns.len() > outputs.len() {
        stage.keep_first(outputs.len());
    }
    Ok(())
}

fn sort_keys(stage: &Stage<'_>, order: &[OrderKey]) -> Result<Vec<SortKey>, Missing> {
    let key = |key: &OrderKey| {
        Ok(SortKey { expression: stage.lower(key.node)?, descending: key.descending, nulls_first: key.nulls_first })
    };
    order.iter().map(key).collect()
}

fn sort(stage: &mut Stage<'_>, order: &[OrderKey]) -> Result<(), Missing> {
    if !order.is_empty() {
        let keys = sort_keys(stage, order)?;
        stage.then(|input| Plan::Sort { input, keys, limit: None });
    }
    Ok(())
}

fn limit(stage: &mut Stage<'_>, clauses: &Clauses) -> Result<(), Missing> {
    let Some(row_limit) = clauses.limit else { return Ok(()) };
    if row_limit.limit.is_none() && row_limit.offset == 0 {
        return Ok(());
    }
    let ties = row_limit.with_ties.then(|| sort_keys(stage, &clauses.order)).transpose()?;
    stage.then(|input| Plan::Limit { input, offset: row_limit.offset, limit: row_limit.limit, ties });
    Ok(())
}
