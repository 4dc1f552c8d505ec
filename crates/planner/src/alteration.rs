//! ALTER TABLE of columns and keys: a table's definition after the commands, and which of its columns were which before.

use std::sync::Arc;

use squall_sql::ast::{self, ColumnProperty, Placement};
use squall_types::calendar::TimeZone;
use squall_types::{CastMode, CastOptions, Column, DataType, Error, ErrorCode, Result, cast};

use crate::analyzer::text;
use crate::catalog::{ColumnDescription, DefaultKind};
use crate::context::PlannerContext;
use crate::create::{
    check_defaults, check_type, codec_of, column_default, column_ttl, declared_columns, expression_over, settled_type,
    sorting_key,
};
use crate::definition::{KeyExpression, TableDefinition};
use crate::ttl;

/// A definition that is being altered, command by command.
#[derive(Clone, Debug)]
pub struct Alteration {
    /// What it has become.
    pub definition: TableDefinition,
    /// For each of its columns the position that it had in the definition before; nothing for one that is new, or was cleared.
    pub origins: Vec<Option<usize>>,
    /// Whether columns came, or were declared anew.
    has_new_defaults: bool,
}

impl Alteration {
    /// Of this definition.
    pub fn new(definition: &TableDefinition) -> Self {
        let origins = (0..definition.columns.len()).map(Some).collect();
        Self { definition: definition.clone(), origins, has_new_defaults: false }
    }

    /// `ADD COLUMN`.
    ///
    /// # Errors
    /// `DUPLICATE_COLUMN`, `NOT_FOUND_COLUMN_IN_BLOCK`, and what is wrong with the declaration.
    pub fn add_column(
        &mut self,
        declared: &ast::ColumnDeclaration,
        placement: &Placement,
        if_not_exists: bool,
        context: &PlannerContext<'_>,
    ) -> Result<()> {
        let name = &*declared.name.value;
        if self.position(name).is_some() {
            if if_not_exists {
                return Ok(());
            }
            let message = format!("Cannot add column {name}: column with this name already exists");
            return Err(Error::new(ErrorCode::DUPLICATE_COLUMN, message));
        }
        let columns = declared_columns(std::slice::from_ref(declared), &self.definition.columns, context)?;
        columns.iter().try_for_each(|column| check_type(&column.data_type, context))?;
        self.has_new_defaults = true;
        let first = self.place(placement, "insert after")?;
        for (at, column) in (first..).zip(columns) {
            if self.position(&column.name).is_some() {
                let message = format!("Cannot add column {}: column with this name already exists", column.name);
                return Err(Error::new(ErrorCode::DUPLICATE_COLUMN, message));
            }
            self.definition.columns.insert(at, column);
            self.origins.insert(at, None);
        }
        Ok(())
    }

    /// `DROP COLUMN`; of a nested name, all of its columns.
    ///
    /// # Errors
    /// `NOT_FOUND_COLUMN_IN_BLOCK`, `ALTER_OF_COLUMN_IS_FORBIDDEN` for columns of keys, `ILLEGAL_COLUMN` for one that others depend on.
    pub fn drop_column(&mut self, name: &str, if_exists: bool, context: &PlannerContext<'_>) -> Result<()> {
        let names = self.named(name);
        if names.is_empty() {
            return if if_exists { Ok(()) } else { Err(not_found(name, "drop")) };
        }
        for name in &names {
            self.refuse_key(name, "DROP")?;
            let Some(at) = self.position(name) else { continue };
            let of_others = self.definition.columns.iter().filter(|column| !names.contains(&column.name));
            for other in of_others {
                let Some(default) = other.default.as_ref().filter(|default| !default.expression.is_empty()) else {
                    continue;
                };
                if self.refers(&default.expression, at, context) {
                    let message = format!("Cannot drop column {name}, because column {} depends on it", other.name);
                    return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
                }
            }
            if let Some(index) = self.definition.indices.iter().find(|index| self.refers(&index.sql, at, context)) {
                let message = format!(
                    "Cannot apply ALTER because it breaks skip index {}: Missing columns: '{name}'",
                    index.name
                );
                return Err(Error::new(ErrorCode::UNKNOWN_IDENTIFIER, message));
            }
            self.definition.columns.remove(at);
            self.origins.remove(at);
        }
        if self.definition.columns.is_empty() {
            return Err(cannot_take_all());
        }
        Ok(())
    }

