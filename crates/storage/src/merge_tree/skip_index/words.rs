//! The index `text`: all words of a part in their order, each with the granules that have it. Its first page tells with which word each of
//! the other pages begins, so that a lookup reads that page and one for each word.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;
use squall_functions::Tokenizer;
use squall_planner::SkipIndexKind;
use squall_runtime::Pieces;
use squall_types::binary::{put_string, put_varint, take_string};
use squall_types::{Column, Result, checkpoint, reserve};

use super::entry::{each_text, has_other_words};
use super::page::{EncodedPage, Entries, PageWriter, corrupted, encode, number};

/// What a word takes in memory besides its bytes.
const WORD_BYTES: usize = 96;
/// Words between two looks at the clock.
const WORDS_AT_ONCE: usize = 4096;

/// Gathers the words of a part.
pub(super) struct WordsBuilder {
    tokenizer: Tokenizer,
    /// The granule that comes next.
    granule: usize,
    words: HashMap<Box<[u8]>, Granules>,
    /// Those that have words which a piece of their texts does not tell.
    others: Granules,
}

/// Granules, in their order: the distance from one to the next.
#[derive(Default)]
struct Granules {
    next: usize,
    bytes: Vec<u8>,
}

impl Granules {
    fn add(&mut self, granule: usize) {
        if granule >= self.next {
            put_varint((granule - self.next) as u64, &mut self.bytes);
            self.next = granule + 1;
        }
    }
}

/// The granules of a list.
fn granules_of(mut list: &[u8]) -> Result<Vec<usize>> {
    let (mut granules, mut next) = (Vec::new(), 0_usize);
    while !list.is_empty() {
        let granule = next.checked_add(number(&mut list)?).ok_or_else(corrupted)?;
        granules.push(granule);
        next = granule + 1;
    }
    Ok(granules)
}

impl WordsBuilder {
    /// One for an index of this kind; `None` for others.
    pub(super) fn of(kind: &SkipIndexKind) -> Option<Self> {
        let SkipIndexKind::Text { tokenizer } = kind else { return None };
        Some(Self { tokenizer: tokenizer.clone(), granule: 0, words: HashMap::new(), others: Granules::default() })
    }

    /// Adds rows of the granule.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn add(&mut self, values: &[Column]) -> Result<()> {
        let Self { tokenizer, granule, words, others } = self;
        let Some(column) = values.first() else { return Ok(()) };
        each_text(column, &mut |text| {
            checkpoint(20 * (1 + text.len()))?;
            if has_other_words(tokenizer, text) {
                others.add(*granule);
            }
            for word in tokenizer.words(text)? {
                match words.get_mut(word) {
                    Some(granules) => granules.add(*granule),
                    None => {
                        reserve(word.len() + WORD_BYTES)?;
                        let mut granules = Granules::default();
                        granules.add(*granule);
                        words.insert(word.into(), granules);
                    }
                }
            }
            Ok(())
        })
    }

    /// The granule has no more rows.
    pub(super) fn end_granule(&mut self) {
        self.granule += 1;
    }

    /// The pages, the one that tells of the others first.
    pub(super) async fn finish(self, pieces: &mut Pieces) -> Vec<EncodedPage> {
        let mut first_words = Vec::new();
        put_string(&self.others.bytes, &mut first_words);
        // Runs are sorted one by one, and then merged.
        let mut words = self.words.into_iter();
        let mut runs = Vec::new();
        loop {
            let mut run: Vec<(Box<[u8]>, Granules)> = words.by_ref().take(WORDS_AT_ONCE).collect();
            if run.is_empty() {
                break;
            }
            run.sort_unstable_by(|left, right| left.0.cmp(&right.0));
            runs.push(run.into_iter());
            pieces.pause().await;
        }
        let mut next: Vec<Granules> = Vec::with_capacity(runs.len());
        let mut least = BinaryHeap::with_capacity(runs.len());
        for (at, run) in runs.iter_mut().enumerate() {
            let Some((word, granules)) = run.next() else { continue };
            next.push(granules);
            least.push(Reverse((word, at)));
        }
        let mut pages = PageWriter::default();
        let mut entry = Vec::new();
        let mut written = 0_usize;
        while let Some(Reverse((word, at))) = least.pop() {
            let following = runs.get_mut(at).and_then(Iterator::next);
            let Some(granules) = next.get_mut(at).map(std::mem::take) else { continue };
            if pages.is_new() {
                put_string(&word, &mut first_words);
            }
            entry.clear();
            put_string(&word, &mut entry);
            entry.extend_from_slice(&granules.bytes);
            pages.push(&entry);
            if let Some((word, granules)) = following {
                if let Some(next) = next.get_mut(at) {
                    *next = granules;
                }
                least.push(Reverse((word, at)));
            }
            written += 1;
            if written.is_multiple_of(WORDS_AT_ONCE) {
                pieces.pause().await;
            }
        }
        let mut all = vec![encode(&first_words, 0)];
        all.extend(pages.finish());
        all
    }
}

