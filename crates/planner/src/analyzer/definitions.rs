//! Expressions of a table's definition: defaults, which refer to other columns of the same row, and keys.

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value, default_value};

use super::graph::NodeId;
use super::scope::{Local, Scope};
use super::stage::Stage;
use super::{Analyzer, text};
use crate::catalog::{ColumnDescription, DefaultKind};
use crate::definition::Constraint;
use crate::expression::Expression;
use crate::plan::Plan;

/// The columns of a row that is being made from given ones.
pub(crate) struct Definitions<'q> {
    scope: Scope<'q>,
    columns: &'q [ColumnDescription],
    states: Vec<State<'q>>,
    /// The columns whose defaults are being resolved, outermost first.
    path: Vec<usize>,
}

#[derive(Clone, Copy)]
enum State<'q> {
    New,
    /// It comes as column `at` of what comes in, not of its own type or perhaps NULL for its default.
    Given {
        at: usize,
        from: &'q DataType,
    },
    InProgress,
    Known(NodeId),
}

impl<'q> Definitions<'q> {
    /// A row of these columns, of which none is given yet.
    pub fn new(analyzer: &'q Analyzer<'q>, columns: &'q [ColumnDescription]) -> Self {
        let scope = Scope::without_select(analyzer, None);
        Self { scope, columns, states: vec![State::New; columns.len()], path: Vec::new() }
    }

    /// A column is given as column `at`, of type `from`, of what comes in; it is converted to its own type.
    pub fn give(&mut self, position: usize, at: usize, from: &'q DataType) {
        self.set(position, State::Given { at, from });
    }

    /// A column that is given, converted to its own type; NULL in a column that takes none is its default.
    fn given(&mut self, position: usize, at: usize, from: &DataType) -> Result<NodeId> {
        let Some(column) = self.columns.get(position) else { return Err(Error::logical("no such column")) };
        let node = self.scope.graph.column(at, from);
        let takes_default = from.is_nullable()
            && !column.data_type.is_nullable()
            && self.scope.analyzer.context.settings.insert_null_as_default;
        if !takes_default {
            return self.converted(node, column);
        }
        let default = self.default_of(position)?;
        if *from.inner() == DataType::Nothing {
            return Ok(default);
        }
        let is_null = self.scope.scalar("isNull", vec![node])?;
        let value = self.scope.scalar("assumeNotNull", vec![node])?;
        let value = self.converted(value, column)?;
        self.scope.scalar("if", vec![is_null, default, value])
    }

    fn converted(&mut self, node: NodeId, column: &ColumnDescription) -> Result<NodeId> {
        self.cast(node, &column.data_type).map_err(|error| {
            error.context(format_args!("while converting source column to destination column {}", column.name))
        })
    }

    /// The expression of a column over what comes in.
    ///
    /// # Errors
    /// Those of its default's expression.
    pub fn expression(&mut self, position: usize) -> Result<Expression> {
        let node = self.node(position)?;
        self.lower(node)
    }

    /// The expression of a column that also checks whether the row meets these constraints of its table, and whether the arrays of each
    /// of these nested structures have one length.
    ///
    /// # Errors
    /// Those of the constraints' expressions.
    pub fn checked(
        &mut self,
        position: usize,
        table: &str,
        constraints: &[Constraint],
        nested: &[Vec<usize>],
    ) -> Result<Expression> {
        let mut node = self.node(position)?;
        let data_type = self.scope.graph.data_type(node).clone();
        for positions in nested {
            let always = self.scope.graph.constant(Value::UInt64(1), DataType::UInt8);
            let mut arguments = vec![always];
            for position in positions {
                arguments.push(self.node(*position)?);
            }
            let check = self.scope.scalar("validateNestedArraySizes", arguments)?;
            node = self.scope.scalar("if", vec![check, node, node])?;
        }
        for constraint in constraints.iter().filter(|constraint| !constraint.is_assumed) {
            let expression = text::parse_expression(&constraint.sql)?;
            let condition = self.resolve_over_columns(&expression, None)?;
            let message =
                format!("Constraint `{}` for table {table}, expression ({})", constraint.name, constraint.sql);
            let message = self.scope.graph.constant(Value::string(message), DataType::String);
            let check = self.scope.scalar("__checkConstraint", vec![condition, message])?;
            // Whatever the check gives, the value is the column's; the check must run for it.
            node = self.scope.scalar("if", vec![check, node, node])?;
        }
        // Dictionaries inside of arrays do not come out of a function.
        if *self.scope.graph.data_type(node) != data_type {
            node = self.cast(node, &data_type)?;
        }
        self.lower(node)
    }

    /// The expression of `node` over what comes in.
    fn lower(&self, node: NodeId) -> Result<Expression> {
        // The plan is never looked at: expressions refer to what comes in by position.
        let graph = &self.scope.graph;
        let stage = Stage::at(graph, Plan::one_row(), graph.columns());
        Ok(stage.lower(node)?)
    }

    /// The type that an expression over the columns has, each column by its own name and type.
    ///
    /// # Errors
    /// Everything that can be wrong with an expression.
    pub fn resolve(&mut self, expression: &ast::Expression) -> Result<Expression> {
        let node = self.resolve_over_columns(expression, None)?;
        self.lower(node)
    }

    fn node(&mut self, position: usize) -> Result<NodeId> {
        let given = match self.states.get(position) {
            Some(State::Known(node)) => return Ok(*node),
            Some(State::New) => None,
            Some(State::Given { at, from }) => Some((*at, *from)),
            Some(State::InProgress) => {
                let names: Vec<&str> = self.path.iter().chain([&position]).map(|at| self.name(*at)).collect();
                return Err(Error::new(
                    ErrorCode::CYCLIC_ALIASES,
                    format!("Cyclic alias detected in column DEFAULT expressions: {}", names.join(" -> ")),
                ));
            }
            None => return Err(Error::logical("no such column")),
        };
        self.set(position, State::InProgress);
        self.path.push(position);
        let node = match given {
            Some((at, from)) => self.given(position, at, from),
            None => self.default_of(position),
        };
        self.path.pop();
        let node = node?;
        self.set(position, State::Known(node));
        Ok(node)
    }

