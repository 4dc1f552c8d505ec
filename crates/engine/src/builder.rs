//! From a logical plan to pipelines: steps that work block by block become operators of the pipeline below them; steps that need
//! all rows end the pipeline and begin another.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_planner::fill::Fill;
use squall_planner::{
    Aggregate, AggregateCall, CommonRows, Expression, Join, JoinStrictness, LateColumns, Plan, RuntimeFilter, Scan,
    Window,
};
use squall_runtime::{ProfileEvent, ThreadPool};
use squall_storage::{
    ConditionUse, Insertion, PartMerge, PartNumbers, RowNumbers, ScanRequest, SkipIndexUse, Table, TableHandle,
    TableScan,
};
use squall_types::{DataType, Error, Result, Schema};

use crate::aggregate::bounds::Bounds;
use crate::aggregate::few_groups::FewGroups;
use crate::aggregate::frequent_keys::{FrequentKeys, FrequentKeysFilter, FrequentKeysSink, ReadRows};
use crate::aggregate::input::projected;
use crate::aggregate::interned_table::Interning;
use crate::aggregate::key_table::KeyKind;
use crate::aggregate::merge::{Merge, Merging, Partitioning};
use crate::aggregate::sink::{AggregateSink, Grouping};
use crate::aggregate::spilled::Spilling;
use crate::aggregate::top_groups::TopGroups;
use crate::common_rows::{CollectedRows, Reading};
use crate::fill::WithFill;
use crate::insert::{Commit, Input, InputScan, InsertSink};
use crate::join::{
    BoundedScan, BucketJoining, Filling, Grace, JoinPaste, JoinProbe, JoinSink, JoinTable, KeyBound, KeyFilter,
    KeyFilters, Matching, Unmatched, stored_right_side,
};
use crate::late_columns::LateReading;
use crate::operator::{ArrayJoin, Distinct, Filter, FirstOfGroups, Limit, LimitBy, Operator, Project, RowsBeforeLimit};
use crate::output::{Output, OutputSink};
use crate::pipeline::{Pipeline, Sink, Stage};
use crate::query_context::QueryContext;
use crate::sink::Nothing;
use crate::sort::order::Order;
use crate::sort::range::{RangeMerging, Sorted};
use crate::sort::sink::SortSink;
use crate::source::Blocks;
use crate::step_profile::{PipelineSteps, PlanProfile, StepNumbers};
use crate::totals::{Totals, TotalsRow};
use crate::units::{UnitSource, Units};
use crate::window::{Collecting, WindowComputing, WindowSink};
use crate::works::{WorkPieces, Works};

/// A source and the operators after it: a pipeline that has no end yet.
struct Chain {
    source: Arc<dyn TableScan>,
    source_name: String,
    operators: Vec<Arc<dyn Operator>>,
    depends_on: Vec<usize>,
    is_sorted: bool,
    is_table: bool,
    /// The joins, by number, whose build side the chain probes.
    finds_for: Vec<usize>,
    /// The join whose unmatched build rows the chain emits, once every probe pipeline has finished.
    after_finds: Option<usize>,
    /// Where the query is analyzed: after how many operators the rows of which step leave it.
    step_ends: Vec<(usize, usize)>,
}

impl Chain {
    fn new(source: impl TableScan + 'static, source_name: impl Into<String>, depends_on: Vec<usize>) -> Self {
        Self::of(Arc::new(source), source_name, depends_on)
    }

    fn of(source: Arc<dyn TableScan>, source_name: impl Into<String>, depends_on: Vec<usize>) -> Self {
        Self {
            source,
            source_name: source_name.into(),
            operators: Vec::new(),
            depends_on,
            is_sorted: false,
            is_table: false,
            finds_for: Vec::new(),
            after_finds: None,
            step_ends: Vec::new(),
        }
    }

    /// The rows of a step leave it here.
    fn end_step(&mut self, step: usize) {
        let end = (self.operators.len(), step);
        match self.step_ends.last_mut() {
            // It was thought to end before: what was added since is the step's, too.
            Some(last) if last.1 == step => *last = end,
            _ => self.step_ends.push(end),
        }
    }
}

/// Builds the pipelines of one query.
pub(crate) struct Builder {
    context: Arc<QueryContext>,
    pipelines: Vec<Pipeline>,
    /// The totals of the step that was built last.
    totals: Option<Totals>,
    /// The step, by address, whose rows the query's LIMIT chooses from.
    counted: Option<*const Plan>,
    /// Joins so far.
    joins: usize,
    /// By its number: the keys that a runtime filter asks.
    build_sides: HashMap<u64, BuildSide>,
    /// By its number: what is computed once.
    common_rows: HashMap<usize, CommonSubplan>,
    /// The steps of the plan, where the query is analyzed.
    steps: Option<StepNumbers>,
}

/// What a sort right above an aggregation wants of its groups.
struct Wanted<'a> {
    order: &'a Arc<Order>,
    /// Whether the query's LIMIT chooses from them.
    is_counted: bool,
}

