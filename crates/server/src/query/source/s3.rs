//! Objects of S3, and of what speaks its protocol, as tables: the functions `s3`, `gcs`, `oss` and `cosn`, and the engines of these names.

use std::sync::Arc;

use squall_files::{DeclaredColumns, FileTable, FileTableOptions, TargetFile};
use squall_planner::{ColumnDescription, PlannerContext, TableMetadata};
use squall_remote::s3::{S3Files, S3Keys, S3Location, S3Options};
use squall_storage::{Table, TableHandle};
use squall_types::{Error, ErrorCode, Result, Schema, Settings, Value};

use super::arguments::{Arguments, flag, number};
use super::data_function::{declared, options};
use crate::session::Session;

/// The word in the place of keys that says that there are none.
const NO_SIGN: &str = "NOSIGN";
/// The least bytes of a part that servers take, but for the last one.
const PART_BYTES_MIN: u64 = 5 << 20;
/// The most bytes of a part that are held here.
const PART_BYTES_MAX: u64 = 1 << 30;
/// The most parts of an object that servers take.
const PARTS_MAX: u64 = 10_000;

/// What is asked for.
#[derive(Clone, Default)]
pub(super) struct Call {
    pub url: String,
    keys: Option<S3Keys>,
    is_unsigned: bool,
    uses_environment: Option<bool>,
    headers: Vec<(String, String)>,
    format: String,
    structure: String,
    compression: String,
    read_retries: Option<u64>,
}

/// Arguments by name, of a query or of a collection.
#[derive(Default)]
struct Named {
    url: Option<String>,
    filename: Option<String>,
    id: Option<String>,
    secret: Option<String>,
    token: Option<String>,
}

impl Call {
    /// What arguments mean, those with names as [`named_argument`](squall_planner::named_argument) gives them. Those of an engine have no
    /// structure.
    pub fn of(session: &Session, arguments: &[Value], is_engine: bool) -> Result<Self> {
        let (mut call, mut named) = (Self::default(), Named::default());
        let given = Arguments::of(session, arguments)?;
        let is_collection = given.is_collection;
        // What a collection does not say is not looked for in the environment.
        call.uses_environment = is_collection.then_some(false);
        for (name, value) in &given.headers {
            call.headers.push((text(name)?, text(value)?));
        }
        for (name, value) in &given.named {
            call.take(name, value, &mut named)?;
        }
        if !is_collection {
            let texts = given.plain.iter().map(text).collect::<Result<Vec<_>>>()?;
            if texts.is_empty() {
                return Err(wrong_count(is_engine));
            }
            call.take_texts(texts, is_engine)?;
        }
        call.settle(named, is_collection)?;
        Ok(call)
    }

    /// The columns that are said.
    pub fn declared(&self, planner: &PlannerContext<'_>) -> Result<Option<DeclaredColumns>> {
        declared(&self.structure, planner)
    }

    /// Takes the arguments without names, of which a query may leave out some in the middle.
    fn take_texts(&mut self, texts: Vec<String>, is_engine: bool) -> Result<()> {
        let mut texts = texts.into_iter().peekable();
        self.url = texts.next().unwrap_or_default();
        let left = texts.len();
        if texts.next_if(|text| text == NO_SIGN).is_some() {
            self.is_unsigned = true;
        } else if left >= 2 && texts.peek().is_some_and(|text| !is_format(text)) {
            let (id, secret) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
            let token = texts.next_if(|text| !is_format(text)).filter(|token| !token.is_empty());
            self.keys = (!id.is_empty()).then_some(S3Keys { id, secret, token });
        }
        let mut rest = vec![&mut self.format];
        if !is_engine {
            rest.push(&mut self.structure);
        }
        rest.push(&mut self.compression);
        for place in rest {
            if let Some(text) = texts.next() {
                // What has a name comes first.
                if place.is_empty() {
                    *place = text;
                }
            }
        }
        match texts.next() {
            Some(_) => Err(wrong_count(is_engine)),
            None => Ok(()),
        }
    }

