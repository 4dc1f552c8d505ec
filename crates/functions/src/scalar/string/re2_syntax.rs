//! Regular expressions in RE2's syntax, written as the `regex` crate wants them. Both know nearly the same; they differ in what classes of
//! letters mean (RE2's `\d`, `\w`, `\s` and `\b` are ASCII's), in what stands between brackets (no nested classes, no operators), in
//! octal numbers, in `\Q…\E`, and in a brace that is no repetition, which is a letter in RE2.

use std::fmt::Write;

/// The expression in the syntax of the `regex` crate. What is wrong in both is left for that to refuse.
pub(crate) fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '\\' => escape(&mut out, rest),
            '[' => class(&mut out, rest),
            '{' if !is_repetition(rest) => {
                out.push_str(r"\{");
                &rest[1..]
            }
            // A group of no flags does nothing.
            '(' if rest.starts_with("(?)") => &rest[3..],
            other => {
                out.push(other);
                &rest[other.len_utf8()..]
            }
        };
    }
    out
}

/// Whether `{2}`, `{2,}` or `{2,3}` begins the text.
fn is_repetition(text: &str) -> bool {
    let Some((inside, _)) = text.strip_prefix('{').and_then(|rest| rest.split_once('}')) else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && is_number(least) && is_number(most)
}

/// What a class of letters has, as it stands between brackets.
fn letters(name: char) -> Option<&'static str> {
    Some(match name {
        'd' | 'D' => "0-9",
        'w' | 'W' => "0-9A-Za-z_",
        's' | 'S' => r"\t\n\f\r ",
        _ => return None,
    })
}

/// The character that an escape stands for, and what follows; `None` where it stands for something else. `rest` begins behind the backslash.
fn character(rest: &str) -> Option<(char, &str)> {
    let first = rest.chars().next()?;
    let after = &rest[first.len_utf8()..];
    let number = |digits: &str, radix: u32| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    let plain = |character: char| Some((character, after));
    match first {
        'a' => plain('\x07'),
        'f' => plain('\x0C'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\x0B'),
        'x' => match after.strip_prefix('{') {
            Some(braced) => {
                let (digits, after) = braced.split_once('}')?;
                Some((number(digits, 16)?, after))
            }
            None => Some((number(after.get(..2)?, 16)?, &after[2..])),
        },
        '0'..='7' => {
            let digits = rest.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            // One digit that is not zero would be a reference to a group.
            (first == '0' || digits > 1).then(|| Some((number(&rest[..digits], 8)?, &rest[digits..])))?
        }
        punctuation if punctuation.is_ascii_punctuation() => plain(punctuation),
        _ => None,
    }
}

fn put(out: &mut String, character: char) {
    // Writing to a string does not fail.
    let _ = write!(out, r"\x{{{:X}}}", u32::from(character));
}

/// Translates an escape outside of brackets, which begins the text; what follows it.
fn escape<'a>(out: &mut String, text: &'a str) -> &'a str {
    let rest = &text[1..];
    if let Some((character, after)) = character(rest) {
        // Letters stay readable, and searches for literal text stay what they are.
        match regex_syntax::is_meta_character(character) {
            true => out.extend(['\\', character]),
            false => out.push(character),
        }
        return after;
    }
    let Some(name) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let after = &rest[name.len_utf8()..];
    match name {
        'Q' => {
            let (literal, after) = after.split_once(r"\E").unwrap_or((after, ""));
            out.push_str(&regex_syntax::escape(literal));
            return after;
        }
        'b' => out.push_str(r"(?-u:\b)"),
        'B' => out.push_str(r"(?-u:\B)"),
        'C' => out.push_str("(?s-u:.)"),
        'p' | 'P' => return property(out, name, after),
        _ => match letters(name) {
            Some(letters) => {
                out.push_str(if name.is_ascii_uppercase() { "[^" } else { "[" });
                out.push_str(letters);
                out.push(']');
            }
            None => out.extend(['\\', name]),
        },
    }
    after
}