/// A plan whose rows are computed once.
struct CommonSubplan {
    rows: Arc<CollectedRows>,
    /// The pipelines that fill it.
    filled: Vec<usize>,
    is_sorted: bool,
}

/// The build side of a join.
#[derive(Clone)]
struct BuildSide {
    matching: Arc<Matching>,
    table: Arc<JoinTable>,
    /// The pipelines that fill it.
    filled: Vec<usize>,
}

impl Builder {
    pub(crate) fn new(context: Arc<QueryContext>) -> Self {
        let (build_sides, common_rows) = (HashMap::new(), HashMap::new());
        Self {
            context,
            pipelines: Vec::new(),
            totals: None,
            counted: None,
            joins: 0,
            build_sides,
            common_rows,
            steps: None,
        }
    }

    /// Has the pipelines of a plan note what each of its steps does.
    pub(crate) fn analyzing(mut self, plan: &Plan) -> (Self, Arc<PlanProfile>) {
        let steps = self.steps.insert(StepNumbers::new(plan));
        let profile = steps.profile.clone();
        (self, profile)
    }

    /// The pipelines of a SELECT and its output.
    pub(crate) fn select(mut self, plan: &Plan) -> Result<(Vec<Pipeline>, Arc<Output>)> {
        // A last LIMIT is applied where rows come out in order, so that what it lets through does not depend on chance.
        let plan = self.common_subplans(plan)?;
        let (plan, offset, limit) = match plan {
            // Where the query is analyzed, it is a step like others.
            Plan::Limit { input, offset, limit, ties: None } if self.steps.is_none() => (&**input, *offset, *limit),
            other => (other, 0, None),
        };
        let wants_few = limit.is_some();
        self.counted = if wants_few {
            Some(std::ptr::from_ref(sort_input(plan)))
        } else {
            limit_input(plan).map(std::ptr::from_ref)
        };
        if self.counted.is_some() {
            self.context.progress.begin_before_limit();
        }
        let chains = self.lower(plan, wants_few)?;
        let output = Output::new(plan.schema().clone(), self.context.clone(), offset, limit);
        let totals = self.totals.take();
        self.end(chains, Arc::new(OutputSink { output: output.clone(), totals }));
        Ok((self.pipelines, output))
    }

    /// The pipelines of an INSERT whose rows a plan computes.
    pub(crate) fn insert_select(
        mut self,
        plan: &Plan,
        insertion: Arc<dyn Insertion>,
        pool: ThreadPool,
    ) -> Result<Vec<Pipeline>> {
        let chains = self.lower(plan, false)?;
        let parts = Works::new(self.context.clone());
        self.insert(chains, insertion, parts, pool);
        Ok(self.pipelines)
    }

    /// The pipelines of an INSERT whose rows come from a client, through the given projection. They do what is added to `works`, too.
    pub(crate) fn insert_input(
        mut self,
        input: Arc<Input>,
        works: Arc<Works>,
        project: Option<(Vec<Expression>, Arc<Schema>)>,
        insertion: Arc<dyn Insertion>,
        pool: ThreadPool,
    ) -> Vec<Pipeline> {
        let mut chain = Chain::new(InputScan(input), "Input", Vec::new());
        if let Some((expressions, schema)) = project {
            chain.operators.push(Arc::new(Project::new(expressions, schema)));
        }
        self.insert(vec![chain], insertion, works, pool);
        self.pipelines
    }

    /// The pipelines of a merge.
    pub(crate) fn merge(mut self, merge: PartMerge, pool: ThreadPool) -> Vec<Pipeline> {
        let mut chain = Chain::of(merge.scan, "Merge", Vec::new());
        chain.is_table = true;
        let parts = Works::new(self.context.clone());
        let inputs = self.insert(vec![chain], merge.insertion, parts, pool);
        // Its rows go through one writer, in the scan's order.
        for input in inputs {
            self.pipelines[input].workers_max = 1;
        }
        self.pipelines
    }

    /// Writes what chains give, in `parts`; the numbers of their pipelines.
    fn insert(
        &mut self,
        chains: Vec<Chain>,
        insertion: Arc<dyn Insertion>,
        parts: Arc<Works>,
        pool: ThreadPool,
    ) -> Vec<usize> {
        let context = self.context.clone();
        // First, as workers look for morsels in the order of pipelines: rows that are there are written before more come.
        let made = self.works(&parts, "MakeParts");
        let keeps_order = insertion.keeps_order();
        let inputs = self.end(chains, Arc::new(InsertSink { insertion: insertion.clone(), context, parts }));
        if keeps_order {
            inputs.iter().for_each(|input| self.pipelines[*input].workers_max = 1);
        }
        let all = made.iter().chain(&inputs).copied().collect();
        let commit = Chain::new(Commit::new(insertion, pool, self.context.clone()), "Commit", all);
        self.end(vec![commit], Arc::new(Nothing));
        inputs
    }

