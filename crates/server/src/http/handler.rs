//! What a request gets: a page, or a query run for it and the response made of its result.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderName, ORIGIN, REFERER, USER_AGENT};
use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_types::{Error, ErrorCode, Result};

use crate::access::{Access, CertificateNames, Proof, RoleChoice};
use crate::http::pages::{assets, metrics};
use crate::http::request::form::{self, Form};
use crate::http::request::head::{HeadLimits, RequestHead};
use crate::http::request::input::{Input, RequestBody};
use crate::http::request::{Credentials, QueryRequest as HttpQuery, SessionRequest, is_true};
use crate::http::response::progress::ProgressLines;
use crate::http::response::query::{insert, known_format};
use crate::http::response::{Headers, Response};
use crate::http::rules::{Found, Handler, Page, QueryHandler, SharedRules};
use crate::http::trace;
use crate::network::Socket;
use crate::query::{Query, QueryRequest};
use crate::server::Server;
use crate::session::{ClientInfo, HttpMethod, Interface, Session, SessionLease};

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// What a port serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// Queries and pages.
    All,
    /// The page for Prometheus.
    Metrics,
}

/// What a request comes to.
pub enum Answer {
    /// A response at once.
    Page(Response),
    /// A page of a rule, which is to be [read](Connection::read_page).
    RulePage(Arc<Page>),
    /// A query that is to be [run](Connection::run).
    Query(Box<HttpQuery>, Arc<ClientInfo>),
}

/// One connection of a client.
pub struct Connection {
    pub(super) server: Arc<Server>,
    /// What all responses have.
    pub headers: Arc<Headers>,
    pages: Pages,
    /// Where the client is.
    pub address: SocketAddr,
    /// How large its requests' lines and headers may be.
    pub limits: HeadLimits,
    /// Whether it is under TLS.
    is_secure: bool,
    /// Whom the certificate names that the client has shown.
    certificate: Option<CertificateNames>,
    /// What the client said of itself last; it says the same in every request.
    client: Mutex<Option<Arc<ClientInfo>>>,
    /// The id of its last query.
    query_id: Mutex<Option<Arc<str>>>,
    /// `http_handlers`: who answers what.
    rules: Option<SharedRules>,
    /// What is said of the progress of its query before the response.
    pub(super) progress: ProgressLines,
    /// The query whose result is being sent.
    sending: Mutex<Weak<QueryContext>>,
}

impl Connection {
    /// A connection from an address.
    pub fn new(server: Arc<Server>, headers: Arc<Headers>, pages: Pages, stream: &Socket, address: SocketAddr) -> Self {
        let rules = if pages == Pages::All { server.config.load().http_handlers.clone() } else { None };
        Self {
            limits: HeadLimits::of(server.access.load().default_settings()),
            server,
            headers,
            pages,
            address,
            is_secure: stream.is_secure(),
            certificate: stream.client_certificate().map(CertificateNames::of_certificate),
            client: Mutex::default(),
            query_id: Mutex::default(),
            rules,
            progress: ProgressLines::default(),
            sending: Mutex::default(),
        }
    }

    /// The result of a query is sent from now on.
    pub(super) fn sends(&self, query: &Arc<QueryContext>) {
        *self.sending.lock() = Arc::downgrade(query);
    }

    /// Whether the query was asked to end whose result is being sent.
    pub(super) fn poll_stopped(&self, task: &Context<'_>) -> Poll<()> {
        let query = self.sending.lock().upgrade();
        query.map_or(Poll::Pending, |query| query.poll_stopped(task))
    }

    /// What a client proves its name with.
    fn proof<'a>(&'a self, credentials: &'a Credentials) -> Result<Proof<'a>> {
        if !credentials.by_certificate {
            return Ok(Proof::Password(&credentials.password));
        }
        match &self.certificate {
            Some(names) if !names.is_empty() => Ok(Proof::Certificate(names)),
            _ => Err(Error::new(
                ErrorCode::AUTHENTICATION_FAILED,
                "Invalid authentication: SSL certificate authentication requires nonempty certificate's Common Name or \
                 Subject Alternative Name",
            )),
        }
    }

