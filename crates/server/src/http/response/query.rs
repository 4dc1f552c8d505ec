//! From a query that was started to its response: the data of an INSERT, the result in its format, compressed.

use std::sync::Arc;

use squall_formats::{FormatOptions, output_format};
use squall_types::{Error, ErrorCode, Result, Settings};

use crate::compression::Codec;
use crate::http::content_encoding::Encoder;
use crate::http::handler::Connection;
use crate::http::request::QueryRequest as HttpQuery;
use crate::http::request::input::Input;
use crate::http::response::body::{Body, Stream};
use crate::http::response::result_writer::{Compression, ResultWriter};
use crate::http::response::{QueryHeaders, Response};
use crate::query::{DataReader, Query};

/// A result of up to this many bytes is made before the response begins, so that its errors have a status of their own.
const BUFFER_BYTES: usize = 1 << 20;
/// What `wait_end_of_query` may hold back.
const WAIT_END_BYTES_MAX: usize = 1 << 30;
/// The format of results that name none.
const DEFAULT_FORMAT: &str = "TabSeparated";

impl Connection {
    /// Makes the response of a query's result.
    pub(in crate::http) async fn respond(
        &self,
        mut query: Box<Query>,
        http: &HttpQuery,
        query_id: &Arc<str>,
    ) -> Result<Response> {
        let Some(schema) = query.schema().cloned() else {
            let context = query.context().clone();
            let time_zone = query.time_zone().clone();
            query.finish();
            let described = QueryHeaders {
                query_id,
                format: None,
                content_type: None,
                content_encoding: None,
                exception_tag: None,
                time_zone: time_zone.as_bytes(),
                context: &context,
            };
            return Ok(self.headers.query(&described, Body::full("")));
        };
        let settings = query.settings().clone();
        let in_text = query.format().cloned();
        let format_name = in_text.as_deref().or(http.default_format.as_deref()).unwrap_or(DEFAULT_FORMAT);
        let known_format = known_format(format_name);
        query.set_used_format(known_format.unwrap_or_default());
        let format_name = known_format.unwrap_or(format_name);
        let prepared = FormatOptions::new(settings.clone(), &self.server.zone).and_then(|mut options| {
            options.client_protocol_version = http.client_protocol_version;
            Ok((output_format(format_name, &schema, &options)?, compression(&settings, http)?))
        });
        let (format, (compression, content_encoding)) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                query.fail(&error);
                return Err(error);
            }
        };
        let content_type = format.content_type();
        let context = query.context().clone();
        let time_zone = query.time_zone().clone();
        let mut writer = ResultWriter::new(query, format, compression);
        let wait_end_of_query = http.wait_end_of_query.unwrap_or(settings.wait_end_of_query);
        let buffer_size = http.buffer_size.unwrap_or(settings.buffer_size);
        let bytes = if wait_end_of_query {
            WAIT_END_BYTES_MAX
        } else {
            BUFFER_BYTES.max(usize::try_from(buffer_size).unwrap_or(usize::MAX).min(WAIT_END_BYTES_MAX))
        };
        let filled = writer.fill(bytes).await.and_then(|is_all| {
            if !is_all && wait_end_of_query {
                let message = format!("The result is larger than {WAIT_END_BYTES_MAX} bytes, which is the most that wait_end_of_query holds back");
                return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
            }
            Ok((is_all, writer.take()?))
        });
        let (is_all, first) = match filled {
            Ok(filled) => filled,
            Err(error) => {
                let mut query = writer.into_query();
                query.fail(&error);
                return Ok(self.headers.error(&error, Some(query_id), Some(&context)));
            }
        };
        let tag = if is_all { None } else { Some(writer.announce_exceptions()) };
        let described = QueryHeaders {
            query_id,
            format: Some(format_name),
            content_type: Some(content_type),
            content_encoding,
            exception_tag: tag.as_deref(),
            time_zone: time_zone.as_bytes(),
            context: &context,
        };
        if is_all {
            writer.into_query().finish();
            return Ok(self.headers.query(&described, Body::Full(first)));
        }
        self.sends(&context);
        Ok(self.headers.query(&described, Body::Stream(Stream::new(first, Box::new(writer)))))
    }
}

/// Feeds an INSERT with the data in the statement's text and what is left of the body.
pub(in crate::http) async fn insert(
    query: &mut Query,
    format: &str,
    inline: &[u8],
    input: Option<&mut Input>,
) -> Result<()> {
    let Some(sink) = query.insert_sink() else { return Err(Error::logical("an INSERT without a sink")) };
    let mut reader = DataReader::new(sink, format)?;
    reader.feed(sink, inline).await?;
    if let Some(input) = input {
        while let Some(piece) = input.next().await? {
            reader.feed(sink, &piece).await?;
        }
    }
    reader.finish(sink).await?;
    query.finish_insert().await
}

/// How a response is compressed, and what `Content-Encoding` says of it.
fn compression(settings: &Settings, http: &HttpQuery) -> Result<(Compression, Option<&'static str>)> {
    if http.compress {
        let codec = Codec::of_settings(&settings.network_compression_method, settings.network_zstd_compression_level)?;
        return Ok((Compression::Frames(codec), None));
    }
    let accepted = http.accepted_encoding.filter(|_| settings.enable_http_compression);
    match accepted {
        Some(encoding) => {
            let encoder = Encoder::new(encoding, settings.http_zlib_compression_level)?;
            Ok((Compression::Content(Some(encoder)), Some(encoding.name())))
        }
        None => Ok((Compression::None, None)),
    }
}

/// The name of a format as ClickHouse spells it, where there is such a format.
pub(in crate::http) fn known_format(name: &str) -> Option<&'static str> {
    if name == DEFAULT_FORMAT {
        return Some(DEFAULT_FORMAT);
    }
    squall_formats::formats().map(|(known, ..)| known).find(|known| known.eq_ignore_ascii_case(name))
}
