//! A projection of a table: its rows are those of a table of its own, which has no parts of its own. What a part of the table has of them lies
//! in the part's file, so it is as durable as the part and goes wherever it goes; a part that lacks it is read as it is.

use std::sync::Arc;

use arc_swap::ArcSwap;
use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_functions::GroupIds;
use squall_planner::{
    Expression, KeyExpression, Projection as Bound, ProjectionDefinition, TableDefinition, TableTtl, expression_text,
};
use squall_runtime::Pieces;
use squall_types::gather::take;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Value, reserve};
use uuid::Uuid;

use crate::column_mapping::ColumnDefaults;
use crate::evaluate::evaluate;
use crate::identity::{TableIdentity, TableName};
use crate::key_binding::KeyBinding;
use crate::merge_tree::chunks::packing;
use crate::merge_tree::merges::merge_control::MergeControl;
use crate::merge_tree::merges::merge_rule::{MergeRule, computed, taken};
use crate::merge_tree::order::sorting::{equal_runs, is_sortable, sorted_positions};
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_schema::{PartSchema, PartSchemas};
use crate::merge_tree::parts::table_directory::TableDirectory;
use crate::merge_tree::settings::{MergeTreeSettings, ProjectionMode};
use crate::merge_tree::{MergeTree, PartDescription, PartSet, Surroundings, key_types};
use crate::table_record::TableRecord;

/// A projection of a table.
#[derive(Debug)]
pub(crate) struct Projection {
    /// What its query is.
    pub(crate) bound: Arc<Bound>,
    /// What it is of, in words that stay while columns are renamed: the same words, the same projection.
    pub(in crate::merge_tree) identity: String,
    /// The table of its rows.
    pub(in crate::merge_tree) table: Arc<MergeTree>,
}

/// What projections need of the table that they are of.
pub(in crate::merge_tree) struct Parent<'a> {
    pub(in crate::merge_tree) table_id: i64,
    pub(in crate::merge_tree) identity: &'a TableIdentity,
    pub(in crate::merge_tree) settings: &'a MergeTreeSettings,
    pub(in crate::merge_tree) directory: &'a Arc<TableDirectory>,
    pub(in crate::merge_tree) surroundings: &'a Surroundings,
}

/// Refuses projections that parts of a table cannot have.
///
/// # Errors
/// `SUPPORT_IS_DISABLED` where merges make other rows and nobody said what becomes of projections then; `ILLEGAL_PROJECTION`,
/// `DATA_TYPE_CANNOT_BE_USED_IN_KEY`; where one does not suit the table's columns.
pub(in crate::merge_tree) fn check_all(definition: &TableDefinition, settings: &MergeTreeSettings) -> Result<()> {
    let engine = &definition.engine;
    let is_plain = &**engine == "MergeTree";
    if !definition.projections.is_empty()
        && !is_plain
        && settings.deduplicate_merge_projection_mode == ProjectionMode::Throw
    {
        let message = format!(
            "Projections are not supported for {engine} with deduplicate_merge_projection_mode = throw. Please set setting \
             'deduplicate_merge_projection_mode' to 'drop' or 'rebuild'."
        );
        return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, message));
    }
    definition.projections.iter().try_for_each(|projection| check(definition, projection))
}

fn check(definition: &TableDefinition, projection: &ProjectionDefinition) -> Result<()> {
    let functions = KeyBinding::new("UTC");
    let bound = functions.projection(projection, &definition.columns)?;
    for key in &bound.sorting_key {
        let data_type = key.expression.data_type();
        if matches!(data_type.inner(), DataType::AggregateFunction(_)) || !is_sortable(data_type) {
            let message = format!(
                "Projection {} by {}, whose values of type {data_type} have no order",
                projection.name, key.sql
            );
            return Err(Error::new(ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_KEY, message));
        }
    }
    TableIdentity::new(Uuid::nil(), Arc::new(own_definition(&bound, definition, projection)))?;
    own_settings(projection, MergeTreeSettings::new(definition)?).map(drop)
}

