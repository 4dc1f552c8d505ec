//! `cutToFirstSignificantSubdomainCustom` and its kin: by a list of top-level domains that the configuration names.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result};

use super::url::{domain, domain_rfc, without_www};
use crate::TopLevelDomains;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let name = String::from_utf8_lossy(call.constant_bytes(1)?).into_owned();
    call.context.moment.note();
    let list = call.context.surroundings.as_ref().and_then(|surroundings| surroundings.top_level_domains(&name));
    let list =
        list.ok_or_else(|| Error::new(ErrorCode::TLD_LIST_NOT_FOUND, format!("TLD list {name} does not exist")))?;
    let host: fn(&[u8]) -> &[u8] = if call.name.ends_with("RFC") { domain_rfc } else { domain };
    let keeps_www = call.name.contains("WithWWW");
    let cuts = call.name.starts_with("cut");
    call.bind(DataType::String, move |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        string_column(rows, urls.bytes(rows) / 2, |out, row| {
            let host = host(urls.get(row));
            let host = if keeps_www { host } else { without_www(host) };
            let (part, whole) = significant(host, &list);
            out.extend_from_slice(if cuts { whole } else { part });
            Ok(())
        })
    })
}

/// The part before the longest domain of the list, and the host from it on; where the list has none, the last part but one.
fn significant<'a>(host: &'a [u8], list: &TopLevelDomains) -> (&'a [u8], &'a [u8]) {
    let mut start = 0;
    let mut last_but_one = None;
    for (dot, _) in host.iter().enumerate().filter(|(_, byte)| **byte == b'.') {
        let own = (&host[start..dot], &host[start..]);
        if list.contains(&host[dot + 1..]) {
            return own;
        }
        start = dot + 1;
        last_but_one = Some(own);
    }
    last_but_one.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_before_the_list_counts() {
        let list = TopLevelDomains::parse("com\nco.uk\nuk");
        for (host, part, whole) in [
            ("a.example.co.uk", "example", "example.co.uk"),
            ("example.com", "example", "example.com"),
            ("bar.foo.unknown", "foo", "foo.unknown"),
            ("com", "", ""),
        ] {
            let found = significant(host.as_bytes(), &list);
            assert_eq!(found, (part.as_bytes(), whole.as_bytes()), "{host}");
        }
    }
}
