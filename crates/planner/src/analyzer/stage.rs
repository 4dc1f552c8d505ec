//! From the graph of a SELECT to steps of a plan: which nodes are columns of the plan so far, and how the others are computed
//! from them. Nodes that several expressions use are computed once, in a projection below.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use squall_functions::{FunctionContext, state_and_merge};
use squall_types::{DataType, Error, Schema, Value};

use super::decorrelate::{Correlated, SubqueryKind, Wanted};
use super::graph::{Graph, NodeId, NodeKind, WindowNode, WindowOrder};
use super::grouping::Keys;
use crate::explain::hidden_name;
use crate::expression::{Expression, Lambda};
use crate::plan::{
    Aggregate, AggregateCall, KeySets, Plan, SortKey, Window, WindowCall, WindowCallFunction, WindowFrame,
};
use crate::rules::call;

/// A plan under construction, with the nodes that its columns hold.
pub(crate) struct Stage<'g> {
    graph: &'g Graph,
    plan: Plan,
    columns: HashMap<NodeId, usize>,
}

/// An array, the node of its items, and the items' name.
pub(crate) type ArrayItems = (NodeId, NodeId, Arc<str>);

/// Why a step of a SELECT cannot be built.
pub(crate) enum Unbuilt {
    /// A column is not there.
    Missing(Missing),
    /// Something else is wrong.
    Error(Error),
}

impl From<Missing> for Unbuilt {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

impl From<Error> for Unbuilt {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Unbuilt> for Error {
    fn from(unbuilt: Unbuilt) -> Self {
        match unbuilt {
            Unbuilt::Missing(missing) => missing.into(),
            Unbuilt::Error(error) => error,
        }
    }
}

/// Why a node cannot be computed: a column that is no longer there, because rows were grouped and it is not a key.
pub(crate) struct Missing(pub NodeId);

impl<'g> Stage<'g> {
    /// A plan in which these positions hold these nodes.
    pub fn at(graph: &'g Graph, plan: Plan, nodes: impl IntoIterator<Item = (usize, NodeId)>) -> Self {
        Self { graph, plan, columns: nodes.into_iter().map(|(at, node)| (node, at)).collect() }
    }

    /// The expression that computes a node over the plan's columns.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn lower(&self, id: NodeId) -> Result<Expression, Missing> {
        lower(self.graph, id, &self.columns, self.plan.schema())
    }

    /// Puts a step that keeps the columns on top.
    pub fn then(&mut self, step: impl FnOnce(Box<Plan>) -> Plan) {
        self.plan.replace(|plan| step(Box::new(plan)));
    }

    /// Puts steps that keep the columns on top.
    ///
    /// # Errors
    /// That of `steps`.
    pub fn try_then(&mut self, steps: impl FnOnce(Plan) -> Result<Plan, Error>) -> Result<(), Error> {
        self.plan.replace_with(steps)
    }

    /// Computes the subqueries in `roots` that read columns of this plan, the innermost first, each once: it is joined to the plan.
    ///
    /// # Errors
    /// The column that is missing, and where a subquery cannot be joined.
    pub fn join_subqueries(&mut self, roots: &[NodeId], functions: &FunctionContext) -> Result<(), Unbuilt> {
        let mut found = Vec::new();
        let mut visited = HashSet::new();
        roots.iter().for_each(|root| self.find_subqueries(*root, &mut visited, &mut found));
        for id in found {
            let column = self.plan.schema().len();
            self.join_subquery(id, Wanted::Column, functions)?;
            self.columns.insert(id, column);
        }
        Ok(())
    }

