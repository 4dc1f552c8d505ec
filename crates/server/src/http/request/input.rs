//! The body of a request: whole, or read piece by piece, with a limit on how long the client may be silent; decoded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming};
use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

use crate::compression::FrameDecoder;
use crate::http::content_encoding::{ContentEncoding, Decoder, Rest};

/// What is read of a body that nobody wants, so that the connection can go on to its next request, and for how long.
const UNWANTED_BYTES_MAX: usize = 16 << 20;
const UNWANTED_TIME_MAX: Duration = Duration::from_millis(500);

/// The body of a request as it comes.
pub enum RequestBody {
    /// All of it.
    Whole(Bytes),
    /// What hyper reads.
    Incoming(Lent),
}

/// A body in the hands of who answers its request. Whatever is left of it goes back to the connection.
pub struct Lent {
    body: Option<Incoming>,
    /// Whether something of it was read, which asks a client for it that waits to be asked.
    is_asked_for: bool,
    unread: Unread,
}

impl Lent {
    fn is_over(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    async fn next(&mut self) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        self.is_asked_for = true;
        match &mut self.body {
            Some(body) => body.frame().await,
            None => None,
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.unread.0.lock() = self.body.take().map(|body| (body, self.is_asked_for));
    }
}

/// What is left of a body when its request is answered.
#[derive(Clone, Default)]
pub struct Unread(Arc<Mutex<Option<(Incoming, bool)>>>);

impl Unread {
    /// Lends a body, whose rest comes back here.
    pub fn lend(body: Incoming) -> (Lent, Self) {
        let unread = Self::default();
        (Lent { body: Some(body), is_asked_for: false, unread: unread.clone() }, unread)
    }

    /// Reads what is left, within limits; whether that was all, so that the next request follows. A client that `waits_to_be_asked` for
    /// its body is not asked for what nobody wants.
    pub async fn drain(self, waits_to_be_asked: bool) -> bool {
        let Some((mut body, is_asked_for)) = self.0.lock().take() else { return true };
        if body.is_end_stream() {
            return true;
        }
        if waits_to_be_asked && !is_asked_for {
            return false;
        }
        let mut bytes = 0;
        let reading = async {
            while let Some(frame) = body.frame().await {
                let Ok(frame) = frame else { return false };
                bytes += frame.data_ref().map_or(0, Bytes::len);
                if bytes > UNWANTED_BYTES_MAX {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(UNWANTED_TIME_MAX, reading).await.unwrap_or(false)
    }
}

impl RequestBody {
    /// Whether nothing is left of it.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Incoming(body) => body.is_over(),
        }
    }

    async fn next(&mut self) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        match self {
            Self::Whole(bytes) if bytes.is_empty() => None,
            Self::Whole(bytes) => Some(Ok(Frame::data(std::mem::take(bytes)))),
            Self::Incoming(body) => body.next().await,
        }
    }
}

/// A request's body, decoded piece by piece: of a few bytes may come many.
pub struct Input {
    body: RequestBody,
    /// Came, and is not decoded yet.
    encoded: Bytes,
    decoder: Option<Decoder>,
    /// What an encoding that is decoded as a whole has left.
    rest: Option<Rest>,
    frames: Option<FrameDecoder>,
    silence_max: Duration,
    is_over: bool,
}

impl Input {
    /// A body, with how it is encoded: by HTTP, and in ClickHouse's own frames inside of that.
    ///
    /// # Errors
    /// Where a decoder cannot be made.
    pub fn new(
        body: RequestBody,
        encoding: Option<ContentEncoding>,
        in_frames: bool,
        silence_max: Duration,
    ) -> Result<Self> {
        Ok(Self {
            is_over: body.is_over(),
            body,
            encoded: Bytes::new(),
            decoder: encoding.map(Decoder::new).transpose()?,
            rest: None,
            frames: in_frames.then(FrameDecoder::default),
            silence_max,
        })
    }

    /// The next piece, decoded; `None` at the end.
    ///
    /// # Errors
    /// `SOCKET_TIMEOUT` for a silent client, `NETWORK_ERROR` for one that went away, and those of decoding.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let decoded = self.decode()?;
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
            if self.is_over {
                return self.frames.take().map_or(Ok(()), |frames| frames.finish()).map(|()| None);
            }
            let frame = match tokio::time::timeout(self.silence_max, self.body.next()).await {
                Ok(frame) => frame,
                Err(_) => {
                    self.is_over = true;
                    let message = format!("Timeout exceeded while reading from the client: {:?}", self.silence_max);
                    return Err(Error::new(ErrorCode::SOCKET_TIMEOUT, message));
                }
            };
            match frame {
                Some(Ok(frame)) => {
                    // Trailers say nothing to us.
                    let Ok(piece) = frame.into_data() else { continue };
                    self.encoded = piece;
                }
                Some(Err(error)) => {
                    self.is_over = true;
                    let message = format!("Cannot read the request's body: {error}");
                    return Err(Error::new(ErrorCode::NETWORK_ERROR, message));
                }
                None => {
                    self.is_over = true;
                    let mut rest = Vec::new();
                    if let Some(decoder) = self.decoder.take() {
                        self.rest = decoder.finish(&mut rest)?;
                    }
                    self.encoded = rest.into();
                }
            }
        }
    }

    /// Decodes some of what came; nothing where more has to come first.
    fn decode(&mut self) -> Result<Bytes> {
        loop {
            if let Some(frames) = &mut self.frames {
                let mut out = Vec::new();
                frames.take(&mut out)?;
                if !out.is_empty() {
                    return Ok(out.into());
                }
            }
            let piece = match (&mut self.decoder, &mut self.rest) {
                (Some(_), _) if self.encoded.is_empty() => return Ok(Bytes::new()),
                (Some(decoder), _) => {
                    let mut out = Vec::new();
                    decoder.feed(&mut self.encoded, &mut out)?;
                    Bytes::from(out)
                }
                (None, Some(rest)) => Bytes::from(rest.next()?),
                (None, None) => std::mem::take(&mut self.encoded),
            };
            let is_empty = piece.is_empty();
            match &mut self.frames {
                Some(frames) => frames.push(&piece)?,
                None if !is_empty => return Ok(piece),
                None => {}
            }
            if is_empty && (self.decoder.is_none() || self.encoded.is_empty()) {
                return Ok(Bytes::new());
            }
        }
    }
}
