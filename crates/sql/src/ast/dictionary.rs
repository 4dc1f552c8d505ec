//! The definition of a dictionary: attributes, key, source, layout, lifetime, range.

use super::{DataType, Expression, Function, Identifier, Setting, Span};

/// What CREATE DICTIONARY defines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DictionaryDefinition {
    /// The attributes between the parentheses.
    pub attributes: Vec<DictionaryAttribute>,
    /// `PRIMARY KEY`.
    pub primary_key: Vec<Expression>,
    /// `SOURCE(name(key value …))`.
    pub source: Option<KeyValueFunction>,
    /// `LIFETIME(MIN a MAX b)` or `LIFETIME(b)`.
    pub lifetime: Option<DictionaryLifetime>,
    /// `LAYOUT(name(key value …))`.
    pub layout: Option<KeyValueFunction>,
    /// `RANGE(MIN a MAX b)`.
    pub range: Option<(Identifier, Identifier)>,
    /// `SETTINGS(…)`.
    pub settings: Vec<Setting>,
}

/// One attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DictionaryAttribute {
    /// The attribute's name.
    pub name: Identifier,
    /// Its type.
    pub data_type: DataType,
    /// `DEFAULT` literal.
    pub default: Option<Expression>,
    /// `EXPRESSION`.
    pub expression: Option<Expression>,
    /// `HIERARCHICAL`.
    pub hierarchical: bool,
    /// `BIDIRECTIONAL`.
    pub bidirectional: bool,
    /// `INJECTIVE`.
    pub injective: bool,
    /// `IS_OBJECT_ID`.
    pub is_object_id: bool,
    /// Where it stands.
    pub span: Span,
}

/// `name(key value key value …)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyValueFunction {
    /// The name in lower case, as ClickHouse keeps it.
    pub name: String,
    /// The pairs.
    pub pairs: Vec<KeyValue>,
    /// Whether parentheses follow the name.
    pub brackets: bool,
}

/// One pair of a source or layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyValue {
    /// The key in lower case.
    pub key: String,
    /// A constant, an identifier or a call; or further pairs in parentheses.
    pub value: KeyValueValue,
}

/// The second of a pair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyValueValue {
    /// A constant, an identifier.
    Expression(Expression),
    /// A call with ordinary arguments: `password env('X')`.
    Function(Function),
    /// `key (key value …)`.
    Pairs(Vec<KeyValue>),
}

/// How often a dictionary is loaded again, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DictionaryLifetime {
    /// `MIN`; 0 when not written.
    pub min: u64,
    /// `MAX`.
    pub max: u64,
}