    /// Takes an argument with a name.
    fn take(&mut self, name: &str, value: &Value, named: &mut Named) -> Result<()> {
        match name {
            "url" => named.url = Some(text(value)?),
            "filename" => named.filename = Some(text(value)?),
            "access_key_id" => named.id = Some(text(value)?),
            "secret_access_key" => named.secret = Some(text(value)?),
            "session_token" => named.token = Some(text(value)?),
            "format" => self.format = text(value)?,
            "structure" => self.structure = text(value)?,
            "compression_method" | "compression" => self.compression = text(value)?,
            "no_sign_request" => self.is_unsigned = flag(name, value)?,
            "use_environment_credentials" => self.uses_environment = Some(flag(name, value)?),
            "max_single_read_retries" => self.read_retries = Some(number(name, value)?),
            // What these say is not asked here.
            "expiration_window_seconds" | "max_connections" => {}
            _ => {
                let message = format!(
                    "Unexpected key `{name}` in named collection. Required keys: url, optional keys: filename, access_key_id, \
                     secret_access_key, session_token, format, structure, compression_method, no_sign_request, \
                     use_environment_credentials, max_single_read_retries"
                );
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        }
        Ok(())
    }

    /// Puts together what was given in parts.
    fn settle(&mut self, named: Named, is_collection: bool) -> Result<()> {
        // The address of arguments without names stays.
        if is_collection {
            self.url = named.url.ok_or_else(|| {
                Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "Required key `url` is not in the named collection or the arguments",
                )
            })?;
        }
        if let Some(filename) = named.filename.filter(|filename| !filename.is_empty()) {
            let separator = if self.url.ends_with('/') || filename.starts_with('/') { "" } else { "/" };
            self.url = format!("{}{separator}{filename}", self.url);
        }
        if let Some((id, secret)) = named.id.zip(named.secret).filter(|(id, _)| !id.is_empty()) {
            self.keys = Some(S3Keys { id, secret, token: named.token.filter(|token| !token.is_empty()) });
        }
        Ok(())
    }

    /// The objects that are meant, and what is said of them.
    fn files(mut self, session: &Session, declared: Option<DeclaredColumns>) -> Result<(FileTableOptions, S3Files)> {
        let (settings, config) = (&session.settings, session.server.config.load());
        let location = S3Location::of(&self.url, &settings.s3_uri_style)?;
        let endpoint = config.s3.of_url(&self.url);
        config.remote_hosts.check_url(&location.endpoint)?;
        let mut http = config.remote_hosts.http_options(settings);
        (http.connect_max, http.silence_max) = (settings.s3_connect_timeout_ms, settings.s3_request_timeout_ms);
        http.headers = endpoint.headers;
        http.headers.append(&mut self.headers);
        let explicit = self.keys.or(endpoint.keys);
        let is_unsigned = self.is_unsigned || (explicit.is_none() && endpoint.is_unsigned);
        let uses_environment = self.uses_environment.or(endpoint.use_environment_credentials);
        let keys = match explicit {
            _ if is_unsigned => None,
            Some(keys) => Some(keys),
            None => of_environment(session, uses_environment)?,
        };
        let mut options = s3_options(settings, http);
        (options.keys, options.region) = (keys, endpoint.region);
        options.read_retries = self.read_retries.unwrap_or(options.read_retries);
        let table = FileTableOptions {
            path: location.key.clone(),
            format: self.format,
            declared,
            compression: self.compression,
        };
        Ok((table, S3Files::new(location, options)?))
    }
}

/// The keys of the server's environment, where a query may use them.
fn of_environment(session: &Session, asks: Option<bool>) -> Result<Option<S3Keys>> {
    if asks == Some(false) {
        return Ok(None);
    }
    if session.server.is_local() || session.settings.s3_allow_server_credentials_in_user_queries {
        return Ok(S3Keys::of_environment());
    }
    let message = "Queries may not use the server's own credentials for S3. Give access_key_id and secret_access_key, say \
                   NOSIGN where none are needed, or enable the setting s3_allow_server_credentials_in_user_queries";
    Err(Error::new(ErrorCode::ACCESS_DENIED, message))
}