/// Translates what is between brackets, the first of which begins the text; what follows the last.
fn class<'a>(out: &mut String, text: &'a str) -> &'a str {
    let mut rest = &text[1..];
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut is_first = true;
    while let Some(first) = rest.chars().next() {
        if first == ']' && !is_first {
            out.push(']');
            return &rest[1..];
        }
        is_first = false;
        if let Some((name, after)) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]"))
            && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'^')
        {
            // Writing to a string does not fail.
            let _ = write!(out, "[:{name}:]");
            rest = after;
            continue;
        }
        let Some((low, after)) = one(rest) else {
            rest = several(out, rest);
            continue;
        };
        put(out, low);
        rest = after;
        if let Some(high) = rest.strip_prefix('-').filter(|high| !high.is_empty() && !high.starts_with(']')) {
            out.push('-');
            match one(high) {
                Some((high, after)) => {
                    put(out, high);
                    rest = after;
                }
                // No range ends with a class: the crate says so of this escape.
                None => {
                    out.push_str(r"\d");
                    rest = high;
                }
            }
        }
    }
    rest
}

/// The character that the text between brackets begins with, and what follows; `None` where that is a class.
fn one(text: &str) -> Option<(char, &str)> {
    match text.strip_prefix('\\') {
        Some(escaped) => character(escaped),
        None => text.chars().next().map(|character| (character, &text[character.len_utf8()..])),
    }
}

/// Appends a class by a property, as `\pL` and `\p{Greek}`, of which `p` was read; what follows it.
fn property<'a>(out: &mut String, name: char, after: &'a str) -> &'a str {
    let length = match after.strip_prefix('{').and_then(|braced| braced.find('}')) {
        Some(end) => end + 2,
        None => after.chars().next().map_or(0, char::len_utf8),
    };
    out.extend(['\\', name]);
    out.push_str(&after[..length]);
    &after[length..]
}

/// Translates a class between brackets, as `\d`; what follows it.
fn several<'a>(out: &mut String, text: &'a str) -> &'a str {
    let rest = &text[1..];
    let Some(name) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let after = &rest[name.len_utf8()..];
    match letters(name) {
        Some(letters) if name.is_ascii_uppercase() => {
            out.push_str("[^");
            out.push_str(letters);
            out.push(']');
        }
        Some(letters) => out.push_str(letters),
        None if matches!(name, 'p' | 'P') => return property(out, name, after),
        None => out.extend(['\\', name]),
    }
    after
}

#[cfg(test)]
mod tests {
    use super::super::regexp::compile;

    #[test]
    fn expressions_mean_what_they_do_in_re2() {
        // As ClickHouse 26.9 answers.
        let cases: [(&str, &str, bool); 36] = [
            (r"^\w$", "é", false),
            (r"^\d$", "٣", false),
            (r"^.$", "é", true),
            (r"a\sb", "a\x0Bb", false),
            (r"a\sb", "a\u{A0}b", false),
            (r"\bt", "été", true),
            ("(?i)é", "É", true),
            ("(?i)s", "ſ", true),
            ("[[]", "[", true),
            ("^[a&&b]+$", "a&&b", true),
            (r"\Qa.b\E", "a.b", true),
            (r"\Qa.b\E", "axb", false),
            ("[a~~b]", "~", true),
            (r"a\Wb", "aéb", true),
            (r"^[\W]$", "é", true),
            (r"^[^\W]$", "é", false),
            (r"^[^\d]$", "é", true),
            (r"^[\w-]+$", "a-b", true),
            (r"[\w-z]", "a", true),
            ("a(?<x>b)", "ab", true),
            (r"\x{61}b", "ab", true),
            ("[]]", "]", true),
            ("[]^a]+", "^a", true),
            (r"\.", "x", false),
            (r"\p{Greek}", "α", true),
            (r"[\p{Greek}x]", "α", true),
            (r"[\pLx]", "α", true),
            ("[[:digit:]]", "1", true),
            ("[[:^digit:]]", "1", false),
            ("a{,2}", "aa", false),
            ("^a{,2}$", "a{,2}", true),
            ("a{", "a{", true),
            (r"a\<b", "a<b", true),
            (r"a\_b", "a_b", true),
            (r"\141\060", "a0", true),
            ("(?)a{2,3}$", "aa", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(compile(pattern).expect(pattern).is_match(text.as_bytes()), expected, "{pattern} {text}");
        }
        for pattern in ["[a-\\d]", "[b-a]", "a(", "[a", r"\1", r"\Z", "(?#a)"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