    /// Keeps the rows for which a condition holds. Where it is whether a subquery has rows, it is a semi join.
    ///
    /// # Errors
    /// The column that is missing, and where a subquery cannot be joined.
    pub fn filter(&mut self, condition: NodeId, functions: &FunctionContext) -> Result<(), Unbuilt> {
        let is_predicate = |id: NodeId| match &self.graph.node(id).kind {
            NodeKind::Correlated { call, .. } => call.kind != SubqueryKind::Scalar && !self.columns.contains_key(&id),
            _ => false,
        };
        let (answer, never_null) = self.known_answer(condition);
        let (subquery, wanted) = match &self.graph.node(answer).kind {
            NodeKind::Function { name, arguments, .. } if &**name == "not" => (arguments[0], Wanted::NotMatching),
            _ => (answer, Wanted::Matching),
        };
        if is_predicate(subquery) {
            self.join_subqueries(self.graph.children(subquery), functions)?;
            // NULL has no partner, so that a semi join leaves it out by itself.
            if let (Some(value), Wanted::NotMatching) = (never_null, wanted) {
                self.join_subqueries(&[value], functions)?;
                let predicate = call("isNotNull", vec![self.lower(value)?], functions)?;
                self.then(|input| Plan::Filter { input, predicate });
            }
            return self.join_subquery(subquery, wanted, functions);
        }
        self.join_subqueries(&[condition], functions)?;
        let predicate = self.lower(condition)?;
        self.then(|input| Plan::Filter { input, predicate });
        Ok(())
    }

    /// What holds where a condition does: of `if(isNull(value), NULL, answer)`, which `IN` is of a value that may be NULL, the answer, and
    /// that the value is not NULL.
    fn known_answer(&self, condition: NodeId) -> (NodeId, Option<NodeId>) {
        let function = |id: NodeId, wanted: &str| match &self.graph.node(id).kind {
            NodeKind::Function { name, arguments, .. } if &**name == wanted => Some(&arguments[..]),
            _ => None,
        };
        match function(condition, "if") {
            Some([is_null, null, answer]) if self.graph.constant_value(*null) == Some(&Value::Null) => {
                function(*is_null, "isNull")
                    .map_or((condition, None), |arguments| (*answer, arguments.first().copied()))
            }
            _ => (condition, None),
        }
    }

    fn find_subqueries(&self, id: NodeId, visited: &mut HashSet<NodeId>, found: &mut Vec<NodeId>) {
        let node = self.graph.node(id);
        if !node.has_subquery || self.columns.contains_key(&id) || !visited.insert(id) {
            return;
        }
        // Aggregates' own subqueries are joined before the aggregation, those of windows' arguments after it.
        if matches!(node.kind, NodeKind::Aggregate { .. }) {
            return;
        }
        self.graph.children(id).iter().for_each(|child| self.find_subqueries(*child, visited, found));
        if matches!(node.kind, NodeKind::Correlated { .. }) {
            found.push(id);
        }
    }

    fn join_subquery(&mut self, id: NodeId, wanted: Wanted, functions: &FunctionContext) -> Result<(), Unbuilt> {
        let NodeKind::Correlated { call, operands } = &self.graph.node(id).kind else { return Err(Missing(id).into()) };
        let operands = operands.iter().map(|operand| self.lower(*operand)).collect::<Result<Vec<_>, _>>()?;
        let (references, value) = match call.kind {
            SubqueryKind::In => operands.split_at(operands.len() - 1),
            _ => (&operands[..], &[][..]),
        };
        let subquery =
            Correlated { kind: call.kind, plan: call.plan.clone(), references, value: value.first(), functions };
        Ok(self.try_then(|plan| subquery.join(plan, wanted))?)
    }

    /// Puts an ARRAY JOIN on top: each array of `arrays` becomes a column that holds the node beside it.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn array_join(&mut self, arrays: &[ArrayItems], is_left: bool) -> Result<(), Missing> {
        let expressions = arrays.iter().map(|(array, ..)| self.lower(*array)).collect::<Result<Vec<_>, _>>()?;
        let mut fields = self.plan.schema().fields.clone();
        for (_, item, name) in arrays {
            self.columns.insert(*item, fields.len());
            fields.push((name.clone(), self.graph.data_type(*item).clone()));
        }
        let schema = Arc::new(Schema { fields });
        self.then(|input| Plan::ArrayJoin { input, arrays: expressions, is_left, schema });
        Ok(())
    }

