//! The catalog's tables: DuckLake's, as its specification 1.0 lays them out, and Squall's own beside them, whose names begin with
//! `squall_`.

/// The version of DuckLake's specification.
pub(super) const DUCKLAKE_VERSION: &str = "1.0";
/// The version of what is on disk: of Squall's own tables and of its parts' files, in `ducklake_metadata` under `squall_version`. A server reads
/// this and every earlier one, and refuses later ones. docs/upgrades.md is the promise.
pub(super) const SQUALL_VERSION: u32 = 11;
/// What brings a catalog of each version to the next, from version 1 on.
pub(super) const UPGRADES: &[&str] = &[
    DETACHED_TABLES,
    COLUMN_CODECS,
    TABLES_BESIDE_LAKE,
    TABLE_SCHEMAS,
    INSERTS,
    TTL,
    PROJECTIONS,
    MUTATIONS,
    STATISTICS,
    VALUE_BYTES,
];

/// DuckLake's tables. Columns, their order and their types are the specification's.
pub(super) const DUCKLAKE: &str = r#"
CREATE TABLE ducklake_metadata ("key" VARCHAR NOT NULL, "value" VARCHAR NOT NULL, "scope" VARCHAR, scope_id BIGINT);
CREATE TABLE ducklake_snapshot (snapshot_id BIGINT PRIMARY KEY, snapshot_time TIMESTAMP WITH TIME ZONE, schema_version BIGINT,
    next_catalog_id BIGINT, next_file_id BIGINT);
CREATE TABLE ducklake_snapshot_changes (snapshot_id BIGINT PRIMARY KEY, changes_made VARCHAR, author VARCHAR,
    commit_message VARCHAR, commit_extra_info VARCHAR);
