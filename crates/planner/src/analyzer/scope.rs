//! The names of one SELECT: its aliases, its common table expressions, the columns of its source, and what it sees of the
//! queries around it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use hashbrown::HashMap;
use squall_sql::ast::{self, ExpressionKind, WithItem};
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, Value};

use super::Analyzer;
use super::graph::{Graph, NodeId};
use super::grouping::AfterGrouping;
use super::source::Source;
use crate::plan::Plan;

/// What a subquery sees of the query around it.
pub(crate) trait Outer {
    /// The plan of a common table expression.
    fn common_table(&self, name: &str) -> Result<Option<Plan>>;

    /// The value of an alias, where it is a constant.
    fn constant(&self, name: &str) -> Result<Option<(Value, DataType)>>;

    /// The number and the type of a column of the query around, which the subquery then reads for each of that query's rows.
    fn column(&self, name: &[ast::Identifier]) -> Result<Option<(usize, DataType)>>;

    /// Whether the subquery stands in an expression: messages then show it in parentheses.
    fn is_expression(&self) -> bool {
        false
    }
}

/// The names of one SELECT and the expressions that they were resolved to.
pub(crate) struct Scope<'q> {
    pub analyzer: &'q Analyzer<'q>,
    pub outer: Option<&'q dyn Outer>,
    /// The SELECT, for messages.
    select: Option<&'q ast::Select>,
    pub graph: Graph,
    pub source: Source,
    aliases: HashMap<&'q str, Alias<'q>>,
    common_tables: Vec<CommonTable<'q>>,
    /// Aliases of tables in FROM that are being resolved, as another table is named by them.
    pub from_aliases: Vec<String>,
    /// The arguments of the lambdas around the expression that is being resolved, innermost last.
    pub locals: Vec<Local>,
    /// How many lambdas are around the expression that is being resolved.
    pub lambda_depth: u32,
    /// Whether what is being resolved is an expression of its own: a default, the body of a function of SQL.
    pub has_own_aliases: bool,
    /// Whether what is being resolved stands in the table's definition: its names mean the table's columns alone.
    pub is_of_table: bool,
    /// An aggregate that was met within another.
    pub nested_aggregate: Option<NodeId>,
    /// How many expressions are being resolved right now, one within the other.
    pub depth: u64,
    /// Subqueries that stand for a value, by the query's address: their numbers in names of results, and what they stand for.
    pub subqueries: HashMap<*const ast::Query, Subquery>,
    /// Expressions of ALIAS columns, kept so that addresses of queries stay unique.
    pub parsed: Vec<ast::Expression>,
    /// Whether arguments of an aggregate are being resolved.
    pub in_aggregate: bool,
    /// Whether large sets may be joined where an expression is being resolved: in SELECT's own list, PREWHERE and WHERE.
    pub joins_sets: bool,
    /// What is known of the keys once rows are grouped.
    pub after_grouping: Option<AfterGrouping>,
    /// Whether something was resolved that the keys of GROUP BY must be known for.
    pub needs_keys: bool,
}

/// A name that a lambda or the like gives: an argument of it, or an alias in it.
pub(crate) struct Local {
    /// Its name.
    pub name: Arc<str>,
    /// What it stands for.
    pub node: NodeId,
    /// What it is called in names of results.
    pub shown: String,
}

/// An expression with a name.
#[derive(Clone, Copy)]
struct Alias<'q> {
    expression: &'q ast::Expression,
    state: AliasState,
}

#[derive(Clone, Copy)]
enum AliasState {
    New,
    /// Being resolved: its name means a column.
    InProgress,
    Resolved(NodeId),
}

pub(super) struct CommonTable<'q> {
    name: &'q str,
    columns: &'q [ast::Identifier],
    query: &'q ast::Query,
    /// Whether it may read its own rows: `WITH RECURSIVE`.
    pub is_recursive: bool,
    /// Whether it is computed once, however often it is read: `AS MATERIALIZED`.
    is_materialized: bool,
    /// While it is planned its name means what it means outside.
    is_in_progress: Cell<bool>,
    /// Its rows, where they were computed; while it is computed recursively, those of the last step.
    pub rows: RefCell<Option<KeptRows>>,
    /// Whether its rows were read.
    pub was_read: Cell<bool>,
}

/// Rows that are part of a plan.
#[derive(Clone)]
pub(super) struct KeptRows {
    pub schema: Arc<Schema>,
    pub blocks: Vec<Block>,
}

