//! A request's line and headers, whoever read them: hyper, or [`direct`](super::direct).

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName};
use squall_types::Settings;

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
}

impl HeadLimits {
    /// The limits of the default profile: what holds before it is known who asks.
    pub fn of(settings: &Settings) -> Self {
        let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self {
            uri_bytes_max: limit(settings.http_max_uri_size),
            fields_max: limit(settings.http_max_fields),
            name_bytes_max: limit(settings.http_max_field_name_size),
            value_bytes_max: limit(settings.http_max_field_value_size),
        }
    }

    /// What of a request is too large, with the setting that says so.
    ///
    /// # Errors
    /// A sentence for the client.
    pub fn check(&self, head: &RequestHead<'_>) -> Result<(), &'static str> {
        if head.path.len() + head.url_query.map_or(0, |query| query.len() + 1) > self.uri_bytes_max {
            return Err("HTTP request URI invalid or too long (http_max_uri_size)");
        }
        let longest = |(names, values): (usize, usize), name: usize, value: usize| (names.max(name), values.max(value));
        let (count, (name_bytes, value_bytes)) = match head.fields {
            RequestFields::Map(map) => (
                map.len(),
                map.iter().fold((0, 0), |most, (name, value)| longest(most, name.as_str().len(), value.len())),
            ),
            RequestFields::Lines(lines) => {
                (lines.len(), lines.iter().fold((0, 0), |most, line| longest(most, line.name.len(), line.value.len())))
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
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_named() {
        let limits = HeadLimits { uri_bytes_max: 10, fields_max: 2, name_bytes_max: 4, value_bytes_max: 5 };
        let field = |name: &'static str, value: &'static str| httparse::Header { name, value: value.as_bytes() };
        let fine = [field("Host", "x"), field("A", "12345")];
        for (path, url_query, fields, wrong) in [
            ("/", Some("12345678"), &fine[..], None),
            ("/", Some("123456789"), &fine, Some("http_max_uri_size")),
            ("/12345678901", None, &fine, Some("http_max_uri_size")),
            ("/", None, &[field("A", ""), field("B", ""), field("C", "")], Some("http_max_fields")),
            ("/", None, &[field("Hosts", "x")], Some("http_max_field_name_size")),
            ("/", None, &[field("A", "123456")], Some("http_max_field_value_size")),
        ] {
            let head = RequestHead { method: &Method::GET, path, url_query, fields: RequestFields::Lines(fields) };
            let found = limits.check(&head).err();
            assert_eq!(found.is_some(), wrong.is_some(), "{path} {url_query:?}");
            assert!(found.unwrap_or_default().contains(wrong.unwrap_or_default()));
        }
    }
}
