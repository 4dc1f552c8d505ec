//! The columns of a table or query, as the server describes them.

use squall_types::{DataType, Error, ErrorCode, Result};
use tokio_postgres::{Client, Row};

use super::PostgreSql;
use super::kind::Kind;
use super::link::{connect_to_read, said};
use crate::engine::{Columns, Engine, ForeignColumn, Source};
use crate::server::ForeignServer;
use crate::table::from_sql;

/// Name, type, whether it may be NULL, and dimensions of each column of a table.
const OF_TABLE: &str = "SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, a.attndims::integer \
                        FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid \
                        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                        WHERE n.nspname = $1 AND c.relname = $2 AND NOT a.attisdropped AND a.attnum > 0 ORDER BY a.attnum";
/// The names of types.
const OF_TYPES: &str = "SELECT t.name, format_type(t.of, t.modifier), true, 0 \
                        FROM unnest($1::text[], $2::oid[], $3::integer[]) WITH ORDINALITY AS t(name, of, modifier, number) \
                        ORDER BY t.number";

/// A column before its type is settled.
struct Found {
    name: String,
    type_name: String,
    is_nullable: bool,
    dimensions: i32,
}

impl Found {
    fn of(row: &Row) -> Result<Self> {
        let read = || {
            Ok(Self {
                name: row.try_get(0)?,
                type_name: row.try_get(1)?,
                is_nullable: row.try_get(2)?,
                dimensions: row.try_get(3)?,
            })
        };
        read().map_err(|error: tokio_postgres::Error| said(&error))
    }
}

/// The columns of a table or query.
///
/// # Errors
/// Those of the connection and of the query; `UNKNOWN_TABLE`; `BAD_ARGUMENTS` for a type that is none here.
pub(super) async fn columns(
    server: &ForeignServer,
    source: &Source,
    wanted: Columns,
) -> Result<Vec<ForeignColumn<Kind>>> {
    let link = connect_to_read(server).await?;
    let client = &link.client;
    let rows = match source {
        Source::Table { schema, table } => client.query(OF_TABLE, &[schema, table]).await,
        Source::Query(_) => of_query(client, source).await,
    };
    let found = rows.map_err(|error| said(&error))?.iter().map(Found::of).collect::<Result<Vec<_>>>()?;
    if found.is_empty()
        && let Source::Table { schema, table } = source
    {
        let message = format!("PostgreSQL table {schema}.{table} does not exist");
        return Err(Error::new(ErrorCode::UNKNOWN_TABLE, message));
    }
    let mut columns = Vec::with_capacity(found.len());
    for column in found {
        let dimensions = match column.type_name.ends_with("[]") {
            false => 0,
            // Of a table that was made AS a query, and of a view, they are not known.
            true if column.dimensions == 0 => dimensions(client, source, &column.name).await?,
            true => u8::try_from(column.dimensions).unwrap_or(1),
        };
        columns.push(described(&column, dimensions, wanted)?);
    }
    Ok(columns)
}

/// The columns of a query, which is not run.
async fn of_query(client: &Client, source: &Source) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare(&format!("SELECT * FROM {}", from_sql::<PostgreSql>(source))).await?;
    let columns = statement.columns();
    let names: Vec<&str> = columns.iter().map(tokio_postgres::Column::name).collect();
    let types: Vec<u32> = columns.iter().map(|column| column.type_().oid()).collect();
    let modifiers: Vec<i32> = columns.iter().map(tokio_postgres::Column::type_modifier).collect();
    client.query(OF_TYPES, &[&names, &types, &modifiers]).await
}

/// The dimensions of the first array that has some: one, where there is none.
async fn dimensions(client: &Client, source: &Source, column: &str) -> Result<u8> {
    let (name, from) = (PostgreSql::name_sql(column), from_sql::<PostgreSql>(source));
    let sql = format!("SELECT array_ndims({name}) FROM {from} WHERE array_ndims({name}) IS NOT NULL LIMIT 1");
    let row = client.query_opt(&sql, &[]).await.map_err(|error| said(&error))?;
    let found: Option<i32> = row.map(|row| row.try_get(0)).transpose().map_err(|error| said(&error))?;
    Ok(found.and_then(|dimensions| u8::try_from(dimensions).ok()).unwrap_or(1))
}

fn described(found: &Found, dimensions: u8, wanted: Columns) -> Result<ForeignColumn<Kind>> {
    let (kind, item) = Kind::of(&found.type_name, dimensions)?;
    // Arrays are not NULL here, but their items may be.
    let mut data_type = wanted.or_null(item, found.is_nullable);
    for _ in 0..dimensions {
        data_type = DataType::array(data_type);
    }
    let name = PostgreSql::name_sql(&found.name);
    // What is NULL there and a value here cannot be looked for there.
    let is_comparable = !found.is_nullable || wanted.use_nulls;
    Ok(ForeignColumn {
        name: found.name.as_str().into(),
        data_type,
        expression: kind.expression(&name),
        operand: kind.operand(&name).filter(|_| is_comparable),
        kind,
    })
}
