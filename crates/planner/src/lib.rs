//! From the syntax tree to a typed logical plan: names, types, rewriting. Knows nothing of execution.

pub mod analyzer;
pub mod catalog;
pub mod context;
pub mod definition;
pub mod expression;
pub mod plan;
pub mod rules;
pub mod pending; // PENDING

pub use analyzer::analyze_query;
pub use catalog::{Catalog, ColumnDefault, ColumnDescription, DefaultKind, TableMetadata};
pub use context::{PlannerContext, SubqueryRunner};
pub use definition::{KeyExpression, TableDefinition};
pub use expression::Expression;
pub use plan::{Aggregate, AggregateCall, Plan, Scan, SortKey};

/// Plans a query: names resolved, types settled, optimized.
///
/// # Errors
/// Everything that can be wrong with a query, with ClickHouse's codes.
pub fn plan_query(query: &squall_sql::ast::Query, context: &PlannerContext<'_>) -> squall_types::Result<Plan> {
    rules::optimize(analyze_query(query, context)?, context)
}
