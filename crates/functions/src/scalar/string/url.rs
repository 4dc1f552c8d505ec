//! Parts of URLs. Nothing is checked against a standard: what looks like the part is the part, and a string that has none gives an
//! empty string.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::UInt16Type;
use squall_types::cast::{CastOptions, cast};
use squall_types::{DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Numbers, Strings, primitive_column, string_column};

use super::list::list_column;
use crate::scalar::array::Lists;

/// Functions from a URL to a string.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let append: fn(&mut Vec<u8>, &[u8]) = match call.name {
        "protocol" => |out, url| out.extend_from_slice(protocol(url)),
        "domain" => |out, url| out.extend_from_slice(domain(url)),
        "domainWithoutWWW" => |out, url| out.extend_from_slice(without_www(domain(url))),
        "topLevelDomain" => |out, url| out.extend_from_slice(top_level_domain(domain(url))),
        "firstSignificantSubdomain" => |out, url| out.extend_from_slice(first_significant(domain(url)).0),
        "cutToFirstSignificantSubdomain" => |out, url| out.extend_from_slice(first_significant(domain(url)).1),
        "domainRFC" => |out, url| out.extend_from_slice(domain_rfc(url)),
        "domainWithoutWWWRFC" => |out, url| out.extend_from_slice(without_www(domain_rfc(url))),
        "topLevelDomainRFC" => |out, url| out.extend_from_slice(top_level_domain(domain_rfc(url))),
        "firstSignificantSubdomainRFC" => |out, url| out.extend_from_slice(first_significant(domain_rfc(url)).0),
        "cutToFirstSignificantSubdomainRFC" => |out, url| out.extend_from_slice(first_significant(domain_rfc(url)).1),
        "cutToFirstSignificantSubdomainWithWWW" => |out, url| out.extend_from_slice(significant(domain(url)).1),
        "cutToFirstSignificantSubdomainWithWWWRFC" => |out, url| out.extend_from_slice(significant(domain_rfc(url)).1),
        "netloc" => |out, url| out.extend_from_slice(netloc(url)),
        "path" => |out, url| out.extend_from_slice(until(path_full(url), b"?#")),
        "pathFull" => |out, url| out.extend_from_slice(path_full(url)),
        "queryString" => |out, url| out.extend_from_slice(until(after(url, b'?'), b"#")),
        "fragment" => |out, url| out.extend_from_slice(after(url, b'#')),
        "queryStringAndFragment" => |out, url| {
            let start = query_or_fragment(url);
            out.extend_from_slice(&url[if url.get(start) == Some(&b'?') { start + 1 } else { start }..]);
        },
        "cutQueryString" => |out, url| {
            let start = url.len() - after(url, b'?').len();
            match url[..start].strip_suffix(b"?") {
                Some(before) => {
                    out.extend_from_slice(before);
                    let rest = &url[start..];
                    out.extend_from_slice(&rest[until(rest, b"#").len()..]);
                }
                None => out.extend_from_slice(url),
            }
        },
        "cutFragment" => |out, url| out.extend_from_slice(until(url, b"#")),
        "cutQueryStringAndFragment" => |out, url| out.extend_from_slice(&url[..query_or_fragment(url)]),
        "cutWWW" => |out, url| {
            let host = authority(url);
            let cut = without_www(host);
            match offset_in(url, host) {
                Some(start) if cut.len() < host.len() && after_scheme(url).is_some() => {
                    out.extend_from_slice(&url[..start]);
                    out.extend_from_slice(&url[start + host.len() - cut.len()..]);
                }
                _ => out.extend_from_slice(url),
            }
        },
        "decodeURLComponent" => |out, url| decode(out, url, false),
        "decodeURLFormComponent" => |out, url| decode(out, url, true),
        "encodeURLComponent" => |out, url| encode(out, url, false),
        _ => |out, url| encode(out, url, true),
    };
    call.bind(DataType::String, move |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        string_column(rows, urls.bytes(rows) / 2, |out, row| {
            append(out, urls.get(row));
            Ok(())
        })
    })
}

/// Where a part of a string begins in it.
fn offset_in(whole: &[u8], part: &[u8]) -> Option<usize> {
    (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize).filter(|offset| offset + part.len() <= whole.len())
}

