//! Regular expressions with a fixed structure, as `^https?://(?:www\.)?([^/]+)/.*$`: literals and runs of a class one after the other, from
//! the start of the text. Where each run ends is plain from the text, so the groups are found by comparing and searching bytes: no
//! automaton, no table of states. Over ASCII, where a character is a byte; and over any UTF-8 where classes have either all characters beyond
//! ASCII or none, and none of those is counted.

use std::ops::Range;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::re2_syntax::translated;
use crate::scalar::beginnings::Prefix;

/// More optional parts are left to the automaton: each may be tried both ways.
const OPTIONAL_PARTS_MAX: usize = 4;

/// What the text must have next.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    Literal(Prefix),
    /// As many bytes of a class as there are, within bounds.
    Run {
        class: Bytes,
        least: usize,
        most: usize,
    },
    /// The steps before this one, or if they fail, none of them.
    Optional {
        after: usize,
    },
    GroupStart(usize),
    GroupEnd(usize),
    TextEnd,
}

/// A set of the bytes that characters begin with.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bytes {
    /// A bit for each byte of ASCII.
    ascii: u128,
    /// Whether all bytes of characters beyond ASCII are in the set, too, which is then one of all bytes of them.
    beyond: bool,
}

/// The first character beyond ASCII.
const BEYOND_ASCII: u32 = 128;

impl Bytes {
    const NONE: Self = Self { ascii: 0, beyond: false };

    fn of_byte(byte: u8) -> Self {
        if byte.is_ascii() { Self { ascii: 1 << byte, beyond: false } } else { Self::NONE }
    }

    /// The bytes of a class, and whether these are its characters: of those beyond ASCII it has all or none.
    fn of(class: &Class) -> (Self, bool) {
        let mut set = Self::NONE;
        let (mut from_beyond, mut characters) = (0, 0);
        let mut add = |first: u32, last: u32| {
            (first..=last.min(BEYOND_ASCII - 1)).for_each(|byte| set.ascii |= 1_u128 << byte);
            if last >= BEYOND_ASCII {
                let first = first.max(BEYOND_ASCII);
                characters += last - first + 1;
                // Characters never have the numbers of surrogates.
                if first < 0xD800 && last > 0xDFFF {
                    characters -= 0x800;
                }
                from_beyond += 1;
            }
        };
        match class {
            Class::Unicode(class) => class.iter().for_each(|range| add(range.start() as u32, range.end() as u32)),
            Class::Bytes(class) => class.iter().for_each(|range| add(range.start().into(), range.end().into())),
        }
        let all = char::MAX as u32 - BEYOND_ASCII + 1 - 0x800;
        let is_exact = from_beyond == 0 || characters == all && matches!(class, Class::Unicode(_));
        set.beyond = from_beyond > 0 && is_exact;
        (set, is_exact)
    }

    fn has(self, byte: u8) -> bool {
        if byte.is_ascii() { self.ascii >> byte & 1 == 1 } else { self.beyond }
    }

    fn union(self, other: Self) -> Self {
        Self { ascii: self.ascii | other.ascii, beyond: self.beyond || other.beyond }
    }

    fn is_disjoint(self, other: Self) -> bool {
        self.ascii & other.ascii == 0 && !(self.beyond && other.beyond)
    }

    /// How many of the first bytes of a text are in the set; of one that is not ASCII only where the set has all characters beyond it or none.
    fn run(self, text: &[u8]) -> usize {
        let others = !self.ascii;
        let end = match others {
            0 if self.beyond || text.is_ascii() => None,
            _ if self.beyond && others.is_power_of_two() => memchr::memchr(others.trailing_zeros() as u8, text),
            _ => text.iter().position(|byte| !self.has(*byte)),
        };
        end.unwrap_or(text.len())
    }
}

fn parsed(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().dot_matches_new_line(true).utf8(false).build().parse(pattern).ok()
}

/// An expression that is one byte of a class, or a run of as many as there are: `[aeiou]`, `\d+`.
#[derive(Debug)]
pub(super) struct ByteClass {
    members: [bool; 256],
    is_run: bool,
    /// Whether texts may have characters beyond ASCII: these are no members.
    goes_beyond: bool,
}

impl ByteClass {
    /// Of an expression in the syntax of the `regex` crate; `None` where it is something else.
    pub fn of(pattern: &str) -> Option<Self> {
        let hir = parsed(pattern)?;
        let (is_run, (class, is_exact)) = match hir.kind() {
            HirKind::Class(class) => (false, Bytes::of(class)),
            HirKind::Repetition(Repetition { min: 1, max: None, greedy: true, sub }) => (true, one_byte(sub)?),
            _ => return None,
        };
        let mut members = [false; 256];
        for (byte, is_member) in members.iter_mut().enumerate().take(128) {
            *is_member = class.ascii >> byte & 1 == 1;
        }
        Some(Self { members, is_run, goes_beyond: is_exact && !class.beyond })
    }

    /// Whether [`find`](Self::find) takes a text.
    pub fn takes(&self, text: &[u8]) -> bool {
        self.goes_beyond || text.is_ascii()
    }

