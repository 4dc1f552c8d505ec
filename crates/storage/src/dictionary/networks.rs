//! Rows by networks: of those that an address lies in, the one with the longest prefix is found. IPv4 addresses are those of
//! `::ffff:0.0.0.0/96`.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use squall_functions::MISSING;
use squall_types::{Column, Error, ErrorCode, Result};

/// Networks by the lengths of their prefixes.
#[derive(Debug)]
pub(super) struct NetworkIndex {
    /// The longest prefixes first.
    lengths: Vec<(u32, HashMap<u128, u32, foldhash::fast::FixedState>)>,
}

impl NetworkIndex {
    /// An index of the networks of a column of text: `10.0.0.0/8`, `2001:db8::/32`, or an address alone. Of several rows of a network the
    /// first counts.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` for what is no network.
    pub fn new(column: &Column) -> Result<Self> {
        let texts = column.as_binary()?;
        let mut lengths: BTreeMap<u32, HashMap<u128, u32, foldhash::fast::FixedState>> = BTreeMap::new();
        for row in 0..texts.len() {
            let (address, length) = parse(&String::from_utf8_lossy(texts.value(row)))?;
            lengths.entry(length).or_default().entry(masked(address, length)).or_insert(row as u32);
        }
        Ok(Self { lengths: lengths.into_iter().rev().collect() })
    }

    /// The row of the narrowest network of each address.
    pub fn find(&self, addresses: &Column) -> Vec<u32> {
        let addresses = addresses.array().as_fixed_size_binary();
        let find = |bytes: &[u8]| {
            let address = <[u8; 16]>::try_from(bytes).map_or(0, u128::from_be_bytes);
            let mut rows = self.lengths.iter().filter_map(|(length, rows)| rows.get(&masked(address, *length)));
            rows.next().copied().unwrap_or(MISSING)
        };
        addresses.iter().map(|bytes| bytes.map_or(MISSING, find)).collect()
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.lengths.iter().map(|(_, rows)| rows.capacity() * (size_of::<(u128, u32)>() + 1)).sum()
    }
}

/// Networks as ClickHouse shows them: the address with the prefix's length, the rest of it zeros; in IPv6's form where any of them is
/// IPv6's.
///
/// # Errors
/// `CANNOT_PARSE_TEXT` for what is no network.
pub(super) fn shown(column: &Column) -> Result<Column> {
    let texts = column.as_binary()?;
    let networks = (0..texts.len()).map(|row| parse(&String::from_utf8_lossy(texts.value(row))));
    let networks = networks.collect::<Result<Vec<_>>>()?;
    let is_v4 = |(address, length): &(u128, u32)| *length >= 96 && address >> 32 == 0xFFFF;
    let all_v4 = networks.iter().all(is_v4);
    let shown = |(address, length): &(u128, u32)| {
        let masked = masked(*address, *length);
        if all_v4 {
            return format!("{}/{}", Ipv4Addr::from(masked as u32), length - 96);
        }
        format!("{}/{length}", Ipv6Addr::from(masked))
    };
    Ok(Column::from_strings(networks.iter().map(shown)))
}

fn parse(text: &str) -> Result<(u128, u32)> {
    let wrong = || Error::new(ErrorCode::CANNOT_PARSE_TEXT, format!("'{text}' is no network of a dictionary"));
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u32>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let (address, most, before) = match address.parse::<IpAddr>().map_err(|_| wrong())? {
        IpAddr::V4(address) => (Ipv4Addr::to_ipv6_mapped(&address), 32, 96),
        IpAddr::V6(address) => (address, 128, 0),
    };
    let length = length.unwrap_or(most);
    if length > most {
        return Err(wrong());
    }
    Ok((u128::from(address), before + length))
}

fn masked(address: u128, length: u32) -> u128 {
    address & u128::MAX.checked_shl(128 - length).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_network_of_an_address_is_found() {
        let column =
            Column::from_strings(["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32", "1.2.3.4", "10.1.2.3/16"]);
        let index = NetworkIndex::new(&column).unwrap();
        let addresses: Vec<[u8; 16]> =
            ["::ffff:10.1.2.3", "::ffff:10.2.0.1", "::ffff:9.9.9.9", "::ffff:1.2.3.4", "2001:db8::5", "::1"]
                .map(|address| address.parse::<Ipv6Addr>().unwrap().octets())
                .to_vec();
        let array = arrow_array::FixedSizeBinaryArray::try_from_iter(addresses.iter()).unwrap();
        let column = Column::new(squall_types::DataType::IPv6, std::sync::Arc::new(array));
        assert_eq!(index.find(&column), [2, 1, 0, 4, 3, MISSING]);
        let text =
            |texts: &[&str]| shown(&Column::from_strings(texts)).unwrap().value(0).as_str().unwrap_or("").to_owned();
        assert_eq!(text(&["10.1.2.3/16", "::/0"]), "::ffff:10.1.0.0/112");
        assert_eq!(text(&["10.1.2.3/16", "1.2.3.4"]), "10.1.0.0/16");
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "x"] {
            assert_eq!(
                NetworkIndex::new(&Column::from_strings([wrong])).unwrap_err().code,
                ErrorCode::CANNOT_PARSE_TEXT,
                "{wrong}"
            );
        }
    }
}
