//! Requests to a bucket: each is signed for the server that it goes to, repeated where that may help, and followed to where the bucket is.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName};
use hyper::{Method, Response, StatusCode};
use parking_lot::Mutex;
use rusty_s3::{Bucket, Credentials, S3Action};
use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::location::S3Location;
use super::{S3Keys, S3Options};
use crate::http::exchange::{Answer, OwnRuntime, Pieces, Single, send};

/// How long a signature holds: a request may be sent for so long.
const SIGNATURE_LIFE: Duration = Duration::from_secs(3600);
/// How often a request is repeated that no server has answered to, or one that was too busy.
const REPEATS_MAX: u32 = 5;
/// The time before the first repetition, which doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// How often a server may say that a bucket is elsewhere.
const MOVES_MAX: u32 = 10;
/// Bytes of an answer that says why a request was refused.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Work that makes a checkpoint look at once.
const CHECKED_WORK: usize = 1 << 20;

/// Who asks for the objects of a bucket.
pub(super) struct Client {
    pub location: S3Location,
    pub options: S3Options,
    credentials: Option<Credentials>,
    /// Where the bucket was found last.
    place: Mutex<(S3Location, Bucket)>,
    /// Headers of all requests that the signature covers.
    signed: Vec<(String, String)>,
}

/// A request, which may be sent several times.
pub(super) struct Call<'a> {
    pub method: Method,
    /// The signed URL of it.
    pub sign: &'a (dyn Fn(&Bucket, Option<&Credentials>) -> String + Sync),
    pub headers: &'a [(HeaderName, String)],
    pub body: &'a [Bytes],
    /// Whether it may be sent again where nobody knows what became of it.
    pub may_repeat: bool,
}

/// What a server says to a request.
pub(super) enum Reply<T> {
    Accepted(T),
    Refused(Refusal),
}

/// Why a server does not do what it is asked.
pub(super) struct Refusal {
    pub status: StatusCode,
    /// S3's word for it, where there is one: `NoSuchKey`.
    pub code: String,
    pub message: String,
}

impl Refusal {
    fn new(status: StatusCode, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let code = element(&text, "Code").unwrap_or_default();
        Self { status, code, message: element(&text, "Message").unwrap_or_default() }
    }

    /// The error of what could not be done.
    pub fn error(&self, what: &str) -> Error {
        let Self { status, code, message } = self;
        let hint = match *status {
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ". Please check your AWS credentials and permissions",
            _ => "",
        };
        let said = match code.is_empty() {
            true => format!("No response body. HTTP response code: {}{hint}", status.as_u16()),
            false => {
                format!("S3 exception: `{code}`, message: '{message}'. HTTP response code: {}{hint}", status.as_u16())
            }
        };
        s3_error(&format!("{what}: {said}"))
    }
}

/// The text of an element of an answer, which is XML.
pub(super) fn element(xml: &str, name: &str) -> Option<String> {
    let (_, from) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = from.split_once(&format!("</{name}>"))?;
    let text = text.replace("&quot;", "\"").replace("&apos;", "'").replace("&lt;", "<").replace("&gt;", ">");
    Some(text.replace("&#34;", "\"").replace("&#39;", "'").replace("&amp;", "&"))
}

pub(super) fn s3_error(message: &str) -> Error {
    Error::new(ErrorCode::S3_ERROR, message)
}

/// The error of a connection as one of S3's; what is forbidden stays so.
fn of_connection(error: Error) -> Error {
    match error.code {
        ErrorCode::NETWORK_ERROR | ErrorCode::DNS_ERROR | ErrorCode::SOCKET_TIMEOUT => s3_error(&error.message),
        _ => error,
    }
}

impl Client {
    pub fn new(location: S3Location, options: S3Options) -> Result<Self> {
        let bucket = location.bucket(options.region.as_deref())?;
        let credentials = options.keys.as_ref().map(|S3Keys { id, secret, token }| match token {
            Some(token) => Credentials::new_with_token(id, secret, token),
            None => Credentials::new(id, secret),
        });
        let signed = options.http.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let signed = signed.filter(|(name, _)| name.starts_with("x-amz-")).collect();
        Ok(Self { place: Mutex::new((location.clone(), bucket)), location, options, credentials, signed })
    }

