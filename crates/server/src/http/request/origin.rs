//! From where a browser asks. A page of another place can make a visitor's browser ask this server, and a name of that page's domain can be
//! made to mean this server's address; a user without a password is nobody's but those who ask it by its own name.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderName, ORIGIN};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Access;
use crate::config::Config;
use crate::http::request::head::RequestFields;

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
static SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What a request says of where it comes from.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Origin {
    /// `Host`: the name by which the server was asked.
    host: String,
    /// `Origin`: whose page asks; empty where no page does.
    origin: String,
    /// Whether a browser says that another site makes it ask, and not for a page to go to.
    is_cross_site: bool,
}

impl Origin {
    /// Reads a request's headers.
    pub fn read(fields: &RequestFields<'_>) -> Self {
        let site = value(fields, &SEC_FETCH_SITE);
        Self {
            host: value(fields, &HOST),
            origin: value(fields, &ORIGIN),
            is_cross_site: matches!(site.as_str(), "cross-site" | "same-site")
                && value(fields, &SEC_FETCH_MODE) != "navigate",
        }
    }

    /// Refuses what a page of another place asks of a user without a password.
    ///
    /// # Errors
    /// `AUTHENTICATION_FAILED`.
    pub fn check(&self, access: &Access, config: &Config) -> Result<()> {
        if !access.is_passwordless {
            return Ok(());
        }
        let refused = |why: String| {
            let message = format!("{}: Authentication failed: the user has no password, and {why}", access.name);
            Err(Error::new(ErrorCode::AUTHENTICATION_FAILED, message))
        };
        if !is_own_name(name_of(&self.host), &config.server.http_allowed_hosts) {
            return refused(format!(
                "the server is asked by the name '{}', which http_allowed_hosts does not have",
                self.host.escape_default()
            ));
        }
        // The operator may have said that pages of others may read: http_options_response, or a profile.
        let is_of_other = !self.origin.is_empty() && authority_of(&self.origin) != Some(&self.host);
        let is_open = access.settings.add_http_cors_header || config.options_response.is_configured();
        if (is_of_other || self.is_cross_site) && !is_open {
            return refused(format!("a page of another origin asks, '{}'", self.origin.escape_default()));
        }
        Ok(())
    }
}

fn value(fields: &RequestFields<'_>, name: &HeaderName) -> String {
    fields.get(name).map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

/// `host:port` without the port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn authority_of(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, authority)| authority)
}

/// Whether nobody else can make a name mean this server: an address is no name, and names without a dot are not given to others.
fn is_own_name(name: &str, allowed: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok()
        || !name.contains('.')
        || name.ends_with(".localhost")
        || allowed.split(',').any(|known| known.trim().eq_ignore_ascii_case(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_known() {
        for (host, is_own) in [
            ("127.0.0.1:8123", true),
            ("[::1]:8123", true),
            ("localhost", true),
            ("localhost:8123", true),
            ("clickhouse:8123", true),
            ("a.localhost", true),
            ("", true),
            ("evil.example:8123", false),
            ("evil.example.", false),
            ("db.example.com", true),
        ] {
            assert_eq!(is_own_name(name_of(host), "x.org, db.example.com"), is_own, "{host}");
        }
        assert_eq!(authority_of("http://a:1"), Some("a:1"));
    }
}
