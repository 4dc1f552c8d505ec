//! Leaving out rows of a part by its indexes, one index after the other and page by page. What pages are needed is asked for; who reads
//! them, and on which thread, is the caller's business.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use squall_types::Result;

use super::super::parts::part::Part;
use super::filter::{IndexFilter, Question};
use super::page::{Entries, IndexPage};
use super::words::{FirstWords, granules_with};

/// Pages that are asked for at once.
const PAGES_AHEAD: usize = 16;

/// A page of an index of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Wanted {
    /// The place of the index among the part's.
    pub(in super::super) index: usize,
    pub(in super::super) page: usize,
}

/// Some rows of a part, on their way through its indexes.
pub(in super::super) struct Sift {
    part: Arc<Part>,
    /// Ascending and disjoint; numbers of rows of the part.
    rows: Vec<Range<usize>>,
    /// The indexes that the part has, by their places.
    filters: Vec<(usize, Arc<IndexFilter>)>,
    /// The index that comes next.
    at: usize,
    /// How far the current one is.
    progress: Progress,
}

#[derive(Default)]
struct Progress {
    /// The page that comes next, and its first entry.
    page: usize,
    entry: usize,
    kept: Vec<Range<usize>>,
    /// The granules of the words that were looked up so far.
    words: Option<Words>,
}

/// Words that are looked for, each on its page.
struct Words {
    others: Vec<usize>,
    pages: Vec<(Box<[u8]>, Option<usize>)>,
    found: HashMap<Box<[u8]>, Vec<usize>>,
}

impl Sift {
    /// The sift of rows of a part; `None` where it has none of the indexes.
    pub(in super::super) fn new(
        part: &Arc<Part>,
        rows: Vec<Range<usize>>,
        filters: &[Arc<IndexFilter>],
    ) -> Option<Self> {
        let known = &part.description.indices;
        let place = |filter: &Arc<IndexFilter>| {
            let place = known.iter().position(|index| index.identity == filter.index.identity)?;
            Some((place, filter.clone()))
        };
        let filters: Vec<_> = filters.iter().filter_map(place).collect();
        (!filters.is_empty()).then(|| Self { part: part.clone(), rows, filters, at: 0, progress: Progress::default() })
    }

    pub(in super::super) fn part(&self) -> &Arc<Part> {
        &self.part
    }

    /// The rows that are left.
    pub(in super::super) fn into_rows(self) -> Vec<Range<usize>> {
        self.rows
    }

