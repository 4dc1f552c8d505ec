//! Statements that differ only in their constants, made one: the text with `?` in the place of literals, for plan caches and for
//! `normalized_query_hash`. It works on tokens alone, so it costs little and takes any text.

use crate::lexer::{Lexer, Token, TokenKind as T};

/// A text with its literals taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// The text with `?` for each literal, `?..` for a list of them, and one space for blanks and comments.
    pub text: String,
    /// The byte ranges of the literals in the original, in order; those that a list took together are all there.
    pub literals: Vec<(usize, usize)>,
    /// A hash of `text`: statements alike for a reader. The same on every machine and in every version.
    pub hash: u64,
    /// A hash of all tokens, each literal by its kind alone: statements that parse to the same tree but for the values of their
    /// literals. Lists of other lengths and other elements of tuples (`t.1`) make another shape.
    pub shape_hash: u64,
}

/// Replaces literals by `?` and lists of literals by `?..`, as ClickHouse's `normalizeQuery`. What cannot be a token is kept as it is.
pub fn normalize(text: &(impl AsRef<[u8]> + ?Sized)) -> Normalized {
    let text = text.as_ref();
    let mut lexer = Lexer::new(text, 0, 0);
    let mut out = Vec::with_capacity(text.len());
    let mut literals = Vec::new();
    let mut shape = Hash::new();
    let mut end = 0usize;
    let mut list = List::None;
    let mut previous = T::End;
    loop {
        let token = lexer.next_token();
        if token.kind == T::End {
            break;
        }
        let (start, stop) = (token.start as usize, token.end as usize);
        let bytes = text.get(start..stop).unwrap_or(&[]);
        let blank = start > end && !out.is_empty();
        end = stop;
        let literal = is_literal(&token);
        if literal && previous != T::Dot {
            shape.add(if token.kind != T::Number {
                b"\0s"
            } else if bytes.iter().all(u8::is_ascii_digit) {
                b"\0i"
            } else {
                b"\0f"
            });
        } else {
            shape.add(bytes);
            shape.add(b" ");
        }
        previous = token.kind;
        if literal {
            literals.push((start, stop));
            match list {
                // `1, 2`: the comma and all that follows join the first.
                List::Comma { length, joined } => {
                    out.truncate(length);
                    if !joined {
                        out.extend_from_slice(b"..");
                    }
                    list = List::Item { joined: true };
                }
                List::None | List::Item { .. } => {
                    if blank {
                        out.push(b' ');
                    }
                    out.push(b'?');
                    list = List::Item { joined: false };
                }
            }
            continue;
        }
        list = match (list, token.kind) {
            (List::Item { joined }, T::Comma) => List::Comma { length: out.len(), joined },
            // A sign belongs to the number after it.
            (comma @ List::Comma { .. }, T::Minus | T::Plus) => comma,
            _ => List::None,
        };
        if blank {
            out.push(b' ');
        }
        out.extend_from_slice(bytes);
    }
    let mut hash = Hash::new();
    hash.add(&out);
    let text = String::from_utf8_lossy(&out).into_owned();
    Normalized { text, literals, hash: hash.finish(), shape_hash: shape.finish() }
}

/// Where in a list of literals the text before is.
enum List {
    /// In none.
    None,
    /// Behind a literal; `joined` when it stands for several.
    Item { joined: bool },
    /// Behind a comma; `length` is that of the output before it.
    Comma { length: usize, joined: bool },
}

fn is_literal(token: &Token) -> bool {
    matches!(token.kind, T::Number | T::String | T::HexString | T::BinaryString | T::HereDoc)
}

/// FNV-1a with a final mix: short, and the same everywhere.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(self) -> u64 {
        let mut hash = self.0 ^ (self.0 >> 33);
        hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^ (hash >> 33)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_question_marks() {
        let cases = [
            (
                "SELECT  a + 1, 'x', t.1 FROM t WHERE b IN (1, 2, 3) -- c\nLIMIT 10",
                "SELECT a + ?.., t.? FROM t WHERE b IN (?..) LIMIT ?",
            ),
            ("select -1, - 1, +1", "select -?.."),
            ("select [1,2,3], (1,'a'), {x:UInt8}, 1 as x", "select [?..], (?..), {x:UInt8}, ? as x"),
            ("SELECT x'41', null, true, 1.5e10, $$a$$", "SELECT ?, null, true, ?.."),
            ("insert into t values (1,2),(3,4)", "insert into t values (?..),(?..)"),
            ("select 'a' /* c */ , 2", "select ?.."),
            ("select 1,a,2,3", "select ?,a,?.."),
            ("", ""),
            ("SELECT 'a", "SELECT 'a"),
        ];
        for (text, expected) in cases {
            assert_eq!(normalize(text).text, expected);
        }
    }

    #[test]
    fn spans_and_hashes() {
        let normalized = normalize("SELECT f(1, 'x') LIMIT 3");
        assert_eq!(normalized.literals, vec![(9, 10), (12, 15), (23, 24)]);
        assert_eq!(normalized.shape_hash, normalize("SELECT  f(22,'yy')  LIMIT 44").shape_hash);
        for other in ["SELECT f(1, 2) LIMIT 3", "SELECT f(1, 'x', 'y') LIMIT 3", "SELECT f(1, 'x') LIMIT 3.5"] {
            assert_ne!(normalized.shape_hash, normalize(other).shape_hash);
        }
        assert_ne!(normalize("SELECT t.1").shape_hash, normalize("SELECT t.2").shape_hash);
        assert_eq!(normalize("SELECT (1, 2)").hash, normalize("SELECT (3, 4, 5)").hash);
        assert_eq!(normalize(b"SELECT '\xff'").literals, vec![(7, 10)]);
    }
}