impl KeptRows {
    pub fn plan(self) -> Plan {
        Plan::Values { schema: self.schema, blocks: self.blocks }
    }
}

impl<'q> CommonTable<'q> {
    /// Its name.
    pub fn name(&self) -> &'q str {
        self.name
    }

    /// Its query.
    pub fn body(&self) -> &'q ast::QueryBody {
        &self.query.body
    }

    /// The operands of its UNION, of which the first is where recursion begins; `None` where it is none.
    pub fn union(&self) -> Option<&'q ast::SetOperation> {
        match &self.query.body {
            ast::QueryBody::SetOperation(operation) if operation.operator == ast::SetOperator::Union => Some(operation),
            _ => None,
        }
    }
}

impl<'q> Scope<'q> {
    /// The names of a SELECT, still without a source.
    ///
    /// # Errors
    /// `MULTIPLE_EXPRESSIONS_FOR_ALIAS`.
    pub fn new(analyzer: &'q Analyzer<'q>, outer: Option<&'q dyn Outer>, select: &'q ast::Select) -> Result<Self> {
        let mut scope = Self::without_select(analyzer, outer);
        scope.select = Some(select);
        scope.add_with(&select.with, select.recursive)?;
        for expression in expressions(select).chain(table_function_arguments(select)) {
            scope.add_aliases(expression)?;
        }
        for window in &select.windows {
            scope.add_window_aliases(&window.definition)?;
        }
        scope.check_windows()?;
        Ok(scope)
    }

    /// Names of a `WITH` alone: what every SELECT of a UNION sees of the first one's.
    ///
    /// # Errors
    /// `MULTIPLE_EXPRESSIONS_FOR_ALIAS`.
    pub fn of_with(analyzer: &'q Analyzer<'q>, outer: Option<&'q dyn Outer>, first: &'q ast::Select) -> Result<Self> {
        let mut scope = Self::without_select(analyzer, outer);
        scope.add_with(&first.with, first.recursive)?;
        Ok(scope)
    }

    /// No names of its own.
    pub fn without_select(analyzer: &'q Analyzer<'q>, outer: Option<&'q dyn Outer>) -> Self {
        let settings = analyzer.context.settings;
        Self {
            analyzer,
            outer,
            select: None,
            graph: Graph::new(super::elements_max(settings), settings.max_ast_depth),
            source: Source::one(),
            aliases: HashMap::new(),
            common_tables: Vec::new(),
            from_aliases: Vec::new(),
            locals: Vec::new(),
            lambda_depth: 0,
            has_own_aliases: false,
            is_of_table: false,
            nested_aggregate: None,
            depth: 0,
            subqueries: HashMap::new(),
            parsed: Vec::new(),
            in_aggregate: false,
            after_grouping: None,
            joins_sets: false,
            needs_keys: false,
        }
    }

    /// The same names without anything resolved yet: for what is to be known while this scope is busy.
    pub fn aside(&self) -> Self {
        let mut aside = Scope::without_select(self.analyzer, self.outer);
        aside.source = self.source.names();
        aside.aliases = self.aliases.iter().map(|(name, alias)| (*name, alias.reset())).collect();
        aside
    }

    fn add_with(&mut self, with: &'q [WithItem], is_recursive: bool) -> Result<()> {
        for item in with {
            match item {
                WithItem::Expression(expression) => self.add_aliases(expression)?,
                WithItem::Table { name, columns, query, materialized } => {
                    let name = self.analyzer.identifier(name)?;
                    if self.common_tables.iter().any(|known| known.name == name) {
                        return Err(Error::new(
                            ErrorCode::MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                            format!("CTE with name {name} already exists"),
                        ));
                    }
                    self.common_tables.push(CommonTable {
                        name,
                        columns,
                        query,
                        is_recursive,
                        is_materialized: *materialized && self.analyzer.context.settings.enable_materialized_cte,
                        is_in_progress: Cell::new(false),
                        rows: RefCell::new(None),
                        was_read: Cell::new(false),
                    });
                }
            }
        }
        Ok(())
    }

