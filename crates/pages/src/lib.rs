//! The pages for browsers, `/play`, `/dashboard` and `/scheduler`, as they lie in the binary. `build.rs` bundles them from `web/` with
//! npm; where that cannot be done, a plain page stands in the place of each. Sending them is the server's business.

/// A file that a browser may ask for.
#[derive(Debug)]
pub struct Asset {
    /// Where it is asked for.
    pub path: &'static str,
    /// Its MIME type.
    pub content_type: &'static str,
    /// Its bytes.
    pub body: &'static [u8],
    /// Whether the bytes are compressed by gzip.
    pub is_gzip: bool,
    /// Whether its path names its content, so that it may be kept for ever.
    pub is_immutable: bool,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What browsers are told of all pages: nothing comes from elsewhere, nothing goes elsewhere, and no other page shows them in a frame.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The file at this path.
pub fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_there_and_asks_for_what_is_there() {
        for path in ["/play", "/dashboard", "/scheduler"] {
            let page = find(path).unwrap();
            assert!(page.content_type.starts_with("text/html"), "{path}");
            assert!(!page.is_immutable && !page.body.is_empty(), "{path}");
        }
        assert!(find("/pages/plain.js").is_some_and(|script| !script.is_gzip) || !IS_PLAIN);
        assert!(find("/").is_none() && find("/pages/").is_none());
    }

    #[test]
    fn compressed_files_are_gzip_and_small() {
        for asset in ASSETS.iter().filter(|asset| asset.is_gzip) {
            assert_eq!(asset.body.get(..2), Some(&[0x1f, 0x8b][..]), "{}", asset.path);
        }
        let bytes: usize = ASSETS.iter().map(|asset| asset.body.len()).sum();
        assert!(bytes < 600_000, "{bytes}");
    }
}
