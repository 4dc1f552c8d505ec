//! What an HTTP request asks for: the parameters of its URL and headers, sorted into credentials, session, settings and query.

pub(super) mod form;
pub(super) mod head;
pub(super) mod input;
pub(super) mod origin;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use hyper::Method;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, ORIGIN};
use squall_types::{Error, ErrorCode, Result};

use crate::http::content_encoding::ContentEncoding;
use crate::http::request::form::describes_table;
use crate::http::request::head::{RequestFields, RequestHead};
use crate::http::request::origin::Origin;
use crate::http::rules::QueryHandler;

/// Parameters of one URL.
const PARAMETERS_MAX: usize = 10_000;

/// The parameters and headers of a request to run a query.
#[derive(Debug, Default)]
pub struct QueryRequest {
    /// Whether the method is one that only reads: GET or HEAD.
    pub only_reads: bool,
    /// `query`.
    pub query: String,
    /// Who asks.
    pub credentials: Credentials,
    /// `database`, or `X-ClickHouse-Database`.
    pub database: Option<String>,
    /// `query_id`.
    pub query_id: Option<String>,
    /// `session_id` with what goes with it.
    pub session: Option<SessionRequest>,
    /// `default_format`, or `X-ClickHouse-Format`.
    pub default_format: Option<String>,
    /// `compress`: the response in ClickHouse's frames.
    pub compress: bool,
    /// `decompress`: the request in ClickHouse's frames.
    pub decompress: bool,
    /// `quota_key`.
    pub quota_key: String,
    /// `wait_end_of_query`: nothing is sent before the query is done. A setting too, but in the URL no read-only session minds it.
    pub wait_end_of_query: Option<bool>,
    /// `buffer_size`: bytes that are held back before the first is sent.
    pub buffer_size: Option<u64>,
    /// `client_protocol_version`, for the Native format.
    pub client_protocol_version: u64,
    /// The encoding of the body, where it has one.
    pub content_encoding: Option<ContentEncoding>,
    /// The encoding that the response is wanted in, of those that we have.
    pub accepted_encoding: Option<ContentEncoding>,
    /// The rule that the request meets, where it is one for queries.
    pub handler: Option<Arc<QueryHandler>>,
    /// What separates the parts of a body of multipart/form-data.
    pub form_boundary: Option<String>,
    /// `t_format`, `t_structure` and `t_types` of a table `t` in the form.
    pub described_tables: Vec<(String, String)>,
    /// `Origin`: a browser asks for a page of another place.
    pub has_origin: bool,
    /// From where a browser asks.
    pub origin: Origin,
    /// `role`: the roles of this request.
    pub roles: Vec<String>,
    /// `add_http_cors_header` of who asks; known where there is an `Origin`.
    pub adds_cors_header: bool,
    /// `param_x`, by `x`.
    pub parameters: HashMap<String, String>,
    /// Everything else: settings.
    pub settings: Vec<(String, String)>,
}

/// Who asks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user, where one is named.
    pub user: Option<String>,
    /// The password, where one is given.
    pub password: Vec<u8>,
    /// `X-ClickHouse-SSL-Certificate-Auth: on`: the certificate of the connection stands for the password.
    pub by_certificate: bool,
}

/// `session_id` with what goes with it.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// `session_id`.
    pub id: String,
    /// `session_timeout` as text.
    pub timeout: Option<String>,
    /// `session_check`: the session must be there.
    pub check: bool,
    /// `close_session`: the session ends with this request.
    pub close: bool,
}

