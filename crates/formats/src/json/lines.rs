//! A JSON value laid out over several lines.

use crate::nested::Indent;

/// Appends a value that is on one line over several, the first of which stands at `depth`. Objects stand one key a line. An array does so
/// where all its items are objects, or all are arrays; others stay on a line.
pub(crate) fn append(json: &[u8], indent: Indent, depth: usize, out: &mut Vec<u8>) {
    Layout { json, at: 0, indent }.value(depth, out);
}

struct Layout<'a> {
    json: &'a [u8],
    at: usize,
    indent: Indent,
}

impl Layout<'_> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    fn value(&mut self, depth: usize, out: &mut Vec<u8>) {
        match self.peek() {
            Some(b'{') => self.object(depth, out),
            Some(b'[') => self.array(depth, out),
            _ => self.scalar(out),
        }
    }

    /// Moves past the byte at hand where it is this one.
    fn eat(&mut self, byte: u8, out: &mut Vec<u8>) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            out.push(byte);
            self.at += 1;
        }
        found
    }

    fn object(&mut self, depth: usize, out: &mut Vec<u8>) {
        self.eat(b'{', out);
        if self.peek() == Some(b'}') {
            out.push(b'\n');
        }
        while self.peek().is_some_and(|byte| byte != b'}') {
            self.indent.new_line(depth + 1, out);
            self.scalar(out);
            if self.eat(b':', out) {
                out.push(b' ');
            }
            self.value(depth + 1, out);
            if !self.eat(b',', out) {
                break;
            }
        }
        self.indent.new_line(depth, out);
        self.eat(b'}', out);
    }

    fn array(&mut self, depth: usize, out: &mut Vec<u8>) {
        let is_split = self.is_of_nested();
        self.eat(b'[', out);
        while self.peek().is_some_and(|byte| byte != b']') {
            if is_split {
                self.indent.new_line(depth + 1, out);
            }
            self.value(depth + 1, out);
            if !self.eat(b',', out) {
                break;
            }
        }
        if is_split {
            self.indent.new_line(depth, out);
        }
        self.eat(b']', out);
    }

    /// Appends a text or a word.
    fn scalar(&mut self, out: &mut Vec<u8>) {
        let rest = self.json.get(self.at..).unwrap_or_default();
        let length = scalar_length(rest);
        out.extend_from_slice(rest.get(..length).unwrap_or_default());
        self.at += length;
    }

    /// Whether all items of the array at hand are objects, or all are arrays.
    fn is_of_nested(&self) -> bool {
        let mut rest = self.json.get(self.at + 1..).unwrap_or_default();
        let first = rest.first().copied();
        if !matches!(first, Some(b'{' | b'[')) {
            return false;
        }
        let mut depth = 0_usize;
        let mut is_begin = true;
        while let Some(byte) = rest.first().copied() {
            if std::mem::take(&mut is_begin) && depth == 0 && Some(byte) != first {
                return false;
            }
            let mut length = 1;
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return true,
                b'}' | b']' => depth -= 1,
                b',' => is_begin = depth == 0,
                b':' => {}
                _ => length = scalar_length(rest),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        true
    }
}

/// The bytes of a text or a word, at least one.
fn scalar_length(json: &[u8]) -> usize {
    if json.first() != Some(&b'"') {
        let is_end = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b'{' | b'[');
        return json.iter().position(is_end).unwrap_or(json.len()).max(1).min(json.len());
    }
    let mut at = 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_over_lines() {
        for (json, lines) in [
            (r#"{"a":1,"b":"}\""}"#, "{\n \"a\": 1,\n \"b\": \"}\\\"\"\n}"),
            ("{}", "{\n\n}"),
            ("[1,\"x\"]", "[1,\"x\"]"),
            ("[[1],[]]", "[\n [1],\n []\n]"),
            (r#"[{"a":[1,{"b":2}]}]"#, "[\n {\n  \"a\": [1,{\n    \"b\": 2\n   }]\n }\n]"),
            ("null", "null"),
        ] {
            let mut out = Vec::new();
            append(json.as_bytes(), Indent(" "), 0, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), lines, "{json}");
        }
    }
}