fn s3_options(settings: &Settings, http: squall_remote::http::HttpOptions) -> S3Options {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let part_bytes_max = settings.s3_max_upload_part_size.clamp(PART_BYTES_MIN, PART_BYTES_MAX);
    S3Options {
        http,
        keys: None,
        region: None,
        keys_per_page: settings.s3_list_object_keys_size,
        read_retries: settings.s3_max_single_read_retries,
        skips_missing: settings.s3_ignore_file_doesnt_exist,
        must_match: settings.s3_throw_on_zero_files_match,
        checks_etags: settings.s3_validate_etag_on_read,
        replaces: settings.s3_truncate_on_insert,
        makes_new: settings.s3_create_new_file_on_insert,
        part_bytes: bytes(settings.s3_min_upload_part_size.clamp(PART_BYTES_MIN, part_bytes_max)),
        part_bytes_max: bytes(part_bytes_max),
        part_growth: bytes(settings.s3_upload_part_size_multiply_factor.max(1)),
        parts_before_growth: settings.s3_upload_part_size_multiply_parts_count_threshold,
        parts_max: settings.s3_max_part_number.clamp(1, PARTS_MAX),
        single_part_bytes: bytes(settings.s3_max_single_part_upload_size.min(PART_BYTES_MAX)),
    }
}

/// `s3(…)` and its kin. Waits for the server.
///
/// # Errors
/// What is wrong with the arguments; those of [`S3Files::find`] and [`FileTable::of_elsewhere`].
pub(in crate::query) fn table(
    session: &Session,
    name: &str,
    arguments: &[Value],
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn TableMetadata>> {
    let call = Call::of(session, arguments, false)?;
    let declared = call.declared(planner)?;
    let (table, files) = call.files(session, declared)?;
    let found = files.find()?;
    let table = FileTable::of_elsewhere(name, &table, found, files.holder(), options(session)?)?;
    Ok(Arc::new(TableHandle(Arc::new(table))))
}

/// What takes the rows of an INSERT. The server is asked once there is something to write.
///
/// # Errors
/// What is wrong with the location; those of [`TargetFile::elsewhere`].
pub(super) fn written(call: Call, session: &Session, declared: DeclaredColumns) -> Result<Arc<dyn Table>> {
    let (table, files) = call.files(session, None)?;
    let key = files.target_key()?.to_owned();
    Ok(Arc::new(TargetFile::elsewhere(&table, key, files.holder(), declared, options(session)?)?))
}

/// The rows of a table of an engine over S3, whose arguments these are. Waits for the server.
///
/// # Errors
/// As [`table`].
pub(in crate::query) fn engine_table(session: &Session, arguments: &[Value], columns: &Schema) -> Result<FileTable> {
    let call = Call::of(session, arguments, true)?;
    let (table, files) = call.files(session, Some(DeclaredColumns::plain(columns)))?;
    let found = files.find()?;
    FileTable::of_elsewhere("S3", &table, found, files.holder(), options(session)?)
}

/// What takes the rows of an INSERT into such a table.
///
/// # Errors
/// As [`written`].
pub(in crate::query) fn engine_target(
    session: &Session,
    arguments: &[Value],
    columns: &Schema,
) -> Result<Arc<dyn Table>> {
    written(Call::of(session, arguments, true)?, session, DeclaredColumns::plain(columns))
}

/// What takes the rows of an INSERT into a table that was made AS a function over S3.
///
/// # Errors
/// As [`written`].
pub(super) fn shown_target(
    session: &Session,
    arguments: &[Value],
    columns: &[ColumnDescription],
) -> Result<Arc<dyn Table>> {
    let fields = columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
    let declared = DeclaredColumns::plain(&Schema::new(fields));
    written(Call::of(session, arguments, false)?, session, declared)
}

/// Removes the object of such a table. Waits for the server.
///
/// # Errors
/// `S3_ERROR`; `DATABASE_ACCESS_DENIED` for a pattern.
pub(in crate::query) fn remove(session: &Session, arguments: &[Value]) -> Result<()> {
    Call::of(session, arguments, true)?.files(session, None)?.1.remove()
}

/// Whether a text is a format's name, or stands for one, rather than a key.
fn is_format(text: &str) -> bool {
    text.eq_ignore_ascii_case("auto") || squall_formats::check_format(text).is_ok()
}

fn text(value: &Value) -> Result<String> {
    match value {
        Value::String(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => {
            let message = format!("An argument of S3 must be a literal with type String, got {}", other.literal_type());
            Err(Error::new(ErrorCode::BAD_ARGUMENTS, message))
        }
    }
}

fn wrong_count(is_engine: bool) -> Error {
    let structure = if is_engine { "" } else { "[, structure]" };
    let message = format!(
        "Storage S3 requires: url [, NOSIGN | access_key_id, secret_access_key [, session_token]] [, format]{structure} \
         [, compression_method], or a named collection"
    );
    Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
}
