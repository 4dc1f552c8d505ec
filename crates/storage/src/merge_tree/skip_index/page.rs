//! The pages of an index: so many entries together, compressed where that makes them smaller, with a checksum of their own. A scan reads
//! those that tell of the granules it is about.

use squall_types::binary::{put_string, take_string, take_varint};
use squall_types::{Error, ErrorCode, Result, reserve};

use super::super::parts::part_description::FileRange;

/// A page ends at so many bytes before compression.
const PAGE_BYTES: usize = 64 << 10;
/// A page of more bytes is none of ours.
const PAGE_BYTES_MAX: u64 = 1 << 30;

/// An index of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IndexDescription {
    /// The index's name when the part was written.
    pub(crate) name: String,
    /// What it is an index of.
    pub(crate) identity: String,
    /// Its bytes before compression.
    pub(crate) bytes: u64,
    pub(crate) pages: Vec<IndexPage>,
}

/// A page of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IndexPage {
    pub(crate) at: FileRange,
    /// Entries; of a text index, which has other pages, 0.
    pub(crate) entries: usize,
}

/// A page on its way into a file.
pub(in super::super) struct EncodedPage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) plain_bytes: u64,
    pub(crate) entries: usize,
}

/// Gathers entries into pages.
#[derive(Default)]
pub(super) struct PageWriter {
    pages: Vec<EncodedPage>,
    current: Vec<u8>,
    entries: usize,
}

impl PageWriter {
    /// Appends an entry.
    pub(super) fn push(&mut self, entry: &[u8]) {
        put_string(entry, &mut self.current);
        self.entries += 1;
        if self.current.len() >= PAGE_BYTES {
            self.end();
        }
    }

    /// How full the page is.
    pub(super) fn is_new(&self) -> bool {
        self.entries == 0
    }

    /// Ends the page.
    pub(super) fn end(&mut self) {
        if self.entries > 0 {
            let page = encode(&self.current, self.entries);
            self.pages.push(page);
            self.current.clear();
            self.entries = 0;
        }
    }

    /// All pages.
    pub(super) fn finish(mut self) -> Vec<EncodedPage> {
        self.end();
        self.pages
    }
}

/// A page of these bytes.
pub(super) fn encode(plain: &[u8], entries: usize) -> EncodedPage {
    let packed = lz4_flex::block::compress_prepend_size(plain);
    let mut bytes = Vec::with_capacity(1 + plain.len().min(packed.len()));
    if packed.len() < plain.len() {
        bytes.push(1);
        bytes.extend_from_slice(&packed);
    } else {
        bytes.push(0);
        bytes.extend_from_slice(plain);
    }
    EncodedPage { bytes, plain_bytes: plain.len() as u64, entries }
}

/// The bytes of a page as they were before compression.
///
/// # Errors
/// `CORRUPTED_DATA`.
pub(crate) fn decode(page: &[u8]) -> Result<Vec<u8>> {
    match page.split_first() {
        Some((0, plain)) => {
            reserve(plain.len())?;
            Ok(plain.to_vec())
        }
        Some((1, packed)) => {
            let size = packed.first_chunk().copied().map_or(0, u32::from_le_bytes);
            if u64::from(size) > PAGE_BYTES_MAX {
                return Err(corrupted());
            }
            reserve(size as usize)?;
            lz4_flex::block::decompress_size_prepended(packed).map_err(|_| corrupted())
        }
        _ => Err(corrupted()),
    }
}

/// The entries of a page.
pub(super) struct Entries<'a>(pub(super) &'a [u8]);

impl<'a> Entries<'a> {
    /// The next entry.
    ///
    /// # Errors
    /// `CORRUPTED_DATA` where there is none.
    pub(super) fn next(&mut self) -> Result<&'a [u8]> {
        take_string(&mut self.0).map_err(|_| corrupted())
    }

    /// Passes over some entries.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub(super) fn skip(&mut self, entries: usize) -> Result<()> {
        (0..entries).try_for_each(|_| self.next().map(drop))
    }
}

/// A number of an entry.
///
/// # Errors
/// `CORRUPTED_DATA`.
pub(super) fn number(bytes: &mut &[u8]) -> Result<usize> {
    take_varint(bytes).ok().and_then(|number| usize::try_from(number).ok()).ok_or_else(corrupted)
}

pub(super) fn corrupted() -> Error {
    Error::new(ErrorCode::CORRUPTED_DATA, "A skip index cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_from_pages() {
        let mut writer = PageWriter::default();
        let entry = |at: usize| vec![at as u8; at * 997 % 9_000];
        (0..64).for_each(|at| writer.push(&entry(at)));
        let pages = writer.finish();
        assert!(pages.len() > 2);
        let mut at = 0;
        for page in &pages {
            let plain = decode(&page.bytes).unwrap();
            let mut entries = Entries(&plain);
            for _ in 0..page.entries {
                assert_eq!(entries.next().unwrap(), entry(at));
                at += 1;
            }
            assert!(entries.next().is_err());
        }
        assert_eq!(at, 64);
        assert!(decode(&[1, 255, 255, 255, 255, 0]).is_err() && decode(&[7]).is_err());
    }
}