fn until<'a>(bytes: &'a [u8], ends: &[u8]) -> &'a [u8] {
    &bytes[..bytes.iter().position(|byte| ends.contains(byte)).unwrap_or(bytes.len())]
}

fn after(bytes: &[u8], mark: u8) -> &[u8] {
    bytes.iter().position(|&byte| byte == mark).map_or(&[], |at| &bytes[at + 1..])
}

/// Where the query string begins, or the fragment where there is no query string.
fn query_or_fragment(url: &[u8]) -> usize {
    let position = |mark: u8| url.iter().position(|&byte| byte == mark);
    position(b'?').or_else(|| position(b'#')).unwrap_or(url.len())
}

fn is_scheme(bytes: &[u8]) -> bool {
    matches!(bytes, [first, rest @ ..] if first.is_ascii_alphabetic()
        && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')))
}

fn protocol(url: &[u8]) -> &[u8] {
    match url.iter().position(|&byte| byte == b':') {
        Some(at) if is_scheme(&url[..at]) && url[at..].starts_with(b"://") => &url[..at],
        _ => &[],
    }
}

/// What follows `scheme://` or `//`; `None` where there is neither.
fn after_scheme(url: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = url.strip_prefix(b"//") {
        return Some(rest);
    }
    let scheme = protocol(url);
    if scheme.is_empty() { None } else { url.get(scheme.len() + 3..) }
}

/// The host: only of bytes that hosts have, and with a dot.
pub(super) fn domain(url: &[u8]) -> &[u8] {
    let rest = after_scheme(url).unwrap_or(url);
    let mut start = 0;
    let mut dot = None;
    let mut end = rest.len();
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            b'.' => dot = Some(at),
            b':' | b'/' | b'?' | b'#' => {
                end = at;
                break;
            }
            b'@' => start = at + 1,
            b' ' | b'\t' | b'<' | b'>' | b'%' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'~' | b'[' | b']' | b';'
            | b'=' | b'&' => {
                return &[];
            }
            _ => {}
        }
    }
    match dot {
        Some(dot) if dot + 1 != end => &rest[start..end],
        _ => &[],
    }
}

/// The host as RFC 3986 has it: behind the last `@` of the authority, whatever stands before it.
pub(super) fn domain_rfc(url: &[u8]) -> &[u8] {
    let authority = authority(url);
    let host = &authority[authority.iter().rposition(|&byte| byte == b'@').map_or(0, |at| at + 1)..];
    let host = until(host, b":");
    let dot = host.iter().rposition(|&byte| byte == b'.');
    if dot.is_some_and(|dot| dot + 1 != host.len()) { host } else { &[] }
}

/// Where the authority is, whatever is in it.
fn authority(url: &[u8]) -> &[u8] {
    let rest = after_scheme(url).unwrap_or(url);
    until(rest, b"/?#")
}

/// The authority up to what no host may have; nothing where that stands among the letters that a scheme would be of.
fn netloc(url: &[u8]) -> &[u8] {
    const SCHEME_BYTES: usize = 16;
    let ends = |byte: u8| b" \t<>%{}|\\^~[];=&".contains(&byte);
    let rest = match url.strip_prefix(b"//") {
        Some(rest) => rest,
        None => {
            let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b".-+".contains(byte);
            let scheme = url.iter().take(SCHEME_BYTES).skip(1).take_while(|byte| is_of_scheme(byte)).count() + 1;
            match url.get(scheme) {
                Some(&byte) if scheme < SCHEME_BYTES && ends(byte) => return &[],
                _ => url.get(scheme..).and_then(|rest| rest.strip_prefix(b"://")).unwrap_or(url),
            }
        }
    };
    // Before an `@` there may be slashes and question marks.
    let mut has_identification = false;
    let mut end = rest.len();
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            b'/' | b'?' if has_identification => return &rest[..at],
            b'/' | b'?' => end = end.min(at),
            b'#' => return &rest[..if has_identification { at } else { end.min(at) }],
            b'@' => has_identification = true,
            _ if ends(byte) => return &rest[..end.min(at)],
            _ => {}
        }
    }
    if has_identification { rest } else { &rest[..end] }
}