    /// Ends chains in a sink; gives the numbers of the pipelines.
    fn end(&mut self, chains: Vec<Chain>, sink: Arc<dyn Sink>) -> Vec<usize> {
        let block_rows_max = sink.block_rows_max();
        let stage = Stage::new(sink, chains.len());
        let first = self.pipelines.len();
        // Chains that find and the chain of what was not found come to the same end.
        let finding = |join: usize| {
            let chains = chains.iter().enumerate();
            chains.filter(|(_, chain)| chain.finds_for.contains(&join)).map(|(at, _)| first + at).collect::<Vec<_>>()
        };
        let found: Vec<Vec<usize>> =
            chains.iter().map(|chain| chain.after_finds.map(finding).unwrap_or_default()).collect();
        for (input, chain) in chains.into_iter().enumerate() {
            let mut pipeline = Pipeline::new(chain.source, chain.source_name, stage.clone());
            pipeline.input = input;
            pipeline.depends_on = chain.depends_on;
            pipeline.depends_on.extend(&found[input]);
            // A join and its runtime filters wait for the same pipelines; each is waited for once.
            pipeline.depends_on.sort_unstable();
            pipeline.depends_on.dedup();
            if chain.operators.iter().any(|operator| operator.needs_order()) {
                pipeline.workers_max = 1;
            }
            if let Some(rows) = block_rows_max {
                pipeline.block_rows = rows;
            } else if !chain.operators.is_empty() {
                pipeline.block_rows =
                    usize::try_from(self.context.settings.max_block_size).unwrap_or(usize::MAX).max(1);
            }
            pipeline.operators = chain.operators;
            pipeline.counts_as_read = chain.is_table;
            if let Some(StepNumbers { profile, current, .. }) = &self.steps {
                let steps = PipelineSteps::new(profile, &chain.step_ends, *current, &mut pipeline.operators);
                pipeline.steps = Some(steps);
            }
            self.pipelines.push(pipeline);
        }
        (first..self.pipelines.len()).collect()
    }

    /// The chains that give a plan's rows. `wants_few`: a LIMIT above may end the reading early.
    fn lower(&mut self, plan: &Plan, wants_few: bool) -> Result<Vec<Chain>> {
        self.lower_sorted(plan, wants_few, None)
    }

    /// The same, below a sort of this order.
    fn lower_sorted(&mut self, plan: &Plan, wants_few: bool, order: Option<&Arc<Order>>) -> Result<Vec<Chain>> {
        self.as_step(plan, |builder| builder.lower_counted(plan, wants_few, order))
    }

    /// Builds a step of the plan: where the query is analyzed, what is built meanwhile is the step's.
    fn as_step(&mut self, plan: &Plan, build: impl FnOnce(&mut Self) -> Result<Vec<Chain>>) -> Result<Vec<Chain>> {
        let Some(step) = self.steps.as_ref().and_then(|steps| steps.of(plan)) else { return build(self) };
        let outer = self.set_step(Some(step));
        let chains = build(self);
        self.set_step(outer);
        let mut chains = chains?;
        chains.iter_mut().for_each(|chain| chain.end_step(step));
        Ok(chains)
    }

    /// Sets the step that is being built; the one before.
    fn set_step(&mut self, step: Option<usize>) -> Option<usize> {
        self.steps.as_mut().and_then(|steps| std::mem::replace(&mut steps.current, step))
    }

    fn lower_counted(&mut self, plan: &Plan, wants_few: bool, order: Option<&Arc<Order>>) -> Result<Vec<Chain>> {
        let is_counted = self.counted.is_some_and(|counted| std::ptr::eq(counted, plan));
        let chains = match (plan, order) {
            (Plan::Aggregate(aggregate), Some(order)) => self.lower_aggregate(aggregate, Some(order), is_counted)?,
            _ => self.lower_step(plan, wants_few)?,
        };
        if is_counted {
            return Ok(add(chains, &(Arc::new(RowsBeforeLimit(self.context.clone())) as Arc<dyn Operator>)));
        }
        Ok(chains)
    }

