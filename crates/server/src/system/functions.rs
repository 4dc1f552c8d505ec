//! `system.functions`.

use std::sync::Arc;

use squall_functions::FunctionDescription;
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::value::{flag, text};

pub(super) fn functions() -> Arc<dyn Table> {
    let origin = "Enum8('System' = 0, 'SQLUserDefined' = 1, 'ExecutableUserDefined' = 2, 'WasmUserDefined' = 3)";
    let mut table = SystemTable::new("functions", || Ok(squall_functions::all_functions()))
        .column("name", "String", |row: &FunctionDescription| text(row.name))
        .column("is_aggregate", "UInt8", |row| flag(row.is_aggregate))
        .column("case_insensitive", "UInt8", |row| flag(row.case_insensitive))
        .column("alias_to", "String", |row| text(row.alias_to))
        .constant("create_query", "String", text(""))
        .constant("origin", origin, Value::Int64(0));
    for name in [
        "description",
        "syntax",
        "arguments",
        "parameters",
        "returned_value",
        "examples",
        "introduced_in",
        "categories",
    ] {
        table = table.constant(name, "String", text(""));
    }
    let known = |value: Option<bool>| value.map_or(Value::Null, flag);
    let table = table.column("deterministic", "Nullable(UInt8)", move |row| known(row.deterministic));
    Arc::new(table.column("higher_order", "Nullable(UInt8)", move |row| known(row.higher_order)))
}
