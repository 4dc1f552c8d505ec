//! `information_schema`, in small letters and in capitals: views over tables of `system`, with the columns that standard SQL and MySQL know.
//! Each column is there under its name in small letters and in capitals.

use std::sync::Arc;

use squall_planner::ColumnDescription;
use squall_storage::{Table, system_view};
use squall_types::{DataType, Result};

/// The two names of the database.
const DATABASES: [&str; 2] = ["information_schema", "INFORMATION_SCHEMA"];

/// A column: its name, its type, and its value over the table below; an empty one is NULL.
type Column = (&'static str, &'static str, &'static str);

/// A view: its name, its columns, how many of them its first version had, and what follows FROM. The others come after those of the first
/// version in capitals.
type View = (&'static str, &'static [Column], usize, &'static str);

const TEXT: &str = "Nullable(String)";
const NUMBER: &str = "Nullable(UInt64)";
const TIME: &str = "Nullable(DateTime)";
const NO_YES: &str = "Enum8('NO' = 0, 'YES' = 1)";
const COLLATION: &str = "'utf8mb4_0900_ai_ci'";

const VIEWS: &[View] = &[
    (
        "schemata",
        &[
            ("catalog_name", "String", "name"),
            ("schema_name", "String", "name"),
            ("schema_owner", "String", "'default'"),
            ("default_character_set_catalog", TEXT, ""),
            ("default_character_set_schema", TEXT, ""),
            ("default_character_set_name", TEXT, ""),
            ("sql_path", TEXT, ""),
            ("default_collation_name", "String", COLLATION),
            ("default_encryption", "String", "'NO'"),
        ],
        7,
        "system.databases",
    ),
    (
        "tables",
        &[
            ("table_catalog", "String", "database"),
            ("table_schema", "String", "database"),
            ("table_name", "String", "name"),
            (
                "table_type",
                "String",
                "multiIf(is_temporary, 'LOCAL TEMPORARY', engine LIKE '%View', 'VIEW', engine LIKE 'System%', 'SYSTEM VIEW', \
                 has_own_data = 0, 'FOREIGN TABLE', 'BASE TABLE')",
            ),
            ("table_rows", NUMBER, "total_rows"),
            ("data_length", NUMBER, "total_bytes"),
            ("index_length", NUMBER, "0"),
            ("table_collation", TEXT, COLLATION),
            ("table_comment", TEXT, "comment"),
            ("engine", TEXT, "if(engine LIKE '%View', NULL, engine)"),
            ("version", NUMBER, ""),
            ("row_format", TEXT, ""),
            ("avg_row_length", NUMBER, ""),
            ("max_data_length", NUMBER, ""),
            ("data_free", NUMBER, ""),
            ("auto_increment", NUMBER, ""),
            ("create_time", TIME, ""),
            ("update_time", TIME, ""),
            ("check_time", TIME, ""),
            ("checksum", "Nullable(Int64)", ""),
            ("create_options", TEXT, ""),
        ],
        9,
        "system.tables",
    ),
    (
        "views",
        &[
            ("table_catalog", "String", "database"),
            ("table_schema", "String", "database"),
            ("table_name", "String", "name"),
            ("view_definition", "String", "as_select"),
            ("check_option", "String", "'NONE'"),
            ("is_updatable", NO_YES, "'NO'"),
            ("is_insertable_into", NO_YES, "'NO'"),
            ("is_trigger_updatable", NO_YES, "'NO'"),
            ("is_trigger_deletable", NO_YES, "'NO'"),
            ("is_trigger_insertable_into", NO_YES, "'NO'"),
        ],
        10,
        "system.tables WHERE engine LIKE '%View'",
    ),
    (
        "columns",
        &[
            ("table_catalog", "String", "database"),
            ("table_schema", "String", "database"),
            ("table_name", "String", "table"),
            ("column_name", "String", "name"),
            ("ordinal_position", "UInt64", "position"),
            ("column_default", "String", "default_expression"),
            ("is_nullable", "String", "if(type LIKE 'Nullable(%)', '1', '0')"),
            ("data_type", "String", "type"),
            ("character_maximum_length", NUMBER, "character_octet_length"),
            ("character_octet_length", NUMBER, "character_octet_length"),
            ("numeric_precision", NUMBER, "numeric_precision"),
            ("numeric_precision_radix", NUMBER, "numeric_precision_radix"),
            ("numeric_scale", NUMBER, "numeric_scale"),
            ("datetime_precision", NUMBER, "datetime_precision"),
            ("character_set_catalog", TEXT, ""),
            ("character_set_schema", TEXT, ""),
            ("character_set_name", TEXT, ""),
            ("collation_catalog", TEXT, ""),
            ("collation_schema", TEXT, ""),
            ("collation_name", TEXT, ""),
            ("domain_catalog", TEXT, ""),
            ("domain_schema", TEXT, ""),
            ("domain_name", TEXT, ""),
            (
                "extra",
                TEXT,
                "multiIf(default_kind = 'DEFAULT', 'DEFAULT_GENERATED', default_kind = 'MATERIALIZED', 'STORED GENERATED', \
                 default_kind = 'ALIAS', 'VIRTUAL GENERATED', '')",
            ),
            ("column_comment", "String", "comment"),
            ("column_type", "String", "type"),
            ("column_key", "String", "if(is_in_primary_key, 'PRI', '')"),
            ("privileges", "String", "''"),
            ("generation_expression", "String", "''"),
            ("srs_id", "Nullable(UInt32)", ""),
        ],
        26,
        "system.columns",
    ),
    (
        "key_column_usage",
        &[
            ("constraint_catalog", "String", "'def'"),
            ("constraint_schema", "String", "database"),
            ("constraint_name", TEXT, "'PRIMARY'"),
            ("table_catalog", "String", "'def'"),
            ("table_schema", "String", "database"),
            ("table_name", "String", "table"),
            ("column_name", TEXT, "name"),
            ("ordinal_position", "UInt32", "1"),
            ("position_in_unique_constraint", "Nullable(UInt32)", ""),
            ("referenced_table_schema", TEXT, ""),
            ("referenced_table_name", TEXT, ""),
            ("referenced_column_name", TEXT, ""),
        ],
        12,
        "system.columns WHERE is_in_primary_key",
    ),
    (
        "referential_constraints",
        &[
            ("constraint_catalog", "String", "''"),
            ("constraint_schema", "String", "''"),
            ("constraint_name", TEXT, ""),
            ("unique_constraint_catalog", "String", "''"),
            ("unique_constraint_schema", "String", "''"),
            ("unique_constraint_name", TEXT, ""),
            ("match_option", "String", "''"),
            ("update_rule", "String", "''"),
            ("delete_rule", "String", "''"),
            ("table_name", "String", "''"),
            ("referenced_table_name", "String", "''"),
        ],
        11,
        "system.one WHERE 0",
    ),
    (
        "statistics",
        &[
            ("table_catalog", "String", "''"),
            ("table_schema", "String", "''"),
            ("table_name", "String", "''"),
            ("non_unique", "Int32", "0"),
            ("index_schema", "String", "''"),
            ("index_name", TEXT, ""),
            ("seq_in_index", "UInt32", "0"),
            ("column_name", TEXT, ""),
            ("collation", TEXT, ""),
            ("cardinality", "Nullable(Int64)", ""),
            ("sub_part", "Nullable(Int64)", ""),
            ("packed", TEXT, ""),
            ("nullable", "String", "''"),
            ("index_type", "String", "''"),
            ("comment", "String", "''"),
            ("index_comment", "String", "''"),
            ("is_visible", "String", "''"),
            ("expression", TEXT, ""),
        ],
        18,
        "system.one WHERE 0",
    ),
    (
        "engines",
        &[("engine", "String", "name"), ("support", "String", "if(name = 'MergeTree', 'DEFAULT', 'YES')")],
        2,
        "system.table_engines",
    ),
    (
        "character_sets",
        &[("character_set_name", "String", "name")],
        1,
        "(SELECT arrayJoin(['utf8', 'utf8mb4', 'ascii', 'binary']) AS name)",
    ),
    (
        "collations",
        &[
            ("collation_name", "String", "name"),
            ("character_set_name", TEXT, ""),
            ("id", NUMBER, ""),
            ("is_default", TEXT, ""),
            ("is_compiled", TEXT, ""),
            ("sortlen", NUMBER, ""),
            ("pad_attribute", TEXT, ""),
        ],
        1,
        "system.collations",
    ),
];

/// The views of both databases.
///
/// # Errors
/// Where a type or a query is none.
pub(super) fn tables() -> Result<Vec<Arc<dyn Table>>> {
    let mut tables = Vec::new();
    for (name, columns, first, from) in VIEWS {
        // The names below are those of the table, whatever the view calls its own columns.
        let value = |(_, _, value): &Column| if value.is_empty() { "NULL" } else { *value }.to_owned();
        let values: Vec<String> =
            columns.iter().enumerate().map(|(at, column)| format!("{} AS c{at}", value(column))).collect();
        let mut shown = Vec::new();
        let mut descriptions = Vec::new();
        let (early, late) = (0..*first, *first..columns.len());
        for (places, in_capitals) in [(early.clone(), false), (early, true), (late.clone(), false), (late, true)] {
            for at in places {
                let Some((name, data_type, _)) = columns.get(at) else { continue };
                let name = if in_capitals { name.to_uppercase() } else { (*name).to_owned() };
                shown.push(format!("c{at} AS {name}"));
                descriptions.push(ColumnDescription::new(name, DataType::parse(data_type)?));
            }
        }
        let query = format!("SELECT {} FROM (SELECT {} FROM {from})", shown.join(", "), values.join(", "));
        for database in DATABASES {
            for name in [(*name).to_owned(), name.to_uppercase()] {
                tables.push(system_view(database, &name, descriptions.clone(), &query)?);
            }
        }
    }
    Ok(tables)
}

/// Whether a database is one of these, which everybody may read: what the views read shows each user what is theirs.
pub fn is_information_schema(database: &str) -> bool {
    DATABASES.contains(&database)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_view_can_be_read() {
        let tables = super::tables().unwrap();
        assert_eq!(tables.len(), 4 * super::VIEWS.len());
        assert!(tables.iter().all(|table| table.view_query().is_some()));
    }
}