    /// What a column is where it is not given.
    fn default_of(&mut self, position: usize) -> Result<NodeId> {
        let Some(column) = self.columns.get(position) else { return Err(Error::logical("no such column")) };
        let default = column.default.as_ref().filter(|default| {
            // A bare EPHEMERAL has no expression.
            !(default.kind == DefaultKind::Ephemeral && default.expression.is_empty())
        });
        let Some(default) = default else {
            let is_given = |at: &usize| matches!(self.states.get(*at), Some(State::Given { .. } | State::Known(_)));
            let mut others = self.columns.iter().enumerate().filter(|(_, other)| column.is_nested_with(other));
            if let Some((sibling, _)) = others.find(|(at, _)| is_given(at)) {
                // The arrays of a nested structure have one length.
                let sibling = self.node(sibling)?;
                let length = self.scope.scalar("length", vec![sibling])?;
                let none = self.scope.graph.constant(default_value(&column.data_type), column.data_type.clone());
                let filled = self.scope.scalar("arrayResize", vec![none, length])?;
                return self.cast(filled, &column.data_type);
            }
            return Ok(self.scope.graph.constant(default_value(&column.data_type), column.data_type.clone()));
        };
        let expression = text::parse_expression(&default.expression)?;
        let node = self.resolve_over_columns(&expression, Some(position))?;
        self.cast(node, &column.data_type)
    }

    /// Resolves an expression whose names are the row's columns.
    fn resolve_over_columns(&mut self, expression: &ast::Expression, of: Option<usize>) -> Result<NodeId> {
        let mut names = Vec::new();
        collect_names(expression, &mut names)?;
        let mut locals = Vec::new();
        for parts in names {
            for length in (1..=parts.len()).rev() {
                let name = parts.iter().take(length).map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
                let found = self.columns.iter().position(|column| *column.name == *name);
                if let Some(position) = found {
                    let node = self.node(position)?;
                    locals.push(Local { name: name.as_str().into(), node, shown: name });
                    break;
                }
            }
        }
        let outer = std::mem::replace(&mut self.scope.locals, locals);
        let result = self.scope.with_own_aliases(|scope| scope.resolve(expression));
        self.scope.locals = outer;
        let node = result.map_err(|error| match error.code {
            ErrorCode::UNKNOWN_IDENTIFIER => self.missing(expression, error),
            _ => error,
        })?;
        self.scope.check_not_aggregated(
            node,
            if of.is_some() {
                "is found in column DEFAULT expression in query"
            } else {
                "is found in wrong place in query"
            },
        )?;
        Ok(node)
    }

    fn missing(&self, expression: &ast::Expression, error: Error) -> Error {
        let mut names = Vec::new();
        if collect_names(expression, &mut names).is_err() {
            return error;
        }
        let is_column = |name: &str| self.columns.iter().any(|column| *column.name == *name);
        let missing =
            names.iter().map(|parts| parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."));
        match missing.into_iter().find(|name| !is_column(name)) {
            Some(name) => Error::new(
                ErrorCode::UNKNOWN_IDENTIFIER,
                format!("Missing columns: '{name}' while processing: '{}'", text::expression(expression)),
            ),
            None => error,
        }
    }

    fn cast(&mut self, node: NodeId, to: &DataType) -> Result<NodeId> {
        if self.scope.graph.data_type(node) == to {
            return Ok(node);
        }
        let name = self.scope.graph.constant(Value::string(to.to_string()), DataType::String);
        self.scope.scalar("CAST", vec![node, name])
    }

    fn set(&mut self, position: usize, state: State<'q>) {
        if let Some(known) = self.states.get_mut(position) {
            *known = state;
        }
    }

    fn name(&self, position: usize) -> &str {
        self.columns.get(position).map_or("", |column| &column.name)
    }
}

/// The names that an expression uses.
fn collect_names<'e>(expression: &'e ast::Expression, names: &mut Vec<&'e [ast::Identifier]>) -> Result<()> {
    match &expression.kind {
        ast::ExpressionKind::Identifier(parts) => names.push(parts),
        ast::ExpressionKind::Function(call) => {
            for argument in call.parameters.iter().flatten().chain(&call.arguments) {
                collect_names(argument, names)?;
            }
        }
        ast::ExpressionKind::Lambda(lambda) => collect_names(&lambda.body, names)?,
        ast::ExpressionKind::Subquery(_) => {
            return Err(Error::new(
                ErrorCode::THERE_IS_NO_DEFAULT_VALUE,
                "Select query is not allowed in columns DEFAULT expression",
            ));
        }
        ast::ExpressionKind::Literal(_) | ast::ExpressionKind::Parameter(_) | ast::ExpressionKind::Matcher(_) => {}
    }
    Ok(())
}

impl Analyzer<'_> {
    /// The columns of a schema that an asterisk or COLUMNS stands for.
    ///
    /// # Errors
    /// Those of its transformers.
    pub fn matched_names(&self, matcher: &ast::Matcher, schema: &Schema) -> Result<Vec<String>> {
        let mut scope = Scope::without_select(self, None);
        let columns = Plan::no_rows(std::sync::Arc::new(schema.clone()));
        scope.source = super::source::Source::plan(columns);
        Ok(scope.expand(matcher)?.into_iter().map(|(_, name)| name).collect())
    }
}
