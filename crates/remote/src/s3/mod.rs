//! Objects in buckets of S3 and of what speaks its protocol, as files: found by key or pattern, read by place or from their beginning, and
//! written. Everything here waits for an answer, on a runtime that the caller's thread alone drives.

mod client;
mod location;
mod pattern;
mod read;
mod upload;

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use rusty_s3::actions::{ListObjectsV2, ListObjectsV2Response};
use squall_files::glob::{alternatives, is_plain};
use squall_files::{Elsewhere, FileElsewhere, Upload, Wanted};
use squall_types::{Error, ErrorCode, Result, checkpoint, reserve};
use tokio::task::JoinSet;

use self::client::{Call, Client, Reply, s3_error};
pub use self::location::S3Location;
use self::read::{ObjectReader, get};
use self::upload::ObjectUpload;
use crate::http::HttpOptions;
use crate::http::exchange::{OwnRuntime, read_error};

/// The most objects that a pattern may find.
const OBJECTS_MAX: usize = 1_000_000;
/// Objects of an enumeration that are asked about at once.
const QUESTIONS_MAX: usize = 32;
/// Bytes of one page of a listing.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// The namespace of S3's answers, and that of Google's.
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";
const NAMESPACE_OF_GOOGLE: &str = "http://doc.s3.amazonaws.com/2006-03-01";

/// What requests are signed with.
#[derive(Clone)]
pub struct S3Keys {
    /// The access key id.
    pub id: String,
    /// The secret access key.
    pub secret: String,
    /// The session token of keys that are not for long.
    pub token: Option<String>,
}

impl S3Keys {
    /// Those of the process's environment.
    pub fn of_environment() -> Option<Self> {
        let found = rusty_s3::Credentials::from_env()?;
        let token = found.token().map(str::to_owned);
        Some(Self { id: found.key().to_owned(), secret: found.secret().to_owned(), token })
    }
}

impl fmt::Debug for S3Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Keys").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How buckets are asked.
#[derive(Clone, Debug)]
pub struct S3Options {
    /// How servers are asked; headers that begin with `x-amz-` are signed.
    pub http: HttpOptions,
    /// What requests are signed with; without them they are not.
    pub keys: Option<S3Keys>,
    /// The region; without one that of the host's name.
    pub region: Option<String>,
    /// Keys of one page of a listing.
    pub keys_per_page: u64,
    /// How often an object that breaks off is taken up again.
    pub read_retries: u64,
    /// Whether an object that is not there is left out.
    pub skips_missing: bool,
    /// Whether a pattern must find something.
    pub must_match: bool,
    /// Whether an object must stay what it was when it was found.
    pub checks_etags: bool,
    /// Whether what is written replaces an object that is there.
    pub replaces: bool,
    /// Whether what is written where an object is there becomes another one.
    pub makes_new: bool,
    /// The bytes of a part.
    pub part_bytes: usize,
    /// The most bytes of a part.
    pub part_bytes_max: usize,
    /// By how much parts grow.
    pub part_growth: usize,
    /// After how many parts they grow.
    pub parts_before_growth: u64,
    /// The most parts of an object.
    pub parts_max: u64,
    /// The most bytes of an object that is not sent in parts.
    pub single_part_bytes: usize,
}

/// The objects of a bucket.
pub struct S3Files(Arc<Client>);

impl fmt::Debug for S3Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Files").field("location", &self.0.location).finish_non_exhaustive()
    }
}

impl S3Files {
    /// The objects of a bucket. Nobody is asked yet.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an address that is none.
    pub fn new(location: S3Location, options: S3Options) -> Result<Self> {
        Ok(Self(Arc::new(Client::new(location, options)?)))
    }

    /// Who holds the objects.
    pub fn holder(self) -> Arc<dyn Elsewhere> {
        Arc::new(self)
    }

