//! A request's line and headers, whoever read them: hyper, or [`direct`](super::direct).

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName};

/// A request without its body.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    /// `GET`.
    pub method: &'a Method,
    /// What stands before `?`.
    pub path: &'a str,
    /// What stands behind it.
    pub url_query: Option<&'a str>,
    /// The headers.
    pub fields: RequestFields<'a>,
}

/// The headers of a request.
#[derive(Clone, Copy)]
pub enum RequestFields<'a> {
    /// As hyper keeps them.
    Map(&'a HeaderMap),
    /// As they stand in the request.
    Lines(&'a [httparse::Header<'a>]),
}

impl<'a> RequestFields<'a> {
    /// The value of the first header of this name.
    pub fn get(self, name: &HeaderName) -> Option<&'a [u8]> {
        match self {
            Self::Map(map) => map.get(name).map(|value| value.as_bytes()),
            // There are few, and a comparison of lengths tells most of them apart.
            Self::Lines(lines) => {
                lines.iter().find(|line| line.name.eq_ignore_ascii_case(name.as_str())).map(|line| line.value)
            }
        }
    }

    /// The same as text.
    pub fn text(self, name: &HeaderName) -> Option<String> {
        self.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }
}
