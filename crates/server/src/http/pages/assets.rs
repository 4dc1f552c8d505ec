//! The pages for browsers, sent as they lie in the binary: compressed to whoever takes that, and with what keeps them from asking
//! anybody else or being shown by others.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use hyper::StatusCode;
use hyper::header::ACCEPT_ENCODING;
use squall_pages::{Asset, CONTENT_SECURITY_POLICY};

use crate::http::content_encoding::ContentEncoding;
use crate::http::request::head::RequestHead;
use crate::http::response::{Headers, Response};

/// The response to a request for a page's file; `None` where there is no such file.
pub(in crate::http) fn find(headers: &Headers, head: &RequestHead<'_>) -> Option<Response> {
    let asset = squall_pages::find(head.path)?;
    let accepted = head.fields.text(&ACCEPT_ENCODING).and_then(|offers| ContentEncoding::accepted(&offers));
    let is_sent_compressed = asset.is_gzip && accepted == Some(ContentEncoding::Gzip);
    let body = if asset.is_gzip && !is_sent_compressed { unpacked(asset) } else { Bytes::from_static(asset.body) };
    let mut response = headers.page(StatusCode::OK, asset.content_type, body);
    if is_sent_compressed {
        response.set("Content-Encoding", ContentEncoding::Gzip.name());
    }
    let may_be_kept = if asset.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    for (name, value) in [
        ("Vary", "Accept-Encoding"),
        ("Cache-Control", may_be_kept),
        ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
        ("Referrer-Policy", "same-origin"),
        ("X-Content-Type-Options", "nosniff"),
    ] {
        response.set(name, value);
    }
    Some(response)
}

/// The bytes as they were before they were compressed: our own, so they are not too many.
fn unpacked(asset: &Asset) -> Bytes {
    let mut body = Vec::new();
    match GzDecoder::new(asset.body).read_to_end(&mut body) {
        Ok(_) => body.into(),
        Err(_) => Bytes::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_unpacked() {
        for asset in squall_pages::ASSETS.iter().filter(|asset| asset.is_gzip) {
            assert!(unpacked(asset).len() >= asset.body.len() / 2, "{}", asset.path);
        }
    }
}
