//! From the syntax tree to a typed logical plan: names, types, rewriting; and the values of its expressions. Knows nothing of execution.

mod alteration;
pub mod analyzer;
pub mod bind;
pub mod catalog;
pub mod codec;
mod column_statistics;
pub mod context;
pub mod create;
pub mod definition;
mod deprecated_engine;
pub mod describe;
pub mod dictionary;
mod evaluate;
pub mod explain;
mod explicit;
pub mod expression;
pub mod fill;
mod function_table;
pub mod insert;
mod late_columns;
pub mod load;
mod materialized_view;
pub mod plan;
mod projection;
mod projection_choice;
pub mod rules;
mod settle;
mod skip_index;
mod structure;
mod subcolumns;
mod ttl;
pub mod uses;
mod view;

pub use alteration::{Alteration, names_column};
pub use analyzer::{
    MEMBERSHIPS, analyze_query, headers_of, is_over_s3, named_argument, remote_call, takes_names, typed_literal,
};
pub use bind::bind_expression;
pub use catalog::{
    Catalog, ColumnDefault, ColumnDescription, DefaultKind, LoadedByQuery, Program, RemoteCall, RemoteRows,
    RemoteServers, RemoteTarget, TableMetadata,
};
pub use codec::{ColumnCodec, ColumnCompression, ColumnPacking};
pub use column_statistics::ColumnStatistics;
pub use context::{PlannerContext, SubqueryRunner};
pub use create::{expression_over, plan_constraint, plan_index, plan_setting, plan_table_definition};
pub use definition::{
    Constraint, KeyExpression, MATERIALIZED_VIEW, ProjectionDefinition, SkipIndex, TABLE_FUNCTION, TableDefinition,
    VIEW, foreign_function, is_s3_engine,
};
pub use describe::{describe_query, describe_table_function};
pub use dictionary::{
    DictionaryAttribute, DictionaryDefinition, DictionaryLayout, DictionarySource, ForeignKind, ForeignPlace,
    ForeignSelection, LayoutParameters, OutsidePlace, OutsideSource, QuerySource, SourceServer, parse_dictionary,
    plan_configured_dictionary, plan_dictionary, renamed_dictionary,
};
pub use evaluate::{Columns, evaluate, select};
pub use explain::{
    DescribeScan, DescribeWork, ExplainOptions, Shown, StepWork, explain_plan, not_explained, readable_rows,
    text as expression_text,
};
pub use explicit::make_explicit;
pub use expression::{Expression, Lambda};
pub use function_table::parse_table_function;
pub use insert::{InsertPlan, insert_columns, plan_defaults, plan_insert};
pub use load::{ContextReader, SourceReader, load};
pub use materialized_view::{
    MaterializedView, ViewPlan, altered_refresh, altered_view, plan_materialized_view, plan_view_rows, view_target,
};
pub use plan::{
    Aggregate, AggregateCall, CommonRows, FrameBound, FrameUnit, GroupLimit, Inequality, Join, JoinKey, JoinKind,
    JoinStrictness, KeyBound, KeySets, LateColumns, Nearest, Plan, Scan, SortKey, Window, WindowCall,
    WindowCallFunction, WindowFrame,
};
pub use projection::{Projected, Projection, ProjectionAggregate, plan_projection};
pub use rules::{KeyEstimates, RuntimeFilter, call, conjuncts};
pub use settle::{may_be_settled, settle};
pub use skip_index::{SkipIndexKind, TEXT_GRANULARITY, indexed_expressions};
pub use structure::plan_structure;
pub use subcolumns::Subcolumn;
pub use ttl::{TableTtl, Ttl, TtlAction, TtlGroups};
pub use uses::{QueryUses, Used};
pub use view::{parse_view, plan_view_definition};

/// Plans a query: names resolved, types settled, optimized.
///
/// # Errors
/// Everything that can be wrong with a query, with ClickHouse's codes.
pub fn plan_query(query: &squall_sql::ast::Query, context: &PlannerContext<'_>) -> squall_types::Result<Plan> {
    rules::optimize(analyze_query(query, context)?, context)
}