    /// Answers what needs no query, and reads what does.
    pub fn answer(&self, head: &RequestHead<'_>) -> Answer {
        trace::request(head, self.address);
        if let Err(why) = self.limits.check(head) {
            return Answer::Page(self.headers.bad_request(why));
        }
        if let Some(rules) = &self.rules {
            match rules.find(head) {
                Found::Defaults => {}
                Found::Handler(handler) => return self.answer_by_rule(head, handler),
                Found::Nothing => return Answer::Page(self.headers.not_found(head.path)),
            }
        }
        Answer::Page(match (head.method, head.path) {
            (&Method::OPTIONS, _) => self.headers.options(),
            (&Method::GET | &Method::HEAD, "/ping" | "/replicas_status") => self.headers.ok(),
            (_, path) if self.pages == Pages::Metrics && !self.is_metrics(path) => self.headers.not_found(path),
            (&Method::GET | &Method::HEAD, "/") if head.url_query.is_none_or(str::is_empty) => {
                self.headers.default_page()
            }
            (&Method::GET | &Method::HEAD | &Method::POST | &Method::PUT, "/" | "/query") => {
                return self.read_query(head, None);
            }
            (&Method::GET | &Method::HEAD, path) if self.is_metrics(path) => {
                self.headers.metrics(metrics::page(&self.server))
            }
            (&Method::GET | &Method::HEAD, path) => {
                assets::find(&self.headers, head).unwrap_or_else(|| self.headers.not_found(path))
            }
            (_, path) => self.headers.not_found(path),
        })
    }

    /// Answers a request that meets a rule.
    fn answer_by_rule(&self, head: &RequestHead<'_>, handler: &Handler) -> Answer {
        match handler {
            Handler::Query(_) if *head.method == Method::OPTIONS => Answer::Page(self.headers.options()),
            Handler::Query(handler) => self.read_query(head, Some(handler)),
            Handler::Page(page) => Answer::RulePage(page.clone()),
            Handler::Ok => Answer::Page(self.headers.ok()),
            Handler::Metrics => Answer::Page(self.headers.metrics(metrics::page(&self.server))),
        }
    }

    /// Reads what query a request asks for, by a rule or without.
    fn read_query(&self, head: &RequestHead<'_>, handler: Option<&Arc<QueryHandler>>) -> Answer {
        trace::uri(head);
        match HttpQuery::read(head) {
            Ok(mut http) => {
                if let Some(handler) = handler {
                    handler.apply(head, &mut http);
                }
                let client = self.client_info(head, &http.quota_key);
                Answer::Query(Box::new(http), client)
            }
            Err(error) => {
                let mut response = self.headers.error(&error, None, None);
                if head.fields.get(&ORIGIN).is_some() {
                    self.headers.add_cross_origin(&mut response, false);
                }
                Answer::Page(response)
            }
        }
    }

    /// The response of a rule's page.
    pub async fn read_page(&self, page: &Page) -> Response {
        page.response(&self.headers, &self.server.config.load_full().server.user_files_path).await
    }

    /// Whether `/ping` is answered without a look at rules.
    pub fn answers_pings(&self) -> bool {
        self.rules.is_none()
    }

    /// Runs a query and makes the response of its result.
    pub async fn run(
        self: Arc<Self>,
        mut http: Box<HttpQuery>,
        client: Arc<ClientInfo>,
        body: RequestBody,
    ) -> Response {
        let query_id: Arc<str> = match &http.query_id {
            Some(query_id) => query_id.as_str().into(),
            None => new_query_id(),
        };
        *self.query_id.lock() = Some(query_id.clone());
        let mut response = match self.run_in_session(&mut http, client, body, &query_id).await {
            Ok(response) => response,
            Err(error) => self.headers.error(&error, Some(&query_id), None),
        };
        if http.has_origin {
            self.headers.add_cross_origin(&mut response, http.adds_cors_header);
        }
        if let Some(handler) = &http.handler {
            handler.decorate(&mut response);
        }
        response
    }

    /// Whether the query of a request whose client has gone goes on. One that has not been let in does not.
    pub(super) fn goes_on_without_client(&self) -> bool {
        let query_id = self.query_id.lock().clone();
        let process = query_id.and_then(|query_id| self.server.processes.find(&query_id));
        process.is_some_and(|process| {
            let settings = &process.context.settings;
            !(settings.cancel_http_readonly_queries_on_client_close && process.info.kind.only_reads())
        })
    }

