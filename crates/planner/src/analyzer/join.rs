//! JOIN in FROM: the sides become plans, ON and USING the keys and the condition of a join. Names of the result are those of both
//! sides' tables.

mod condition;

use std::sync::Arc;

use squall_sql::ast::{self, JoinConstraint, TableSource};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value, checkpoint};

use super::conversion::cast;
use super::join_keys::{key_type, with_nulls_of};
use super::scope::Scope;
use super::source::{JoinStep, JoinTree, JoinedTable, Source, TableColumn};
use super::stage::{Missing, Stage, project};
use crate::catalog::DefaultKind;
use crate::explain::text;
use crate::expression::Expression;
use crate::plan::{Inequality, Join, JoinKey, JoinKind, JoinStrictness, Nearest, Plan};
use crate::rules::all_of;

/// A side of a join: all its columns, and what they are called.
struct Side {
    plan: Plan,
    tree: JoinTree,
}

impl Side {
    fn len(&self) -> usize {
        self.plan.schema().len()
    }

    /// Adds a column that is computed from the others; its number.
    fn add(&mut self, name: &str, expression: Expression) -> usize {
        let fields = self.plan.schema().fields.clone();
        let columns = fields.iter().enumerate().map(|(at, (_, data_type))| Expression::column(at, data_type));
        let expressions = columns.chain([expression]).collect();
        let names = fields.iter().map(|(name, _)| name.clone()).chain([name.into()]).collect::<Vec<Arc<str>>>();
        self.plan.replace(|plan| project(plan, expressions, names.into_iter()));
        fields.len()
    }

    fn column(&self, column: usize) -> Expression {
        Expression::column(column, &self.plan.schema().fields[column].1)
    }
}

/// What the constraint of a join comes to.
#[derive(Default)]
struct Clauses {
    keys: Vec<JoinKey>,
    condition: Vec<Expression>,
    nearest: Option<Nearest>,
    /// The keys of USING.
    using: Vec<UsingKey>,
}

/// A key of USING: a name on the left side and one on the right, which differ in `USING (a AS b)`.
#[derive(Clone)]
struct UsingName {
    left: Arc<str>,
    right: Arc<str>,
}

/// The columns of both sides that a key of USING names. They are of one type.
struct UsingKey {
    name: UsingName,
    left: usize,
    right: usize,
}

impl Clauses {
    /// Settles what is nearest: the last column of USING, if ON said nothing.
    ///
    /// # Errors
    /// `INVALID_JOIN_ON_EXPRESSION` without an inequality, `BAD_TYPE_OF_FIELD` for types without an order of numbers.
    fn take_nearest(&mut self) -> Result<()> {
        if !self.using.is_empty() {
            let last = self.keys.pop();
            self.nearest = last.map(|JoinKey { left, right }| {
                let inequality = Inequality::GreaterOrEquals;
                Nearest { left, right, inequality }
            });
        }
        let Some(nearest) = &self.nearest else {
            return Err(Error::new(
                ErrorCode::INVALID_JOIN_ON_EXPRESSION,
                "ASOF join requires one inequality predicate (<, <=, > or >=) in the JOIN ON expression, in addition to \
                 the equality predicates.",
            ));
        };
        let data_type = nearest.left.data_type().inner();
        if !(data_type.is_any_number() || data_type.is_date_or_time() || *data_type == DataType::IPv4) {
            let message = format!("ASOF join not supported for type: {data_type}");
            return Err(Error::new(ErrorCode::BAD_TYPE_OF_FIELD, message));
        }
        // Without an equality, all rows are of one key.
        if self.keys.is_empty() {
            let one = || Expression::Constant { value: Value::UInt64(1), data_type: DataType::UInt8 };
            self.keys.push(JoinKey { left: one(), right: one() });
        }
        Ok(())
    }
}

/// Planning a join is about so many nanoseconds' work, and so many for each column.
const JOIN_WORK: usize = 10_000;
const COLUMN_WORK: usize = 200;