    /// The first match in a text that begins at a position or behind it.
    pub fn find(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let is_member = |byte: &u8| self.members[usize::from(*byte)];
        let start = at + text.get(at..)?.iter().position(is_member)?;
        let length = match self.is_run {
            true => text[start..].iter().position(|byte| !is_member(byte)).unwrap_or(text.len() - start),
            false => 1,
        };
        Some(start..start + length)
    }
}

/// An expression with a fixed structure.
#[derive(Debug)]
pub(super) struct Sequence {
    steps: Vec<Step>,
    groups: usize,
    /// Whether texts may have characters beyond ASCII.
    goes_beyond: bool,
}

/// The groups of a match, from the whole match, which is group 0: where each begins and ends.
pub(super) type Groups = Vec<(usize, usize)>;

impl Sequence {
    /// The steps of an expression; `None` where it has another structure.
    pub fn of(pattern: &[u8]) -> Option<Self> {
        let hir = parsed(&translated(std::str::from_utf8(pattern).ok()?))?;
        let parts = match hir.kind() {
            HirKind::Concat(parts) => &parts[..],
            _ => return None,
        };
        let (first, parts) = parts.split_first()?;
        if *first.kind() != HirKind::Look(Look::Start) {
            return None;
        }
        let mut found = Self { steps: Vec::new(), groups: 1, goes_beyond: true };
        parts.iter().try_for_each(|part| found.add(part, true))?;
        found.has_plain_ends().then_some(found)
    }

    fn add(&mut self, part: &Hir, may_branch: bool) -> Option<()> {
        match part.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) if literal.0.is_ascii() => {
                self.steps.push(Step::Literal(Prefix::new(&literal.0)))
            }
            HirKind::Class(class) => self.add_run(Bytes::of(class), 1, 1),
            HirKind::Look(Look::End) => self.steps.push(Step::TextEnd),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.add(part, may_branch))?,
            HirKind::Capture(capture) if may_branch => {
                let number = capture.index as usize;
                self.groups = self.groups.max(number + 1);
                self.steps.push(Step::GroupStart(number));
                self.add(&capture.sub, may_branch)?;
                self.steps.push(Step::GroupEnd(number));
            }
            HirKind::Repetition(Repetition { min, max, greedy: true, sub }) => match (one_byte(sub), min, max) {
                (Some(class), ..) => {
                    self.add_run(class, *min as usize, max.map_or(usize::MAX, |most| most as usize));
                }
                (None, 0, Some(1)) if may_branch => {
                    let at = self.steps.len();
                    self.steps.push(Step::Optional { after: at });
                    self.add(sub, false)?;
                    self.steps[at] = Step::Optional { after: self.steps.len() };
                }
                _ => return None,
            },
            _ => return None,
        }
        Some(())
    }

    /// `is_exact`: whether the bytes are all of a class, also of characters beyond ASCII.
    fn add_run(&mut self, (class, is_exact): (Bytes, bool), least: usize, most: usize) {
        let is_counted = least > 1 || most < usize::MAX;
        self.goes_beyond &= is_exact && !(is_counted && class.beyond);
        self.steps.push(Step::Run { class, least, most });
    }

    /// Whether [`find`](Self::find) takes a text.
    pub fn takes(&self, text: &[u8]) -> bool {
        // Most texts are ASCII, which takes less to find out.
        text.is_ascii() || self.goes_beyond && std::str::from_utf8(text).is_ok()
    }

    /// Whether what follows a run never begins with a byte of its class: then the run ends where the class ends, and nowhere else.
    fn has_plain_ends(&self) -> bool {
        let optional_parts = self.steps.iter().filter(|step| matches!(step, Step::Optional { .. })).count();
        optional_parts <= OPTIONAL_PARTS_MAX
            && self.steps.iter().enumerate().all(|(at, step)| match step {
                Step::Run { least: 1, most: 1, .. } => true,
                Step::Run { class, .. } => class.is_disjoint(self.first_bytes(at + 1)),
                _ => true,
            })
    }

    /// With which bytes the steps from one on may begin.
    fn first_bytes(&self, at: usize) -> Bytes {
        match self.steps.get(at) {
            None | Some(Step::TextEnd) => Bytes::NONE,
            Some(Step::Literal(text)) => text.bytes().first().map_or(Bytes::NONE, |byte| Bytes::of_byte(*byte)),
            Some(Step::Run { class, least: 0, .. }) => class.union(self.first_bytes(at + 1)),
            Some(Step::Run { class, .. }) => *class,
            Some(Step::Optional { after }) => self.first_bytes(at + 1).union(self.first_bytes(*after)),
            Some(Step::GroupStart(_) | Step::GroupEnd(_)) => self.first_bytes(at + 1),
        }
    }

    /// Whether a text that it [takes](Self::takes) matches; its groups.
    pub fn find(&self, text: &[u8], groups: &mut Groups) -> bool {
        groups.clear();
        groups.resize(self.groups, (0, 0));
        let end = self.matched(0, text, 0, groups);
        groups[0] = (0, end.unwrap_or(0));
        end.is_some()
    }

    /// Where the match of the steps from one on ends that begins at a position.
    fn matched(&self, step: usize, text: &[u8], mut position: usize, groups: &mut Groups) -> Option<usize> {
        for (at, step) in self.steps.iter().enumerate().skip(step) {
            let rest = text.get(position..).unwrap_or_default();
            match step {
                Step::Literal(literal) => {
                    if !literal.begins(rest) {
                        return None;
                    }
                    position += literal.bytes().len();
                }
                Step::Run { class, least, most } => {
                    let bytes = class.run(rest.get(..*most).unwrap_or(rest));
                    if bytes < *least {
                        return None;
                    }
                    position += bytes;
                }
                Step::Optional { after } => {
                    return self
                        .matched(at + 1, text, position, groups)
                        .or_else(|| self.matched(*after, text, position, groups));
                }
                Step::GroupStart(number) => groups[*number].0 = position,
                Step::GroupEnd(number) => groups[*number].1 = position,
                Step::TextEnd => {
                    if !rest.is_empty() {
                        return None;
                    }
                }
            }
        }
        Some(position)
    }
}

