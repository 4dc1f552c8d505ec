//! IP addresses as text, as numbers and in networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{FixedSizeBinaryArray, UInt32Array};
use arrow_buffer::NullBuffer;
use squall_types::text::append_ipv4;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Numbers, Strings, integers, primitive_column, string_column};

fn parse<A: std::str::FromStr>(text: &[u8]) -> Option<A> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn bad(version: u8, text: &[u8]) -> Error {
    let code = if version == 4 { ErrorCode::CANNOT_PARSE_IPV4 } else { ErrorCode::CANNOT_PARSE_IPV6 };
    Error::new(code, format!("Invalid IPv{version} value '{}'", String::from_utf8_lossy(text)))
}

pub(super) fn resolve_v4_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| data_type.is_integer() || *data_type == DataType::IPv4)?;
    let class_c = call.name.ends_with("ClassC");
    call.bind(DataType::String, move |arguments, rows| {
        let numbers = integers(arguments, 0, rows)?;
        string_column(rows, rows * 13, |out, row| {
            append_ipv4(out, numbers[row] as u32);
            if class_c {
                let last = out.iter().rposition(|byte| *byte == b'.').map_or(0, |dot| dot + 1);
                out.truncate(last);
                out.extend_from_slice(b"xxx");
            }
            Ok(())
        })
    })
}

/// What is done with a text that is no address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Otherwise {
    Fail,
    Default,
    Null,
}

impl Otherwise {
    fn of(name: &str) -> Self {
        match name {
            name if name.ends_with("OrDefault") => Self::Default,
            name if name.ends_with("OrNull") => Self::Null,
            _ => Self::Fail,
        }
    }
}

pub(super) fn resolve_v4_number(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let otherwise = Otherwise::of(call.name);
    let return_type = if otherwise == Otherwise::Null { DataType::UInt32.to_nullable() } else { DataType::UInt32 };
    call.bind(return_type.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut numbers = Vec::with_capacity(rows);
        for row in 0..rows {
            let address: Option<Ipv4Addr> = parse(texts.get(row));
            if address.is_none() && otherwise == Otherwise::Fail {
                return Err(bad(4, texts.get(row)));
            }
            numbers.push(address.map(u32::from));
        }
        Ok(match otherwise {
            Otherwise::Null => Column::new(return_type.clone(), Arc::new(UInt32Array::from(numbers))),
            _ => {
                let numbers = numbers.into_iter().map(Option::unwrap_or_default).collect();
                Column::from_primitive::<UInt32Type>(DataType::UInt32, numbers)
            }
        })
    })
}

pub(super) fn resolve_v6_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| matches!(data_type, DataType::FixedString(16) | DataType::IPv6))?;
    call.bind(DataType::String, |arguments, rows| {
        let values = Strings::of(arguments, 0)?;
        string_column(rows, rows * 24, |out, row| {
            let octets: [u8; 16] = values.get(row).try_into().unwrap_or_default();
            out.extend_from_slice(Ipv6Addr::from(octets).to_string().as_bytes());
            Ok(())
        })
    })
}

/// The octets of an IPv6 address, or of an IPv4 address as one.
fn octets(text: &[u8]) -> Option<[u8; 16]> {
    Some(match parse(text)? {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    })
}

pub(super) fn resolve_v6_number(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let otherwise = Otherwise::of(call.name);
    let plain = DataType::FixedString(16);
    let return_type = if otherwise == Otherwise::Null { plain.to_nullable() } else { plain };
    call.bind(return_type.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut bytes = Vec::with_capacity(rows * 16);
        let mut valid = Vec::with_capacity(rows);
        for row in 0..rows {
            let address = octets(texts.get(row));
            if address.is_none() && otherwise == Otherwise::Fail {
                return Err(bad(6, texts.get(row)));
            }
            valid.push(address.is_some());
            bytes.extend(address.unwrap_or_default());
        }
        let nulls = (otherwise == Otherwise::Null).then(|| NullBuffer::from(valid));
        Ok(Column::new(return_type.clone(), Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), nulls)?)))
    })
}

pub(super) fn resolve_v4_to_v6(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| matches!(data_type, DataType::UInt32 | DataType::IPv4))?;
    call.bind(DataType::IPv6, |arguments, rows| {
        let numbers = Numbers::<UInt32Type>::of(arguments, 0)?;
        let bytes: Vec<u8> =
            (0..rows).flat_map(|row| Ipv4Addr::from(numbers.get(row)).to_ipv6_mapped().octets()).collect();
        Ok(Column::new(DataType::IPv6, Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?)))
    })
}

pub(super) fn resolve_is_address(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let version4 = call.name == "isIPv4String";
    call.bind(DataType::UInt8, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let is_address = |row| match version4 {
            true => parse::<Ipv4Addr>(texts.get(row)).is_some(),
            false => parse::<Ipv6Addr>(texts.get(row)).is_some(),
        };
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(is_address(row))))
    })
}

/// `isIPAddressInRange(address, 'network/bits')`.
pub(super) fn resolve_in_range(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let (addresses, networks) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let mut flags = Vec::with_capacity(rows);
        for row in 0..rows {
            let (text, network) = (addresses.get(row), networks.get(row));
            let address: IpAddr = parse(text).ok_or_else(|| {
                Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Neither IPv4 nor IPv6 address: '{}'", String::from_utf8_lossy(text)),
                )
            })?;
            flags.push(u8::from(is_in_network(address, network)?));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, flags))
    })
}

