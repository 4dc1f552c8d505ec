//! `CREATE DICTIONARY`: what the statement defines, types and settings settled. The text of the statement is what `storage` keeps;
//! it is read back by the same way. A dictionary of a configuration file comes as the same statement.

mod foreign;
mod layout;
mod source;

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_sql::ast::{self, CreateMode, KeyValue, KeyValueValue, Statement};
use squall_sql::{ParserLimits, format, format_data_type, format_one_line, parse};
use squall_types::{DataType, Error, ErrorCode, Result, Value, default_value};

use crate::bind::{bind_expression, bind_parsed};
use crate::catalog::ColumnDescription;
pub use foreign::{ForeignKind, ForeignPlace, ForeignSelection};
pub use layout::{DictionaryLayout, LayoutParameters};
pub use source::{DictionarySource, OutsidePlace, OutsideSource, QuerySource, SourceServer, UpdateField};

/// A dictionary's definition.
#[derive(Clone, Debug)]
pub struct DictionaryDefinition {
    /// The statement that creates it, with the database's name, in ClickHouse's form.
    pub sql: Arc<str>,
    /// Keys and attributes as they were declared.
    pub columns: Vec<ColumnDescription>,
    /// The positions of the key's columns.
    pub keys: Vec<usize>,
    /// The other columns.
    pub attributes: Vec<DictionaryAttribute>,
    /// How it is held.
    pub layout: DictionaryLayout,
    /// `LIFETIME`: it is loaded anew after a time between these, in seconds; never where the last is 0.
    pub lifetime_seconds: (u64, u64),
    /// What the layout's parameters say.
    pub parameters: LayoutParameters,
    /// The positions of the columns that say from when to when a row holds.
    pub range: Option<(usize, usize)>,
    /// Where its rows are.
    pub source: DictionarySource,
    /// The source in words: `ClickHouse: db.table`.
    pub source_text: Arc<str>,
    /// `COMMENT`.
    pub comment: Arc<str>,
    /// The configuration file that it is from; none where a statement made it.
    pub origin: Option<Arc<str>>,
}

/// An attribute of a dictionary.
#[derive(Clone, Debug)]
pub struct DictionaryAttribute {
    /// Its position among the columns.
    pub column: usize,
    /// Its value for keys that are not there.
    pub default: Value,
    /// `HIERARCHICAL`.
    pub is_hierarchical: bool,
    /// `INJECTIVE`.
    pub is_injective: bool,
    /// `IS_OBJECT_ID`.
    pub is_object_id: bool,
}

fn incorrect(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INCORRECT_DICTIONARY_DEFINITION, message)
}

/// The definition of a dictionary that is being created in a database.
///
/// # Errors
/// `INCORRECT_DICTIONARY_DEFINITION`, `UNKNOWN_ELEMENT_IN_CONFIG`, `UNKNOWN_TYPE`; `NOT_IMPLEMENTED` for sources and layouts that are
/// not here yet.
pub fn plan_dictionary(
    create: &ast::CreateDictionary,
    database: &str,
    functions: &FunctionContext,
) -> Result<DictionaryDefinition> {
    plan(create, database, None, functions)
}

/// The definition of a dictionary of a configuration file, `origin`. Its tables are looked for in the database `default`.
///
/// # Errors
/// As [`plan_dictionary`].
pub fn plan_configured_dictionary(
    create: &ast::CreateDictionary,
    origin: &str,
    functions: &FunctionContext,
) -> Result<DictionaryDefinition> {
    plan(create, "default", Some(origin.into()), functions)
}