    /// `CLEAR COLUMN` of the whole table: its rows have the column's default from now on, and what is MATERIALIZED of it is computed anew.
    ///
    /// # Errors
    /// As [`drop_column`](Self::drop_column).
    pub fn clear_column(&mut self, name: &str, if_exists: bool, context: &PlannerContext<'_>) -> Result<()> {
        let names = self.named(name);
        if names.is_empty() {
            return if if_exists { Ok(()) } else { Err(not_found(name, "clear")) };
        }
        if self.definition.columns.iter().all(|column| names.contains(&column.name)) {
            return Err(cannot_take_all());
        }
        let mut cleared: Vec<usize> = names.iter().filter_map(|name| self.position(name)).collect();
        while let Some(at) = cleared.pop() {
            self.refuse_key(&self.definition.columns[at].name, "CLEAR")?;
            self.origins[at] = None;
            for (other, column) in self.definition.columns.iter().enumerate() {
                let Some(default) = &column.default else { continue };
                let is_stored = default.kind == DefaultKind::Materialized && self.origins[other].is_some();
                if is_stored && self.refers(&default.expression, at, context) {
                    cleared.push(other);
                }
            }
        }
        Ok(())
    }

    /// `RENAME COLUMN`; expressions of the table follow.
    ///
    /// # Errors
    /// `NOT_FOUND_COLUMN_IN_BLOCK`, `DUPLICATE_COLUMN`, `ALTER_OF_COLUMN_IS_FORBIDDEN`.
    pub fn rename_column(&mut self, from: &str, to: &str, if_exists: bool) -> Result<()> {
        let Some(at) = self.position(from) else {
            let is_nested =
                |column: &ColumnDescription| column.name.split_once('.').is_some_and(|(name, _)| name == from);
            if self.definition.columns.iter().any(is_nested) {
                return Err(Error::not_implemented("Renaming a whole nested structure"));
            }
            return if if_exists { Ok(()) } else { Err(not_found(from, "rename")) };
        };
        if self.position(to).is_some() {
            let message = format!("Cannot rename to `{to}`: column with this name already exists");
            return Err(Error::new(ErrorCode::DUPLICATE_COLUMN, message));
        }
        self.refuse_key(from, "RENAME")?;
        let split = |name: &str| name.split_once('.').map(|(table, _)| table.to_owned());
        if split(from) != split(to) && (split(from).is_some() || split(to).is_some()) {
            let message =
                format!("Cannot rename column from one nested name to another or to a column of none: {from} to {to}");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let definition = &mut self.definition;
        if let Some(column) = definition.columns.get_mut(at) {
            column.name = to.into();
        }
        let renamed = |sql: &mut Arc<str>| -> Result<()> {
            if !sql.is_empty() {
                *sql = renamed_in(sql, from, to)?.into();
            }
            Ok(())
        };
        for column in &mut definition.columns {
            column.default.as_mut().map_or(Ok(()), |default| renamed(&mut default.expression))?;
            column.ttl.as_mut().map_or(Ok(()), renamed)?;
        }
        definition.ttl.iter_mut().try_for_each(|element| {
            *element = ttl::renamed_in(element, from, to)?;
            Ok::<_, Error>(())
        })?;
        definition.constraints.iter_mut().try_for_each(|constraint| renamed(&mut constraint.sql))?;
        definition.indices.iter_mut().try_for_each(|index| renamed(&mut index.sql))
    }

    /// `MODIFY COLUMN` of whatever the declaration says.
    ///
    /// # Errors
    /// `NOT_FOUND_COLUMN_IN_BLOCK`, `ALTER_OF_COLUMN_IS_FORBIDDEN`, and what is wrong with the declaration.
    pub fn modify_column(
        &mut self,
        declared: &ast::ColumnDeclaration,
        placement: Option<&Placement>,
        if_exists: bool,
        context: &PlannerContext<'_>,
    ) -> Result<()> {
        let name = &*declared.name.value;
        let Some(at) = self.position(name) else {
            if if_exists {
                return Ok(());
            }
            let message = format!("Wrong column. Cannot find column `{name}` to modify");
            return Err(Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
        };
        if declared.statistics.is_some() {
            return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, "Statistics of columns are not supported"));
        }
        self.has_new_defaults = true;
        let (is_key, is_in_key) = (self.is_key(name), self.is_in_key(name));
        let Some(column) = self.definition.columns.get_mut(at) else { return Ok(()) };
        let before = column.clone();
        declare_anew(column, declared, context)?;
        let may_change = !is_key
            || keeps_order(&before.data_type, &column.data_type)
            || !is_in_key && widens(&before.data_type, &column.data_type);
        check_new_type(&before, column, may_change, context)?;
        if is_key && !column.is_stored() {
            let message = format!("Trying to ALTER key column {name} into one that is not stored");
            return Err(Error::new(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message));
        }
        if !before.is_stored()
            && column.is_stored()
            && let Some(origin) = self.origins.get_mut(at)
        {
            *origin = None;
        }
        if let Some(placement) = placement {
            let column = self.definition.columns.remove(at);
            let origin = self.origins.remove(at);
            let to = match placement {
                Placement::After(other) if *other.value == *name => at,
                placement => self.place(placement, "move after")?,
            };
            self.definition.columns.insert(to, column);
            self.origins.insert(to, origin);
        }
        Ok(())
    }

