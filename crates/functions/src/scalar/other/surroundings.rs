//! What a query may ask of the server and the session around it.

use std::sync::Arc;

use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, string_column};
use crate::surroundings::Surroundings;

type Bound = Result<Arc<dyn BoundFunction>>;

fn surroundings<'a>(call: &Call<'a>) -> Result<&'a Arc<dyn Surroundings>> {
    call.context.moment.note();
    call.context
        .surroundings
        .as_ref()
        .ok_or_else(|| Error::not_implemented(format!("Function {} outside of a server", call.name)))
}

/// A constant argument that is a text.
fn name<'a>(call: &Call<'a>, at: usize) -> Result<&'a str> {
    call.constant(at).and_then(Value::as_str).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument {} of function {} must be a constant string", at + 1, call.name),
        )
    })
}

fn constant(call: &Call<'_>, data_type: DataType, value: Value) -> Bound {
    call.bind(data_type.clone(), move |_, rows| Column::constant(data_type.clone(), &value, rows))
}

/// `formatRow(format, …)`, `formatRowNoNewline`.
pub(super) fn resolve_format_row(call: &Call<'_>) -> Bound {
    call.arguments(2..=usize::MAX)?;
    let surroundings = surroundings(call)?.clone();
    let named = match call.constant(0) {
        Some(Value::Tuple(named)) => &named[..],
        _ => &[],
    };
    let [Value::String(format), Value::Array(names)] = named else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("The 1st argument 'format' of function {} must be a constant string", call.name),
        ));
    };
    let Some(format) = std::str::from_utf8(format).ok().map(Arc::<str>::from) else { return Err(call.illegal(0)) };
    let (names, cuts_newline) = (names.clone(), call.name.ends_with("NoNewline"));
    // Whether there is such a format shows now, not at the first row.
    let none: Vec<Column> = call.arguments.iter().map(|argument| Column::empty(argument.data_type.clone())).collect();
    surroundings.format_rows(&format, &named_block(&names, &none)?)?;
    call.bind(DataType::String, move |arguments, rows| {
        let written = surroundings.format_rows(&format, &named_block(&names, arguments)?)?;
        let bytes = written.iter().map(Vec::len).sum();
        string_column(rows, bytes, |out, row| {
            let own = written.get(row).map_or(&b""[..], Vec::as_slice);
            out.extend_from_slice(own.strip_suffix(b"\n").filter(|_| cuts_newline).unwrap_or(own));
            Ok(())
        })
    })
}

/// The arguments behind the first one under their names.
fn named_block(names: &[Value], arguments: &[Column]) -> Result<Block> {
    let named = names.iter().zip(arguments.get(1..).unwrap_or_default());
    let named = named.map(|(name, column)| Ok((name.as_str().unwrap_or_default(), column.materialize()?)));
    Block::from_columns(named.collect::<Result<Vec<_>>>()?)
}

/// `hasColumnInTable([host, [user, [password,]]] database, table, column)`.
pub(super) fn resolve_has_column(call: &Call<'_>) -> Bound {
    call.arguments(3..=6)?;
    if call.arguments.len() > 3 {
        return Err(Error::not_implemented("Function hasColumnInTable of another server"));
    }
    let [database, table, column] = [name(call, 0)?, name(call, 1)?, name(call, 2)?];
    let found = surroundings(call)?.has_column(database, table, column)?;
    constant(call, DataType::UInt8, Value::UInt64(found.into()))
}

/// `serverUUID()`.
pub(super) fn resolve_uuid(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    let uuid = surroundings(call)?.server_uuid();
    constant(call, DataType::UUID, Value::Uuid(uuid))
}

/// `filesystemAvailable([disk])`, `filesystemCapacity`, `filesystemUnreserved`.
pub(super) fn resolve_disk(call: &Call<'_>) -> Bound {
    const DISK: &str = "default";
    call.arguments(0..=1)?;
    let disk = if call.arguments.is_empty() { DISK } else { name(call, 0)? };
    let space = surroundings(call)?.disk_space(disk)?;
    let bytes = match call.name {
        "filesystemCapacity" => space.capacity,
        "filesystemUnreserved" => space.unreserved,
        _ => space.available,
    };
    constant(call, DataType::UInt64, Value::UInt64(bytes))
}

/// `showCertificate()`.
pub(super) fn resolve_certificate(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    let entries = surroundings(call)?.certificate()?;
    let entry = |(name, value): (&str, String)| (Value::from(name), Value::string(value));
    let result = DataType::Map(Arc::new(DataType::String), Arc::new(DataType::String));
    constant(call, result, Value::Map(entries.into_iter().map(entry).collect()))
}

fn unknown_setting(name: &str) -> Error {
    Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'"))
}

/// `getServerSetting`, `getMergeTreeSetting`.
pub(super) fn resolve_setting(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let name = name(call, 0)?;
    let surroundings = surroundings(call)?;
    let found = match call.name {
        "getServerSetting" => surroundings.server_setting(name),
        _ => surroundings.merge_tree_setting(name),
    };
    let value = found.ok_or_else(|| unknown_setting(name))?;
    constant(call, value.literal_type(), value)
}

/// `getServerPort`, `tcpPort`.
pub(super) fn resolve_port(call: &Call<'_>) -> Bound {
    let is_tcp = call.name == "tcpPort";
    let count = usize::from(!is_tcp);
    call.arguments(count..=count)?;
    let name = if is_tcp { "tcp_port" } else { name(call, 0)? };
    let port = surroundings(call)?
        .port(name)
        .ok_or_else(|| Error::new(ErrorCode::CLUSTER_DOESNT_EXIST, format!("There is no port named {name}")))?;
    constant(call, DataType::UInt16, Value::UInt64(port.into()))
}