fn plan(
    create: &ast::CreateDictionary,
    database: &str,
    origin: Option<Arc<str>>,
    functions: &FunctionContext,
) -> Result<DictionaryDefinition> {
    let create = &with_constants(create.clone(), functions)?;
    let Some(definition) = &create.definition else {
        return Err(Error::not_implemented("ATTACH DICTIONARY without a definition"));
    };
    let (columns, defaults) = columns(definition, functions)?;
    let keys = keys(definition, &columns)?;
    let Some(source) = &definition.source else {
        return Err(incorrect("Cannot create dictionary with empty source"));
    };
    let Some(written) = &definition.layout else {
        return Err(incorrect("Cannot create dictionary with empty layout"));
    };
    let layout = DictionaryLayout::parse(&written.name)?;
    let parameters = LayoutParameters::read(layout, written)?;
    let range = range(definition, layout, &columns)?;
    let lifetime_seconds = match &definition.lifetime {
        Some(lifetime) if lifetime.min > lifetime.max => {
            return Err(incorrect("lifetime.min must be less than or equal to lifetime.max"));
        }
        Some(lifetime) => (lifetime.min, lifetime.max),
        None if layout.is_direct() => (0, 0),
        None => return Err(incorrect("Cannot create dictionary with empty lifetime")),
    };
    if layout.is_simple() && keys.len() != 1 {
        return Err(incorrect("Primary key for simple dictionary must contain exactly one element"));
    }
    if layout == DictionaryLayout::IpTrie && (keys.len() != 1 || columns[keys[0]].data_type != DataType::String) {
        return Err(incorrect("The key of a dictionary of layout 'ip_trie' must be one String"));
    }
    let expressions: Vec<Option<String>> = definition
        .attributes
        .iter()
        .map(|attribute| attribute.expression.as_ref().map(squall_sql::format_expression))
        .collect();
    let (source, source_text) = DictionarySource::read(source, &columns, &expressions, database, origin.is_none())?;
    let is_on_demand_source = match &source {
        DictionarySource::Outside(outside) => !matches!(outside.place, OutsidePlace::File(_)),
        _ => true,
    };
    if layout.is_on_demand() && !is_on_demand_source {
        return Err(Error::new(
            ErrorCode::UNSUPPORTED_METHOD,
            format!("The source cannot be asked for single keys, as layout '{}' does", written.name),
        ));
    }
    let bounds = range.map_or([usize::MAX; 2], |(first, last)| [first, last]);
    let is_attribute = |at: &usize| (parameters.key_is_attribute || !keys.contains(at)) && !bounds.contains(at);
    let flags = definition.attributes.iter().zip(defaults).enumerate().filter(|(at, _)| is_attribute(at));
    let attributes = flags.map(|(column, (declared, default))| DictionaryAttribute {
        column,
        default,
        is_hierarchical: declared.hierarchical,
        is_injective: declared.injective,
        is_object_id: declared.is_object_id,
    });
    Ok(DictionaryDefinition {
        sql: statement_text(create, database),
        attributes: attributes.collect(),
        columns,
        keys,
        layout,
        parameters,
        range,
        lifetime_seconds,
        source,
        source_text: source_text.into(),
        comment: create.comment.as_deref().unwrap_or_default().into(),
        origin,
    })
}

/// The statement with the values of the source's calls in their place: `db currentDatabase()` means the database of whoever makes the
/// dictionary.
fn with_constants(mut create: ast::CreateDictionary, functions: &FunctionContext) -> Result<ast::CreateDictionary> {
    let source = create.definition.as_mut().and_then(|definition| definition.source.as_mut());
    for pair in source.into_iter().flat_map(|source| &mut source.pairs) {
        let KeyValueValue::Function(call) = &pair.value else { continue };
        let call = ast::Expression::new(ast::ExpressionKind::Function(Box::new(call.clone())), ast::Span::default());
        let bound = bind_parsed(&call, &[], functions)?;
        let Some(value) = bound.constant() else {
            return Err(incorrect(format!("The value of '{}' must be a constant", pair.key)));
        };
        let literal = match value.as_u64() {
            Some(number) => ast::Literal::UInt64(number),
            None => ast::Literal::String(value.as_bytes().map_or_else(|| value.to_string().into(), <[u8]>::to_vec)),
        };
        pair.value = KeyValueValue::Expression(ast::Expression::literal(literal));
    }
    Ok(create)
}

/// The definition of a dictionary from the text that was kept of it.
///
/// # Errors
/// As [`plan_dictionary`], and `SYNTAX_ERROR`.
pub fn parse_dictionary(sql: &str, functions: &FunctionContext) -> Result<DictionaryDefinition> {
    match parse(sql, &ParserLimits::default()) {
        Ok(Statement::CreateDictionary(create)) => {
            let database = create.name.database.as_ref().map_or("default", |database| database.value.as_str());
            plan_dictionary(&create, database, functions)
        }
        Ok(_) => Err(incorrect("what is kept of a dictionary is another statement")),
        Err(error) => Err(Error::new(ErrorCode::SYNTAX_ERROR, error.to_string())),
    }
}

/// A dictionary's statement that was kept, for one of another name.
///
/// # Errors
/// As [`parse_dictionary`].
pub fn renamed_dictionary(
    sql: &str,
    database: &str,
    name: &str,
    functions: &FunctionContext,
) -> Result<DictionaryDefinition> {
    match parse(sql, &ParserLimits::default()) {
        Ok(Statement::CreateDictionary(mut create)) => {
            create.name.table = ast::Identifier::new(name);
            plan_dictionary(&create, database, functions)
        }
        Ok(_) => Err(incorrect("what is kept of a dictionary is another statement")),
        Err(error) => Err(Error::new(ErrorCode::SYNTAX_ERROR, error.to_string())),
    }
}