/// The definition of the table of a projection's rows.
fn own_definition(bound: &Bound, of: &TableDefinition, definition: &ProjectionDefinition) -> TableDefinition {
    let mut sorting_key = bound.sorting_key.clone();
    let mut primary_key = None;
    if bound.is_aggregating && sorting_key.is_empty() {
        // All rows have one key in common.
        let expression = Expression::Constant { value: Value::UInt64(1), data_type: DataType::UInt8 };
        sorting_key.push(KeyExpression { sql: "1".into(), expression });
        primary_key = Some(Vec::new());
    }
    TableDefinition {
        columns: bound.columns.clone(),
        engine: if bound.is_aggregating { "AggregatingMergeTree" } else { "MergeTree" }.into(),
        sorting_key,
        primary_key,
        partition_key: Vec::new(),
        settings: definition.settings.clone(),
        comment: of.comment.clone(),
        ..TableDefinition::default()
    }
}

/// The settings of the table of a projection's rows: the table's own, but for what the projection says.
fn own_settings(definition: &ProjectionDefinition, of: MergeTreeSettings) -> Result<MergeTreeSettings> {
    let said = TableDefinition {
        engine: "MergeTree".into(),
        settings: definition.settings.clone(),
        ..TableDefinition::default()
    };
    let said = MergeTreeSettings::new(&said)?;
    let is_said = definition.settings.iter().any(|(name, _)| &**name == "index_granularity");
    let index_granularity = if is_said { said.index_granularity } else { of.index_granularity };
    Ok(MergeTreeSettings { index_granularity, ..of })
}

impl Projection {
    /// The projections of a table. One that cannot be read of its text is none.
    pub(in crate::merge_tree) fn all(parent: &Parent<'_>) -> Vec<Arc<Self>> {
        let projections = parent.identity.definition.projections.iter().filter_map(|definition| {
            Self::new(definition, parent)
                .inspect_err(|error| tracing::error!(%error, projection = %definition.name, "a projection is not used"))
                .ok()
        });
        projections.map(Arc::new).collect()
    }

    fn new(definition: &ProjectionDefinition, parent: &Parent<'_>) -> Result<Self> {
        let of = parent.identity;
        let Surroundings { catalog, cache, binding } = parent.surroundings.clone();
        let bound = binding.projection(definition, &of.definition.columns)?;
        let arguments = bound.aggregates.iter().flat_map(|aggregate| &aggregate.call.arguments);
        for expression in bound.values.iter().chain(arguments) {
            let mut is_stored = true;
            expression.visit_columns(&mut |at| is_stored &= of.stored_positions.get(at).copied().flatten().is_some());
            if !is_stored {
                return Err(Error::not_implemented("A projection of a column that is not stored"));
            }
        }
        let own = Arc::new(own_definition(&bound, &of.definition, definition));
        let identity = Arc::new(TableIdentity::new(of.uuid, own.clone())?);
        let settings = own_settings(definition, *parent.settings)?;
        let schema = Arc::new(PartSchema::of(&identity, settings.ratio_of_defaults)?);
        let primary_key = own.primary_key.clone().unwrap_or_else(|| own.sorting_key.clone());
        let name = TableName::new("", definition.name.clone());
        let table = MergeTree {
            table_id: parent.table_id,
            packings: packing::packings(&identity, settings.codec.unwrap_or(packing::OF_SMALL_PARTS))?,
            indices: Vec::new(),
            projections: Vec::new(),
            defaults: Arc::new(ColumnDefaults::new(&own, &binding)),
            binding,
            record: ArcSwap::from_pointee(TableRecord::of(&name, &identity)),
            schemas: Arc::new(Mutex::new(PartSchemas::new(&schema, &[], settings.ratio_of_defaults)?)),
            schema,
            settings,
            pruning_keys: primary_key.clone(),
            primary_key,
            rule: MergeRule::of(&identity)?,
            ttl: TableTtl::default(),
            directory: parent.directory.clone(),
            catalog,
            cache,
            parts: Arc::new(ArcSwap::from_pointee(PartSet::default())),
            merging: Arc::new(MergeControl::new(1)),
            identity,
        };
        Ok(Self { identity: words(&bound, of), bound: Arc::new(bound), table: Arc::new(table) })
    }

    /// What a part has of it.
    pub(in crate::merge_tree) fn of_part(&self, part: &Part) -> Option<Arc<Part>> {
        part.projection(&self.identity, |description| {
            PartDescription::decode(description, &key_types(&self.table.primary_key), self.table.schema.stored.len())
                .map(|description| (description, self.table.schema.clone()))
        })
    }

