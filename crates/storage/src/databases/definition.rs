//! Which definitions a table can have: its engine's arguments, keys and settings.

use squall_planner::{MATERIALIZED_VIEW, TABLE_FUNCTION, TableDefinition, VIEW, foreign_function, is_s3_engine};
use squall_types::{Error, ErrorCode, Result};

use crate::file_table::StoredFile;
use crate::join_table::JoinDefinition;
use crate::merge_tree;

/// Whether tables of an engine may keep a setting of this name. What CREATE TABLE names beside is a setting of the query.
pub fn takes_setting(engine: &str, name: &str) -> bool {
    match engine {
        "Memory" => matches!(
            name,
            "compress" | "min_bytes_to_keep" | "max_bytes_to_keep" | "min_rows_to_keep" | "max_rows_to_keep"
        ),
        "TinyLog" | "Log" | "StripeLog" => matches!(name, "disk" | "storage_policy"),
        "Null" | "Merge" | "Buffer" => false,
        kind if kind.ends_with("MergeTree") => merge_tree::MergeTreeSettings::is_known(name),
        _ => true,
    }
}

/// A definition that its engine can have, with what the engine takes by default written out.
pub(super) fn check_definition(definition: TableDefinition, has_disk: bool) -> Result<TableDefinition> {
    let engine = definition.engine.clone();
    if !definition.indices.is_empty() && !engine.ends_with("MergeTree") {
        let message = format!("Engine {engine} doesn't support skipping indices");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    if !definition.projections.is_empty() && !engine.ends_with("MergeTree") {
        let message = format!("Engine {engine} doesn't support projections");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    match &*engine {
        keyless if is_keyless(keyless) => {
            match keyless {
                "Join" => drop(JoinDefinition::new(&definition)?),
                "Dictionary"
                    if definition.engine_arguments.len() != 1 || definition.dictionary_statement().is_some() =>
                {
                    return Err(Error::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Storage Dictionary requires single parameter: name of dictionary",
                    ));
                }
                "Dictionary" | "GenerateRandom" => {}
                "SQLite" if definition.engine_arguments.len() == 2 => {}
                "Executable" if definition.engine_arguments.len() >= 2 => {}
                "Executable" => {
                    return Err(Error::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "StorageExecutable requires minimum 2 arguments: script_name, format, [input_query...]",
                    ));
                }
                "SQLite" => {
                    return Err(Error::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "SQLite database requires 2 arguments: database path, table name",
                    ));
                }
                // Whoever asks the servers reads the arguments.
                engine if foreign_function(engine).is_some() => {}
                "File" => StoredFile::check(&definition)?,
                engine if is_s3_engine(engine) => StoredFile::check(&definition)?,
                "Merge" if definition.engine_arguments.len() == 2 => {}
                "Merge" => {
                    return Err(Error::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Storage Merge requires exactly 2 parameters - name of source database and regexp for table names.",
                    ));
                }
                "Buffer" if matches!(definition.engine_arguments.len(), 9..=12) => {}
                "Buffer" => {
                    return Err(Error::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Storage Buffer requires from 9 to 12 parameters: destination_database, destination_table, num_buckets, \
                         min_time, max_time, min_rows, max_rows, min_bytes, max_bytes[, flush_time, flush_rows, flush_bytes].",
                    ));
                }
                "TinyLog" | "Log" | "StripeLog" | "Set" => {
                    refuse_arguments(&definition)?;
                    merge_tree::MergeTreeSettings::new(&definition)?;
                }
                _ => refuse_arguments(&definition)?,
            }
            if !definition.sorting_key.is_empty()
                || definition.primary_key.is_some()
                || !definition.partition_key.is_empty()
            {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Engine {engine} doesn't support PARTITION_BY, PRIMARY_KEY, ORDER_BY or SAMPLE_BY clauses"),
                ));
            }
            Ok(definition)
        }
        TABLE_FUNCTION | VIEW | MATERIALIZED_VIEW => Ok(definition),
        engine if has_disk && merge_tree::is_merge_tree(engine) => merge_tree::check_definition(definition),
        _ => Err(unknown_engine(&engine)),
    }
}

/// Whether an engine's tables have neither keys nor parts.
fn is_keyless(engine: &str) -> bool {
    let others = [
        "Memory",
        "Null",
        "Join",
        "Dictionary",
        "TinyLog",
        "Log",
        "StripeLog",
        "Set",
        "Merge",
        "Buffer",
        "GenerateRandom",
        "File",
        "SQLite",
        "Executable",
    ];
    others.contains(&engine) || is_s3_engine(engine) || foreign_function(engine).is_some()
}

fn refuse_arguments(definition: &TableDefinition) -> Result<()> {
    match definition.engine_arguments.len() {
        0 => Ok(()),
        given => Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Engine {} doesn't support any arguments ({given} given)", definition.engine),
        )),
    }
}

/// ClickHouse's engines that are not here yet are told from names that are nobody's.
pub(super) fn unknown_engine(engine: &str) -> Error {
    let family = engine.strip_prefix("Replicated").unwrap_or(engine);
    let is_merge_tree = family.ends_with("MergeTree");
    let others = [
        "Distributed",
        "File",
        "URL",
        "Kafka",
        "ExecutablePool",
        "KeeperMap",
        "EmbeddedRocksDB",
        "MongoDB",
        "HDFS",
        "Hive",
        "ODBC",
        "JDBC",
        "RabbitMQ",
        "NATS",
        "Redis",
        "S3Queue",
        "FileLog",
        "WindowView",
        "LiveView",
        "Alias",
        "TimeSeries",
        "Iceberg",
        "DeltaLake",
        "Hudi",
        "Loop",
    ];
    if is_merge_tree || others.contains(&engine) {
        return Error::not_implemented(format!("Table engine {engine}"));
    }
    Error::new(ErrorCode::UNKNOWN_STORAGE, format!("Unknown table engine {engine}"))
}
