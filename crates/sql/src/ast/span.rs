//! Where a node stands in the text and how it was written. Equality and hashing ignore positions, so that two trees are equal when they say the
//! same thing, wherever they say it.

use std::hash::{Hash, Hasher};

/// A half-open range of byte offsets in the text of the statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest range that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The text that this span covers; empty when it does not lie inside `text`.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl Hash for Span {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A fact about how something was written, which the formatter needs and equality ignores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written<T>(pub T);

impl<T> PartialEq for Written<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Written<T> {}

impl<T> Hash for Written<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
