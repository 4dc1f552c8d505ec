//! The order of inner joins. The order written is chance: what is joined first decides how many rows every later join goes through, and
//! `FROM a, b, c WHERE a.x = c.x AND b.y = c.y` would make all pairs of a and b. Inner joins that stand next to one another become a
//! graph of relations with the conditions between them (`graph`). Of all trees over it the one with the least estimated work is taken
//! (`search`), where that is well below the work of the order written; its joins hold the side with fewer rows in memory.

mod graph;
mod search;

use squall_functions::FunctionContext;
use squall_types::{Result, checkpoint};

use crate::plan::Plan;
use graph::Graph;

/// Less work than this, in rows, is not worth another order: rows come as written.
const WORK_MIN: f64 = 10_000.0;
/// So many times less work than in the order written must be expected: estimates err.
const GAIN_MIN: f64 = 1.25;

/// Orders the joins of at least three relations.
pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    graph::for_each_relation(plan, &mut |relation| relation.try_for_each_input(|input| apply(input, functions)))?;
    let Some(graph) = Graph::of(plan, functions)? else { return Ok(()) };
    checkpoint(1 << graph.relations.len().min(10))?;
    let written = search::work(&graph, &graph.written);
    if written < WORK_MIN {
        return Ok(());
    }
    let (tree, work) = search::best(&graph);
    if work * GAIN_MIN < written {
        *plan = graph.plan(&tree, plan.schema(), functions)?;
    }
    Ok(())
}
