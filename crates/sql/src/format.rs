//! stub
use crate::ast::*;
pub(crate) fn format_data_type(_: &DataType) -> String { String::new() }
pub(crate) fn format_settings(_: &[Setting]) -> String { String::new() }
