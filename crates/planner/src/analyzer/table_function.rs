//! Table functions that stand for other tables: `merge`, and `remote`, `cluster` and their kin. They become plans over those tables;
//! functions that make rows of their own are the catalog's.

use std::sync::Arc;

use squall_sql::ast::{self, ExpressionKind};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value, default_value};

use super::conversion::cast;
use super::from::{whole, whole_with_hidden};
use super::literal::typed_literal;
use super::scope::Scope;
use super::source::Source;
use super::{Analyzer, text};
use crate::catalog::{Program, RemoteCall, RemoteServers, RemoteTarget};
use crate::context::PlannerContext;
use crate::create::plan_setting;
use crate::expression::Expression;
use crate::plan::Plan;
use crate::structure::plan_structure;

/// A table that `merge` found: its names and its rows.
struct Merged {
    database: String,
    name: String,
    plan: Plan,
}

/// The functions over tables of other servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RemoteFunction {
    /// `remote('host:port', database.table[, user[, password]])`.
    Remote,
    /// The same under TLS.
    RemoteSecure,
    /// `cluster('name', database.table)`: one replica of each shard.
    Cluster,
    /// `clusterAllReplicas('name', database.table)`: all of them.
    ClusterAllReplicas,
}

impl RemoteFunction {
    /// The function of a name, in whatever case it is written.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "remote" => Self::Remote,
            "remotesecure" => Self::RemoteSecure,
            "cluster" => Self::Cluster,
            "clusterallreplicas" => Self::ClusterAllReplicas,
            _ => return None,
        })
    }
}

/// What a call of `remote`, `cluster` or their kin means; `None` for other functions.
///
/// # Errors
/// What is wrong with its arguments.
pub fn remote_call(function: &ast::Function, context: &PlannerContext<'_>) -> Result<Option<RemoteCall>> {
    let Some(of) = RemoteFunction::of(&function.name) else { return Ok(None) };
    let analyzer = Analyzer::new(context);
    Scope::without_select(&analyzer, None).remote_call(of, function).map(Some)
}

/// The argument `headers('name' = 'value', …)` of a table function over web servers; `None` for another one.
pub fn headers_of(call: &ast::Function) -> Option<Value> {
    let text = |expression: &ast::Expression| expression.as_literal()?.as_str().map(Value::string);
    let header = |header: &ast::Expression| match header.as_function()? {
        ast::Function { name, arguments, .. } if name == "equals" => match &arguments[..] {
            [name, value] => Some((text(name)?, text(value)?)),
            _ => None,
        },
        _ => None,
    };
    let headers = call.arguments.iter().map(header).collect::<Option<Vec<_>>>()?;
    (call.name == "headers").then(|| Value::Map(headers.into()))
}

/// Whether a table function is over objects of S3, or of what speaks its protocol.
pub fn is_over_s3(function: &str) -> bool {
    matches!(function, "s3" | "gcs" | "oss" | "cosn")
}

/// Whether a table function takes arguments with names, also those of a collection.
pub fn takes_names(function: &str) -> bool {
    is_over_s3(function) || matches!(function, "postgresql" | "mysql")
}

