//! Which requests a rule is for: `methods`, `url`, `headers`, `empty_query_string`. What is not given is not asked.

use hyper::header::HeaderName;
use regex::Regex;
use squall_types::{Error, ErrorCode, Result};

use crate::config::Element;
use crate::http::request::head::RequestHead;

/// The conditions of a rule.
#[derive(Debug, Default)]
pub(super) struct Filter {
    methods: Option<Vec<String>>,
    url: Option<Pattern>,
    headers: Vec<(HeaderName, Pattern)>,
    empty_query_string: bool,
}

impl Filter {
    /// Reads those of a rule.
    ///
    /// # Errors
    /// `CANNOT_COMPILE_REGEXP`, or the name of a header that is none.
    pub(super) fn read(rule: &Element) -> Result<Self> {
        let methods = rule.child("methods").map(|methods| {
            methods.text.split(',').map(|method| method.trim().to_owned()).filter(|method| !method.is_empty()).collect()
        });
        Ok(Self {
            methods,
            url: rule.child("url").map(|url| Pattern::read(url.trimmed())).transpose()?,
            headers: header_patterns(rule)?,
            empty_query_string: rule.child("empty_query_string").is_some(),
        })
    }

    /// Whether a request meets all of them.
    pub(super) fn matches(&self, head: &RequestHead<'_>) -> bool {
        let has_method =
            |methods: &Vec<String>| methods.iter().any(|method| method.eq_ignore_ascii_case(head.method.as_str()));
        self.methods.as_ref().is_none_or(has_method)
            && self.url.as_ref().is_none_or(|url| url.matches(head.path))
            && !(self.empty_query_string && head.url_query.is_some_and(|query| !query.is_empty()))
            && self.headers.iter().all(|(name, pattern)| {
                head.fields.get(name).is_some_and(|value| pattern.matches(&String::from_utf8_lossy(value)))
            })
    }
}

/// The headers of a rule with what their values must be.
///
/// # Errors
/// As [`Filter::read`].
pub(super) fn header_patterns(rule: &Element) -> Result<Vec<(HeaderName, Pattern)>> {
    let headers = rule.child("headers").map(|headers| &headers.children[..]).unwrap_or_default();
    let read = |header: &Element| {
        let name =
            HeaderName::try_from(header.name.as_str()).map_err(|_| header.error("is not the name of a header"))?;
        Ok((name, Pattern::read(header.trimmed())?))
    };
    headers.iter().map(read).collect()
}

/// What a text must be as a whole.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Exact(String),
    /// `prefix:/a/`.
    Prefix(String),
    /// `regex:/a/[0-9]+`.
    Regex(Regex),
}

impl Pattern {
    /// Reads one.
    ///
    /// # Errors
    /// `CANNOT_COMPILE_REGEXP`.
    pub(super) fn read(text: &str) -> Result<Self> {
        if let Some(prefix) = text.strip_prefix("prefix:") {
            return Ok(Self::Prefix(prefix.to_owned()));
        }
        let Some(expression) = text.strip_prefix("regex:") else { return Ok(Self::Exact(text.to_owned())) };
        Regex::new(&format!(r"\A(?:{expression})\z")).map(Self::Regex).map_err(|error| {
            let message = format!("Cannot compile re2: {expression} for http handling rule, error: {error}");
            Error::new(ErrorCode::CANNOT_COMPILE_REGEXP, message)
        })
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == text,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }

    /// The named groups of a regular expression with what they hold in a text.
    pub(super) fn captures(&self, text: &str) -> Vec<(String, String)> {
        let Self::Regex(regex) = self else { return Vec::new() };
        let Some(found) = regex.captures(text) else { return Vec::new() };
        let named = regex.capture_names().flatten();
        named.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned()))).collect()
    }
}