impl Scope<'_> {
    /// Joins a table to the source.
    ///
    /// # Errors
    /// `INVALID_JOIN_ON_EXPRESSION`, `UNKNOWN_IDENTIFIER`, `NO_COMMON_TYPE`, and those of the table.
    pub fn add_join(&mut self, join: &ast::Join) -> Result<()> {
        self.analyzer.count_join()?;
        checkpoint(JOIN_WORK + self.source.len() * COLUMN_WORK)?;
        let text: Arc<str> = join_text(join).into();
        let (kind, strictness) = self.kind_of(join)?;
        self.check_has_alias(&join.table, &text)?;
        // Arguments of table functions see no columns.
        let left = std::mem::replace(&mut self.source, Source::one());
        let right = self.table_expression(&join.table)?;
        if let (Some(table), false) = (right.as_table(), matches!(join.constraint, JoinConstraint::None)) {
            table.check_join(kind, strictness, self.analyzer.context.settings.join_use_nulls)?;
        }
        let mut left = self.side(left)?;
        // Both number their columns from zero: what the first one's graph knows of them is not of the second.
        self.begin_new_graph();
        let mut right = self.side(right)?;
        self.begin_new_graph();
        self.check_aliases_differ(&left.tree, &right.tree)?;
        let mut clauses = match &join.constraint {
            JoinConstraint::None => Clauses::default(),
            JoinConstraint::On(condition) => {
                self.on(condition, text.clone(), &mut left, &mut right, (kind, strictness))?
            }
            JoinConstraint::Using(keys) => {
                let names = keys.iter().map(|key| self.using_name(key, &text)).collect::<Result<Vec<_>>>()?;
                self.using(&names, &text, &mut left, &mut right)?
            }
            JoinConstraint::Natural => {
                let common = left.tree.tables.iter().flat_map(|table| &table.columns);
                let names: Vec<UsingName> = common
                    .filter(|column| !column.is_hidden && matches!(right.tree.find(&column.name), Ok(Some(_))))
                    .map(|column| UsingName { left: column.name.clone(), right: column.name.clone() })
                    .collect();
                self.using(&names, &text, &mut left, &mut right)?
            }
        };
        if strictness == JoinStrictness::Asof {
            clauses.take_nearest()?;
        }
        self.source = self.joined(kind, strictness, clauses, left, right, text)?;
        self.begin_new_graph();
        Ok(())
    }

    fn kind_of(&self, join: &ast::Join) -> Result<(JoinKind, JoinStrictness)> {
        let settings = self.analyzer.context.settings;
        let kind = match join.kind {
            ast::JoinKind::Inner => JoinKind::Inner,
            ast::JoinKind::Left => JoinKind::Left,
            ast::JoinKind::Right => JoinKind::Right,
            ast::JoinKind::Full => JoinKind::Full,
            ast::JoinKind::Cross if join.strictness != ast::JoinStrictness::Unspecified => {
                let message = "You must not specify ANY or ALL for CROSS JOIN.";
                return Err(Error::new(ErrorCode::SYNTAX_ERROR, message));
            }
            ast::JoinKind::Cross | ast::JoinKind::Comma => return Ok((JoinKind::Inner, JoinStrictness::All)),
            ast::JoinKind::Paste => return Ok((JoinKind::Inner, JoinStrictness::Paste)),
        };
        let any = |kind: JoinKind| match settings.any_join_distinct_right_table_keys {
            true => Ok((kind, JoinStrictness::RightAny)),
            false if kind == JoinKind::Full => {
                Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "ANY FULL JOINs are not implemented"))
            }
            false => Ok((kind, JoinStrictness::Any)),
        };
        let one_sided = |strictness| match kind {
            // LEFT is what is meant where nothing is written.
            JoinKind::Inner | JoinKind::Left => Ok((JoinKind::Left, strictness)),
            JoinKind::Right => Ok((kind, strictness)),
            JoinKind::Full => Err(Error::new(ErrorCode::SYNTAX_ERROR, "SEMI|ANTI JOIN should be LEFT or RIGHT")),
        };
        match join.strictness {
            ast::JoinStrictness::All => Ok((kind, JoinStrictness::All)),
            ast::JoinStrictness::Any => any(kind),
            ast::JoinStrictness::Semi => one_sided(JoinStrictness::Semi),
            ast::JoinStrictness::Anti => one_sided(JoinStrictness::Anti),
            ast::JoinStrictness::Asof if kind.keeps_right() => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                "Wrong ASOF JOIN type. Only ASOF and LEFT ASOF joins are supported.",
            )),
            ast::JoinStrictness::Asof => Ok((kind, JoinStrictness::Asof)),
            ast::JoinStrictness::Unspecified => match &*settings.join_default_strictness.to_ascii_uppercase() {
                "ALL" => Ok((kind, JoinStrictness::All)),
                "ANY" => any(kind),
                _ => Err(Error::new(
                    ErrorCode::EXPECTED_ALL_OR_ANY,
                    "Expected ANY or ALL in JOIN section, because setting (join_default_strictness) is empty",
                )),
            },
        }
    }

    /// `ALIAS_REQUIRED` where a subquery or a table function among the tables of a join has no name.
    pub fn check_has_alias(&self, table: &ast::TableExpression, join: &str) -> Result<()> {
        if table.alias.is_some() || !self.analyzer.context.settings.joined_subquery_requires_alias {
            return Ok(());
        }
        let shown = match &table.source {
            TableSource::Table(_) => return Ok(()),
            TableSource::Subquery(query) => super::text::query((**query).clone()),
            TableSource::Function(function) => super::text::expression(&ast::Expression {
                kind: ast::ExpressionKind::Function(function.clone()),
                alias: None,
                parenthesized: ast::Written::default(),
                span: ast::Span::default(),
            }),
        };
        Err(Error::new(
            ErrorCode::ALIAS_REQUIRED,
            format!(
                "JOIN {join} no alias for subquery or table function {shown}. In scope {} (set \
                 joined_subquery_requires_alias = 0 to disable restriction)",
                self.text()
            ),
        ))
    }

    fn check_aliases_differ(&self, left: &JoinTree, right: &JoinTree) -> Result<()> {
        let aliases =
            |tree: &JoinTree| -> Vec<Arc<str>> { tree.tables.iter().filter_map(|table| table.alias.clone()).collect() };
        let known = aliases(left);
        match aliases(right).iter().find(|alias| known.contains(alias)) {
            Some(alias) => Err(self.in_scope(Error::new(
                ErrorCode::MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                format!("Multiple table expressions with same alias {alias}"),
            ))),
            None => Ok(()),
        }
    }

    /// All columns of a source, its ARRAY JOINs done.
    fn side(&mut self, source: Source) -> Result<Side> {
        let outside = std::mem::replace(&mut self.source, source);
        let side = self.side_of_source();
        self.source = outside;
        side
    }

    fn side_of_source(&mut self) -> Result<Side> {
        if let Some((plan, tree)) = self.source.take_joined() {
            return Ok(Side { plan, tree });
        }
        let table_columns = self.source.table_columns();
        let mut nodes = Vec::with_capacity(self.source.len());
        let mut columns = Vec::with_capacity(table_columns);
        let is_visible: Vec<usize> = self.source.asterisk_of(0);
        for column in 0..table_columns {
            if self.source.default_kind(column) == Some(DefaultKind::Ephemeral) {
                continue;
            }
            let name: Arc<str> = self.source.name(column).into();
            let is_hidden = !is_visible.contains(&column)
                && !self.source.joined.iter().any(|joined| joined.replaces == Some(column));
            columns.push(TableColumn { name: name.clone(), column: nodes.len(), is_hidden });
            nodes.push((self.column(column)?, name));
        }
        // Numbers of columns as the side has them: an EPHEMERAL column has none.
        let kept: Vec<usize> = (0..table_columns)
            .filter(|column| self.source.default_kind(*column) != Some(DefaultKind::Ephemeral))
            .collect();
        let renumbered = |column: usize| kept.iter().position(|known| *known == column).unwrap_or(column);
        let mut tree = match self.source.join_tree() {
            Some(tree) => tree.clone(),
            None => {
                let Source { database, table, alias, .. } = &self.source;
                let is_stored = self.source.as_table().is_some();
                let (database, table, alias) = (database.clone(), table.clone(), alias.clone());
                JoinTree { tables: vec![JoinedTable { database, table, alias, is_stored, columns }], steps: Vec::new() }
            }
        };
        if !self.source.joined.is_empty() {
            let items: Vec<(Arc<str>, usize, Option<usize>)> = self
                .source
                .joined
                .iter()
                .enumerate()
                .map(|(at, joined)| (joined.name.clone(), nodes.len() + at, joined.replaces.map(renumbered)))
                .collect();
            for at in 0..items.len() {
                let column = table_columns + at;
                let node = self.graph.column(column, self.source.data_type(column));
                nodes.push((node, self.source.name(column).into()));
            }
            tree.steps.push(JoinStep {
                names: items.iter().map(|(name, column, _)| (name.clone(), *column)).collect(),
                renamed: Vec::new(),
                right: None,
                replaced: items.iter().filter_map(|(_, column, replaced)| Some(((*replaced)?, *column))).collect(),
                takes_keys_of_right: false,
                text: "".into(),
            });
        }
        let array_joins = self.take_array_joins();
        let Self { graph, source, .. } = self;
        let mut stage = source.take_stage(graph);
        for (arrays, is_left) in &array_joins {
            stage.array_join(arrays, *is_left)?;
        }
        let expressions = nodes.iter().map(|(node, _)| stage.lower(*node)).collect::<Result<_, Missing>>()?;
        let names = nodes.iter().map(|(_, name)| name.clone());
        Ok(Side { plan: project(stage.into_plan(), expressions, names), tree })
    }

    /// An equality with both sides of one type.
    fn key(&self, left: Expression, right: Expression, first: usize, names: &Schema) -> Result<JoinKey> {
        let functions = &self.analyzer.context.functions;
        let data_type = key_type(left.data_type(), right.data_type()).map_err(|error| {
            let (left_text, right_text) = (text(&left, names), text(&right, names));
            Error::new(
                error.code,
                format!(
                    "{}: JOIN cannot infer common type in ON section for keys. Left key '{left_text}' type {}. Right key \
                     '{right_text}' type {}",
                    error.message,
                    left.data_type(),
                    right.data_type()
                ),
            )
        })?;
        let right = right.map_columns(&|column| column - first);
        Ok(JoinKey {
            left: cast(left.clone(), &with_nulls_of(&data_type, left.data_type()), functions)?,
            right: cast(right.clone(), &with_nulls_of(&data_type, right.data_type()), functions)?,
        })
    }

    fn using_name(&self, key: &ast::Expression, join: &str) -> Result<UsingName> {
        let ast::ExpressionKind::Identifier(parts) = &key.kind else {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("JOIN {join} USING clause expected identifier. Actual: {}", super::text::expression(key)),
            ));
        };
        let names = parts.iter().map(|part| self.analyzer.identifier(part)).collect::<Result<Vec<_>>>()?;
        let left: Arc<str> = names.join(".").into();
        let right = match &key.alias {
            Some(alias) => self.analyzer.identifier(alias)?.into(),
            None => left.clone(),
        };
        Ok(UsingName { left, right })
    }

    /// An alias of the SELECT list that stands in USING: computed on the left side, under no name.
    fn using_alias(&mut self, name: &str, left: &mut Side) -> Result<Option<usize>> {
        if !self.analyzer.context.settings.analyzer_compatibility_join_using_top_level_identifier {
            return Ok(None);
        }
        let schema = left.plan.schema().clone();
        let outside = std::mem::replace(&mut self.source, Source::names_of_join(schema.clone(), left.tree.clone()));
        let node = self.alias(name);
        let expression = node.and_then(|node| {
            let Some(node) = node else { return Ok(None) };
            let columns = self.graph.columns();
            Ok(Some(Stage::at(&self.graph, Plan::no_rows(schema), columns).lower(node)?))
        });
        self.source = outside;
        self.begin_new_graph();
        Ok(expression?.map(|expression| left.add(name, expression)))
    }

    /// The keys of USING: columns of either side, which are of one type from there on.
    fn using(&mut self, names: &[UsingName], join: &str, left: &mut Side, right: &mut Side) -> Result<Clauses> {
        let mut clauses = Clauses::default();
        for name in names {
            if clauses.using.iter().any(|known| known.name.left == name.left) {
                continue;
            }
            if name.left == name.right
                && let (Ok(None), Ok(Some(right_column))) = (left.tree.find(&name.left), right.tree.find(&name.right))
                && let Some(left_column) = self.using_alias(&name.left, left)?
            {
                let mut names = left.plan.schema().fields.clone();
                names.extend(right.plan.schema().fields.iter().cloned());
                let first = left.len();
                let right_key = right.column(right_column).map_columns(&|column| column + first);
                clauses.keys.push(self.key(left.column(left_column), right_key, first, &Schema { fields: names })?);
                continue;
            }
            let functions = &self.analyzer.context.functions;
            let find = |side: &Side, name: &str, which: &str| match side.tree.find(name) {
                Ok(Some(column)) => Ok(column),
                Ok(None) => Err(self.in_scope(Error::new(
                    ErrorCode::UNKNOWN_IDENTIFIER,
                    format!("JOIN {join} using identifier '{name}' cannot be resolved from {which} table expression"),
                ))),
                Err(ambiguous) => Err(self.in_scope(Error::new(
                    ErrorCode::AMBIGUOUS_IDENTIFIER,
                    format!("JOIN {} ambiguous identifier '{name}'", ambiguous.join),
                ))),
            };
            let (left_column, right_column) = (find(left, &name.left, "left")?, find(right, &name.right, "right")?);
            let (left_key, right_key) = (left.column(left_column), right.column(right_column));
            let (left_type, right_type) = (left_key.data_type(), right_key.data_type());
            let common = match key_type(left_type, right_type) {
                Ok(common) if left_type.is_nullable() || right_type.is_nullable() => {
                    DataType::Nullable(Arc::new(common))
                }
                Ok(_) if left_type == right_type => left_type.clone(),
                Ok(common) => common,
                Err(error) => {
                    return Err(self.in_scope(Error::new(
                        error.code,
                        format!("JOIN {join} cannot infer common type for {left_type} and {right_type} in USING for identifier '{}'. {}", name.left, error.message),
                    )));
                }
            };
            let to_common = |side: &mut Side, name: &str, column: usize, key: Expression| -> Result<usize> {
                if *key.data_type() == common {
                    return Ok(column);
                }
                let added = side.add(name, cast(key, &common, functions)?);
                side.tree.renumber(|known| if known == column { added } else { known });
                Ok(added)
            };
            let left_column = to_common(left, &name.left, left_column, left_key)?;
            let right_column = to_common(right, &name.right, right_column, right_key)?;
            let plain = key_type(&common, &common)?;
            let key = |side: &Side, column: usize| -> Result<Expression> {
                let key = side.column(column);
                let data_type = with_nulls_of(&plain, key.data_type());
                cast(key, &data_type, functions)
            };
            clauses.keys.push(JoinKey { left: key(left, left_column)?, right: key(right, right_column)? });
            clauses.using.push(UsingKey { name: name.clone(), left: left_column, right: right_column });
        }
        Ok(clauses)
    }

    /// The source that a join makes.
    fn joined(
        &self,
        kind: JoinKind,
        strictness: JoinStrictness,
        clauses: Clauses,
        mut left: Side,
        right: Side,
        text: Arc<str>,
    ) -> Result<Source> {
        let functions = &self.analyzer.context.functions;
        let is_full_using = kind == JoinKind::Full && !clauses.using.is_empty();
        // Tells whether there is a left row: the default of a number is 0.
        let one = Expression::Constant { value: Value::UInt64(1), data_type: DataType::UInt8 };
        let is_there = is_full_using.then(|| left.add("is_there", one));
        // There is none with USING, so that it knows no added columns.
        let condition = all_of(clauses.condition, functions)?;
        let first = left.len();
        let use_nulls = self.analyzer.context.settings.join_use_nulls;
        let field = |(at, (name, data_type)): (usize, &(Arc<str>, DataType)), may_be_missing: bool| {
            let makes_null = use_nulls && may_be_missing && Some(at) != is_there;
            (name.clone(), if makes_null { nullable(data_type) } else { data_type.clone() })
        };
        let left_schema = left.plan.schema().clone();
        let of_left = left_schema.fields.iter().enumerate().map(|numbered| field(numbered, kind.keeps_right()));
        let of_right =
            right.plan.schema().fields.iter().map(|of_right| field((usize::MAX, of_right), kind.keeps_left()));
        let schema = Arc::new(Schema { fields: of_left.chain(of_right).collect() });
        let mut tree = both(&left.tree, &right.tree, first, text);
        let mut plan = Plan::Join(Join {
            left_columns: (0..first).collect(),
            right_columns: (0..right.len()).collect(),
            left: Box::new(left.plan),
            right: Box::new(right.plan),
            kind,
            strictness,
            keys: clauses.keys,
            condition,
            nearest: clauses.nearest,
            runtime_filter: None,
            schema: schema.clone(),
        });
        let (mut names, mut renamed) = (Vec::with_capacity(clauses.using.len()), Vec::new());
        let mut merged: Vec<(Arc<str>, Expression)> = Vec::new();
        for UsingKey { name, left: left_column, right: right_column } in clauses.using {
            let column = |at: usize| Expression::column(at, &schema.fields[at].1);
            let number = match is_there {
                Some(is_there) => {
                    let arguments = vec![column(is_there), column(left_column), column(first + right_column)];
                    merged.push((name.left.clone(), crate::rules::call("if", arguments, functions)?));
                    schema.len() + merged.len() - 1
                }
                None if kind == JoinKind::Right => first + right_column,
                None => left_column,
            };
            if name.left == name.right { &mut names } else { &mut renamed }.push((name.left, number));
        }
        if !merged.is_empty() {
            let columns =
                schema.fields.iter().enumerate().map(|(at, (_, data_type))| Expression::column(at, data_type));
            let (added_names, added): (Vec<_>, Vec<_>) = merged.into_iter().unzip();
            let expressions = columns.chain(added).collect();
            let all_names = schema.fields.iter().map(|(name, _)| name.clone()).chain(added_names);
            plan = project(plan, expressions, all_names.collect::<Vec<_>>().into_iter());
        }
        if let Some(step) = tree.steps.last_mut() {
            step.takes_keys_of_right = kind == JoinKind::Right && !names.is_empty();
            step.names = names;
            step.renamed = renamed;
        }
        Ok(Source::joined(plan, tree))
    }
}