    fn lower_step(&mut self, plan: &Plan, wants_few: bool) -> Result<Vec<Chain>> {
        Ok(match plan {
            Plan::Values { blocks, .. } => vec![Chain::new(Blocks::new(blocks.clone()), "Values", Vec::new())],
            Plan::Scan(_) | Plan::Filter { .. } | Plan::ArrayJoin { .. } => {
                self.lower_for(plan, vec![true; plan.schema().len()], wants_few)?
            }
            Plan::Project { input, expressions, schema } => {
                let needed = columns_of(expressions, input.schema().len());
                let chains = self.lower_for(input, needed, wants_few)?;
                let project: Arc<dyn Operator> = Arc::new(Project::new(expressions.clone(), schema.clone()));
                self.pass_totals(&project);
                add(chains, &project)
            }
            Plan::Aggregate(aggregate) => self.lower_aggregate(aggregate, None, false)?,
            Plan::Sort { input, keys, limit, group_limit } => {
                let order = Arc::new(Order::new(keys.clone(), input.schema().clone(), *limit));
                let mut chains = self.lower_sorted(input, false, Some(&order).filter(|_| group_limit.is_none()))?;
                if let Some(limit) = group_limit {
                    chains = add(chains, &(Arc::new(FirstOfGroups::new(keys, *limit)) as Arc<dyn Operator>));
                }
                vec![self.sort(chains, order)]
            }
            Plan::Window(window) => vec![self.window(window)?],
            Plan::Fill(fill) => vec![self.fill(fill)?],
            Plan::Limit { input, offset, limit, ties } => {
                let chains = self.lower(input, true)?;
                // Rows to be left out are those that come first; without an offset any rows will do.
                let needs_order = *offset > 0 || chains.iter().all(|chain| chain.is_sorted);
                // Several inputs share the operator and its count of rows.
                let operator = Limit::new(*offset, *limit, ties.clone(), needs_order)
                    .reading_on(self.context.settings.exact_rows_before_limit);
                add(chains, &(Arc::new(operator) as Arc<dyn Operator>))
            }
            Plan::LimitBy { input, offset, limit, keys } => {
                let chains = self.lower(input, wants_few)?;
                let operator: Arc<dyn Operator> = Arc::new(LimitBy::new(*offset, *limit, keys));
                add(chains, &operator)
            }
            Plan::Distinct { input } if wants_few || Distinct::is_limited(&self.context.settings) => {
                let chains = self.lower(input, wants_few)?;
                let operator: Arc<dyn Operator> = Arc::new(Distinct::new(input.schema(), &self.context.settings));
                add(chains, &operator)
            }
            Plan::Distinct { input } => {
                let keys = input.schema().types().enumerate();
                let keys =
                    keys.map(|(position, data_type)| Expression::Column { position, data_type: data_type.clone() });
                let distinct = Aggregate {
                    input: input.clone(),
                    keys: keys.collect(),
                    aggregates: Vec::new(),
                    schema: input.schema().clone(),
                    with_totals: false,
                    sets: None,
                    limit: None,
                };
                let chains = self.lower(input, false)?;
                vec![self.aggregate(&distinct, chains, true, None)?]
            }
            Plan::Union { inputs, .. } => {
                let (mut chains, mut totals) = (Vec::new(), None);
                for input in inputs {
                    self.totals = None;
                    chains.extend(self.lower(input, wants_few)?);
                    totals = totals.or(self.totals.take());
                }
                self.totals = totals;
                chains
            }
            Plan::Join(join) => self.join(join, wants_few)?,
            Plan::CommonSubplan { .. } => {
                let input = self.common_subplans(plan)?;
                self.lower(input, wants_few)?
            }
            Plan::CommonRows(reading) => vec![self.common_rows(reading)?],
            Plan::LateColumns(late) => vec![self.late_columns(late)?],
        })
    }