    fn add_aliases(&mut self, expression: &'q ast::Expression) -> Result<()> {
        if let Some(alias) = &expression.alias {
            let name = self.analyzer.identifier(alias)?;
            match self.aliases.get(name) {
                None => {
                    self.aliases.insert(name, Alias { expression, state: AliasState::New });
                }
                Some(known) if known.expression == expression => {}
                Some(known) => {
                    let first = super::text::expression(known.expression);
                    let second = super::text::expression(expression);
                    return Err(self.in_scope(Error::new(
                        ErrorCode::MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                        format!("Multiple expressions {second} and {first} for alias {name}"),
                    )));
                }
            }
        }
        if let ExpressionKind::Matcher(matcher) = &expression.kind {
            for transformer in &matcher.transformers {
                if let ast::ColumnTransformer::Replace { items, .. } = transformer {
                    items.iter().try_for_each(|(replacement, _)| self.add_aliases(replacement))?;
                }
            }
        }
        if let ExpressionKind::Function(function) = &expression.kind {
            for argument in function.parameters.iter().flatten().chain(&function.arguments) {
                self.add_aliases(argument)?;
            }
            if let Some(ast::Over::Definition(window)) = function.over.as_deref() {
                self.add_window_aliases(window)?;
            }
        }
        Ok(())
    }

    fn add_window_aliases(&mut self, window: &'q ast::WindowDefinition) -> Result<()> {
        let order_by = window.order_by.iter().flat_map(|order_by| &order_by.items);
        window
            .partition_by
            .iter()
            .chain(order_by.map(|item| &item.expression))
            .try_for_each(|key| self.add_aliases(key))
    }

    /// Forgets the nodes of all expressions: what they were computed from is now below a step of the plan.
    pub fn begin_new_graph(&mut self) -> Graph {
        let settings = self.analyzer.context.settings;
        let graph = Graph::new(settings.max_expanded_ast_elements, settings.max_ast_depth);
        self.forget_aliases();
        self.subqueries.values_mut().for_each(|subquery| (subquery.node, subquery.joined) = (None, None));
        std::mem::replace(&mut self.graph, graph)
    }

    /// Resolves an expression of its own, whose aliases mean nothing elsewhere.
    ///
    /// # Errors
    /// Those of `resolve`; `TOO_DEEP_SUBQUERIES` and the like where such expressions are one in the other without an end.
    pub fn with_own_aliases<T>(&mut self, resolve: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let analyzer = self.analyzer;
        let (names, outside) = (self.locals.len(), std::mem::replace(&mut self.has_own_aliases, true));
        let resolved = analyzer.nested(|| resolve(self));
        self.locals.truncate(names);
        self.has_own_aliases = outside;
        resolved
    }

    /// Resolves an expression of the table's definition: whatever the query gives its columns' names to, they mean the columns.
    ///
    /// # Errors
    /// As [`with_own_aliases`](Self::with_own_aliases).
    pub fn of_table<T>(&mut self, resolve: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (aliases, locals) = (std::mem::take(&mut self.aliases), std::mem::take(&mut self.locals));
        let outside = std::mem::replace(&mut self.is_of_table, true);
        let resolved = self.with_own_aliases(resolve);
        (self.aliases, self.locals, self.is_of_table) = (aliases, locals, outside);
        resolved
    }

    /// Forgets what aliases were resolved to, as they now mean other nodes.
    pub fn forget_aliases(&mut self) {
        self.aliases.values_mut().for_each(|alias| *alias = alias.reset());
    }

