//! A block: named columns of one length, the unit in which data moves between operators, formats and protocols.

use std::sync::Arc;

use arrow_array::{BooleanArray, UInt32Array};

use crate::column::Column;
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};

/// Names and types of columns, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    /// The columns' names and types.
    pub fields: Vec<(Arc<str>, DataType)>,
}

impl Schema {
    /// A schema of these columns.
    pub fn new<N: Into<Arc<str>>>(fields: impl IntoIterator<Item = (N, DataType)>) -> Self {
        Self { fields: fields.into_iter().map(|(name, data_type)| (name.into(), data_type)).collect() }
    }

    /// The columns of a description, `a UInt8, b String`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("Error while parsing table structure: '{text}'"));
        let Ok(elements) = DataType::parse_columns(text) else { return Err(wrong()) };
        if elements.is_empty() || elements.iter().any(|element| element.name.is_none()) {
            return Err(wrong());
        }
        Ok(Self::new(
            elements.iter().map(|element| (element.name.clone().unwrap_or_default(), element.data_type.clone())),
        ))
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The position of the first column of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(known, _)| &**known == name)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// The types.
    pub fn types(&self) -> impl Iterator<Item = &DataType> {
        self.fields.iter().map(|(_, data_type)| data_type)
    }
}

/// Columns of one length under a schema. Cheap to clone. A block without columns still has a number of rows.
#[derive(Clone, Debug)]
pub struct Block {
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
}

impl Block {
    /// A block of `rows` rows; every column must have as many and the schema's type.
    pub fn new(schema: Arc<Schema>, columns: Vec<Column>, rows: usize) -> Self {
        debug_assert_eq!(schema.len(), columns.len());
        debug_assert!(columns.iter().all(|column| column.rows() == rows));
        debug_assert!(
            schema.types().zip(&columns).all(|(data_type, column)| data_type == column.data_type()),
            "{schema:?} over {:?}",
            columns.iter().map(Column::data_type).collect::<Vec<_>>()
        );
        Self { schema, columns, rows }
    }

    /// A block of these columns; their common length is its number of rows.
    ///
    /// # Errors
    /// `SIZES_OF_COLUMNS_DOESNT_MATCH`.
    pub fn from_columns<N: Into<Arc<str>>>(columns: impl IntoIterator<Item = (N, Column)>) -> Result<Self> {
        let (names, columns): (Vec<Arc<str>>, Vec<Column>) =
            columns.into_iter().map(|(name, column)| (name.into(), column)).unzip();
        let rows = columns.first().map_or(0, Column::rows);
        if columns.iter().any(|column| column.rows() != rows) {
            return Err(Error::new(ErrorCode::SIZES_OF_COLUMNS_DOESNT_MATCH, "Columns of a block differ in length"));
        }
        let fields = names.into_iter().zip(columns.iter().map(|column| column.data_type().clone()));
        Ok(Self { schema: Arc::new(Schema::new(fields)), columns, rows })
    }

    /// No rows of a schema.
    pub fn empty(schema: Arc<Schema>) -> Self {
        let columns = schema.types().map(|data_type| Column::empty(data_type.clone())).collect();
        Self { schema, columns, rows: 0 }
    }

    /// Names and types.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The columns, in the schema's order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// A column by position.
    pub fn column(&self, position: usize) -> &Column {
        &self.columns[position]
    }

    /// The columns, given away.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The same columns under other names (and types of the same layout).
    #[must_use]
    pub fn with_schema(self, schema: Arc<Schema>) -> Self {
        let columns = self
            .columns
            .into_iter()
            .zip(schema.types())
            .map(|(column, data_type)| column.with_type(data_type.clone()))
            .collect();
        Self { columns, schema, rows: self.rows }
    }

    /// Rows `offset..offset + rows`, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, rows: usize) -> Self {
        let columns = self.columns.iter().map(|column| column.slice(offset, rows)).collect();
        Self { schema: self.schema.clone(), columns, rows }
    }

    /// The rows whose mask is true.
    pub fn filter(&self, mask: &BooleanArray) -> Result<Self> {
        let rows = mask.true_count();
        let columns = self.columns.iter().map(|column| column.filter(mask, rows)).collect::<Result<_>>()?;
        Ok(Self { schema: self.schema.clone(), columns, rows })
    }

    /// The rows at these positions.
    pub fn take(&self, positions: &UInt32Array) -> Result<Self> {
        let columns = self.columns.iter().map(|column| column.take(positions)).collect::<Result<_>>()?;
        Ok(Self { schema: self.schema.clone(), columns, rows: positions.len() })
    }

    /// The blocks one after the other; all must have the schema's types.
    pub fn concat(schema: Arc<Schema>, blocks: &[Self]) -> Result<Self> {
        match blocks {
            [] => Ok(Self::empty(schema)),
            [one] => Ok(Self { schema, ..one.clone() }),
            _ => {
                let rows = blocks.iter().map(Self::rows).sum();
                let columns = (0..schema.len())
                    .map(|at| {
                        let parts: Vec<Column> = blocks.iter().map(|block| block.columns[at].clone()).collect();
                        Column::concat(&parts)
                    })
                    .collect::<Result<_>>()?;
                Ok(Self { schema, columns, rows })
            }
        }
    }

    /// The block with constants written out.
    pub fn materialize(&self) -> Result<Self> {
        let columns = self.columns.iter().map(Column::materialize).collect::<Result<_>>()?;
        Ok(Self { schema: self.schema.clone(), columns, rows: self.rows })
    }

    /// Bytes held in memory, shared buffers counted in full.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(Column::memory_bytes).sum()
    }

    /// Bytes of the values in ClickHouse's accounting (`read_bytes`, `result_bytes`).
    pub fn value_bytes(&self) -> usize {
        self.columns.iter().map(Column::value_bytes).sum()
    }
}