pub(super) fn without_www(host: &[u8]) -> &[u8] {
    host.strip_prefix(b"www.").unwrap_or(host)
}

fn top_level_domain(host: &[u8]) -> &[u8] {
    // An address has none.
    if host.first().is_none_or(u8::is_ascii_digit) && host.last().is_none_or(u8::is_ascii_digit) {
        return &[];
    }
    host.iter().rposition(|&byte| byte == b'.').map_or(&[], |at| &host[at + 1..])
}

/// Whether a domain of two parts is shared by many owners, as `co.uk` is: the public suffix list has it by name. Where the list
/// says that all domains of a top level are, ClickHouse takes none of them.
fn is_shared(domain: &[u8], top_level: &[u8]) -> bool {
    let is_suffix = |domain: &[u8]| psl::suffix(domain).is_some_and(|suffix| suffix.as_bytes() == domain);
    is_suffix(domain) && !is_suffix(&[b"no-such-owner.".as_slice(), top_level].concat())
}

/// The first significant part of a host (`example` of `news.example.co.uk`) and the host from it on.
fn first_significant(host: &[u8]) -> (&[u8], &[u8]) {
    significant(without_www(host))
}

/// The same, where `www.` counts as any other part.
fn significant(host: &[u8]) -> (&[u8], &[u8]) {
    let dots: Vec<usize> = host.iter().enumerate().rev().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at).collect();
    let part_before = |at: usize, dot: Option<usize>| {
        let start = dot.map_or(0, |dot| dot + 1);
        (&host[start..at], &host[start..])
    };
    match dots[..] {
        [] => (host, host),
        [last] => (&host[..last], host),
        [last, second, ..] => {
            if is_shared(&host[second + 1..], &host[last + 1..]) {
                part_before(second, dots.get(2).copied())
            } else {
                part_before(last, Some(second))
            }
        }
    }
}

/// From the first slash behind the scheme on.
fn path_full(url: &[u8]) -> &[u8] {
    let rest = after_scheme(url).unwrap_or(url);
    rest.iter().position(|&byte| byte == b'/').map_or(&[], |at| &rest[at..])
}

fn decode(out: &mut Vec<u8>, bytes: &[u8], form: bool) {
    let hex = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) if form => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
}

fn encode(out: &mut Vec<u8>, bytes: &[u8], form: bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        match byte {
            b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' if form => out.push(b'+'),
            _ if byte.is_ascii_alphanumeric() => out.push(byte),
            _ => out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
        }
    }
}

pub(super) fn resolve_port(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.strings([0])?;
    call.each([1], |data_type| *data_type == DataType::UInt16)?;
    let is_rfc = call.name.ends_with("RFC");
    call.bind(DataType::UInt16, move |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        let defaults =
            if arguments.len() > 1 { Numbers::<UInt16Type>::of(arguments, 1)? } else { Numbers::Constant(0) };
        Ok(primitive_column::<UInt16Type>(DataType::UInt16, rows, |row| {
            let host = if is_rfc { domain_rfc(urls.get(row)) } else { domain(urls.get(row)) };
            let rest = offset_in(urls.get(row), host).map_or(&[][..], |start| &urls.get(row)[start + host.len()..]);
            let digits = rest.strip_prefix(b":").map_or(&[][..], |rest| until(rest, b"/?#"));
            let port = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u16>().ok());
            port.filter(|port| *port > 0 && !host.is_empty()).unwrap_or(defaults.get(row))
        }))
    })
}

/// What is between the marks behind the first `?` (or `#`): a parameter each, which may have more `?` before it and in it.
fn parameters(url: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = url.iter().position(|byte| matches!(byte, b'?' | b'#')).map_or(url.len(), |at| at + 1);
    url[start..].split(|byte| matches!(byte, b'&' | b'#')).filter(|parameter| !parameter.is_empty())
}

