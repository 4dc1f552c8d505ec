//! Databases, tables and their data: engines, parts, primary indexes, the column cache, inserts. Knows plans only as far as a
//! predicate over columns; knows nothing of pipelines and protocols.

mod catalog;
mod column_cache;
mod column_mapping;
mod databases;
mod dictionary;
mod disk;
mod evaluate;
mod external_table;
mod fed_insertion;
mod fed_scan;
mod fields;
mod file_table;
mod function_table;
mod generated;
mod identity;
mod index_analysis;
mod insert_id;
mod join_table;
mod key_binding;
mod key_condition;
pub mod key_index;
mod lookups;
mod memory;
mod merge_tree;
mod mutation;
mod null;
mod part_event;
mod row_claims;
mod session_catalog;
pub mod table;
mod table_record;
mod value_ends;
mod view;

pub use catalog::{RefreshNote, RefreshRecord};
pub use column_cache::ColumnCacheStatistics;
pub use databases::{
    AddedRows, BackgroundMerge, DatabaseDescription, Databases, DefinitionChange, DetachedTable, FrozenPart, NamedView,
    NoteChange, PartBackup, PartCommand, Placement, RefreshableView, RestoreOptions, Rewrite, RewriteOf,
    StorageOptions, TableBackup, TableDescription, TableToRestore, TableWhereabouts, takes_setting,
};
pub use dictionary::{Dictionary, DictionaryDescription, DictionaryTable, OnDemandReader};
pub use external_table::{ExternalTable, TEMPORARY_DATABASE};
pub use fed_insertion::{Failure, FedInsertion, Handed};
pub use fed_scan::{FedScan, Feed};
pub use file_table::{StoredFile, format_of_definition};
pub use generated::table_function;
pub use identity::TableName;
pub use index_analysis::{IndexAnalysis, IndexStep, IndexStepKind};
pub use insert_id::{IdentifiedInsertion, InsertId};
pub use join_table::{JoinDefinition, JoinHeld, JoinTable};
pub use key_condition::column_bounds;
pub use lookups::NamedLookups;
pub use merge_tree::conditions::{
    ConditionCacheEntry, clear_condition_cache, condition_cache_entries, set_condition_cache_size,
};
pub use merge_tree::{
    BackgroundTurn, Candidate, DetachedPart, Expiring, ForeignRows, MERGED_ROWS_MAX, MergeHold, MergeLimits,
    MergeProgress, MergeRoom, MergeType, MergeablePart, PartNumbers, PartSelection, PartSource, PreparedParts,
    WantedColumns, implicit_indices, merge_tree_settings, select as select_merge, select_due, select_expired,
};
pub use mutation::{MutationFence, MutationOrder, MutationStep, StoredMutation};
pub use null::null_table;
pub use part_event::{NotePart, PartEvent, PartEventKind};
pub use session_catalog::SessionCatalog;
pub use table::{
    Claim, ColumnBounds, ColumnSize, ConditionUse, InsertLimits, InsertPlace, InsertWriter, Insertion, Morsel,
    PartColumn, PartInfo, PartMerge, PartTtl, PartTtlKind, PartWork, ProjectionPart, RowNumbers, ScanRequest,
    ScanSelection, SkipIndexSize, SkipIndexUse, Table, TableHandle, TableScan, commit_together,
};
pub use value_ends::ValueEnds;
pub use view::{inserted_rows, system_view};
