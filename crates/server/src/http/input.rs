//! The body of a request: whole, or read piece by piece, with a limit on how long the client may be silent; decoded.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming};
use squall_runtime::{ProfileEvent, profile_events};
use squall_types::{Error, ErrorCode, Result};

use super::content_encoding::{ContentEncoding, Decoder};
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

/// A request's body, decoded.
pub struct Input {
    body: RequestBody,
    decoder: Option<Decoder>,
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
            decoder: encoding.map(Decoder::new).transpose()?,
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
            if self.is_over {
                return Ok(None);
            }
            let frame = match tokio::time::timeout(self.silence_max, self.body.next()).await {
                Ok(frame) => frame,
                Err(_) => {
                    self.is_over = true;
                    let message = format!("Timeout exceeded while reading from the client: {:?}", self.silence_max);
                    return Err(Error::new(ErrorCode::SOCKET_TIMEOUT, message));
                }
            };
            let piece = match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Some(data),
                    // Trailers say nothing to us.
                    Err(_) => continue,
                },
                Some(Err(error)) => {
                    self.is_over = true;
                    let message = format!("Cannot read the request's body: {error}");
                    return Err(Error::new(ErrorCode::NETWORK_ERROR, message));
                }
                None => None,
            };
            match piece {
                Some(piece) => {
                    profile_events::GLOBAL.add(ProfileEvent::NetworkReceiveBytes, piece.len() as u64);
                    let decoded = self.decode(piece)?;
                    if !decoded.is_empty() {
                        return Ok(Some(decoded));
                    }
                }
                None => {
                    self.is_over = true;
                    let rest = self.finish()?;
                    return Ok(Some(rest).filter(|rest| !rest.is_empty()));
                }
            }
        }
    }

    fn decode(&mut self, piece: Bytes) -> Result<Bytes> {
        let piece = match &mut self.decoder {
            Some(decoder) => {
                let mut out = Vec::new();
                decoder.feed(&piece, &mut out)?;
                Bytes::from(out)
            }
            None => piece,
        };
        match &mut self.frames {
            Some(frames) => {
                let mut out = Vec::new();
                frames.feed(&piece, &mut out)?;
                Ok(out.into())
            }
            None => Ok(piece),
        }
    }

    fn finish(&mut self) -> Result<Bytes> {
        let mut rest = Vec::new();
        if let Some(decoder) = self.decoder.take() {
            decoder.finish(&mut rest)?;
        }
        match &mut self.frames {
            Some(frames) => {
                let mut out = Vec::new();
                frames.feed(&rest, &mut out)?;
                frames.finish()?;
                Ok(out.into())
            }
            None => Ok(rest.into()),
        }
    }
}
