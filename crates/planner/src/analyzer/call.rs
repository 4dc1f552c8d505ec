//! Calls of functions: which function a name means, its types, its value where all arguments are constants, and the calls
//! that are no functions at all (`arrayJoin`, `exists`, `IN`).

use std::sync::Arc;

use squall_functions::{
    Argument, HigherOrderFunction, aggregate_exists, aggregate_name_parts, canonical_name, check_aggregate_allowed,
    higher_order, looks_up, resolve_aggregate, resolve_scalar, scalar_exists, searches_words, shows_names,
    unknown_function,
};
use squall_sql::ast::{self, ExpressionKind, MatchedColumns};
use squall_types::settings::SettingType;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Settings, Value, checkpoint};

use super::graph::{AggregateNode, HigherOrderNode, LAMBDA_DEPTH_MAX, NodeId};
use super::membership::MEMBERSHIPS;
use super::scope::{Local, Scope};
use super::stage::Stage;
use super::user_function::substituted;
use crate::plan::Plan;
use crate::uses::Used;

/// Longer constants are computed while the query runs, where memory is accounted for.
pub(crate) const FOLDED_BYTES_MAX: usize = 1 << 20;

/// Whether an aggregate of NULLs alone is NULL, as `sum` is and `count` is not.
fn gives_null_for_nulls(name: &str, parameters: &[Value], types: &[DataType]) -> bool {
    let nullable: Vec<DataType> = types.iter().map(DataType::to_nullable).collect();
    !name.ends_with("OrNull")
        && resolve_aggregate(name, parameters, &nullable).is_ok_and(|function| function.return_type().is_nullable())
}

/// Whether a constant holds as a condition; `None` for what is none. NULL does not hold.
fn truth(condition: &Value) -> Option<bool> {
    match condition {
        Value::Null => Some(false),
        Value::Bool(value) => Some(*value),
        value => value.as_u64().map(|value| value != 0),
    }
}

/// Whether an argument stands for any number of arguments.
fn stands_for_several(argument: &ast::Expression) -> bool {
    match &argument.kind {
        ExpressionKind::Matcher(_) => true,
        ExpressionKind::Function(call) => call.name == "untuple",
        _ => false,
    }
}

