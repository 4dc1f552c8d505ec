//! FROM: tables, views, common table expressions, table functions, subqueries, ARRAY JOIN.

use std::sync::Arc;

use squall_sql::ast::{self, FromStep, TableSource};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::Analyzer;
use super::graph::{Graph, NodeId};
use super::row_filter::by_policy;
use super::scope::{Outer, Scope};
use super::source::{ArrayJoin, JoinedColumn, Source};
use super::stage::project;
use super::table_function::{RemoteFunction, headers_of, named_argument, takes_names};
use crate::catalog::{ColumnDescription, DefaultKind, LoadedByQuery, TableMetadata};
use crate::create::described;
use crate::expression::Expression;
use crate::function_table;
use crate::load::load;
use crate::materialized_view;
use crate::plan::Plan;
use crate::uses::Used;
use crate::view;

/// The tables of a FROM clause.
fn tables_of(from: &ast::From) -> impl Iterator<Item = &ast::TableExpression> {
    let joined = from.steps.iter().filter_map(|step| match step {
        FromStep::Join(join) => Some(&join.table),
        FromStep::ArrayJoin(_) => None,
    });
    from.table.iter().chain(joined)
}

impl Scope<'_> {
    /// Sets the scope's source from a FROM clause.
    ///
    /// # Errors
    /// Where a table is unknown, or a subquery's own.
    pub fn add_from(&mut self, from: &ast::From) -> Result<()> {
        if let Some(table) = &from.table {
            self.source = self.table_expression(table)?;
            if let Some(FromStep::Join(join)) = from.steps.iter().find(|step| matches!(step, FromStep::Join(_))) {
                self.check_has_alias(table, &super::join::join_text(join))?;
            }
        }
        for step in &from.steps {
            match step {
                FromStep::Join(join) => self.add_join(join)?,
                FromStep::ArrayJoin(array_join) => self.add_array_join(array_join)?,
            }
        }
        Ok(())
    }

    /// What one table of FROM is.
    ///
    /// # Errors
    /// Where a table is unknown, or a subquery's own.
    pub fn table_expression(&mut self, table: &ast::TableExpression) -> Result<Source> {
        if let TableSource::Subquery(query) = &table.source
            && (table.with_final || table.sample.is_some())
        {
            let modifier = if table.with_final { "FINAL" } else { "SAMPLE" };
            return Err(Error::new(
                ErrorCode::UNSUPPORTED_METHOD,
                format!(
                    "Table expression modifiers {modifier} are not supported for subquery {}",
                    super::text::query((**query).clone())
                ),
            ));
        }
        let mut source = match &table.source {
            TableSource::Table(name) => match self.named_in_from(name)? {
                Some(source) if table.with_final && source.as_table().is_none() => return Err(illegal_final("View")),
                Some(source) => source,
                None => self.readable_table(name, table.with_final).map_err(|error| self.of_alias(name, error))?,
            },
            TableSource::Function(function) => self.table_function(function)?,
            TableSource::Subquery(query) => {
                self.analyzer.next_subquery();
                Source::plan(self.plan_table(query)?)
            }
        };
        if table.with_final && !matches!(table.source, TableSource::Table(_)) {
            let engine = source.as_table().map_or("View", |table| table.engine());
            return Err(illegal_final(engine));
        }
        if let Some(sample) = &table.sample {
            source = super::sample::sampled(self.analyzer, source, sample)?;
        }
        let alias = table.alias.as_ref().map(|alias| self.analyzer.identifier(alias)).transpose()?;
        if !matches!(table.source, TableSource::Subquery(_)) {
            source = self.additionally_filtered(source, alias)?;
        }
        if !table.column_aliases.is_empty() {
            let names = table.column_aliases.iter().map(|name| self.analyzer.identifier(name));
            let names = names.collect::<Result<Vec<_>>>()?;
            let (database, name) = (source.database.take(), source.table.take());
            source = Source::plan(rename_columns(whole(source), &names)?).named(database.as_deref(), name.as_deref());
        }
        if let Some(alias) = alias {
            source.alias = Some(alias.into());
        }
        Ok(source)
    }

    /// The table of FROM that has this name as its alias: `FROM hits AS h JOIN h AS other`. A name that its own table needs
    /// means a stored table.
    fn named_in_from(&mut self, name: &ast::TableName) -> Result<Option<Source>> {
        let (None, Some(from)) = (&name.database, self.select().and_then(|select| select.from.as_ref())) else {
            return Ok(None);
        };
        let wanted = self.analyzer.identifier(&name.table)?;
        let has_alias = |table: &&ast::TableExpression| {
            let is_itself = matches!(&table.source, TableSource::Table(own) if std::ptr::eq(own, name));
            !is_itself && table.alias.as_ref().is_some_and(|alias| alias.value == wanted)
        };
        let Some(table) = tables_of(from).find(has_alias) else { return Ok(None) };
        if self.from_aliases.iter().any(|known| known == wanted) || self.has_common_table(wanted) {
            return Ok(None);
        }
        self.from_aliases.push(wanted.to_owned());
        let analyzer = self.analyzer;
        let source = analyzer.nested(|| self.table_expression(table));
        self.from_aliases.pop();
        let mut source = source?.named(None, Some(wanted));
        source.alias = None;
        Ok(Some(source))
    }

    /// The error of a table that is not there, where what was taken for its database is the alias of another table.
    fn of_alias(&self, name: &ast::TableName, error: Error) -> Error {
        let (Some(database), Some(from)) = (&name.database, self.select().and_then(|select| select.from.as_ref()))
        else {
            return error;
        };
        let is_it =
            |table: &ast::TableExpression| table.alias.as_ref().is_some_and(|alias| alias.value == database.value);
        if error.code != ErrorCode::UNKNOWN_DATABASE || !tables_of(from).any(is_it) {
            return error;
        }
        let message = format!(
            "Compound identifier '{}.{}' cannot be resolved as table expression",
            database.value, name.table.value
        );
        self.in_scope(Error::new(ErrorCode::UNKNOWN_IDENTIFIER, message))
    }

    /// A table by name that a query can read.
    fn readable_table(&self, name: &ast::TableName, with_final: bool) -> Result<Source> {
        let source = self.table_as(name, with_final)?;
        if source.as_table().is_some_and(|table| table.engine() == "Set") {
            return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "Method read is not supported by storage Set"));
        }
        Ok(source)
    }

    /// The plan of a subquery that is a table.
    pub(super) fn plan_table(&self, query: &ast::Query) -> Result<Plan> {
        self.analyzer.nested(|| self.analyzer.plan_within(&query.body, Some(self)))
    }

    /// A table or a view by name.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`, `UNKNOWN_DATABASE`.
    pub fn table(&self, name: &ast::TableName) -> Result<Source> {
        self.table_as(name, false)
    }

    /// The same, merged where the query or its settings say FINAL.
    fn table_as(&self, name: &ast::TableName, with_final: bool) -> Result<Source> {
        let database = name.database.as_ref().map(|database| self.analyzer.identifier(database)).transpose()?;
        let table = self.analyzer.identifier(&name.table)?;
        if database.is_none()
            && let Some(plan) = self.analyzer.nested(|| self.common_table(table))?
        {
            if with_final {
                return Err(illegal_final("View"));
            }
            return Ok(Source::plan(plan).named(None, Some(table)));
        }
        let catalog = self.analyzer.context.catalog;
        match catalog.table(database, table) {
            Ok(table) => {
                if with_final && (table.view_query().is_some() || table.table_function().is_some()) {
                    return Err(illegal_final(table.engine()));
                }
                let table = catalog.opened(table, self.analyzer.context)?;
                if let Some(query) = table.view_query() {
                    return view::rows(self.analyzer, &*table, query, None);
                }
                if let Some(view) = table.materialized_view() {
                    let visible = |target: Arc<dyn TableMetadata>| {
                        self.load(target.loaded_by_query())?;
                        self.visible(target)
                    };
                    return materialized_view::target_source(self.analyzer, &*table, view, visible);
                }
                if let Some(function) = table.table_function() {
                    return function_table::rows(self.analyzer, &*table, function);
                }
                self.load(table.loaded_by_query())?;
                if !with_final && !self.analyzer.context.settings.with_final {
                    return self.visible(table);
                }
                match table.merged() {
                    Some(merged) => self.visible(merged),
                    // The setting is for the tables that can.
                    None if !with_final => self.visible(table),
                    None => Err(illegal_final(table.engine())),
                }
            }
            Err(error) if error.code == ErrorCode::UNKNOWN_TABLE => {
                if database.is_none()
                    && let Some(file) = catalog.file_by_name(table, self.analyzer.context)?
                {
                    return Ok(Source::table(file).named(None, Some(table)));
                }
                let written = database.map_or_else(|| table.to_owned(), |database| format!("{database}.{table}"));
                let hint = error.message.find("Maybe you meant").map_or("", |at| &error.message[at..]);
                let hint = hint.trim_end_matches('.');
                let hint = if hint.is_empty() { String::new() } else { format!(". {hint}") };
                let message = format!("Unknown table expression identifier '{written}'{hint}");
                // ClickHouse's hint ends in a question mark instead of a full stop.
                let separator = if message.ends_with('?') { " In scope " } else { ". In scope " };
                Err(Error::new(ErrorCode::UNKNOWN_TABLE, format!("{message}{separator}{}", self.text())))
            }
            Err(error) => Err(error),
        }
    }

    /// The rows of a table that the query may see.
    ///
    /// # Errors
    /// What is wrong with the condition of a row policy.
    fn visible(&self, table: Arc<dyn TableMetadata>) -> Result<Source> {
        let Some(filter) = self.analyzer.context.catalog.row_filter(&*table)? else {
            return Ok(Source::table(table).shown_by(self.analyzer.context.settings));
        };
        self.analyzer.nested(|| by_policy(self.analyzer, Source::table(table), &filter))
    }

    /// Has what a query loads loaded, where it is not yet.
    ///
    /// # Errors
    /// Those of that query.
    pub fn load(&self, rows: Option<Arc<dyn LoadedByQuery>>) -> Result<()> {
        match rows {
            Some(rows) if rows.needs_load() => load(&*rows, false, self.analyzer.context),
            _ => Ok(()),
        }
    }

    /// The rows of a table that is named where an expression could stand: `x IN table`.
    ///
    /// # Errors
    /// `UNKNOWN_IDENTIFIER` where there is none.
    pub fn table_by_name(&self, parts: &[ast::Identifier]) -> Result<Plan> {
        let (database, table) = match parts {
            [table] => (None, table),
            [database, table] => (Some(database.clone()), table),
            _ => return Err(self.unknown_identifier(parts, "expression or function")),
        };
        let name = ast::TableName { database, table: table.clone(), uuid: None, span: table.span };
        match self.table(&name) {
            Ok(source) => Ok(whole(source)),
            Err(error) if matches!(error.code, ErrorCode::UNKNOWN_TABLE | ErrorCode::UNKNOWN_DATABASE) => {
                Err(self.unknown_identifier(parts, "expression or function"))
            }
            Err(error) => Err(error),
        }
    }

    /// What a table function makes.
    ///
    /// # Errors
    /// `UNKNOWN_FUNCTION`, and what is wrong with its arguments.
    pub fn table_function(&mut self, function: &ast::Function) -> Result<Source> {
        self.analyzer.context.catalog.note(Used::TableFunction(&function.name));
        match function.name.to_ascii_lowercase().as_str() {
            "dictionary" => return self.dictionary(&function.arguments),
            "values" | "sqlstandardvalues" => return self.values(&function.arguments),
            "merge" => return self.merge(&function.arguments, None),
            "loop" => return self.repeated(&function.arguments),
            "executable" => return self.executable(function),
            "viewexplain" => return self.view_explain(&function.arguments),
            "view" => {
                if let [ast::Expression { kind: ast::ExpressionKind::Subquery(query), .. }] = &function.arguments[..] {
                    return Ok(Source::plan(self.plan_table(query)?));
                }
            }
            _ => {}
        }
        if let Some(of) = RemoteFunction::of(&function.name) {
            return self.remote(of, function);
        }
        if let Some(inner) = self.spread_function(function)? {
            return self.table_function(&inner);
        }
        if let Some(source) = self.parameterized_view(function)? {
            return Ok(source);
        }
        if let Some(setting) = function.settings.first()
            && !takes_names(&function.name)
        {
            let message = format!(
                "Invalid expression. Expected identifier, literal, matcher, function, subquery. Actual setting {}",
                setting.name
            );
            return Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, message));
        }
        let mut arguments = Vec::with_capacity(function.arguments.len());
        for argument in &function.arguments {
            let named = match takes_names(&function.name) {
                true => named_argument(&function.name, argument),
                false => argument.as_function().and_then(headers_of),
            };
            match named {
                Some(named) => arguments.push(named),
                None => arguments.extend(self.constant_arguments(argument)?),
            }
        }
        let context = self.analyzer.context;
        let table = context.catalog.table_function(&function.name, &arguments, context)?;
        Ok(Source::table(table).named(None, None))
    }

    /// The rows of a view that is called with its parameters' values: `v(a = 1)`.
    fn parameterized_view(&mut self, function: &ast::Function) -> Result<Option<Source>> {
        let named = |argument: &ast::Expression| match argument.as_function() {
            Some(call) if call.name == "equals" => match call.arguments.as_slice() {
                [name, value] => match &name.kind {
                    ast::ExpressionKind::Identifier(parts) => match parts.as_slice() {
                        [name] => Some((name.value.clone(), value.clone())),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let given: Option<Vec<(String, ast::Expression)>> = function.arguments.iter().map(named).collect();
        let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(None) };
        let (database, name) = match function.name.split_once('.') {
            Some((database, name)) => (Some(database), name),
            None => (None, function.name.as_str()),
        };
        let Ok(table) = self.analyzer.context.catalog.table(database, name) else { return Ok(None) };
        let Some(query) = table.view_query() else { return Ok(None) };
        let mut parameters = std::collections::HashMap::new();
        for (name, value) in given {
            let (value, _) = self.constant_argument(&value)?;
            let text = match &value {
                Value::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                other => other.to_string(),
            };
            parameters.insert(name, text);
        }
        view::rows(self.analyzer, &*table, query, Some(parameters)).map(Some)
    }

    /// The values of an argument that must be constants: several where it is a tuple's elements.
    fn constant_arguments(&mut self, argument: &ast::Expression) -> Result<Vec<Value>> {
        let is_several = matches!(argument.kind, ast::ExpressionKind::Matcher(_))
            || argument.as_function().is_some_and(|call| call.name == "untuple");
        if !is_several {
            return Ok(vec![self.constant_argument(argument)?.0]);
        }
        let nodes = self.arguments(std::slice::from_ref(argument))?;
        nodes.into_iter().map(|node| Ok(self.constant_of(node, argument)?.0)).collect()
    }

    fn constant_of(&self, node: NodeId, argument: &ast::Expression) -> Result<(Value, DataType)> {
        match self.graph.constant_value(node) {
            Some(value) => Ok((value.clone(), self.graph.data_type(node).clone())),
            None => Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Argument {} of a table function is not a constant", super::text::expression(argument)),
            )),
        }
    }

    /// The value and type of an argument that must be a constant.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where it is none.
    pub fn constant_argument(&mut self, argument: &ast::Expression) -> Result<(Value, DataType)> {
        // Arguments of table functions see no columns; a bare word is a name, of a table or a format.
        if let ast::ExpressionKind::Identifier(parts) = &argument.kind
            && self.known_name(parts)?.is_none()
        {
            let names = parts.iter().map(|part| self.analyzer.identifier(part)).collect::<Result<Vec<_>>>()?;
            return Ok((Value::string(names.join(".")), DataType::String));
        }
        let node = self.resolve(argument)?;
        self.constant_of(node, argument)
    }

    /// `dictionary('name')`: the dictionary's rows.
    fn dictionary(&mut self, arguments: &[ast::Expression]) -> Result<Source> {
        let [name] = arguments else {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Table function 'dictionary' requires exactly one argument",
            ));
        };
        let (name, _) = self.constant_argument(name)?;
        let name = name.as_str().unwrap_or_default();
        let table = self.analyzer.context.catalog.dictionary(name)?;
        self.load(table.loaded_by_query())?;
        Ok(Source::table(table).named(None, None))
    }

    fn add_array_join(&mut self, array_join: &ast::ArrayJoin) -> Result<()> {
        // The arrays are those of before the join, whatever names it gives to their items.
        let mut arrays = Vec::with_capacity(array_join.expressions.len());
        let mut joined = Vec::with_capacity(array_join.expressions.len());
        for expression in &array_join.expressions {
            if self.add_nested_arrays(expression, &mut arrays, &mut joined)? {
                continue;
            }
            let node = self.resolve_kind(expression)?;
            let name = self.name(expression)?;
            let item = match self.graph.data_type(node).inner() {
                DataType::Array(item) => (**item).clone(),
                map @ DataType::Map(..) => map.map_entry_type(),
                other => {
                    return Err(self.in_scope(Error::new(
                        ErrorCode::TYPE_MISMATCH,
                        format!("ARRAY JOIN requires expression {name} with Array or Map type. Actual: {other}"),
                    )));
                }
            };
            let replaces = match (&expression.alias, &expression.kind, self.graph.column_of(node)) {
                (None, ast::ExpressionKind::Identifier(_), column) => column,
                _ => None,
            };
            let name = match (&expression.alias, &expression.kind) {
                (None, ast::ExpressionKind::Identifier(parts)) => match replaces {
                    // With the dots of a nested structure's column, without what qualifies it.
                    Some(column) => self.source.name(column).into(),
                    None => parts.last().map_or_else(|| name.as_str().into(), |part| part.value.as_str().into()),
                },
                _ => name.into(),
            };
            arrays.push(node);
            joined.push(JoinedColumn { name, data_type: item, replaces });
        }
        if self.analyzer.context.settings.enable_unaligned_array_join && arrays.len() > 1 {
            self.align(&mut arrays)?;
        }
        let first_column = self.source.len();
        self.source.joined.extend(joined);
        self.source.array_joins.push(ArrayJoin { arrays, first_column, is_left: array_join.left });
        Ok(())
    }

    /// Makes arrays as long as the longest of their row, with defaults at the end.
    fn align(&mut self, arrays: &mut [NodeId]) -> Result<()> {
        let mut lengths = Vec::with_capacity(arrays.len());
        for array in arrays.iter() {
            lengths.push(self.scalar("length", vec![*array])?);
        }
        let longest = self.scalar("greatest", lengths)?;
        for array in arrays.iter_mut() {
            *array = self.scalar("arrayResize", vec![*array, longest])?;
        }
        Ok(())
    }

    /// `ARRAY JOIN n` of a nested structure: all its arrays. Whether it is one, without a name of its own for the items.
    fn add_nested_arrays(
        &mut self,
        expression: &ast::Expression,
        arrays: &mut Vec<NodeId>,
        joined: &mut Vec<JoinedColumn>,
    ) -> Result<bool> {
        let (None, ast::ExpressionKind::Identifier(parts)) = (&expression.alias, &expression.kind) else {
            return Ok(false);
        };
        let Some(columns) = self.nested_columns(parts)? else { return Ok(false) };
        for column in columns {
            let DataType::Array(item) = self.source.data_type(column).without_names() else { return Ok(false) };
            arrays.push(self.column(column)?);
            let name = self.source.name(column).into();
            joined.push(JoinedColumn { name, data_type: (*item).clone(), replaces: Some(column) });
        }
        Ok(true)
    }
}

