//! Below an ORDER BY with a LIMIT most rows are thrown away, so a projection there moves above both: `GROUP BY ClientIP,
//! ClientIP - 1 ORDER BY count() LIMIT 10` subtracts ten times, not once a group. The order's own expressions are computed by the
//! sort.

use crate::expression::Expression;
use crate::plan::{Plan, SortKey};

/// A key that would become larger than this by putting the projection's expressions in place of its columns keeps the projection
/// where it is.
const KEY_SIZE_MAX: usize = 64;

pub(super) fn apply(plan: &mut Plan) {
    // Nothing below fails.
    let _ = plan.try_for_each_input(|input| {
        apply(input);
        Ok(())
    });
    let Plan::Limit { input: sort, limit: Some(_), ties, .. } = plan else { return };
    let Plan::Sort { input, keys, .. } = &mut **sort else { return };
    let Plan::Project { input: below, expressions, schema } = &mut **input else { return };
    let is_cheap = |key: &SortKey| {
        let mut size = key.expression.size();
        key.expression.visit_columns(&mut |position| size += expressions.get(position).map_or(0, Expression::size));
        size <= KEY_SIZE_MAX
    };
    let computes = expressions.iter().any(Expression::is_call);
    if !computes || !expressions.iter().all(Expression::is_deterministic) || !keys.iter().all(is_cheap) {
        return;
    }
    let ties = ties.iter_mut().flatten();
    keys.iter_mut().chain(ties).for_each(|key| key.expression = key.expression.substitute(expressions));
    let (expressions, schema) = (std::mem::take(expressions), schema.clone());
    let mut projected = Plan::one_row();
    std::mem::swap(&mut projected, below);
    **input = projected;
    plan.replace(|plan| Plan::Project { input: Box::new(plan), expressions, schema });
}