impl Scope<'_> {
    /// `untuple(tuple)` where one value is wanted: the only element.
    fn only_element(&mut self, call: &ast::Function) -> Result<NodeId> {
        match &self.untupled(call)?[..] {
            [(node, _)] => Ok(*node),
            elements => {
                let message = format!("Expression resolved as list node with size {}. Expected 1", elements.len());
                Err(self.in_scope(Error::new(ErrorCode::UNSUPPORTED_METHOD, message)))
            }
        }
    }

    /// The node of a call.
    ///
    /// # Errors
    /// `UNKNOWN_FUNCTION` and whatever the function says of its arguments.
    pub fn call(&mut self, call: &ast::Function) -> Result<NodeId> {
        if let Some(over) = &call.over {
            return self.window_call(call, over);
        }
        match call.name.as_str() {
            name if MEMBERSHIPS.contains(&name) => return self.membership(call),
            "exists" => return self.exists(call),
            "arrayJoin" => return self.array_join(call),
            "caseWithExpression" => return self.case_with_expression(call),
            "getSetting" => return self.get_setting(call),
            name if shows_names(name) && call.parameters.is_none() => return self.call_with_names(call),
            "grouping" | "GROUPING" => return self.grouping_call(call),
            "untuple" => return self.only_element(call),
            _ => {}
        }
        if let Some(lambda) = self.lambda(&call.name) {
            return self.call_lambda(call, lambda);
        }
        if let Some(node) = self.higher_order_call(call)? {
            return Ok(node);
        }
        let is_scalar = call.parameters.is_none() && scalar_exists(&call.name);
        if is_scalar {
            if let Some(action) = call.nulls {
                let words = match action {
                    ast::NullsAction::Respect => "RESPECT",
                    ast::NullsAction::Ignore => "IGNORE",
                };
                let message = format!("Function with name `{}` cannot use {words} NULLS", call.name);
                return Err(self.in_scope(Error::new(ErrorCode::SYNTAX_ERROR, message)));
            }
            if let Some(node) = self.conditional(call)? {
                return Ok(node);
            }
            let mut arguments = match looks_up(&call.name) {
                true => self.lookup_arguments(&call.name, &call.arguments)?,
                false => self.arguments(&call.arguments)?,
            };
            if let [text, _] = arguments[..]
                && searches_words(&call.name)
                && let Some(tokenizer) = self.tokenizer_of(text)
            {
                arguments.push(self.graph.constant(Value::string(tokenizer), DataType::String));
            }
            return self.scalar(&call.name, arguments);
        }
        let name = self.aggregate_name(&call.name);
        if aggregate_exists(&name) {
            let name = with_nulls_action(&name, call.nulls)?;
            return self.aggregate(call, &name);
        }
        if let Some(lambda) = self.analyzer.context.catalog.user_function(&call.name) {
            // It may call itself.
            let body = substituted(&lambda, call).map_err(|error| self.in_scope(error))?;
            return self.with_own_aliases(|scope| scope.resolve_argument(&body));
        }
        self.check_no_window_function(&call.name)?;
        let of_lambda = call.name.split_once('.').and_then(|(first, _)| self.lambda(first));
        Err(self.in_scope(match of_lambda {
            Some(_) => {
                let message = format!("Compound identifier '{}' cannot be resolved as function", call.name);
                Error::new(ErrorCode::UNKNOWN_IDENTIFIER, message)
            }
            None => unknown_function(&call.name),
        }))
    }

    /// The node of an `if`; `None` for other calls. A constant condition always takes the same branch, and then it does not matter what is
    /// wrong with the other one.
    fn conditional(&mut self, call: &ast::Function) -> Result<Option<NodeId>> {
        let [condition, then, otherwise] = &call.arguments[..] else { return Ok(None) };
        if canonical_name(&call.name).unwrap_or(&call.name) != "if" || call.arguments.iter().any(stands_for_several) {
            return Ok(None);
        }
        let condition = self.resolve_argument(condition)?;
        let Some(is_true) = self.graph.constant_value(condition).and_then(truth) else {
            let arguments = vec![condition, self.resolve_argument(then)?, self.resolve_argument(otherwise)?];
            return self.scalar("if", arguments).map(Some);
        };
        let chosen = self.resolve_argument(if is_true { then } else { otherwise })?;
        let Ok(other) = self.resolve_argument(if is_true { otherwise } else { then }) else { return Ok(Some(chosen)) };
        let (then, otherwise) = if is_true { (chosen, other) } else { (other, chosen) };
        let whole = self.scalar("if", vec![condition, then, otherwise])?;
        let is_known = self.graph.constant_value(whole).is_some();
        let data_type = self.graph.data_type(whole).clone();
        match *self.graph.data_type(chosen) == data_type {
            true if !is_known => Ok(Some(chosen)),
            false if !is_known && self.graph.constant_value(chosen).is_some() => {
                self.cast_node(chosen, &data_type).map(Some)
            }
            _ => Ok(Some(whole)),
        }
    }

    /// The tokenizer of the text index that a table has of an expression. Words are searched as the index has them, also in parts without
    /// it.
    fn tokenizer_of(&self, text: NodeId) -> Option<String> {
        let table = self.source.as_table()?;
        let stage = Stage::at(&self.graph, Plan::no_rows(Arc::default()), self.graph.columns());
        table.tokenizer(&stage.lower(text).ok()?)
    }

    /// The node of a function that shows its arguments' names: they stand beside the first argument, which is no value itself.
    fn call_with_names(&mut self, call: &ast::Function) -> Result<NodeId> {
        let (mut nodes, mut names) = (Vec::new(), Vec::new());
        for argument in &call.arguments {
            if let ExpressionKind::Matcher(matcher) = &argument.kind {
                for (node, name) in self.expand(matcher)? {
                    nodes.push(node);
                    names.push(Value::string(name));
                }
            } else {
                nodes.push(self.resolve_argument(argument)?);
                names.push(Value::string(self.name(argument)?));
            }
        }
        let first = nodes.first().map(|first| self.describe(*first));
        if let (Some(Argument { data_type, constant: Some(constant) }), [_, names @ ..]) = (first, &names[..]) {
            let named = Value::Tuple([constant, Value::Array(names.into())].into());
            let named_type = DataType::tuple([data_type, DataType::array(DataType::String)]);
            nodes[0] = self.graph.constant(named, named_type);
        }
        self.scalar(&call.name, nodes)
    }

    /// The nodes of arguments; an asterisk stands for all its columns.
    ///
    /// # Errors
    /// Those of the arguments.
    pub fn arguments(&mut self, arguments: &[ast::Expression]) -> Result<Vec<NodeId>> {
        let mut nodes = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match &argument.kind {
                ExpressionKind::Matcher(matcher) => {
                    nodes.extend(self.expand(matcher)?.into_iter().map(|(node, _)| node));
                }
                ExpressionKind::Function(call) if call.name == "untuple" => {
                    nodes.extend(self.untupled(call)?.into_iter().map(|(node, _)| node));
                }
                _ => nodes.push(self.resolve_argument(argument)?),
            }
        }
        Ok(nodes)
    }

    /// The same of a function that finds rows by key, whose first argument may be the bare name of what it looks in.
    fn lookup_arguments(&mut self, function: &str, arguments: &[ast::Expression]) -> Result<Vec<NodeId>> {
        let Some((first, others)) = arguments.split_first() else { return Ok(Vec::new()) };
        let (name, data_type) = match &first.kind {
            ExpressionKind::Identifier(parts) if parts.len() > 2 => {
                let actual = super::text::expression(first);
                return Err(self.in_scope(Error::new(
                    ErrorCode::INVALID_IDENTIFIER,
                    format!(
                        "Expected {function} function first argument identifier to contain 1 or 2 parts. Actual '{actual}'"
                    ),
                )));
            }
            ExpressionKind::Identifier(_) => self.constant_argument(first)?,
            _ => return self.arguments(arguments),
        };
        let mut nodes = vec![self.graph.constant(name, data_type)];
        nodes.extend(self.arguments(others)?);
        Ok(nodes)
    }

    /// The node of a scalar function of nodes, folded where it is a constant.
    ///
    /// # Errors
    /// Whatever the function says of its arguments.
    pub fn scalar(&mut self, name: &str, arguments: Vec<NodeId>) -> Result<NodeId> {
        let name = canonical_name(name).unwrap_or(name);
        if let Some(known) = self.graph.find_function(name, &arguments) {
            return Ok(known);
        }
        if let Some(key) = self.key_of_keys(name, &arguments) {
            return Ok(key);
        }
        let described: Vec<Argument> = arguments.iter().map(|argument| self.describe(*argument)).collect();
        if looks_up(name) {
            let word = |at: usize| described.get(at)?.constant.as_ref()?.as_str();
            let begun = self.analyzer.context.catalog.begin_lookup(name, word(0), word(1));
            let loaded = begun.and_then(|rows| self.load(rows));
            loaded.map_err(|error| self.in_scope_of_call(error))?;
        }
        let catalog = self.analyzer.context.catalog;
        catalog.note(Used::Function(name));
        catalog.check_function(name)?;
        if name == "CAST"
            && let [_, Argument { constant: Some(to), .. }] = &described[..]
            && let Some(data_type) = to.as_str().and_then(|to| DataType::parse(to).ok())
        {
            catalog.note(Used::DataType(&data_type));
        }
        let functions = &self.analyzer.context.functions;
        let function = resolve_scalar(name, &described, functions).map_err(|error| self.in_scope_of_call(error))?;
        let is_constant = described.iter().all(|argument| argument.constant.is_some());
        let properties = function.properties();
        if is_constant && properties.is_deterministic && properties.is_foldable {
            let columns = described
                .iter()
                .map(|argument| {
                    Column::constant(argument.data_type.clone(), argument.constant.as_ref().unwrap_or(&Value::Null), 1)
                })
                .collect::<Result<Vec<_>>>()?;
            let result = function.execute(&columns, 1).map_err(|error| self.in_scope_of_call(error))?;
            // A constant is copied some times.
            checkpoint(4 * result.value_bytes())?;
            if result.value_bytes() <= FOLDED_BYTES_MAX && result.rows() == 1 {
                return Ok(self.graph.constant(result.value(0), function.return_type().clone()));
            }
        }
        if properties.needs_only_types {
            let any = described.iter().map(|argument| Column::default_values(argument.data_type.clone(), 1));
            let result = function.execute(&any.collect::<Result<Vec<_>>>()?, 1);
            let result = result.map_err(|error| self.in_scope_of_call(error))?;
            return Ok(self.graph.constant(result.value(0), function.return_type().clone()));
        }
        self.graph.add_function(name.into(), function, arguments)
    }

    /// The node of a call whose first argument is a lambda, or stands for one: `arrayMap(x -> x + a, b)`, `arrayMap(upper, b)`.
    /// `None` for other calls.
    fn higher_order_call(&mut self, call: &ast::Function) -> Result<Option<NodeId>> {
        let function = higher_order(&call.name);
        let lambda = match call.arguments.first().map(|first| &first.kind) {
            Some(ExpressionKind::Lambda(lambda)) => Some(LambdaArgument::Written(lambda)),
            Some(ExpressionKind::Identifier(parts)) if function.is_ok() && parts.len() == 1 => {
                let name = self.analyzer.identifier(&parts[0])?;
                match self.lambda(name) {
                    // A column of the name is meant first.
                    Some(lambda) if self.position(None, name)?.is_none() => Some(LambdaArgument::Written(lambda)),
                    None if scalar_exists(name) && self.identifier(parts)?.is_none() => {
                        Some(LambdaArgument::Function(name))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(lambda) = lambda {
            let function = function.map_err(|error| self.in_scope_of_call(error))?;
            return self.higher_order(function, &lambda, &call.arguments[1..]).map(Some);
        }
        if function.is_err() || scalar_exists(&call.name) || aggregate_exists(&call.name) {
            return Ok(None);
        }
        let arguments = self.arguments(&call.arguments)?;
        let error = match &arguments[..] {
            [first, _, ..] => Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "First argument for function {} must be a function. Actual {}",
                    call.name,
                    self.graph.data_type(*first)
                ),
            ),
            _ => Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Function {} needs at least 2 arguments, passed {}", call.name, arguments.len()),
            ),
        };
        Err(self.in_scope_of_call(error))
    }

    /// The node of a function of a lambda.
    fn higher_order(
        &mut self,
        function: &dyn HigherOrderFunction,
        lambda: &LambdaArgument<'_>,
        arguments: &[ast::Expression],
    ) -> Result<NodeId> {
        let mut arguments = self.arguments(arguments)?;
        for argument in &mut arguments {
            // Arrays with names of their own (`Ring`) are arrays to a lambda.
            let data_type = self.graph.data_type(*argument);
            if matches!(data_type, DataType::Named(_)) {
                let unnamed = data_type.without_names();
                *argument = self.cast_node(*argument, &unnamed)?;
            }
        }
        let described: Vec<Argument> = arguments.iter().map(|argument| self.describe(*argument)).collect();
        let types = match lambda {
            LambdaArgument::Written(lambda) => function.parameters(lambda.parameters.len(), &described),
            // A function takes as many arguments as it is given.
            LambdaArgument::Function(_) => {
                let several = (2..=arguments.len()).find_map(|count| function.parameters(count, &described).ok());
                several.map_or_else(|| function.parameters(1, &described), Ok)
            }
        };
        let types = types.map_err(|error| self.in_scope_of_call(error))?;
        let names: Vec<Arc<str>> = match lambda {
            LambdaArgument::Written(lambda) => {
                let names = lambda.parameters.iter().map(|parameter| self.analyzer.identifier(parameter));
                names.map(|name| Ok(Arc::from(name?))).collect::<Result<_>>()?
            }
            LambdaArgument::Function(_) => (1..=types.len()).map(|number| format!("x{number}").into()).collect(),
        };
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(self.in_scope(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Lambda with multiple arguments with same name {}", twice.1),
            )));
        }
        let depth = self.lambda_depth;
        if depth >= LAMBDA_DEPTH_MAX {
            return Err(self.graph.too_deep());
        }
        let nodes: Vec<NodeId> =
            types.iter().enumerate().map(|(at, data_type)| self.graph.parameter(depth, at, data_type)).collect();
        let outside = self.locals.len();
        for (name, node) in names.iter().zip(&nodes) {
            self.locals.push(Local { name: name.clone(), node: *node, shown: name.to_string() });
        }
        self.lambda_depth += 1;
        let body = match lambda {
            LambdaArgument::Written(lambda) => self.resolve_argument(&lambda.body),
            LambdaArgument::Function(name) => self.scalar(name, nodes.clone()),
        };
        self.lambda_depth -= 1;
        self.locals.truncate(outside);
        let body = body?;
        let captured = self.graph.captured(body, depth).map_err(|node| self.not_in_lambda(node))?;
        let functions = &self.analyzer.context.functions;
        let bound = function
            .resolve(self.graph.data_type(body), &described, functions)
            .map_err(|error| self.in_scope_of_call(error))?;
        let call = HigherOrderNode {
            name: function.name().into(),
            function: bound,
            depth,
            parameters: names.into_iter().zip(nodes).collect(),
            body,
            arguments: arguments.len(),
        };
        self.graph.higher_order(call, arguments.into_iter().chain(captured).collect())
    }

    /// `f(2)` of a lambda `f`: its body, in which its arguments' names stand for the call's arguments.
    fn call_lambda(&mut self, call: &ast::Function, lambda: &ast::Lambda) -> Result<NodeId> {
        let (expected, passed) = (lambda.parameters.len(), call.arguments.len());
        if expected != passed {
            return Err(self.in_scope(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Lambda {} expect {expected} arguments. Actual: {passed}", call.name),
            )));
        }
        let mut own = Vec::with_capacity(passed);
        for (parameter, argument) in lambda.parameters.iter().zip(&call.arguments) {
            let node = self.resolve_argument(argument)?;
            let shown = self.name(argument)?;
            own.push(Local { name: self.analyzer.identifier(parameter)?.into(), node, shown });
        }
        let outside = std::mem::replace(&mut self.locals, own);
        let body = self.resolve_argument(&lambda.body);
        self.locals = outside;
        body
    }

    /// The error for an aggregate or an `arrayJoin` of a lambda's argument.
    fn not_in_lambda(&mut self, node: NodeId) -> Error {
        let (code, what) = if self.graph.node(node).has_aggregate {
            (ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, format!("Aggregate function {}", self.aggregate_text(node)))
        } else {
            (ErrorCode::BAD_ARGUMENTS, "Expression in arrayJoin".to_owned())
        };
        self.in_scope(Error::new(code, format!("{what} cannot depend on lambda argument")))
    }

    /// What is known of a node as an argument.
    pub fn describe(&self, node: NodeId) -> Argument {
        Argument { data_type: self.graph.data_type(node).clone(), constant: self.graph.constant_value(node).cloned() }
    }

    /// `getSetting('name')`: the query's settings are known, so this is a constant of the narrowest type.
    fn get_setting(&mut self, call: &ast::Function) -> Result<NodeId> {
        let arguments = self.arguments(&call.arguments)?;
        let [argument] = arguments[..] else {
            let message = format!(
                "Number of arguments for function getSetting doesn't match: passed {}, should be 1",
                arguments.len()
            );
            return Err(self.in_scope_of_call(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)));
        };
        let Some(name) = self.graph.constant_value(argument).and_then(Value::as_str) else {
            let message = "The argument of function getSetting should be a constant string with the name of a setting";
            return Err(self.in_scope_of_call(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)));
        };
        let known = Settings::description(name).zip(self.analyzer.context.settings.get(name));
        let Some((description, text)) = known else {
            let message = format!("Unknown setting '{name}'");
            return Err(self.in_scope_of_call(Error::new(ErrorCode::UNKNOWN_SETTING, message)));
        };
        let value = match description.setting_type {
            SettingType::String | SettingType::Map | SettingType::TimeZone => Value::string(text),
            SettingType::Bool => Value::Bool(text == "1"),
            SettingType::Float | SettingType::Seconds => Value::Float64(text.parse().unwrap_or_default()),
            SettingType::Int64 => Value::Int64(text.parse().unwrap_or_default()),
            SettingType::MaxThreads if text == "0" => {
                Value::UInt64(std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64))
            }
            SettingType::UInt64 | SettingType::NonZeroUInt64 | SettingType::Milliseconds | SettingType::MaxThreads => {
                Value::UInt64(text.parse().unwrap_or_default())
            }
        };
        let data_type = value.literal_type();
        Ok(self.graph.constant(value, data_type))
    }

    /// The name of an aggregate that may be written as `countDistinct`.
    pub fn aggregate_name<'n>(&self, name: &'n str) -> std::borrow::Cow<'n, str> {
        const COUNT_DISTINCT: &str = "countDistinct";
        match name.get(..COUNT_DISTINCT.len()) {
            Some(start) if start.eq_ignore_ascii_case(COUNT_DISTINCT) => {
                let rest = &name[COUNT_DISTINCT.len()..];
                format!("{}{rest}", self.analyzer.context.settings.count_distinct_implementation).into()
            }
            _ => name.into(),
        }
    }

    fn aggregate(&mut self, call: &ast::Function, name: &str) -> Result<NodeId> {
        let parameters = self.aggregate_parameters(call)?;
        // `count(*)` counts rows, whatever their columns.
        let counts_rows = name.eq_ignore_ascii_case("count")
            && matches!(&call.arguments[..], [argument] if is_plain_asterisk(argument));
        let arguments = match counts_rows {
            true => Vec::new(),
            false => {
                let within = std::mem::replace(&mut self.in_aggregate, true);
                let arguments = self.before_grouping(|scope| scope.arguments(&call.arguments));
                self.in_aggregate = within;
                arguments?
            }
        };
        let mut shown = String::new();
        self.append_call_name(call, &mut shown)?;
        if call.nulls == Some(ast::NullsAction::Respect) {
            shown.push_str(" RESPECT NULLS");
        }
        self.aggregate_of(name, &parameters, arguments, shown)
    }

    /// The values of an aggregate's parameters.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where one is no constant.
    pub fn aggregate_parameters(&mut self, call: &ast::Function) -> Result<Vec<Value>> {
        let mut parameters = Vec::new();
        for parameter in call.parameters.iter().flatten() {
            let node = self.resolve_argument(parameter)?;
            let Some(value) = self.graph.constant_value(node) else {
                return Err(self.in_scope(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Parameter for function '{}' expected to have constant value. Actual: {}",
                        call.name,
                        super::text::expression(parameter)
                    ),
                )));
            };
            parameters.push(value.clone());
        }
        Ok(parameters)
    }

    /// The node of an aggregate of nodes.
    ///
    /// # Errors
    /// Whatever the function says of its arguments.
    pub fn aggregate_of(
        &mut self,
        name: &str,
        parameters: &[Value],
        arguments: Vec<NodeId>,
        shown: String,
    ) -> Result<NodeId> {
        if let Some(window) = arguments.iter().find(|argument| self.graph.node(**argument).has_window) {
            let window = *window;
            return Err(self.window_found(window, "is found inside an aggregate function in query"));
        }
        if self.nested_aggregate.is_none() {
            // An error, but not the first that is told.
            self.nested_aggregate =
                arguments.iter().find(|argument| self.graph.node(**argument).has_aggregate).copied();
        }
        let types: Vec<DataType> = arguments.iter().map(|argument| self.graph.data_type(*argument).clone()).collect();
        self.analyzer.context.catalog.note(Used::AggregateFunction(name));
        check_aggregate_allowed(name, &self.analyzer.context.functions)?;
        let or_null;
        let name = if self.analyzer.context.settings.aggregate_functions_null_for_empty
            && gives_null_for_nulls(name, parameters, &types)
        {
            or_null = format!("{name}OrNull");
            &*or_null
        } else {
            name
        };
        let function = resolve_aggregate(name, parameters, &types)?;
        let mut identity = canonical_name(name).unwrap_or(name).to_owned();
        for parameter in parameters {
            identity.push(',');
            super::append_constant(&mut identity, parameter);
        }
        let node = AggregateNode { name: Arc::from(shown), identity, function };
        self.graph.aggregate(node, arguments)
    }

    /// `CASE x WHEN a THEN b … ELSE c END`, which ClickHouse writes as one call.
    fn case_with_expression(&mut self, call: &ast::Function) -> Result<NodeId> {
        if scalar_exists("caseWithExpression") {
            let arguments = self.arguments(&call.arguments)?;
            return self.scalar("caseWithExpression", arguments);
        }
        let arguments = self.arguments(&call.arguments)?;
        let [value, branches @ .., otherwise] = &arguments[..] else {
            return Err(Error::new(
                ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                "Function caseWithExpression needs at least two arguments",
            ));
        };
        let mut conditional = Vec::with_capacity(arguments.len());
        for branch in branches.chunks(2) {
            let [when, then] = branch else {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "Function caseWithExpression needs an even number of arguments",
                ));
            };
            conditional.push(self.scalar("equals", vec![*value, *when])?);
            conditional.push(*then);
        }
        if conditional.is_empty() {
            return Ok(*otherwise);
        }
        conditional.push(*otherwise);
        self.scalar("multiIf", conditional)
    }

    fn array_join(&mut self, call: &ast::Function) -> Result<NodeId> {
        let arguments = self.arguments(&call.arguments)?;
        let [array] = arguments[..] else {
            return Err(self.in_scope_of_call(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!(
                    "Number of arguments for function arrayJoin doesn't match: passed {}, should be 1",
                    arguments.len()
                ),
            )));
        };
        match self.graph.data_type(array).inner().clone() {
            DataType::Array(item) => self.graph.array_join(array, (*item).clone()),
            map @ DataType::Map(..) => self.graph.array_join(array, map.map_entry_type()),
            _ => Err(self.in_scope_of_call(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument for function arrayJoin must be Array or Map",
            ))),
        }
    }
}