/// The names of both sides: the right one's columns come after the first `first`. The join is the last step.
fn both(left: &JoinTree, right: &JoinTree, first: usize, text: Arc<str>) -> JoinTree {
    let (mut tree, mut right) = (left.clone(), right.clone());
    right.renumber(|column| column + first);
    let at = tree.tables.len();
    tree.tables.append(&mut right.tables);
    tree.steps.push(JoinStep {
        names: Vec::new(),
        renamed: Vec::new(),
        right: Some(at),
        replaced: Vec::new(),
        takes_keys_of_right: false,
        text,
    });
    tree
}

/// The columns' names as ClickHouse's messages have them: `__table1.a`.
fn tree_names(source: &Source, schema: &Schema) -> Schema {
    let mut fields = schema.fields.clone();
    for (number, table) in source.join_tree().into_iter().flat_map(|tree| &tree.tables).enumerate() {
        for column in &table.columns {
            if let Some((name, _)) = fields.get_mut(column.column) {
                *name = format!("__table{}.{}", number + 1, column.name).into();
            }
        }
    }
    Schema { fields }
}

/// The type of a column that may be missing, with `join_use_nulls`.
fn nullable(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LowCardinality(inner) if !inner.is_nullable() && inner.can_be_inside_nullable() => {
            DataType::LowCardinality(Arc::new(DataType::Nullable(inner.clone())))
        }
        other if !other.is_nullable() && other.can_be_inside_nullable() => DataType::Nullable(Arc::new(other.clone())),
        other => other.clone(),
    }
}

