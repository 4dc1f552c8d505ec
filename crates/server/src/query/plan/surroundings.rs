//! What functions ask of the server and the session that a query runs in.

use std::fmt;
use std::sync::Arc;

use squall_formats::{FormatOptions, Statistics, output_format};
use squall_functions::regions::EmbeddedRegions;
use squall_functions::{DiskSpace, Surroundings, TopLevelDomains};
use squall_types::{Block, Error, ErrorCode, Result, Value};

use crate::access::Privilege;
use crate::asynchronous_metrics::disk_space;
use crate::network::certificate_entries;
use crate::session::Session;

/// A session as functions see it.
pub(in crate::query) struct SessionSurroundings(pub(in crate::query) Session);

impl fmt::Debug for SessionSurroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionSurroundings").field(&self.0.access.name).finish()
    }
}

/// The value of a setting by the name of its type.
fn value(type_name: &str, text: &str) -> Value {
    match (type_name, text.parse::<u64>(), text.parse::<i64>(), text.parse::<f64>()) {
        ("Bool", ..) => Value::Bool(matches!(text, "1" | "true")),
        ("String", ..) => Value::string(text),
        (_, Ok(number), ..) => Value::UInt64(number),
        (_, _, Ok(number), _) => Value::Int64(number),
        (_, _, _, Ok(number)) => Value::Float64(number),
        _ => Value::string(text),
    }
}

impl Surroundings for SessionSurroundings {
    fn format_rows(&self, format: &str, block: &Block) -> Result<Vec<Vec<u8>>> {
        let session = &self.0;
        let options = FormatOptions::new(session.settings.clone(), &session.server.zone)?;
        let make = || output_format(format, block.schema(), &options);
        make()?;
        (0..block.rows())
            .map(|row| {
                let (mut format, mut out) = (make()?, Vec::new());
                format.begin(&mut out);
                format.block(&block.slice(row, 1), &mut out)?;
                format.end(&Statistics::default(), &mut out)?;
                Ok(out)
            })
            .collect()
    }

    fn has_column(&self, database: &str, table: &str, column: &str) -> Result<bool> {
        let session = &self.0;
        let found = session.server.databases.table(database, table)?;
        if !session.access.may_show_column(database, table, column) {
            return Err(Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {database}.{table} does not exist.")));
        }
        Ok(found.columns().iter().any(|known| &*known.name == column))
    }

    fn server_setting(&self, name: &str) -> Option<Value> {
        let all = self.0.server.config.load().server.all();
        all.iter().find(|setting| setting.name == name).map(|setting| value(setting.type_name, &setting.value))
    }

    fn merge_tree_setting(&self, name: &str) -> Option<Value> {
        let mut all = squall_storage::merge_tree_settings();
        all.find(|setting| setting.name == name).map(|setting| value(setting.type_name, setting.default))
    }

    fn port(&self, name: &str) -> Option<u16> {
        let config = self.0.server.config.load();
        let all = config.server.all();
        let found = all.iter().find(|setting| setting.name == name && name.ends_with("port"));
        found.and_then(|setting| setting.value.parse().ok()).filter(|port| *port != 0)
    }

    fn macro_value(&self, name: &str) -> Option<Arc<str>> {
        self.0.server.config.load().macros.get(name).map(|value| value.as_str().into())
    }

    fn roles(&self) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let access = &self.0.access;
        let current = access.current_roles.iter().map(|name| name.as_str().into()).collect();
        (current, access.enabled_roles.keys().map(|name| name.as_str().into()).collect())
    }

    fn server_uuid(&self) -> [u8; 16] {
        self.0.server.uuid.into_bytes()
    }

    fn disk_space(&self, disk: &str) -> Result<DiskSpace> {
        if disk != "default" {
            return Err(Error::new(ErrorCode::UNKNOWN_DISK, format!("Unknown disk name {disk}")));
        }
        let path = self.0.server.config.load().path.clone();
        disk_space(&path).ok_or_else(|| {
            Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("The system does not tell the space at {}", path.display()))
        })
    }

    fn certificate(&self) -> Result<Vec<(&'static str, String)>> {
        match &self.0.server.config.load().tls.certificate_file {
            Some(file) => certificate_entries(file),
            None => Ok(Vec::new()),
        }
    }

    fn check_may_read_files(&self) -> Result<()> {
        self.0.access.check_source(Privilege::File)
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        self.check_may_read_files()?;
        self.0.server.file_reach()?.read(path)
    }

    fn top_level_domains(&self, list: &str) -> Option<Arc<TopLevelDomains>> {
        self.0.server.config.load().function_files.top_level_domains.get(list).cloned()
    }

    fn regions(&self) -> Option<Arc<EmbeddedRegions>> {
        self.0.server.config.load().function_files.regions.clone()
    }

    fn profiles(&self) -> Vec<Arc<str>> {
        vec![self.0.server.config.load().server.default_profile.as_str().into()]
    }
}