    /// Collects the rows of the subplans that stand before a plan's other steps. Gives these.
    fn common_subplans<'a>(&mut self, mut plan: &'a Plan) -> Result<&'a Plan> {
        while let Plan::CommonSubplan { number, rows, input } = plan {
            let own = self.steps.as_ref().and_then(|steps| steps.of(plan));
            let outer = self.set_step(own);
            let chains = self.lower(rows, false)?;
            self.totals = None;
            let is_sorted = chains.iter().all(|chain| chain.is_sorted);
            let (collecting, filled) = self.collect(chains);
            self.set_step(outer);
            let rows = Arc::new(CollectedRows::new(collecting, rows.schema().clone()));
            self.common_rows.insert(*number, CommonSubplan { rows, filled, is_sorted });
            plan = input;
        }
        Ok(plan)
    }

    fn common_rows(&mut self, reading: &CommonRows) -> Result<Chain> {
        self.totals = None;
        let subplan = self.common_rows.get(&reading.number);
        let subplan = subplan.ok_or_else(|| Error::logical("rows of a common subplan that is not there"))?;
        let columns = reading.columns.iter().zip(reading.schema.types());
        let columns = columns.map(|(position, data_type)| Expression::column(*position, data_type)).collect();
        let reader = Reading::new(subplan.rows.clone(), Project::new(columns, reading.schema.clone()));
        let mut chain = Chain::new(self.units(reader), "ReadFromCommonBuffer", subplan.filled.clone());
        chain.is_sorted = subplan.is_sorted;
        Ok(chain)
    }

    fn late_columns(&mut self, late: &LateColumns) -> Result<Chain> {
        let chains = self.lower(&late.input, false)?;
        let (collecting, collected) = self.collect(chains);
        let fields = late.schema.fields.iter().skip(late.schema.len() - late.columns.len());
        let request = ScanRequest {
            columns: late.columns.clone(),
            schema: Arc::new(Schema { fields: fields.cloned().collect() }),
            predicate: None,
            bounds: Vec::new(),
            limit: None,
            skip_indexes: SkipIndexUse::default(),
            row_numbers: RowNumbers::None,
            subcolumns: None,
            condition_use: ConditionUse::default(),
        };
        let table = TableHandle::of(&*late.table)?.0.clone();
        let reading = LateReading::new(collecting, late.input.schema().clone(), table, request, late.schema.clone());
        let mut chain = Chain::new(self.units(reading), "LazilyReadFromMergeTree", collected);
        chain.is_sorted = true;
        Ok(chain)
    }

    /// Ends chains where their rows are kept in their order; what is kept, and the numbers of the pipelines.
    fn collect(&mut self, chains: Vec<Chain>) -> (Arc<Collecting>, Vec<usize>) {
        let works = Works::new(self.context.clone());
        // First, as workers look for morsels in the order of pipelines: what does not fit is written before more rows come.
        let mut collected = self.works(&works, "WriteSortedRows");
        let collecting = Collecting::whole(works, self.context.clone());
        collected.extend(self.end(chains, Arc::new(WindowSink::new(collecting.clone()))));
        (collecting, collected)
    }

    /// The steps of a plan of whose columns only those at `needed` are read: others need not be filtered or repeated.
    fn lower_for(&mut self, plan: &Plan, needed: Vec<bool>, wants_few: bool) -> Result<Vec<Chain>> {
        self.as_step(plan, |builder| builder.lower_step_for(plan, needed, wants_few))
    }

    fn lower_step_for(&mut self, plan: &Plan, mut needed: Vec<bool>, wants_few: bool) -> Result<Vec<Chain>> {
        Ok(match plan {
            Plan::Scan(scan) => vec![self.scan(scan, needed)?],
            Plan::Filter { input, predicate } => {
                let mut filters: Vec<RuntimeFilter<'_>> = RuntimeFilter::of(predicate).into_iter().collect();
                let mut below = &**input;
                while let (Plan::Filter { input, predicate }, false) = (below, filters.is_empty())
                    && let Some(filter) = RuntimeFilter::of(predicate)
                {
                    filters.insert(0, filter);
                    below = input;
                }
                let chains = match below {
                    // Items are not repeated for columns that neither the condition nor anything after it reads.
                    Plan::ArrayJoin { .. } if filters.is_empty() => {
                        let of_condition = columns_of([predicate], needed.len());
                        let below_needed = needed.iter().zip(of_condition).map(|(after, here)| *after || here);
                        self.lower_for(below, below_needed.collect(), wants_few)?
                    }
                    _ => self.lower(below, wants_few)?,
                };
                match filters.is_empty() {
                    true => add(chains, &self.filter(predicate, needed)),
                    false => self.runtime_filters(&filters, chains, needed),
                }
            }
            Plan::ArrayJoin { input, arrays, is_left, schema } => {
                let chains = self.lower(input, wants_few)?;
                needed.truncate(input.schema().len());
                let join = ArrayJoin::new(arrays.clone(), *is_left, needed, schema.clone());
                let operator: Arc<dyn Operator> = Arc::new(join);
                self.pass_totals(&operator);
                add(chains, &operator)
            }
            other => self.lower(other, wants_few)?,
        })
    }

    fn filter(&self, predicate: &Expression, needed: Vec<bool>) -> Arc<dyn Operator> {
        let may_reorder = self.context.settings.allow_reorder_prewhere_conditions;
        Arc::new(Filter::new(predicate.clone(), needed, may_reorder))
    }

    /// Leaves out rows that joins above have no partners for. Their build sides are complete before the first of them is read.
    fn runtime_filters(&self, filters: &[RuntimeFilter<'_>], mut chains: Vec<Chain>, needed: Vec<bool>) -> Vec<Chain> {
        let mut found = Vec::with_capacity(filters.len());
        for filter in filters {
            let Some(BuildSide { matching, table, filled }) = self.build_sides.get(&filter.join).cloned() else {
                continue;
            };
            chains.iter_mut().for_each(|chain| chain.depends_on.extend(&filled));
            found.push(KeyFilter::new(matching, table, filter.keys.to_vec()));
        }
        if found.is_empty() {
            return chains;
        }
        add(chains, &(Arc::new(KeyFilters::new(found, needed)) as Arc<dyn Operator>))
    }

    fn join(&mut self, join: &Join, wants_few: bool) -> Result<Vec<Chain>> {
        let matching = Arc::new(Matching::new(join, self.context.clone()));
        let mut right_totals = None;
        let (table, filled) = match stored_right_side(join, &matching)? {
            Some(table) => (table, Vec::new()),
            None => {
                let right = self.lower(&join.right, false)?;
                right_totals = self.totals.take();
                let works = self.join_works(&matching);
                let grace = works.as_ref().map(|[of_right, of_left]| {
                    let (left, right) = (join.left.schema().clone(), join.right.schema().clone());
                    Arc::new(Grace::new(matching.clone(), left, right, of_left.0.clone(), of_right.0.clone()))
                });
                let table = Arc::new(JoinTable::new(matching.clone(), grace));
                let mut collected = works.map(|[of_right, _]| of_right.1).unwrap_or_default();
                collected.extend(self.end(right, Arc::new(JoinSink::new(table.clone()))));
                let filling = Chain::new(self.units(Filling(table.clone())), "FillingRightJoinSide", collected);
                (table, self.end(vec![filling], Arc::new(Nothing)))
            }
        };
        if let Some(number) = join.runtime_filter {
            let (matching, table) = (matching.clone(), table.clone());
            self.build_sides.insert(number, BuildSide { matching, table, filled: filled.clone() });
        }
        let mut chains = self.lower(&join.left, wants_few)?;
        self.totals = Totals::of_join(self.totals.take(), right_totals, join);
        if self.totals.is_some() && join.strictness == JoinStrictness::Paste {
            return Err(Error::not_implemented("WITH TOTALS on a side of PASTE JOIN"));
        }
        let number = self.joins;
        self.joins += 1;
        let probe: Arc<dyn Operator> = match join.strictness {
            JoinStrictness::Paste => Arc::new(JoinPaste::new(matching.clone(), table.clone())),
            _ => Arc::new(JoinProbe::new(matching.clone(), table.clone())),
        };
        for chain in &mut chains {
            chain.depends_on.extend(&filled);
            chain.is_sorted = false;
            chain.finds_for.push(number);
            chain.operators.push(probe.clone());
        }
        if let Some(grace) = table.grace() {
            let joining = BucketJoining(grace.clone());
            let mut chain = Chain::new(self.units(joining), "GraceHashJoin", filled.clone());
            chain.after_finds = Some(number);
            chains.push(chain);
        }
        if matching.gives_unmatched_right() {
            let mut chain = Chain::new(self.units(Unmatched { matching, table }), "NonJoined", filled);
            chain.after_finds = Some(number);
            chains.push(chain);
        }
        Ok(chains)
    }

    /// The pipeline of works that others leave; its number.
    fn works(&mut self, works: &Arc<Works>, name: &str) -> Vec<usize> {
        let pieces = Chain::new(WorkPieces(works.clone()), name, Vec::new());
        let numbers = self.end(vec![pieces], Arc::new(Nothing));
        numbers.iter().for_each(|number| self.pipelines[*number].works = Some(works.clone()));
        numbers
    }

    fn units<U: Units>(&self, work: U) -> UnitSource<U> {
        UnitSource::new(work, self.context.clone())
    }

    /// What writes the right side of a join to disk and what writes the left one, each with its pipeline, where the join can be cut.
    fn join_works(&mut self, matching: &Matching) -> Option<[(Arc<Works>, Vec<usize>); 2]> {
        if !matching.can_be_cut() {
            return None;
        }
        Some([(); 2].map(|()| {
            let works = Works::new(self.context.clone());
            let pipelines = self.works(&works, "WriteBuckets");
            (works, pipelines)
        }))
    }

    fn scan(&self, scan: &Scan, needed: Vec<bool>) -> Result<Chain> {
        let settings = &self.context.settings;
        let request = ScanRequest {
            columns: scan.columns.clone(),
            schema: scan.schema.clone(),
            predicate: scan.predicate.clone(),
            bounds: Vec::new(),
            limit: scan.limit,
            skip_indexes: SkipIndexUse::new(settings),
            row_numbers: if scan.has_places { RowNumbers::Place(PartNumbers::default()) } else { RowNumbers::None },
            subcolumns: None,
            condition_use: ConditionUse::new(settings),
        };
        let table = &TableHandle::of(&*scan.table)?.0;
        let forces_indices = !settings.force_data_skipping_indices.is_empty();
        if settings.force_primary_key || settings.force_index_by_date || forces_indices {
            table.check_index_is_used(&request, settings)?;
        }
        let source = table.scan(&request)?;
        if let Some(rows) = source.rows_total() {
            let total = &self.context.progress.total_rows_to_read;
            total.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
        }
        let selection = source.selection();
        self.context.counters.add(ProfileEvent::SelectedParts, selection.parts);
        self.context.counters.add(ProfileEvent::SelectedMarks, selection.marks);
        // Of a query, however many of its tables have such conditions.
        let is_by_key = self.context.counters.get(ProfileEvent::IndexAnalysisRounds) > 0;
        if is_by_key && self.context.counters.get(ProfileEvent::SelectQueriesWithPrimaryKeyUsage) == 0 {
            self.context.counters.add(ProfileEvent::SelectQueriesWithPrimaryKeyUsage, 1);
        }
        let mut operators: Vec<Arc<dyn Operator>> = Vec::new();
        if let Some(predicate) = &scan.predicate {
            operators.push(self.filter(predicate, needed));
        }
        let source_name = format!("{}.{}", scan.table.database(), scan.table.name());
        let (source, depends_on) = self.bounded(scan, table, request, source);
        Ok(Chain {
            source,
            source_name,
            operators,
            depends_on,
            is_sorted: false,
            is_table: true,
            finds_for: Vec::new(),
            after_finds: None,
            step_ends: Vec::new(),
        })
    }

    /// The scan within the bounds that build sides of joins give it, and the pipelines that fill these.
    fn bounded(
        &self,
        scan: &Scan,
        table: &Arc<dyn Table>,
        request: ScanRequest,
        whole: Arc<dyn TableScan>,
    ) -> (Arc<dyn TableScan>, Vec<usize>) {
        let mut depends_on = Vec::new();
        let bounds = scan.bounds.iter().filter_map(|bound| {
            let side = self.build_sides.get(&bound.join)?;
            depends_on.extend(&side.filled);
            Some(KeyBound { table: side.table.clone(), key: bound.key, column: bound.column })
        });
        let bounds: Vec<KeyBound> = bounds.collect();
        match bounds.is_empty() {
            true => (whole, depends_on),
            false => (Arc::new(BoundedScan::new(table.clone(), request, whole, bounds)), depends_on),
        }
    }

    /// The totals of the step below go through an operator of this one.
    fn pass_totals(&mut self, operator: &Arc<dyn Operator>) {
        self.totals = self.totals.take().map(|totals| Totals::Through(Box::new(totals), operator.clone()));
    }

    /// The chain that gives an aggregation's groups; `order`: of a sort right above, which wants no more than its first.
    fn lower_aggregate(
        &mut self,
        aggregate: &Aggregate,
        order: Option<&Arc<Order>>,
        is_counted: bool,
    ) -> Result<Vec<Chain>> {
        let projected = projected(aggregate);
        if let (Some(steps), Some(Plan::Project { input, .. })) =
            (&mut self.steps, projected.as_ref().map(|projected| &*projected.input))
        {
            steps.add_copy(&aggregate.input, input);
        }
        let aggregate = projected.as_ref().unwrap_or(aggregate);
        let arguments = aggregate.aggregates.iter().flat_map(|call| &call.arguments);
        let needed = columns_of(aggregate.keys.iter().chain(arguments), aggregate.input.schema().len());
        let chains = self.lower_for(&aggregate.input, needed, false)?;
        self.totals = None;
        let top = order.map(|order| Wanted { order, is_counted });
        Ok(vec![self.aggregate(aggregate, chains, false, top)?])
    }

    /// The groups of the rows that `chains` give.
    fn aggregate(
        &mut self,
        aggregate: &Aggregate,
        chains: Vec<Chain>,
        is_distinct: bool,
        wanted: Option<Wanted<'_>>,
    ) -> Result<Chain> {
        let key_types: Vec<DataType> = aggregate.keys.iter().map(|key| key.data_type().clone()).collect();
        let bounds = match &aggregate.keys[..] {
            [Expression::Column { position, .. }] => Bounds::of(&aggregate.input, *position),
            _ => Bounds::default(),
        };
        let kind = match (KeyKind::of(&key_types, bounds), self.context.settings.max_rows_to_group_by) {
            // A limit of groups needs a table that knows how many there are.
            (KeyKind::Direct8 | KeyKind::Direct16 { .. }, 1..) => KeyKind::Packed4,
            (KeyKind::Serialized, _) => Interning::worth(aggregate).map_or(KeyKind::Serialized, KeyKind::Interned),
            (kind, _) => kind,
        };
        let calls = aggregate.aggregates.clone();
        let existence = matches!(kind, KeyKind::Direct8 | KeyKind::Direct16 { .. })
            .then(|| calls.iter().position(AggregateCall::counts_rows).unwrap_or(calls.len()));
        let (with_totals, sets, keys) = (aggregate.with_totals, aggregate.sets, aggregate.keys.clone());
        let grouping = Arc::new(Grouping { keys, key_types, kind, calls, existence, with_totals, sets });
        let merge = if with_totals {
            let row: Arc<TotalsRow> = Arc::default();
            self.totals = Some(Totals::Of(row.clone()));
            Merge::with_totals(row, aggregate.schema.clone())
        } else {
            Merge::default()
        };
        let merge = Arc::new(Mutex::new(merge));
        let works = (!grouping.kind.is_small()).then(|| Works::new(self.context.clone()));
        // First, as workers look for morsels in the order of pipelines: what does not fit is written before more rows come.
        let mut collected = works.as_ref().map(|works| self.works(works, "WriteGroups")).unwrap_or_default();
        let spilling = works.map(|works| Arc::new(Spilling::new(self.context.clone(), works, is_distinct)));
        // A limit of groups is of all there are.
        let counts_all = self.context.settings.max_rows_to_group_by > 0;
        let few = FewGroups::new(aggregate.limit.filter(|_| !counts_all), &grouping);
        let sink = AggregateSink::new(grouping.clone(), self.context.clone(), merge.clone(), spilling, few);
        let chains = match &wanted {
            Some(wanted) => self.frequent_keys(aggregate, &grouping, wanted, chains),
            None => chains,
        };
        collected.extend(self.end(chains, Arc::new(sink)));
        let partitioning = Chain::new(self.units(Partitioning(merge.clone())), "PartitionGroups", collected);
        let partitioned = self.end(vec![partitioning], Arc::new(Nothing));
        let context = self.context.clone();
        let top = wanted
            .and_then(|wanted| TopGroups::new(wanted.order, &grouping, wanted.is_counted.then(|| context.clone())));
        let merging = Merging { merge, grouping, schema: aggregate.schema.clone(), context, top };
        Ok(Chain::new(self.units(merging), "MergeGroups", partitioned))
    }

    /// Has rows counted by their keys before those that `chains` give are grouped, where only the keys with the most rows are wanted.
    fn frequent_keys(
        &mut self,
        aggregate: &Aggregate,
        grouping: &Arc<Grouping>,
        wanted: &Wanted<'_>,
        mut chains: Vec<Chain>,
    ) -> Vec<Chain> {
        let settings = &self.context.settings;
        let wants_all = settings.max_rows_to_group_by > 0 || wanted.is_counted && settings.exact_rows_before_limit;
        let ([chain], true, false) = (&mut chains[..], settings.optimize_order_by_count_limit, wants_all) else {
            return chains;
        };
        let is_repeatable = chain.is_table
            && chain.finds_for.is_empty()
            && chain.after_finds.is_none()
            && chain.operators.iter().all(|operator| operator.is_repeatable());
        // Only a table may be asked now how many rows it has.
        let rows = if is_repeatable { chain.source.rows_total() } else { None };
        let keys = rows.and_then(|rows| FrequentKeys::new(aggregate, grouping, wanted.order, rows));
        let Some((keys, source)) = keys.and_then(|keys| Some((keys, chain.source.again()?))) else { return chains };
        let mut counting = Chain::of(source, chain.source_name.clone(), chain.depends_on.clone());
        counting.operators.clone_from(&chain.operators);
        let columns = aggregate.input.schema().len();
        if let Some(last) = counting.operators.last_mut()
            && let Some(of_keys) = last.narrowed(&columns_of(&aggregate.keys, columns))
        {
            *last = of_keys;
        }
        let arguments = aggregate.aggregates.iter().flat_map(|call| &call.arguments);
        let needed = columns_of(aggregate.keys.iter().chain(arguments), columns);
        counting.operators.insert(0, Arc::new(ReadRows(keys.clone())));
        chain.operators.push(Arc::new(FrequentKeysFilter::new(keys.clone(), needed)));
        let counted = self.end(vec![counting], Arc::new(FrequentKeysSink(keys)));
        chains.iter_mut().for_each(|chain| chain.depends_on.extend(&counted));
        chains
    }

    fn window(&mut self, window: &Window) -> Result<Chain> {
        let chains = self.lower(&window.input, false)?;
        let totals = self.totals.take();
        self.totals = totals.map(|totals| Totals::Windowed(Box::new(totals), Arc::new(window.clone())));
        let works = Works::new(self.context.clone());
        // First, as workers look for morsels in the order of pipelines: what does not fit is written before more rows come.
        let mut collected = self.works(&works, "WriteWindowRows");
        let collecting = Collecting::new(window, works, self.context.clone());
        collected.extend(self.end(chains, Arc::new(WindowSink::new(collecting.clone()))));
        let computing = WindowComputing::new(Arc::new(window.clone()), collecting);
        let mut chain = Chain::new(self.units(computing), "ComputeWindows", collected);
        chain.is_sorted = true;
        Ok(chain)
    }

    fn fill(&mut self, fill: &Fill) -> Result<Chain> {
        let chains = self.lower(&fill.input, false)?;
        let (collecting, collected) = self.collect(chains);
        let filling = WithFill::new(fill.clone(), collecting);
        let mut chain = Chain::new(self.units(filling), "FillingTransform", collected);
        chain.is_sorted = true;
        Ok(chain)
    }

    fn sort(&mut self, chains: Vec<Chain>, order: Arc<Order>) -> Chain {
        let (sorted, works) = (Arc::new(Sorted::default()), Works::new(self.context.clone()));
        // First, as workers look for morsels in the order of pipelines: what does not fit is written before more rows come.
        let mut done = self.works(&works, "WriteRuns");
        let sink = SortSink::new(order.clone(), sorted.clone(), works, self.context.clone());
        done.extend(self.end(chains, Arc::new(sink)));
        let merging = RangeMerging { sorted, order, context: self.context.clone() };
        let mut chain = Chain::new(self.units(merging), "MergeSortingTransform", done);
        chain.is_sorted = true;
        chain
    }
}

/// What the LIMIT at the top of a plan chooses from, through projections.
fn limit_input(plan: &Plan) -> Option<&Plan> {
    match plan {
        Plan::Project { input, .. } => limit_input(input),
        Plan::Limit { input, .. } => Some(sort_input(input)),
        _ => None,
    }
}

/// What the sort that gives a plan's order sorts; the plan itself where there is none.
fn sort_input(plan: &Plan) -> &Plan {
    let mut step = plan;
    while let Plan::Project { input, .. } | Plan::LateColumns(LateColumns { input, .. }) = step {
        step = input;
    }
    match step {
        // A sort that keeps only the first rows drops the others itself.
        Plan::Sort { input, .. } => input,
        _ => plan,
    }
}

fn add(mut chains: Vec<Chain>, operator: &Arc<dyn Operator>) -> Vec<Chain> {
    for chain in &mut chains {
        chain.operators.push(operator.clone());
    }
    chains
}

/// Which of `columns` columns the expressions read.
fn columns_of<'a>(expressions: impl IntoIterator<Item = &'a Expression>, columns: usize) -> Vec<bool> {
    let mut needed = vec![false; columns];
    expressions.into_iter().for_each(|expression| expression.visit_columns(&mut |position| needed[position] = true));
    needed
}