    /// Goes on as far as the pages reach that are at hand, a page or a few at a time. Gives the pages that it needs next, or nothing where it
    /// is done.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(in super::super) fn advance(&mut self, page: &dyn Fn(Wanted) -> Option<Buffer>) -> Result<Vec<Wanted>> {
        while let Some((index, filter)) = self.filters.get(self.at).cloned() {
            if !self.rows.is_empty() {
                let wanted = match &filter.question {
                    Question::Terms(_) if is_of_words(&filter) => self.look_up(index, &filter, page)?,
                    _ => self.test(index, &filter, page)?,
                };
                if !wanted.is_empty() {
                    return Ok(wanted);
                }
            }
            self.at += 1;
            self.progress = Progress::default();
        }
        Ok(Vec::new())
    }

    /// Rows of an entry.
    fn entry_rows(&self, filter: &IndexFilter) -> usize {
        self.part.description.granularity.saturating_mul(filter.index.granularity).max(1)
    }

    /// Tests the entries of the next pages that tell of rows that are left.
    fn test(
        &mut self,
        index: usize,
        filter: &IndexFilter,
        page: &dyn Fn(Wanted) -> Option<Buffer>,
    ) -> Result<Vec<Wanted>> {
        let entry_rows = self.entry_rows(filter);
        let part = self.part.clone();
        let Some(known) = part.description.indices.get(index) else { return Ok(Vec::new()) };
        while let Some(described) = known.pages.get(self.progress.page) {
            let first = self.progress.entry;
            let of_page = first * entry_rows..(first + described.entries).saturating_mul(entry_rows);
            let rows: Vec<Range<usize>> = within(&self.rows, &of_page).collect();
            if !rows.is_empty() {
                let Some(bytes) = page(Wanted { index, page: self.progress.page }) else {
                    return Ok(self.pages_ahead(index, &known.pages, entry_rows));
                };
                let mut entries = Entries(&bytes);
                let mut at = first;
                for range in rows {
                    let mut start = range.start;
                    while start < range.end {
                        let number = start / entry_rows;
                        let end = range.end.min((number + 1) * entry_rows);
                        if number >= at {
                            entries.skip(number - at)?;
                            let matches = filter.may_match(entries.next()?)?;
                            at = number + 1;
                            if matches {
                                keep(&mut self.progress.kept, start..end);
                            }
                        } else if self.progress.kept.last().is_some_and(|kept| kept.end > number * entry_rows) {
                            // More rows of the entry before, which was kept.
                            keep(&mut self.progress.kept, start..end);
                        }
                        start = end;
                    }
                }
            }
            self.progress.entry += described.entries;
            self.progress.page += 1;
        }
        // Rows behind the last entry are not known of.
        let behind = (self.progress.entry * entry_rows)..usize::MAX;
        let behind: Vec<Range<usize>> = within(&self.rows, &behind).collect();
        behind.into_iter().for_each(|rows| keep(&mut self.progress.kept, rows));
        self.rows = std::mem::take(&mut self.progress.kept);
        Ok(Vec::new())
    }

    /// The next pages that tell of rows that are left.
    fn pages_ahead(&self, index: usize, pages: &[IndexPage], entry_rows: usize) -> Vec<Wanted> {
        let mut first = self.progress.entry;
        let mut wanted = Vec::new();
        for (page, described) in pages.iter().enumerate().skip(self.progress.page) {
            let of_page = first * entry_rows..(first + described.entries).saturating_mul(entry_rows);
            if within(&self.rows, &of_page).next().is_some() {
                wanted.push(Wanted { index, page });
            }
            if wanted.len() == PAGES_AHEAD {
                break;
            }
            first += described.entries;
        }
        wanted
    }

    /// Looks up words, and keeps the granules whose words meet the condition.
    fn look_up(
        &mut self,
        index: usize,
        filter: &IndexFilter,
        page: &dyn Fn(Wanted) -> Option<Buffer>,
    ) -> Result<Vec<Wanted>> {
        let Question::Terms(terms) = &filter.question else { return Ok(Vec::new()) };
        if self.progress.words.is_none() {
            let wanted = Wanted { index, page: 0 };
            let Some(bytes) = page(wanted) else { return Ok(vec![wanted]) };
            let first = FirstWords::read(&bytes)?;
            let mut pages: Vec<(Box<[u8]>, Option<usize>)> = Vec::new();
            terms.visit(&mut |term| {
                if !pages.iter().any(|(word, _)| *word == term.word) {
                    pages.push((term.word.clone(), first.page_of(&term.word)));
                }
            });
            self.progress.words = Some(Words { others: first.others, pages, found: HashMap::new() });
        }
        let Some(words) = &mut self.progress.words else { return Ok(Vec::new()) };
        let mut wanted = Vec::new();
        for (word, at) in &words.pages {
            if words.found.contains_key(word) {
                continue;
            }
            let granules = match at {
                None => Vec::new(),
                Some(at) => {
                    let need = Wanted { index, page: *at };
                    match page(need) {
                        Some(bytes) => granules_with(&bytes, word)?,
                        None => {
                            if !wanted.contains(&need) {
                                wanted.push(need);
                            }
                            continue;
                        }
                    }
                }
            };
            words.found.insert(word.clone(), granules);
        }
        if !wanted.is_empty() {
            return Ok(wanted);
        }
        let granule_rows = self.part.description.granularity.max(1);
        let has = |granules: &[usize], granule: usize| granules.binary_search(&granule).is_ok();
        let mut kept = Vec::new();
        for range in &self.rows {
            let mut start = range.start;
            while start < range.end {
                let granule = start / granule_rows;
                let end = range.end.min((granule + 1) * granule_rows);
                let may_hold = has(&words.others, granule)
                    || terms
                        .can_hold(&|term| words.found.get(&term.word).is_none_or(|granules| has(granules, granule)));
                if may_hold {
                    keep(&mut kept, start..end);
                }
                start = end;
            }
        }
        self.rows = kept;
        Ok(Vec::new())
    }
}

fn is_of_words(filter: &IndexFilter) -> bool {
    matches!(filter.index.kind, squall_planner::SkipIndexKind::Text { .. })
}

/// Those of `rows` that lie in a range.
fn within<'a>(rows: &'a [Range<usize>], range: &'a Range<usize>) -> impl Iterator<Item = Range<usize>> + 'a {
    let first = rows.partition_point(|own| own.end <= range.start);
    let rows = rows.get(first..).unwrap_or_default().iter().take_while(|own| own.start < range.end);
    rows.map(|own| own.start.max(range.start)..own.end.min(range.end))
}

/// Adds rows behind those that are kept.
fn keep(kept: &mut Vec<Range<usize>>, rows: Range<usize>) {
    match kept.last_mut() {
        Some(last) if last.end == rows.start => last.end = rows.end,
        _ => kept.push(rows),
    }
}
