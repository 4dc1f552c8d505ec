//! Which of the addresses that a host's name stands for may be asked: any, or only those of the outside world, neither this machine's nor
//! its neighbours'.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the addresses that a host's name stands for are to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Any: the configuration names the host, or it is the operator who asks.
    Anywhere,
    /// Only those of the outside world.
    Public,
}

impl Reach {
    /// Whether an address may be asked.
    pub fn admits(self, address: IpAddr) -> bool {
        self == Self::Anywhere || is_public(address)
    }
}

/// Whether an address is of the outside world.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || address.is_documentation()
        || first == 0
        // Carriers' own, benchmarks', IETF's, and reserved ones.
        || first == 100 && (64..128).contains(&second)
        || first == 198 && (18..20).contains(&second)
        || first == 192 && address.octets()[1..3] == [0, 0]
        || first >= 240)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // An IPv4 address may be within one of IPv6: NAT64 and 6to4.
    let embedded = match (first, second) {
        (0x64, 0xff9b) => {
            Some([address.octets()[12], address.octets()[13], address.octets()[14], address.octets()[15]])
        }
        (0x2002, _) => Some([address.octets()[2], address.octets()[3], address.octets()[4], address.octets()[5]]),
        _ => None,
    };
    if let Some(embedded) = embedded {
        return is_public_v4(embedded.into());
    }
    !(address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80
        || first & 0xffc0 == 0xfec0
        || address.segments()[..6] == [0; 6])
}