    /// Computes the `arrayJoin`s in `roots`, the innermost first, each once.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn unnest(&mut self, roots: &[NodeId]) -> Result<(), Missing> {
        let mut visited = HashSet::new();
        let mut found = Vec::new();
        for root in roots {
            self.find_array_joins(*root, &mut visited, &mut found);
        }
        for id in found {
            if let NodeKind::ArrayJoin(array) = self.graph.node(id).kind {
                self.array_join(&[(array, id, "arrayJoin".into())], false)?;
            }
        }
        Ok(())
    }

    fn find_array_joins(&self, id: NodeId, visited: &mut HashSet<NodeId>, found: &mut Vec<NodeId>) {
        let node = self.graph.node(id);
        if !node.has_array_join || self.columns.contains_key(&id) || !visited.insert(id) {
            return;
        }
        // Aggregates' own `arrayJoin`s are computed before the aggregation.
        if matches!(node.kind, NodeKind::Aggregate { .. }) {
            return;
        }
        self.graph.children(id).iter().for_each(|child| self.find_array_joins(*child, visited, found));
        if matches!(node.kind, NodeKind::ArrayJoin(_)) {
            found.push(id);
        }
    }

    /// Computes nodes that occur more than once in `roots` in projections of their own, so that each is computed once. Only
    /// what `roots` need is kept. Nodes that only ever occur in branches that may not be taken stay there: computed outside
    /// they could fail.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn share(&mut self, roots: &[NodeId]) -> Result<(), Missing> {
        let mut uses = Uses::default();
        for root in roots {
            self.count_uses(*root, true, &mut uses);
        }
        let shared = uses.counts.iter().filter(|(id, count)| {
            let node = self.graph.node(**id);
            let must_be_one = !node.is_deterministic;
            node.kind.is_call() && count.all > 1 && (count.is_certain || must_be_one)
        });
        let shared = shared.map(|(id, _)| *id).collect();
        self.compute(shared, roots)
    }

    /// Computes what is random in the conditions `filters` before they are applied, so that what `later` selects is what was
    /// tested.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn keep_random(&mut self, filters: &[NodeId], later: &[NodeId]) -> Result<(), Missing> {
        if filters.iter().all(|filter| self.graph.node(*filter).is_deterministic) {
            return Ok(());
        }
        let (mut tested, mut selected) = (Uses::default(), Uses::default());
        filters.iter().for_each(|filter| self.count_uses(*filter, true, &mut tested));
        later.iter().for_each(|later| self.count_uses(*later, true, &mut selected));
        let random = tested.counts.keys().filter(|id| {
            let node = self.graph.node(**id);
            node.kind.is_call() && !node.is_deterministic && selected.counts.contains_key(*id)
        });
        let random = random.copied().collect();
        let roots: Vec<NodeId> = filters.iter().chain(later).copied().collect();
        self.compute(random, &roots)
    }

    /// Computes `shared` in projections, those first that others are made of. What `roots` need is kept.
    fn compute(&mut self, mut shared: Vec<NodeId>, roots: &[NodeId]) -> Result<(), Missing> {
        if shared.is_empty() {
            return Ok(());
        }
        // Children have smaller numbers than parents, so levels are known bottom-up.
        shared.sort_unstable();
        let mut levels: HashMap<NodeId, u32> = HashMap::new();
        for id in &shared {
            let below = self.level_below(*id, &levels, &mut HashMap::new());
            levels.insert(*id, below + 1);
        }
        let deepest = levels.values().copied().max().unwrap_or(0);
        for level in 1..=deepest {
            let now: Vec<NodeId> = shared.iter().copied().filter(|id| levels.get(id) == Some(&level)).collect();
            self.add_columns(&now, roots)?;
        }
        Ok(())
    }

    fn count_uses(&self, id: NodeId, is_certain: bool, uses: &mut Uses) {
        if matches!(self.graph.node(id).kind, NodeKind::Constant(_)) || self.columns.contains_key(&id) {
            return;
        }
        let count = uses.counts.entry(id).or_default();
        count.all = count.all.saturating_add(1);
        let was_certain = count.is_certain;
        count.is_certain |= is_certain;
        // The children of a node that was met before are counted, unless it now turns out to be computed certainly.
        if count.all > 1 && (was_certain || !is_certain) {
            return;
        }
        let is_again = count.all > 1;
        let lazy_from = self.graph.lazy_from(id);
        for (at, child) in self.graph.children(id).iter().enumerate() {
            if is_again {
                self.make_certain(*child, is_certain && at < lazy_from, uses);
            } else {
                self.count_uses(*child, is_certain && at < lazy_from, uses);
            }
        }
    }

    fn make_certain(&self, id: NodeId, is_certain: bool, uses: &mut Uses) {
        let Some(count) = uses.counts.get_mut(&id) else { return };
        if !is_certain || count.is_certain {
            return;
        }
        count.is_certain = true;
        for child in self.graph.children(id).iter().take(self.graph.lazy_from(id)) {
            self.make_certain(*child, true, uses);
        }
    }

    /// The highest level among shared nodes strictly below `id`.
    fn level_below(&self, id: NodeId, levels: &HashMap<NodeId, u32>, known: &mut HashMap<NodeId, u32>) -> u32 {
        let mut highest = 0;
        if self.columns.contains_key(&id) {
            return highest;
        }
        for child in self.graph.children(id) {
            let level = match levels.get(child).or_else(|| known.get(child)) {
                Some(level) => *level,
                None => {
                    let level = self.level_below(*child, levels, known);
                    known.insert(*child, level);
                    level
                }
            };
            highest = highest.max(level);
        }
        highest
    }

    /// Puts a projection on top that computes `added` and keeps what `roots` still need.
    fn add_columns(&mut self, added: &[NodeId], roots: &[NodeId]) -> Result<(), Missing> {
        let expressions = added.iter().map(|id| self.lower(*id)).collect::<Result<Vec<_>, _>>()?;
        let mut needed = HashSet::new();
        let mut visited: HashSet<NodeId> = added.iter().copied().collect();
        for root in roots {
            self.find_needed(*root, &mut visited, &mut needed);
        }
        let mut kept: Vec<(usize, NodeId)> =
            self.columns.iter().filter(|(id, _)| needed.contains(*id)).map(|(id, at)| (*at, *id)).collect();
        kept.sort_unstable();
        let input = self.plan.schema().clone();
        let mut fields = Vec::with_capacity(kept.len() + added.len());
        let mut outputs = Vec::with_capacity(kept.len() + added.len());
        self.columns.clear();
        for (position, id) in kept {
            let (name, data_type) = &input.fields[position];
            self.columns.insert(id, outputs.len());
            fields.push((name.clone(), data_type.clone()));
            outputs.push(Expression::column(position, data_type));
        }
        for (id, expression) in added.iter().zip(expressions) {
            self.columns.insert(*id, outputs.len());
            fields.push((hidden_name(&expression, &input), expression.data_type().clone()));
            outputs.push(expression);
        }
        let schema = Arc::new(Schema { fields });
        self.then(|input| Plan::Project { input, expressions: outputs, schema });
        Ok(())
    }

    fn find_needed(&self, id: NodeId, visited: &mut HashSet<NodeId>, needed: &mut HashSet<NodeId>) {
        if !visited.insert(id) {
            return;
        }
        if self.columns.contains_key(&id) {
            needed.insert(id);
            return;
        }
        self.graph.children(id).iter().for_each(|child| self.find_needed(*child, visited, needed));
    }

    /// Puts an aggregation on top. Afterwards only the keys and `aggregates` are there.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn aggregate(
        &mut self,
        keys: &Keys,
        aggregates: &[NodeId],
        with_totals: bool,
        functions: &FunctionContext,
    ) -> Result<(), Unbuilt> {
        let mut roots: Vec<NodeId> = keys.keys.clone();
        aggregates.iter().for_each(|aggregate| roots.extend(self.children(*aggregate)));
        self.unnest(&roots)?;
        self.join_subqueries(&roots, functions)?;
        let Some(sets) = &keys.sets else {
            self.share(&roots)?;
            return Ok(self.aggregate_by(&keys.keys, &keys.keys, aggregates, (with_totals, None))?);
        };
        // Before rows are repeated.
        let calls = roots.iter().filter(|root| self.graph.node(**root).kind.is_call()).copied();
        let mut computed: Vec<NodeId> = Vec::new();
        calls.for_each(|call| {
            if !computed.contains(&call) {
                computed.push(call)
            }
        });
        self.compute(computed, &roots)?;
        self.array_join(&[(sets.numbers, sets.number, "__grouping_set".into())], false)?;
        let with_number = |keys: &[NodeId]| keys.iter().copied().chain([sets.number]).collect::<Vec<_>>();
        let (masked, grouped) = (with_number(&sets.masked), with_number(&sets.grouped));
        let key_sets = KeySets { number: keys.keys.len(), has_group_without_rows: sets.has_group_without_rows };
        self.aggregate_by(&masked, &grouped, aggregates, (with_totals, Some(key_sets)))?;
        if sets.stand_together {
            let expression = self.lower(sets.number)?;
            let key = SortKey { expression, descending: false, nulls_first: false };
            self.then(|input| Plan::Sort { input, keys: vec![key], limit: None, group_limit: None });
        }
        Ok(())
    }

    /// Groups by the values of `keys`, which are those of `grouped` afterwards.
    fn aggregate_by(
        &mut self,
        keys: &[NodeId],
        grouped: &[NodeId],
        aggregates: &[NodeId],
        (with_totals, sets): (bool, Option<KeySets>),
    ) -> Result<(), Missing> {
        let key_expressions = keys.iter().map(|key| self.lower(*key)).collect::<Result<Vec<_>, _>>()?;
        let input = self.plan.schema().clone();
        let mut fields: Vec<(Arc<str>, DataType)> = Vec::with_capacity(keys.len() + aggregates.len());
        for expression in &key_expressions {
            let name = match expression {
                Expression::Column { position, .. } => input.fields[*position].0.clone(),
                _ => hidden_name(expression, &input),
            };
            fields.push((name, expression.data_type().clone()));
        }
        let mut calls = Vec::with_capacity(aggregates.len());
        for id in aggregates {
            let node = self.graph.node(*id);
            let NodeKind::Aggregate { call, arguments } = &node.kind else { return Err(Missing(*id)) };
            let arguments = if call.function.needs_arguments() { &arguments[..] } else { &[] };
            let arguments = arguments.iter().map(|argument| self.lower(*argument)).collect::<Result<_, _>>()?;
            calls.push(AggregateCall { name: call.name.clone(), function: call.function.clone(), arguments });
            fields.push((call.name.clone(), node.data_type.clone()));
        }
        let schema = Arc::new(Schema { fields });
        self.columns = grouped.iter().chain(aggregates).enumerate().map(|(at, id)| (*id, at)).collect();
        self.then(|input| {
            Plan::Aggregate(Aggregate {
                input,
                keys: key_expressions,
                aggregates: calls,
                schema,
                with_totals,
                sets,
                limit: None,
            })
        });
        Ok(())
    }

    /// Puts an aggregation on top whose totals are those of the groups for which `having` holds: the groups that do not meet it are
    /// dropped while their states are still there, then one more aggregation by the same keys has the results and the totals.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn aggregate_with_totals_of(
        &mut self,
        having: &[NodeId],
        keys: &Keys,
        aggregates: &[NodeId],
        functions: &FunctionContext,
    ) -> Result<(), Unbuilt> {
        self.aggregate(keys, aggregates, false, functions)?;
        let first = self.plan.schema().len() - aggregates.len();
        let mut merges = Vec::with_capacity(aggregates.len());
        if let Plan::Aggregate(aggregate) = &mut self.plan {
            let mut fields = aggregate.schema.fields.clone();
            for at in 0..aggregate.aggregates.len() {
                let AggregateCall { name, function, arguments } = aggregate.aggregates[at].clone();
                let (state, merge) = state_and_merge(&function);
                let states = Expression::column(fields.len(), state.return_type());
                fields.push((name.clone(), state.return_type().clone()));
                merges.push(AggregateCall { name: name.clone(), function: merge, arguments: vec![states] });
                aggregate.aggregates.push(AggregateCall { name, function: state, arguments });
            }
            aggregate.schema = Arc::new(Schema { fields });
        }
        for condition in having {
            self.filter(*condition, functions)?;
        }
        let input = self.plan.schema().clone();
        let mut fields = input.fields[..first].to_vec();
        let mut by: Vec<Expression> =
            fields.iter().enumerate().map(|(at, (_, data_type))| Expression::column(at, data_type)).collect();
        if by.is_empty() {
            // Without keys there would be a group even where HAVING leaves none.
            by.push(Expression::Constant { value: Value::UInt64(1), data_type: DataType::UInt8 });
            fields.push(("1".into(), DataType::UInt8));
        }
        let added = fields.len() - first;
        fields.extend(input.fields[first..first + aggregates.len()].iter().cloned());
        self.columns.retain(|_, at| *at < first + aggregates.len());
        self.columns.values_mut().filter(|at| **at >= first).for_each(|at| *at += added);
        let schema = Arc::new(Schema { fields });
        self.then(|input| {
            Plan::Aggregate(Aggregate {
                input,
                keys: by,
                aggregates: merges,
                schema,
                with_totals: true,
                sets: None,
                limit: None,
            })
        });
        Ok(())
    }

    /// Computes the window functions in `roots`. Those of one window are one step; the rows are sorted before it unless they come
    /// in its order already.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn windows(&mut self, roots: &[NodeId]) -> Result<(), Missing> {
        let mut found = Vec::new();
        let mut visited = HashSet::new();
        roots.iter().for_each(|root| self.find_windows(*root, &mut visited, &mut found));
        let mut computed = Vec::new();
        for id in &found {
            for operand in self.graph.children(*id) {
                let is_new = !self.columns.contains_key(operand) && !computed.contains(operand);
                if is_new && self.graph.node(*operand).kind.is_call() {
                    computed.push(*operand);
                }
            }
        }
        self.compute(computed, roots)?;
        let mut windows: Vec<(WindowKeys, WindowFrame, Vec<NodeId>)> = Vec::new();
        for id in found {
            let NodeKind::Window { call, operands } = &self.graph.node(id).kind else { continue };
            let keys = WindowKeys::of(self.graph, call, operands);
            match windows.iter_mut().find(|(known, frame, _)| *known == keys && *frame == call.frame) {
                Some((_, _, functions)) => functions.push(id),
                None => windows.push((keys, call.frame, vec![id])),
            }
        }
        // A window whose keys are the first keys of another needs no order of its own after it.
        windows.sort_by_key(|(keys, ..)| std::cmp::Reverse(keys.0.len()));
        let mut order = WindowKeys::default();
        for (keys, frame, functions) in windows {
            let sort = self.sort_keys(&keys)?;
            if !order.begins_with(&keys) {
                self.then(|input| Plan::Sort { input, keys: sort.clone(), limit: None, group_limit: None });
                order = keys.clone();
            }
            self.window(&keys, sort, frame, &functions)?;
        }
        Ok(())
    }

    fn find_windows(&self, id: NodeId, visited: &mut HashSet<NodeId>, found: &mut Vec<NodeId>) {
        let node = self.graph.node(id);
        if !node.has_window || self.columns.contains_key(&id) || !visited.insert(id) {
            return;
        }
        match node.kind {
            NodeKind::Window { .. } => found.push(id),
            _ => self.graph.children(id).iter().for_each(|child| self.find_windows(*child, visited, found)),
        }
    }

    fn sort_keys(&self, keys: &WindowKeys) -> Result<Vec<SortKey>, Missing> {
        let key = |(node, order): &(NodeId, WindowOrder)| {
            Ok(SortKey { expression: self.lower(*node)?, descending: order.descending, nulls_first: order.nulls_first })
        };
        keys.0.iter().map(key).collect()
    }

    fn window(
        &mut self,
        keys: &WindowKeys,
        mut sort: Vec<SortKey>,
        frame: WindowFrame,
        functions: &[NodeId],
    ) -> Result<(), Missing> {
        let order_by = sort.split_off(keys.1);
        let partition_by = sort.into_iter().map(|key| key.expression).collect();
        let mut fields = self.plan.schema().fields.clone();
        let mut calls = Vec::with_capacity(functions.len());
        let mut columns = Vec::with_capacity(functions.len());
        for id in functions {
            let node = self.graph.node(*id);
            let NodeKind::Window { call, operands } = &node.kind else { return Err(Missing(*id)) };
            let needs_arguments = match &call.function {
                WindowCallFunction::Aggregate(function) => function.needs_arguments(),
                WindowCallFunction::Own(_) => true,
            };
            let arguments = if needs_arguments { &operands[..call.arguments] } else { &[] };
            calls.push(WindowCall {
                name: call.name.clone(),
                function: call.function.clone(),
                arguments: arguments.iter().map(|argument| self.lower(*argument)).collect::<Result<_, _>>()?,
            });
            columns.push((*id, fields.len()));
            fields.push((call.name.clone(), node.data_type.clone()));
        }
        self.columns.extend(columns);
        let schema = Arc::new(Schema { fields });
        self.then(|input| Plan::Window(Window { input, partition_by, order_by, frame, calls, schema }));
        Ok(())
    }

    /// Puts a projection on top, after which the columns are these nodes under these names. Where they are already, nothing
    /// is put.
    ///
    /// # Errors
    /// The column that is missing.
    pub fn project(&mut self, outputs: &[(NodeId, Arc<str>)]) -> Result<(), Missing> {
        let expressions = outputs.iter().map(|(id, _)| self.lower(*id)).collect::<Result<Vec<_>, _>>()?;
        self.columns.clear();
        for (at, (id, _)) in outputs.iter().enumerate() {
            // Of equal columns the first serves.
            self.columns.entry(*id).or_insert(at);
        }
        let names = outputs.iter().map(|(_, name)| name.clone());
        self.plan.replace(|plan| project(plan, expressions, names));
        Ok(())
    }

    /// The nodes that hold aggregates below `roots`, in the order met, without going into `keys`.
    pub fn aggregates(graph: &Graph, roots: &[NodeId], keys: &[NodeId]) -> Vec<NodeId> {
        fn find(graph: &Graph, id: NodeId, visited: &mut HashSet<NodeId>, found: &mut Vec<NodeId>) {
            let node = graph.node(id);
            if !node.has_aggregate || !visited.insert(id) {
                return;
            }
            if matches!(node.kind, NodeKind::Aggregate { .. }) {
                found.push(id);
                return;
            }
            graph.children(id).iter().for_each(|child| find(graph, *child, visited, found));
        }
        let mut visited: HashSet<NodeId> = keys.iter().copied().collect();
        let mut found = Vec::new();
        roots.iter().for_each(|root| find(graph, *root, &mut visited, &mut found));
        found
    }

    /// The aggregates below `roots`, without going into `keys`.
    pub fn aggregates_below(&self, roots: &[NodeId], keys: &[NodeId]) -> Vec<NodeId> {
        Self::aggregates(self.graph, roots, keys)
    }

    /// Whether a node is a column of the plan.
    pub fn is_column(&self, id: NodeId) -> bool {
        self.columns.contains_key(&id)
    }

    /// The type of a column of the plan.
    pub fn column_type(&self, column: usize) -> DataType {
        self.plan.schema().fields.get(column).map_or(DataType::Nothing, |(_, data_type)| data_type.clone())
    }

    /// The nodes directly below a node.
    pub fn children(&self, id: NodeId) -> &'g [NodeId] {
        self.graph.children(id)
    }

    /// Whether none of these makes several rows of one.
    pub fn is_row_by_row(&self, nodes: &[NodeId]) -> bool {
        !nodes.iter().any(|id| self.graph.node(*id).has_array_join)
    }

    /// Whether equal input makes equal results.
    pub fn is_deterministic(&self, id: NodeId) -> bool {
        self.graph.node(id).is_deterministic
    }

    /// Drops all columns but the first `count`.
    pub fn keep_first(&mut self, count: usize) {
        self.plan.replace(|plan| {
            let fields = plan.schema().fields[..count].to_vec();
            let columns = fields.iter().enumerate();
            let expressions = columns.map(|(at, (_, data_type))| Expression::column(at, data_type)).collect();
            project(plan, expressions, fields.into_iter().map(|(name, _)| name))
        });
    }

    /// The finished plan.
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

