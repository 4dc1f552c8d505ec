//! An object that is written: a small one by one request when all of it is there, a large one in parts, several of which are on their way at
//! once. The object appears with its last byte or not at all.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use rusty_s3::actions::{AbortMultipartUpload, CompleteMultipartUpload, CreateMultipartUpload, PutObject, UploadPart};
use squall_files::Upload;
use squall_runtime::ThreadPool;
use squall_types::{Result, grow};
use tokio::task::JoinSet;

use super::client::{Call, Client, Reply, element, s3_error};
use crate::http::exchange::OwnRuntime;

/// Parts of an object that are on their way at once.
const PARTS_UNDER_WAY_MAX: usize = 4;
/// Bytes of an answer that is read as a whole.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// An object on its way. Dropped before its commit it leaves nothing behind.
pub(super) struct ObjectUpload {
    client: Arc<Client>,
    key: String,
    /// Chunks that are not sent, all but the last of which are parts.
    chunks: Vec<Vec<u8>>,
    /// The bytes of a part, which grow where there are many.
    part_bytes: usize,
    parts: Option<Parts>,
    runtime: OwnRuntime,
}

/// The parts of an object that is sent in parts.
struct Parts {
    id: String,
    sent: u64,
    under_way: JoinSet<Result<(u64, String)>>,
    /// By number.
    etags: Vec<(u64, String)>,
}