    /// The signed URL of an action.
    pub fn signed<'a>(&self, mut action: impl S3Action<'a>) -> String {
        for (name, value) in &self.signed {
            action.headers_mut().insert(name.clone(), value.clone());
        }
        action.sign(SIGNATURE_LIFE).into()
    }

    /// The same of an action that reads an object, in the version that the URL names.
    pub fn signed_version<'a>(&self, mut action: impl S3Action<'a>) -> String {
        if let Some(version) = &self.location.version {
            action.query_mut().insert("versionId", version.clone());
        }
        self.signed(action)
    }

    /// Asks, and waits for the head of the answer.
    ///
    /// # Errors
    /// `S3_ERROR` where there is none; `UNACCEPTABLE_URL`; those of the query whose work it is.
    pub async fn ask(&self, call: &Call<'_>) -> Result<Reply<Response<Incoming>>> {
        let (mut repeats, mut moves) = (0, 0);
        let mut pause = PAUSE_FIRST;
        loop {
            let (location, bucket) = self.place.lock().clone();
            let url = (call.sign)(&bucket, self.credentials.as_ref());
            let body = Pieces::new(call.body.iter().cloned());
            let (method, headers, options) = (call.method.clone(), call.headers, &self.options.http);
            let answer = send(Single { method, url: &url, headers, body, options }).await;
            let is_busy = match &answer {
                Ok(answer) => {
                    let status = answer.status();
                    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
                }
                Err(error) => {
                    call.may_repeat && matches!(error.code, ErrorCode::NETWORK_ERROR | ErrorCode::SOCKET_TIMEOUT)
                }
            };
            if is_busy && repeats < REPEATS_MAX {
                repeats += 1;
                checkpoint(CHECKED_WORK)?;
                tokio::time::sleep(pause).await;
                pause *= 2;
                checkpoint(CHECKED_WORK)?;
                continue;
            }
            let answer = answer.map_err(of_connection)?;
            if answer.status().is_success() {
                return Ok(Reply::Accepted(answer));
            }
            let text = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            let (next, region) = (text(header::LOCATION.as_str()), text("x-amz-bucket-region"));
            let (status, body) = (answer.status(), refusal_body(answer).await);
            let region = region.or_else(|| element(&String::from_utf8_lossy(&body), "Region"));
            let is_elsewhere = status.is_redirection() || status == StatusCode::BAD_REQUEST;
            if is_elsewhere
                && moves < MOVES_MAX
                && self.go_on(&location, &bucket, next.as_deref(), region.as_deref())?
            {
                moves += 1;
                continue;
            }
            return Ok(Reply::Refused(Refusal::new(status, &body)));
        }
    }

    /// Takes the bucket for being where a server says; whether that is another place or region than before.
    fn go_on(&self, location: &S3Location, bucket: &Bucket, next: Option<&str>, region: Option<&str>) -> Result<bool> {
        let moved = next.and_then(|next| location.moved(next)).unwrap_or_else(|| location.clone());
        let moved_bucket = moved.bucket(Some(region.unwrap_or_else(|| bucket.region())))?;
        if moved_bucket == *bucket {
            return Ok(false);
        }
        *self.place.lock() = (moved, moved_bucket);
        Ok(true)
    }

    /// Asks, and reads the answer as it comes.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn call(&self, call: &Call<'_>) -> Result<Reply<Answer>> {
        let runtime = OwnRuntime::new()?;
        Ok(match runtime.block_on(self.ask(call))? {
            Reply::Accepted(answer) => Reply::Accepted(Answer::new(answer, self.options.http.silence_max, runtime)),
            Reply::Refused(refusal) => Reply::Refused(refusal),
        })
    }

    /// What cannot be done with an object, for errors.
    pub fn object(&self, key: &str) -> String {
        format!("'{key}' in bucket '{}'", self.location.bucket)
    }
}

/// The beginning of an answer's body.
async fn refusal_body(answer: Response<Incoming>) -> Vec<u8> {
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
        if bytes.len() > REFUSAL_BYTES_MAX {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_servers_say() {
        let body = b"<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>It &quot;is&quot; &lt;gone&gt; &amp;lt;</Message></Error>";
        let refusal = Refusal::new(StatusCode::NOT_FOUND, body);
        assert_eq!((&*refusal.code, &*refusal.message), ("NoSuchKey", "It \"is\" <gone> &lt;"));
        let error = Refusal::new(StatusCode::FORBIDDEN, b"").error("Failed");
        assert_eq!(error.code, ErrorCode::S3_ERROR);
        assert!(error.message.contains("403. Please check"), "{}", error.message);
    }
}