/// An argument of a function that takes names that is no plain value: a bare name is a tuple of itself, `format = 'CSV'` one of a name and a value,
/// and `headers(…)` a map; of another server's table `(SELECT …)` is what `query` names, as text. `None` for another one.
pub fn named_argument(function: &str, argument: &ast::Expression) -> Option<Value> {
    if let ExpressionKind::Subquery(query) = &argument.kind
        && !is_over_s3(function)
    {
        let text = squall_sql::format_one_line(&ast::Statement::Query(query.clone()));
        return Some(Value::Tuple([Value::string("query"), Value::string(text)].into()));
    }
    let name = |argument: &ast::Expression| match &argument.kind {
        ExpressionKind::Identifier(parts) => {
            Some(Value::string(parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")))
        }
        _ => None,
    };
    if let Some(name) = name(argument) {
        return Some(Value::Tuple([name].into()));
    }
    let call = argument.as_function()?;
    match &call.arguments[..] {
        [left, right] if call.name == "equals" => {
            let (value, _) = typed_literal(right.as_literal()?).ok()?;
            Some(Value::Tuple([name(left)?, value].into()))
        }
        _ => headers_of(call),
    }
}

impl Scope<'_> {
    /// `merge('database', 'regexp')`, `merge('regexp')`: the rows of all tables whose names match, with the columns of any of
    /// them, and the virtual columns `_database` and `_table`. The first argument may be `REGEXP('…')` for the databases; a table of the
    /// engine Merge does not read itself, which is `but`.
    ///
    /// # Errors
    /// `CANNOT_EXTRACT_TABLE_STRUCTURE` where no table matches, `UNKNOWN_DATABASE`, `CANNOT_COMPILE_REGEXP`.
    pub fn merge(&mut self, arguments: &[ast::Expression], but: Option<(&str, &str)>) -> Result<Source> {
        let (databases, pattern) = match arguments {
            [pattern] => (vec![self.analyzer.context.functions.current_database.to_string()], pattern),
            [databases, pattern] => match databases.as_function() {
                Some(call) if call.name.eq_ignore_ascii_case("regexp") => {
                    let Some(of) = call.arguments.first() else { return Err(no_table("merge")) };
                    let of = self.name_argument(of)?;
                    let mut found = Vec::new();
                    for name in self.analyzer.context.catalog.databases() {
                        if self.matches(&name, &of)? {
                            found.push(name);
                        }
                    }
                    (found, pattern)
                }
                _ => {
                    let name = self.name_argument(databases)?;
                    let current = &self.analyzer.context.functions.current_database;
                    (vec![if name.is_empty() { current.to_string() } else { name }], pattern)
                }
            },
            _ => {
                return Err(Error::new(
                    ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function 'merge' requires from 1 to 2 parameters: merge(['db_name',] 'tables_regexp')",
                ));
            }
        };
        let pattern = self.name_argument(pattern)?;
        let mut merged = Vec::new();
        for database in databases {
            for name in self.analyzer.context.catalog.tables(&database)? {
                if but != Some((&database, &name)) && self.matches(&name, &pattern)? {
                    let source = self.table_of(Some(&database), &name)?;
                    let plan = match but {
                        // A table of the engine Merge says itself which columns it has.
                        Some(_) => whole_with_hidden(self.analyzer, source)?,
                        None => whole(source),
                    };
                    merged.push(Merged { database: database.clone(), name, plan });
                }
            }
        }
        if merged.is_empty() {
            return Err(Error::new(
                ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE,
                "There are no tables satisfied provided regexp, you must specify table structure manually",
            ));
        }
        let fields = common_fields(&merged)?;
        let mut inputs = Vec::with_capacity(merged.len());
        for table in merged {
            inputs.push(self.with_fields(table, &fields)?);
        }
        let schema = inputs.first().map(|input| input.schema().clone()).unwrap_or_default();
        let virtual_columns = schema.len() - fields.len();
        Ok(Source::plan(Plan::Union { inputs, schema }).with_virtual_columns(virtual_columns))
    }

    /// `loop([database, ]table)`, `loop(function(…))`: the rows again and again.
    ///
    /// # Errors
    /// Those of the table or function; what is wrong with the arguments.
    pub(super) fn repeated(&mut self, arguments: &[ast::Expression]) -> Result<Source> {
        let refuse = |message: String| Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        let source = match arguments {
            [] => return refuse("No arguments provided for table function 'loop'.".to_owned()),
            [argument] => match &argument.kind {
                ExpressionKind::Function(function) => self.table_function(function)?,
                ExpressionKind::Identifier(_) => {
                    let name = self.name_argument(argument)?;
                    match name.split_once('.') {
                        Some((database, table)) => self.table_of(Some(database), table)?,
                        None => self.table_of(None, &name)?,
                    }
                }
                _ => {
                    let found = text::expression(argument);
                    return refuse(format!(
                        "Expected identifier or function for argument 1 of function 'loop', got {found}."
                    ));
                }
            },
            [database, table] => {
                let (database, table) = (self.name_argument(database)?, self.name_argument(table)?);
                self.table_of(Some(&database), &table)?
            }
            _ => {
                let message = "Table function 'loop' must have 1 or 2 arguments.";
                return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
            }
        };
        let context = self.analyzer.context;
        let plan = crate::rules::optimize(whole(source), context)?;
        Ok(Source::table(context.catalog.repeated(plan)?).named(None, None))
    }

    /// `executable(program, format, structure[, (query)][, SETTINGS …])`: what a program prints that is given the query's rows.
    ///
    /// # Errors
    /// Those of the query; what is wrong with the arguments.
    pub(super) fn executable(&mut self, function: &ast::Function) -> Result<Source> {
        let [command, format, structure, queries @ ..] = &function.arguments[..] else {
            let message = "Table function 'executable' requires minimum 3 arguments: script_name, format, structure, [input_query...]";
            return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        };
        let program = Program {
            command: self.name_argument(command)?,
            format: self.name_argument(format)?,
            columns: plan_structure(&self.name_argument(structure)?, self.analyzer.context)?,
            settings: function.settings.iter().map(plan_setting).collect::<Result<_>>()?,
        };
        let context = self.analyzer.context;
        let mut inputs = Vec::with_capacity(queries.len());
        for query in queries {
            let ExpressionKind::Subquery(query) = &query.kind else {
                let message =
                    format!("Table function 'executable' argument is invalid input query {}", text::expression(query));
                return Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, message));
            };
            inputs.push(crate::rules::optimize(self.plan_table(query)?, context)?);
        }
        Ok(Source::table(context.catalog.executable(&program, inputs)?).named(None, None))
    }

    /// The rows of a table of servers: those of other servers beside the table itself, once for each shard that is this server's own.
    ///
    /// # Errors
    /// What is wrong with the arguments; those of the other servers.
    pub(super) fn remote(&mut self, of: RemoteFunction, function: &ast::Function) -> Result<Source> {
        let call = self.remote_call(of, function)?;
        let context = self.analyzer.context;
        let rows = context.catalog.remote(&call, context.subqueries)?;
        match (rows.own_shards, rows.others) {
            (0, Some(others)) => Ok(Source::table(others).named(None, None)),
            (1, None) => self.own_table(function, &call.target),
            (own_shards, others) => {
                let mut inputs = Vec::with_capacity(own_shards + 1);
                for _ in 0..own_shards {
                    inputs.push(whole(self.own_table(function, &call.target)?));
                }
                if let Some(others) = others {
                    inputs.push(whole(Source::table(others)));
                }
                let schema = inputs.first().map(|input| input.schema().clone()).unwrap_or_default();
                for input in inputs.iter_mut().skip(1) {
                    let same = std::mem::replace(input, Plan::Values { schema: Arc::default(), blocks: Vec::new() });
                    *input = self.with_columns(same, &schema)?;
                }
                Ok(Source::plan(Plan::Union { inputs, schema }))
            }
        }
    }

    /// `s3(…)` for `s3Cluster('name', …)`, and the same for its kin. ClickHouse spreads the files over the servers of the cluster; this server
    /// reads them all. `None` for other functions.
    ///
    /// # Errors
    /// `CLUSTER_DOESNT_EXIST`, `ACCESS_DENIED`, `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`.
    pub(super) fn spread_function(&mut self, function: &ast::Function) -> Result<Option<ast::Function>> {
        let inner = match function.name.to_ascii_lowercase().as_str() {
            "filecluster" => "file",
            "s3cluster" => "s3",
            "urlcluster" => "url",
            _ => return Ok(None),
        };
        let [cluster, arguments @ ..] = function.arguments.as_slice() else {
            let message = format!("Table function '{}' requires the name of a cluster", function.name);
            return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        };
        let cluster = self.name_argument(cluster)?;
        self.analyzer.context.catalog.check_cluster(&cluster)?;
        Ok(Some(ast::Function { name: inner.to_owned(), arguments: arguments.to_vec(), ..function.clone() }))
    }

    /// What a call of `remote`, `cluster` or their kin means.
    fn remote_call(&mut self, of: RemoteFunction, function: &ast::Function) -> Result<RemoteCall> {
        let (servers, arguments) = match function.arguments.as_slice() {
            [servers, arguments @ ..] => (self.name_argument(servers)?, arguments),
            // What `cluster()` means.
            [] if matches!(of, RemoteFunction::Cluster | RemoteFunction::ClusterAllReplicas) => {
                ("default".to_owned(), &[][..])
            }
            [] => return Err(no_table(&function.name)),
        };
        let (target, others) = match arguments {
            [] => (RemoteTarget::Table { database: "system".into(), table: "one".into() }, arguments),
            [first, others @ ..] if matches!(first.kind, ExpressionKind::Function(_)) => {
                (RemoteTarget::Function(text::expression(first)), others)
            }
            [first, others @ ..] => {
                let first = self.name_argument(first)?;
                match (first.split_once('.'), others) {
                    (Some((database, table)), _) => {
                        (RemoteTarget::Table { database: database.to_owned(), table: table.to_owned() }, others)
                    }
                    (None, [table, others @ ..]) => {
                        (RemoteTarget::Table { database: first, table: self.name_argument(table)? }, others)
                    }
                    (None, []) => return Err(no_table(&function.name)),
                }
            }
        };
        // What may follow, a sharding key, concerns INSERT alone.
        if matches!(of, RemoteFunction::Cluster | RemoteFunction::ClusterAllReplicas) {
            let every_replica = of == RemoteFunction::ClusterAllReplicas;
            return Ok(RemoteCall { servers: RemoteServers::Cluster { name: servers, every_replica }, target });
        }
        let is_text =
            |argument: &&ast::Expression| argument.as_literal().is_some_and(|literal| literal.as_str().is_some());
        let mut texts = others.iter().take_while(is_text);
        let user = texts.next().map_or(Ok("default".to_owned()), |user| self.name_argument(user))?;
        let password = texts.next().map_or(Ok(String::new()), |password| self.name_argument(password))?;
        let is_secure = of == RemoteFunction::RemoteSecure;
        Ok(RemoteCall { servers: RemoteServers::Addresses { addresses: servers, user, password, is_secure }, target })
    }

    /// The table of this server that a call names.
    fn own_table(&mut self, function: &ast::Function, target: &RemoteTarget) -> Result<Source> {
        match target {
            RemoteTarget::Table { database, table } => self.table_of(Some(database), table),
            RemoteTarget::Function(_) => {
                let call = function.arguments.get(1).and_then(ast::Expression::as_function);
                self.table_function(call.ok_or_else(|| no_table(&function.name))?)
            }
        }
    }

    /// A plan's rows with the columns of these names, as these types.
    ///
    /// # Errors
    /// `NO_SUCH_COLUMN_IN_TABLE`; `CANNOT_CONVERT_TYPE` and its kin.
    fn with_columns(&self, input: Plan, schema: &Arc<Schema>) -> Result<Plan> {
        let mut expressions = Vec::with_capacity(schema.len());
        for (name, data_type) in &schema.fields {
            let position = input.schema().position(name).ok_or_else(|| {
                let message = format!("There is no column {name} in the table of the other server");
                Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
            })?;
            let column = Expression::column(position, &input.schema().fields[position].1);
            expressions.push(cast(column, data_type, &self.analyzer.context.functions)?);
        }
        Ok(Plan::Project { input: Box::new(input), expressions, schema: schema.clone() })
    }

    /// An argument that is a name or a string.
    fn name_argument(&mut self, argument: &ast::Expression) -> Result<String> {
        match self.constant_argument(argument)? {
            (Value::String(bytes), _) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            (value, _) => {
                Err(Error::new(ErrorCode::BAD_GET, format!("Bad get: has {}, requested String", value.literal_type())))
            }
        }
    }

    /// A table whose columns are to be the function's.
    fn table_of(&mut self, database: Option<&str>, table: &str) -> Result<Source> {
        let context = self.analyzer.context;
        let in_database = database.unwrap_or(&context.functions.current_database);
        context.catalog.check_columns_are_known(in_database, table)?;
        self.table(&ast::TableName {
            database: database.map(ast::Identifier::new),
            table: ast::Identifier::new(table),
            uuid: None,
            span: ast::Span::default(),
        })
    }

    /// A table's rows with these columns, defaults where it has none of the name, and then its own name.
    fn with_fields(&self, table: Merged, fields: &[(Arc<str>, DataType)]) -> Result<Plan> {
        let name_type = DataType::LowCardinality(Arc::new(DataType::String));
        let input = table.plan.schema().clone();
        // Nobody chose the types that columns of one name have in several tables.
        let mut functions = self.analyzer.context.functions.clone();
        Arc::make_mut(&mut functions.settings).set("allow_suspicious_variant_types", "1")?;
        let mut expressions = Vec::with_capacity(fields.len() + 2);
        for (name, data_type) in fields {
            expressions.push(match input.position(name) {
                Some(position) => {
                    let column = Expression::column(position, &input.fields[position].1);
                    cast(column, data_type, &functions)?
                }
                None => Expression::Constant { value: default_value(data_type), data_type: data_type.clone() },
            });
        }
        let mut all = fields.to_vec();
        for (name, value) in [("_database", &*table.database), ("_table", &*table.name)] {
            expressions.push(Expression::Constant { value: Value::string(value), data_type: name_type.clone() });
            all.push((name.into(), name_type.clone()));
        }
        Ok(Plan::Project { input: Box::new(table.plan), expressions, schema: Arc::new(Schema { fields: all }) })
    }
}

/// The columns of all tables, in the order in which they are met, of types that hold the values of all: a `Variant` where no other does.
fn common_fields(tables: &[Merged]) -> Result<Vec<(Arc<str>, DataType)>> {
    let mut fields: Vec<(Arc<str>, Vec<DataType>)> = Vec::new();
    for (name, data_type) in tables.iter().flat_map(|table| &table.plan.schema().fields) {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, types)) if types.contains(data_type) => {}
            Some((_, types)) => types.push(data_type.clone()),
            None => fields.push((name.clone(), vec![data_type.clone()])),
        }
    }
    fields.into_iter().map(|(name, types)| Ok((name, squall_types::common_type(&types, true)?))).collect()
}

fn no_table(function: &str) -> Error {
    Error::new(
        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        format!("Table name was not found in function arguments. Table function '{function}' needs one"),
    )
}
