//! Tables of `system` that say the same as long as the process lives: names of what there is, and tables that clients ask for of
//! things that Squall does not have, without rows.

use std::sync::Arc;

use squall_formats::FormatProperties;
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::value::{flag, no_items, number, text};
use crate::version::{self, REVISION, SQUALL_VERSION, VERSION, VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH};

/// The table functions by name, each with what it gives.
const TABLE_FUNCTIONS: &[(&str, &str)] = &[
    ("cluster", "The rows of a table on one replica of each shard of a cluster."),
    ("clusterAllReplicas", "The rows of a table on all replicas of a cluster."),
    ("cosn", "The rows of objects in buckets of Tencent's COS, as s3 has them."),
    ("dictionary", "The rows of a dictionary."),
    ("executable", "The rows that a program prints that is given those of a query."),
    ("file", "The rows of files below user_files_path, in a format; also what an INSERT writes into one."),
    ("fileCluster", "The rows of files, as file has them, after the name of a cluster; this server reads them all."),
    ("format", "The rows that a text is in a format."),
    ("gcs", "The rows of objects in buckets of Google Cloud Storage, as s3 has them."),
    ("generateRandom", "Random rows of a structure."),
    ("generateSeries", "The integers from one number to another, by a step."),
    ("generate_series", "The integers from one number to another, by a step."),
    ("input", "The rows that an INSERT … SELECT is sent, in the columns of a structure."),
    ("loop", "The rows of a table again and again."),
    ("merge", "The rows of all tables whose names match a regular expression."),
    ("mysql", "The rows of a table of a server of MySQL or MariaDB; also what an INSERT writes into one."),
    ("null", "A table of a structure, without rows; what is inserted is dropped."),
    ("numbers", "The integers from 0 or another number on."),
    ("numbers_mt", "The integers from 0 or another number on, counted by several threads."),
    ("oss", "The rows of objects in buckets of Alibaba's OSS, as s3 has them."),
    ("postgresql", "The rows of a table of a server of PostgreSQL; also what an INSERT writes into one."),
    ("remote", "The rows of a table of another server; also what an INSERT sends there."),
    ("remoteSecure", "The rows of a table of another server, over TLS."),
    ("s3", "The rows of objects in buckets of S3, in a format; also what an INSERT writes into one."),
    ("s3Cluster", "The rows of objects, as s3 has them, after the name of a cluster; this server reads them all."),
    ("sqlite", "The rows of a table in a file of SQLite; also what an INSERT writes into one."),
    ("url", "The rows of what a web server answers, in a format; also what an INSERT sends there."),
    (
        "urlCluster",
        "The rows of what a web server answers, as url has them, after the name of a cluster; this server reads them all.",
    ),
    ("values", "The rows that are written as arguments."),
    ("view", "The rows of a query."),
    ("viewExplain", "What EXPLAIN says of a query, as rows."),
    ("zeros", "Rows of a zero."),
    ("zeros_mt", "Rows of a zero, made by several threads."),
];

