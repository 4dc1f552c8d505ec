//! Which rule the engine of a table and its arguments mean: the kinds of MergeTree, and what their columns may be.

use squall_functions::{merge_of_states, resolve_aggregate, resolve_simple};
use squall_planner::TableDefinition;
use squall_types::{DataType, Error, ErrorCode, Result};

use super::merge_rule::{Fold, FoldKind, MergeRule};
use crate::identity::TableIdentity;

/// The engines that have a rule, which are MergeTree in everything else.
pub(crate) fn is_merge_tree(engine: &str) -> bool {
    matches!(
        engine,
        "MergeTree"
            | "ReplacingMergeTree"
            | "CollapsingMergeTree"
            | "VersionedCollapsingMergeTree"
            | "SummingMergeTree"
            | "AggregatingMergeTree"
            | "CoalescingMergeTree"
    )
}

impl MergeRule {
    /// The rule of a table's engine and its arguments; `None` of an ordinary one.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `NO_SUCH_COLUMN_IN_TABLE`, `BAD_TYPE_OF_FIELD` for columns of types that do not serve,
    /// `BAD_ARGUMENTS` for a sum of the key.
    pub(in crate::merge_tree) fn of(identity: &TableIdentity) -> Result<Option<Self>> {
        let arguments = Arguments { identity, texts: arguments(&identity.definition) };
        Ok(Some(match &*identity.definition.engine {
            "ReplacingMergeTree" => {
                arguments.check_count(0, 2)?;
                let version = arguments.column(0, "Version column")?;
                let is_deleted = arguments.column(1, "is_deleted column")?;
                version.map_or(Ok(()), |version| arguments.check_version(version))?;
                is_deleted.map_or(Ok(()), |column| arguments.check(column, "is_deleted column", &DataType::UInt8))?;
                Self::Replacing { version, is_deleted }
            }
            "CollapsingMergeTree" => {
                arguments.check_count(1, 1)?;
                Self::Collapsing { sign: arguments.sign()? }
            }
            "VersionedCollapsingMergeTree" => {
                arguments.check_count(2, 2)?;
                let sign = arguments.sign()?;
                let version = arguments.column(1, "Version column")?.unwrap_or_default();
                arguments.check_version(version)?;
                Self::VersionedCollapsing { sign, version }
            }
            "SummingMergeTree" => {
                arguments.check_count(0, 1)?;
                let named = arguments.list()?;
                Self::Folding { folds: sums(identity, &named)?, drops_zeros: true }
            }
            "AggregatingMergeTree" => {
                arguments.check_count(0, 0)?;
                let free = free_columns(identity).into_iter();
                let folds = free.map(|stored| Ok(aggregate(identity, stored)?.map(|kind| Fold { stored, kind })));
                let folds: Vec<Option<Fold>> = folds.collect::<Result<_>>()?;
                Self::Folding { folds: folds.into_iter().flatten().collect(), drops_zeros: false }
            }
            "CoalescingMergeTree" => {
                arguments.check_count(0, 1)?;
                let named = arguments.list()?;
                let mut folds = Vec::new();
                for stored in free_columns(identity) {
                    if named.is_empty() || named.contains(&stored) {
                        let kind = match aggregate(identity, stored)? {
                            Some(kind) => kind,
                            None => FoldKind::Value(resolve_aggregate("anyLast", &[], &[type_of(identity, stored)])?),
                        };
                        folds.push(Fold { stored, kind });
                    }
                }
                Self::Folding { folds, drops_zeros: false }
            }
            _ => return Ok(None),
        }))
    }
}

/// The type that a stored column is computed with.
fn type_of(identity: &TableIdentity, stored: usize) -> DataType {
    identity.stored.fields.get(stored).map_or(DataType::Nothing, |(_, data_type)| data_type.computed())
}

fn name_of(identity: &TableIdentity, stored: usize) -> &str {
    identity.stored.fields.get(stored).map_or("", |(name, _)| name)
}