    /// The objects that the location's key or pattern means, in the order of their keys.
    ///
    /// # Errors
    /// `S3_ERROR` where they cannot be asked about; `FILE_DOESNT_EXIST` where a pattern must match; `BAD_ARGUMENTS` for a
    /// pattern that stands for too much; `UNACCEPTABLE_URL`.
    pub fn find(&self) -> Result<Vec<FileElsewhere>> {
        let key = &self.0.location.key;
        if key.is_empty() {
            return Ok(Vec::new());
        }
        if is_plain(key) {
            return self.look(vec![key.clone()]);
        }
        if pattern::is_enumeration(key) {
            return self.look(alternatives(key)?);
        }
        let found = self.list(key)?;
        if found.is_empty() && self.0.options.must_match {
            let message = format!("Can not match any files with path {key}");
            return Err(Error::new(ErrorCode::FILE_DOESNT_EXIST, message));
        }
        Ok(found)
    }

    /// The objects of keys.
    fn look(&self, keys: Vec<String>) -> Result<Vec<FileElsewhere>> {
        let mut found: Vec<Option<FileElsewhere>> = vec![None; keys.len()];
        OwnRuntime::new()?.block_on(async {
            let mut questions = JoinSet::new();
            let mut left = keys.into_iter().enumerate();
            loop {
                while questions.len() < QUESTIONS_MAX
                    && let Some((at, key)) = left.next()
                {
                    let client = self.0.clone();
                    questions.spawn(async move { head(&client, &key).await.map(|file| (at, file)) });
                }
                let Some(answered) = questions.join_next().await else { return Ok(()) };
                let (at, file) = answered.map_err(|error| s3_error(&format!("An object was not found: {error}")))??;
                if let Some(place) = found.get_mut(at) {
                    *place = file;
                }
            }
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The objects of a pattern.
    fn list(&self, pattern: &str) -> Result<Vec<FileElsewhere>> {
        let (expression, prefix) = (pattern::expression(pattern)?, pattern::prefix(pattern));
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = self.page(prefix, token.as_deref())?;
            checkpoint(1 << 20)?;
            for object in page.contents {
                if !expression.is_match(&object.key) {
                    continue;
                }
                if found.len() >= OBJECTS_MAX {
                    let message = format!("More than {OBJECTS_MAX} objects match {pattern}");
                    return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
                }
                found.push(FileElsewhere {
                    path: self.0.location.path_of(&object.key),
                    location: object.key,
                    size: object.size,
                    changed: object.last_modified.as_deref().and_then(seconds_of),
                    etag: object.etag.map(Into::into),
                });
            }
            match page.next_continuation_token {
                Some(next) if token.as_ref() != Some(&next) => token = Some(next),
                Some(_) => return Err(s3_error("A listing does not end: the server gives the same page again")),
                None => return Ok(found),
            }
        }
    }

    /// A page of the keys that begin with a text.
    fn page(&self, prefix: &str, token: Option<&str>) -> Result<ListObjectsV2Response> {
        let client = &self.0;
        let keys_max = usize::try_from(client.options.keys_per_page.clamp(1, 1000)).unwrap_or(1000);
        let call = Call {
            method: Method::GET,
            sign: &|bucket, credentials| {
                let mut action = ListObjectsV2::new(bucket, credentials);
                action.with_prefix(prefix.to_owned());
                action.with_max_keys(keys_max);
                if let Some(token) = token {
                    action.with_continuation_token(token.to_owned());
                }
                client.signed(action)
            },
            headers: &[],
            body: &[],
            may_repeat: true,
        };
        let what = format!("Could not list objects in bucket '{}' with prefix '{prefix}'", client.location.bucket);
        let mut answer = match client.call(&call)? {
            Reply::Accepted(answer) => answer,
            Reply::Refused(refusal) => return Err(refusal.error(&what)),
        };
        let mut page = Vec::new();
        let read = (&mut answer).take(PAGE_BYTES_MAX as u64 + 1).read_to_end(&mut page);
        read.map_err(|error| s3_error(&format!("{what}: {}", read_error(&error).message)))?;
        if page.len() > PAGE_BYTES_MAX {
            return Err(s3_error(&format!("{what}: a page has more than {PAGE_BYTES_MAX} bytes")));
        }
        let page = String::from_utf8(page).map_err(|_| s3_error(&format!("{what}: the answer is not UTF-8")))?;
        objects_of(page).map_err(|why| s3_error(&format!("{what}: the answer is no list of objects: {why}")))
    }

    /// The location's key as one that may be written.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` for a pattern, `BAD_ARGUMENTS` where there is none.
    pub fn target_key(&self) -> Result<&str> {
        let (key, bucket) = (&self.0.location.key, &self.0.location.bucket);
        if !is_plain(key) {
            let message =
                format!("Non partitioned table with path '{key}' that contains globs, the table is in readonly mode");
            return Err(Error::new(ErrorCode::DATABASE_ACCESS_DENIED, message));
        }
        if key.is_empty() {
            let message = format!("Cannot write to the bucket '{bucket}': there is no key");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(key)
    }

    /// The key of what is written: this one where there is no object of it, or where that is replaced; else one of its kin with a number.
    fn free_key(&self, key: &str) -> Result<String> {
        let (options, bucket) = (&self.0.options, &self.0.location.bucket);
        if options.replaces || !self.is_there(key)? {
            return Ok(key.to_owned());
        }
        if !options.makes_new {
            let message = format!(
                "Object in bucket {bucket} with key {key} already exists. If you want to overwrite it, enable setting \
                 s3_truncate_on_insert, if you want to create a new file on each insert, enable setting \
                 s3_create_new_file_on_insert"
            );
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        // As in ClickHouse, the number stands before the key's first dot.
        let (before, after) = key.split_at(key.find('.').unwrap_or(key.len()));
        for number in 1_u64.. {
            checkpoint(1 << 20)?;
            let next = format!("{before}.{number}{after}");
            if !self.is_there(&next)? {
                return Ok(next);
            }
        }
        Err(Error::logical("no number is left"))
    }

    /// Removes the object of the location's key.
    ///
    /// # Errors
    /// `S3_ERROR`; `DATABASE_ACCESS_DENIED` for a pattern.
    pub fn remove(&self) -> Result<()> {
        let key = &self.0.location.key;
        if !is_plain(key) {
            let message =
                format!("S3 key '{key}' contains globs, so the table is in readonly mode and cannot be truncated");
            return Err(Error::new(ErrorCode::DATABASE_ACCESS_DENIED, message));
        }
        let call = Call {
            method: Method::DELETE,
            sign: &|bucket, credentials| self.0.signed(bucket.delete_object(credentials, key)),
            headers: &[],
            body: &[],
            may_repeat: true,
        };
        match self.0.call(&call)? {
            Reply::Accepted(_) => Ok(()),
            Reply::Refused(refusal) => Err(refusal.error(&format!("Cannot remove {}", self.0.object(key)))),
        }
    }

    fn is_there(&self, key: &str) -> Result<bool> {
        OwnRuntime::new()?.block_on(async { Ok(found(&self.0, key).await?.is_some()) })
    }
}

/// The object of a key. One that is not there is missed by who reads it: a table may be made before its object.
async fn head(client: &Client, key: &str) -> Result<Option<FileElsewhere>> {
    let missing =
        || FileElsewhere { path: client.location.path_of(key), location: key.to_owned(), ..FileElsewhere::default() };
    let found = found(client, key).await?;
    Ok(found.or_else(|| (!client.options.skips_missing).then(missing)))
}

/// The object of a key, where it is there.
async fn found(client: &Client, key: &str) -> Result<Option<FileElsewhere>> {
    let call = Call {
        method: Method::HEAD,
        sign: &|bucket, credentials| client.signed_version(bucket.head_object(credentials, key)),
        headers: &[],
        body: &[],
        may_repeat: true,
    };
    match client.ask(&call).await? {
        Reply::Accepted(answer) => {
            let text = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
            Ok(Some(FileElsewhere {
                path: client.location.path_of(key),
                location: key.to_owned(),
                size: text("content-length").and_then(|length| length.parse().ok()),
                changed: text("last-modified").and_then(seconds_of),
                etag: text("etag").map(Into::into),
            }))
        }
        Reply::Refused(refusal) if refusal.status == StatusCode::NOT_FOUND => Ok(None),
        Reply::Refused(refusal) => {
            let what = format!("Failed to get object info: while reading {}", client.object(key));
            Err(refusal.error(&what))
        }
    }
}

/// The objects of a page, where all of it is there.
fn objects_of(page: String) -> std::result::Result<ListObjectsV2Response, String> {
    // The parser takes the end of the text for that of what is open.
    if !page.trim_end().ends_with("</ListBucketResult>") {
        return Err("it has no end".to_owned());
    }
    ListObjectsV2::parse_response(&in_namespace(page)).map_err(|error| error.to_string())
}

/// A page in the namespace that it should be in: some servers name none, or another.
fn in_namespace(page: String) -> String {
    if page.contains(NAMESPACE_OF_GOOGLE) {
        return page.replacen(NAMESPACE_OF_GOOGLE, NAMESPACE, 1);
    }
    match page.contains("xmlns=") {
        true => page,
        false => page.replacen("<ListBucketResult>", &format!("<ListBucketResult xmlns=\"{NAMESPACE}\">"), 1),
    }
}

/// The moment of a listing or a header, in seconds since 1970.
fn seconds_of(text: &str) -> Option<u32> {
    let moment = chrono::DateTime::parse_from_rfc3339(text).or_else(|_| chrono::DateTime::parse_from_rfc2822(text));
    u32::try_from(moment.ok()?.timestamp()).ok()
}

impl Elsewhere for S3Files {
    fn open(&self, wanted: Wanted<'_>) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(ObjectReader::open(self.0.clone(), wanted.location, wanted.etag)?))
    }

    fn read_at(&self, wanted: Wanted<'_>, offset: u64, length: usize) -> Result<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        reserve(length)?;
        let mut bytes = vec![0; length];
        let mut retries = self.0.options.read_retries;
        loop {
            let mut answer = get(&self.0, wanted.location, wanted.etag, Some((offset, Some(length))))?;
            match answer.read_exact(&mut bytes) {
                Ok(()) => return Ok(bytes.into()),
                Err(error) => {
                    checkpoint(1 << 20)?;
                    if retries == 0 {
                        let (object, why) = (self.0.object(wanted.location), read_error(&error).message);
                        return Err(s3_error(&format!("Cannot read {object}: {why}")));
                    }
                    retries -= 1;
                }
            }
        }
    }

    fn create(&self, location: &str) -> Result<Box<dyn Upload>> {
        let key = self.free_key(location)?;
        Ok(Box::new(ObjectUpload::begin(self.0.clone(), &key)?))
    }

    fn has_etags(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        assert_eq!(seconds_of("2026-11-28T07:32:15.000Z"), Some(1_795_851_135));
        assert_eq!(seconds_of("Sat, 28 Nov 2026 07:32:15 GMT"), Some(1_795_851_135));
        assert_eq!(seconds_of("yesterday"), None);
    }

    #[test]
    fn pages_of_any_server_are_read() {
        for namespace in ["", &format!(" xmlns=\"{NAMESPACE}\""), &format!(" xmlns='{NAMESPACE_OF_GOOGLE}'")] {
            let page = format!(
                "<?xml version=\"1.0\"?><ListBucketResult{namespace}><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>\
                 <Contents><Key>a%20b</Key><Size>7</Size><ETag>&quot;x&quot;</ETag></Contents></ListBucketResult>"
            );
            let page = objects_of(page).unwrap();
            assert_eq!((page.contents[0].key.as_str(), page.contents[0].size), ("a b", Some(7)), "{namespace}");
        }
        for bad in ["", "<x/>", "<ListBucketResult>", "{}"] {
            assert!(objects_of(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