/// Tables of what Squall does not have, with the columns that clients name.
const EMPTY: &[(&str, &[(&str, &str)])] = &[
    ("contributors", &[("name", "String")]),
    (
        "dropped_tables",
        &[
            ("index", "UInt32"),
            ("database", "String"),
            ("table", "String"),
            ("uuid", "UUID"),
            ("engine", "String"),
            ("metadata_dropped_path", "String"),
            ("table_dropped_time", "DateTime"),
        ],
    ),
    (
        "moves",
        &[
            ("database", "String"),
            ("table", "String"),
            ("elapsed", "Float64"),
            ("target_disk_name", "String"),
            ("target_disk_path", "String"),
            ("part_name", "String"),
            ("part_size", "UInt64"),
            ("thread_id", "UInt64"),
        ],
    ),
    ("workloads", &[("name", "String"), ("parent", "String"), ("create_query", "String")]),
    (
        "resources",
        &[
            ("name", "String"),
            ("read_disks", "Array(String)"),
            ("write_disks", "Array(String)"),
            ("unit", "String"),
            ("create_query", "String"),
        ],
    ),
    (
        "query_cache",
        &[
            ("query", "String"),
            ("query_id", "String"),
            ("is_subquery", "UInt8"),
            ("result_size", "UInt64"),
            ("tag", "LowCardinality(String)"),
            ("stale", "UInt8"),
            ("shared", "UInt8"),
            ("compressed", "UInt8"),
            ("expires_at", "DateTime"),
            ("key_hash", "UInt64"),
        ],
    ),
    (
        "replicas",
        &[
            ("database", "String"),
            ("table", "String"),
            ("uuid", "UUID"),
            ("engine", "String"),
            ("is_leader", "UInt8"),
            ("can_become_leader", "UInt8"),
            ("is_readonly", "UInt8"),
            ("readonly_start_time", "Nullable(DateTime)"),
            ("is_session_expired", "UInt8"),
            ("future_parts", "UInt32"),
            ("parts_to_check", "UInt32"),
            ("zookeeper_name", "String"),
            ("zookeeper_path", "String"),
            ("replica_name", "String"),
            ("replica_path", "String"),
            ("columns_version", "Int32"),
            ("queue_size", "UInt32"),
            ("inserts_in_queue", "UInt32"),
            ("merges_in_queue", "UInt32"),
            ("part_mutations_in_queue", "UInt32"),
            ("queue_oldest_time", "DateTime"),
            ("inserts_oldest_time", "DateTime"),
            ("merges_oldest_time", "DateTime"),
            ("part_mutations_oldest_time", "DateTime"),
            ("oldest_part_to_get", "String"),
            ("oldest_part_to_merge_to", "String"),
            ("oldest_part_to_mutate_to", "String"),
            ("log_max_index", "UInt64"),
            ("log_pointer", "UInt64"),
            ("last_queue_update", "DateTime"),
            ("absolute_delay", "UInt64"),
            ("total_replicas", "UInt32"),
            ("active_replicas", "UInt32"),
            ("lost_part_count", "UInt64"),
            ("last_queue_update_exception", "String"),
            ("zookeeper_exception", "String"),
            ("replica_is_active", "Map(String, UInt8)"),
            ("readonly_duration", "Nullable(UInt64)"),
        ],
    ),
    (
        "replication_queue",
        &[
            ("database", "String"),
            ("table", "String"),
            ("replica_name", "String"),
            ("position", "UInt32"),
            ("node_name", "String"),
            ("type", "String"),
            ("create_time", "DateTime"),
            ("required_quorum", "UInt32"),
            ("source_replica", "String"),
            ("new_part_name", "String"),
            ("parts_to_merge", "Array(String)"),
            ("is_detach", "UInt8"),
            ("is_currently_executing", "UInt8"),
            ("num_tries", "UInt32"),
            ("last_exception", "String"),
            ("last_exception_time", "DateTime"),
            ("last_attempt_time", "DateTime"),
            ("num_postponed", "UInt32"),
            ("postpone_reason", "String"),
            ("last_postpone_time", "DateTime"),
            ("merge_type", "String"),
        ],
    ),
    (
        "distribution_queue",
        &[
            ("database", "String"),
            ("table", "String"),
            ("data_path", "String"),
            ("is_blocked", "UInt8"),
            ("error_count", "UInt64"),
            ("data_files", "UInt64"),
            ("data_compressed_bytes", "UInt64"),
            ("broken_data_files", "UInt64"),
            ("broken_data_compressed_bytes", "UInt64"),
            ("last_exception", "String"),
            ("last_exception_time", "DateTime"),
        ],
    ),
    (
        "distributed_ddl_queue",
        &[
            ("entry", "String"),
            ("entry_version", "Nullable(UInt8)"),
            ("initiator_host", "Nullable(String)"),
            ("initiator_port", "Nullable(UInt16)"),
            ("cluster", "String"),
            ("query", "String"),
            ("settings", "Map(String, String)"),
            ("query_create_time", "DateTime"),
            ("host", "Nullable(String)"),
            ("port", "Nullable(UInt16)"),
            ("status", "Nullable(Enum8('Inactive' = 0, 'Active' = 1, 'Finished' = 2, 'Removing' = 3, 'Unknown' = 4))"),
            ("exception_code", "Nullable(UInt16)"),
            ("exception_text", "Nullable(String)"),
            ("query_finish_time", "Nullable(DateTime)"),
            ("query_duration_ms", "Nullable(UInt64)"),
        ],
    ),
    (
        "part_moves_between_shards",
        &[
            ("database", "String"),
            ("table", "String"),
            ("task_name", "String"),
            ("task_uuid", "UUID"),
            ("create_time", "DateTime"),
            ("part_name", "String"),
            ("part_uuid", "UUID"),
            ("to_shard", "String"),
            ("dst_part_name", "String"),
            ("update_time", "DateTime"),
            ("state", "String"),
            ("rollback", "UInt8"),
            ("num_tries", "UInt32"),
            ("last_exception", "String"),
        ],
    ),
    ("warnings", &[("message", "String"), ("message_format_string", "LowCardinality(String)")]),
];

