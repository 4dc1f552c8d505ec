//! Pages of rules, whose text stands in the configuration or in a file, and the headers that rules give responses.

use std::path::{Path, PathBuf};

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use squall_types::{Error, ErrorCode, Result};

use crate::config::Element;
use crate::http::response::{Headers, Response};

const TEXT_PLAIN: &str = "text/plain; charset=UTF-8";
const TEXT_HTML: &str = "text/html; charset=UTF-8";
const OK: &str = "Ok.\n";
/// Longer files are not sent.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// `http_response_headers` and `content_type` of a handler.
#[derive(Debug, Default)]
pub(super) struct ResponseHeaders {
    content_type: Option<String>,
    others: Vec<(String, String)>,
}

impl ResponseHeaders {
    /// Those of a handler, after those that all rules have.
    ///
    /// # Errors
    /// Where one cannot be a header.
    pub(super) fn read(handler: &Element, common: Option<&Element>) -> Result<Self> {
        let mut headers = Self::default();
        let own = handler.child("http_response_headers");
        for header in common.into_iter().chain(own).flat_map(|headers| &headers.children) {
            headers.set(&header.name, header.trimmed(), header)?;
        }
        if let Some(content_type) = handler.child("content_type") {
            headers.set("Content-Type", content_type.trimmed(), content_type)?;
        }
        Ok(headers)
    }

    fn set(&mut self, name: &str, value: &str, element: &Element) -> Result<()> {
        if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
            return Err(element.error(format_args!("'{name}: {value}' cannot be a header")));
        }
        if name.eq_ignore_ascii_case("content-type") {
            self.content_type = Some(value.to_owned());
        } else {
            self.others.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            self.others.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    /// Gives them to a response: an error keeps its content type.
    pub(super) fn add_to(&self, response: &mut Response, is_ok: bool) {
        if let Some(content_type) = self.content_type.as_ref().filter(|_| is_ok) {
            response.set("Content-Type", content_type);
        }
        for (name, value) in &self.others {
            response.set(name, value);
        }
    }
}

/// A page of a rule.
#[derive(Debug)]
pub struct Page {
    status: StatusCode,
    content: Content,
    headers: ResponseHeaders,
}

#[derive(Debug)]
enum Content {
    Text(String),
    /// A file of `user_files_path`.
    File(PathBuf),
}

impl Page {
    /// `static`: `response_content`, which may be `config://element` or `file:///name`, with `status`.
    ///
    /// # Errors
    /// `INVALID_CONFIG_PARAMETER`, or a status that is none.
    pub(super) fn read_static(handler: &Element, mut headers: ResponseHeaders, root: &Element) -> Result<Self> {
        let status = match handler.child("status") {
            Some(status) => {
                let number = status.value::<u16>("an HTTP status")?;
                StatusCode::from_u16(number).map_err(|_| status.bad_value("an HTTP status"))?
            }
            None => StatusCode::OK,
        };
        headers.content_type.get_or_insert_with(|| TEXT_PLAIN.to_owned());
        let content = handler.child("response_content").map_or(OK, |content| &content.text);
        let content = if let Some(path) = content.trim().strip_prefix("config://") {
            if path.is_empty() {
                let message = "Static handling rule handler must contain a complete configuration path, for example: config://config_key";
                return Err(Error::new(ErrorCode::INVALID_CONFIG_PARAMETER, message));
            }
            let found = path.split('.').try_fold(root, |element, name| element.child(name));
            Content::Text(found.map_or(OK, |element| &element.text).to_owned())
        } else if let Some(file) = content.trim().strip_prefix("file://") {
            Content::File(file.trim_start_matches('/').into())
        } else {
            Content::Text(content.to_owned())
        };
        Ok(Self { status, content, headers })
    }

    /// `redirect` to `location`.
    ///
    /// # Errors
    /// `NO_ELEMENTS_IN_CONFIG`, or a location that cannot be a header.
    pub(super) fn read_redirect(handler: &Element, mut headers: ResponseHeaders) -> Result<Self> {
        let Some(location) = handler.child("location") else {
            let message = "There is no path 'handler.location' in configuration file";
            return Err(Error::new(ErrorCode::NO_ELEMENTS_IN_CONFIG, message));
        };
        headers.set("Location", location.trimmed(), location)?;
        Ok(Self { status: StatusCode::FOUND, content: Content::Text(String::new()), headers })
    }

    /// `ping`.
    pub(super) fn ping(mut headers: ResponseHeaders) -> Self {
        headers.content_type.get_or_insert_with(|| TEXT_HTML.to_owned());
        Self { status: StatusCode::OK, content: Content::Text(OK.to_owned()), headers }
    }

    /// The response. A file is read for each request, on a thread that may wait; `folder` is `user_files_path`.
    pub async fn response(&self, headers: &Headers, folder: &str) -> Response {
        let text = match &self.content {
            Content::Text(text) => Ok(text.clone().into_bytes()),
            Content::File(name) => {
                let (folder, name) = (PathBuf::from(folder), name.clone());
                let reading = tokio::task::spawn_blocking(move || read_file(&folder, &name));
                reading.await.unwrap_or_else(|error| Err(Error::logical(format!("reading was interrupted: {error}"))))
            }
        };
        match text {
            Ok(text) => {
                let mut response = headers.page(self.status, TEXT_PLAIN, text);
                self.headers.add_to(&mut response, true);
                response
            }
            Err(error) => headers.error(&error, None, None),
        }
    }
}

/// Reads a file of a folder, and none outside of it.
fn read_file(folder: &Path, name: &Path) -> Result<Vec<u8>> {
    let wrong = |why: &dyn std::fmt::Display| {
        let message = format!("Invalid file name {} for static HTTPHandler: {why}", name.display());
        Error::new(ErrorCode::INCORRECT_FILE_NAME, message)
    };
    let folder = folder.canonicalize().map_err(|error| wrong(&error))?;
    let file = folder.join(name).canonicalize().map_err(|error| wrong(&error))?;
    if !file.starts_with(&folder) {
        return Err(wrong(&"it is not in user_files_path"));
    }
    let metadata = file.metadata().map_err(|error| wrong(&error))?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(wrong(&"it is no file, or too long"));
    }
    std::fs::read(&file).map_err(|error| wrong(&error))
}
