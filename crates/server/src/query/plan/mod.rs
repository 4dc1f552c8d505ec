//! From a text to a plan, and plans that are kept.

pub(super) mod cache;
pub(super) mod catalog;
pub(super) mod kept_plan;
pub(super) mod literal;
pub(super) mod parsing;
pub(super) mod plan_template;
pub(super) mod planning;
pub(super) mod query_cache;
pub(super) mod surroundings;
pub(super) mod value_evaluator;
