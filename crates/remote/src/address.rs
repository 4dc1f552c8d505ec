//! Addresses as the function `remote` takes them: `host:port`, several shards with commas or braces, replicas of one shard with `|`.

use std::net::SocketAddr;

use squall_files::glob::alternatives;
use squall_types::{Error, ErrorCode, Result};

use crate::reach::Reach;

/// The port of the native protocol under TLS where an address names none.
pub const SECURE_PORT: u16 = 9440;

/// A server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port of the native protocol.
    pub port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl Address {
    /// The addresses that the host's name stands for, of those that may be asked.
    ///
    /// # Errors
    /// `DNS_ERROR`; `UNACCEPTABLE_URL` where none may be asked.
    pub async fn resolve(&self, reach: Reach) -> Result<Vec<SocketAddr>> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let found = found.map_err(|error| Error::new(ErrorCode::DNS_ERROR, format!("{self}: {error}")))?;
        let admitted: Vec<SocketAddr> = found.filter(|address| reach.admits(address.ip())).collect();
        if admitted.is_empty() {
            let message =
                format!("Host {} is not allowed in configuration file, see <remote_url_allow_hosts>", self.host);
            return Err(Error::new(ErrorCode::UNACCEPTABLE_URL, message));
        }
        Ok(admitted)
    }
}

/// The replicas of each shard that an expression means: `h1,h2` and `h{1..2}` are two shards, `h1|h2` is one with two replicas. Servers
/// without a port have `default_port`.
///
/// # Errors
/// `BAD_ARGUMENTS` where an address is none.
pub fn shards(expression: &str, default_port: u16) -> Result<Vec<Vec<Address>>> {
    let mut shards = Vec::new();
    for part in outside_braces(expression, ',') {
        for shard in alternatives(part)? {
            shards.push(replicas(&shard).iter().map(|text| address(text, default_port)).collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(shards)
}

/// The pieces between separators that stand in no braces.
fn outside_braces(text: &str, separator: char) -> Vec<&str> {
    let (mut pieces, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if letter == separator && depth == 0 => {
                pieces.push(&text[from..at]);
                from = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[from..]);
    pieces
}

/// The replicas of a shard: `a|b`, or `h-{1|2}:9000`.
fn replicas(shard: &str) -> Vec<String> {
    let in_braces = shard.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.rsplit_once('}')?;
        Some(inside.split('|').map(|choice| format!("{before}{choice}{after}")).collect())
    });
    in_braces.unwrap_or_else(|| shard.split('|').map(str::to_owned).collect())
}

fn address(text: &str, default_port: u16) -> Result<Address> {
    let text = text.trim();
    let bad =
        || Error::new(ErrorCode::BAD_ARGUMENTS, format!("'{text}' is not the address of a server: host or host:port"));
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
            (host, rest.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (host, Some(port)),
            _ => (text, None),
        },
    };
    if host.is_empty() {
        return Err(bad());
    }
    let port = port.map_or(Ok(default_port), |port| port.parse().map_err(|_| bad()))?;
    Ok(Address { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(expression: &str) -> Vec<Vec<String>> {
        let shards = shards(expression, 9000).unwrap();
        shards.iter().map(|replicas| replicas.iter().map(ToString::to_string).collect()).collect()
    }

    #[test]
    fn expressions_mean_shards_and_replicas() {
        assert_eq!(of("h"), [["h:9000"]]);
        assert_eq!(of("h:1,[::1]:2, g"), [["h:1"], ["[::1]:2"], ["g:9000"]]);
        assert_eq!(of("h{1..2}:7"), [["h1:7"], ["h2:7"]]);
        assert_eq!(of("h{a,b}-x"), [["ha-x:9000"], ["hb-x:9000"]]);
        assert_eq!(of("a|b:3,c"), [vec!["a:9000", "b:3"], vec!["c:9000"]]);
        assert_eq!(of("h-{1|2}:7"), [["h-1:7", "h-2:7"]]);
        assert_eq!(of("::1"), [["[::1]:9000"]]);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in ["", "a,", "h:x", "h:70000", "[::1"] {
            assert_eq!(shards(bad, 9000).unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{bad}");
        }
    }
}
