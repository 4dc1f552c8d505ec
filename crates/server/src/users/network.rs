//! From where a user may come: addresses, masks and host names of `networks`.

use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};

/// A set of addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Networks {
    ranges: Vec<Range>,
    hosts: Vec<String>,
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
        Self { ranges: vec![Range { address: 0, mask: 0 }], hosts: Vec::new() }
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
        self.hosts.iter().any(|host| match host.as_str() {
            "localhost" => address.to_canonical().is_loopback(),
            host => (host, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|found| number(found.ip()) == wanted)),
        })
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
    fn localhost_is_both_loopbacks() {
        let mut networks = Networks::default();
        networks.add_host("localhost");
        for (address, inside) in [("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false)] {
            assert_eq!(networks.contains(address.parse().unwrap()), inside, "{address}");
        }
    }
}
