//! Where an object is: the server, the bucket and the key that a URL means, in any of the ways to write it.

use std::borrow::Cow;

use rusty_s3::{Bucket, UrlStyle};
use squall_types::{Error, ErrorCode, Result};

/// The region of servers whose names tell none.
const REGION_DEFAULT: &str = "us-east-1";
/// Words in a host's name behind which the provider's own name follows, and before which a bucket's may be.
const SERVICES: &[&str] = &["s3", "cos", "obs", "oss", "eos"];
/// Bytes of a bucket's name.
const BUCKET_BYTES: std::ops::RangeInclusive<usize> = 3..=63;

/// An object, or the pattern of several, in a bucket of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct S3Location {
    /// The scheme, host and port of the server, without the bucket.
    pub endpoint: String,
    /// Whether the bucket is written before the host's name rather than as the first part of the path.
    pub is_virtual_hosted: bool,
    /// The bucket.
    pub bucket: String,
    /// The key, or a pattern of keys.
    pub key: String,
    /// `versionId` of the URL.
    pub version: Option<String>,
}

impl S3Location {
    /// What a URL means. `style` is the setting `s3_uri_style`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for what is no URL of an object.
    pub fn of(url: &str, style: &str) -> Result<Self> {
        let bad = |why: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("{why}: {}", crate::http::shown(url)));
        let Some((scheme, rest)) = url.split_once("://") else { return Err(bad("Host is empty in S3 URI")) };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.is_empty() {
            return Err(bad("Host is empty in S3 URI"));
        }
        if authority.contains('@') {
            return Err(bad("A user's name cannot be part of an S3 URI"));
        }
        let (scheme, authority, path) = match scheme.to_ascii_lowercase().as_str() {
            scheme @ ("http" | "https") => (scheme.to_owned(), Cow::from(authority), Cow::from(path)),
            "s3" => ("https".to_owned(), format!("{authority}.s3.amazonaws.com").into(), path.into()),
            "oss" => ("https".to_owned(), format!("{authority}.oss.aliyuncs.com").into(), path.into()),
            "gs" | "gcs" => ("https".to_owned(), "storage.googleapis.com".into(), format!("/{authority}{path}").into()),
            _ => return Err(bad("The scheme of an S3 URI is neither http, https, s3, gs nor oss")),
        };
        let (path, version) = match path.split_once("?versionId=") {
            Some((path, version)) => (path, Some(version.to_owned())),
            None => (&*path, None),
        };
        let path = percent_encoding::percent_decode_str(path.trim_start_matches('/')).decode_utf8();
        let path = path.map_err(|_| bad("The path of an S3 URI is not UTF-8"))?;
        let virtual_hosted = match style {
            "path" => None,
            "virtual_hosted" => authority.split_once('.'),
            _ => split_host(&authority),
        };
        let (bucket, host, key) = match virtual_hosted {
            Some((bucket, host)) => (bucket, host, &*path),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
                (bucket, &*authority, key)
            }
        };
        if !BUCKET_BYTES.contains(&bucket.len()) {
            return Err(bad(&format!("Bucket name length is out of bounds in S3 URI: '{bucket}'")));
        }
        Ok(Self {
            endpoint: format!("{scheme}://{host}"),
            is_virtual_hosted: virtual_hosted.is_some(),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            version,
        })
    }

    /// The bucket, in a region or in that of the host's name.
    pub(super) fn bucket(&self, region: Option<&str>) -> Result<Bucket> {
        let region = region.unwrap_or_else(|| region_of(&self.endpoint)).to_owned();
        let style = if self.is_virtual_hosted { UrlStyle::VirtualHost } else { UrlStyle::Path };
        let bad = |why: &dyn std::fmt::Display| {
            Error::new(ErrorCode::BAD_ARGUMENTS, format!("{} is not the address of a server: {why}", self.endpoint))
        };
        let endpoint = self.endpoint.parse().map_err(|error| bad(&error))?;
        Bucket::new(endpoint, style, self.bucket.clone(), region).map_err(|error| bad(&error))
    }

    /// The same bucket where a server says that it is.
    pub(super) fn moved(&self, to: &str) -> Option<Self> {
        let (scheme, rest) = to.split_once("://")?;
        let authority = rest.split('/').next().filter(|authority| !authority.is_empty() && !authority.contains('@'))?;
        // What was asked in secret is not asked in the open.
        if !matches!(scheme, "http" | "https") || (scheme == "http" && self.endpoint.starts_with("https:")) {
            return None;
        }
        let behind_bucket = authority.strip_prefix(&*self.bucket).and_then(|rest| rest.strip_prefix('.'));
        Some(Self {
            endpoint: format!("{scheme}://{}", behind_bucket.unwrap_or(authority)),
            is_virtual_hosted: behind_bucket.is_some(),
            ..self.clone()
        })
    }

    /// The path of a key, as `_path` tells it.
    pub(super) fn path_of(&self, key: &str) -> String {
        format!("{}/{key}", self.bucket)
    }
}

