//! What shapes text and limits in all formats: the settings that bear on formats, the time zone of the session, and the callback that
//! evaluates expressions in `VALUES`.

use std::fmt;
use std::sync::Arc;

use squall_types::calendar::TimeZone;
use squall_types::text::TextOptions;
use squall_types::{DataType, Result, Settings, Value};

use crate::schema_folder::SchemaFolder;

/// Evaluates an SQL expression without columns to a value of a type.
pub type Evaluate = Arc<dyn Fn(&str, &DataType) -> Result<Value> + Send + Sync>;

/// What a format is made with.
#[derive(Clone)]
pub struct FormatOptions {
    /// The query's settings.
    pub settings: Arc<Settings>,
    /// The time zone of `DateTime` types that name none.
    pub time_zone: TimeZone,
    /// The revision of the native protocol that the Native format follows; 0 is the format in files.
    pub client_protocol_version: u64,
    /// Evaluates expressions in `VALUES`; without it only literals are read.
    pub evaluate: Option<Evaluate>,
    /// Bytes of an unfinished row (or of a file, where a format needs it whole) that input may hold back.
    pub pending_bytes_max: usize,
    /// The columns of the terminal that tables have to fit, by shorter values and fewer columns; without it they are as wide as they are.
    pub width_max: Option<usize>,
    /// Where schemas and templates that settings name are looked up.
    pub schemas: Arc<SchemaFolder>,
}

impl FormatOptions {
    /// Options for a query that runs under these settings in a server of this time zone; the session's own goes first.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where `session_timezone` is not a time zone.
    pub fn new(settings: Arc<Settings>, server: &TimeZone) -> Result<Self> {
        let session = &settings.session_timezone;
        let time_zone = if session.is_empty() { server.clone() } else { TimeZone::named(session)? };
        Ok(Self {
            settings,
            time_zone,
            client_protocol_version: 0,
            evaluate: None,
            pending_bytes_max: 1 << 30,
            width_max: None,
            schemas: SchemaFolder::current(),
        })
    }

    /// What bears on the text of single values.
    pub(crate) fn text(&self) -> TextOptions {
        TextOptions::of(&self.settings, self.time_zone.clone())
    }
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self {
            settings: Arc::default(),
            time_zone: TimeZone::utc(),
            client_protocol_version: 0,
            evaluate: None,
            pending_bytes_max: 1 << 30,
            width_max: None,
            schemas: SchemaFolder::current(),
        }
    }
}

impl fmt::Debug for FormatOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormatOptions")
            .field("time_zone", &self.time_zone)
            .field("client_protocol_version", &self.client_protocol_version)
            .finish_non_exhaustive()
    }
}
