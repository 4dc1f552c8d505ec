//! `system.functions`.

use std::sync::{Arc, Weak};

use squall_functions::FunctionDescription;
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, text};
use crate::objects::UserFunction;
use crate::server::Server;

/// A function of the server's, or one that SQL defined.
enum Row {
    Own(FunctionDescription),
    User(String, Arc<UserFunction>),
}

impl Row {
    fn own<T>(&self, of: impl FnOnce(&FunctionDescription) -> T) -> Option<T> {
        match self {
            Self::Own(description) => Some(of(description)),
            Self::User(..) => None,
        }
    }
}

pub(super) fn functions(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let rows = move || {
        let own = squall_functions::all_functions().into_iter();
        // What only statements of our own call.
        let own = own.filter(|description| !description.name.starts_with("__")).map(Row::Own);
        let user = upgrade(&server)?.objects.functions().into_iter().map(|(name, function)| Row::User(name, function));
        Ok(own.chain(user).collect())
    };
    let origin = "Enum8('System' = 0, 'SQLUserDefined' = 1, 'ExecutableUserDefined' = 2, 'WasmUserDefined' = 3)";
    let mut table = SystemTable::new("functions", rows)
        .column("name", "String", |row: &Row| match row {
            Row::Own(description) => text(description.name),
            Row::User(name, _) => text(name),
        })
        .column("is_aggregate", "UInt8", |row| flag(row.own(|own| own.is_aggregate).unwrap_or_default()))
        .column("case_insensitive", "UInt8", |row| flag(row.own(|own| own.case_insensitive).unwrap_or_default()))
        .column("alias_to", "String", |row| text(row.own(|own| own.alias_to).unwrap_or_default()))
        .column("create_query", "String", |row| match row {
            Row::Own(_) => text(""),
            Row::User(_, function) => text(&function.sql),
        })
        .column("origin", origin, |row| Value::Int64(i64::from(row.own(|_| ()).is_none())));
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
    let table =
        table.column("deterministic", "Nullable(UInt8)", move |row| known(row.own(|own| own.deterministic).flatten()));
    Arc::new(
        table.column("higher_order", "Nullable(UInt8)", move |row| known(row.own(|own| own.higher_order).flatten())),
    )
}