    /// `MODIFY TTL`: in the place of all that the table had.
    ///
    /// # Errors
    /// Where a function that SQL defined is called wrongly.
    pub fn modify_ttl(&mut self, elements: &[ast::TtlElement], context: &PlannerContext<'_>) -> Result<()> {
        self.definition.ttl = ttl::declared(elements, context)?;
        Ok(())
    }

    /// `REMOVE TTL`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where the table has none.
    pub fn remove_ttl(&mut self) -> Result<()> {
        if self.definition.ttl.is_empty() {
            let message = "Table doesn't have any table TTL expression, cannot remove";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        self.definition.ttl.clear();
        Ok(())
    }

    /// Checks the defaults and the TTL that the commands have left.
    ///
    /// # Errors
    /// Where a default is none of its column's type, or goes in circles; as of [`TableTtl::bind`](crate::TableTtl::bind), and `BAD_ARGUMENTS`
    /// for a TTL that is most likely a mistake.
    pub fn check(&self, context: &PlannerContext<'_>) -> Result<()> {
        if self.has_new_defaults {
            check_defaults(&self.definition.columns, context)?;
        }
        if !self.definition.has_ttl() {
            return Ok(());
        }
        ttl::check(&self.definition, context).map_err(|error| match error.code {
            ErrorCode::UNKNOWN_IDENTIFIER => error.context("Cannot apply ALTER because it breaks the TTL of the table"),
            _ => error,
        })
    }

    /// `MODIFY COLUMN … REMOVE property`.
    ///
    /// # Errors
    /// `NOT_FOUND_COLUMN_IN_BLOCK`; `BAD_ARGUMENTS` where the column does not have it.
    pub fn remove_property(&mut self, name: &str, property: ColumnProperty, if_exists: bool) -> Result<()> {
        let Some(at) = self.position(name) else {
            if if_exists {
                return Ok(());
            }
            let message = format!("Wrong column. Cannot find column `{name}` to modify");
            return Err(Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
        };
        let Some(column) = self.definition.columns.get_mut(at) else { return Ok(()) };
        let refuse = |what: &str| {
            let message = format!("Column {name} doesn't have {what}, cannot remove it");
            Err(Error::new(ErrorCode::BAD_ARGUMENTS, message))
        };
        let kind = match property {
            ColumnProperty::Default => DefaultKind::Default,
            ColumnProperty::Materialized => DefaultKind::Materialized,
            ColumnProperty::Alias => DefaultKind::Alias,
            ColumnProperty::Ephemeral => DefaultKind::Ephemeral,
            ColumnProperty::Comment if column.comment.is_empty() => return refuse("COMMENT"),
            ColumnProperty::Comment => {
                column.comment = "".into();
                return Ok(());
            }
            ColumnProperty::Codec if column.codec.is_none() => return refuse("CODEC"),
            ColumnProperty::Codec => {
                column.codec = None;
                return Ok(());
            }
            ColumnProperty::Ttl if column.ttl.is_none() => return refuse("TTL"),
            ColumnProperty::Ttl => {
                column.ttl = None;
                return Ok(());
            }
            ColumnProperty::Settings => return refuse("SETTINGS"),
        };
        match &column.default {
            Some(default) if default.kind == kind => {
                if matches!(kind, DefaultKind::Alias | DefaultKind::Ephemeral)
                    && let Some(origin) = self.origins.get_mut(at)
                {
                    *origin = None;
                }
                column.default = None;
                Ok(())
            }
            _ => refuse(kind.keyword()),
        }
    }

    /// `MODIFY ORDER BY`: the key may end with columns that were added by the same statement. Rows stay indexed by what was the
    /// primary key.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`.
    pub fn modify_order_by(&mut self, order_by: &ast::SortingKey, context: &PlannerContext<'_>) -> Result<()> {
        if !self.definition.engine.ends_with("MergeTree") {
            let message = format!("ALTER MODIFY ORDER BY is not supported by storage {}", self.definition.engine);
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let before = &self.definition.sorting_key;
        let key = sorting_key(order_by, &self.definition.columns, context)?;
        let primary = self.definition.primary_key.clone().unwrap_or_else(|| before.clone());
        let is_same = |(old, new): (&KeyExpression, &KeyExpression)| old.sql == new.sql;
        if key.len() < primary.len() || !primary.iter().zip(&key).all(is_same) {
            let message = "Primary key must be a prefix of the sorting key, and it cannot be altered";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        for part in key.iter().filter(|part| !before.iter().any(|old| old.sql == part.sql)) {
            let mut is_new = true;
            part.expression.visit_columns(&mut |column| {
                is_new &= self.origins.get(column).is_some_and(Option::is_none)
                    && self.definition.columns.get(column).is_some_and(|column| column.default.is_none());
            });
            if !is_new {
                let message = format!(
                    "Existing column is used in the expression that was added to the sorting key: {}. You can add expressions \
                     that use only the newly added columns",
                    part.sql
                );
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        }
        // Rows that are there have the same value in new columns, so that they are in the new order, too, as far as the old one tells.
        let mut old = before.iter().peekable();
        for part in &key {
            if old.peek().is_some_and(|old| old.sql == part.sql) {
                old.next();
            }
        }
        if old.next().is_some() {
            let message = "The old sorting key must be part of the new one, in its order";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        self.definition.primary_key = Some(primary);
        self.definition.sorting_key = key;
        Ok(())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.definition.columns.iter().position(|column| *column.name == *name)
    }

    /// The columns that a name means: that of the name, or those of a nested one.
    fn named(&self, name: &str) -> Vec<Arc<str>> {
        let columns = || self.definition.columns.iter().map(|column| &column.name);
        match columns().find(|known| ***known == *name) {
            Some(known) => vec![known.clone()],
            None => columns()
                .filter(|known| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
                .cloned()
                .collect(),
        }
    }

    fn place(&self, placement: &Placement, verb: &str) -> Result<usize> {
        match placement {
            Placement::Last => Ok(self.definition.columns.len()),
            Placement::First => Ok(0),
            Placement::After(other) => self.last_position(&other.value).map(|at| at + 1).ok_or_else(|| {
                let message = format!("Wrong column name. Cannot find column {} to {verb}", other.value);
                Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
            }),
        }
    }

    /// The position of a column, or of the last one of a nested structure.
    fn last_position(&self, name: &str) -> Option<usize> {
        let is_within = |column: &str| column.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let of_structure = || self.definition.columns.iter().rposition(|column| is_within(&column.name));
        self.position(name).or_else(of_structure)
    }

    /// Whether a column, as it was before the statement, is in a key of the table.
    fn is_in_key(&self, name: &str) -> bool {
        let definition = &self.definition;
        let keys = definition.sorting_key.iter().chain(definition.primary_key.iter().flatten());
        keys.chain(&definition.partition_key).any(|key| names_column(&key.sql, name))
    }

    /// The same, or whether rows are merged by it: the version and the sign of the kinds of MergeTree.
    fn is_key(&self, name: &str) -> bool {
        let definition = &self.definition;
        let mut is_key = self.is_in_key(name);
        if definition.engine.ends_with("MergeTree") {
            let arguments = definition.engine_arguments.iter().filter_map(|argument| argument.as_str());
            is_key |= arguments.into_iter().any(|argument| names_column(argument, name));
        }
        is_key
    }

    fn refuse_key(&self, name: &str, verb: &str) -> Result<()> {
        if self.is_key(name) {
            let message = format!("Trying to ALTER {verb} key {name} column");
            return Err(Error::new(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message));
        }
        Ok(())
    }

    fn refers(&self, sql: &str, column: usize, context: &PlannerContext<'_>) -> bool {
        let mut refers = false;
        let bound = text::parse_expression(sql)
            .and_then(|expression| expression_over(&self.definition.columns, &expression, context));
        if let Ok(bound) = bound {
            bound.visit_columns(&mut |position| refers |= position == column);
        }
        refers
    }
}

fn cannot_take_all() -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, "Cannot DROP or CLEAR all columns")
}

fn not_found(name: &str, verb: &str) -> Error {
    let message = format!("Wrong column name. Cannot find column `{name}` to {verb}");
    Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message)
}

/// Gives a column what a declaration says; what it does not say stays.
fn declare_anew(
    column: &mut ColumnDescription,
    declared: &ast::ColumnDeclaration,
    context: &PlannerContext<'_>,
) -> Result<()> {
    if let Some(default) = &declared.default {
        column.default = Some(column_default(default, context)?);
    }
    match &declared.data_type {
        Some(data_type) => column.data_type = settled_type(data_type, declared.nullable)?,
        None if declared.nullable == Some(true) && !column.data_type.is_nullable() => {
            column.data_type = column.data_type.to_nullable();
        }
        None => {}
    }
    if let Some(comment) = &declared.comment {
        column.comment = comment.as_str().into();
    }
    if let Some(codecs) = &declared.codec {
        column.codec = Some(codec_of(codecs, column, context)?);
    }
    if let Some(ttl) = &declared.ttl {
        column.ttl = Some(column_ttl(ttl, context)?);
    }
    Ok(())
}

/// Refuses another type that the column's rows cannot have, or, unless it `may_change`, that keys forbid.
fn check_new_type(
    before: &ColumnDescription,
    column: &ColumnDescription,
    may_change: bool,
    context: &PlannerContext<'_>,
) -> Result<()> {
    let (name, from, to) = (&column.name, &before.data_type, &column.data_type);
    // Which value stands for NULL in rows that are there is nobody's guess.
    if from.is_nullable() && !to.is_nullable() && column.default.is_none() {
        let message = format!(
            "Cannot convert column '{name}' from nullable type {from} to non-nullable type {to}. Please specify `DEFAULT` expression \
             in ALTER MODIFY COLUMN statement"
        );
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    if from == to {
        return Ok(());
    }
    if !may_change {
        let message = format!(
            "ALTER of key column {name} from type {from} to type {to} is not safe because it can change the representation of \
             primary key"
        );
        return Err(Error::new(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message));
    }
    check_type(to, context)?;
    // Rows that are there are cast when they are read: there must be such a cast.
    let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
    cast(&Column::empty(from.clone()), to, &options).map(drop)
}

/// Whether values of a type stand in the same order, as the same numbers, when they are taken as of the other.
fn keeps_order(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Enum8(from), DataType::Enum8(to)) | (DataType::Enum16(from), DataType::Enum16(to)) => {
            from.iter().all(|(_, number)| to.name(number).is_some())
        }
        // The numbers of the names.
        (DataType::Enum8(_), DataType::Int8) | (DataType::Enum16(_), DataType::Int16) => true,
        (from, to) => from.remove_low_cardinality() == to.remove_low_cardinality(),
    }
}

/// Whether a type has the same numbers in the same order, and more of them.
fn widens(from: &DataType, to: &DataType) -> bool {
    let are_integers = from.is_any_integer() && to.is_any_integer();
    let have_same_sign = from.is_unsigned_integer() == to.is_unsigned_integer();
    are_integers && have_same_sign && from.fixed_width_bytes() <= to.fixed_width_bytes()
}

/// A walk over the identifiers of an expression.
pub(crate) struct Identifiers<'a> {
    from: &'a str,
    to: Option<&'a str>,
    is_found: bool,
}

impl<'a> Identifiers<'a> {
    /// Gives a column another name.
    pub(crate) fn renaming(from: &'a str, to: &'a str) -> Self {
        Self { from, to: Some(to), is_found: false }
    }
}

impl ast::Visitor for Identifiers<'_> {
    fn expression(&mut self, expression: &mut ast::Expression) -> bool {
        if let ast::ExpressionKind::Identifier(parts) = &mut expression.kind {
            let name = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
            if name == self.from {
                self.is_found = true;
                if let Some(to) = self.to {
                    *expression = ast::Expression::identifier(to.to_owned());
                }
            }
        }
        true
    }
}

/// Whether an expression names a column.
pub fn names_column(sql: &str, column: &str) -> bool {
    let Ok(mut expression) = text::parse_expression(sql) else { return false };
    let mut identifiers = Identifiers { from: column, to: None, is_found: false };
    expression.walk(&mut identifiers);
    identifiers.is_found
}

/// An expression with a column under another name.
fn renamed_in(sql: &str, from: &str, to: &str) -> Result<String> {
    let mut expression = text::parse_expression(sql)?;
    let mut identifiers = Identifiers::renaming(from, to);
    expression.walk(&mut identifiers);
    Ok(if identifiers.is_found { text::expression(&expression) } else { sql.to_owned() })
}
