//! The body of a request: whole, or read piece by piece, with a limit on how long the client may be silent; decoded.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming};
use squall_types::{Error, ErrorCode, Result};

use super::content_encoding::{ContentEncoding, Decoder, Rest};
use crate::compression::FrameDecoder;

/// The body of a request as it comes.
pub enum RequestBody {
    /// All of it.
    Whole(Bytes),
    /// What hyper reads.
    Incoming(Incoming),
}

impl RequestBody {
    /// Whether nothing is left of it.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Incoming(body) => body.is_end_stream(),
        }
    }

    async fn next(&mut self) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        match self {
            Self::Whole(bytes) if bytes.is_empty() => None,
            Self::Whole(bytes) => Some(Ok(Frame::data(std::mem::take(bytes)))),
            Self::Incoming(body) => body.frame().await,
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
