#![allow(missing_docs, unused)]
use squall_types::*;
use squall_sql::ast;
#[derive(Default)] pub struct ParserLimits;
pub fn parse_expression(_: &str, _: &ParserLimits) -> std::result::Result<ast::Expression, String> { Err(String::new()) }
pub fn format_one_line(_: &ast::Statement) -> String { String::new() }
pub fn least_supertype(_: &[DataType]) -> Result<DataType> { Err(Error::logical("")) }
pub fn convert_value(_: &Value, _: &DataType, _: &DataType) -> Result<Value> { Err(Error::logical("")) }