    /// What it has of rows of the table that it is of, in its order.
    ///
    /// # Errors
    /// Those of its expressions and aggregates.
    pub(in crate::merge_tree) async fn rows(
        &self,
        of: &MergeTree,
        block: &Block,
        pieces: &mut Pieces,
    ) -> Result<Block> {
        let positions = &of.identity.stored_positions;
        let own = &self.table.identity;
        let mut columns = Vec::with_capacity(own.stored.len());
        for value in &self.bound.values {
            columns.push(evaluate(value, block, positions)?.with_type(value.data_type().clone()));
            pieces.pause().await;
        }
        let fields = own.stored.fields.iter().take(columns.len()).cloned();
        let values = Block::new(Arc::new(Schema::new(fields)), columns, block.rows());
        let places: Vec<Option<usize>> = (0..own.stored.len()).map(Some).collect();
        let keys = self.bound.sorting_key.iter().map(|key| evaluate(&key.expression, &values, &places));
        let keys = keys.collect::<Result<Vec<Column>>>()?;
        let order = sorted_positions(&keys, block.rows(), pieces).await?;
        drop(keys);
        let mut columns = Vec::with_capacity(own.stored.len());
        for column in values.columns() {
            columns.push(in_order(column, order.as_ref(), pieces).await?);
        }
        let values = Block::new(values.schema().clone(), columns, block.rows());
        if !self.bound.is_aggregating {
            return Ok(values.with_schema(own.stored.clone()));
        }
        reserve(block.rows() * 2 * size_of::<u32>())?;
        let starts = match values.columns() {
            [] => vec![0],
            keys => equal_runs(keys, block.rows(), pieces).await?,
        };
        let mut groups: Vec<u32> = Vec::with_capacity(block.rows());
        for (group, end) in starts.iter().skip(1).copied().chain([block.rows() as u32]).enumerate() {
            groups.resize(end as usize, group as u32);
        }
        let count = starts.len();
        let mut columns = taken(&values, starts, pieces).await?.columns().to_vec();
        for aggregate in &self.bound.aggregates {
            let mut arguments = Vec::with_capacity(aggregate.call.arguments.len());
            for argument in &aggregate.call.arguments {
                let values = computed(&evaluate(argument, block, positions)?).materialize()?;
                arguments.push(in_order(&values, order.as_ref(), pieces).await?);
            }
            let mut accumulator = aggregate.state.accumulator();
            accumulator.update(GroupIds::Each(&groups), count, &arguments, block.rows())?;
            while !accumulator.settle()? {
                pieces.pause().await;
            }
            columns.push(accumulator.finish(count)?.with_type(aggregate.state.return_type().clone()));
            pieces.pause().await;
        }
        Ok(Block::new(own.stored.clone(), columns, count))
    }
}

/// A column's rows in an order; `None` is the one that they have.
async fn in_order(column: &Column, order: Option<&UInt32Array>, pieces: &mut Pieces) -> Result<Column> {
    pieces.pause().await;
    match order {
        Some(order) => take(column, order, pieces).await,
        None => Ok(column.clone()),
    }
}

/// What a projection is of, with the ids of columns in the place of their names.
fn words(bound: &Bound, of: &TableIdentity) -> String {
    let column = |(at, column): (usize, &squall_planner::ColumnDescription)| {
        let stored = of.stored_positions.get(at).copied().flatten();
        let id = stored.and_then(|stored| of.fields.ids.get(stored)).map(|ids| ids.id);
        (id.map_or_else(|| column.name.to_string(), |id| format!("#{id}")), column.data_type.clone())
    };
    let columns = Schema::new(of.definition.columns.iter().enumerate().map(column));
    let values =
        bound.values.iter().map(|value| format!("{}: {}", expression_text(value, &columns), value.data_type()));
    let aggregates = bound.aggregates.iter().map(|aggregate| {
        let arguments = aggregate.call.arguments.iter().map(|argument| expression_text(argument, &columns));
        format!("{} of {}", aggregate.state.return_type(), arguments.collect::<Vec<String>>().join(", "))
    });
    let places = Schema::new((0..bound.columns.len()).map(|at| (format!("@{at}"), DataType::UInt8)));
    let order = bound.sorting_key.iter().map(|key| expression_text(&key.expression, &places));
    let list = |words: Vec<String>| words.join(", ");
    format!("{} | {} | {}", list(values.collect()), list(aggregates.collect()), list(order.collect()))
}
