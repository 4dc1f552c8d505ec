//! Skip indexes: for every so many granules of a part something small that tells which values their rows may have. They lie in the part's
//! file, behind its last row group, so they are as durable as the part, go wherever it goes, and other readers of Parquet pass over them.
//! A part without an index, because it is older, is read as it is.

mod bloom;
mod builder;
mod entry;
mod filter;
mod page;
mod rows;
mod sift;
mod terms;
mod value_bounds;
mod words;

use std::sync::Arc;

use squall_functions::Tokenizer;
use squall_planner::{
    Expression, SkipIndex as Definition, SkipIndexKind, TableDefinition, expression_text, indexed_expressions,
};
use squall_types::{DataType, Error, Result, Schema};

use super::settings::MergeTreeSettings;
use crate::identity::TableIdentity;
use crate::key_binding::KeyBinding;

pub(super) use builder::{EncodedIndex, IndexBuilders};
pub(super) use filter::IndexFilter;
pub(super) use page::{IndexDescription, IndexPage, decode as decode_page};
pub(super) use sift::{Sift, Wanted};

/// A skip index of a table.
#[derive(Debug)]
pub(crate) struct SkipIndex {
    pub(crate) name: Arc<str>,
    pub(crate) kind: SkipIndexKind,
    /// What is indexed, over the definition's columns.
    expressions: Vec<Expression>,
    /// Granules of an entry.
    granularity: usize,
    /// What it is an index of, in words that stay while columns are renamed: the same words, the same index.
    pub(super) identity: String,
    /// `bloom_filter GRANULARITY 1`.
    pub(super) description: String,
    /// What is indexed, under the names that columns have now.
    labels: Vec<String>,
}

impl SkipIndex {
    /// How it cuts texts into words, where it is a text index of this expression.
    pub(super) fn tokenizer(&self, expression: &Expression) -> Option<&Tokenizer> {
        match (&self.kind, &self.expressions[..]) {
            (SkipIndexKind::Text { tokenizer }, [indexed]) if indexed.same(expression) => Some(tokenizer),
            _ => None,
        }
    }

    /// The indexes of a table, those that its settings ask for among them. One that cannot be read of its text is none.
    pub(super) fn all(identity: &TableIdentity, settings: &MergeTreeSettings, binding: &KeyBinding) -> Vec<Arc<Self>> {
        let declared = identity.definition.indices.iter().cloned();
        let indices = declared.chain(implicit(identity, settings)).filter_map(|definition| {
            Self::new(&definition, identity, binding)
                .inspect_err(|error| tracing::error!(%error, index = %definition.name, "a skip index is not used"))
                .ok()
        });
        indices.map(Arc::new).collect()
    }

    fn new(definition: &Definition, identity: &TableIdentity, binding: &KeyBinding) -> Result<Self> {
        let kind = SkipIndexKind::parse(&definition.kind)?;
        let expressions = indexed_expressions(&binding.bind(&definition.sql, &identity.definition.columns)?);
        kind.check(&expressions)?;
        for expression in &expressions {
            let mut is_stored = true;
            expression
                .visit_columns(&mut |at| is_stored &= identity.stored_positions.get(at).copied().flatten().is_some());
            if !is_stored {
                return Err(Error::not_implemented("A skip index of a column that is not stored"));
            }
        }
        let granularity = match kind {
            // It tells of every granule apart.
            SkipIndexKind::Text { .. } => 1,
            _ => usize::try_from(definition.granularity).unwrap_or(usize::MAX).max(1),
        };
        // Columns are told by their ids, which are never those of others.
        let column = |(at, column): (usize, &squall_planner::ColumnDescription)| {
            let stored = identity.stored_positions.get(at).copied().flatten();
            let id = stored.and_then(|stored| identity.fields.ids.get(stored)).map(|ids| ids.id);
            (id.map_or_else(|| column.name.to_string(), |id| format!("#{id}")), column.data_type.clone())
        };
        let columns = Schema::new(identity.definition.columns.iter().enumerate().map(column));
        let of = expressions.iter().map(|one| format!("{}: {}", expression_text(one, &columns), one.data_type()));
        let of = of.collect::<Vec<String>>().join(", ");
        let names = identity.definition.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let names = Schema::new(names);
        let word = definition.kind.split('(').next().unwrap_or_default();
        Ok(Self {
            name: definition.name.clone(),
            identity: format!("{} ({of}) {granularity}", definition.kind),
            description: format!("{word} GRANULARITY {}", definition.granularity),
            labels: expressions.iter().map(|one| expression_text(one, &names)).collect(),
            kind,
            expressions,
            granularity,
        })
    }

    /// The types of what is indexed.
    fn types(&self) -> impl Iterator<Item = &DataType> {
        self.expressions.iter().map(|expression| expression.data_type().inner())
    }
}

/// The indexes of single columns that the settings of a table ask for: `add_minmax_index_for_numeric_columns` and its kin.
///
/// # Errors
/// Where the settings or the columns are none of a MergeTree's.
pub fn implicit_indices(definition: &Arc<TableDefinition>) -> Result<Vec<Definition>> {
    let settings = MergeTreeSettings::new(definition)?;
    Ok(implicit(&TableIdentity::new(uuid::Uuid::nil(), definition.clone())?, &settings))
}

fn implicit(identity: &TableIdentity, settings: &MergeTreeSettings) -> Vec<Definition> {
    let wants = |data_type: &DataType| match data_type {
        DataType::String | DataType::FixedString(_) => settings.add_minmax_index_for_string_columns,
        temporal if temporal.is_date_or_time() => settings.add_minmax_index_for_temporal_columns,
        number => {
            settings.add_minmax_index_for_numeric_columns
                && (number.is_number() || number.is_wide_integer() || number.is_decimal())
        }
    };
    let columns = identity.definition.columns.iter().zip(&identity.stored_positions);
    let columns = columns.filter(|(column, stored)| stored.is_some() && wants(&column.data_type));
    columns
        .map(|(column, _)| {
            let name = squall_sql::ast::Expression::identifier(column.name.to_string());
            Definition {
                name: format!("auto_minmax_index_{}", column.name).into(),
                sql: squall_sql::format_expression(&name).into(),
                kind: "minmax".into(),
                granularity: 1,
            }
        })
        .collect()
}