/// The bucket and the rest of a host's name that begins with one.
fn split_host(authority: &str) -> Option<(&str, &str)> {
    // An endpoint of AWS PrivateLink.
    if authority.starts_with("bucket.vpce-") {
        return None;
    }
    let dots = authority.match_indices('.').map(|(at, _)| at).rev();
    dots.filter_map(|at| Some((authority.get(..at)?, authority.get(at + 1..)?)))
        .find(|(bucket, host)| !bucket.is_empty() && is_service(host))
}

/// Whether a host's name is that of a provider's service: `s3.eu-west-1.amazonaws.com`, `oss-cn-beijing.aliyuncs.com`.
fn is_service(host: &str) -> bool {
    let is_rest = |rest: &str| {
        rest.len() > 1
            && rest.starts_with(['.', '-'])
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'))
    };
    let is_express = host.strip_prefix("s3express").is_some_and(is_rest);
    is_express || SERVICES.iter().any(|service| host.strip_prefix(service).is_some_and(is_rest))
}

/// The region that a host's name tells.
fn region_of(endpoint: &str) -> &str {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
    let host = host.split(':').next().unwrap_or_default();
    let Some(before) = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn")) else {
        return REGION_DEFAULT;
    };
    let last = before.rsplit('.').next().unwrap_or_default();
    let last = last.strip_prefix("s3-").unwrap_or(last);
    let is_region = last.contains('-') && last.ends_with(|letter: char| letter.is_ascii_digit());
    if is_region { last } else { REGION_DEFAULT }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> String {
        let at = S3Location::of(url, "auto").unwrap();
        let style = if at.is_virtual_hosted { "host" } else { "path" };
        let bucket = at.bucket(None).unwrap();
        format!("{style} {} {} {} {}", at.endpoint, at.bucket, at.key, bucket.region())
    }

    #[test]
    fn urls_mean_buckets_and_keys() {
        for (url, meaning) in [
            ("http://127.0.0.1:9000/bkt/a/b.csv", "path http://127.0.0.1:9000 bkt a/b.csv us-east-1"),
            ("http://[::1]:9000/bkt/a", "path http://[::1]:9000 bkt a us-east-1"),
            (
                "https://my.bkt.s3.eu-west-3.amazonaws.com/a",
                "host https://s3.eu-west-3.amazonaws.com my.bkt a eu-west-3",
            ),
            ("https://s3-eu-west-1.amazonaws.com/bkt/a", "path https://s3-eu-west-1.amazonaws.com bkt a eu-west-1"),
            (
                "https://bkt.s3.dualstack.us-west-2.amazonaws.com/a",
                "host https://s3.dualstack.us-west-2.amazonaws.com bkt a us-west-2",
            ),
            ("s3://bkt/a/*.csv", "host https://s3.amazonaws.com bkt a/*.csv us-east-1"),
            ("gs://bkt/a", "path https://storage.googleapis.com bkt a us-east-1"),
            ("https://bkt.oss-cn-beijing.aliyuncs.com/a", "host https://oss-cn-beijing.aliyuncs.com bkt a us-east-1"),
            ("http://h:1/bkt/x%20y%2Bz?", "path http://h:1 bkt x y+z? us-east-1"),
            ("http://h:1/bkt", "path http://h:1 bkt  us-east-1"),
        ] {
            assert_eq!(of(url), meaning, "{url}");
        }
        let versioned = S3Location::of("http://h/bkt/a?versionId=7", "auto").unwrap();
        assert_eq!((&*versioned.key, versioned.version.as_deref()), ("a", Some("7")));
        assert!(!S3Location::of("http://x.s3.y/bkt/a", "path").unwrap().is_virtual_hosted);
        assert_eq!(S3Location::of("http://bkt.my.store/a", "virtual_hosted").unwrap().bucket, "bkt");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for url in [
            "a.csv",
            "://bkt/a",
            "http:///bkt/a",
            "ftp://h/bkt/a",
            "http://h/",
            "http://u:p@h/bkt/a",
            "http://h/bkt/%ff",
        ] {
            assert_eq!(S3Location::of(url, "auto").unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{url}");
        }
    }

    #[test]
    fn a_bucket_moves_only_where_it_may() {
        let at = S3Location::of("https://s3.amazonaws.com/bkt/a", "auto").unwrap();
        let moved = at.moved("https://bkt.s3.eu-west-1.amazonaws.com/a").unwrap();
        assert_eq!((&*moved.endpoint, moved.is_virtual_hosted), ("https://s3.eu-west-1.amazonaws.com", true));
        for bad in ["http://s3.amazonaws.com/bkt/a", "/bkt/a", "https://u@h/", "ftp://h/a", "https:///a"] {
            assert!(at.moved(bad).is_none(), "{bad}");
        }
    }
}