/// The expression that computes a node over columns that hold these nodes.
fn lower(graph: &Graph, id: NodeId, columns: &HashMap<NodeId, usize>, schema: &Schema) -> Result<Expression, Missing> {
    let node = graph.node(id);
    if let NodeKind::Constant(value) = &node.kind {
        return Ok(Expression::Constant { value: value.clone(), data_type: node.data_type.clone() });
    }
    if let Some(position) = columns.get(&id) {
        return Ok(Expression::Column { position: *position, data_type: node.data_type.clone() });
    }
    let lower_all = |nodes: &[NodeId]| {
        nodes.iter().map(|node| lower(graph, *node, columns, schema)).collect::<Result<Vec<Expression>, Missing>>()
    };
    match &node.kind {
        NodeKind::Function { name, function, arguments } => Ok(Expression::Function {
            name: name.clone(),
            function: function.clone(),
            arguments: lower_all(arguments)?,
        }),
        NodeKind::HigherOrder { call, operands } => {
            let lowered = lower_all(operands)?;
            let mut inner = HashMap::new();
            let mut fields = Vec::with_capacity(call.parameters.len() + operands.len() - call.arguments);
            for (name, parameter) in &call.parameters {
                inner.insert(*parameter, fields.len());
                fields.push((name.clone(), graph.data_type(*parameter).clone()));
            }
            for (captured, expression) in operands.iter().zip(&lowered).skip(call.arguments) {
                inner.insert(*captured, fields.len());
                fields.push((hidden_name(expression, schema), expression.data_type().clone()));
            }
            let schema = Arc::new(Schema { fields });
            let body = lower(graph, call.body, &inner, &schema)?;
            Ok(Expression::HigherOrder {
                name: call.name.clone(),
                function: call.function.clone(),
                lambda: Arc::new(Lambda { schema, parameters: call.parameters.len(), body }),
                operands: lowered,
            })
        }
        _ => Err(Missing(id)),
    }
}