/// The first page of an index of words.
pub(super) struct FirstWords<'a> {
    /// Granules that may have any word.
    pub(super) others: Vec<usize>,
    /// The first word of each page, from page 1 on.
    words: Vec<&'a [u8]>,
}

impl<'a> FirstWords<'a> {
    /// Reads the page.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(super) fn read(page: &'a [u8]) -> Result<Self> {
        let mut entries = Entries(page);
        let others = granules_of(entries.next()?)?;
        let mut words = Vec::new();
        while !entries.0.is_empty() {
            words.push(entries.next()?);
        }
        Ok(Self { others, words })
    }

    /// The page that a word would be on; `None` where it would stand before all words.
    pub(super) fn page_of(&self, word: &[u8]) -> Option<usize> {
        // Page 1 has the words from the first one on.
        Some(self.words.partition_point(|first| *first <= word)).filter(|page| *page > 0)
    }
}

/// The granules that have a word, of the page that it would be on.
///
/// # Errors
/// `CORRUPTED_DATA`.
pub(super) fn granules_with(page: &[u8], word: &[u8]) -> Result<Vec<usize>> {
    let mut entries = Entries(page);
    while !entries.0.is_empty() {
        let mut entry = entries.next()?;
        let known = take_string(&mut entry).map_err(|_| corrupted())?;
        if known == word {
            return granules_of(entry);
        }
        if known > word {
            break;
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use squall_runtime::block_on;

    use super::super::page::decode;
    use super::*;

    #[test]
    fn words_are_found_with_their_granules() {
        let mut builder = WordsBuilder::of(&SkipIndexKind::Text { tokenizer: Tokenizer::SplitByNonAlpha }).unwrap();
        for granule in 0..50_usize {
            let texts = (0..200).map(|row| format!("common w{} g{granule}", granule * 200 + row));
            builder.add(&[Column::from_strings(texts)]).unwrap();
            builder.end_granule();
        }
        let pages = block_on(builder.finish(&mut Pieces::begin()));
        assert!(pages.len() > 2);
        let plain: Vec<Vec<u8>> = pages.iter().map(|page| decode(&page.bytes).unwrap()).collect();
        let first = FirstWords::read(&plain[0]).unwrap();
        let find = |word: &str| match first.page_of(word.as_bytes()) {
            Some(page) => granules_with(&plain[page], word.as_bytes()).unwrap(),
            None => Vec::new(),
        };
        assert_eq!(find("common"), (0..50).collect::<Vec<_>>());
        assert_eq!(find("w4321"), [21]);
        assert_eq!(find("g49"), [49]);
        assert!(find("aaa").is_empty() && find("w99999").is_empty() && find("zzz").is_empty());
        assert!(first.others.is_empty());
    }
}
