//! From where a user may come: addresses, masks and host names of `networks`.

use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};

use regex::Regex;
use squall_sql::ast::AllowedHost;
use squall_types::{Error, ErrorCode, Result};

/// A set of addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Networks {
    ranges: Vec<Range>,
    hosts: Vec<String>,
    /// Regular expressions of hosts; an address of this machine is `localhost`, any other stands for itself.
    regexps: Vec<String>,
    /// The same as patterns of LIKE.
    patterns: Vec<String>,
}

/// An address and the bits of it that count; IPv4 is mapped into IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    address: u128,
    mask: u128,
}

impl Networks {
    /// Every address.
    pub fn any() -> Self {
        Self { ranges: vec![Range { address: 0, mask: 0 }], ..Self::default() }
    }

    /// What `HOST …` says.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where something is no address or no regular expression.
    pub fn of_sql(hosts: &[AllowedHost]) -> Result<Self> {
        let bad = |what: &str, kind: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("'{what}' is not {kind}"));
        let mut networks = Self::default();
        for host in hosts {
            match host {
                AllowedHost::Any => networks.add(&Self::any()),
                AllowedHost::None => {}
                AllowedHost::Local => networks.add_host("localhost"),
                AllowedHost::Name(name) => networks.add_host(name),
                AllowedHost::Ip(address) if networks.add_ip(address) => {}
                AllowedHost::Ip(address) => return Err(bad(address, "an address or a network")),
                AllowedHost::Regexp(pattern) if networks.add_regexp(pattern) => {}
                AllowedHost::Regexp(pattern) => return Err(bad(pattern, "a regular expression")),
                // As ClickHouse has it: `%` alone is everywhere.
                AllowedHost::Like(pattern) if pattern == "%" => networks.add(&Self::any()),
                AllowedHost::Like(pattern) => networks.patterns.push(pattern.clone()),
            }
        }
        Ok(networks)
    }

    /// The same as SQL; none where it is every address.
    pub fn to_sql(&self) -> Option<Vec<AllowedHost>> {
        if *self == Self::any() {
            return None;
        }
        let mut hosts = Vec::new();
        hosts.extend(self.hosts.iter().filter(|host| *host == "localhost").map(|_| AllowedHost::Local));
        hosts.extend(self.texts().into_iter().map(AllowedHost::Ip));
        hosts.extend(self.hosts.iter().filter(|host| *host != "localhost").cloned().map(AllowedHost::Name));
        hosts.extend(self.regexps.iter().cloned().map(AllowedHost::Regexp));
        hosts.extend(self.patterns.iter().cloned().map(AllowedHost::Like));
        if hosts.is_empty() {
            hosts.push(AllowedHost::None);
        }
        Some(hosts)
    }

    /// Adds what another set has.
    pub fn add(&mut self, other: &Self) {
        self.ranges
            .extend(other.ranges.iter().filter(|range| !self.ranges.contains(range)).copied().collect::<Vec<_>>());
        for (own, others) in self.names_mut().into_iter().zip(other.names()) {
            own.extend(others.iter().filter(|name| !own.contains(name)).cloned().collect::<Vec<_>>());
        }
    }

    /// Takes away what another set has.
    pub fn remove(&mut self, other: &Self) {
        self.ranges.retain(|range| !other.ranges.contains(range));
        for (own, others) in self.names_mut().into_iter().zip(other.names()) {
            own.retain(|name| !others.contains(name));
        }
    }

    fn names(&self) -> [&Vec<String>; 3] {
        [&self.hosts, &self.regexps, &self.patterns]
    }

    fn names_mut(&mut self) -> [&mut Vec<String>; 3] {
        [&mut self.hosts, &mut self.regexps, &mut self.patterns]
    }

    /// Adds a regular expression of hosts' names; whether it is one.
    #[must_use]
    pub(super) fn add_regexp(&mut self, pattern: &str) -> bool {
        let is_one = Regex::new(&whole(pattern)).is_ok();
        if is_one {
            self.regexps.push(pattern.to_owned());
        }
        is_one
    }

    /// Adds `10.0.0.1`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `::1`, `2a02::/64` or `2a02::/ffff::`; whether it is one of these.
    #[must_use]
    pub(super) fn add_ip(&mut self, text: &str) -> bool {
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let Ok(address) = address.trim().parse::<IpAddr>() else { return false };
        // The bits of an IPv4 address are the last 32 of 128.
        let offset = if address.is_ipv4() { 96 } else { 0 };
        let mask = match mask.map(str::trim) {
            None => u128::MAX,
            Some(mask) => match (mask.parse::<u32>(), mask.parse::<IpAddr>()) {
                (Ok(bits), _) if bits + offset <= 128 => u128::MAX.checked_shl(128 - (bits + offset)).unwrap_or(0),
                (_, Ok(IpAddr::V4(mask))) if address.is_ipv4() => u128::from(u32::from(mask)) | !u128::from(u32::MAX),
                (_, Ok(IpAddr::V6(mask))) if address.is_ipv6() => u128::from(mask),
                _ => return false,
            },
        };
        self.ranges.push(Range { address: number(address) & mask, mask });
        true
    }

    /// Adds a host by name. It is looked up when an address is checked that no range holds.
    pub(super) fn add_host(&mut self, name: &str) {
        self.hosts.push(name.to_owned());
    }

    /// Whether an address is in the set. Blocks only where host names other than `localhost` must be looked up.
    pub fn contains(&self, address: IpAddr) -> bool {
        let wanted = number(address);
        if self.ranges.iter().any(|range| wanted & range.mask == range.address) {
            return true;
        }
        let address = address.to_canonical();
        let is_host = self.hosts.iter().any(|host| match host.as_str() {
            "localhost" => address.is_loopback(),
            host => (host, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|found| number(found.ip()) == wanted)),
        });
        if is_host || self.regexps.is_empty() && self.patterns.is_empty() {
            return is_host;
        }
        let names = [Some(address.to_string()), address.is_loopback().then(|| "localhost".to_owned())];
        let matches = |pattern: &str| {
            Regex::new(&whole(pattern)).is_ok_and(|regex| names.iter().flatten().any(|name| regex.is_match(name)))
        };
        self.regexps.iter().any(|pattern| matches(pattern))
            || self.patterns.iter().any(|pattern| matches(&regex_of_like(pattern)))
    }

    /// The addresses as `system.users` shows them.
    pub fn texts(&self) -> Vec<String> {
        self.ranges
            .iter()
            .map(|range| {
                let address = Ipv6Addr::from(range.address);
                match (address.to_ipv4_mapped(), range.mask.leading_ones()) {
                    (Some(address), bits @ 96..) => format!("{address}/{}", bits - 96),
                    (_, bits) => format!("{address}/{bits}"),
                }
            })
            .collect()
    }

    /// The host names as `system.users` shows them.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Regular expressions of hosts.
    pub fn regexps(&self) -> &[String] {
        &self.regexps
    }

    /// Patterns of hosts.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// A regular expression that a whole name must match.