/// `getMacro`.
pub(super) fn resolve_macro(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let name = name(call, 0)?;
    let value = surroundings(call)?
        .macro_value(name)
        .ok_or_else(|| Error::new(ErrorCode::NO_ELEMENTS_IN_CONFIG, format!("No macro {name} in config")))?;
    constant(call, DataType::String, Value::string(&*value))
}

/// `currentRoles`, `enabledProfiles` and their kin.
pub(super) fn resolve_names(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    let surroundings = surroundings(call)?;
    let names = match call.name {
        "currentRoles" | "defaultRoles" => surroundings.roles().0,
        "enabledRoles" => surroundings.roles().1,
        _ => surroundings.profiles(),
    };
    let values = Value::Array(names.iter().map(|name| Value::string(&**name)).collect());
    constant(call, DataType::array(DataType::String), values)
}

/// `currentSchemas(…)`: the current database alone.
pub(super) fn resolve_schemas(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let database = Value::Array([Value::string(&*call.context.current_database)].into());
    constant(call, DataType::array(DataType::String), database)
}

/// `getMaxTableNameLengthForDatabase`: what a file's name leaves beside the database's and the suffix of a dropped table.
pub(super) fn resolve_name_length(call: &Call<'_>) -> Bound {
    const FILE_NAME_BYTES: u64 = 255;
    const SUFFIX_BYTES: u64 = 42;
    call.arguments(1..=1)?;
    let database = name(call, 0)?;
    if database.is_empty() {
        return Err(Error::new(
            ErrorCode::INCORRECT_DATA,
            format!("Incorrect name for a database. It shouldn't be empty for function {}", call.name),
        ));
    }
    let left = FILE_NAME_BYTES.saturating_sub(SUFFIX_BYTES + database.len() as u64);
    constant(call, DataType::UInt64, Value::UInt64(left))
}

/// Functions of things that a server here does not have: what ClickHouse gives where they are not in use.
pub(super) fn resolve_absent(call: &Call<'_>) -> Bound {
    let (data_type, value) = match call.name {
        "shardNum" | "shardCount" | "zookeeperSessionUptime" => (DataType::UInt32, Value::UInt64(0)),
        "hasThreadFuzzer" => (DataType::UInt8, Value::UInt64(0)),
        "pgTableIsVisible" => (DataType::UInt8, Value::UInt64(1)),
        "connectionId" => (DataType::UInt64, Value::UInt64(0)),
        "transactionID" | "transactionLatestSnapshot" | "transactionOldestSnapshot" => {
            return Err(Error::not_implemented("Transactions are not supported."));
        }
        "pgGetUserById" => (DataType::String, Value::string(&**call.context.moment.user())),
        _ => (DataType::String, Value::string("")),
    };
    let most = usize::from(call.name.starts_with("pg"));
    call.arguments(most..=most)?;
    constant(call, data_type, value)
}

/// `tid()`: the number of the thread that plans the query.
pub(super) fn resolve_thread(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    call.context.moment.note();
    let number: u64 = std::fs::read_link("/proc/thread-self")
        .ok()
        .and_then(|link| link.file_name()?.to_str()?.parse().ok())
        .unwrap_or_else(|| std::process::id().into());
    constant(call, DataType::UInt64, Value::UInt64(number))
}

/// `initialQueryStartTime()`.
pub(super) fn resolve_start(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    let seconds = call.context.moment.query_start_ns().div_euclid(1_000_000_000);
    constant(call, DataType::DateTime(None), Value::UInt64(seconds.try_into().unwrap_or(0)))
}

/// `logTrace('message')`, `indexHint(…)`: values that tell nothing.
pub(super) fn resolve_silent(call: &Call<'_>) -> Bound {
    if call.name == "indexHint" {
        return constant(call, DataType::UInt8, Value::UInt64(1));
    }
    call.arguments(1..=1)?;
    let message = name(call, 0)?.to_owned();
    call.bind(DataType::UInt8, move |_, rows| {
        tracing::trace!(target: "FunctionLogTrace", "{message}");
        Column::constant(DataType::UInt8, &Value::UInt64(0), rows)
    })
}

/// `globalVariable('name')`: what MySQL's clients ask.
pub(super) fn resolve_variable(call: &Call<'_>) -> Bound {
    const VARIABLES: &[(&str, &str)] = &[
        ("version", "5.7.30"),
        ("version_comment", ""),
        ("transaction_isolation", "READ-UNCOMMITTED"),
        (
            "sql_mode",
            "ALLOW_INVALID_DATES,ANSI_QUOTES,IGNORE_SPACE,NO_AUTO_VALUE_ON_ZERO,NO_DIR_IN_CREATE,ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,REAL_AS_FLOAT",
        ),
    ];
    const PACKET_BYTES_MAX: i64 = 67_108_864;
    call.arguments(1..=1)?;
    let name = name(call, 0)?.to_ascii_lowercase();
    if let Some((_, text)) = VARIABLES.iter().find(|(known, _)| *known == name) {
        return constant(call, DataType::String, Value::from(*text));
    }
    let number = if name == "max_allowed_packet" { PACKET_BYTES_MAX } else { 0 };
    constant(call, DataType::Int32, Value::Int64(number))
}
