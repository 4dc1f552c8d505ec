//! An element tree of an XML file: names, attributes, text, children, and where each stood. Reading only; merging is in `merge`,
//! meaning in `server_config` and `users`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use squall_types::{Error, ErrorCode, Result};

/// Files longer than this are refused.
pub const FILE_BYTES_MAX: u64 = 16 << 20;
const DEPTH_MAX: usize = 64;
const ELEMENTS_MAX: usize = 200_000;

/// One element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    /// The tag's name.
    pub name: String,
    /// Attributes in the order written.
    pub attributes: Vec<(String, String)>,
    /// The text directly inside, empty where there is only white space.
    pub text: String,
    /// Elements inside, in order.
    pub children: Vec<Element>,
    /// Where it stands, for errors.
    pub origin: Origin,
}

/// Where an element was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, or what stands for one: `command line`.
    pub file: Arc<str>,
    /// The line, counted from 1; 0 where there are none.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Element {
    /// An element without anything inside.
    pub fn new(name: impl Into<String>, origin: Origin) -> Self {
        Self { name: name.into(), attributes: Vec::new(), text: String::new(), children: Vec::new(), origin }
    }

    /// Reads a whole document; its root is returned.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` with file and line where it is not well-formed, nests too deep or is too large.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        Parser { file: file.into(), text, elements: 0, line: 1, line_offset: 0 }.document()
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether an attribute is there and does not say no: `replace="replace"`, `optional="true"`.
    pub fn flag(&self, name: &str) -> bool {
        self.attribute(name).is_some_and(|value| !matches!(value, "0" | "false" | "no" | "off"))
    }

    /// Removes an attribute.
    pub fn take_attribute(&mut self, name: &str) -> Option<String> {
        let at = self.attributes.iter().position(|(known, _)| known == name)?;
        Some(self.attributes.remove(at).1)
    }

    /// The first element inside of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All elements directly inside of this name.
    pub fn children_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text without white space around it.
    pub fn trimmed(&self) -> &str {
        self.text.trim()
    }

    /// The text as a value.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` with file, line and element; `what` names the kind of value wanted.
    pub fn value<T: FromStr>(&self, what: &str) -> Result<T> {
        self.trimmed().parse().map_err(|_| self.bad_value(what))
    }

    /// The text as a truth value: `1`, `true`, `yes`, `on` and their opposites.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn boolean(&self) -> Result<bool> {
        match self.trimmed().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(self.bad_value("0 or 1, true or false")),
        }
    }

    /// The text as a number of bytes, with an optional suffix: `1000M` is 1,000 times 2^20, as ClickHouse's logger counts.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn bytes(&self) -> Result<u64> {
        let text = self.trimmed();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KI" | "KB" | "KIB" => 10,
            "M" | "MI" | "MB" | "MIB" => 20,
            "G" | "GI" | "GB" | "GIB" => 30,
            "T" | "TI" | "TB" | "TIB" => 40,
            _ => return Err(self.bad_value("a number of bytes")),
        };
        let number: u64 = digits.trim().parse().map_err(|_| self.bad_value("a number of bytes"))?;
        number.checked_mul(1 << shift).ok_or_else(|| self.bad_value("a number of bytes"))
    }

    /// The error for a value that is not `what`.
    pub fn bad_value(&self, what: &str) -> Error {
        self.error(format!("'{}' is not {what}", self.trimmed()))
    }

    /// An error that names file, line and element.
    pub fn error(&self, message: impl fmt::Display) -> Error {
        Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("{}: element <{}>: {message}", self.origin, self.name))
    }
}

struct Parser<'a> {
    file: Arc<str>,
    text: &'a str,
    elements: usize,
    line: usize,
    line_offset: usize,
}