    /// The SELECT's named windows.
    pub fn windows(&self) -> &'q [ast::NamedWindow] {
        self.select.map_or(&[], |select| &select.windows)
    }

    /// The node of an expression that carries an alias, in its own place. There its own name means a column: `a + 1 AS a`. (Where
    /// the name is used it is resolved anew, as in ClickHouse: aliases in a circle mean different things in different places.)
    ///
    /// # Errors
    /// Those of the expression.
    pub fn aliased(&mut self, alias: &ast::Identifier, expression: &ast::Expression) -> Result<NodeId> {
        let name = self.analyzer.identifier(alias)?;
        // Neither the expressions of ARRAY JOINs nor those in lambdas are among the aliases.
        let own = self.aliases.get_mut(name).filter(|known| std::ptr::eq(known.expression, expression));
        let before = own.map(|own| std::mem::replace(&mut own.state, AliasState::InProgress));
        let is_own = before.is_some();
        let result = self.resolve_kind(expression);
        if let (Ok(node), false, true) = (&result, is_own, self.lambda_depth > 0 || self.has_own_aliases) {
            // Within a lambda, a function of SQL or a default an alias is known from here to its end.
            self.locals.push(Local { name: name.into(), node: *node, shown: name.to_owned() });
        }
        if let (Some(before), Some(own)) = (before, self.aliases.get_mut(name)) {
            own.state = before;
        }
        result
    }

    /// The node of an alias; `None` where there is none of this name, or where the name stands in its own expression.
    ///
    /// # Errors
    /// Those of the expression.
    pub fn alias(&mut self, name: &str) -> Result<Option<NodeId>> {
        let Some(alias) = self.aliases.get_mut(name) else { return Ok(None) };
        if matches!(alias.expression.kind, ExpressionKind::Lambda(_)) {
            // A lambda's name means nothing where a value stands.
            return Ok(None);
        }
        match alias.state {
            AliasState::Resolved(node) => return Ok(Some(node)),
            AliasState::InProgress => return Ok(None),
            AliasState::New => {}
        }
        let expression = alias.expression;
        alias.state = AliasState::InProgress;
        // An alias means the same wherever it is used, also within a lambda that binds one of its names.
        let locals = std::mem::take(&mut self.locals);
        let lambda_depth = std::mem::take(&mut self.lambda_depth);
        let result = match &expression.kind {
            // An alias of a name that means nothing here leaves its own name to the columns.
            ExpressionKind::Identifier(parts) => self.identifier(parts),
            _ => self.resolve_kind(expression).map(Some),
        };
        self.locals = locals;
        self.lambda_depth = lambda_depth;
        if let Some(alias) = self.aliases.get_mut(name) {
            alias.state = match &result {
                Ok(Some(node)) => AliasState::Resolved(*node),
                _ => AliasState::New,
            };
        }
        result
    }

    /// The plan of a part of a common table expression, under the names of its columns.
    ///
    /// # Errors
    /// Those of the query.
    pub(super) fn common_table_body(&self, table: &CommonTable<'_>, body: &'q ast::QueryBody) -> Result<Plan> {
        let plan = self.analyzer.plan_within(body, Some(self))?;
        let names = table.columns.iter().map(|column| self.analyzer.identifier(column));
        super::from::rename_columns(plan, &names.collect::<Result<Vec<&str>>>()?)
    }

    /// Whether this SELECT's WITH has a table of this name that can be read here.
    pub(super) fn has_common_table(&self, name: &str) -> bool {
        self.common_tables.iter().any(|known| known.name == name && !known.is_in_progress.get())
    }

    /// The SELECT.
    pub(super) fn select(&self) -> Option<&'q ast::Select> {
        self.select
    }

    /// The lambda that a name stands for: `WITH x -> x + 1 AS f`.
    pub fn lambda(&self, name: &str) -> Option<&'q ast::Lambda> {
        match &self.aliases.get(name)?.expression.kind {
            ExpressionKind::Lambda(lambda) => Some(lambda),
            _ => None,
        }
    }

    /// The expressions of the SELECT, clause by clause.
    pub fn expressions(&self) -> Vec<&'q ast::Expression> {
        self.select.map_or_else(Vec::new, |select| {
            let with = select.with.iter().filter_map(|item| match item {
                WithItem::Expression(expression) => Some(expression),
                WithItem::Table { .. } => None,
            });
            with.chain(expressions(select)).collect()
        })
    }

    /// Whether an alias of this name is there.
    pub fn has_alias(&self, name: &str) -> bool {
        self.aliases.contains_key(name)
    }

    /// The names of all aliases.
    pub fn alias_names(&self) -> impl Iterator<Item = &str> {
        self.aliases.keys().copied()
    }

    /// The SELECT in one line, for messages.
    pub fn text(&self) -> String {
        let text = self.select.map_or_else(String::new, |select| super::text::select(select.clone()));
        if self.outer.is_some_and(Outer::is_expression) { format!("({text})") } else { text }
    }

    /// The error with `. In scope SELECT …` after its message.
    pub fn in_scope(&self, error: Error) -> Error {
        self.with_scope(error, ". In scope ")
    }

    /// The same after a colon, as ClickHouse has it for the errors of functions.
    pub fn in_scope_of_call(&self, error: Error) -> Error {
        self.with_scope(error, ": In scope ")
    }

    fn with_scope(&self, mut error: Error, separator: &str) -> Error {
        if self.select.is_some() && !error.message.contains("In scope ") {
            error.message.push_str(separator);
            error.message.push_str(&self.text());
        }
        error
    }
}