fn whole(pattern: &str) -> String {
    format!("^(?:{pattern})$")
}

fn regex_of_like(pattern: &str) -> String {
    let letters = pattern.chars().map(|letter| match letter {
        '%' => ".*".to_owned(),
        '_' => ".".to_owned(),
        letter => regex::escape(&letter.to_string()),
    });
    letters.collect()
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        IpAddr::V6(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_their_addresses() {
        for (range, inside, outside) in [
            ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
            ("10.0.0.0/8", "10.200.3.4", "11.0.0.1"),
            ("10.0.0.0/255.255.0.0", "10.0.9.9", "10.1.0.0"),
            ("127.0.0.1", "::ffff:127.0.0.1", "::1"),
            ("::1", "::1", "127.0.0.1"),
            ("2a02:6b8::/32", "2a02:6b8:1::5", "2a03::1"),
            ("2a02:6b8::3/ffff:ffff:ffff:ffff::", "2a02:6b8::77", "2a02:6b8:0:1::3"),
        ] {
            let mut networks = Networks::default();
            assert!(networks.add_ip(range), "{range}");
            assert!(networks.contains(inside.parse().unwrap()), "{range} {inside}");
            assert!(!networks.contains(outside.parse().unwrap()), "{range} {outside}");
        }
        let mut networks = Networks::default();
        assert!(networks.add_ip("::/0"));
        assert!(networks.contains("1.2.3.4".parse().unwrap()) && networks.contains("fe80::1".parse().unwrap()));
        for bad in ["", "10.0.0", "10.0.0.1/33", "::1/129", "10.0.0.1/x", "host"] {
            assert!(!Networks::default().add_ip(bad), "{bad}");
        }
    }

    #[test]
    fn sql_says_the_same() {
        let hosts = vec![
            AllowedHost::Local,
            AllowedHost::Ip("10.0.0.0/8".to_owned()),
            AllowedHost::Regexp("192\\.168\\..*".to_owned()),
            AllowedHost::Like("172.16.%".to_owned()),
        ];
        let mut networks = Networks::of_sql(&hosts).unwrap();
        assert_eq!(networks.to_sql(), Some(hosts));
        for (address, is_in) in [
            ("127.0.0.1", true),
            ("10.1.1.1", true),
            ("192.168.7.7", true),
            ("172.16.0.9", true),
            ("172.17.0.9", false),
        ] {
            assert_eq!(networks.contains(address.parse().unwrap()), is_in, "{address}");
        }
        networks.remove(&Networks::of_sql(&[AllowedHost::Local]).unwrap());
        assert!(!networks.contains("127.0.0.1".parse().unwrap()));
        assert_eq!(Networks::any().to_sql(), None);
        assert_eq!(Networks::of_sql(&[AllowedHost::None]).unwrap().to_sql(), Some(vec![AllowedHost::None]));
        assert!(Networks::of_sql(&[AllowedHost::Regexp("(".to_owned())]).is_err());
    }

    #[test]
    fn localhost_is_both_loopbacks() {
        let mut networks = Networks::default();
        networks.add_host("localhost");
        for (address, inside) in [("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false)] {
            assert_eq!(networks.contains(address.parse().unwrap()), inside, "{address}");
        }
    }
}