impl Analyzer<'_> {
    /// The columns of a table function.
    ///
    /// # Errors
    /// `UNKNOWN_FUNCTION`, and what is wrong with its arguments.
    pub fn table_function_columns(&self, function: &ast::Function) -> Result<Vec<ColumnDescription>> {
        let source = Scope::without_select(self, None).table_function(function)?;
        let declared = source.as_table().map(|table| {
            let own = table.columns().len() - table.virtual_columns();
            table.columns().iter().take(own).cloned().collect()
        });
        let plan = whole(source);
        // Who may not read what a function reads does not learn its columns.
        crate::rules::check_reads(&plan, self.context)?;
        Ok(declared.unwrap_or_else(|| plan.schema().fields.iter().map(described).collect()))
    }
}

/// All rows and columns of a source.
pub(crate) fn whole(mut source: Source) -> Plan {
    let columns = source.asterisk();
    let mut graph = Graph::new(0, 0);
    let nodes: Vec<NodeId> = columns.iter().map(|column| graph.column(*column, source.data_type(*column))).collect();
    let names: Vec<Arc<str>> = columns.iter().map(|column| source.shown_name(*column).into()).collect();
    let stage = source.take_stage(&graph);
    let expressions = nodes.iter().filter_map(|node| stage.lower(*node).ok()).collect();
    project(stage.into_plan(), expressions, names.into_iter())
}