/// The expressions of a SELECT that may hold aliases, but for its WITH.
fn expressions(select: &ast::Select) -> impl Iterator<Item = &ast::Expression> {
    let order_by = select.order_by.iter().flat_map(|order| order.items.iter().map(|item| &item.expression));
    let (group_by, sets): (&[ast::Expression], &[Vec<ast::Expression>]) = match &select.group_by {
        Some(ast::GroupBy::Expressions(keys) | ast::GroupBy::Rollup(keys) | ast::GroupBy::Cube(keys)) => (keys, &[]),
        Some(ast::GroupBy::GroupingSets(sets)) => (&[], sets),
        Some(ast::GroupBy::All) | None => (&[], &[]),
    };
    let group_by = group_by.iter().chain(sets.iter().flatten());
    let limit_by = select.limit_by.iter().flat_map(|limit| &limit.by);
    let clauses = [&select.prewhere, &select.filter, &select.having, &select.qualify];
    select.projection.iter().chain(clauses.into_iter().flatten()).chain(group_by).chain(order_by).chain(limit_by)
}

/// The arguments of the table functions of FROM, whose aliases mean the same constants in the other clauses.
fn table_function_arguments(select: &ast::Select) -> impl Iterator<Item = &ast::Expression> {
    fn joined(step: &ast::FromStep) -> Option<&ast::TableExpression> {
        match step {
            ast::FromStep::Join(join) => Some(&join.table),
            ast::FromStep::ArrayJoin(_) => None,
        }
    }
    let tables = select.from.iter().flat_map(|from| from.table.iter().chain(from.steps.iter().filter_map(joined)));
    tables.flat_map(|table| match &table.source {
        ast::TableSource::Function(function) => &function.arguments[..],
        ast::TableSource::Table(_) | ast::TableSource::Subquery(_) => &[],
    })
}

impl Outer for Scope<'_> {
    fn common_table(&self, name: &str) -> Result<Option<Plan>> {
        let can_be_read = |known: &&CommonTable<'_>| !known.is_in_progress.get() || known.rows.borrow().is_some();
        let found = self.common_tables.iter().find(|known| known.name == name && can_be_read(known));
        let Some(found) = found else {
            return self.outer.map_or(Ok(None), |outer| outer.common_table(name));
        };
        self.analyzer.next_subquery();
        if let Some(rows) = &*found.rows.borrow() {
            found.was_read.set(true);
            return Ok(Some(rows.clone().plan()));
        }
        found.is_in_progress.set(true);
        let plan = match found.is_recursive {
            true => self.recursive_table(found),
            false => self.common_table_body(found, &found.query.body),
        };
        found.is_in_progress.set(false);
        let plan = plan?;
        if !found.is_materialized {
            return Ok(Some(plan));
        }
        let schema = plan.schema().clone();
        let rows = KeptRows { blocks: self.run(plan)?, schema };
        *found.rows.borrow_mut() = Some(rows.clone());
        Ok(Some(rows.plan()))
    }

    fn constant(&self, name: &str) -> Result<Option<(Value, DataType)>> {
        if let Some(alias) = self.aliases.get(name) {
            // Resolved on its own: this scope is busy with the expression that the subquery is part of.
            let mut alone = Scope::without_select(self.analyzer, self.outer);
            alone.aliases = self.aliases.iter().map(|(name, alias)| (*name, alias.reset())).collect();
            if let AliasState::InProgress = alias.state {
                return Ok(None);
            }
            if let Ok(Some(node)) = alone.alias(name)
                && let Some(value) = alone.graph.constant_value(node)
            {
                return Ok(Some((value.clone(), alone.graph.data_type(node).clone())));
            }
        }
        self.outer.map_or(Ok(None), |outer| outer.constant(name))
    }

    /// A subquery in FROM sees nothing of the tables beside it, only what is around all of them.
    fn column(&self, name: &[ast::Identifier]) -> Result<Option<(usize, DataType)>> {
        self.outer.map_or(Ok(None), |outer| outer.column(name))
    }
}

impl Alias<'_> {
    /// The alias as seen from another graph, where nothing is resolved yet.
    fn reset(&self) -> Self {
        let state = match self.state {
            AliasState::Resolved(_) | AliasState::New => AliasState::New,
            AliasState::InProgress => AliasState::InProgress,
        };
        Self { expression: self.expression, state }
    }
}

/// A subquery that was run.
pub(crate) struct Subquery {
    /// Its number in names of results.
    pub number: u64,
    /// The constant that a scalar subquery is.
    pub node: Option<NodeId>,
    /// A value that was looked for among its rows, and whether it was found.
    pub joined: Option<(NodeId, NodeId)>,
}
