//! Files that web servers hold: read by GET, by place where the server gives ranges, and written by POST or PUT. Everything here waits for an
//! answer, on a runtime that the caller's thread alone drives.

pub(crate) mod exchange;
mod upload;

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode, Uri};
use squall_files::glob::alternatives;
use squall_files::{Elsewhere, FileElsewhere, Upload, Wanted};
use squall_types::{Error, ErrorCode, Result};

use self::exchange::{Answer, Ask};
use crate::reach::Reach;

/// Says which addresses of a URL's host may be asked.
pub type UrlReach = Arc<dyn Fn(&str) -> Result<Reach> + Send + Sync>;

/// How web servers are asked.
#[derive(Clone)]
pub struct HttpOptions {
    /// Which addresses may be asked; asked of every URL, also of those that a server names.
    pub reach: UrlReach,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The method of requests that write.
    pub write_method: Method,
    /// How long a connection may take to be there.
    pub connect_max: Duration,
    /// How long a server may be silent.
    pub silence_max: Duration,
    /// How often a server may name another URL.
    pub redirects_max: u64,
    /// Whether one of several URLs may mean nothing.
    pub skips_missing: bool,
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers may hold secrets.
        f.debug_struct("HttpOptions").field("write_method", &self.write_method).finish_non_exhaustive()
    }
}

/// The files of web servers.
#[derive(Debug)]
pub struct HttpFiles {
    options: HttpOptions,
    /// Whether there are several, of which some may be missing.
    are_several: bool,
}

impl HttpFiles {
    /// What a URL or a pattern of URLs means, and who reads and writes it. With `by_place` the servers are asked for the sizes of files, so
    /// that they can be read by place where the server gives ranges.
    ///
    /// # Errors
    /// `UNACCEPTABLE_URL`, `BAD_ARGUMENTS` for what is no URL.
    pub fn of(pattern: &str, by_place: bool, options: HttpOptions) -> Result<(Vec<FileElsewhere>, Arc<dyn Elsewhere>)> {
        let urls = alternatives(pattern)?;
        let files = Self { options, are_several: urls.len() > 1 };
        let found = urls.into_iter().map(|url| {
            let uri = uri(&url)?;
            (files.options.reach)(&url)?;
            let size = if by_place { files.size(&url)? } else { None };
            Ok(FileElsewhere { path: uri.path().to_owned(), location: url, size, changed: None, etag: None })
        });
        Ok((found.collect::<Result<_>>()?, Arc::new(files)))
    }

    /// The size of a file that can be read by place.
    fn size(&self, url: &str) -> Result<Option<u64>> {
        let ask = Ask { method: Method::HEAD, url, range: None, options: &self.options };
        // Who does not answer to HEAD may answer to GET.
        let Ok(answer) = exchange::ask(&ask) else { return Ok(None) };
        let is_whole = answer.status == StatusCode::OK && answer.gives_ranges;
        Ok(answer.length.filter(|length| is_whole && *length > 0))
    }
}

/// The parts of a URL.
fn uri(url: &str) -> Result<Uri> {
    let uri: Uri = url.parse().map_err(|error| bad_url(url, &error))?;
    match uri.scheme_str() {
        Some("http" | "https") => Ok(uri),
        _ => Err(bad_url(url, &"its scheme is neither http nor https")),
    }
}

fn bad_url(url: &str, why: &dyn fmt::Display) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Bad URI {}: {why}", shown(url)))
}

/// A URL without the password in it, and without a signature of S3's, which is as good as one for a while.
pub fn shown(url: &str) -> String {
    let signed = url.split_once('?').filter(|(_, query)| query.contains("X-Amz-Signature"));
    let url = signed.map_or(url, |(before, _)| before);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:[HIDDEN]@{host}{path}")
        }
        None => url.to_owned(),
    }
}

impl Elsewhere for HttpFiles {
    fn open(&self, Wanted { location, .. }: Wanted<'_>) -> Result<Box<dyn Read + Send>> {
        let answer = exchange::ask(&Ask { method: Method::GET, url: location, range: None, options: &self.options })?;
        if answer.status == StatusCode::NOT_FOUND && self.are_several && self.options.skips_missing {
            return Ok(Box::new(io::empty()));
        }
        Ok(Box::new(answer.accepted(location)?))
    }

    fn read_at(&self, Wanted { location, .. }: Wanted<'_>, offset: u64, length: usize) -> Result<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let range = Some((offset, length));
        let ask = Ask { method: Method::GET, url: location, range, options: &self.options };
        let mut answer = exchange::ask(&ask)?.accepted(location)?;
        if answer.status != StatusCode::PARTIAL_CONTENT {
            let message = format!("{} gives no ranges any more", shown(location));
            return Err(Error::new(ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER, message));
        }
        squall_types::reserve(length)?;
        let mut bytes = vec![0; length];
        answer.read_exact(&mut bytes).map_err(|error| exchange::read_error(&error))?;
        Ok(bytes.into())
    }

    fn create(&self, location: &str) -> Result<Box<dyn Upload>> {
        upload::begin(location, &self.options)
    }
}

/// Reads what a web server has at a URL.
///
/// # Errors
/// `UNACCEPTABLE_URL`, `NETWORK_ERROR`, `SOCKET_TIMEOUT`, `RECEIVED_ERROR_FROM_REMOTE_IO_SERVER`.
pub fn get(url: &str, options: &HttpOptions) -> Result<Box<dyn Read + Send>> {
    Ok(Box::new(exchange::ask(&Ask { method: Method::GET, url, range: None, options })?.accepted(url)?))
}

/// Reads what a web server answers to a request with a body.
///
/// # Errors
/// `UNACCEPTABLE_URL`, `NETWORK_ERROR`, `SOCKET_TIMEOUT`, `RECEIVED_ERROR_FROM_REMOTE_IO_SERVER`.
pub fn post(url: &str, body: Bytes, options: &HttpOptions) -> Result<Box<dyn Read + Send>> {
    let answer: Answer = upload::post(url, body, options)?;
    Ok(Box::new(answer.accepted(url)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(shown("http://a:b@c/d"), "http://a:[HIDDEN]@c/d");
        assert_eq!(shown("http://c/d@e"), "http://c/d@e");
        assert_eq!(shown("http://a:b@c/d?X-Amz-Date=1&X-Amz-Signature=2"), "http://a:[HIDDEN]@c/d");
    }
}
