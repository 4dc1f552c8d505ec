//! Which projections a plan reads. An aggregation reads the states of an aggregating projection that has its keys, its aggregates and what its
//! condition needs; a scan with a condition reads a projection of its columns whose order leaves out more. Rows that a projection
//! does not have, as they are in parts of before it, are read from the table, and put together with the others. What is chosen depends on the
//! parts of the moment, so this is no rule: it is done to a plan right before it runs.

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, Schema, Settings};

use crate::catalog::TableMetadata;
use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, KeyBound, Plan, Scan};
use crate::projection::{Projected, Projection, ProjectionAggregate};
use crate::rules::{all_of, over_keys};

/// Makes a plan read projections where that is less to read; gives those that it reads, as `database.table.projection`.
///
/// # Errors
/// `PROJECTION_NOT_USED` and `INCORRECT_DATA` where the settings ask for what cannot be.
pub(crate) fn use_projections(
    plan: &mut Plan,
    settings: &Settings,
    functions: &squall_functions::FunctionContext,
) -> Result<Vec<String>> {
    if !may_read_projections(plan, settings) {
        return Ok(Vec::new());
    }
    let mut choice = Choice {
        preferred: &settings.preferred_optimize_projection_name,
        is_forced: settings.force_optimize_projection,
        functions,
        used: Vec::new(),
    };
    choice.visit(plan)?;
    let used: Vec<String> = choice.used.iter().map(|(name, _)| name.clone()).collect();
    if settings.force_optimize_projection && used.is_empty() && reads_parts(plan) {
        let message = "No projection is used when optimize_use_projections = 1 and force_optimize_projection = 1";
        return Err(Error::new(ErrorCode::PROJECTION_NOT_USED, message));
    }
    let forced = &settings.force_optimize_projection_name;
    if !forced.is_empty() && !choice.used.iter().any(|(_, name)| **name == **forced) {
        let message =
            format!("Projection {forced} is specified in setting force_optimize_projection_name but not used");
        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
    }
    Ok(used)
}

/// Whether [`use_projections`] may do anything with a plan.
pub(crate) fn may_read_projections(plan: &Plan, settings: &Settings) -> bool {
    let is_forced = settings.force_optimize_projection || !settings.force_optimize_projection_name.is_empty();
    settings.optimize_use_projections && (is_forced || has_projections(plan))
}

fn has_projections(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(scan) => !scan.table.projections().is_empty(),
        _ => plan.inputs().any(has_projections),
    }
}

/// Whether a plan reads a table that has parts: of an empty one, nothing is read either way.
fn reads_parts(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(scan) => scan.table.engine().ends_with("MergeTree") && scan.table.rows() != Some(0),
        _ => plan.inputs().any(reads_parts),
    }
}

struct Choice<'a> {
    /// The projection that is taken where it serves, whatever others are worth.
    preferred: &'a str,
    /// Whether one is taken that is as much to read as the table.
    is_forced: bool,
    functions: &'a squall_functions::FunctionContext,
    /// What is read, in words and by name.
    used: Vec<(String, Arc<str>)>,
}

/// A plan that reads a projection.
struct Candidate {
    plan: Plan,
    name: Arc<str>,
    marks: u64,
}