/// What makes one of the values of a column whose type tells it: states, and values of `SimpleAggregateFunction`.
fn aggregate(identity: &TableIdentity, stored: usize) -> Result<Option<FoldKind>> {
    let Some((_, data_type)) = identity.stored.fields.get(stored) else { return Ok(None) };
    let function = match (data_type, data_type.simple_aggregate()) {
        (DataType::AggregateFunction(state), _) => merge_of_states(state)?,
        (_, Some(simple)) => resolve_simple(simple, &data_type.computed())?,
        _ => return Ok(None),
    };
    Ok(Some(FoldKind::Value(function)))
}

/// What SummingMergeTree makes of the columns that are in no key, or of the named ones.
fn sums(identity: &TableIdentity, named: &[usize]) -> Result<Vec<Fold>> {
    let mut folds = Vec::new();
    let mut in_maps: Vec<usize> = Vec::new();
    let free = free_columns(identity);
    for stored in free.iter().copied() {
        if in_maps.contains(&stored) {
            continue;
        }
        if let Some((map, _)) = name_of(identity, stored).split_once('.').filter(|(map, _)| map.ends_with("Map")) {
            let of_map = |at: &usize| name_of(identity, *at).split_once('.').is_some_and(|(name, _)| name == map);
            let columns: Vec<usize> = free.iter().copied().filter(of_map).collect();
            in_maps.extend(&columns);
            if let Some(kind) = sum_of_map(identity, &columns)? {
                folds.push(Fold { stored, kind });
            }
            continue;
        }
        if !named.is_empty() && !named.contains(&stored) {
            continue;
        }
        let data_type = type_of(identity, stored);
        if let Some(kind) = aggregate(identity, stored)? {
            folds.push(Fold { stored, kind });
        } else if is_summable(&data_type) {
            let is_decimal = matches!(data_type.inner(), DataType::Decimal(..));
            let function = resolve_aggregate(if is_decimal { "sum" } else { "sumWithOverflow" }, &[], &[data_type])?;
            folds.push(Fold { stored, kind: FoldKind::Number(function) });
        }
    }
    Ok(folds)
}

/// A nested structure `…Map` as sums by its keys; `None` where its columns do not suit, which then are not summed.
fn sum_of_map(identity: &TableIdentity, columns: &[usize]) -> Result<Option<FoldKind>> {
    let item = |stored: usize| match type_of(identity, stored) {
        DataType::Array(item) => Some(DataType::clone(&item)),
        _ => None,
    };
    for (at, stored) in columns.iter().copied().enumerate() {
        let Some(item) = item(stored) else { return Ok(None) };
        let name = name_of(identity, stored);
        let is_key = at == 0 || ["ID", "Key", "Type"].iter().any(|end| name.ends_with(end));
        if at > 0 && is_key {
            return Err(Error::not_implemented(format!("Sums of a map by several keys ({name})")));
        }
        let suits = match is_key {
            true => !item.is_nullable() && !item.is_float() && !item.is_nested(),
            false => is_summable(&item),
        };
        if !suits {
            return Ok(None);
        }
    }
    if columns.len() < 2 {
        return Ok(None);
    }
    let types: Vec<DataType> = columns.iter().map(|stored| type_of(identity, *stored)).collect();
    let function = resolve_aggregate("sumMapWithOverflow", &[], &types)?;
    Ok(Some(FoldKind::Map { columns: columns.to_vec(), function }))
}

fn is_summable(data_type: &DataType) -> bool {
    let number = match data_type {
        DataType::Nullable(inner) => inner,
        other => other,
    };
    number.is_any_integer() || number.is_float() || matches!(number, DataType::Decimal(..))
}

/// The columns that are in no key.
fn free_columns(identity: &TableIdentity) -> Vec<usize> {
    let definition = &identity.definition;
    let mut in_keys = Vec::new();
    for key in definition.sorting_key.iter().chain(&definition.partition_key) {
        key.expression.visit_columns(&mut |column| in_keys.push(column));
    }
    let positions = identity.stored_positions.iter().enumerate();
    positions.filter(|(at, _)| !in_keys.contains(at)).filter_map(|(_, stored)| *stored).collect()
}

/// The arguments of an engine: names of columns.
struct Arguments<'a> {
    identity: &'a TableIdentity,
    texts: Vec<String>,
}

