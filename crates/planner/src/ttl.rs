//! TTL: when rows and values of a table expire, and what becomes of them then. A definition keeps it as text; here the text is checked and
//! bound to the table's columns. Applying it to rows is `storage`'s business.

use std::sync::Arc;

use squall_functions::{AggregateFunction, FunctionContext, Moment, aggregate_exists, resolve_aggregate};
use squall_sql::ast::{self, MoveDestination};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::alteration::Identifiers;
use crate::analyzer::{expand, text, typed_literal};
use crate::bind::bind_parsed;
use crate::catalog::ColumnDescription;
use crate::codec::{self, ColumnCodec, ColumnCompression};
use crate::context::PlannerContext;
use crate::definition::TableDefinition;
use crate::expression::Expression;

/// The one disk, and the one volume, that tables have.
const DISK: &str = "default";

/// What expires in a table.
#[derive(Clone, Debug, Default)]
pub struct TableTtl {
    /// Elements of the table's TTL in their order, then the TTL of columns.
    pub elements: Vec<Ttl>,
}

/// One element.
#[derive(Clone, Debug)]
pub struct Ttl {
    /// All of it in SQL; of a column with its name before it. Parts know the element by it.
    pub key: Arc<str>,
    /// The moment in SQL.
    pub sql: Arc<str>,
    /// The same in seconds since 1970, as a `UInt32`; 0 is never, and what is later than 2106 is the last moment of all.
    pub moment: Expression,
    /// What happens then.
    pub action: TtlAction,
}

/// What happens when the moment has come.
#[derive(Clone, Debug)]
pub enum TtlAction {
    /// Rows go; where there is a condition, those that meet it.
    Delete(Option<Expression>),
    /// Rows of equal keys become one.
    Group(TtlGroups),
    /// The files of parts all of whose rows are so old are compressed anew.
    Recompress {
        /// The codec in SQL.
        sql: Arc<str>,
        /// What it is.
        compression: ColumnCompression,
    },
    /// Rows move to where they are already.
    Stay,
    /// The column's value becomes its default.
    Reset {
        /// The column's position.
        column: usize,
    },
}

/// How rows of equal keys become one.
#[derive(Clone, Debug)]
pub struct TtlGroups {
    /// How many expressions of the sorting key rows have in common.
    pub keys: usize,
    /// Aggregates over the table's columns.
    pub aggregates: Vec<(Arc<dyn AggregateFunction>, Vec<Expression>)>,
    /// By their positions, the columns that have another value than that of the group's first row: an expression over the table's columns,
    /// which are those of that row, and the aggregates after them.
    pub values: Vec<(usize, Expression)>,
}

impl TableTtl {
    /// Binds what a definition says.
    ///
    /// # Errors
    /// `BAD_TTL_EXPRESSION` for a moment that is none, for groups that are not those of a prefix of the primary key, and for disks that are
    /// not there; `ILLEGAL_COLUMN` for a column of a key; `UNKNOWN_IDENTIFIER`, `UNKNOWN_CODEC` and whatever is wrong with an expression.
    pub fn bind(definition: &TableDefinition, functions: &FunctionContext) -> Result<Self> {
        let binding = Binding { definition, functions };
        let mut elements = Vec::with_capacity(definition.ttl.len());
        for sql in &definition.ttl {
            elements.push(binding.element(sql)?);
        }
        let is_plain = |element: &&Ttl| matches!(element.action, TtlAction::Delete(None));
        if elements.iter().filter(is_plain).count() > 1 {
            return Err(bad("More than one DELETE TTL expression without WHERE expression is not allowed"));
        }
        let keys = definition.key_columns();
        for (column, described) in definition.columns.iter().enumerate() {
            let Some(sql) = &described.ttl else { continue };
            let name = &described.name;
            if keys.iter().any(|key| **key == **name) {
                let message = format!("Trying to set TTL for key column {name}");
                return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
            }
            let moment = binding.moment(&text::parse_expression(sql)?)?;
            if !described.is_stored() {
                // There is nothing that could expire.
                continue;
            }
            elements.push(Ttl {
                key: format!("{name}: {sql}").into(),
                sql: sql.clone(),
                moment,
                action: TtlAction::Reset { column },
            });
        }
        Ok(Self { elements })
    }
}