impl Choice<'_> {
    fn visit(&mut self, plan: &mut Plan) -> Result<()> {
        let chosen = match plan {
            Plan::Aggregate(aggregate) => self.aggregation(aggregate)?,
            Plan::Scan(scan) => self.scan(scan)?,
            _ => None,
        };
        match chosen {
            Some(chosen) => {
                *plan = chosen;
                Ok(())
            }
            None => plan.try_for_each_input(|input| self.visit(input)),
        }
    }

    /// The rows of a scan's table as a projection has them, where it has any of them.
    fn projected(scan: &Scan, projection: &Projection) -> Option<Projected> {
        let projected = scan.table.projected(projection)?;
        let is_of_no_part = projected.rest.is_some() && projected.rows.rows() == Some(0);
        (!is_of_no_part).then_some(projected)
    }

    /// The best of some candidates, which is noted as used.
    fn best(&mut self, table: &dyn TableMetadata, candidates: Vec<Candidate>) -> Option<Plan> {
        let is_preferred = |candidate: &Candidate| *candidate.name == *self.preferred;
        let best = candidates.into_iter().min_by_key(|candidate| (!is_preferred(candidate), candidate.marks))?;
        let words = format!("{}.{}.{}", table.database(), table.name(), best.name);
        self.used.push((words, best.name));
        Some(best.plan)
    }

    /// The same rows from a projection in whose order the condition leaves out more.
    fn scan(&mut self, scan: &Scan) -> Result<Option<Plan>> {
        let Some(predicate) = &scan.predicate else { return Ok(None) };
        if scan.limit.is_some() || scan.hides_rows {
            return Ok(None);
        }
        let projections = scan.table.projections();
        let mut others = projections.iter().filter(|projection| !projection.is_aggregating).peekable();
        if others.peek().is_none() {
            return Ok(None);
        }
        let Some(own) = marks_of(scan)? else { return Ok(None) };
        let mut candidates = Vec::new();
        for projection in others {
            let position = |column: &usize| {
                let is_it =
                    |value: &Expression| matches!(value, Expression::Column { position, .. } if position == column);
                projection.values.iter().position(is_it)
            };
            let Some(columns) = scan.columns.iter().map(position).collect::<Option<Vec<usize>>>() else { continue };
            let Some(Projected { rows, rest }) = Self::projected(scan, projection) else { continue };
            let (limit, hides_rows) = (scan.limit, scan.hides_rows);
            let bounds =
                scan.bounds.iter().filter_map(|bound| Some(KeyBound { column: position(&bound.column)?, ..*bound }));
            let (bounds, schema, predicate) = (bounds.collect(), scan.schema.clone(), Some(predicate.clone()));
            let of_rows =
                Scan { table: rows, columns, schema, predicate, bounds, limit, hides_rows, has_places: false };
            let of_rest = rest.map(|table| Scan { table, ..scan.clone() });
            let is_less = |marks: &u64| *marks < own || self.is_forced && *marks == own;
            let Some(marks) = marks_of_both(&of_rows, of_rest.as_ref())?.filter(is_less) else { continue };
            let plan = union(Plan::Scan(of_rows), of_rest.map(Plan::Scan), &scan.schema);
            candidates.push(Candidate { plan, name: projection.name.clone(), marks });
        }
        Ok(self.best(&*scan.table, candidates))
    }

    /// The same groups from states that a projection has.
    fn aggregation(&mut self, aggregate: &Aggregate) -> Result<Option<Plan>> {
        if aggregate.sets.is_some() {
            return Ok(None);
        }
        let Some(source) = Source::of(&aggregate.input) else { return Ok(None) };
        let scan = source.scan;
        let projections = scan.table.projections();
        let mut aggregating = projections.iter().filter(|projection| projection.is_aggregating).peekable();
        if aggregating.peek().is_none() {
            return Ok(None);
        }
        let Some(own) = marks_of(scan)? else { return Ok(None) };
        let mut candidates = Vec::new();
        for projection in aggregating {
            let Some(cover) = Cover::of(aggregate, &source, projection) else { continue };
            let Some(Projected { rows, rest }) = Self::projected(scan, projection) else { continue };
            let predicate = all_of(cover.conditions.clone(), self.functions)?;
            let of_rows = cover.scan(rows, predicate);
            let of_rest = rest.map(|table| Scan { table, ..scan.clone() });
            let Some(marks) = marks_of_both(&of_rows, of_rest.as_ref())?.filter(|marks| *marks <= own) else {
                continue;
            };
            let of_rest = of_rest.map(|of_rest| cover.states_of(aggregate, of_rest));
            let plan = cover.merged(aggregate, of_rows, of_rest);
            candidates.push(Candidate { plan, name: projection.name.clone(), marks });
        }
        Ok(self.best(&*scan.table, candidates))
    }
}

fn union(rows: Plan, rest: Option<Plan>, schema: &Arc<Schema>) -> Plan {
    match rest {
        Some(rest) => Plan::Union { inputs: vec![rows, rest], schema: schema.clone() },
        None => rows,
    }
}