    /// Lets the server wait, when it stops, for an answer that is under way.
    pub fn keep_busy(&self) -> Arc<()> {
        self.server.keep_busy()
    }

    fn is_metrics(&self, path: &str) -> bool {
        path == self.server.config.load().prometheus.endpoint
    }

    async fn run_in_session(
        &self,
        http: &mut HttpQuery,
        client: Arc<ClientInfo>,
        body: RequestBody,
        query_id: &Arc<str>,
    ) -> Result<Response> {
        let user_name = http.credentials.user.take();
        let user_name = user_name.unwrap_or_else(|| self.server.config.load().server.default_session_user.clone());
        let user =
            self.authenticate(&user_name, http).await.inspect_err(|error| trace::refusal(error, self.address))?;
        let goes_on = http.session.is_some();
        let mut lease = None;
        let mut own = None;
        let session = match http.session.take() {
            Some(named) => lease.insert(self.lease(&user, &client, &named)?).session(),
            None => Some(own.insert(Session::new(self.server.clone(), user, client.clone()))),
        };
        let Some(session) = session else { return Err(Error::logical("a session in use by nobody")) };
        session.client = client;
        // Of this request alone, so in a copy where the session goes on.
        let mut scope = if goes_on && is_of_this_request(http) { Some(session.clone()) } else { None };
        let running = scope.as_mut().unwrap_or(session);
        running.refresh_access()?;
        if !http.roles.is_empty() {
            running.set_roles(RoleChoice::These(http.roles.iter().cloned().collect()))?;
        }
        if let Some(database) = &http.database {
            running.use_database(database)?;
        }
        for (name, value) in &http.parameters {
            running.set_parameter(name, value)?;
        }
        if http.only_reads {
            running.forbid_writing();
        }
        if http.has_origin {
            let in_url = http.last_setting("add_http_cors_header");
            http.adds_cors_header = in_url.map_or(running.settings.add_http_cors_header, is_true);
        }
        let in_url = http.last_setting("send_progress_in_http_headers");
        let result = if in_url.map_or(running.settings.send_progress_in_http_headers, is_true) {
            Box::pin(self.run_and_tell(running, body, http, query_id)).await
        } else {
            self.run_in(running, body, http, query_id).await
        };
        // What SET and USE did in the copy is the session's too.
        if let Some(scope) = scope
            && let Some(lease) = &mut lease
            && let Some(kept) = lease.session()
        {
            keep_changes(kept, &scope, http);
        }
        result
    }

    /// The same with `X-ClickHouse-Progress`.
    async fn run_and_tell(
        &self,
        session: &mut Session,
        body: RequestBody,
        http: &HttpQuery,
        query_id: &Arc<str>,
    ) -> Result<Response> {
        let in_url = http.last_setting("http_headers_progress_interval_ms").and_then(|value| value.parse().ok());
        let interval = in_url.unwrap_or(session.settings.http_headers_progress_interval_ms);
        let find = || self.server.processes.find(query_id).map(|process| process.context.clone());
        let running = self.run_in(session, body, http, query_id);
        self.progress.tell(Duration::from_millis(interval.max(1)), find, running).await
    }