/// All rows of a source with all columns that can be read, also those that `*` does not stand for.
///
/// # Errors
/// Those of the expressions of ALIAS columns.
pub(crate) fn whole_with_hidden(analyzer: &Analyzer<'_>, source: Source) -> Result<Plan> {
    if source.as_table().is_none() {
        return Ok(whole(source));
    }
    let mut scope = Scope::without_select(analyzer, None);
    let mut columns = source.asterisk();
    let is_hidden =
        |column: &usize| matches!(source.default_kind(*column), Some(DefaultKind::Materialized | DefaultKind::Alias));
    columns.extend((0..source.table_columns()).filter(is_hidden));
    scope.source = source;
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut nodes = Vec::new();
    for column in columns {
        let name = scope.source.name(column).to_owned();
        nodes.push(scope.resolve(&ast::Expression::identifier(name.as_str()))?);
        names.push(name.into());
    }
    let graph = scope.graph;
    let stage = scope.source.take_stage(&graph);
    let missing = |_| Error::logical("a column of a table is missing");
    let expressions = nodes.iter().map(|node| stage.lower(*node)).collect::<Result<Vec<_>, _>>().map_err(missing)?;
    Ok(project(stage.into_plan(), expressions, names.into_iter()))
}

/// A plan whose columns have other names. No names at all leave it as it is.
///
/// # Errors
/// `BAD_ARGUMENTS` where the number of names is not that of the columns.
pub(crate) fn rename_columns(plan: Plan, names: &[&str]) -> Result<Plan> {
    if names.is_empty() {
        return Ok(plan);
    }
    let schema = plan.schema();
    if schema.len() != names.len() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Expected {} column names, as many as columns, got {}", schema.len(), names.len()),
        ));
    }
    let expressions =
        schema.types().enumerate().map(|(position, data_type)| Expression::column(position, data_type)).collect();
    let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
    Ok(project(plan, expressions, names.into_iter()))
}

fn illegal_final(engine: &str) -> Error {
    Error::new(ErrorCode::ILLEGAL_FINAL, format!("Storage {engine} doesn't support FINAL"))
}
