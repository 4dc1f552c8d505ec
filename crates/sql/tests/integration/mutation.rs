//! Random mutations of the corpus, from fixed seeds: the parser never panics, and what parses round-trips. The same property is a
//! fuzz target (`/fuzz`), for those who have more time.

use squall_sql::{ParserLimits, format, format_one_line, normalize, parse, parse_many};

const CORPUS: &[&str] = &[
    include_str!("../corpus/access.sql"),
    include_str!("../corpus/alter.sql"),
    include_str!("../corpus/create.sql"),
    include_str!("../corpus/other.sql"),
    include_str!("../corpus/select.sql"),
];

/// A small generator, so that failures can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn check(text: &str) {
    let limits = ParserLimits::default();
    let _ = parse_many(text, &limits);
    let _ = normalize(text);
    let Ok(statement) = parse(text, &limits) else { return };
    for formatted in [format_one_line(&statement), format(&statement)] {
        // An INSERT's data are not part of the statement.
        match parse(&formatted, &limits) {
            Ok(again) => assert_eq!(statement, again, "{text}\n{formatted}"),
            Err(error) => panic!("{text}\n{formatted}\n{error}"),
        }
    }
}

/// How many mutations to try: `SQUALL_MUTATIONS` times as many as usual, for a long search.
fn rounds(usual: u64) -> u64 {
    std::env::var("SQUALL_MUTATIONS").ok().and_then(|times| times.parse::<u64>().ok()).unwrap_or(1) * usual
}

/// Words, as a mutation moves them.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        match words.last_mut() {
            Some(last) if c.is_alphanumeric() && last.chars().all(char::is_alphanumeric) => last.push(c),
            _ => words.push(c.to_string()),
        }
    }
    words
}

#[test]
fn mutated_words() {
    let corpus: Vec<Vec<String>> = CORPUS.iter().flat_map(|c| c.lines()).map(words).collect();
    let mut random = Random(42);
    for _ in 0..rounds(60_000) {
        let index = random.below(corpus.len());
        let mut text = corpus[index].clone();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            let other = &corpus[random.below(corpus.len())];
            match random.below(5) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, text[random.below(text.len())].clone()),
                2 => text[at] = other[random.below(other.len())].clone(),
                3 => {
                    let from = random.below(other.len());
                    let to = (from + 1 + random.below(8)).min(other.len());
                    text.splice(at..at, other[from..to].iter().cloned());
                }
                _ => text.truncate(at + 1),
            }
            if text.is_empty() {
                break;
            }
        }
        check(&text.concat());
    }
}

const PUNCTUATION: &[u8] = b"'\"`()[]{},.;:*+-/%<>=!|@$?\\\0\n\xe2\x98";

#[test]
fn mutated_bytes() {
    let corpus: Vec<&str> = CORPUS.iter().flat_map(|c| c.lines()).collect();
    let mut random = Random(7);
    for _ in 0..rounds(40_000) {
        let mut text = corpus[random.below(corpus.len())].as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(text.len());
            match random.below(3) {
                0 => text[at] = random.next() as u8,
                1 => text.insert(at, PUNCTUATION[random.below(PUNCTUATION.len())]),
                _ => drop(text.remove(at)),
            }
            if text.is_empty() {
                break;
            }
        }
        let _ = parse(&text, &ParserLimits::default());
        let _ = normalize(&text);
        if let Ok(text) = std::str::from_utf8(&text) {
            check(text);
        }
    }
}
