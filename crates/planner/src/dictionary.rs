//! `CREATE DICTIONARY`: what the statement defines, types and settings settled. The text of the statement is what `storage` keeps;
//! it is read back by the same way.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_sql::ast::{self, CreateMode, KeyValue, KeyValueValue, Statement};
use squall_sql::{ParserLimits, format, format_data_type, format_one_line, parse};
use squall_types::{DataType, Error, ErrorCode, Result, Value, default_value};

use crate::bind::bind_expression;
use crate::catalog::ColumnDescription;

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
    /// The query whose rows it holds: the columns as declared.
    pub source: Arc<ast::Query>,
    /// The source in words: `ClickHouse: db.table`.
    pub source_text: Arc<str>,
    /// `COMMENT`.
    pub comment: Arc<str>,
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

/// The layouts of dictionaries. All but the direct ones are held as a hash table here; the names are kept for who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum DictionaryLayout {
    Flat,
    Hashed,
    SparseHashed,
    HashedArray,
    ComplexKeyHashed,
    ComplexKeySparseHashed,
    ComplexKeyHashedArray,
    Direct,
    ComplexKeyDirect,
}

/// Names in SQL, names in `system.dictionaries`.
const LAYOUTS: &[(DictionaryLayout, &str, &str)] = &[
    (DictionaryLayout::Flat, "flat", "Flat"),
    (DictionaryLayout::Hashed, "hashed", "Hashed"),
    (DictionaryLayout::SparseHashed, "sparse_hashed", "SparseHashed"),
    (DictionaryLayout::HashedArray, "hashed_array", "HashedArray"),
    (DictionaryLayout::ComplexKeyHashed, "complex_key_hashed", "ComplexKeyHashed"),
    (DictionaryLayout::ComplexKeySparseHashed, "complex_key_sparse_hashed", "ComplexKeySparseHashed"),
    (DictionaryLayout::ComplexKeyHashedArray, "complex_key_hashed_array", "ComplexKeyHashedArray"),
    (DictionaryLayout::Direct, "direct", "Direct"),
    (DictionaryLayout::ComplexKeyDirect, "complex_key_direct", "ComplexKeyDirect"),
];

impl DictionaryLayout {
    fn parse(name: &str) -> Option<Self> {
        LAYOUTS.iter().find(|(_, known, _)| *known == name).map(|(layout, ..)| *layout)
    }

    /// ClickHouse's name of the type in `system.dictionaries`.
    pub fn type_name(self) -> &'static str {
        LAYOUTS.iter().find(|(layout, ..)| *layout == self).map_or("", |(.., name)| name)
    }

    /// Whether the key is one number.
    pub fn is_simple(self) -> bool {
        matches!(self, Self::Flat | Self::Hashed | Self::SparseHashed | Self::HashedArray | Self::Direct)
    }

    /// Whether nothing is held: every query asks the source.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Direct | Self::ComplexKeyDirect)
    }
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
    let Some(definition) = &create.definition else {
        return Err(Error::not_implemented("ATTACH DICTIONARY without a definition"));
    };
    if definition.range.is_some() {
        return Err(Error::not_implemented("RANGE of a dictionary"));
    }
    let (columns, defaults) = columns(definition, functions)?;
    let keys = keys(definition, &columns)?;
    let Some(source) = &definition.source else {
        return Err(incorrect("Cannot create dictionary with empty source"));
    };
    let layout = match &definition.layout {
        Some(layout) => DictionaryLayout::parse(&layout.name).ok_or_else(|| {
            let known = [
                "cache",
                "ssd_cache",
                "range_hashed",
                "ip_trie",
                "polygon",
                "regexp_tree",
                "complex_key_cache",
                "complex_key_ssd_cache",
                "complex_key_range_hashed",
            ];
            if known.contains(&layout.name.as_str()) {
                return Error::not_implemented(format!("Dictionary layout {}", layout.name));
            }
            Error::new(ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG, format!("Unknown dictionary layout type: {}", layout.name))
        })?,
        None => return Err(incorrect("Cannot create dictionary with empty layout")),
    };
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
    let (source, source_text) = source_query(source, &columns, database)?;
    let flags = definition.attributes.iter().zip(defaults).enumerate().filter(|(at, _)| !keys.contains(at));
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
        lifetime_seconds,
        source: Arc::new(source),
        source_text: source_text.into(),
        comment: create.comment.as_deref().unwrap_or_default().into(),
    })
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
        if attribute.expression.is_some() {
            return Err(Error::not_implemented("EXPRESSION of a dictionary's attribute"));
        }
        let name: Arc<str> = attribute.name.value.as_str().into();
        if columns.iter().any(|known| known.name == name) {
            return Err(incorrect(format!("Dictionary attribute '{name}' is declared twice")));
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
        columns.push(ColumnDescription { name, data_type, default: None, comment: "".into() });
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

/// The query of `SOURCE(CLICKHOUSE(…))`, and the source in words.
fn source_query(
    source: &ast::KeyValueFunction,
    columns: &[ColumnDescription],
    database: &str,
) -> Result<(ast::Query, String)> {
    if source.name != "clickhouse" {
        let known = [
            "file",
            "executable",
            "executable_pool",
            "http",
            "mysql",
            "postgresql",
            "odbc",
            "mongodb",
            "redis",
            "null",
        ];
        if known.contains(&source.name.as_str()) {
            return Err(Error::not_implemented(format!("Dictionary source {}", source.name)));
        }
        return Err(Error::new(
            ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG,
            format!("Unknown dictionary source type: {}", source.name),
        ));
    }
    let text = |key: &str| source.pairs.iter().find(|pair| pair.key == key).map(pair_text).transpose();
    if let Some(host) = text("host")?
        && !matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1" | "")
    {
        return Err(Error::not_implemented(format!("A dictionary's source on another server, {host},")));
    }
    let known = ["host", "port", "user", "password", "db", "table", "query", "where", "secure", "name"];
    let others = ["invalidate_query", "update_field", "update_lag"];
    for pair in &source.pairs {
        if others.contains(&pair.key.as_str()) {
            return Err(Error::not_implemented(format!("{} of a dictionary's source", pair.key)));
        }
        if !known.contains(&pair.key.as_str()) {
            return Err(Error::new(
                ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG,
                format!("Unexpected key `{}` in dictionary source configuration", pair.key),
            ));
        }
    }
    let quoted = |name: &str| squall_sql::format_expression(&ast::Expression::identifier(name));
    let (sql, words) = match (text("query")?, text("table")?) {
        (Some(query), _) => (query.clone(), format!("ClickHouse: {query}")),
        (None, Some(table)) => {
            let database = text("db")?.unwrap_or_else(|| database.to_owned());
            let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
            let mut sql = format!("SELECT {} FROM {}.{}", names.join(", "), quoted(&database), quoted(&table));
            let mut words = format!("ClickHouse: {database}.{table}");
            if let Some(condition) = text("where")? {
                sql += &format!(" WHERE {condition}");
                words += &format!(", where: {condition}");
            }
            (sql, words)
        }
        (None, None) => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "ClickHouse dictionary source configuration must contain table or query field",
            ));
        }
    };
    match parse(&sql, &ParserLimits::default()) {
        Ok(Statement::Query(query)) => Ok((*query, words)),
        Ok(_) => Err(incorrect("The source of a dictionary must be a SELECT")),
        Err(error) => Err(Error::new(ErrorCode::SYNTAX_ERROR, error.to_string())),
    }
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
