//! The query of single keys of a dictionary whose source is a query.

use squall_planner::{DictionaryDefinition, QuerySource};
use squall_sql::ast::{self, Statement};
use squall_sql::{ParserLimits, format_one_line, parse};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

/// The rows of the source whose keys are among those of these columns.
///
/// # Errors
/// `SYNTAX_ERROR`, and for types whose values cannot be written.
pub(super) fn selection(
    source: &QuerySource,
    definition: &DictionaryDefinition,
    keys: &[Column],
) -> Result<Box<ast::Query>> {
    let quoted = |name: &str| squall_sql::format_expression(&ast::Expression::identifier(name));
    let list = |names: Vec<String>| names.join(", ");
    let all = list(definition.columns.iter().map(|column| quoted(&column.name)).collect());
    let key_names: Vec<String> = definition.keys.iter().map(|key| quoted(&definition.columns[*key].name)).collect();
    let columns = keys.iter().map(literals).collect::<Result<Vec<_>>>()?;
    let rows = keys.first().map_or(0, Column::rows);
    let values = (0..rows).map(|row| match &columns[..] {
        [column] => column[row].clone(),
        several => format!("({})", list(several.iter().map(|column| column[row].clone()).collect())),
    });
    let values = list(values.collect());
    let key = if key_names.len() == 1 { list(key_names) } else { format!("({})", list(key_names)) };
    let source = format_one_line(&Statement::Query(Box::new((*source.query).clone())));
    let sql = format!("SELECT * FROM ({source}) AS source({all}) WHERE {key} IN ({values})");
    match parse(&sql, &ParserLimits::default()) {
        Ok(Statement::Query(query)) => Ok(query),
        Ok(_) => Err(Error::logical("a selection that is no SELECT")),
        Err(error) => Err(Error::new(ErrorCode::SYNTAX_ERROR, error.to_string())),
    }
}

/// The values of a column as SQL.
fn literals(column: &Column) -> Result<Vec<String>> {
    let mut writer = ValueWriter::new(column, TextStyle::Plain, &TextOptions::default())?;
    let is_number = column.data_type().inner().is_number();
    let is_text = column.data_type().inner().is_string_or_fixed_string() || *column.data_type() == DataType::Nothing;
    let literal = |row: usize| {
        if is_text && let Value::String(bytes) = column.value(row) {
            return match std::str::from_utf8(&bytes) {
                Ok(_) => Value::String(bytes).to_string(),
                Err(_) => format!("unhex('{}')", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
            };
        }
        let mut text = Vec::new();
        writer.write(&mut text, row);
        let text = String::from_utf8_lossy(&text).into_owned();
        if is_number { text } else { Value::string(text).to_string() }
    };
    Ok((0..column.rows()).map(literal).collect())
}
