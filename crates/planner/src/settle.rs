//! What is done to a plan right before it runs, since it depends on what the tables are at that moment. No plan is kept with it.

use squall_functions::FunctionContext;
use squall_types::{Result, Settings};

use crate::late_columns::{may_read_late, read_late};
use crate::plan::Plan;
use crate::projection_choice::{may_read_projections, use_projections};
use crate::subcolumns::{may_read_subcolumns, read_subcolumns};

/// Has a plan read projections, subcolumns, and columns late where that is less to read; gives the projections that it reads, as
/// `database.table.projection`.
///
/// # Errors
/// `PROJECTION_NOT_USED` and `INCORRECT_DATA` where the settings ask for what cannot be.
pub fn settle(plan: &mut Plan, settings: &Settings, functions: &FunctionContext) -> Result<Vec<String>> {
    let used = use_projections(plan, settings, functions)?;
    read_subcolumns(plan);
    read_late(plan, settings);
    Ok(used)
}

/// Whether [`settle`] may do anything with a plan.
pub fn may_be_settled(plan: &Plan, settings: &Settings) -> bool {
    may_read_projections(plan, settings) || may_read_subcolumns(plan) || may_read_late(plan, settings)
}