pub(super) fn tables() -> Vec<Arc<dyn Table>> {
    let mut tables: Vec<Arc<dyn Table>> = vec![
        build_options(),
        collations(),
        data_type_families(),
        Arc::new(
            SystemTable::new("aggregate_function_combinators", || Ok(squall_functions::aggregate_combinators()))
                .column("name", "String", |(name, _): &(&str, bool)| text(name))
                .column("is_internal", "UInt8", |(_, is_internal): &(&str, bool)| flag(*is_internal)),
        ),
        table_engines(),
        super::licenses::licenses(),
        Arc::new(
            SystemTable::new("table_functions", || Ok(TABLE_FUNCTIONS.to_vec()))
                .column("name", "String", |(name, _): &(&str, &str)| text(name))
                .column("description", "String", |(_, description)| text(description))
                .constant("allow_readonly", "UInt8", flag(true)),
        ),
        Arc::new(
            SystemTable::new("database_engines", || {
                Ok(vec![
                    ("Atomic", "The tables of the server's folder, each with a UUID; what is dropped or renamed goes on being read."),
                    ("Memory", "Tables that end with the server."),
                ])
            })
            .column("name", "String", |(name, _): &(&str, &str)| text(name))
            .column("description", "String", |(_, description)| text(description)),
        ),
        Arc::new(SystemTable::new("time_zones", || Ok(chrono_tz::TZ_VARIANTS.to_vec())).column(
            "time_zone",
            "String",
            |row: &chrono_tz::Tz| text(row.name()),
        )),
        Arc::new(SystemTable::new("keywords", || Ok(squall_sql::keywords().collect())).column(
            "keyword",
            "String",
            |row: &&str| text(row),
        )),
        formats(),
    ];
    for (name, columns) in EMPTY {
        let mut table = SystemTable::new(name, || Ok(Vec::<()>::new()));
        for (name, data_type) in *columns {
            table = table.constant(name, data_type, Value::Null);
        }
        tables.push(Arc::new(table));
    }
    tables
}

fn build_options() -> Arc<dyn Table> {
    let rows = || {
        let integer = VERSION_MAJOR * 1_000_000 + VERSION_MINOR * 1_000 + VERSION_PATCH;
        Ok(vec![
            ("VERSION_FULL", format!("Squall {SQUALL_VERSION} (ClickHouse {VERSION})")),
            ("VERSION_DESCRIBE", format!("v{VERSION}-squall")),
            ("VERSION_INTEGER", integer.to_string()),
            ("VERSION_STRING", VERSION.to_owned()),
            ("VERSION_REVISION", REVISION.to_string()),
            ("SQUALL_VERSION", SQUALL_VERSION.to_owned()),
            ("GIT_HASH", version::commit().to_owned()),
            ("SYSTEM", "Linux".to_owned()),
            ("SYSTEM_PROCESSOR", std::env::consts::ARCH.to_owned()),
            ("BUILD_TYPE", if cfg!(debug_assertions) { "Debug" } else { "Release" }.to_owned()),
        ])
    };
    let table = SystemTable::new("build_options", rows)
        .column("name", "String", |(name, _): &(&str, String)| text(name))
        .column("value", "String", |(_, value)| text(value));
    Arc::new(table)
}