impl QueryRequest {
    /// Reads the part of the URL after `?`, and the headers.
    ///
    /// # Errors
    /// `AUTHENTICATION_FAILED` where credentials come in two ways, `BAD_ARGUMENTS` for a URL that cannot be read, `NOT_IMPLEMENTED` for
    /// a body of a kind that is not here.
    pub fn read(head: &RequestHead<'_>) -> Result<Self> {
        let mut request = Self { only_reads: matches!(*head.method, Method::GET | Method::HEAD), ..Self::default() };
        let fields = head.fields;
        if let Some(content_type) = fields.get(&CONTENT_TYPE)
            && content_type.starts_with(b"multipart/form-data")
        {
            let boundary = multer::parse_boundary(String::from_utf8_lossy(content_type)).map_err(|error| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("Content-Type of multipart/form-data: {error}"))
            })?;
            request.form_boundary = Some(boundary);
        }
        let mut of_url = UrlOnly::default();
        for (number, (name, value)) in parameters(head.url_query.unwrap_or_default()).enumerate() {
            if number == PARAMETERS_MAX {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("More than {PARAMETERS_MAX} parameters in the URL"),
                ));
            }
            request.read_parameter(name?, value?, &mut of_url)?;
        }
        if let Some(session) = &mut request.session {
            session.timeout = of_url.session_timeout;
            session.check = of_url.session_check;
            session.close = of_url.close_session;
        }
        request.credentials = credentials(of_url.credentials, of_url.has_password, fields)?;
        request.read_fields(&fields)?;
        Ok(request)
    }

    /// Reads one parameter of the URL. What has its meaning only together with other parameters goes to `of_url`.
    fn read_parameter(&mut self, name: Cow<'_, str>, value: Cow<'_, str>, of_url: &mut UrlOnly) -> Result<()> {
        match &*name {
            "query" => self.query.push_str(&value),
            "database" => self.database = Some(value.into_owned()).filter(|name| !name.is_empty()),
            "user" => of_url.credentials.user = Some(value.into_owned()),
            "password" => {
                of_url.credentials.password = value.into_owned().into_bytes();
                of_url.has_password = true;
            }
            "query_id" => self.query_id = Some(value.into_owned()).filter(|id| !id.is_empty()),
            "session_id" if !value.is_empty() => {
                self.session =
                    Some(SessionRequest { id: value.into_owned(), timeout: None, check: false, close: false });
            }
            "session_id" => {}
            "session_timeout" => of_url.session_timeout = Some(value.into_owned()),
            "session_check" => of_url.session_check = value == "1",
            "default_format" => self.default_format = Some(value.into_owned()).filter(|name| !name.is_empty()),
            "compress" => self.compress = is_true(&value),
            "decompress" => self.decompress = is_true(&value),
            "quota_key" => self.quota_key = value.into_owned(),
            "client_protocol_version" => self.client_protocol_version = whole_number(&name, &value)?,
            "wait_end_of_query" => self.wait_end_of_query = Some(is_true(&value)),
            "buffer_size" => self.buffer_size = Some(whole_number(&name, &value)?),
            "close_session" => of_url.close_session = is_true(&value),
            "role" => self.roles.push(value.into_owned()),
            // Accepted without effect: stacks are not sent to clients.
            "stacktrace" => {}
            name if name.starts_with("param_") => {
                self.parameters.insert(name["param_".len()..].to_owned(), value.into_owned());
            }
            name if self.form_boundary.is_some() && describes_table(name) => {
                self.described_tables.push((name.to_owned(), value.into_owned()));
            }
            _ => self.settings.push((name.into_owned(), value.into_owned())),
        }
        Ok(())
    }

    /// Reads the headers: those that stand for parameters which the URL lacks, and those about encodings and origin.
    fn read_fields(&mut self, fields: &RequestFields<'_>) -> Result<()> {
        if self.database.is_none() {
            self.database = fields.text(&X_DATABASE);
        }
        if self.default_format.is_none() {
            self.default_format = fields.text(&X_FORMAT);
        }
        if self.quota_key.is_empty() {
            self.quota_key = fields.text(&X_QUOTA).unwrap_or_default();
        }
        self.accepted_encoding =
            fields.get(&ACCEPT_ENCODING).and_then(|value| ContentEncoding::accepted(&String::from_utf8_lossy(value)));
        self.has_origin = fields.get(&ORIGIN).is_some_and(|origin| !origin.is_empty());
        self.origin = Origin::read(fields);
        if let Some(encoding) = fields.get(&CONTENT_ENCODING) {
            self.content_encoding = ContentEncoding::parse(&String::from_utf8_lossy(encoding))?;
        }
        Ok(())
    }

    /// The value that the URL gives a setting.
    pub fn last_setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Parameters of the URL that mean something only together with others, or with headers.