/// The elements of a TTL clause as definitions keep them.
///
/// # Errors
/// Where a function that SQL defined is called wrongly.
pub(crate) fn declared(elements: &[ast::TtlElement], context: &PlannerContext<'_>) -> Result<Vec<Arc<str>>> {
    let declared = |element: &ast::TtlElement| {
        let mut element = element.clone();
        expand(&mut element.expression, context.catalog)?;
        element.filter.iter_mut().try_for_each(|filter| expand(filter, context.catalog))?;
        if let ast::TtlAction::GroupBy { assignments, .. } = &mut element.action {
            assignments.iter_mut().try_for_each(|set| expand(&mut set.expression, context.catalog))?;
        }
        Ok(squall_sql::format_ttl(&element).into())
    };
    elements.iter().map(declared).collect()
}

/// An element with a column under another name.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(crate) fn renamed_in(element: &str, from: &str, to: &str) -> Result<Arc<str>> {
    let mut parsed = parse(element)?;
    let mut identifiers = Identifiers::renaming(from, to);
    parsed.expression.walk(&mut identifiers);
    parsed.filter.iter_mut().for_each(|filter| filter.walk(&mut identifiers));
    if let ast::TtlAction::GroupBy { key, assignments } = &mut parsed.action {
        key.iter_mut().for_each(|part| part.walk(&mut identifiers));
        for assignment in assignments {
            assignment.expression.walk(&mut identifiers);
            if assignment.column == from {
                assignment.column = to.to_owned();
            }
        }
    }
    Ok(squall_sql::format_ttl(&parsed).into())
}

/// An element of its text.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(crate) fn parse(element: &str) -> Result<ast::TtlElement> {
    squall_sql::parse_ttl(element, &squall_sql::ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))
}

