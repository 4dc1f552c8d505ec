//! A column's values as the fields of a text format: `types` prints values; here are the settings that change how NULL and `Bool` look,
//! and the fields into which CSV cuts tuples.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_buffer::{NullBuffer, ScalarBuffer};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Block, Column, DataType, Error, Result};

use crate::options::FormatOptions;

/// The fields of one column.
#[derive(Debug)]
pub(crate) enum Field {
    /// As `types` prints them.
    Value(ValueWriter),
    /// With another text for NULL.
    WithNull { writer: ValueWriter, nulls: Nulls, null: Arc<[u8]> },
    /// Truths with other words than `true` and `false`.
    Bool { values: ScalarBuffer<u8>, is_constant: bool, nulls: Nulls, words: [Arc<[u8]>; 3] },
}

/// Which rows are NULL.
#[derive(Debug)]
pub(crate) enum Nulls {
    None,
    All,
    /// All rows, or the one that stands for all.
    Some(NullBuffer, bool),
}

impl Nulls {
    pub fn new(column: &Column) -> Self {
        match column.nulls() {
            _ if *column.data_type().inner() == DataType::Nothing => Self::All,
            None => Self::None,
            Some(nulls) => Self::Some(nulls.clone(), column.is_constant()),
        }
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(nulls, is_constant) => nulls.is_null(if *is_constant { 0 } else { row }),
        }
    }
}

impl Field {
    /// Whether a row is NULL, as far as its text is not what the style has for it.
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Value(_) => false,
            Self::WithNull { nulls, .. } | Self::Bool { nulls, .. } => nulls.is_null(row),
        }
    }

    /// Appends a row's field.
    #[inline]
    pub fn write(&mut self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Value(writer) => writer.write(out, row),
            Self::WithNull { writer, nulls, null } => {
                if nulls.is_null(row) {
                    out.extend_from_slice(null);
                } else {
                    writer.write(out, row);
                }
            }
            Self::Bool { values, is_constant, nulls, words } => {
                let word = if nulls.is_null(row) {
                    2
                } else {
                    usize::from(values.get(if *is_constant { 0 } else { row }).is_some_and(|value| *value != 0))
                };
                out.extend_from_slice(&words[word]);
            }
        }
    }
}

/// The fields of all columns of blocks, for one format.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    style: TextStyle,
    text: TextOptions,
    /// What stands for NULL, where it is not what the style has.
    null: Option<Arc<[u8]>>,
    /// What stands for false, true and NULL in columns of `Bool`, where it is not what the style has.
    bool_words: Option<[Arc<[u8]>; 3]>,
    splits_tuples: bool,
}

impl Fields {
    /// Fields of a style.
    pub fn new(style: TextStyle, options: &FormatOptions) -> Self {
        let settings = &options.settings;
        let null: &str = match style {
            TextStyle::Csv => &settings.format_csv_null_representation,
            _ => &settings.format_tsv_null_representation,
        };
        let has_words = matches!(style, TextStyle::Escaped | TextStyle::Csv | TextStyle::Plain);
        let has_own_null = matches!(style, TextStyle::Escaped | TextStyle::Csv) && null != "\\N";
        let has_own_bool =
            has_words && (settings.bool_true_representation != "true" || settings.bool_false_representation != "false");
        let words = || {
            [&settings.bool_false_representation, &settings.bool_true_representation, null]
                .map(|word| Arc::<[u8]>::from(word.as_bytes()))
        };
        Self {
            style,
            text: options.text(),
            null: has_own_null.then(|| null.as_bytes().into()),
            bool_words: has_own_bool.then(words),
            splits_tuples: style == TextStyle::Csv && settings.output_format_csv_serialize_tuple_into_separate_columns,
        }
    }

    /// The same with this text for NULL.
    pub fn with_null(mut self, null: &str) -> Self {
        let null: Arc<[u8]> = null.as_bytes().into();
        if let Some([.., word]) = &mut self.bool_words {
            *word = null.clone();
        }
        self.null = Some(null);
        self
    }

    /// The fields of a block's columns.
    pub fn of(&self, block: &Block) -> Result<Vec<Field>> {
        let mut fields = Vec::with_capacity(block.columns().len());
        block.columns().iter().try_for_each(|column| self.add(column, &mut fields))?;
        Ok(fields)
    }

    fn add(&self, column: &Column, fields: &mut Vec<Field>) -> Result<()> {
        match column.data_type() {
            DataType::Tuple(elements) if self.splits_tuples && !elements.is_empty() => {
                for (at, element) in elements.iter().enumerate() {
                    self.add(&element_of(column, at, &element.data_type)?, fields)?;
                }
            }
            DataType::Tuple(_) if self.splits_tuples => {
                // A tuple of nothing is an empty field.
                let empty = Column::constant(DataType::String, &"".into(), column.rows())?;
                fields.push(Field::Value(ValueWriter::new(&empty, TextStyle::Plain, &self.text)?));
            }
            data_type => fields.push(match (&self.bool_words, &self.null) {
                (Some(words), _)
                    if *data_type.inner() == DataType::Bool && !matches!(data_type, DataType::LowCardinality(_)) =>
                {
                    Field::Bool {
                        values: column.as_primitive::<UInt8Type>()?.values().clone(),
                        is_constant: column.is_constant(),
                        nulls: Nulls::new(column),
                        words: words.clone(),
                    }
                }
                (_, Some(null)) if data_type.is_nullable() => {
                    let writer = ValueWriter::new(column, self.style, &self.text)?;
                    Field::WithNull { writer, nulls: Nulls::new(column), null: null.clone() }
                }
                _ => Field::Value(ValueWriter::new(column, self.style, &self.text)?),
            }),
        }
        Ok(())
    }
}

/// An element of a column of tuples, as a column.
pub(crate) fn element_of(column: &Column, position: usize, data_type: &DataType) -> Result<Column> {
    let tuple = column.array().as_struct_opt().and_then(|tuple| tuple.columns().get(position));
    let array = tuple.ok_or_else(|| Error::logical("a tuple without its element"))?;
    let element = Column::new(data_type.clone(), array.clone());
    Ok(if column.is_constant() { Column::repeat(&element, column.rows()) } else { element })
}