#[derive(Default)]
struct UrlOnly {
    credentials: Credentials,
    has_password: bool,
    session_timeout: Option<String>,
    session_check: bool,
    close_session: bool,
}

static X_USER: HeaderName = HeaderName::from_static("x-clickhouse-user");
static X_KEY: HeaderName = HeaderName::from_static("x-clickhouse-key");
static X_CERTIFICATE: HeaderName = HeaderName::from_static("x-clickhouse-ssl-certificate-auth");
static X_DATABASE: HeaderName = HeaderName::from_static("x-clickhouse-database");
static X_FORMAT: HeaderName = HeaderName::from_static("x-clickhouse-format");
static X_QUOTA: HeaderName = HeaderName::from_static("x-clickhouse-quota");

/// The credentials of the one place that gives them.
fn credentials(in_url: Credentials, url_has_password: bool, fields: RequestFields<'_>) -> Result<Credentials> {
    let url_has_any = in_url.user.is_some() || url_has_password;
    let (x_user, x_key) = (fields.get(&X_USER), fields.get(&X_KEY));
    let basic = fields.get(&AUTHORIZATION);
    let twice = |first: &str, second: &str| {
        let message = format!("Invalid authentication: it is not allowed to use {first} and {second} simultaneously");
        Err(Error::new(ErrorCode::AUTHENTICATION_FAILED, message))
    };
    let by_certificate = fields.get(&X_CERTIFICATE).is_some_and(|value| value == b"on");
    if x_user.is_some() || x_key.is_some() || by_certificate {
        if by_certificate && x_key.is_some_and(|key| !key.is_empty()) {
            return twice("SSL certificate authentication", "authentication via password");
        }
        if basic.is_some() {
            return twice("X-ClickHouse HTTP headers", "Authorization HTTP header");
        }
        if url_has_any {
            return twice("X-ClickHouse HTTP headers", "authentication via parameters");
        }
        return Ok(Credentials {
            user: x_user.map(|value| String::from_utf8_lossy(value).into_owned()),
            password: x_key.map(<[u8]>::to_vec).unwrap_or_default(),
            by_certificate,
        });
    }
    let Some(basic) = basic else { return Ok(in_url) };
    if url_has_any {
        return twice("Authorization HTTP header", "authentication via parameters");
    }
    let refuse = |why: &str| Error::new(ErrorCode::AUTHENTICATION_FAILED, format!("Invalid authentication: {why}"));
    let text = std::str::from_utf8(basic).map_err(|_| refuse("the Authorization HTTP header is not text"))?;
    let Some((scheme, encoded)) = text.trim().split_once(' ') else {
        return Err(refuse("the Authorization HTTP header is empty"));
    };
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(refuse(&format!("'{scheme}' HTTP Authorization scheme is not supported")));
    }
    let decoded = base64::engine::general_purpose::STANDARD
        .decode(encoded.trim())
        .map_err(|_| refuse("the Authorization HTTP header is not base64"))?;
    let colon = decoded.iter().position(|byte| *byte == b':').unwrap_or(decoded.len());
    let (user, password) = decoded.split_at(colon);
    Ok(Credentials {
        user: Some(String::from_utf8_lossy(user).into_owned()),
        password: password.get(1..).unwrap_or_default().to_vec(),
        by_certificate: false,
    })
}

/// Whether the text of a parameter says yes.
pub fn is_true(value: &str) -> bool {
    !matches!(value.trim(), "" | "0" | "false")
}

