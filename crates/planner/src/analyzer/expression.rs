//! Expressions: literals, names, parameters and what they stand for. Calls are in `call`.

use squall_functions::stands_alone;
use squall_sql::ast::{self, ExpressionKind};
use squall_types::text::{ValueReader, unescape};
use squall_types::{DataType, Error, ErrorCode, Result, TupleElement, Value};

use super::graph::NodeId;
use super::hints::maybe_you_meant;
use super::scope::Scope;
use super::{conversion, literal};
use crate::catalog::DefaultKind;

impl<'q> Scope<'q> {
    /// The node of an expression.
    ///
    /// # Errors
    /// Everything that can be wrong with an expression.
    pub fn resolve(&mut self, expression: &ast::Expression) -> Result<NodeId> {
        match &expression.alias {
            Some(alias) => self.aliased(alias, expression),
            None => self.resolve_kind(expression),
        }
    }

    /// The node of an expression that is an argument.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn resolve_argument(&mut self, expression: &ast::Expression) -> Result<NodeId> {
        match &expression.kind {
            ExpressionKind::Identifier(parts) if expression.alias.is_none() => {
                self.analyzer.count_element()?;
                match self.identifier(parts)? {
                    Some(node) => Ok(self.as_grouped(node)),
                    None => Err(self.unknown_identifier(parts, "expression or function")),
                }
            }
            _ => self.resolve(expression),
        }
    }

    /// The node of an expression, whatever its alias.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn resolve_kind(&mut self, expression: &ast::Expression) -> Result<NodeId> {
        self.analyzer.count_element()?;
        // Aliases make expressions deeper than the parser saw them.
        if self.depth >= self.graph.depth_max() {
            return Err(self.graph.too_deep());
        }
        self.depth += 1;
        let result = self.resolve_shallow(expression);
        self.depth -= 1;
        Ok(self.as_grouped(result?))
    }

    fn resolve_shallow(&mut self, expression: &ast::Expression) -> Result<NodeId> {
        match &expression.kind {
            ExpressionKind::Literal(value) => {
                let typed = literal::typed_literal(value);
                if let (Err(error), ast::Literal::Array(items)) = (&typed, value)
                    && error.code == ErrorCode::NO_COMMON_TYPE
                    && self.analyzer.context.settings.use_variant_as_common_type
                {
                    let items = items.iter().map(|item| {
                        let (value, data_type) = literal::typed_literal(item)?;
                        Ok(self.graph.constant(value, data_type))
                    });
                    let items = items.collect::<Result<Vec<_>>>()?;
                    return self.scalar("array", items);
                }
                let (value, data_type) = typed?;
                Ok(self.graph.constant(value, data_type))
            }
            ExpressionKind::Identifier(parts) => match self.identifier(parts)? {
                Some(node) => Ok(node),
                None => Err(self.unknown_identifier(parts, "expression")),
            },
            ExpressionKind::Function(function) => self.call(function),
            ExpressionKind::Subquery(query) => self.scalar_subquery(query),
            ExpressionKind::Parameter(parameter) => self.parameter(parameter),
            ExpressionKind::Matcher(matcher) => {
                let mut columns = self.expand(matcher)?.into_iter();
                match (columns.next(), columns.next()) {
                    (Some((node, _)), None) => Ok(node),
                    _ => Err(Error::not_implemented(
                        "An asterisk or COLUMNS that stands for several columns in this place",
                    )),
                }
            }
            ExpressionKind::Lambda(_) => Err(self.in_scope(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Lambda {} stands where no lambda can", super::text::expression(expression)),
            ))),
        }
    }

    /// What a name stands for: an argument of a lambda, an alias, a column, a constant of the query around, a function that is called
    /// by its name alone.
    ///
    /// # Errors
    /// Those of an alias' expression.
    pub fn identifier(&mut self, parts: &[ast::Identifier]) -> Result<Option<NodeId>> {
        if let Some(node) = self.known_name(parts)? {
            return Ok(Some(node));
        }
        match parts {
            [name] => match self.analyzer.identifier(name)? {
                name if stands_alone(name) => self.scalar(name, Vec::new()).map(Some),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The same of names that the query or its tables give.
    ///
    /// # Errors
    /// Those of an alias' expression.
    pub fn known_name(&mut self, parts: &[ast::Identifier]) -> Result<Option<NodeId>> {
        let analyzer = self.analyzer;
        let Some(first) = parts.first() else { return Ok(None) };
        let name = analyzer.identifier(first)?;
        if !self.locals.is_empty() {
            // A column of a table that is being defined may have dots in its name.
            for length in (1..=parts.len()).rev() {
                let joined;
                let name = match length {
                    1 => name,
                    _ => {
                        let names = parts[..length].iter().map(|part| analyzer.identifier(part));
                        joined = names.collect::<Result<Vec<_>>>()?.join(".");
                        joined.as_str()
                    }
                };
                if let Some(local) = self.locals.iter().rev().find(|local| &*local.name == name) {
                    let node = local.node;
                    return self.subcolumns(node, &parts[length..]);
                }
            }
        }
        let prefers_column = analyzer.context.settings.prefer_column_name_to_alias;
        if prefers_column && let Some(node) = self.source_column(parts)? {
            return Ok(Some(node));
        }
        if let Some(node) = self.alias(name)?
            && let Some(node) = self.subcolumns(node, &parts[1..])?
        {
            return Ok(Some(node));
        }
        if !prefers_column && let Some(node) = self.source_column(parts)? {
            return Ok(Some(node));
        }
        if parts.len() == 1
            && let Some(outer) = self.outer
            && let Some((value, data_type)) = outer.constant(name)?
        {
            return Ok(Some(self.graph.constant(value, data_type)));
        }
        match self.outer.map_or(Ok(None), |outer| outer.column(parts))? {
            Some((number, data_type)) => self.outer_column(number, data_type).map(Some),
            None => Ok(None),
        }
    }

    /// The column of the source that a name means, with or without the table's name before it.
    fn source_column(&mut self, parts: &[ast::Identifier]) -> Result<Option<NodeId>> {
        Ok(self.qualified_column(parts)?.map(|(node, _)| node))
    }

    /// The column of the source that a name means, and how many parts of the name are the table's.
    ///
    /// # Errors
    /// Those of an ALIAS column's expression.
    pub fn qualified_column(&mut self, parts: &[ast::Identifier]) -> Result<Option<(NodeId, usize)>> {
        if let Some(node) = self.table_column(None, parts)? {
            return Ok(Some((node, 0)));
        }
        for qualifiers in 1..parts.len().min(3) {
            if let Some(table) = self.qualified_table(parts, qualifiers)?
                && let Some(node) = self.table_column(Some(table), &parts[qualifiers..])?
            {
                return Ok(Some((node, qualifiers)));
            }
        }
        Ok(None)
    }

    /// The table whose name or alias the first `count` parts of a name are, by its place among the source's.
    ///
    /// # Errors
    /// `UNKNOWN_QUERY_PARAMETER`.
    pub fn qualified_table(&self, parts: &[ast::Identifier], count: usize) -> Result<Option<usize>> {
        let names = parts[..count].iter().map(|part| self.analyzer.identifier(part)).collect::<Result<Vec<_>>>()?;
        let is = |table: &super::source::TableNames<'_>| match names[..] {
            [name] => table.alias == Some(name) || table.table == Some(name),
            [database, name] => table.database == Some(database) && table.table == Some(name),
            _ => false,
        };
        Ok(self.source.tables().iter().position(is))
    }

    /// The source's column of this name.
    ///
    /// # Errors
    /// `AMBIGUOUS_IDENTIFIER`.
    pub fn position(&self, table: Option<usize>, name: &str) -> Result<Option<usize>> {
        let found = match table {
            Some(table) => self.source.position_in(table, name),
            None if self.is_of_table => self.source.own_position(name),
            None => self.source.position(name),
        };
        found.map_err(|ambiguous| {
            self.in_scope(Error::new(
                ErrorCode::AMBIGUOUS_IDENTIFIER,
                format!("JOIN {} ambiguous identifier '{name}'", ambiguous.join),
            ))
        })
    }

    /// A column by its name, which may have dots, and what is within it.
    fn table_column(&mut self, table: Option<usize>, parts: &[ast::Identifier]) -> Result<Option<NodeId>> {
        let analyzer = self.analyzer;
        if let [name] = parts {
            let name = analyzer.identifier(name)?;
            return match self.position(table, name)? {
                Some(column) => self.column(column).map(Some),
                None if name.contains('.') => self.dotted_column(table, name),
                None => match self.table_name_column(table, name) {
                    Some(node) => Ok(Some(node)),
                    None if name.starts_with('_') && self.source.add_part_columns() => {
                        match self.position(table, name)? {
                            Some(column) => self.column(column).map(Some),
                            None => Ok(None),
                        }
                    }
                    None => self.nested_structure(table, name),
                },
            };
        }
        // What ARRAY JOIN names hides the table's columns, also those within a nested structure of this name.
        if let ([name, within @ ..], None) = (parts, table)
            && let Some(column) = self.source.joined_position(analyzer.identifier(name)?)
        {
            let node = self.column(column)?;
            if let Some(node) = self.subcolumns(node, within)? {
                return Ok(Some(node));
            }
        }
        // Columns of nested structures have dots in their names: the longest that is a column wins.
        for length in (1..=parts.len()).rev() {
            let names = parts[..length].iter().map(|part| analyzer.identifier(part)).collect::<Result<Vec<_>>>()?;
            if let Some(column) = self.position(table, &names.join("."))? {
                let node = self.column(column)?;
                return self.subcolumns(node, &parts[length..]);
            }
        }
        Ok(None)
    }

    /// The columns of the nested structure that a name means; `None` where it means another thing or nothing.
    ///
    /// # Errors
    /// `AMBIGUOUS_IDENTIFIER`.
    pub fn nested_columns(&mut self, parts: &[ast::Identifier]) -> Result<Option<Vec<usize>>> {
        if self.alias_or_column(parts)? {
            return Ok(None);
        }
        for qualifiers in 0..parts.len().min(3) {
            let table = match qualifiers {
                0 => None,
                count => match self.qualified_table(parts, count)? {
                    Some(table) => Some(table),
                    None => continue,
                },
            };
            let names = parts[qualifiers..].iter().map(|part| self.analyzer.identifier(part));
            let columns = self.source.nested(table, &names.collect::<Result<Vec<_>>>()?.join("."));
            if !columns.is_empty() {
                return Ok(Some(columns));
            }
        }
        Ok(None)
    }

    /// Whether a name is that of an alias or of a column itself.
    fn alias_or_column(&mut self, parts: &[ast::Identifier]) -> Result<bool> {
        let [name] = parts else { return Ok(false) };
        let name = self.analyzer.identifier(name)?;
        Ok(self.has_alias(name) || self.position(None, name)?.is_some())
    }

    /// A nested structure by its name: an array of tuples, or a tuple where its arrays were joined.
    fn nested_structure(&mut self, table: Option<usize>, name: &str) -> Result<Option<NodeId>> {
        let columns = self.source.nested(table, name);
        if columns.is_empty() {
            return Ok(None);
        }
        let types: Vec<DataType> = columns.iter().map(|column| self.source.data_type(*column).clone()).collect();
        let nodes = columns.iter().map(|column| self.column(*column)).collect::<Result<Vec<_>>>()?;
        let items: Option<Vec<DataType>> = types
            .iter()
            .map(|data_type| match data_type {
                DataType::Array(item) => Some((**item).clone()),
                _ => None,
            })
            .collect();
        let element = |(column, data_type): (&usize, DataType)| TupleElement {
            name: Some(self.source.name(*column)[name.len() + 1..].into()),
            data_type,
        };
        let (function, data_type) = match items {
            Some(items) => {
                let tuple = DataType::Tuple(columns.iter().zip(items).map(element).collect());
                ("arrayZip", DataType::Array(std::sync::Arc::new(tuple)))
            }
            None => ("tuple", DataType::Tuple(columns.iter().zip(types).map(element).collect())),
        };
        let node = self.scalar(function, nodes)?;
        let type_name = self.graph.constant(Value::string(data_type.to_string()), DataType::String);
        self.scalar("CAST", vec![node, type_name]).map(Some)
    }

    /// What a name with dots in one part means, as ClickHouse's servers write it to each other: a column, and what is within it.
    fn dotted_column(&mut self, table: Option<usize>, name: &str) -> Result<Option<NodeId>> {
        for (dot, _) in name.rmatch_indices('.') {
            let (before, path) = (&name[..dot], &name[dot + 1..]);
            if let Some(column) = self.position(table, before)? {
                let mut node = self.column(column)?;
                if in_arrays_of_objects(self.graph.data_type(node)) {
                    let path = self.graph.constant(Value::string(path), DataType::String);
                    return self.scalar("getSubcolumn", vec![node, path]).map(Some);
                }
                for part in path.split('.') {
                    let Some(next) = self.subcolumn(node, part)? else { return Ok(None) };
                    node = next;
                }
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    /// The virtual columns `_database` and `_table`.
    fn table_name_column(&mut self, table: Option<usize>, name: &str) -> Option<NodeId> {
        let table = table.unwrap_or(0);
        let is_stored = match self.source.join_tree() {
            Some(tree) => tree.tables.get(table).is_some_and(|table| table.is_stored),
            None => self.source.as_table().is_some(),
        };
        let names = *self.source.tables().get(table).filter(|_| is_stored)?;
        let value = match name {
            "_database" => names.database?,
            "_table" => names.table?,
            _ => return None,
        };
        let value = Value::string(value);
        let data_type = DataType::LowCardinality(std::sync::Arc::new(DataType::String));
        Some(self.graph.constant(value, data_type))
    }

    /// The node of a column of the source; the expression of an ALIAS column.
    ///
    /// # Errors
    /// Those of the ALIAS column's expression.
    pub fn column(&mut self, column: usize) -> Result<NodeId> {
        match self.source.default_kind(column) {
            None | Some(DefaultKind::Default | DefaultKind::Materialized) => {
                Ok(self.graph.column(column, self.source.data_type(column)))
            }
            Some(DefaultKind::Alias) => self.alias_column(column),
            Some(DefaultKind::Ephemeral) => Err(Error::new(
                ErrorCode::NO_SUCH_COLUMN_IN_TABLE,
                format!("Column {} is EPHEMERAL and cannot be read", self.source.full_name(column)),
            )),
        }
    }

    fn alias_column(&mut self, column: usize) -> Result<NodeId> {
        let Some(text) = self.source.alias_expression(column).cloned() else {
            return Err(Error::logical("an ALIAS column without an expression"));
        };
        let data_type = self.source.data_type(column).clone();
        let expression = super::text::parse_expression(&text)?;
        // ALIAS columns may refer to each other; a circle of them ends at the limit of depth.
        let node = self.of_table(|scope| scope.resolve(&expression));
        self.parsed.push(expression);
        let node = node?;
        if *self.graph.data_type(node) == data_type {
            return Ok(node);
        }
        let name = self.graph.constant(Value::string(data_type.to_string()), DataType::String);
        self.scalar("CAST", vec![node, name])
    }

    /// Whether a name of several parts is an alias and what is within it.
    ///
    /// # Errors
    /// Those of the alias' expression.
    pub fn is_alias_path(&mut self, parts: &[ast::Identifier]) -> Result<bool> {
        let Some(first) = parts.first() else { return Ok(false) };
        let name = self.analyzer.identifier(first)?;
        match self.alias(name)? {
            Some(node) => Ok(self.subcolumns(node, &parts[1..])?.is_some()),
            None => Ok(false),
        }
    }

    /// What a path of names means within a value: elements of tuples, sizes of arrays, null maps, keys and values of maps.
    /// `None` where it means nothing.
    fn subcolumns(&mut self, node: NodeId, path: &[ast::Identifier]) -> Result<Option<NodeId>> {
        let mut node = node;
        let mut path = path.iter();
        while let Some(part) = path.next() {
            let part = self.analyzer.identifier(part)?;
            if in_arrays_of_objects(self.graph.data_type(node)) {
                node = self.path_of_objects(node, part, &mut path)?;
                continue;
            }
            let Some(next) = self.subcolumn(node, part)? else { return Ok(None) };
            node = next;
        }
        Ok(Some(node))
    }

    /// A path of `JSON`, which goes on up to the name of a type: the values, or those of that type.
    fn path_of_objects(
        &mut self,
        node: NodeId,
        first: &str,
        rest: &mut std::slice::Iter<'_, ast::Identifier>,
    ) -> Result<NodeId> {
        let (mut path, mut part) = (String::new(), Some(first));
        let mut wanted = None;
        while let Some(name) = part {
            if let Some(type_name) = name.strip_prefix(':') {
                wanted = Some(type_name.to_owned());
                break;
            }
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            part = rest.next().map(|next| self.analyzer.identifier(next)).transpose()?;
        }
        let path = self.graph.constant(Value::string(path), DataType::String);
        let values = self.scalar("getSubcolumn", vec![node, path])?;
        let Some(wanted) = wanted else { return Ok(values) };
        let wanted = self.graph.constant(Value::string(wanted), DataType::String);
        self.scalar("dynamicElement", vec![values, wanted])
    }

    fn subcolumn(&mut self, node: NodeId, name: &str) -> Result<Option<NodeId>> {
        fn tuple_has(data_type: &DataType, name: &str) -> bool {
            match data_type {
                DataType::Tuple(elements) => {
                    // Only where elements have no names they are told by their numbers.
                    let is_number = || name.parse::<usize>().is_ok_and(|number| (1..=elements.len()).contains(&number));
                    elements.iter().any(|element| element.name.as_deref() == Some(name))
                        || elements.iter().all(|element| element.name.is_none()) && is_number()
                }
                DataType::Array(inner) | DataType::Nullable(inner) => tuple_has(inner, name),
                DataType::Named(named) => tuple_has(named.values(), name),
                _ => false,
            }
        }
        let data_type = &self.graph.data_type(node).without_names();
        let function = match (data_type, name) {
            (DataType::Variant(_), name) | (DataType::Dynamic(_), name)
                if DataType::parse(name.strip_prefix(':').unwrap_or(name)).is_ok_and(|wanted| match data_type {
                    DataType::Variant(alternatives) => alternatives.contains(&wanted),
                    _ => true,
                }) =>
            {
                let name = name.strip_prefix(':').unwrap_or(name);
                let function =
                    if matches!(data_type, DataType::Variant(_)) { "variantElement" } else { "dynamicElement" };
                let name = self.graph.constant(Value::string(name), DataType::String);
                return self.scalar(function, vec![node, name]).map(Some);
            }
            (data_type, name) if tuple_has(data_type, name) => {
                let element = self.graph.constant(Value::string(name), DataType::String);
                return self.scalar("tupleElement", vec![node, element]).map(Some);
            }
            (DataType::Array(_) | DataType::Map(..), "size0") => "length",
            (DataType::Nullable(_), "null") => "isNull",
            (DataType::Map(..), "keys") => "mapKeys",
            (DataType::Map(..), "values") => "mapValues",
            (DataType::Array(_) | DataType::String | DataType::Nullable(_), _) => {
                let name = self.graph.constant(Value::string(name), DataType::String);
                return match self.scalar("getSubcolumn", vec![node, name]) {
                    Err(error) if error.code == ErrorCode::ILLEGAL_COLUMN => Ok(None),
                    found => found.map(Some),
                };
            }
            _ => return Ok(None),
        };
        self.scalar(function, vec![node]).map(Some)
    }

    fn parameter(&mut self, parameter: &ast::QueryParameter) -> Result<NodeId> {
        let (value, data_type) = self.parameter_value(parameter)?;
        Ok(self.graph.constant(value, data_type))
    }

    /// The value of a query parameter, read as its type.
    ///
    /// # Errors
    /// `UNKNOWN_QUERY_PARAMETER`, `BAD_QUERY_PARAMETER`, `UNKNOWN_TYPE`.
    pub fn parameter_value(&self, parameter: &ast::QueryParameter) -> Result<(Value, DataType)> {
        let text = self.analyzer.parameter(&parameter.name)?;
        let data_type = DataType::parse(&parameter.data_type)?;
        let functions = &self.analyzer.context.functions;
        if data_type.is_nullable() && text == "\\N" {
            return Ok((Value::Null, data_type));
        }
        // Clients write values as fields of TabSeparated; what nests has its own escapes.
        let is_nested = matches!(data_type.inner(), DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_));
        let written = if is_nested { text.as_bytes().into() } else { unescape(text.as_bytes())? };
        if data_type == DataType::String {
            return Ok((Value::string(written), data_type));
        }
        let read = |written: &[u8]| {
            if !is_nested {
                return conversion::convert(&Value::string(written), &DataType::String, &data_type, functions);
            }
            let mut reader = ValueReader::new(&data_type, &conversion::options(functions).text)?;
            reader.read_whole(written)?;
            Ok(reader.finish()?.value(0))
        };
        match read(&written) {
            Ok(value) => Ok((value, data_type)),
            Err(_) => {
                let reads = |length: &usize| {
                    let start = text.get(..*length).filter(|start| !start.is_empty());
                    start.is_some_and(|start| read(start.as_bytes()).is_ok())
                };
                // Only where the text is short is it worth telling how much of it was good.
                let parsed = (0..text.len().min(100)).rev().find(reads).unwrap_or(0);
                Err(Error::new(
                    ErrorCode::BAD_QUERY_PARAMETER,
                    format!(
                        "Value {text} cannot be parsed as {data_type} for query parameter '{}' because it isn't parsed \
                         completely: only {parsed} of {} bytes was parsed: {}",
                        parameter.name,
                        text.len(),
                        &text[..parsed]
                    ),
                ))
            }
        }
    }

    /// `UNKNOWN_IDENTIFIER` in ClickHouse's words.
    pub fn unknown_identifier(&self, parts: &[ast::Identifier], what: &str) -> Error {
        let text = |part: &ast::Identifier| self.analyzer.identifier(part).unwrap_or_default().to_owned();
        let name = parts.iter().map(text).collect::<Vec<_>>().join(".");
        let columns = || (0..self.source.len()).map(|column| self.source.name(column));
        let table_of = |count: usize| match parts.len() > count {
            true => self.qualified_table(parts, count).unwrap_or_default().map(|table| (table, count)),
            false => None,
        };
        let mut message = if let Some((table, qualifiers)) = table_of(1).or_else(|| table_of(2)) {
            let prefix = parts[..qualifiers].iter().map(text).collect::<Vec<_>>().join(".");
            let table = match self.source.tables().get(table).map(|names| (names.database, names.table)) {
                Some((Some(database), Some(table))) => format!("table with name {database}.{table}"),
                _ => format!("subquery with name {prefix}"),
            };
            let hint = self.compound_hint(&name, parts.len(), Some(&prefix));
            format!("Identifier '{name}' cannot be resolved from {table}{hint}")
        } else if parts.len() > 1 {
            let hint = self.compound_hint(&name, parts.len(), None);
            format!("Unknown {what} identifier `{name}`{hint}")
        } else {
            let hint = maybe_you_meant(&name, columns().chain(self.alias_names()));
            format!("Unknown {what} identifier `{name}`{hint}")
        };
        let scope = self.text();
        if !scope.is_empty() {
            message += &format!(". In scope {scope}");
            if self.source.is_one() {
                message += ": Note: the query does not have the FROM clause. Did you forget to add it?";
            }
        }
        Error::new(ErrorCode::UNKNOWN_IDENTIFIER, message)
    }

    /// What a name of several parts may have meant: names of as many parts, the table's before its columns, and elements of
    /// tuples.
    fn compound_hint(&self, name: &str, parts: usize, prefix: Option<&str>) -> String {
        let source = &self.source;
        let mut prefixes: Vec<String> = prefix.map(str::to_owned).into_iter().collect();
        if prefix.is_none() {
            for names in source.tables() {
                prefixes.extend([names.alias, names.table].into_iter().flatten().map(str::to_owned));
                if let (Some(database), Some(table)) = (names.database, names.table) {
                    prefixes.push(format!("{database}.{table}"));
                }
            }
            prefixes.push(String::new());
        }
        let mut known = Vec::new();
        for column in 0..source.len() {
            let mut names = vec![source.name(column).to_owned()];
            if let DataType::Tuple(elements) = source.data_type(column) {
                let elements = elements.iter().filter_map(|element| element.name.as_deref());
                names.extend(elements.map(|element| format!("{}.{element}", source.name(column))));
            }
            for prefix in &prefixes {
                let separator = if prefix.is_empty() { "" } else { "." };
                known.extend(names.iter().map(|name| format!("{prefix}{separator}{name}")));
            }
        }
        let same_parts = known.iter().map(String::as_str).filter(|known| known.split('.').count() == parts);
        maybe_you_meant(name, same_parts)
    }
}

/// Whether a type is of objects, or of arrays of them.
fn in_arrays_of_objects(data_type: &DataType) -> bool {
    match data_type {
        DataType::Array(item) => in_arrays_of_objects(item),
        other => matches!(other.inner(), DataType::Json(_)),
    }
}