/// A join in messages: ` INNER JOIN ... ON a = b`.
pub(super) fn join_text(join: &ast::Join) -> String {
    let strictness = match join.strictness {
        ast::JoinStrictness::Unspecified => "",
        ast::JoinStrictness::All => "ALL ",
        ast::JoinStrictness::Any => "ANY ",
        ast::JoinStrictness::Asof => "ASOF ",
        ast::JoinStrictness::Semi => "SEMI ",
        ast::JoinStrictness::Anti => "ANTI ",
    };
    let kind = match join.kind {
        ast::JoinKind::Inner => "INNER",
        ast::JoinKind::Left => "LEFT",
        ast::JoinKind::Right => "RIGHT",
        ast::JoinKind::Full => "FULL",
        ast::JoinKind::Cross | ast::JoinKind::Comma => "CROSS",
        ast::JoinKind::Paste => "PASTE",
    };
    let constraint = match &join.constraint {
        JoinConstraint::None | JoinConstraint::Natural => String::new(),
        JoinConstraint::On(condition) => format!(" ON {}", super::text::expression(condition)),
        JoinConstraint::Using(keys) => {
            let keys: Vec<String> = keys.iter().map(super::text::expression).collect();
            format!(" USING ({})", keys.join(", "))
        }
    };
    format!(" {strictness}{kind} JOIN ...{constraint}")
}
