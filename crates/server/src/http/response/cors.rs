//! What browsers are told of requests from pages of other origins: `http_options_response` and `add_http_cors_header`.

use hyper::header::{HeaderName, HeaderValue};
use squall_types::Result;

use crate::config::Element;

/// What `OPTIONS` gets without a configuration: what ClickHouse's own configuration file says.
const DEFAULT: &str = "Access-Control-Allow-Origin: *\r\n\
    Access-Control-Allow-Headers: origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, x-clickhouse-key, \
    x-clickhouse-database, Authorization, Content-Type\r\n\
    Access-Control-Allow-Methods: POST, GET, OPTIONS\r\nAccess-Control-Max-Age: 86400\r\n";
/// What `add_http_cors_header` adds.
const ANY_ORIGIN: &str = "Access-Control-Allow-Origin: *\r\n";

/// `http_options_response`: the headers that `OPTIONS` gets, and every query from a page of another origin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OptionsResponse {
    /// Each a line; `None` where nothing is configured.
    lines: Option<String>,
}

impl OptionsResponse {
    /// Takes the element's headers.
    ///
    /// # Errors
    /// Where a name or a value cannot stand in a header.
    pub fn read(&mut self, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
        let lines = self.lines.get_or_insert_default();
        for header in element.children_named("header") {
            let name = header.child("name").map_or("", Element::trimmed);
            let value = header.child("value").map_or("", Element::trimmed);
            if name.is_empty() {
                warnings
                    .push(format!("{}: a header without a name in <http_options_response> is ignored", header.origin));
                continue;
            }
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return Err(header.error(format_args!("'{name}: {value}' cannot be a header")));
            }
            lines.push_str(&format!("{name}: {value}\r\n"));
        }
        Ok(())
    }

    /// Whether the configuration says anything.
    pub fn is_configured(&self) -> bool {
        self.lines.is_some()
    }

    /// The lines that `OPTIONS` gets.
    pub fn of_options(&self) -> &str {
        self.lines.as_deref().unwrap_or(DEFAULT)
    }

    /// The lines that a query from a page of another origin gets.
    pub fn of_query(&self, adds_cors_header: bool) -> &str {
        match &self.lines {
            Some(lines) => lines,
            None if adds_cors_header => ANY_ORIGIN,
            None => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(OptionsResponse, Vec<String>)> {
        let element = Element::parse("config.xml", &format!("<http_options_response>{text}</http_options_response>"))?;
        let (mut response, mut warnings) = (OptionsResponse::default(), Vec::new());
        response.read(&element, &mut warnings)?;
        Ok((response, warnings))
    }

    #[test]
    fn what_is_configured_counts_alone() {
        let none = OptionsResponse::default();
        assert!(none.of_options().contains("Access-Control-Allow-Methods: POST"));
        assert_eq!((none.of_query(false), none.of_query(true)), ("", ANY_ORIGIN));
        let (some, warnings) = read("<header><name>A</name><value>b, c</value></header><header/>").unwrap();
        assert_eq!(some.of_options(), "A: b, c\r\n");
        assert_eq!((some.of_query(false), some.of_query(true)), ("A: b, c\r\n", "A: b, c\r\n"));
        assert_eq!(warnings.len(), 1);
        assert!(read("<header><name>A b</name><value>c</value></header>").is_err());
    }
}