/// The keys of a window that are no constants: so many of the partition, then those of the order, each once.
#[derive(Clone, Default, PartialEq, Eq)]
struct WindowKeys(Vec<(NodeId, WindowOrder)>, usize);

impl WindowKeys {
    fn of(graph: &Graph, call: &WindowNode, operands: &[NodeId]) -> Self {
        let ascending = WindowOrder { descending: false, nulls_first: false };
        let keys = operands.iter().skip(call.arguments);
        let orders = std::iter::repeat_n(ascending, call.partition_keys).chain(call.order.iter().copied());
        let mut all = Self::default();
        for (at, (node, order)) in keys.zip(orders).enumerate() {
            let is_known = all.0.iter().any(|(known, _)| known == node);
            if !is_known && graph.constant_value(*node).is_none() {
                all.0.push((*node, order));
                all.1 += usize::from(at < call.partition_keys);
            }
        }
        all
    }

    /// Whether rows in this order are in that of `others` as well.
    fn begins_with(&self, others: &Self) -> bool {
        self.0.starts_with(&others.0)
    }
}

/// How often a node occurs, and whether it is computed for every row.
#[derive(Default)]
struct Uses {
    counts: HashMap<NodeId, Count>,
}

#[derive(Default)]
struct Count {
    all: u32,
    is_certain: bool,
}

/// A projection of a plan; the plan itself where it has these columns under these names already.
pub(crate) fn project(input: Plan, expressions: Vec<Expression>, names: impl Iterator<Item = Arc<str>>) -> Plan {
    let fields: Vec<(Arc<str>, DataType)> =
        names.zip(&expressions).map(|(name, expression)| (name, expression.data_type().clone())).collect();
    let is_same = input.schema().len() == fields.len()
        && expressions
            .iter()
            .enumerate()
            .all(|(at, expression)| matches!(expression, Expression::Column { position, .. } if *position == at))
        && input.schema().fields.iter().zip(&fields).all(|(old, new)| old.0 == new.0);
    if is_same {
        return input;
    }
    Plan::Project { input: Box::new(input), expressions, schema: Arc::new(Schema { fields }) }
}

/// `LOGICAL_ERROR` for a column that must have been there.
impl From<Missing> for Error {
    fn from(missing: Missing) -> Self {
        Self::logical(format!("expression {:?} is not available at its step of the plan", missing.0))
    }
}