impl ObjectUpload {
    pub fn begin(client: Arc<Client>, key: &str) -> Result<Self> {
        let part_bytes = client.options.part_bytes;
        let runtime = OwnRuntime::new()?;
        Ok(Self { client, key: key.to_owned(), chunks: Vec::new(), part_bytes, parts: None, runtime })
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let part_bytes = self.part_bytes;
            if self.chunks.last().is_none_or(|chunk| chunk.len() >= part_bytes) {
                self.chunks.push(Vec::new());
            }
            let Some(chunk) = self.chunks.last_mut() else { return Ok(()) };
            let (now, later) = bytes.split_at(bytes.len().min(part_bytes.saturating_sub(chunk.len())));
            grow(chunk, now.len())?;
            chunk.extend_from_slice(now);
            bytes = later;
            let waiting: usize = self.chunks.iter().map(Vec::len).sum();
            if self.parts.is_some() || waiting > self.client.options.single_part_bytes {
                self.send_parts(false)?;
            }
        }
        Ok(())
    }

    /// Sends the parts that are full; at the end all.
    fn send_parts(&mut self, is_end: bool) -> Result<()> {
        if self.parts.is_none() {
            let id = self.create()?;
            self.parts = Some(Parts { id, sent: 0, under_way: JoinSet::new(), etags: Vec::new() });
        }
        let Some(parts) = &mut self.parts else { return Ok(()) };
        let part_bytes = self.part_bytes;
        let (full, rest) =
            std::mem::take(&mut self.chunks).into_iter().partition(|chunk| is_end || chunk.len() >= part_bytes);
        self.chunks = rest;
        let full: Vec<Vec<u8>> = full;
        let options = &self.client.options;
        for part in full {
            if parts.sent >= options.parts_max {
                let message = format!("Cannot write {}: it has more than {} parts", self.key, options.parts_max);
                return Err(s3_error(&message));
            }
            parts.sent += 1;
            if parts.sent % options.parts_before_growth.max(1) == 0 {
                self.part_bytes = self.part_bytes.saturating_mul(options.part_growth).min(options.part_bytes_max);
            }
            let (client, key, id, number) = (self.client.clone(), self.key.clone(), parts.id.clone(), parts.sent);
            self.runtime.block_on(async {
                while parts.under_way.len() >= PARTS_UNDER_WAY_MAX {
                    parts.collect_one().await?;
                }
                parts.under_way.spawn(async move { send_part(&client, &key, &id, number, part.into()).await });
                // What is ready is sent.
                tokio::task::yield_now().await;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Begins an object in parts; gives its number.
    fn create(&self) -> Result<String> {
        let key = &self.key;
        let call = Call {
            method: Method::POST,
            sign: &|bucket, credentials| self.client.signed(CreateMultipartUpload::new(bucket, credentials, key)),
            headers: &[],
            body: &[],
            may_repeat: true,
        };
        let what = || format!("Cannot begin to write {}", self.client.object(key));
        match self.client.call(&call)? {
            Reply::Accepted(mut answer) => {
                let text = String::from_utf8_lossy(&answer.beginning(ANSWER_BYTES_MAX)).into_owned();
                element(&text, "UploadId").ok_or_else(|| s3_error(&format!("{}: the server gives no UploadId", what())))
            }
            Reply::Refused(refusal) => Err(refusal.error(&what())),
        }
    }

    /// Sends all as one object.
    fn put(&mut self) -> Result<()> {
        let chunks: Vec<Bytes> = std::mem::take(&mut self.chunks).into_iter().map(Bytes::from).collect();
        let key = &self.key;
        let call = Call {
            method: Method::PUT,
            sign: &|bucket, credentials| self.client.signed(PutObject::new(bucket, credentials, key)),
            headers: &[],
            body: &chunks,
            may_repeat: true,
        };
        match self.client.call(&call)? {
            Reply::Accepted(_) => Ok(()),
            Reply::Refused(refusal) => Err(refusal.error(&format!("Cannot write {}", self.client.object(key)))),
        }
    }

    /// Makes one object of the parts.
    fn complete(&mut self) -> Result<()> {
        self.send_parts(true)?;
        let Some(parts) = &mut self.parts else { return Ok(()) };
        self.runtime.block_on(async {
            while !parts.under_way.is_empty() {
                parts.collect_one().await?;
            }
            Ok(())
        })?;
        parts.etags.sort_unstable();
        let (key, id) = (&self.key, &parts.id);
        let (bucket, etags) = (self.client.location.bucket(None)?, parts.etags.iter().map(|(_, etag)| etag.as_str()));
        let body = [Bytes::from(CompleteMultipartUpload::new(&bucket, None, key, id, etags).body())];
        let call = Call {
            method: Method::POST,
            sign: &|bucket, credentials| {
                // The signature does not cover the tags.
                let none = std::iter::empty::<&str>();
                self.client.signed(CompleteMultipartUpload::new(bucket, credentials, key, id, none))
            },
            headers: &[],
            body: &body,
            // One that was answered by nobody may have been carried out.
            may_repeat: false,
        };
        let what = format!("Cannot write {}", self.client.object(key));
        match self.client.call(&call)? {
            Reply::Accepted(mut answer) => {
                // A server may begin to answer before it knows how it ends.
                let text = String::from_utf8_lossy(&answer.beginning(ANSWER_BYTES_MAX)).into_owned();
                match element(&text, "Code") {
                    Some(code) if text.contains("<Error>") => {
                        let message = element(&text, "Message").unwrap_or_default();
                        Err(s3_error(&format!("{what}: S3 exception: `{code}`, message: '{message}'")))
                    }
                    _ => {
                        self.parts = None;
                        Ok(())
                    }
                }
            }
            Reply::Refused(refusal) => Err(refusal.error(&what)),
        }
    }
}

impl Parts {
    /// Waits until one more part has arrived.
    async fn collect_one(&mut self) -> Result<()> {
        if let Some(arrived) = self.under_way.join_next().await {
            self.etags.push(arrived.map_err(|error| s3_error(&format!("A part was not sent: {error}")))??);
        }
        Ok(())
    }
}

/// Sends a part; gives its number and tag.
async fn send_part(client: &Client, key: &str, id: &str, number: u64, part: Bytes) -> Result<(u64, String)> {
    let of_part = u16::try_from(number).unwrap_or(u16::MAX);
    let what = || format!("Cannot write part {number} of {}", client.object(key));
    let call = Call {
        method: Method::PUT,
        sign: &|bucket, credentials| client.signed(UploadPart::new(bucket, credentials, key, of_part, id)),
        headers: &[],
        body: &[part],
        may_repeat: true,
    };
    match client.ask(&call).await? {
        Reply::Accepted(answer) => {
            let etag = answer.headers().get("etag").and_then(|etag| etag.to_str().ok());
            let etag = etag.ok_or_else(|| s3_error(&format!("{}: the server gives no ETag", what())))?;
            Ok((number, etag.to_owned()))
        }
        Reply::Refused(refusal) => Err(refusal.error(&what())),
    }
}

impl Write for ObjectUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes).map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Upload for ObjectUpload {
    fn commit(mut self: Box<Self>) -> Result<()> {
        if self.parts.is_some() { self.complete() } else { self.put() }
    }
}

impl Drop for ObjectUpload {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let (client, key, id) = (self.client.clone(), std::mem::take(&mut self.key), parts.id.clone());
        // Whoever drops it may not wait; parts that nobody removes the bucket's rules remove.
        let _ = ThreadPool::global().schedule(move || {
            let _ = client.call(&Call {
                method: Method::DELETE,
                sign: &|bucket, credentials| client.signed(AbortMultipartUpload::new(bucket, credentials, &key, &id)),
                headers: &[],
                body: &[],
                may_repeat: true,
            });
        });
    }
}
