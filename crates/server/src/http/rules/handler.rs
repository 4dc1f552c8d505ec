//! What a rule does with a request: a page, or a query whose text the request or the configuration gives.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use hyper::StatusCode;
use hyper::header::HeaderName;
use regex::Regex;
use squall_sql::ast::Statement;
use squall_types::{Error, ErrorCode, Result};

use super::filter::{Pattern, header_patterns};
use super::page::{Page, ResponseHeaders};
use crate::config::Element;
use crate::http::request::QueryRequest;
use crate::http::request::head::RequestHead;
use crate::http::response::Response;

/// The parameter that takes the body of a request.
const REQUEST_BODY: &str = "_request_body";

/// What a rule does.
#[derive(Debug)]
pub enum Handler {
    /// `static`, `redirect`, `ping`.
    Page(Arc<Page>),
    /// `replicas_status`: that all is well.
    Ok,
    /// `prometheus`: the page for Prometheus.
    Metrics,
    /// `dynamic_query_handler`, `predefined_query_handler`.
    Query(Arc<QueryHandler>),
}

impl Handler {
    /// Reads that of a rule; `None` for pages of ClickHouse's that this server does not have.
    ///
    /// # Errors
    /// As [`Rules::read`](super::Rules::read).
    pub(super) fn read(rule: &Element, common: Option<&Element>, root: &Element) -> Result<Option<Self>> {
        let handler = rule.child("handler");
        let kind = handler.and_then(|handler| handler.child("type")).map_or("", Element::trimmed);
        let Some(handler) = handler.filter(|_| !kind.is_empty()) else {
            let message = "Handler type in config is not specified here: handler.type";
            return Err(Error::new(ErrorCode::INVALID_CONFIG_PARAMETER, message));
        };
        let headers = ResponseHeaders::read(handler, common)?;
        Ok(Some(match kind {
            "static" => Self::Page(Arc::new(Page::read_static(handler, headers, root)?)),
            "redirect" => Self::Page(Arc::new(Page::read_redirect(handler, headers)?)),
            "ping" => Self::Page(Arc::new(Page::ping(headers))),
            "replicas_status" => Self::Ok,
            "prometheus" => Self::Metrics,
            "dynamic_query_handler" | "predefined_query_handler" => {
                Self::Query(Arc::new(QueryHandler::read(kind, rule, handler, headers)?))
            }
            "play" | "dashboard" | "binary" | "merges" | "jemalloc" | "js" | "index" | "webterminal" | "acme" => {
                return Ok(None);
            }
            other => {
                let message = format!("Unknown handler type '{other}' in config here: handler.type");
                return Err(Error::new(ErrorCode::INVALID_CONFIG_PARAMETER, message));
            }
        }))
    }
}

/// How a rule makes a query of a request.
#[derive(Debug)]
pub struct QueryHandler {
    text: QueryText,
    headers: ResponseHeaders,
}

#[derive(Debug)]
enum QueryText {
    /// In the parameter of this name, and the body.
    Dynamic { parameter: String },
    /// In the configuration.
    Predefined {
        query: String,
        parameters: BTreeSet<String>,
        is_insert: bool,
        url: Option<Pattern>,
        headers: Vec<(HeaderName, Pattern)>,
    },
}

impl QueryHandler {
    fn read(kind: &str, rule: &Element, handler: &Element, headers: ResponseHeaders) -> Result<Self> {
        if kind == "dynamic_query_handler" {
            let parameter = handler.child("query_param_name").map_or("query", Element::trimmed).to_owned();
            return Ok(Self { text: QueryText::Dynamic { parameter }, headers });
        }
        let Some(query) = handler.child("query") else {
            let message = "There is no path 'handler.query' in configuration file";
            return Err(Error::new(ErrorCode::NO_ELEMENTS_IN_CONFIG, message));
        };
        let query = query.trimmed().to_owned();
        let statement = squall_sql::parse(&query, &squall_sql::ParserLimits::default())
            .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, format!("The query of a rule: {error}")))?;
        let text = QueryText::Predefined {
            parameters: parameters_of(&query),
            is_insert: matches!(statement, Statement::Insert(_)),
            query,
            url: rule.child("url").map(|url| Pattern::read(url.trimmed())).transpose()?,
            headers: header_patterns(rule)?,
        };
        Ok(Self { text, headers })
    }

    /// Makes of what a request says what it is meant to say by the rule.
    pub fn apply(self: &Arc<Self>, head: &RequestHead<'_>, request: &mut QueryRequest) {
        request.handler = Some(self.clone());
        match &self.text {
            QueryText::Dynamic { parameter } if parameter == "query" => {}
            QueryText::Dynamic { parameter } => {
                let in_url = std::mem::take(&mut request.query);
                if !in_url.is_empty() {
                    request.settings.push(("query".to_owned(), in_url));
                }
                let text = request.settings.extract_if(.., |(name, _)| name == parameter).map(|(_, value)| value);
                request.query = text.collect();
            }
            QueryText::Predefined { query, parameters, url, headers, .. } => {
                let in_url = std::mem::replace(&mut request.query, query.clone());
                if !in_url.is_empty() {
                    request.settings.push(("query".to_owned(), in_url));
                }
                request.parameters.retain(|name, _| parameters.contains(name));
                let given = request.settings.extract_if(.., |(name, _)| parameters.contains(name.as_str()));
                request.parameters.extend(given);
                if let Some(url) = url {
                    request.parameters.extend(url.captures(head.path));
                }
                for (name, pattern) in headers {
                    let value = head.fields.get(name).unwrap_or_default();
                    request.parameters.extend(pattern.captures(&String::from_utf8_lossy(value)));
                }
            }
        }
    }

    /// The parameter that holds the query's text; `None` where the configuration does.
    pub fn query_name(&self) -> Option<&str> {
        match &self.text {
            QueryText::Dynamic { parameter } => Some(parameter),
            QueryText::Predefined { .. } => None,
        }
    }

    /// The parameter that takes the request's body, where the query has one.
    pub fn body_parameter(&self) -> Option<&'static str> {
        match &self.text {
            QueryText::Predefined { parameters, .. } if parameters.contains(REQUEST_BODY) => Some(REQUEST_BODY),
            _ => None,
        }
    }

    /// Whether the request's body goes on with the query's text, or with its data: nobody is to add to a query that is not an INSERT.
    pub fn takes_body(&self) -> bool {
        match &self.text {
            QueryText::Dynamic { .. } => true,
            QueryText::Predefined { is_insert, .. } => *is_insert,
        }
    }

    /// Gives a response the rule's headers.
    pub fn decorate(&self, response: &mut Response) {
        self.headers.add_to(response, response.status == StatusCode::OK);
    }
}

/// The names of `{name:Type}` in a query.
fn parameters_of(query: &str) -> BTreeSet<String> {
    #[expect(clippy::unwrap_used, reason = "the expression is a constant that compiles")]
    static PARAMETER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*:").unwrap());
    PARAMETER.captures_iter(query).filter_map(|found| found.get(1)).map(|name| name.as_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found() {
        let query =
            "SELECT {a:UInt8}, { b_1 : Array(String) }, '{}', map('x', 1) FROM {t:Identifier} WHERE a = {a:UInt8}";
        assert_eq!(parameters_of(query).into_iter().collect::<Vec<_>>(), ["a", "b_1", "t"]);
    }
}