/// Checks the TTL of a definition that a statement makes, as [`TableTtl::bind`] and for what is most likely a mistake.
///
/// # Errors
/// Those; `BAD_ARGUMENTS` for a moment that no column has a part in or that is another each time it is asked for.
pub(crate) fn check(definition: &TableDefinition, context: &PlannerContext<'_>) -> Result<()> {
    if !definition.has_ttl() {
        return Ok(());
    }
    let engine = &definition.engine;
    if !engine.ends_with("MergeTree") {
        let message = format!("Engine {engine} doesn't support TTL clause");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let moment = Moment::default();
    let functions = FunctionContext { moment: moment.clone(), ..context.functions.clone() };
    let bound = TableTtl::bind(definition, &functions)?;
    if context.settings.allow_suspicious_ttl_expressions {
        return Ok(());
    }
    for element in &bound.elements {
        let mut columns = 0;
        element.moment.visit_columns(&mut |_| columns += 1);
        if columns == 0 {
            let message = format!("TTL expression {} does not depend on any of the columns of the table", element.sql);
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if !element.moment.is_deterministic() || moment.was_asked() {
            let message = format!("TTL expression cannot contain non-deterministic functions: {}", element.sql);
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
    }
    Ok(())
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_TTL_EXPRESSION, message)
}

struct Binding<'a> {
    definition: &'a TableDefinition,
    functions: &'a FunctionContext,
}

impl Binding<'_> {
    fn element(&self, sql: &Arc<str>) -> Result<Ttl> {
        let element = parse(sql)?;
        let action = match &element.action {
            ast::TtlAction::Delete => {
                TtlAction::Delete(element.filter.as_ref().map(|filter| self.condition(filter)).transpose()?)
            }
            ast::TtlAction::GroupBy { key, assignments } => TtlAction::Group(self.groups(key, assignments)?),
            ast::TtlAction::Recompress(codecs) => {
                // As of bytes: it is for all columns that name no codec.
                let sql = codec::declared(codecs, &DataType::String, true)?;
                let compression = ColumnCodec::parse(&sql, &DataType::String)?.compression;
                TtlAction::Recompress { sql, compression }
            }
            ast::TtlAction::Move { destination, if_exists } => {
                let (kind, name) = match destination {
                    MoveDestination::Disk(name) => ("disk", name),
                    MoveDestination::Volume(name) => ("volume", name),
                    MoveDestination::Table(_) | MoveDestination::Shard(_) => {
                        return Err(bad("Rows expire to a disk or a volume"));
                    }
                };
                if name != DISK && !if_exists {
                    return Err(bad(format!("No such {kind} `{name}` for given storage policy")));
                }
                TtlAction::Stay
            }
        };
        let moment = self.moment(&element.expression)?;
        Ok(Ttl { key: sql.clone(), sql: text::expression(&element.expression).into(), moment, action })
    }

    /// Whether rows meet a condition, as 0 or 1: NULL is no.
    fn condition(&self, filter: &ast::Expression) -> Result<Expression> {
        self.bound(filter)?;
        self.bound(&text::parse_expression(&format!("ifNull({}, 0) != 0", text::expression(filter)))?)
    }

    /// An expression over the columns that parts have.
    fn bound(&self, expression: &ast::Expression) -> Result<Expression> {
        let columns = &self.definition.columns;
        let bound = bind_parsed(expression, columns, self.functions)?;
        let mut missing = None;
        bound.visit_columns(&mut |position| {
            missing = missing.or(columns.get(position).filter(|column| !column.is_stored()).map(|column| &column.name));
        });
        match missing {
            Some(name) => {
                let sql = text::expression(expression);
                let message = format!("Missing columns: '{name}' while processing: '{sql}'");
                Err(Error::new(ErrorCode::UNKNOWN_IDENTIFIER, message))
            }
            None => Ok(bound),
        }
    }

    fn moment(&self, expression: &ast::Expression) -> Result<Expression> {
        let bound = self.bound(expression)?;
        let data_type = bound.data_type();
        if !matches!(data_type, DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..)) {
            return Err(bad(format!(
                "TTL expression result column should have Date, Date32, DateTime or DateTime64 type, but has {data_type}"
            )));
        }
        // A moment may be after 2106, where a DateTime ends, or before 1970. What is after is the last one, which does not come; what is
        // before is the second after 1970, since 0 is never: -1 becomes 1.
        let (zero, before) = (ast::Literal::UInt64(0), ast::Literal::Int64(-1));
        let last = ast::Literal::UInt64(u32::MAX.into());
        let literal = ast::Expression::literal;
        let call = |name: &str, arguments: Vec<ast::Expression>| ast::Expression::function(name, arguments);
        let time = call("toDateTime64", vec![expression.clone(), literal(zero)]);
        let seconds = call("toUnixTimestamp64Second", vec![time]);
        let from_1970 = call("abs", vec![call("greatest", vec![seconds, literal(before)])]);
        self.bound(&call("toUInt32", vec![call("least", vec![from_1970, literal(last)])]))
    }

    fn groups(&self, key: &[ast::Expression], assignments: &[ast::Assignment]) -> Result<TtlGroups> {
        let TableDefinition { columns, sorting_key, primary_key, .. } = self.definition;
        // `GROUP BY (a, b)` is `GROUP BY a, b`.
        let key = match key {
            [one] => match one.as_function() {
                Some(call) if call.name == "tuple" => &call.arguments[..],
                _ => key,
            },
            _ => key,
        };
        let primary_key = primary_key.as_ref().unwrap_or(sorting_key);
        let keys: Vec<Expression> = key.iter().map(|part| self.bound(part)).collect::<Result<_>>()?;
        let is_prefix = keys.len() <= primary_key.len()
            && keys.iter().zip(primary_key).all(|(part, primary)| part.same(&primary.expression));
        if !is_prefix {
            return Err(bad("TTL Expression GROUP BY key should be a prefix of primary key"));
        }
        let mut groups = TtlGroups { keys: keys.len(), aggregates: Vec::new(), values: Vec::new() };
        for assignment in assignments {
            let name = &assignment.column;
            let position = columns.iter().position(|column| *column.name == **name && column.is_stored());
            let position = position.ok_or_else(|| {
                let message = format!("There is no physical column {name} in table");
                Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
            })?;
            if groups.values.iter().any(|(known, _)| *known == position) {
                return Err(bad("Multiple aggregations set for one column in TTL Expression"));
            }
            self.assign(&mut groups, position, &assignment.expression)?;
        }
        Ok(groups)
    }

    /// Adds what a column becomes in a group.
    fn assign(&self, groups: &mut TtlGroups, column: usize, expression: &ast::Expression) -> Result<()> {
        let (mut outer, mut calls) = (expression.clone(), Calls::default());
        outer.walk(&mut calls);
        if calls.found.is_empty() {
            let name = self.definition.columns.get(column).map_or("", |column| &*column.name);
            return Err(bad(format!(
                "Invalid expression for assignment of column {name}. Should contain an aggregate function"
            )));
        }
        // What the outer expression is over: the table's columns, aggregates of before, and its own.
        let mut columns = self.definition.columns.clone();
        let before = groups.aggregates.len();
        let hidden = |at: usize| format!("__aggregate_{at}");
        columns.extend(groups.aggregates.iter().enumerate().map(|(at, (function, _))| {
            ColumnDescription::new(format!("{}_of_another", hidden(at)), function.return_type().clone())
        }));
        for (at, call) in calls.found.iter().enumerate() {
            let arguments: Vec<Expression> =
                call.arguments.iter().map(|argument| self.bound(argument)).collect::<Result<_>>()?;
            let parameter = |parameter: &ast::Expression| match parameter.as_literal() {
                Some(literal) => Ok(typed_literal(literal)?.0),
                None => Err(bad(format!("A parameter of {} is no literal", call.name))),
            };
            let parameters = call.parameters.iter().flatten().map(parameter).collect::<Result<Vec<_>>>()?;
            let types: Vec<DataType> = arguments.iter().map(|argument| argument.data_type().computed()).collect();
            let function = resolve_aggregate(&call.name, &parameters, &types)?;
            columns.push(ColumnDescription::new(hidden(at), function.return_type().clone()));
            groups.aggregates.push((function, arguments));
        }
        debug_assert_eq!(columns.len(), self.definition.columns.len() + before + calls.found.len());
        groups.values.push((column, bind_parsed(&outer, &columns, self.functions)?));
        Ok(())
    }
}

