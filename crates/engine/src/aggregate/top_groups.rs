//! Groups of which a sort right above wants the first few alone, by what a function gives for them: `GROUP BY URL ORDER BY count() DESC LIMIT
//! 10`. The results of that function are made for all groups; keys and other results only for those that can be among the first.

use std::sync::Arc;

use squall_types::Column;

use super::sink::Grouping;
use crate::query_context::QueryContext;
use crate::sort::order::Order;

/// The order of the first few groups.
pub(crate) struct TopGroups {
    order: Arc<Order>,
    /// The function by whose results they are sorted first, among those of the aggregation.
    pub(super) call: usize,
    /// Where groups that are left out are counted, if they are.
    counted_by: Option<Arc<QueryContext>>,
}

impl TopGroups {
    /// Of an aggregation below a sort of this order; `None` where that does not begin with the results of a function, or wants all.
    pub(crate) fn new(order: &Arc<Order>, grouping: &Grouping, counted_by: Option<Arc<QueryContext>>) -> Option<Self> {
        order.limit?;
        let call = order.first_column()?.checked_sub(grouping.keys.len())?;
        (call < grouping.calls.len()).then(|| Self { order: order.clone(), call, counted_by })
    }

    /// Which of groups with these results of the function can be among the first; `None` where most can, or nothing tells.
    pub(super) fn choose(&self, results: &Column) -> Option<Vec<u32>> {
        let wanted = self.order.first_rows(results)?;
        let left_out = results.array().len() - wanted.len();
        if wanted.len() > left_out {
            return None;
        }
        if let Some(context) = &self.counted_by {
            context.progress.count_before_limit(left_out as u64);
        }
        Some(wanted)
    }
}