fn collations() -> Arc<dyn Table> {
    let table = SystemTable::new("collations", || Ok(squall_functions::COLLATIONS.to_vec()))
        .column("name", "String", |(name, _): &(&str, &str)| text(name))
        .column("language", "Nullable(String)", |(_, language)| text(language));
    Arc::new(table)
}

fn data_type_families() -> Arc<dyn Table> {
    let table = SystemTable::new("data_type_families", || Ok(squall_types::type_family::FAMILIES.to_vec()))
        .column("name", "String", |(name, ..): &(&str, bool, &str)| text(name))
        .column("case_insensitive", "UInt8", |(_, in_any_case, _)| flag(*in_any_case))
        .column("alias_to", "String", |(.., alias_to)| text(alias_to));
    Arc::new(table)
}

fn table_engines() -> Arc<dyn Table> {
    // Whether tables of the engine take settings.
    const ENGINES: &[(&str, bool)] = &[
        ("AggregatingMergeTree", true),
        ("Buffer", false),
        ("COSN", true),
        ("CoalescingMergeTree", true),
        ("CollapsingMergeTree", true),
        ("Dictionary", false),
        ("Executable", true),
        ("File", true),
        ("GCS", true),
        ("GenerateRandom", false),
        ("Join", true),
        ("Log", true),
        ("Memory", true),
        ("Merge", false),
        ("MergeTree", true),
        ("MySQL", true),
        ("Null", false),
        ("OSS", true),
        ("PostgreSQL", true),
        ("ReplacingMergeTree", true),
        ("S3", true),
        ("SQLite", false),
        ("Set", true),
        ("StripeLog", true),
        ("SummingMergeTree", true),
        ("TinyLog", true),
        ("VersionedCollapsingMergeTree", true),
        ("View", false),
    ];
    let is_merge_tree = |row: &(&str, bool)| flag(row.0.ends_with("MergeTree"));
    let mut table = SystemTable::new("table_engines", || Ok(ENGINES.to_vec()))
        .column("name", "String", |row: &(&str, bool)| text(row.0))
        .column("supports_settings", "UInt8", |row| flag(row.1))
        .column("supports_skipping_indices", "UInt8", is_merge_tree)
        .constant("supports_projections", "UInt8", flag(false))
        .column("supports_sort_order", "UInt8", is_merge_tree)
        .constant("supports_ttl", "UInt8", flag(false))
        .constant("supports_replication", "UInt8", flag(false))
        .constant("supports_deduplication", "UInt8", flag(false))
        .column("supports_parallel_insert", "UInt8", is_merge_tree);
    for name in ["description", "syntax", "examples", "introduced_in"] {
        table = table.constant(name, "String", text(""));
    }
    Arc::new(table.constant("related", "Array(String)", no_items()))
}

fn formats() -> Arc<dyn Table> {
    let table = SystemTable::new("formats", || Ok(squall_formats::format_properties().collect()))
        .column("name", "String", |row: &FormatProperties| text(row.name))
        .column("is_input", "UInt8", |row| flag(row.is_input))
        .column("is_output", "UInt8", |row| flag(row.is_output))
        .constant("supports_parallel_parsing", "UInt8", number(0_u64))
        .constant("supports_parallel_formatting", "UInt8", number(0_u64))
        .column("is_tty_friendly", "UInt8", |row| flag(row.is_tty_friendly))
        .column("content_type", "String", |row| text(row.content_type))
        .column("supports_random_access", "UInt8", |row| flag(row.has_random_access))
        .column("has_schema_inference", "UInt8", |row| flag(row.has_schema_inference))
        .column("has_external_schema", "UInt8", |row| flag(row.has_external_schema))
        .constant("prefers_large_blocks", "UInt8", number(0_u64))
        .column("supports_append", "UInt8", |row| flag(row.can_be_appended))
        .column("supports_subsets_of_columns", "UInt8", |row| flag(row.has_subsets_of_columns));
    Arc::new(table)
}

#[cfg(test)]
mod tests {
    use squall_types::DataType;

    use super::*;

    #[test]
    fn every_columns_type_is_one() {
        for (table, columns) in EMPTY {
            for (name, data_type) in *columns {
                assert!(DataType::parse(data_type).is_ok(), "{table}.{name}");
            }
        }
    }
}