pub(super) fn resolve_parameters(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let only_names = call.name.ends_with("Names");
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        list_column(rows, |list, row| {
            let url = urls.get(row);
            for parameter in parameters(url) {
                // A name begins after the last `?` before it, and ends with a mark: the last parameter has none without `=`.
                let name = until(parameter, b"=");
                let name_start = name.iter().rposition(|byte| *byte == b'?').map_or(0, |at| at + 1);
                let (name, parameter) = (&name[name_start..], &parameter[name_start..]);
                let is_last = offset_in(url, parameter).is_some_and(|start| start + parameter.len() == url.len());
                if !is_last || name.len() < parameter.len() {
                    list.push(if only_names { name } else { parameter })?;
                }
            }
            Ok(())
        })
    })
}

/// The first parameter of a name, with its value.
fn parameter_of_name<'a>(url: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let starts = |parameter: &'a [u8]| {
        let inner = parameter.iter().enumerate().filter(|(_, byte)| **byte == b'?').map(|(at, _)| at + 1);
        std::iter::once(0).chain(inner).map(move |at| &parameter[at..])
    };
    let is_it = |found: &&[u8]| found.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="));
    parameters(url).flat_map(starts).find(is_it)
}

/// What goes with the first parameter of a name: the `&` behind it, or, of the last one, the `&` before it.
fn range_of_parameter(url: &[u8], name: &[u8]) -> Option<Range<usize>> {
    let parameter = parameter_of_name(url, name)?;
    let start = offset_in(url, parameter)?;
    let end = start + parameter.len();
    Some(match (url.get(end), url[..start].last()) {
        (Some(b'&'), _) => start..end + 1,
        (_, Some(b'&')) => start - 1..end,
        _ => start..end,
    })
}

/// Appends the address without the first parameters of some names. Each is looked for in the whole address.
fn append_without<'a>(out: &mut Vec<u8>, url: &[u8], names: impl Iterator<Item = &'a [u8]>) {
    let mut cut: Vec<Range<usize>> = names.filter_map(|name| range_of_parameter(url, name)).collect();
    cut.sort_unstable_by_key(|range| range.start);
    let mut at = 0;
    for range in cut {
        out.extend_from_slice(&url[at..range.start.max(at)]);
        at = at.max(range.end);
    }
    out.extend_from_slice(&url[at..]);
}

/// `cutURLParameter(url, [names])`.
fn resolve_cut_all(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.bind(DataType::String, move |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        let lists = Lists::of(arguments, 1)?;
        let names = [cast(&lists.items, &DataType::String, &CastOptions::default())?];
        let names = Strings::of(&names, 0)?;
        string_column(rows, urls.bytes(rows), |out, row| {
            append_without(out, urls.get(row), lists.range(row).map(|at| names.get(at)));
            Ok(())
        })
    })
}

pub(super) fn resolve_parameter(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let cut = call.name == "cutURLParameter";
    call.strings([0])?;
    let is_list =
        matches!(call.type_of(1), DataType::Array(item) if matches!(**item, DataType::String | DataType::Nothing));
    if cut && is_list {
        return resolve_cut_all(call);
    }
    call.strings([1])?;
    call.bind(DataType::String, move |arguments, rows| {
        let (urls, names) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        string_column(rows, urls.bytes(rows), |out, row| {
            let (url, name) = (urls.get(row), names.get(row));
            if cut {
                append_without(out, url, std::iter::once(name));
            } else if let Some(parameter) = parameter_of_name(url, name) {
                out.extend_from_slice(&parameter[name.len() + 1..]);
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_hierarchy(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let whole = call.name == "URLHierarchy";
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        list_column(rows, |list, row| {
            let url = urls.get(row);
            let scheme = protocol(url);
            if scheme.is_empty() {
                return if whole && !url.is_empty() { list.push(url) } else { Ok(()) };
            }
            let is_mark = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
            let mark_from = |at: usize| url[at..].iter().position(is_mark).map(|mark| at + mark);
            let host = scheme.len() + 3;
            let host_end = mark_from(host).unwrap_or(url.len());
            let start = if whole { 0 } else { host_end };
            let mut at = (host_end + 1).min(url.len());
            if whole {
                list.push(&url[..at])?;
            }
            // Each part ends with a mark; marks that follow each other begin the next part.
            loop {
                at += url[at..].iter().take_while(|byte| is_mark(byte)).count();
                if at == url.len() {
                    return Ok(());
                }
                at = mark_from(at).map_or(url.len(), |mark| mark + 1);
                list.push(&url[start..at])?;
            }
        })
    })
}
