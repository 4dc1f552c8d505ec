//! `http_handlers` of the configuration: rules that say which requests are answered in which way, in the order in which they are written.

mod filter;
mod handler;
mod page;

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result};

use crate::config::Element;
use crate::http::request::head::RequestHead;
use filter::Filter;

pub use handler::{Handler, QueryHandler};
pub use page::Page;

/// The rules.
#[derive(Debug, Default)]
pub struct Rules(Vec<Step>);

#[derive(Debug)]
enum Step {
    Rule(Filter, Handler),
    /// `defaults`: what there is without rules.
    Defaults,
}

/// What a request comes to by the rules.
#[derive(Debug)]
pub enum Found<'a> {
    /// A rule is for it.
    Handler(&'a Handler),
    /// It is served as without rules.
    Defaults,
    /// Nobody serves it.
    Nothing,
}

impl Rules {
    /// Reads the element; `root` is what `config://` means.
    ///
    /// # Errors
    /// `UNKNOWN_ELEMENT_IN_CONFIG`, `INVALID_CONFIG_PARAMETER`, `NO_ELEMENTS_IN_CONFIG`, `CANNOT_COMPILE_REGEXP` or what is wrong with a query, each
    /// with file and line.
    pub fn read(element: &Element, root: &Element, warnings: &mut Vec<String>) -> Result<Self> {
        let mut steps = Vec::new();
        let common = element.child("common_http_response_headers");
        for child in &element.children {
            let placed = |error: Error| error.context(format_args!("{}: element <{}>", child.origin, child.name));
            match child.name.as_str() {
                "defaults" => steps.push(Step::Defaults),
                "common_http_response_headers" => {}
                name if name.starts_with("rule") => {
                    let filter = Filter::read(child).map_err(placed)?;
                    match Handler::read(child, common, root).map_err(placed)? {
                        Some(handler) => steps.push(Step::Rule(filter, handler)),
                        None => warnings
                            .push(format!("{}: this server has no such page, so the rule is ignored", child.origin)),
                    }
                }
                name => {
                    let message =
                        format!("Unknown element in config: http_handlers.{name}, must be 'rule' or 'defaults'");
                    return Err(placed(Error::new(ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG, message)));
                }
            }
        }
        Ok(Self(steps))
    }

    /// Who answers a request.
    pub fn find(&self, head: &RequestHead<'_>) -> Found<'_> {
        for step in &self.0 {
            match step {
                Step::Defaults => return Found::Defaults,
                Step::Rule(filter, handler) if filter.matches(head) => return Found::Handler(handler),
                Step::Rule(..) => {}
            }
        }
        Found::Nothing
    }
}

/// Rules that many connections use.
pub type SharedRules = Arc<Rules>;

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::*;
    use crate::http::request::head::RequestFields;

    fn read(text: &str) -> Result<(Rules, Vec<String>)> {
        let root =
            Element::parse("config.xml", &format!("<clickhouse><http_handlers>{text}</http_handlers></clickhouse>"))?;
        let mut warnings = Vec::new();
        let element = root.child("http_handlers").ok_or_else(|| Error::logical("no element"))?;
        Ok((Rules::read(element, &root, &mut warnings)?, warnings))
    }

    fn status(rules: &Rules, method: &Method, path: &str, header: &str) -> &'static str {
        let fields = [httparse::Header { name: "XXX", value: header.as_bytes() }];
        let head = RequestHead { method, path, url_query: Some("x=1"), fields: RequestFields::Lines(&fields) };
        match rules.find(&head) {
            Found::Handler(Handler::Page(_)) => "page",
            Found::Handler(_) => "other",
            Found::Defaults => "defaults",
            Found::Nothing => "nothing",
        }
    }

    const PAGE: &str = "<handler><type>static</type></handler>";

    #[test]
    fn rules_are_tried_in_order() {
        let (rules, _) = read(&format!(
            "<rule><url>/a</url><methods>get, POST</methods>{PAGE}</rule>
             <rule><url>regex:/b/[0-9]+|/c</url><headers><XXX>x</XXX></headers>{PAGE}</rule>
             <defaults/>
             <rule>{PAGE}</rule>"
        ))
        .unwrap();
        for (method, path, header, expected) in [
            (Method::GET, "/a", "", "page"),
            (Method::POST, "/a", "", "page"),
            (Method::PUT, "/a", "", "defaults"),
            (Method::GET, "/ab", "", "defaults"),
            (Method::GET, "/b/12", "x", "page"),
            (Method::GET, "/c", "x", "page"),
            (Method::GET, "/b/12", "xy", "defaults"),
            (Method::GET, "/b/12c", "x", "defaults"),
            (Method::GET, "/x/c", "x", "defaults"),
        ] {
            assert_eq!(status(&rules, &method, path, header), expected, "{method} {path} {header}");
        }
        let (rules, _) = read(&format!("<rule><url>/a</url>{PAGE}</rule>")).unwrap();
        assert_eq!(status(&rules, &Method::GET, "/ping", ""), "nothing");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, code) in [
            ("<wrong/>", ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG),
            ("<rule/>", ErrorCode::INVALID_CONFIG_PARAMETER),
            ("<rule><handler><type>nothing</type></handler></rule>", ErrorCode::INVALID_CONFIG_PARAMETER),
            ("<rule><url>regex:(</url><handler><type>static</type></handler></rule>", ErrorCode::CANNOT_COMPILE_REGEXP),
            ("<rule><handler><type>predefined_query_handler</type></handler></rule>", ErrorCode::NO_ELEMENTS_IN_CONFIG),
            (
                "<rule><handler><type>predefined_query_handler</type><query>SELEC</query></handler></rule>",
                ErrorCode::SYNTAX_ERROR,
            ),
            ("<rule><handler><type>static</type><status>9</status></handler></rule>", ErrorCode::CANNOT_PARSE_TEXT),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains("config.xml:1"), "{error}");
        }
        let (_, warnings) = read("<rule><handler><type>dashboard</type></handler></rule>").unwrap();
        assert_eq!(warnings.len(), 1);
    }
}