    async fn run_in(
        &self,
        session: &mut Session,
        mut body: RequestBody,
        http: &HttpQuery,
        query_id: &Arc<str>,
    ) -> Result<Response> {
        let settings = session.settings.clone();
        let mut input_of_request = None;
        let mut text;
        if let Some(name) = http.handler.as_ref().and_then(|handler| handler.body_parameter())
            && http.form_boundary.is_none()
        {
            let value = Box::pin(read_parameter(body, http, session)).await?;
            session.set_parameter(name, &value)?;
            body = RequestBody::Whole(Bytes::new());
        }
        let is_taken = http.form_boundary.is_some() || http.handler.as_ref().is_none_or(|handler| handler.takes_body());
        let whole: &[u8] = if !is_taken || body.is_over() {
            http.query.as_bytes()
        } else if let Some(boundary) = &http.form_boundary {
            text = http.query.clone().into_bytes();
            let input = Input::new(body, http.content_encoding, http.decompress, settings.http_receive_timeout)?;
            let form = Box::pin(read_form(input, boundary, session, http)).await?;
            text.extend_from_slice(form.query.as_bytes());
            for (name, value) in &form.parameters {
                session.set_parameter(name, value)?;
            }
            session.external_tables = form.tables;
            &text
        } else {
            let input = Input::new(body, http.content_encoding, http.decompress, settings.http_receive_timeout)?;
            let input = input_of_request.insert(Box::new(input));
            text = http.query.clone().into_bytes();
            if !text.is_empty() {
                text.push(b'\n');
            }
            // As much as the longest statement can have; the rest is read as its data.
            let in_url = http.last_setting("max_query_size");
            let max_query_size = in_url.and_then(|value| value.parse().ok()).unwrap_or(settings.max_query_size);
            let bytes_max =
                text.len().saturating_add(usize::try_from(max_query_size).unwrap_or(usize::MAX)).saturating_add(1);
            while text.len() < bytes_max
                && let Some(piece) = input.next().await?
            {
                text.extend_from_slice(&piece);
            }
            &text
        };
        if whole.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::new(ErrorCode::SYNTAX_ERROR, "Empty query"));
        }
        let request = QueryRequest { text: whole, query_id: query_id.clone(), settings: &http.settings };
        let mut query = Query::start(session, request).await?;
        if let Some((format, inline)) = query.insert_format() {
            let format = format.clone();
            query.set_used_format(known_format(&format).unwrap_or_default());
            let inline = inline.and_then(|start| whole.get(start..)).unwrap_or_default();
            let inserted = Box::pin(insert(&mut query, &format, inline, input_of_request.as_deref_mut())).await;
            if let Err(error) = inserted {
                query.fail(&error);
                return Ok(self.headers.error(&error, Some(query_id), Some(query.context())));
            }
        } else if let Some(input) = &mut input_of_request
            && input.next().await?.is_some()
        {
            let message = format!("Max query size exceeded: {} bytes (max_query_size)", settings.max_query_size);
            let error = Error::new(ErrorCode::SYNTAX_ERROR, message);
            query.fail(&error);
            return Err(error);
        }
        self.respond(query, http, query_id).await
    }

    /// Who the client is. A password under a slow hash is looked at on a thread that may take its time.
    async fn authenticate(&self, user_name: &str, http: &HttpQuery) -> Result<Arc<Access>> {
        let address = self.address.ip();
        let access = {
            let proof = self.proof(&http.credentials)?;
            let snapshot = self.server.access.load();
            if snapshot.is_slow(user_name, proof) {
                None
            } else {
                Some(snapshot.authenticate(user_name, proof, address)?)
            }
        };
        let access = match access {
            Some(access) => access,
            None => {
                let (snapshot, name) = (self.server.access.load_full(), user_name.to_owned());
                let password = http.credentials.password.clone();
                let looked = tokio::task::spawn_blocking(move || {
                    snapshot.authenticate(&name, Proof::Password(&password), address)
                });
                looked.await.map_err(|error| Error::logical(format!("authentication was interrupted: {error}")))??
            }
        };
        http.origin.check(&access, &self.server.config.load())?;
        Ok(access)
    }

    fn lease(&self, user: &Arc<Access>, client: &Arc<ClientInfo>, named: &SessionRequest) -> Result<SessionLease> {
        let config = self.server.config.load();
        let (default, max) = (config.server.default_session_timeout, config.server.max_session_timeout);
        let timeout = match &named.timeout {
            None => default,
            Some(text) => text.trim().parse().map_err(|_| {
                Error::new(ErrorCode::INVALID_SESSION_TIMEOUT, format!("Invalid session timeout: '{text}'"))
            })?,
        };
        if timeout > max {
            return Err(Error::new(
                ErrorCode::INVALID_SESSION_TIMEOUT,
                format!(
                    "Session timeout '{timeout}' is larger than max_session_timeout: {max}. Maximum session timeout could be modified in configuration file."
                ),
            ));
        }
        let new = || Session::new(self.server.clone(), user.clone(), client.clone());
        let timeout = if named.close { Duration::ZERO } else { Duration::from_secs(timeout) };
        self.server.sessions.take(&user.name, &named.id, timeout, named.check, new)
    }

    /// What the client says of itself, made anew only where it says something else than before.
    fn client_info(&self, head: &RequestHead<'_>, quota_key: &str) -> Arc<ClientInfo> {
        let text = |name: &HeaderName| head.fields.get(name).unwrap_or_default();
        let http_method = match *head.method {
            Method::GET => HttpMethod::Get,
            Method::POST => HttpMethod::Post,
            Method::PUT => HttpMethod::Put,
            Method::HEAD => HttpMethod::Head,
            _ => HttpMethod::Unknown,
        };
        let mut last = self.client.lock();
        if let Some(client) = &*last
            && client.http_method == http_method
            && client.http_user_agent.as_bytes() == text(&USER_AGENT)
            && client.http_referer.as_bytes() == text(&REFERER)
            && client.forwarded_for.as_bytes() == text(&FORWARDED_FOR)
            && *client.quota_key == *quota_key
        {
            return client.clone();
        }
        let text = |name: &HeaderName| String::from_utf8_lossy(text(name)).into();
        let client = Arc::new(ClientInfo {
            http_method,
            http_user_agent: text(&USER_AGENT),
            http_referer: text(&REFERER),
            forwarded_for: text(&FORWARDED_FOR),
            quota_key: quota_key.into(),
            is_secure: self.is_secure,
            ..ClientInfo::new(Interface::Http, self.address)
        });
        *last = Some(client.clone());
        client
    }
}

