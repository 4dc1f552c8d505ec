//! Asterisks and `COLUMNS(…)`: the columns that they stand for, and what `APPLY`, `EXCEPT` and `REPLACE` make of them.

use squall_functions::{aggregate_exists, scalar_exists, unknown_function};
use squall_sql::ast::{self, ColumnTransformer, MatchedColumns};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::graph::NodeId;
use super::scope::{Local, Scope};

/// One column that a matcher stands for.
struct Matched {
    /// The column's own name, which `EXCEPT` and `REPLACE` go by.
    column: String,
    node: NodeId,
    /// Its name in results.
    shown: String,
    /// What REPLACE put in its place, for the names of functions of it.
    replaced: Option<String>,
}

impl Matched {
    fn new(column: String, node: NodeId, shown: String) -> Self {
        Self { column, node, shown, replaced: None }
    }

    /// Its name within those of functions of it.
    fn operand(&self) -> &str {
        self.replaced.as_deref().unwrap_or(&self.shown)
    }
}

impl Scope<'_> {
    /// The columns that a matcher stands for, with their names in results.
    ///
    /// # Errors
    /// `UNKNOWN_IDENTIFIER`, and those of the transformers' expressions.
    pub fn expand(&mut self, matcher: &ast::Matcher) -> Result<Vec<(NodeId, String)>> {
        let mut matched = self.matched(matcher)?;
        for transformer in &matcher.transformers {
            self.transform(transformer, &mut matched)?;
        }
        for _ in &matched {
            self.analyzer.count_element()?;
        }
        Ok(matched.into_iter().map(|matched| (matched.node, matched.shown)).collect())
    }

    fn matched(&mut self, matcher: &ast::Matcher) -> Result<Vec<Matched>> {
        if let MatchedColumns::List(expressions) = &matcher.columns {
            let mut matched = Vec::with_capacity(expressions.len());
            for expression in expressions {
                let node = self.resolve(expression)?;
                let shown = self.name(expression)?;
                matched.push(Matched::new(shown.clone(), node, shown));
            }
            return Ok(matched);
        }
        let qualifier = &matcher.qualifier[..];
        let table = match qualifier.len() {
            1 | 2 => self.qualified_table(qualifier, qualifier.len())?,
            _ => None,
        };
        let mut columns = match table {
            Some(table) => self.source.asterisk_of(table),
            None if qualifier.is_empty() => self.source.asterisk(),
            None => return self.tuple_elements(qualifier),
        };
        if let MatchedColumns::Regexp(pattern) = &matcher.columns {
            let mut kept = Vec::new();
            for column in columns {
                let name = self.source.name(column).to_owned();
                if self.matches(&name, pattern)? {
                    kept.push(column);
                }
            }
            columns = kept;
        }
        columns
            .into_iter()
            .map(|column| {
                let (name, mut shown) = (self.source.name(column).to_owned(), self.source.shown_name(column));
                if self.has_alias(&shown) {
                    shown = self.source.qualified_name(column);
                }
                Ok(Matched::new(name, self.column(column)?, shown))
            })
            .collect()
    }

    /// `tuple.*`.
    fn tuple_elements(&mut self, qualifier: &[ast::Identifier]) -> Result<Vec<Matched>> {
        let tuple = match self.identifier(qualifier)? {
            Some(node) => node,
            None => {
                let text = qualifier.iter().map(|part| self.analyzer.identifier(part));
                let text = text.collect::<Result<Vec<_>>>()?.join(".");
                return Err(self.in_scope(Error::new(
                    ErrorCode::UNKNOWN_IDENTIFIER,
                    format!("Qualified matcher {text}.* does not find table"),
                )));
            }
        };
        let DataType::Tuple(elements) = self.graph.data_type(tuple).without_names() else {
            return Err(self.in_scope(Error::new(
                ErrorCode::UNSUPPORTED_METHOD,
                format!("Qualified matcher expects a tuple, not {}", self.graph.data_type(tuple)),
            )));
        };
        let prefix = qualifier.iter().map(|part| self.analyzer.identifier(part)).collect::<Result<Vec<_>>>()?.join(".");
        let mut matched = Vec::with_capacity(elements.len());
        for (at, element) in elements.iter().enumerate() {
            let name = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
            let number = self.graph.constant(Value::UInt64(at as u64 + 1), DataType::UInt64);
            let node = self.scalar("tupleElement", vec![tuple, number])?;
            let shown = format!("{prefix}.{name}");
            matched.push(Matched::new(name, node, shown));
        }
        Ok(matched)
    }

    /// Whether a regular expression finds something in a name.
    ///
    /// # Errors
    /// `CANNOT_COMPILE_REGEXP`.
    pub fn matches(&mut self, name: &str, pattern: &str) -> Result<bool> {
        let name = self.graph.constant(Value::string(name), DataType::String);
        let pattern = self.graph.constant(Value::string(pattern), DataType::String);
        let node = self.scalar("match", vec![name, pattern])?;
        Ok(self.graph.constant_value(node).and_then(Value::as_u64) == Some(1))
    }

    fn transform(&mut self, transformer: &ColumnTransformer, matched: &mut Vec<Matched>) -> Result<()> {
        match transformer {
            ColumnTransformer::ApplyFunction { name, parameters, .. } => {
                for matched in matched {
                    (matched.node, matched.shown) = self.apply(name, parameters, matched)?;
                    matched.replaced = None;
                    // It is no column any more, for what follows.
                    matched.column.clone_from(&matched.shown);
                }
            }
            ColumnTransformer::ApplyLambda { lambda, .. } => {
                let [parameter] = &lambda.parameters[..] else {
                    return Err(self.in_scope(Error::new(
                        ErrorCode::SYNTAX_ERROR,
                        format!("APPLY needs a lambda of one argument, not of {}", lambda.parameters.len()),
                    )));
                };
                let name = self.analyzer.identifier(parameter)?;
                for matched in matched {
                    self.locals.push(Local {
                        name: name.into(),
                        node: matched.node,
                        shown: matched.operand().to_owned(),
                    });
                    let result = self.resolve(&lambda.body).and_then(|node| Ok((node, self.name(&lambda.body)?)));
                    self.locals.pop();
                    (matched.node, matched.shown) = result?;
                    matched.replaced = None;
                    matched.column.clone_from(&matched.shown);
                }
            }
            ColumnTransformer::Except { columns, strict } => {
                let names =
                    columns.iter().map(|column| self.analyzer.identifier(column)).collect::<Result<Vec<_>>>()?;
                if *strict {
                    let list = names.join(", ");
                    let text = if names.len() == 1 { format!("EXCEPT {list}") } else { format!("EXCEPT ({list})") };
                    self.check_strict("EXCEPT", &text, &names, matched)?;
                }
                matched.retain(|matched| !names.contains(&matched.column.as_str()));
            }
            ColumnTransformer::ExceptRegexp(pattern) => {
                let mut kept = Vec::new();
                for one in matched.drain(..) {
                    if !self.matches(&one.column, pattern)? {
                        kept.push(one);
                    }
                }
                *matched = kept;
            }
            ColumnTransformer::Replace { items, strict } => {
                let names =
                    items.iter().map(|(_, column)| self.analyzer.identifier(column)).collect::<Result<Vec<_>>>()?;
                if *strict {
                    let texts = items.iter().zip(&names);
                    let texts = texts.map(|((item, _), name)| format!("{} AS {name}", super::text::expression(item)));
                    let text = format!("REPLACE ({})", texts.collect::<Vec<_>>().join(", "));
                    self.check_strict("REPLACE", &text, &names, matched)?;
                }
                for ((expression, _), name) in items.iter().zip(names) {
                    for matched in matched.iter_mut().filter(|matched| matched.column == name) {
                        matched.node = self.resolve_kind(expression)?;
                        matched.replaced = Some(self.name(expression)?);
                    }
                }
            }
        }
        Ok(())
    }

    fn check_strict(&self, what: &str, text: &str, names: &[&str], matched: &[Matched]) -> Result<()> {
        let missing: Vec<&str> =
            names.iter().copied().filter(|name| !matched.iter().any(|matched| matched.column == *name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let list = missing.join(", ");
        Err(self.in_scope(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Strict {what} column transformer {text} expects following column(s) : {list}"),
        )))
    }

    fn apply(&mut self, name: &str, parameters: &[ast::Expression], to: &Matched) -> Result<(NodeId, String)> {
        if parameters.is_empty() && scalar_exists(name) {
            return Ok((self.scalar(name, vec![to.node])?, format!("{name}({})", to.operand())));
        }
        let mut values = Vec::with_capacity(parameters.len());
        let mut shown = name.to_owned();
        for (at, parameter) in parameters.iter().enumerate() {
            let node = self.resolve(parameter)?;
            let Some(value) = self.graph.constant_value(node).cloned() else {
                return Err(self.in_scope(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Parameter for function '{name}' expected to have constant value. Actual: {}",
                        super::text::expression(parameter)
                    ),
                )));
            };
            shown.push_str(if at == 0 { "(" } else { ", " });
            super::append_constant(&mut shown, &value);
            values.push(value);
        }
        if !parameters.is_empty() {
            shown.push(')');
        }
        shown = format!("{shown}({})", to.operand());
        let own = self.aggregate_name(name).into_owned();
        if !aggregate_exists(&own) {
            return Err(self.in_scope(unknown_function(name)));
        }
        Ok((self.aggregate_of(&own, &values, vec![to.node], shown.clone())?, shown))
    }
}
