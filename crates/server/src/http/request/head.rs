//! A request's line and headers, whoever read them: hyper, or [`direct`](crate::http::connection::direct).

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName};
use squall_types::Settings;

/// The most bytes of a request's line and headers, the URL among them, whatever the settings say: a query may stand there. Of a URL hyper
/// takes no more than 64 KiB.
pub(in crate::http) const HEAD_BYTES_MAX: usize = 2 << 20;
/// Bytes of a request's line beside the URL, and of a header beside name and value.
const LINE_BYTES: usize = 64;
const FIELD_BYTES: usize = 4;

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

/// How large the parts of a request's line and headers may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadLimits {
    uri_bytes_max: usize,
    /// The most headers.
    pub fields_max: usize,
    name_bytes_max: usize,
    value_bytes_max: usize,
    /// All names and values together.
    all_fields_bytes_max: usize,
    /// The most bytes that are read of a head that has not ended.
    pub head_bytes_max: usize,
}

impl HeadLimits {
    /// The limits of the default profile: what holds before it is known who asks.
    pub fn of(settings: &Settings) -> Self {
        let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let mut limits = Self {
            uri_bytes_max: limit(settings.http_max_uri_size),
            fields_max: limit(settings.http_max_fields),
            name_bytes_max: limit(settings.http_max_field_name_size),
            value_bytes_max: limit(settings.http_max_field_value_size),
            all_fields_bytes_max: match settings.http_max_request_header_size {
                0 => usize::MAX,
                bytes => limit(bytes),
            },
            head_bytes_max: HEAD_BYTES_MAX,
        };
        let around = limits.fields_max.saturating_mul(FIELD_BYTES).saturating_add(LINE_BYTES);
        let allowed = limits.uri_bytes_max.saturating_add(limits.all_fields_bytes_max).saturating_add(around);
        limits.head_bytes_max = allowed.min(HEAD_BYTES_MAX);
        limits
    }

    /// What of a request is too large, with the setting that says so.
    ///
    /// # Errors
    /// A sentence for the client.
    pub fn check(&self, head: &RequestHead<'_>) -> Result<(), &'static str> {
        if head.path.len() + head.url_query.map_or(0, |query| query.len() + 1) > self.uri_bytes_max {
            return Err("HTTP request URI invalid or too long (http_max_uri_size)");
        }
        let sizes = |(names, values, all): (usize, usize, usize), name: usize, value: usize| {
            (names.max(name), values.max(value), all + name + value)
        };
        let none = (0, 0, 0);
        let (count, (name_bytes, value_bytes, all_bytes)) = match head.fields {
            RequestFields::Map(map) => {
                (map.len(), map.iter().fold(none, |most, (name, value)| sizes(most, name.as_str().len(), value.len())))
            }
            RequestFields::Lines(lines) => {
                (lines.len(), lines.iter().fold(none, |most, line| sizes(most, line.name.len(), line.value.len())))
            }
        };
        if count > self.fields_max {
            return Err("Too many header fields (http_max_fields)");
        }
        if name_bytes > self.name_bytes_max {
            return Err("Field name is invalid or too long (http_max_field_name_size)");
        }
        if value_bytes > self.value_bytes_max {
            return Err("Field value is invalid or too long (http_max_field_value_size)");
        }
        if all_bytes > self.all_fields_bytes_max {
            return Err("Total request header size is too large (http_max_request_header_size)");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_named() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("http_max_uri_size", "10"),
            ("http_max_fields", "2"),
            ("http_max_field_name_size", "4"),
            ("http_max_field_value_size", "5"),
            ("http_max_request_header_size", "11"),
        ] {
            settings.set(name, value).unwrap();
        }
        let limits = HeadLimits::of(&settings);
        assert_eq!(limits.head_bytes_max, 10 + 11 + 2 * FIELD_BYTES + LINE_BYTES);
        assert_eq!(HeadLimits::of(&Settings::default()).head_bytes_max, HEAD_BYTES_MAX);
        let field = |name: &'static str, value: &'static str| httparse::Header { name, value: value.as_bytes() };
        let fine = [field("Host", "x"), field("A", "12345")];
        for (path, url_query, fields, wrong) in [
            ("/", Some("12345678"), &fine[..], None),
            ("/", Some("123456789"), &fine, Some("http_max_uri_size")),
            ("/12345678901", None, &fine, Some("http_max_uri_size")),
            ("/", None, &[field("A", ""), field("B", ""), field("C", "")], Some("http_max_fields")),
            ("/", None, &[field("Hosts", "x")], Some("http_max_field_name_size")),
            ("/", None, &[field("A", "123456")], Some("http_max_field_value_size")),
            ("/", None, &[field("Host", "12"), field("A", "12345")], Some("http_max_request_header_size")),
        ] {
            let head = RequestHead { method: &Method::GET, path, url_query, fields: RequestFields::Lines(fields) };
            let found = limits.check(&head).err();
            assert_eq!(found.is_some(), wrong.is_some(), "{path} {url_query:?}");
            assert!(found.unwrap_or_default().contains(wrong.unwrap_or_default()));
        }
    }
}
