//! An object that is read from its beginning: where the connection breaks off, it is taken up again at the next byte.

use std::io::{self, Read};
use std::sync::Arc;

use hyper::header::{self, HeaderName};
use hyper::{Method, StatusCode};
use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::client::{Call, Client, Reply};
use crate::http::exchange::{Answer, network_error, read_error};

/// Work that makes a checkpoint look at once.
const CHECKED_WORK: usize = 1 << 20;

/// An object that is being read.
pub(super) struct ObjectReader {
    client: Arc<Client>,
    key: String,
    etag: Option<String>,
    at: u64,
    /// The object's bytes, where they are known.
    length: Option<u64>,
    retries: u64,
    answer: Answer,
}

impl ObjectReader {
    /// Begins to read.
    ///
    /// # Errors
    /// `S3_ERROR`, `S3_OBJECT_CHANGED_DURING_READ`.
    pub fn open(client: Arc<Client>, key: &str, etag: Option<&str>) -> Result<Self> {
        let answer = get(&client, key, etag, None)?;
        // Should it be taken up again, then as it is now.
        let etag = etag.or_else(|| answer.header("etag").filter(|_| client.options.checks_etags)).map(str::to_owned);
        let (length, retries) = (answer.length, client.options.read_retries);
        Ok(Self { client, key: key.to_owned(), etag, at: 0, length, retries, answer })
    }

    /// Reads on; nothing only at the end.
    fn take(&mut self, bytes: &mut [u8]) -> Result<usize> {
        loop {
            // Nobody may want the rest.
            checkpoint(CHECKED_WORK)?;
            let failure = match self.answer.read(bytes) {
                Ok(0) if !bytes.is_empty() && self.length.is_some_and(|length| self.at < length) => {
                    network_error(&"the connection ended too early")
                }
                Ok(read) => {
                    self.at += read as u64;
                    return Ok(read);
                }
                Err(error) => read_error(&error),
            };
            if self.retries == 0 {
                let object = self.client.object(&self.key);
                return Err(super::client::s3_error(&format!("Cannot read {object}: {}", failure.message)));
            }
            self.retries -= 1;
            self.answer = get(&self.client, &self.key, self.etag.as_deref(), Some((self.at, None)))?;
        }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.take(bytes).map_err(io::Error::other)
    }
}

/// Asks for an object in the state of a tag: all of it, what begins at some byte, or so many bytes from there.
///
/// # Errors
/// `S3_ERROR`, `S3_OBJECT_CHANGED_DURING_READ`.
pub(super) fn get(
    client: &Client,
    key: &str,
    etag: Option<&str>,
    range: Option<(u64, Option<usize>)>,
) -> Result<Answer> {
    let mut headers: Vec<(HeaderName, String)> = Vec::new();
    if let Some(etag) = etag.filter(|_| client.options.checks_etags) {
        headers.push((header::IF_MATCH, etag.to_owned()));
    }
    match range {
        Some((from, Some(length))) => {
            headers.push((header::RANGE, format!("bytes={from}-{}", from.saturating_add(length as u64 - 1))));
        }
        Some((from, None)) => headers.push((header::RANGE, format!("bytes={from}-"))),
        None => {}
    }
    let call = Call {
        method: Method::GET,
        sign: &|bucket, credentials| client.signed_version(bucket.get_object(credentials, key)),
        headers: &headers,
        body: &[],
        may_repeat: true,
    };
    match client.call(&call)? {
        Reply::Accepted(answer) if range.is_none() || answer.status == StatusCode::PARTIAL_CONTENT => Ok(answer),
        Reply::Accepted(_) => {
            Err(super::client::s3_error(&format!("The server gives no ranges of {}", client.object(key))))
        }
        Reply::Refused(refusal) if refusal.status == StatusCode::PRECONDITION_FAILED => {
            let message = format!("The object {} has changed while it was read", client.object(key));
            Err(Error::new(ErrorCode::S3_OBJECT_CHANGED_DURING_READ, message))
        }
        Reply::Refused(refusal) => Err(refusal.error(&format!("Cannot read {}", client.object(key)))),
    }
}