/// The name of the form of an aggregate that takes NULL for a value like others, or that does not.
fn with_nulls_action(name: &str, action: Option<ast::NullsAction>) -> Result<std::borrow::Cow<'_, str>> {
    const RESPECTS: &str = "_respect_nulls";
    let Some(action) = action else { return Ok(name.into()) };
    let Some((function, combinators)) = aggregate_name_parts(name) else { return Ok(name.into()) };
    let plain = function.strip_suffix(RESPECTS).unwrap_or(function);
    let combinators = combinators.concat();
    match action {
        ast::NullsAction::Ignore => Ok(format!("{plain}{combinators}").into()),
        ast::NullsAction::Respect => {
            let respecting = format!("{plain}{RESPECTS}{combinators}");
            if aggregate_exists(&respecting) {
                return Ok(respecting.into());
            }
            Err(Error::not_implemented(format!("Function {name} does not support RESPECT NULLS")))
        }
    }
}

/// What stands where a function wants a lambda.
enum LambdaArgument<'e> {
    /// A lambda.
    Written(&'e ast::Lambda),
    /// The name of a function, which is called with the items themselves.
    Function(&'e str),
}

/// Whether an expression is `*` without anything.
pub(crate) fn is_plain_asterisk(expression: &ast::Expression) -> bool {
    matches!(
        &expression.kind,
        ExpressionKind::Matcher(matcher)
            if matcher.columns == MatchedColumns::All && matcher.qualifier.is_empty() && matcher.transformers.is_empty()
    )
}