/// The aggregates of an expression, in whose place names are put.
#[derive(Default)]
struct Calls {
    found: Vec<ast::Function>,
}

impl ast::Visitor for Calls {
    fn expression(&mut self, expression: &mut ast::Expression) -> bool {
        let Some(call) = expression.as_function().filter(|call| call.over.is_none() && aggregate_exists(&call.name))
        else {
            return true;
        };
        self.found.push(call.clone());
        *expression = ast::Expression::identifier(format!("__aggregate_{}", self.found.len() - 1));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::bind_expression;
    use crate::definition::KeyExpression;

    fn bind(elements: &[&str]) -> Result<TableTtl> {
        let functions = FunctionContext::outside_queries("UTC");
        let columns = vec![
            ColumnDescription::new("k", DataType::UInt64),
            ColumnDescription::new("t", DataType::parse("DateTime").unwrap()),
            ColumnDescription::new("x", DataType::UInt8),
        ];
        let key = |sql: &str| KeyExpression {
            sql: sql.into(),
            expression: bind_expression(sql, &columns, &functions).unwrap(),
        };
        let definition = TableDefinition {
            engine: "MergeTree".into(),
            sorting_key: vec![key("k"), key("toDate(t)"), key("t")],
            ttl: elements.iter().map(|element| (*element).into()).collect(),
            columns: columns.clone(),
            ..TableDefinition::default()
        };
        TableTtl::bind(&definition, &functions)
    }

    #[test]
    fn elements_are_bound() {
        let bound = bind(&[
            "t + toIntervalDay(1) WHERE x = 1",
            "t + toIntervalDay(2)",
            "t RECOMPRESS CODEC(ZSTD(3))",
            "toDate(t) TO DISK 'default'",
            "t GROUP BY k SET x = max(x) + min(x)",
        ])
        .unwrap();
        assert!(bound.elements.iter().all(|element| *element.moment.data_type() == DataType::UInt32));
        assert_eq!(&*bound.elements[0].sql, "t + toIntervalDay(1)");
        let TtlAction::Group(groups) = &bound.elements[4].action else { panic!() };
        assert_eq!((groups.keys, groups.aggregates.len(), groups.values.len()), (1, 2, 1));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let code = |element: &str| bind(&[element]).unwrap_err().code;
        assert_eq!(code("k"), ErrorCode::BAD_TTL_EXPRESSION);
        assert_eq!(code("t GROUP BY x SET k = max(k)"), ErrorCode::BAD_TTL_EXPRESSION);
        assert_eq!(code("t GROUP BY k SET x = t"), ErrorCode::BAD_TTL_EXPRESSION);
        assert_eq!(code("t GROUP BY k SET x = max(x), x = min(x)"), ErrorCode::BAD_TTL_EXPRESSION);
        assert_eq!(code("t GROUP BY k SET z = max(x)"), ErrorCode::NO_SUCH_COLUMN_IN_TABLE);
        assert_eq!(code("t TO DISK 'slow'"), ErrorCode::BAD_TTL_EXPRESSION);
        assert_eq!(code("t WHERE z"), ErrorCode::UNKNOWN_IDENTIFIER);
        assert_eq!(bind(&["t", "t + 1"]).unwrap_err().code, ErrorCode::BAD_TTL_EXPRESSION);
    }
}
