//! Names: single identifiers and the names of tables and other objects that may carry a database.

use super::Span;

/// One identifier, unquoted, or a `{name:Identifier}` parameter that stands for one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identifier {
    /// The identifier's text without quotes and escapes; for a parameter, the parameter's name.
    pub value: String,
    /// Whether this is `{value:Identifier}`, to be replaced by the parameter's value.
    pub parameter: bool,
    /// Where it stands.
    pub span: Span,
}

impl Identifier {
    /// A plain identifier that comes from no text.
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), parameter: false, span: Span::default() }
    }
}

/// `[database.]name`: a table, a view, a dictionary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The database, when written.
    pub database: Option<Identifier>,
    /// The table.
    pub table: Identifier,
    /// `UUID '…'`, when written.
    pub uuid: Option<String>,
    /// Where the whole name stands.
    pub span: Span,
}

impl TableName {
    /// An unqualified table name that comes from no text.
    pub fn new(table: impl Into<String>) -> Self {
        Self { database: None, table: Identifier::new(table), uuid: None, span: Span::default() }
    }
}

/// `ON CLUSTER name`, where the name may be an identifier or a string.
pub type OnCluster = Option<Identifier>;