/// A random id, as every query without one of its own gets.
pub fn new_query_id() -> Arc<str> {
    let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
    let id = uuid::Builder::from_random_bytes(rand::random()).into_uuid();
    (&*id.hyphenated().encode_lower(&mut text)).into()
}

/// Reads a request's body as the value of a query parameter.
async fn read_parameter(body: RequestBody, http: &HttpQuery, session: &Session) -> Result<String> {
    let settings = &session.settings;
    let mut input = Input::new(body, http.content_encoding, http.decompress, settings.http_receive_timeout)?;
    let bytes_max = settings.http_max_request_param_data_size;
    let mut value = Vec::new();
    while let Some(piece) = input.next().await? {
        value.extend_from_slice(&piece);
        if value.len() as u64 > bytes_max {
            let message =
                format!("The request's body is longer than {bytes_max} bytes (http_max_request_param_data_size)");
            return Err(Error::new(ErrorCode::TOO_MANY_BYTES, message));
        }
    }
    String::from_utf8(value).map_err(|_| Error::new(ErrorCode::INCORRECT_DATA, "The request's body is not UTF-8"))
}

/// Reads the form that a request's body is, under the request's settings.
async fn read_form(input: Input, boundary: &str, session: &Session, http: &HttpQuery) -> Result<Form> {
    let mut scope = session.clone();
    for (name, value) in &http.settings {
        scope.set(name, value)?;
    }
    let query_name = http.handler.as_ref().map_or(Some("query"), |handler| handler.query_name());
    form::read(input, boundary, &http.described_tables, query_name, &scope).await
}

/// Whether a request changes its session in ways that are meant for the request alone.
fn is_of_this_request(http: &HttpQuery) -> bool {
    http.database.is_some() || http.only_reads || !http.roles.is_empty() || has_own_parameters(http)
}

/// Whether query parameters come with a request.
fn has_own_parameters(http: &HttpQuery) -> bool {
    !http.parameters.is_empty() || http.form_boundary.is_some() || http.handler.is_some()
}

/// Takes over into the kept session what statements changed in its copy, and not what the request's parameters did.
fn keep_changes(kept: &mut Session, scope: &Session, http: &HttpQuery) {
    if http.database.is_none() {
        kept.database = scope.database.clone();
    }
    let readonly = kept.settings.readonly;
    if !Arc::ptr_eq(&kept.settings, &scope.settings) {
        kept.settings = scope.settings.clone();
        if kept.settings.readonly != readonly {
            Arc::make_mut(&mut kept.settings).readonly = readonly;
        }
    }
    if !has_own_parameters(http) {
        kept.parameters = scope.parameters.clone();
    }
    if http.roles.is_empty() {
        kept.keep_roles_of(scope);
    }
}