/// The whole number that a parameter gives.
fn whole_number(name: &str, value: &str) -> Result<u64> {
    let cannot = |_| Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("Cannot parse {name} '{value}'"));
    value.trim().parse().map_err(cannot)
}

/// The names and values of the part of a URL after `?`, decoded.
fn parameters(query: &str) -> impl Iterator<Item = (Result<Cow<'_, str>>, Result<Cow<'_, str>>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

/// Decodes `%41` and `+`.
fn decode(text: &str) -> Result<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => decoded.push(b' '),
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
                match (digit(), digit()) {
                    (Some(high), Some(low)) => decoded.push((high * 16 + low) as u8),
                    _ => {
                        let message = format!("URI encoding: bad escape in '{}'", shortened(text));
                        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                    }
                }
            }
            other => decoded.push(other),
        }
    }
    String::from_utf8(decoded)
        .map(Cow::Owned)
        .map_err(|_| Error::new(ErrorCode::BAD_ARGUMENTS, format!("URI encoding: '{}' is not UTF-8", shortened(text))))
}

fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(100)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    fn read_request(url_query: &str, headers: &HeaderMap) -> Result<QueryRequest> {
        let fields = RequestFields::Map(headers);
        QueryRequest::read(&RequestHead { method: &Method::POST, path: "/", url_query: Some(url_query), fields })
    }

    #[test]
    fn parameters_are_sorted() {
        let url = "query=SELECT+1%3B&database=d&max_threads=4&param_x=a%26b&session_id=s&session_timeout=5&compress=1&empty=&default_format=CSV";
        let request = read_request(url, &HeaderMap::new()).unwrap();
        assert_eq!(request.query, "SELECT 1;");
        assert_eq!(request.database.as_deref(), Some("d"));
        assert_eq!(request.settings, [("max_threads".to_owned(), "4".to_owned()), ("empty".to_owned(), String::new())]);
        assert_eq!(request.parameters["x"], "a&b");
        assert_eq!(
            request.session,
            Some(SessionRequest { id: "s".into(), timeout: Some("5".into()), check: false, close: false })
        );
        assert!(request.compress && !request.decompress);
        assert_eq!(request.default_format.as_deref(), Some("CSV"));
    }

    #[test]
    fn credentials_come_from_one_place() {
        let read = |url: &str, pairs: &[(&'static str, &str)]| {
            read_request(url, &headers(pairs)).map(|request| request.credentials)
        };
        let expected = Credentials { user: Some("u".into()), password: b"p:q".to_vec(), by_certificate: false };
        assert_eq!(read("user=u&password=p:q", &[]).unwrap(), expected);
        assert_eq!(read("", &[("x-clickhouse-user", "u"), ("x-clickhouse-key", "p:q")]).unwrap(), expected);
        assert_eq!(read("", &[("authorization", "Basic dTpwOnE=")]).unwrap(), expected);
        assert_eq!(read("", &[]).unwrap(), Credentials::default());
        let certificate = ("x-clickhouse-ssl-certificate-auth", "on");
        assert!(read("", &[("x-clickhouse-user", "u"), certificate]).unwrap().by_certificate);
        for (url, pairs) in [
            ("user=u", &[certificate][..]),
            ("", &[("x-clickhouse-user", "u"), ("x-clickhouse-key", "p"), certificate]),
            ("user=u", &[("x-clickhouse-user", "u")]),
            ("user=u", &[("authorization", "Basic dTpwOnE=")]),
            ("", &[("authorization", "Basic dTpwOnE="), ("x-clickhouse-user", "u")]),
            ("", &[("authorization", "Bearer x")]),
            ("", &[("authorization", "Basic !!!")]),
        ] {
            assert_eq!(read(url, pairs).unwrap_err().code, ErrorCode::AUTHENTICATION_FAILED);
        }
    }

    #[test]
    fn broken_escapes_are_errors() {
        for url in ["query=%", "query=%4", "query=%zz", "query=%ff"] {
            assert_eq!(read_request(url, &HeaderMap::new()).unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{url}");
        }
    }
}
