//! In which steps a scan from the disk reads its columns: those of a condition first, and others only of the rows that it lets through.
//! ClickHouse calls this PREWHERE.

use squall_planner::{Expression, conjuncts};

/// A step that is followed by so much less than its own bytes saves nothing, as a divisor of them.
const REST_SHARE: u64 = 4;

/// Columns, and what rows must meet for the columns of later steps to be read of them.
#[derive(Debug)]
pub(super) struct Step {
    /// Places among the scan's columns; those of earlier steps are at hand.
    pub places: Vec<usize>,
    /// Conditions over the scan's columns; none of the last step.
    pub conditions: Vec<Expression>,
}

/// The steps of a scan whose rows matter where they meet `predicate`, a condition over its columns; `bytes` are what must be read of each.
/// Cheap conditions come first. `None` where nothing is saved, or where the order of conditions matters.
pub(super) fn steps(predicate: &Expression, bytes: &[u64]) -> Option<Vec<Step>> {
    if predicate.may_throw() || !predicate.is_deterministic() {
        return None;
    }
    let bytes_of = |places: &[usize]| places.iter().filter_map(|place| bytes.get(*place)).sum::<u64>();
    let mut conditions = Vec::new();
    conjuncts(predicate.clone(), &mut conditions);
    let places_of = |condition: &Expression| {
        let mut places = Vec::new();
        condition.visit_columns(&mut |place| places.push(place));
        places.sort_unstable();
        places.dedup();
        places
    };
    let conditions = conditions.into_iter().map(|condition| (places_of(&condition), condition));
    // What asks for other than columns, or for none, leaves it to whoever gets the rows.
    let is_of_columns = |places: &[usize]| places.last().is_some_and(|last| *last < bytes.len());
    let mut conditions: Vec<(Vec<usize>, Expression)> =
        conditions.filter(|(places, _)| is_of_columns(places)).collect();
    conditions.sort_by_key(|(places, _)| bytes_of(places));
    let mut is_read = vec![false; bytes.len()];
    let mut left: u64 = bytes.iter().sum();
    let mut steps: Vec<Step> = Vec::new();
    let mut step = Step { places: Vec::new(), conditions: Vec::new() };
    for (mut places, condition) in conditions {
        places.retain(|place| is_read.get_mut(*place).is_some_and(|is_read| !std::mem::replace(is_read, true)));
        left -= bytes_of(&places);
        // What needs no further column belongs to the step before.
        match steps.last_mut().filter(|_| places.is_empty() && step.places.is_empty()) {
            Some(last) => last.conditions.push(condition),
            None => {
                step.places.append(&mut places);
                step.conditions.push(condition);
            }
        }
        if left > 0 && left >= bytes_of(&step.places) / REST_SHARE && !step.places.is_empty() {
            let next = Step { places: Vec::new(), conditions: Vec::new() };
            steps.push(std::mem::replace(&mut step, next));
        }
    }
    step.places.extend((0..bytes.len()).filter(|place| is_read.get(*place) == Some(&false)));
    // Those conditions are for whoever gets the rows.
    step.conditions.clear();
    if steps.is_empty() {
        return None;
    }
    steps.push(step);
    Some(steps)
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_types::{DataType, Value};

    use super::*;

    fn call(name: &str, arguments: Vec<Expression>) -> Expression {
        squall_planner::call(name, arguments, &FunctionContext::outside_queries("UTC")).unwrap()
    }

    fn column(at: usize) -> Expression {
        Expression::column(at, &DataType::UInt32)
    }

    fn is(at: usize) -> Expression {
        call("equals", vec![column(at), Expression::Constant { value: Value::UInt64(1), data_type: DataType::UInt32 }])
    }

    /// The places and the number of conditions of each step.
    fn found(predicate: &Expression, bytes: &[u64]) -> Option<Vec<(Vec<usize>, usize)>> {
        Some(steps(predicate, bytes)?.into_iter().map(|step| (step.places, step.conditions.len())).collect())
    }

    #[test]
    fn cheap_conditions_come_first_and_other_columns_last() {
        let all = call("and", vec![is(2), is(0)]);
        assert_eq!(found(&all, &[100, 100, 50]), Some(vec![(vec![2], 1), (vec![0], 1), (vec![1], 0)]));
        // The last condition is tested by others where no column is left.
        assert_eq!(found(&all, &[100, 0, 50]), Some(vec![(vec![2], 1), (vec![0, 1], 0)]));
        let of_both = call("and", vec![is(0), call("less", vec![column(0), column(1)]), is(1)]);
        assert_eq!(found(&of_both, &[10, 20, 300]), Some(vec![(vec![0], 1), (vec![1], 2), (vec![2], 0)]));
    }

    #[test]
    fn what_saves_nothing_is_no_step() {
        assert_eq!(found(&is(0), &[100]), None);
        assert_eq!(found(&is(0), &[100, 20]), None);
        assert_eq!(found(&is(0), &[100, 25]), Some(vec![(vec![0], 1), (vec![1], 0)]));
        // Columns that are in memory cost nothing.
        assert_eq!(found(&is(0), &[0, 0]), None);
    }

    #[test]
    fn conditions_that_may_fail_keep_their_order() {
        let divides =
            call("and", vec![is(1), call("equals", vec![call("intDiv", vec![column(0), column(1)]), column(0)])]);
        assert_eq!(found(&divides, &[100, 100, 100]), None);
        // A column that the scan does not have.
        assert_eq!(found(&is(7), &[100, 100]), None);
        assert_eq!(found(&call("and", vec![is(7), is(0)]), &[100, 100]), Some(vec![(vec![0], 1), (vec![1], 0)]));
    }
}
