//! Which other servers statements of users may have this one ask: `remote_url_allow_hosts`. Without it those of the outside world: neither
//! this machine nor its neighbours. What an operator's own configuration files name is not asked about here.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Uri};
use regex::Regex;
use squall_remote::http::{HttpOptions, shown};
use squall_remote::{Address, Reach};
use squall_types::{Error, ErrorCode, Result, Settings};

use crate::config::Element;

/// A web server may always be silent for so long.
const SILENCE_MIN: Duration = Duration::from_secs(1);

/// The hosts that may be asked.
#[derive(Clone, Debug, Default)]
pub struct RemoteHosts {
    /// Whether the configuration names them: then there are no others.
    is_configured: bool,
    /// `host` or `host:port`.
    hosts: Vec<String>,
    regexps: Vec<Regex>,
}

impl RemoteHosts {
    /// Takes the element's hosts.
    ///
    /// # Errors
    /// Where a regular expression is none.
    pub fn read(&mut self, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
        self.is_configured = true;
        for child in &element.children {
            match child.name.as_str() {
                "host" => self.hosts.push(child.trimmed().to_ascii_lowercase()),
                "host_regexp" => {
                    let regex = Regex::new(child.trimmed()).map_err(|_| child.bad_value("a regular expression"))?;
                    self.regexps.push(regex);
                }
                name => warnings
                    .push(format!("{}: unknown element <remote_url_allow_hosts/{name}> is ignored", child.origin)),
            }
        }
        Ok(())
    }

    /// Which of the addresses that a server's name stands for may be asked.
    ///
    /// # Errors
    /// `UNACCEPTABLE_URL`.
    pub fn reach_of(&self, address: &Address) -> Result<Reach> {
        let host = &address.host;
        self.reach(&host.to_ascii_lowercase(), Some(address.port)).ok_or_else(|| {
            let message = format!("Host {host} is not allowed in configuration file, see <remote_url_allow_hosts>");
            Error::new(ErrorCode::UNACCEPTABLE_URL, message)
        })
    }

    /// Checks that a URL may be asked, as far as its text tells.
    ///
    /// # Errors
    /// `UNACCEPTABLE_URL`.
    pub fn check_url(&self, url: &str) -> Result<()> {
        let denied = || {
            let message =
                format!("URL \"{}\" is not allowed in configuration file, see <remote_url_allow_hosts>", shown(url));
            Error::new(ErrorCode::UNACCEPTABLE_URL, message)
        };
        let uri: Uri = url.parse().map_err(|_| denied())?;
        let host = uri.host().ok_or_else(denied)?.trim_matches(['[', ']']).to_ascii_lowercase();
        match self.reach(&host, uri.port_u16()) {
            None => Err(denied()),
            Some(Reach::Anywhere) => Ok(()),
            Some(Reach::Public) => {
                let is_near = match host.parse::<IpAddr>() {
                    Ok(address) => !Reach::Public.admits(address),
                    Err(_) => host == "localhost" || host.ends_with(".localhost"),
                };
                if is_near { Err(denied()) } else { Ok(()) }
            }
        }
    }

    /// How web servers are asked for a query under these settings.
    pub fn http_options(&self, settings: &Settings) -> HttpOptions {
        let hosts = self.clone();
        let reach = move |url: &str| {
            hosts.check_url(url)?;
            let uri: Uri = url.parse().unwrap_or_default();
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
            Ok(hosts.reach(&host, uri.port_u16()).unwrap_or(Reach::Public))
        };
        HttpOptions {
            reach: Arc::new(reach),
            headers: Vec::new(),
            write_method: Method::POST,
            connect_max: settings.http_connection_timeout,
            silence_max: settings.http_receive_timeout.max(SILENCE_MIN),
            redirects_max: settings.max_http_get_redirects,
            skips_missing: settings.http_skip_not_found_url_for_globs,
        }
    }

    /// Which addresses of a host may be asked; none where the host may not be.
    pub fn reach(&self, host: &str, port: Option<u16>) -> Option<Reach> {
        if !self.is_configured {
            return Some(Reach::Public);
        }
        let with_port = port.map(|port| format!("{host}:{port}"));
        let is_named = |name: &str| {
            self.hosts.iter().any(|known| known == name) || self.regexps.iter().any(|regex| is_whole_match(regex, name))
        };
        let found = is_named(host) || with_port.is_some_and(|name| is_named(&name));
        found.then_some(Reach::Anywhere)
    }
}

fn is_whole_match(regex: &Regex, text: &str) -> bool {
    regex.find(text).is_some_and(|found| found.start() == 0 && found.end() == text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_not_asked_unless_named() {
        let open = RemoteHosts::default();
        for url in [
            "http://127.0.0.1/",
            "http://localhost:8123/",
            "http://x.localhost/",
            "http://[::1]/",
            "http://10.0.0.1/",
            "http://192.168.1.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::ffff:127.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[fd00::1]/",
            "http://0.0.0.0/",
            "http://100.64.0.1/",
            "not a url",
        ] {
            assert_eq!(open.check_url(url).unwrap_err().code, ErrorCode::UNACCEPTABLE_URL, "{url}");
        }
        for url in ["http://example.com/", "http://1.1.1.1:8080/x", "http://[2606:4700::1111]/"] {
            assert!(open.check_url(url).is_ok(), "{url}");
        }
        let text = "<remote_url_allow_hosts><host>127.0.0.1:90</host><host_regexp>.*\\.example\\.com</host_regexp></remote_url_allow_hosts>";
        let mut named = RemoteHosts::default();
        named.read(&Element::parse("config.xml", text).unwrap(), &mut Vec::new()).unwrap();
        for (url, is_allowed) in [
            ("http://127.0.0.1:90/", true),
            ("http://127.0.0.1:91/", false),
            ("http://a.example.com/", true),
            ("http://a.example.com.evil.org/", false),
            ("http://1.1.1.1/", false),
        ] {
            assert_eq!(named.check_url(url).is_ok(), is_allowed, "{url}");
        }
    }
}