/// The granules that a scan reads.
fn marks_of(scan: &Scan) -> Result<Option<u64>> {
    let in_table = |predicate: &Expression| {
        predicate.map_columns(&|column| scan.columns.get(column).copied().unwrap_or(usize::MAX))
    };
    scan.table.marks_selected(scan.predicate.as_ref().map(in_table).as_ref())
}

fn marks_of_both(rows: &Scan, rest: Option<&Scan>) -> Result<Option<u64>> {
    let rest = rest.map_or(Ok(Some(0)), marks_of)?;
    Ok(marks_of(rows)?.zip(rest).map(|(rows, rest)| rows + rest))
}

/// Where rows come from that are computed one by one and filtered.
struct Source<'a> {
    scan: &'a Scan,
    /// Its columns, over the table's.
    columns: Vec<Expression>,
    /// What rows must meet, over the table's columns.
    conditions: Vec<Expression>,
}

impl<'a> Source<'a> {
    fn of(plan: &'a Plan) -> Option<Self> {
        match plan {
            Plan::Scan(scan) if scan.limit.is_none() && !scan.hides_rows => {
                let columns = scan.columns.iter().zip(scan.schema.types());
                let columns: Vec<Expression> =
                    columns.map(|(column, data_type)| Expression::column(*column, data_type)).collect();
                let conditions = scan.predicate.iter().map(|predicate| predicate.substitute(&columns)).collect();
                Some(Self { scan, columns, conditions })
            }
            Plan::Filter { input, predicate } => {
                let mut source = Self::of(input)?;
                source.conditions.push(predicate.substitute(&source.columns));
                Some(source)
            }
            Plan::Project { input, expressions, .. } => {
                let source = Self::of(input)?;
                let columns = expressions.iter().map(|expression| expression.substitute(&source.columns)).collect();
                Some(Self { columns, ..source })
            }
            _ => None,
        }
    }
}

/// How a projection serves an aggregation.
struct Cover<'a> {
    projection: &'a Projection,
    /// The keys, over the projection's columns that are read.
    keys: Vec<Expression>,
    /// What rows must meet, over the same.
    conditions: Vec<Expression>,
    /// The projection's aggregate for each one that is asked for, with the column among those that are read.
    aggregates: Vec<(&'a ProjectionAggregate, usize)>,
    /// The projection's columns that are read.
    read: Vec<usize>,
}

impl<'a> Cover<'a> {
    fn of(aggregate: &Aggregate, source: &Source<'_>, projection: &'a Projection) -> Option<Self> {
        let over_values = |expression: &Expression| {
            expression.is_deterministic().then(|| over_keys(expression, &projection.values, &|_| true))?
        };
        let in_table = |expression: &Expression| expression.substitute(&source.columns);
        let mut keys: Vec<Expression> =
            aggregate.keys.iter().map(|key| over_values(&in_table(key))).collect::<Option<_>>()?;
        let mut conditions: Vec<Expression> = source.conditions.iter().map(over_values).collect::<Option<_>>()?;
        let known = |call: &AggregateCall| {
            let arguments = call.arguments.iter().map(in_table).collect();
            let call = AggregateCall { arguments, ..call.clone() };
            projection.aggregates.iter().position(|known| is_same(&known.call, &call))
        };
        let found: Vec<usize> = aggregate.aggregates.iter().map(known).collect::<Option<_>>()?;
        let mut read = Vec::new();
        for expression in keys.iter().chain(&conditions) {
            expression.visit_columns(&mut |column| read.push(column));
        }
        read.extend(found.iter().map(|at| projection.values.len() + at));
        read.sort_unstable();
        read.dedup();
        let place = |column: usize| read.binary_search(&column).unwrap_or(usize::MAX);
        keys.iter_mut().chain(&mut conditions).for_each(|expression| expression.renumber(&place));
        let aggregates = found
            .iter()
            .map(|at| Some((projection.aggregates.get(*at)?, place(projection.values.len() + at))))
            .collect::<Option<_>>()?;
        Some(Self { projection, keys, conditions, aggregates, read })
    }

