//! The columns of a table or query, as the server describes them.

use mysql_async::Column;
use mysql_async::consts::{ColumnFlags, ColumnType};
use mysql_async::prelude::Queryable;
use squall_types::{Error, ErrorCode, Result};

use super::MySql;
use super::kind::{Declared, Kind};
use super::link::{connect_to_read, said};
use crate::engine::{Columns, Engine, ForeignColumn, Source};
use crate::server::ForeignServer;
use crate::table::from_sql;

/// Name, type, whether it may be NULL, length, precision, and scale or digits behind the second of each column of a table.
const OF_TABLE: &str = "SELECT COLUMN_NAME, CAST(COLUMN_TYPE AS CHAR), IS_NULLABLE = 'YES', CHARACTER_MAXIMUM_LENGTH, \
                        NUMERIC_PRECISION, COALESCE(NUMERIC_SCALE, DATETIME_PRECISION) \
                        FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION";
/// The number that a column's character set has where it has bytes.
const BINARY: u16 = 63;

/// A row of [`OF_TABLE`].
type Described = (String, String, bool, Option<u64>, Option<u64>, Option<u64>);

/// The columns of a table or query.
///
/// # Errors
/// Those of the connection and of the query; `UNKNOWN_TABLE`.
pub(super) async fn columns(
    server: &ForeignServer,
    source: &Source,
    wanted: Columns,
) -> Result<Vec<ForeignColumn<Kind>>> {
    let mut connection = connect_to_read(server).await?;
    let Source::Table { schema, table } = source else {
        // The query is not run.
        let statement = connection.prep(format!("SELECT * FROM {}", from_sql::<MySql>(source))).await;
        let statement = statement.map_err(|error| said(&error))?;
        let column = |column: &Column| {
            let is_nullable = !column.flags().contains(ColumnFlags::NOT_NULL_FLAG);
            described(&column.name_str(), is_nullable, &of_result(column), wanted)
        };
        return Ok(statement.columns().iter().map(column).collect());
    };
    let rows: std::result::Result<Vec<Described>, _> = connection.exec(OF_TABLE, (schema, table)).await;
    let rows = rows.map_err(|error| said(&error))?;
    if rows.is_empty() {
        let message = format!("MySQL table {schema}.{table} doesn't exist");
        return Err(Error::new(ErrorCode::UNKNOWN_TABLE, message));
    }
    let column = |(name, column_type, is_nullable, length, precision, scale): Described| {
        let small = |number: Option<u64>| number.and_then(|number| u8::try_from(number).ok()).unwrap_or(0);
        let column_type = column_type.to_ascii_lowercase();
        let declared = Declared {
            name: column_type.split(['(', ' ']).next().unwrap_or_default().to_owned(),
            is_unsigned: column_type.contains(" unsigned"),
            length: length.and_then(|length| usize::try_from(length).ok()).unwrap_or(0),
            precision: small(precision),
            scale: small(scale),
        };
        described(&name, is_nullable, &declared, wanted)
    };
    Ok(rows.into_iter().map(column).collect())
}

fn described(name: &str, is_nullable: bool, declared: &Declared, wanted: Columns) -> ForeignColumn<Kind> {
    let (kind, data_type) = declared.meaning(wanted);
    let expression = MySql::name_sql(name);
    // What is NULL there and a value here cannot be looked for there.
    let is_comparable = !is_nullable || wanted.use_nulls;
    ForeignColumn {
        name: name.into(),
        operand: kind.operand(&expression, declared, &data_type).filter(|_| is_comparable),
        data_type: wanted.or_null(data_type, is_nullable),
        expression,
        kind,
    }
}

/// The type of a result's column.
fn of_result(column: &Column) -> Declared {
    let is_binary = column.character_set() == BINARY;
    let flags = column.flags();
    let is_unsigned = flags.contains(ColumnFlags::UNSIGNED_FLAG);
    let text = |of_bytes: &'static str, of_text: &'static str| if is_binary { of_bytes } else { of_text };
    let name = match column.column_type() {
        ColumnType::MYSQL_TYPE_TINY => "tinyint",
        ColumnType::MYSQL_TYPE_SHORT => "smallint",
        ColumnType::MYSQL_TYPE_INT24 | ColumnType::MYSQL_TYPE_LONG => "int",
        ColumnType::MYSQL_TYPE_LONGLONG => "bigint",
        ColumnType::MYSQL_TYPE_FLOAT => "float",
        ColumnType::MYSQL_TYPE_DOUBLE => "double",
        ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => "decimal",
        ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => "date",
        ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2 => "datetime",
        ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2 => "timestamp",
        ColumnType::MYSQL_TYPE_BIT => "bit",
        // A set has no order that its text has.
        _ if flags.contains(ColumnFlags::SET_FLAG) => "set",
        _ if flags.contains(ColumnFlags::ENUM_FLAG) => "enum",
        ColumnType::MYSQL_TYPE_STRING => text("binary", "char"),
        ColumnType::MYSQL_TYPE_VARCHAR | ColumnType::MYSQL_TYPE_VAR_STRING => text("varbinary", "varchar"),
        ColumnType::MYSQL_TYPE_TINY_BLOB
        | ColumnType::MYSQL_TYPE_BLOB
        | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
        | ColumnType::MYSQL_TYPE_LONG_BLOB => text("blob", "text"),
        _ => "",
    };
    let (length, scale) = (column.column_length(), column.decimals());
    // The length of a decimal counts its point and its sign.
    let marks = u32::from(scale > 0) + u32::from(!is_unsigned);
    Declared {
        name: name.to_owned(),
        is_unsigned,
        length: length as usize,
        precision: u8::try_from(length.saturating_sub(marks)).unwrap_or(u8::MAX),
        scale: if scale > 38 { 0 } else { scale },
    }
}