CREATE TABLE ducklake_schema (schema_id BIGINT PRIMARY KEY, schema_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT,
    schema_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
CREATE TABLE ducklake_table (table_id BIGINT, table_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT,
    table_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
CREATE TABLE ducklake_view (view_id BIGINT, view_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT,
    view_name VARCHAR, dialect VARCHAR, "sql" VARCHAR, column_aliases VARCHAR);
CREATE TABLE ducklake_tag (object_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE ducklake_column_tag (table_id BIGINT, column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR,
    "value" VARCHAR);
CREATE TABLE ducklake_data_file (data_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT,
    file_order BIGINT, path VARCHAR, path_is_relative BOOLEAN, file_format VARCHAR, record_count BIGINT, file_size_bytes BIGINT,
    footer_size BIGINT, row_id_start BIGINT, partition_id BIGINT, encryption_key VARCHAR, mapping_id BIGINT, partial_max BIGINT);
CREATE TABLE ducklake_file_column_stats (data_file_id BIGINT, table_id BIGINT, column_id BIGINT, column_size_bytes BIGINT,
    value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE ducklake_file_variant_stats (data_file_id BIGINT, table_id BIGINT, column_id BIGINT, variant_path VARCHAR,
    shredded_type VARCHAR, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR,
    contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE ducklake_delete_file (delete_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT,
    data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, format VARCHAR, delete_count BIGINT, file_size_bytes BIGINT,
    footer_size BIGINT, encryption_key VARCHAR, partial_max BIGINT);
CREATE TABLE ducklake_column (column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, table_id BIGINT, column_order BIGINT,
    column_name VARCHAR, column_type VARCHAR, initial_default VARCHAR, default_value VARCHAR, nulls_allowed BOOLEAN,
    parent_column BIGINT, default_value_type VARCHAR, default_value_dialect VARCHAR);
CREATE TABLE ducklake_table_stats (table_id BIGINT, record_count BIGINT, next_row_id BIGINT, file_size_bytes BIGINT);
CREATE TABLE ducklake_table_column_stats (table_id BIGINT, column_id BIGINT, contains_null BOOLEAN, contains_nan BOOLEAN,
    min_value VARCHAR, max_value VARCHAR, extra_stats VARCHAR);
CREATE TABLE ducklake_partition_info (partition_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_partition_column (partition_id BIGINT, table_id BIGINT, partition_key_index BIGINT, column_id BIGINT,
    "transform" VARCHAR);
CREATE TABLE ducklake_file_partition_value (data_file_id BIGINT, table_id BIGINT, partition_key_index BIGINT,
    partition_value VARCHAR);
CREATE TABLE ducklake_files_scheduled_for_deletion (data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN,
    schedule_start TIMESTAMP WITH TIME ZONE);
CREATE TABLE ducklake_inlined_data_tables (table_id BIGINT, table_name VARCHAR, schema_version BIGINT);
CREATE TABLE ducklake_column_mapping (mapping_id BIGINT, table_id BIGINT, "type" VARCHAR);
CREATE TABLE ducklake_name_mapping (mapping_id BIGINT, column_id BIGINT, source_name VARCHAR, target_field_id BIGINT,
    parent_column BIGINT, is_partition BOOLEAN);
CREATE TABLE ducklake_schema_versions (begin_snapshot BIGINT, schema_version BIGINT, table_id BIGINT);
CREATE TABLE ducklake_macro (schema_id BIGINT, macro_id BIGINT, macro_name VARCHAR, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_macro_impl (macro_id BIGINT, impl_id BIGINT, dialect VARCHAR, "sql" VARCHAR, "type" VARCHAR);
CREATE TABLE ducklake_macro_parameters (macro_id BIGINT, impl_id BIGINT, column_id BIGINT, parameter_name VARCHAR,
    parameter_type VARCHAR, default_value VARCHAR, default_value_type VARCHAR);
CREATE TABLE ducklake_sort_info (sort_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_sort_expression (sort_id BIGINT, table_id BIGINT, sort_key_index BIGINT, expression VARCHAR,
    dialect VARCHAR, sort_direction VARCHAR, null_order VARCHAR);
"#;

/// Squall's tables: what DuckLake has no word for. Rows belong to the DuckLake row of the same id and go with it.
pub(super) const SQUALL: &str = r#"
-- Databases' comments.
CREATE TABLE squall_schema (schema_id BIGINT PRIMARY KEY, comment VARCHAR);
-- Engines; whether the table gave PRIMARY KEY apart from ORDER BY.
CREATE TABLE squall_table (table_id BIGINT PRIMARY KEY, engine VARCHAR, has_primary_key BOOLEAN, comment VARCHAR);
-- Exact ClickHouse types, defaults and comments of all columns, also of those that are not stored.
CREATE TABLE squall_column (table_id BIGINT, position BIGINT, column_name VARCHAR, data_type VARCHAR, default_kind VARCHAR,
    default_expression VARCHAR, comment VARCHAR, PRIMARY KEY (table_id, position));
-- Expressions of ORDER BY ('sorting'), PRIMARY KEY ('primary') and PARTITION BY ('partition').
CREATE TABLE squall_key (table_id BIGINT, key_kind VARCHAR, position BIGINT, expression VARCHAR,
    PRIMARY KEY (table_id, key_kind, position));
-- SETTINGS of CREATE TABLE.
CREATE TABLE squall_setting (table_id BIGINT, position BIGINT, name VARCHAR, value VARCHAR, PRIMARY KEY (table_id, position));
-- Parts: the name, the partition, and what is known without opening the file (chunks, checksums, bounds, the primary index).
CREATE TABLE squall_part (data_file_id BIGINT PRIMARY KEY, table_id BIGINT, part_name VARCHAR, partition VARCHAR,
    description BLOB);
-- Parts of a table are looked up by it at every start and DROP.
CREATE INDEX squall_data_file_table ON ducklake_data_file (table_id) WHERE end_snapshot IS NULL;
"#;

/// Since version 2: tables that DETACH … PERMANENTLY took away. Parts of this version are called `tmp_insert_…` until their commit, and what
/// is dropped is scheduled for deletion until its file is gone.
pub(super) const DETACHED_TABLES: &str = "CREATE TABLE squall_detached_table (table_id BIGINT PRIMARY KEY)";

/// Since version 3: codecs of columns, which the columns' own records in parts and backups have, too.
pub(super) const COLUMN_CODECS: &str = "ALTER TABLE squall_column ADD COLUMN codec VARCHAR";

/// Since version 4: tables whose rows are in no lake, so that DuckLake's readers do not find them empty: dictionaries, tables in memory or of
/// a function. And UUIDs are `uuid` to them, which [`opening`](super::opening) says of columns that there are.
pub(super) const TABLES_BESIDE_LAKE: &str = r#"
CREATE TABLE squall_table_beside_lake (table_id BIGINT PRIMARY KEY, table_uuid UUID, schema_id BIGINT, table_name VARCHAR);
INSERT INTO squall_table_beside_lake
    SELECT t.table_id, t.table_uuid, t.schema_id, t.table_name FROM ducklake_table t JOIN squall_table q USING (table_id)
    WHERE t.end_snapshot IS NULL AND (
        q.engine NOT IN ('MergeTree', 'Join')
        OR q.engine = 'Join' AND EXISTS (
            SELECT 1 FROM squall_setting s WHERE s.table_id = t.table_id AND s.name = 'persistent' AND s.value IN ('0', 'false')));
DELETE FROM ducklake_table WHERE table_id IN (SELECT table_id FROM squall_table_beside_lake);
DELETE FROM ducklake_column WHERE table_id IN (SELECT table_id FROM squall_table_beside_lake);
DELETE FROM ducklake_table_stats WHERE table_id IN (SELECT table_id FROM squall_table_beside_lake);
DELETE FROM ducklake_schema_versions WHERE table_id IN (SELECT table_id FROM squall_table_beside_lake);
"#;

/// Since version 5: the stored columns that a table has and had, with their ids in files, for parts that were written with them. Parts from before are
/// of schema 0, as are those of tables that were never altered.
pub(super) const TABLE_SCHEMAS: &str = r#"
CREATE TABLE squall_table_schema (table_id BIGINT, number BIGINT, columns VARCHAR, PRIMARY KEY (table_id, number));
ALTER TABLE squall_part ADD COLUMN schema_number BIGINT NOT NULL DEFAULT 0;
"#;

/// Since version 6: parts that have skip indexes say so in their descriptions, which earlier servers cannot read; and the last INSERTs of tables that remember them, for each partition with the block that they brought.
pub(super) const INSERTS: &str = r#"
CREATE TABLE squall_insert (number INTEGER PRIMARY KEY, table_id BIGINT NOT NULL, insert_id VARCHAR NOT NULL, partition VARCHAR NOT NULL,
    block BIGINT NOT NULL, UNIQUE (table_id, insert_id, partition));
CREATE INDEX squall_insert_table ON squall_insert (table_id, number);
"#;

/// Since version 7: when values of a column expire. The elements of a table's own TTL are keys of the kind 'ttl', and parts' descriptions
/// may end with what they know of both.
pub(super) const TTL: &str = "ALTER TABLE squall_column ADD COLUMN ttl VARCHAR";

/// Since version 8: projections are keys of the kind 'projection', and parts that have some say so in their descriptions, which earlier servers
/// cannot read.
pub(super) const PROJECTIONS: &str = "";

/// Since version 9: mutations that go on in the background, and the last that are done. `version` is the first block that one is not about,
/// `excluded` the blocks before it that it is not about either. Views may be refreshable, which
/// earlier servers do not know, and the last refresh of each is kept.
pub(super) const MUTATIONS: &str = "
CREATE TABLE squall_mutation (table_id BIGINT NOT NULL, version BIGINT NOT NULL, excluded VARCHAR NOT NULL, command_order VARCHAR NOT NULL,
    commands_done BIGINT NOT NULL, created BIGINT NOT NULL, finished BIGINT, PRIMARY KEY (table_id, version));
CREATE TABLE squall_refresh (table_id BIGINT PRIMARY KEY, completed BIGINT NOT NULL, succeeded BIGINT, duration_ms BIGINT);
";

/// Since version 10: descriptions of parts may end with statistics of their columns, which earlier servers cannot read.
pub(super) const STATISTICS: &str = "";

/// Since version 11: descriptions of parts know the bytes of each column's values before they were encoded; earlier servers cannot read these
/// descriptions.
pub(super) const VALUE_BYTES: &str = "";
