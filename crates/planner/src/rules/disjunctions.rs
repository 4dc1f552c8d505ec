//! What an OR says as a whole: conditions that all its branches have hold in any case (TPC-H's Q19 joins in each of three branches), and
//! of one side of a join at least what the branches ask of that side.

use squall_functions::FunctionContext;
use squall_types::Result;

use super::{all_of, call, conjuncts};
use crate::expression::Expression;

/// A larger OR is left as it is.
const SIZE_MAX: usize = 1_000;

/// Conditions with what all branches of an OR have in common taken out of it.
///
/// # Errors
/// Where `or` and `and` do not take the conditions, which they did before.
pub(super) fn factored(conditions: Vec<Expression>, functions: &FunctionContext) -> Result<Vec<Expression>> {
    let mut all = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match branches(&condition) {
            Some(branches) => factor(condition, branches, &mut all, functions)?,
            None => all.push(condition),
        }
    }
    Ok(all)
}

/// What an OR asks of rows of which only some columns are there: an OR again, of each branch's conditions on these columns alone. `None`
/// where a branch has no such condition.
///
/// # Errors
/// As those of [`factored`].
pub(super) fn implied(
    condition: &Expression,
    is_there: &impl Fn(&Expression) -> bool,
    functions: &FunctionContext,
) -> Result<Option<Expression>> {
    let Some(branches) = branches(condition) else { return Ok(None) };
    let mut implied = Vec::with_capacity(branches.len());
    for branch in branches {
        let of_side = branch.into_iter().filter(|condition| is_there(condition)).collect();
        match all_of(of_side, functions)? {
            Some(condition) => implied.push(condition),
            None => return Ok(None),
        }
    }
    call("or", implied, functions).map(Some)
}

/// The conditions of each branch of a deterministic OR.
fn branches(condition: &Expression) -> Option<Vec<Vec<Expression>>> {
    let Expression::Function { name, arguments, .. } = condition else { return None };
    if &**name != "or" || !condition.is_deterministic() || condition.size() > SIZE_MAX {
        return None;
    }
    let branches = arguments.iter().map(|branch| {
        let mut conditions = Vec::new();
        conjuncts(branch.clone(), &mut conditions);
        conditions
    });
    Some(branches.collect())
}

fn factor(
    condition: Expression,
    mut branches: Vec<Vec<Expression>>,
    into: &mut Vec<Expression>,
    functions: &FunctionContext,
) -> Result<()> {
    let Some((first, others)) = branches.split_first() else { return Ok(()) };
    let has = |branch: &[Expression], condition: &Expression| branch.iter().any(|known| known.same(condition));
    let common: Vec<Expression> =
        first.iter().filter(|condition| others.iter().all(|branch| has(branch, condition))).cloned().collect();
    if common.is_empty() {
        into.push(condition);
        return Ok(());
    }
    for branch in &mut branches {
        branch.retain(|condition| !has(&common, condition));
    }
    into.extend(common);
    // A branch without anything else holds wherever the common conditions do.
    if branches.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let rests = branches.into_iter().map(|branch| all_of(branch, functions));
    let rests: Vec<Expression> = rests.filter_map(Result::transpose).collect::<Result<_>>()?;
    into.push(call("or", rests, functions)?);
    Ok(())
}
