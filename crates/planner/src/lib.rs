//! From the syntax tree to a typed logical plan: names, types, rewriting. Knows nothing of execution.

pub mod catalog;
pub mod definition;
pub mod expression;
pub mod plan;

pub use catalog::{Catalog, ColumnDefault, ColumnDescription, DefaultKind, TableMetadata};
pub use definition::{KeyExpression, TableDefinition};
pub use expression::Expression;
pub use plan::{Aggregate, AggregateCall, Plan, Scan, SortKey};
