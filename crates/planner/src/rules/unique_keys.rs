//! Which columns tell a step's rows apart.

use super::column_made_nullable;
use crate::expression::Expression;
use crate::plan::{Aggregate, Plan};

/// Whether no two rows of a step are equal in all of these columns.
pub(super) fn is_unique(plan: &Plan, columns: &[usize]) -> bool {
    match plan {
        Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => is_unique(input, columns),
        Plan::Project { input, expressions, .. } => {
            let below = columns.iter().filter_map(|column| column_made_nullable(expressions.get(*column)?));
            is_unique(input, &below.collect::<Vec<_>>())
        }
        Plan::Aggregate(Aggregate { keys, with_totals: false, sets: None, .. }) => {
            (0..keys.len()).all(|key| columns.contains(&key))
        }
        Plan::Distinct { input } => (0..input.schema().len()).all(|column| columns.contains(&column)),
        Plan::LimitBy { keys, offset: 0, limit: 1, .. } => keys.iter().all(|key| match key {
            Expression::Column { position, .. } => columns.contains(position),
            _ => false,
        }),
        _ => false,
    }
}