fn arguments(definition: &TableDefinition) -> Vec<String> {
    definition.engine_arguments.iter().filter_map(|argument| argument.as_str().map(str::to_owned)).collect()
}

impl Arguments<'_> {
    fn engine(&self) -> &str {
        &self.identity.definition.engine
    }

    fn check_count(&self, least: usize, most: usize) -> Result<()> {
        let given = self.texts.len();
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let wanted = match (least, most) {
            (_, 0) => "no parameters".to_owned(),
            (least, most) if least == most => format!("{most} parameters"),
            (least, most) => format!("{least} to {most} parameters"),
        };
        let message = format!(
            "With extended storage definition syntax storage {} requires {wanted} ({given} given)",
            self.engine()
        );
        Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
    }

    /// The stored column that an argument names; `None` where there is no such argument.
    fn column(&self, argument: usize, what: &str) -> Result<Option<usize>> {
        let Some(text) = self.texts.get(argument) else { return Ok(None) };
        self.stored(text, &format!("{what} {text} does not exist in table declaration")).map(Some)
    }

    fn stored(&self, text: &str, missing: &str) -> Result<usize> {
        let name = text.trim();
        if name.starts_with(|first: char| first.is_ascii_digit() || first == '\'') {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Wrong number of engine arguments."));
        }
        let name = name.trim_matches('`');
        let missing = || Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, missing);
        self.identity.stored.names().position(|known| known == name).ok_or_else(missing)
    }

    /// The columns that the first argument names, which may be a tuple of them or the name of a nested structure.
    fn list(&self) -> Result<Vec<usize>> {
        let Some(text) = self.texts.first().map(|text| text.trim()) else { return Ok(Vec::new()) };
        let inner = text.strip_prefix("tuple(").or_else(|| text.strip_prefix('('));
        let inner = inner.and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
        let mut columns = Vec::new();
        for name in inner.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let nested = format!("{}.", name.trim_matches('`'));
            let stored = self.identity.stored.names().enumerate();
            let of_nested = stored.filter(|(_, known)| known.starts_with(&nested)).map(|(at, _)| at);
            let of_nested: Vec<usize> = of_nested.collect();
            if !of_nested.is_empty() {
                columns.extend(of_nested);
                continue;
            }
            let missing = format!("Column {name} listed in columns to sum does not exist in table declaration");
            columns.push(self.stored(name, &missing)?);
        }
        let free = free_columns(self.identity);
        if let Some(column) = columns.iter().find(|column| !free.contains(column)) {
            let message = format!(
                "Columns: {} listed both in columns to sum and in sorting key. That is not allowed.",
                name_of(self.identity, *column)
            );
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(columns)
    }

    fn sign(&self) -> Result<usize> {
        let sign = self.column(0, "Sign column")?.unwrap_or_default();
        self.check(sign, "Sign column", &DataType::Int8)?;
        Ok(sign)
    }

    fn check(&self, column: usize, what: &str, wanted: &DataType) -> Result<()> {
        match self.identity.stored.fields.get(column) {
            Some((name, found)) if found != wanted => {
                let message = format!(
                    "{what} ({name}) for storage {} must have type {wanted}. Provided column of type {found}.",
                    self.engine()
                );
                Err(Error::new(ErrorCode::BAD_TYPE_OF_FIELD, message))
            }
            _ => Ok(()),
        }
    }

    fn check_version(&self, column: usize) -> Result<()> {
        let suits = |data_type: &DataType| {
            let is_time = matches!(
                data_type,
                DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..)
            );
            is_time || data_type.is_any_integer() || data_type.is_float()
        };
        match self.identity.stored.fields.get(column) {
            Some((name, data_type)) if !suits(data_type) => {
                let message = format!(
                    "The column {name} cannot be used as a version column for storage {} because it is of type {data_type} \
                     (must be of an integer type or of type Date/DateTime/DateTime64)",
                    self.engine()
                );
                Err(Error::new(ErrorCode::BAD_TYPE_OF_FIELD, message))
            }
            _ => Ok(()),
        }
    }
}
