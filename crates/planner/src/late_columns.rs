//! Late materialization: `SELECT * … WHERE … ORDER BY … LIMIT 10` needs few columns to know its ten rows, and the others of ten rows only. So
//! the scan reads what the condition and the order need, and where each row is; once the sort has kept the first rows, the other columns are
//! read of these. Where rows are is known of tables of this moment, so this is no rule: it is done to a plan right before it runs.

use std::sync::Arc;

use squall_types::{DataType, Schema, Settings};

use crate::expression::Expression;
use crate::plan::{LateColumns, Plan, Scan};
use crate::rules::RuntimeFilter;

/// Rows of a table that is worth it. Of any table where tests run, so that all of them meet it.
const ROWS_MIN: u64 = if cfg!(debug_assertions) { 1 } else { 65_536 };
/// Bytes that a row's columns must have, about, to be worth it. A string counts as its offset and a few bytes.
const BYTES_MIN: usize = 32;
const STRING_BYTES: usize = 32;

/// Whether [`read_late`] may do anything with a plan.
pub(crate) fn may_read_late(plan: &Plan, settings: &Settings) -> bool {
    settings.query_plan_optimize_lazy_materialization
        && (Split::of(plan, settings).is_some() || plan.inputs().any(|input| may_read_late(input, settings)))
}

/// Has a plan read columns late where that is less to read.
pub(crate) fn read_late(plan: &mut Plan, settings: &Settings) {
    if !settings.query_plan_optimize_lazy_materialization {
        return;
    }
    match Split::of(plan, settings) {
        Some(split) => plan.replace(|plan| split.apply(plan)),
        None => {
            // Nothing below fails.
            let _ = plan.try_for_each_input(|input| {
                read_late(input, settings);
                Ok(())
            });
        }
    }
}

/// The columns of a scan below a sort, by their positions among the scan's.
struct Split {
    early: Vec<usize>,
    late: Vec<usize>,
}

impl Split {
    /// That of a sort which keeps few rows of a table, with nothing but conditions between them. `None` where it is not worth it.
    fn of(plan: &Plan, settings: &Settings) -> Option<Self> {
        let Plan::Sort { input, keys, limit: Some(limit), group_limit: None } = plan else { return None };
        let most = settings.query_plan_max_limit_for_lazy_materialization;
        if most > 0 && *limit > most {
            return None;
        }
        let mut needed = vec![false; input.schema().len()];
        let mut note = |expression: &Expression| {
            expression.visit_columns(&mut |position| {
                if let Some(needed) = needed.get_mut(position) {
                    *needed = true;
                }
            });
        };
        keys.iter().for_each(|key| note(&key.expression));
        let mut step = &**input;
        while let Plan::Filter { input, predicate } = step {
            if RuntimeFilter::of(predicate).is_some() {
                return None;
            }
            note(predicate);
            step = input;
        }
        let Plan::Scan(scan) = step else { return None };
        scan.predicate.iter().for_each(note);
        let is_large = scan.table.rows().is_some_and(|rows| rows >= ROWS_MIN.max(*limit));
        if !is_large || !scan.table.has_row_places() || scan.has_places {
            return None;
        }
        let (early, late): (Vec<usize>, Vec<usize>) = (0..needed.len()).partition(|position| needed[*position]);
        let bytes = |position: &usize| {
            let data_type = scan.schema.fields.get(*position).map(|(_, data_type)| data_type);
            data_type.and_then(DataType::fixed_width_bytes).unwrap_or(STRING_BYTES)
        };
        (late.iter().map(bytes).sum::<usize>() >= BYTES_MIN).then_some(Self { early, late })
    }

    /// The same rows of the sort, with the late columns read after it.
    fn apply(&self, mut plan: Plan) -> Plan {
        let schema = plan.schema().clone();
        let place = |position: usize| self.early.binary_search(&position).unwrap_or(position);
        let fields = |positions: &[usize]| {
            positions.iter().filter_map(|position| schema.fields.get(*position).cloned()).collect::<Vec<_>>()
        };
        if let Plan::Sort { keys, .. } = &mut plan {
            keys.iter_mut().for_each(|key| key.expression = key.expression.map_columns(&place));
        }
        let mut late = None;
        let mut step = &mut plan;
        loop {
            match step {
                Plan::Sort { input, .. } => step = input,
                Plan::Filter { input, predicate } => {
                    *predicate = predicate.map_columns(&place);
                    step = input;
                }
                Plan::Scan(scan) => {
                    late = Some((scan.table.clone(), self.cut(scan, fields(&self.early), &place)));
                    break;
                }
                _ => break,
            }
        }
        let Some((table, columns)) = late else { return plan };
        let read = [fields(&self.early), fields(&self.late)].concat();
        let input = Plan::LateColumns(LateColumns {
            input: Box::new(plan),
            table,
            columns,
            schema: Arc::new(Schema { fields: read }),
        });
        let position = |position: usize| match self.early.binary_search(&position) {
            Ok(early) => early,
            Err(_) => self.early.len() + self.late.binary_search(&position).unwrap_or_default(),
        };
        let column = |(at, data_type)| Expression::column(position(at), data_type);
        let expressions = schema.types().enumerate().map(column).collect();
        Plan::Project { input: Box::new(input), expressions, schema }
    }

    /// Leaves the late columns out of a scan; their positions among the table's.
    fn cut(
        &self,
        scan: &mut Scan,
        mut fields: Vec<(Arc<str>, DataType)>,
        place: &impl Fn(usize) -> usize,
    ) -> Vec<usize> {
        let of_table = |positions: &[usize]| {
            positions.iter().filter_map(|position| scan.columns.get(*position).copied()).collect()
        };
        let (early, late): (Vec<usize>, Vec<usize>) = (of_table(&self.early), of_table(&self.late));
        fields.push(("_row_place".into(), DataType::UInt64));
        scan.columns = early;
        scan.schema = Arc::new(Schema { fields });
        scan.predicate = scan.predicate.take().map(|predicate| predicate.map_columns(place));
        scan.has_places = true;
        late
    }
}