impl Parser<'_> {
    fn document(mut self) -> Result<Element> {
        let mut reader = Reader::from_str(self.text);
        // Elements that are open, the root first.
        let mut open: Vec<Element> = Vec::new();
        let mut root = None;
        loop {
            let offset = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let event = reader.read_event().map_err(|error| {
                let at = usize::try_from(reader.error_position()).unwrap_or(offset);
                self.error(at, format!("not well-formed XML: {error}"))
            })?;
            let closed = match event {
                Event::Start(start) => {
                    if open.len() == DEPTH_MAX {
                        return Err(self.error(offset, format!("elements nest deeper than {DEPTH_MAX}")));
                    }
                    if root.is_some() {
                        return Err(self.error(offset, "a second root element"));
                    }
                    open.push(self.element(&start, offset)?);
                    None
                }
                Event::Empty(start) => {
                    if root.is_some() {
                        return Err(self.error(offset, "a second root element"));
                    }
                    Some(self.element(&start, offset)?)
                }
                Event::End(_) => open.pop(),
                Event::Text(text) => {
                    self.append(&mut open, &text.xml10_content(), offset)?;
                    None
                }
                Event::CData(data) => {
                    self.append(&mut open, &data.xml10_content(), offset)?;
                    None
                }
                Event::GeneralRef(reference) => {
                    let character = match &*reference {
                        "lt" => "<".to_owned(),
                        "gt" => ">".to_owned(),
                        "amp" => "&".to_owned(),
                        "apos" => "'".to_owned(),
                        "quot" => "\"".to_owned(),
                        other => match reference.resolve_char_ref() {
                            Ok(Some(character)) => character.to_string(),
                            _ => return Err(self.error(offset, format!("unknown entity &{other};"))),
                        },
                    };
                    self.append(&mut open, &character, offset)?;
                    None
                }
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => None,
                Event::Eof => break,
            };
            if let Some(mut element) = closed {
                if element.text.trim().is_empty() {
                    element.text.clear();
                }
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => root = Some(element),
                }
            }
        }
        if let Some(element) = open.last() {
            return Err(element.error("is not closed"));
        }
        root.ok_or_else(|| self.error(self.text.len(), "there is no root element"))
    }

    fn element(&mut self, start: &BytesStart<'_>, offset: usize) -> Result<Element> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX {
            return Err(self.error(offset, format!("more than {ELEMENTS_MAX} elements")));
        }
        let mut element =
            Element::new(start.name().into_inner(), Origin { file: self.file.clone(), line: self.line_at(offset) });
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| element.error(error))?;
            let value =
                attribute.normalized_value(quick_xml::XmlVersion::Explicit1_0).map_err(|error| element.error(error))?;
            element.attributes.push((attribute.key.into_inner().to_owned(), value.into_owned()));
        }
        Ok(element)
    }

    fn append(&mut self, open: &mut [Element], text: &str, offset: usize) -> Result<()> {
        match open.last_mut() {
            Some(element) => {
                element.text.push_str(text);
                Ok(())
            }
            // A byte order mark is no text.
            None if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() => Ok(()),
            None => Err(self.error(offset, "text outside the root element")),
        }
    }

    /// The line of an offset; offsets come in ascending order, so that the text is counted through once.
    fn line_at(&mut self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        if offset > self.line_offset {
            let passed = &self.text.as_bytes()[self.line_offset..offset];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.line_offset = offset;
        }
        self.line
    }

    fn error(&mut self, offset: usize, message: impl fmt::Display) -> Error {
        let origin = Origin { file: self.file.clone(), line: self.line_at(offset) };
        Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("{origin}: {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_becomes_a_tree() {
        let text = "<?xml version=\"1.0\"?>\n<clickhouse>\n  <!-- no -->\n  <a b='1 &amp; 2'>x &lt;&#65;&gt; <![CDATA[<y>]]></a>\n  <c/>\n</clickhouse>\n";
        let root = Element::parse("f.xml", text).unwrap();
        assert_eq!(root.name, "clickhouse");
        assert_eq!(root.text, "");
        let a = root.child("a").unwrap();
        assert_eq!(a.text, "x <A> <y>");
        assert_eq!(a.attribute("b"), Some("1 & 2"));
        assert_eq!(a.origin.to_string(), "f.xml:4");
        assert!(root.child("c").is_some());
    }

    #[test]
    fn broken_documents_are_told_with_their_line() {
        for (text, expected) in [
            ("<a>\n<b></c></a>", "f.xml:2"),
            ("<a>\n<b>", "element <b>: is not closed"),
            ("", "no root element"),
            ("<a>&nope;</a>", "unknown entity &nope;"),
            ("<a/><b/>", "second root"),
            ("hello", "text outside"),
        ] {
            let error = Element::parse("f.xml", text).unwrap_err();
            assert!(error.message.contains(expected), "{text:?}: {error}");
        }
        let deep = "<a>".repeat(1000);
        assert!(Element::parse("f.xml", &deep).unwrap_err().message.contains("deeper"));
    }

    #[test]
    fn values_are_read_or_named() {
        let root = Element::parse("f.xml", "<r><size>1000M</size><port>x</port><on>yes</on></r>").unwrap();
        assert_eq!(root.child("size").unwrap().bytes().unwrap(), 1000 << 20);
        assert!(root.child("on").unwrap().boolean().unwrap());
        let error = root.child("port").unwrap().value::<u16>("a port number").unwrap_err();
        assert_eq!(error.message, "f.xml:1: element <port>: 'x' is not a port number");
    }
}
