//! What formats can do, as `system.formats` shows it.

use std::sync::Arc;

use squall_types::Schema;

use crate::display::tabular::Header;
use crate::format::{FORMATS, Format, output_format};
use crate::json::columns::Around;
use crate::json::output::Shape;
use crate::options::FormatOptions;

/// What is known of a format: the columns of `system.formats`.
#[derive(Clone, Copy, Debug)]
pub struct FormatProperties {
    /// Its name.
    pub name: &'static str,
    /// Whether it can be read.
    pub is_input: bool,
    /// Whether it can be written.
    pub is_output: bool,
    /// Whether what it writes may be shown in a terminal.
    pub is_tty_friendly: bool,
    /// The MIME type of what it writes; empty where it is not written.
    pub content_type: &'static str,
    /// Whether a file of it is read from any place.
    pub has_random_access: bool,
    /// Whether its data tell what columns they have.
    pub has_schema_inference: bool,
    /// Whether its columns are those of a schema beside the data, or always the same.
    pub has_external_schema: bool,
    /// Whether what is written can be added to a file that is there.
    pub can_be_appended: bool,
    /// Whether some of the columns can be read alone.
    pub has_subsets_of_columns: bool,
}

/// What is known of all formats, in the order of their names.
pub fn format_properties() -> impl Iterator<Item = FormatProperties> {
    FORMATS.iter().map(|(name, format, is_input, is_output)| FormatProperties {
        name,
        is_input: *is_input,
        is_output: *is_output,
        is_tty_friendly: !(*is_output && format.is_binary()),
        content_type: if *is_output { format.content_type(name) } else { "" },
        has_random_access: format.has_random_access(),
        has_schema_inference: *is_input && !format.has_external_schema() && format.tells_types(),
        has_external_schema: format.has_external_schema(),
        can_be_appended: *is_output && matches!(format, Format::Custom { .. } | Format::Template { .. }),
        has_subsets_of_columns: *is_input && format.has_names(),
    })
}

impl Format {
    /// Whether it is nothing to read for a person.
    fn is_binary(self) -> bool {
        match self {
            Self::Bson | Self::Npy | Self::MsgPack | Self::Native | Self::RowBinary { .. } => true,
            Self::Parquet | Self::Arrow(_) => true,
            #[cfg(feature = "avro")]
            Self::Avro => true,
            #[cfg(feature = "orc")]
            Self::Orc => true,
            #[cfg(feature = "protobuf")]
            Self::Protobuf(_) => true,
            _ => false,
        }
    }

    fn has_random_access(self) -> bool {
        match self {
            Self::Parquet => true,
            #[cfg(feature = "orc")]
            Self::Orc => true,
            _ => false,
        }
    }

    /// Whether its columns are those of a schema beside the data, or always the same.
    fn has_external_schema(self) -> bool {
        match self {
            Self::JsonWhole { .. } | Self::LineAsString(_) | Self::One | Self::RawBlob => true,
            #[cfg(feature = "protobuf")]
            Self::Protobuf(_) => true,
            _ => false,
        }
    }

    /// Whether its data can only be read by who knows the columns' types, or tell them.
    fn tells_types(self) -> bool {
        !matches!(self, Self::RowBinary { header: Header::Absent | Header::Names, .. })
    }

    /// Whether its data name the columns.
    fn has_names(self) -> bool {
        match self {
            Self::TabSeparated { header, .. } | Self::Csv(header) | Self::Custom { header, .. } => {
                header != Header::Absent
            }
            Self::JsonEachRow { shape, header, .. } => shape == Shape::Objects || header != Header::Absent,
            Self::JsonColumns(around) => around != Around::Nothing,
            Self::Json { .. } | Self::JsonObjectEachRow | Self::Native | Self::Npy => true,
            Self::Parquet | Self::Arrow(_) | Self::Tskv => true,
            #[cfg(feature = "avro")]
            Self::Avro => true,
            #[cfg(feature = "orc")]
            Self::Orc => true,
            #[cfg(feature = "protobuf")]
            Self::Protobuf(_) => true,
            _ => false,
        }
    }

    /// The MIME type of what it writes; of a format that asks for more than columns, what such formats have.
    fn content_type(self, name: &str) -> &'static str {
        let output = output_format(name, &Arc::new(Schema { fields: Vec::new() }), &FormatOptions::default());
        match output {
            Ok(output) => output.content_type(),
            Err(_) if self.is_binary() => "application/octet-stream",
            Err(_) => "text/plain; charset=UTF-8",
        }
    }
}