fn is_in_network(address: IpAddr, network: &[u8]) -> Result<bool> {
    let wrong = || {
        Error::new(
            ErrorCode::CANNOT_PARSE_TEXT,
            format!("The text does not contain a network: '{}'", String::from_utf8_lossy(network)),
        )
    };
    let slash = network.iter().position(|&byte| byte == b'/').ok_or_else(wrong)?;
    let base: IpAddr = parse(&network[..slash]).ok_or_else(wrong)?;
    let bits: u32 = parse(&network[slash + 1..]).ok_or_else(wrong)?;
    let width = if base.is_ipv4() { 32 } else { 128 };
    if bits > width {
        return Err(wrong());
    }
    // Addresses of 32 bits are compared in the upper bits of 128.
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    };
    let same_version = address.is_ipv4() == base.is_ipv4();
    let difference = number(address) ^ number(base);
    Ok(same_version && (bits == 0 || difference >> (128 - bits) == 0))
}

/// `IPv4CIDRToRange(address, bits)`, `IPv6CIDRToRange(address, bits)`: the first and the last address of a network.
pub(super) fn resolve_range(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.integers([1])?;
    let is_v4 = *call.type_of(0) == DataType::IPv4;
    if !is_v4 && *call.type_of(0) != DataType::IPv6 || is_v4 != call.name.contains('4') {
        return Err(call.illegal(0));
    }
    let address = call.type_of(0).clone();
    let result = DataType::tuple([address.clone(), address.clone()]);
    let width = if is_v4 { 32 } else { 128 };
    call.bind(result.clone(), move |arguments, rows| {
        let bits = integers(arguments, 1, rows)?;
        let host_mask = |row: usize| {
            let host = width - u32::try_from(bits[row]).unwrap_or(width).min(width);
            if host == 128 { u128::MAX } else { (1_u128 << host) - 1 }
        };
        if is_v4 {
            let addresses = Numbers::<UInt32Type>::of(arguments, 0)?;
            let first = (0..rows).map(|row| addresses.get(row) & !(host_mask(row) as u32)).collect();
            let last = (0..rows).map(|row| addresses.get(row) | host_mask(row) as u32).collect();
            let columns = [first, last].map(|values| Column::from_primitive::<UInt32Type>(address.clone(), values));
            return crate::scalar::tuple::from_elements(&result, &columns, rows);
        }
        let addresses = Strings::of(arguments, 0)?;
        let (mut first, mut last) = (Vec::with_capacity(16 * rows), Vec::with_capacity(16 * rows));
        for row in 0..rows {
            let bits = u128::from_be_bytes(addresses.get(row).try_into().unwrap_or_default());
            first.extend_from_slice(&(bits & !host_mask(row)).to_be_bytes());
            last.extend_from_slice(&(bits | host_mask(row)).to_be_bytes());
        }
        let column = |bytes: Vec<u8>| -> Result<Column> {
            Ok(Column::new(address.clone(), Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?)))
        };
        crate::scalar::tuple::from_elements(&result, &[column(first)?, column(last)?], rows)
    })
}

/// `cutIPv6(address, bytes, bytes of an IPv4 in it)`: so many bytes at the end as zeros, as text.
pub(super) fn resolve_cut(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    if !matches!(call.type_of(0), DataType::FixedString(16) | DataType::IPv6) {
        return Err(call.illegal(0));
    }
    call.integers([1, 2])?;
    call.bind(DataType::String, |arguments, rows| {
        let addresses = Strings::of(arguments, 0)?;
        let (cut, cut_mapped) = (integers(arguments, 1, rows)?, integers(arguments, 2, rows)?);
        string_column(rows, rows * 24, |out, row| {
            let mut bytes: [u8; 16] = addresses.get(row).try_into().unwrap_or_default();
            let is_mapped = Ipv6Addr::from(bytes).to_ipv4_mapped().is_some();
            let count = if is_mapped { cut_mapped[row] } else { cut[row] };
            let count = usize::try_from(count).unwrap_or(0).min(16);
            bytes[16 - count..].fill(0);
            out.extend_from_slice(Ipv6Addr::from(bytes).to_string().as_bytes());
            Ok(())
        })
    })
}

/// `MACNumToString(number)`.
pub(super) fn resolve_mac_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    if *call.type_of(0) != DataType::UInt64 {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {} of argument of function {}, expected UInt64", call.type_of(0), call.name),
        ));
    }
    call.bind(DataType::String, |arguments, rows| {
        let numbers = Numbers::<UInt64Type>::of(arguments, 0)?;
        string_column(rows, rows * 17, |out, row| {
            let [_, _, bytes @ ..] = numbers.get(row).to_be_bytes();
            let text = bytes.map(|byte| format!("{byte:02X}")).join(":");
            out.extend_from_slice(text.as_bytes());
            Ok(())
        })
    })
}

/// `MACStringToNum(text)`, `MACStringToOUI(text)`: 0 for what is no address.
pub(super) fn resolve_mac_number(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    // The first three bytes are the maker's.
    let bytes = if call.name == "MACStringToOUI" { 3 } else { 6 };
    call.bind(DataType::UInt64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let number = |row| {
            let text = texts.get(row);
            let parts: Vec<&[u8]> = text.split(|byte| *byte == b':').collect();
            let is_whole = parts.len() == 6 && parts.iter().all(|part| part.len() == 2);
            if !is_whole && (bytes == 6 || parts.len() < 3) {
                return 0;
            }
            let number = parts.iter().take(bytes).try_fold(0_u64, |number, part| {
                let byte = u8::from_str_radix(std::str::from_utf8(part).ok()?, 16).ok()?;
                Some(number << 8 | u64::from(byte))
            });
            number.unwrap_or(0)
        };
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, number))
    })
}