/// A statement that was kept, in one line.
pub fn in_one_line(sql: &str) -> String {
    parse(sql, &ParserLimits::default()).map_or_else(|_| sql.to_owned(), |statement| format_one_line(&statement))
}

fn statement_text(create: &ast::CreateDictionary, database: &str) -> Arc<str> {
    let mut create = create.clone();
    create.mode = CreateMode::Create;
    create.attach = false;
    create.name.database = Some(ast::Identifier::new(database));
    create.name.uuid = None;
    format(&Statement::CreateDictionary(Box::new(create))).into()
}

fn columns(
    definition: &ast::DictionaryDefinition,
    functions: &FunctionContext,
) -> Result<(Vec<ColumnDescription>, Vec<Value>)> {
    let mut columns: Vec<ColumnDescription> = Vec::with_capacity(definition.attributes.len());
    let mut defaults = Vec::with_capacity(definition.attributes.len());
    for attribute in &definition.attributes {
        let name: Arc<str> = attribute.name.value.as_str().into();
        if columns.iter().any(|known| known.name == name) {
            return Err(incorrect(format!("Dictionary attribute '{name}' is declared twice")));
        }
        if attribute.bidirectional && !attribute.hierarchical {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Bidirectional can only be applied to hierarchical attributes",
            ));
        }
        let data_type = DataType::parse(&format_data_type(&attribute.data_type))?;
        defaults.push(match &attribute.default {
            Some(default) => {
                let text = squall_sql::format_expression(default);
                let cast = format!("CAST({text}, {})", Value::string(data_type.to_string()));
                let expression = bind_expression(&cast, &[], functions)?;
                let value = expression.constant().cloned();
                value.ok_or_else(|| incorrect(format!("The default of attribute '{name}' is no constant")))?
            }
            None => default_value(&data_type),
        });
        columns.push(ColumnDescription::new(name, data_type));
    }
    Ok((columns, defaults))
}

fn keys(definition: &ast::DictionaryDefinition, columns: &[ColumnDescription]) -> Result<Vec<usize>> {
    if definition.primary_key.is_empty() {
        return Err(incorrect("Cannot create dictionary without primary key"));
    }
    let mut keys = Vec::new();
    for key in &definition.primary_key {
        let names = match &key.kind {
            ast::ExpressionKind::Function(call) if call.name == "tuple" => call.arguments.iter().collect(),
            _ => vec![key],
        };
        for key in names {
            let name = match &key.kind {
                ast::ExpressionKind::Identifier(parts) => parts.last().map_or("", |part| part.value.as_str()),
                _ => "",
            };
            let position = columns.iter().position(|column| &*column.name == name);
            keys.push(position.ok_or_else(|| incorrect(format!("Unknown key attribute '{name}'")))?);
        }
    }
    Ok(keys)
}

/// The columns of `RANGE(MIN … MAX …)`, which the range layouts need and no other may have.
fn range(
    definition: &ast::DictionaryDefinition,
    layout: DictionaryLayout,
    columns: &[ColumnDescription],
) -> Result<Option<(usize, usize)>> {
    let Some((first, last)) = &definition.range else {
        if layout.has_range() {
            return Err(incorrect("A dictionary of layout 'range_hashed' needs RANGE(MIN … MAX …)"));
        }
        return Ok(None);
    };
    if !layout.has_range() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "elements .structure.range_min and .structure.range_max should be defined only for a dictionary of layout \
             'range_hashed'",
        ));
    }
    let position = |name: &ast::Identifier| {
        let found = columns.iter().position(|column| *column.name == *name.value);
        found.ok_or_else(|| incorrect(format!("Unknown range attribute '{}'", name.value)))
    };
    let (first, last) = (position(first)?, position(last)?);
    let plain = |at: usize| columns[at].data_type.remove_nullable();
    if plain(first) != plain(last) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Dictionary range_min {} and range_max {} must have the same type", plain(first), plain(last)),
        ));
    }
    Ok(Some((first, last)))
}

fn pair_text(pair: &KeyValue) -> Result<String> {
    match &pair.value {
        KeyValueValue::Expression(expression) => Ok(match &expression.kind {
            ast::ExpressionKind::Literal(ast::Literal::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            ast::ExpressionKind::Identifier(parts) => {
                parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
            }
            _ => squall_sql::format_expression(expression),
        }),
        _ => Err(incorrect(format!("The value of '{}' must be a constant", pair.key))),
    }
}
