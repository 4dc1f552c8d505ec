//! Rules that rewrite a plan into one that does less. Each is a file of its own, with its why; here is their order.

use squall_types::Result;

use crate::context::PlannerContext;
use crate::plan::Plan;

/// The plan that the rules make of a plan.
///
/// # Errors
/// Where a function that a rule inserts cannot be bound.
pub fn optimize(plan: Plan, _context: &PlannerContext<'_>) -> Result<Plan> {
    Ok(plan)
}
