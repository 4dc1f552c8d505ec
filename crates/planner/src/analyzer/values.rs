//! The table function `values`: rows that are written as its arguments.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{Block, ColumnBuilder, DataType, Error, ErrorCode, Result, Schema, Value};

use super::definitions::Definitions;
use super::scope::Scope;
use super::source::Source;
use super::stage::project;
use super::{Analyzer, conversion};
use crate::catalog::{ColumnDescription, DefaultKind};
use crate::create::described;
use crate::plan::Plan;
use crate::structure::plan_structure;

impl Scope<'_> {
    /// `values('a UInt8, b String', (1, 'x'), …)`, or without the first argument.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where rows are not of one length; those of converting values.
    pub(super) fn values(&mut self, arguments: &[ast::Expression]) -> Result<Source> {
        let mut rows = arguments.iter().map(|row| self.constant_argument(row)).collect::<Result<Vec<_>>>()?;
        let structure = match rows.first() {
            // A text that is no structure is the first row.
            Some((Value::String(text), DataType::String)) if rows.len() > 1 => {
                plan_structure(&String::from_utf8_lossy(text), self.analyzer.context).ok()
            }
            _ => None,
        };
        let is_computed = |column: &&ColumnDescription| {
            column.default.as_ref().is_some_and(|default| default.kind == DefaultKind::Alias)
        };
        let computed: Vec<ColumnDescription> = structure.iter().flatten().filter(is_computed).cloned().collect();
        if structure.is_some() {
            rows.remove(0);
        }
        let rows: Vec<(Vec<Value>, Vec<DataType>)> = rows
            .into_iter()
            .map(|row| match row {
                (Value::Tuple(values), DataType::Tuple(elements)) => {
                    (values.to_vec(), elements.iter().map(|element| element.data_type.clone()).collect())
                }
                (value, data_type) => (vec![value], vec![data_type]),
            })
            .collect();
        let fields: Vec<(Arc<str>, DataType)> = match structure {
            Some(columns) => {
                let is_given = |column: &ColumnDescription| {
                    column.default.as_ref().is_none_or(|default| default.kind == DefaultKind::Default)
                };
                columns.into_iter().filter(is_given).map(|column| (column.name, column.data_type)).collect()
            }
            None => {
                let width = rows.first().map_or(0, |(values, _)| values.len());
                if width == 0 {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        "Table function values requires one or more rows",
                    ));
                }
                (0..width)
                    .map(|at| {
                        let types: Vec<DataType> =
                            rows.iter().filter_map(|(_, types)| types.get(at).cloned()).collect();
                        Ok((format!("c{}", at + 1).into(), conversion::supertype(&types)?))
                    })
                    .collect::<Result<_>>()?
            }
        };
        let functions = &self.analyzer.context.functions;
        let mut builders: Vec<ColumnBuilder> =
            fields.iter().map(|(_, data_type)| ColumnBuilder::new(data_type.clone())).collect();
        for (values, types) in &rows {
            if values.len() != fields.len() {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Values table function requires all rows amount of elements to be the same: expected {}, got {}",
                        fields.len(),
                        values.len()
                    ),
                ));
            }
            for (((value, from), (_, to)), builder) in values.iter().zip(types).zip(&fields).zip(&mut builders) {
                if value.is_null() && !to.remove_low_cardinality().is_nullable() && !to.is_of_alternatives() {
                    let message = format!("Cannot convert NULL to {to}");
                    return Err(Error::new(ErrorCode::TYPE_MISMATCH, message));
                }
                builder.append(&conversion::convert(value, from, to, functions)?)?;
            }
        }
        let columns = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(Schema { fields });
        let block = Block::new(schema.clone(), columns, rows.len());
        let given = Plan::Values { schema, blocks: vec![block] };
        if computed.is_empty() {
            return Ok(Source::plan(given));
        }
        Ok(Source::plan(with_computed(given, &computed, self.analyzer)?).with_virtual_columns(computed.len()))
    }
}

/// A plan's rows with ALIAS columns behind its own.
///
/// # Errors
/// Those of their expressions.
fn with_computed(plan: Plan, computed: &[ColumnDescription], analyzer: &Analyzer<'_>) -> Result<Plan> {
    let own: Vec<ColumnDescription> = plan.schema().fields.iter().map(described).collect();
    let all: Vec<ColumnDescription> = own.iter().chain(computed).cloned().collect();
    let mut definitions = Definitions::new(analyzer, &all);
    for (at, column) in own.iter().enumerate() {
        definitions.give(at, at, &column.data_type);
    }
    let expressions = (0..all.len()).map(|at| definitions.expression(at)).collect::<Result<Vec<_>>>()?;
    Ok(project(plan, expressions, all.iter().map(|column| column.name.clone())))
}