/// The bytes of which an expression matches any one, and whether these are all.
fn one_byte(expression: &Hir) -> Option<(Bytes, bool)> {
    match expression.kind() {
        HirKind::Class(class) => Some(Bytes::of(class)),
        HirKind::Literal(literal) => match literal.0[..] {
            [byte] if byte.is_ascii() => Some((Bytes::of_byte(byte), true)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::regexp::compile;
    use super::*;

    #[test]
    fn groups_are_those_of_the_automaton() {
        let patterns = [
            r"^https?://(?:www\.)?([^/]+)/.*$",
            r"^(a+)(b*)c",
            r"^a?b?(c{1,3})(?:ab)?$",
            r"^([ab]{2,})(c?)(:*)$",
            r"^(?:ab)?(?:abc)?([^c]*)c?$",
            r"^[a-b]([^:]*):(/+)w*",
            r"^(\w*):([а-я]+)",
            r"^(.*)$",
            r"^(?i)(k+)[^abk]+(?:ab)?",
        ];
        let alphabet =
            ["a", "b", "c", "h", "t", "p", "s", ":", "/", "w", ".", "ä", "я", "\u{10FFFF}", "\n", "k", "\u{212A}"];
        let broken: [&[u8]; 3] = [b"\xFF", b"\xC3", b"\x80"];
        let mut state = 42_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut groups = Groups::new();
        let (mut matches, mut beyond) = (0, 0);
        for pattern in patterns {
            let sequence = Sequence::of(pattern.as_bytes()).expect(pattern);
            let expression = compile(pattern).expect(pattern);
            let starts: [&[u8]; 5] = [b"", b"http://", b"https://www.", b"ab", b"abc"];
            for _ in 0..20_000 {
                let mut text = starts[next(starts.len())].to_vec();
                let letters = if next(2) == 0 { 3 } else { alphabet.len() };
                (0..next(9)).for_each(|_| text.extend_from_slice(alphabet[next(letters)].as_bytes()));
                if next(20) == 0 {
                    text.extend_from_slice(broken[next(broken.len())]);
                }
                if !sequence.takes(&text) {
                    assert!(!text.is_ascii());
                    continue;
                }
                beyond += usize::from(!text.is_ascii());
                let expected = expression.captures(&text);
                assert_eq!(sequence.find(&text, &mut groups), expected.is_some(), "{pattern} {text:?}");
                let Some(expected) = expected else { continue };
                matches += 1;
                let expected: Groups = expected.iter().flatten().map(|group| (group.start(), group.end())).collect();
                assert_eq!(groups, expected, "{pattern} {text:?}");
            }
        }
        assert!(matches > 20_000 && beyond > 20_000, "{matches} {beyond}");
    }

    #[test]
    fn classes_are_found_as_by_the_automaton() {
        let texts = ["", "aeiou", "x1a22bä3é", "äöü", "a", " a  b ", "ſK1"];
        for pattern in [r"[aeiou]", r"\d+", r"\s", r"[^a-z]+", r"(?i)k", r"[^\d]", "[ä-ü]+", r"\w+"] {
            let (class, expression) = (ByteClass::of(&translated(pattern)).expect(pattern), compile(pattern).unwrap());
            for text in texts.iter().filter(|text| class.takes(text.as_bytes())) {
                for at in 0..=text.len() {
                    let expected = expression.find_at(text.as_bytes(), at).map(|found| found.range());
                    assert_eq!(class.find(text.as_bytes(), at), expected, "{pattern} {text} {at}");
                }
            }
        }
        for pattern in ["a*", "ab", "[ab]+?", "(a)", "[ab]{2,}", "^[ab]"] {
            assert!(ByteClass::of(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn other_structures_are_left_to_the_automaton() {
        for pattern in ["abc", "^(.*)/", "^(ab|c)d", "^(a+)+$", "^a*?b", r"^\bx", "^[ab]+b", "^(?:(a)b)?c", "^ä+"] {
            assert!(Sequence::of(pattern.as_bytes()).is_none(), "{pattern}");
        }
    }
}
