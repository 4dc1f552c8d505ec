//! Key expressions from their SQL, as the catalog keeps them.

use squall_planner::{ColumnDescription, Expression};
use squall_types::{Error, ErrorCode, Result};

/// The typed expression over these columns.
///
/// # Errors
/// Where it is not an expression over the columns.
pub(crate) fn bind_key(sql: &str, columns: &[ColumnDescription]) -> Result<Expression> {
    let name = sql.strip_prefix('`').and_then(|sql| sql.strip_suffix('`')).unwrap_or(sql);
    if let Some(position) = columns.iter().position(|column| &*column.name == name) {
        let data_type = columns.get(position).map(|column| column.data_type.clone());
        let data_type = data_type.ok_or_else(|| Error::logical("a column that was found"))?;
        return Ok(Expression::Column { position, data_type });
    }
    Err(Error::new(ErrorCode::NOT_IMPLEMENTED, format!("Key expression {sql}")))
}