    /// The rows of the projection.
    fn scan(&self, table: Arc<dyn TableMetadata>, predicate: Option<Expression>) -> Scan {
        let column = |at: &usize| self.projection.columns.get(*at);
        let fields = self.read.iter().filter_map(column).map(|column| (column.name.clone(), column.data_type.clone()));
        let schema = Arc::new(Schema::new(fields));
        Scan {
            table,
            columns: self.read.clone(),
            schema,
            predicate,
            bounds: Vec::new(),
            limit: None,
            hides_rows: false,
            has_places: false,
        }
    }

    /// Groups with states of the rows that the projection does not have.
    fn states_of(&self, aggregate: &Aggregate, scan: Scan) -> Plan {
        let mut input = aggregate.input.clone();
        put_scan(&mut input, scan);
        let calls = aggregate.aggregates.iter().zip(&self.aggregates);
        let calls = calls.map(|(call, (known, _))| AggregateCall { function: known.state.clone(), ..call.clone() });
        Plan::Aggregate(Aggregate {
            input,
            keys: aggregate.keys.clone(),
            aggregates: calls.collect(),
            schema: self.states_schema(aggregate),
            with_totals: false,
            sets: None,
            limit: None,
        })
    }

    /// The keys, then states.
    fn states_schema(&self, aggregate: &Aggregate) -> Arc<Schema> {
        let keys = aggregate.keys.len();
        let field = |(at, (name, data_type)): (usize, &(Arc<str>, squall_types::DataType))| {
            let known = at.checked_sub(keys).and_then(|at| self.aggregates.get(at));
            let data_type = known.map_or(data_type, |(known, _)| known.state.return_type());
            (name.clone(), data_type.clone())
        };
        Arc::new(Schema { fields: aggregate.schema.fields.iter().enumerate().map(field).collect() })
    }

    /// The aggregation over states.
    fn merged(&self, aggregate: &Aggregate, rows: Scan, rest: Option<Plan>) -> Plan {
        let schema = self.states_schema(aggregate);
        let states = self.aggregates.iter().map(|(known, at)| Expression::column(*at, known.state.return_type()));
        let expressions: Vec<Expression> = self.keys.iter().cloned().chain(states).collect();
        let rows = Plan::Project { input: Box::new(Plan::Scan(rows)), expressions, schema: schema.clone() };
        let keys = schema.types().enumerate().take(self.keys.len());
        let keys: Vec<Expression> = keys.map(|(at, data_type)| Expression::column(at, data_type)).collect();
        let calls = aggregate.aggregates.iter().zip(&self.aggregates).enumerate();
        let calls = calls.map(|(at, (call, (known, _)))| AggregateCall {
            name: call.name.clone(),
            function: known.merge.clone(),
            arguments: vec![Expression::column(self.keys.len() + at, known.state.return_type())],
        });
        Plan::Aggregate(Aggregate {
            aggregates: calls.collect(),
            keys,
            input: Box::new(union(rows, rest, &schema)),
            schema: aggregate.schema.clone(),
            with_totals: aggregate.with_totals,
            sets: None,
            limit: aggregate.limit,
        })
    }
}

/// Puts a scan in the place of the one that rows come from.
fn put_scan(plan: &mut Plan, scan: Scan) {
    match plan {
        Plan::Filter { input, .. } | Plan::Project { input, .. } => put_scan(input, scan),
        place => *place = Plan::Scan(scan),
    }
}

/// Whether two aggregates of the same table have the same states.
fn is_same(left: &AggregateCall, right: &AggregateCall) -> bool {
    let name = |call: &AggregateCall| {
        let name = call.function_name();
        let own = squall_functions::canonical_name(name).unwrap_or(name);
        format!("{own}{}", call.function_text().get(name.len()..).unwrap_or_default())
    };
    left.counts_rows() && right.counts_rows()
        || name(left) == name(right)
            && left.function.return_type() == right.function.return_type()
            && left.arguments.len() == right.arguments.len()
            && left.arguments.iter().zip(&right.arguments).all(|(left, right)| left.same(right))
}
