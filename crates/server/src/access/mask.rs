//! Secrets in texts that others may see: in logs, in the process list, in SHOW CREATE. What stands where a password, a key or a token
//! stands is not shown.

use std::borrow::Cow;

use super::remote_hosts::shown as shown_url;

/// What stands in the place of a secret.
const HIDDEN: &str = "'[HIDDEN]'";
/// Words after which a string is a secret, in lower case. A word that ends so is one, too: `aws_secret_access_key`.
const SECRET_WORDS: &[&str] =
    &["password", "secret", "secret_access_key", "secret_key", "access_token", "token", "private_key", "api_key"];
/// Words that make it worth looking, in lower case.
const SUSPICIOUS: &[&str] =
    &["identified", "password", "secret", "token", "private_key", "api_key", "credentials", "header", "://"];

/// A text without its secrets.
pub fn masked(text: &str) -> Cow<'_, str> {
    if !is_suspicious(text) {
        return Cow::Borrowed(text);
    }
    let literals = squall_sql::normalize(text).literals;
    let is_about_users = has_word(text, "identified");
    let (mut out, mut end) = (String::new(), 0);
    for (start, stop) in literals {
        let (Some(before), Some(literal)) = (text.get(end..start), text.get(start..stop)) else { continue };
        out.push_str(before);
        end = stop;
        if !literal.starts_with('\'') {
            out.push_str(literal);
        } else if is_secret(&out, is_about_users) {
            out.push_str(HIDDEN);
        } else {
            out.push_str(&shown_url(literal));
        }
    }
    // A string without an end: of a statement that cannot be read, or was cut.
    let rest = text.get(end..).unwrap_or_default();
    match rest.find('\'') {
        Some(begin) => {
            out.push_str(rest.get(..begin).unwrap_or_default());
            out.push_str(HIDDEN);
        }
        None => out.push_str(rest),
    }
    Cow::Owned(out)
}

/// Whether there may be secrets in a text; where it is broken, nobody can tell which of its strings they are.
pub fn is_suspicious(text: &str) -> bool {
    // What only reads or fills tables names columns, not secrets.
    let first = text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    if ["SELECT", "INSERT", "WITH", "SHOW"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    SUSPICIOUS.iter().any(|word| memchr::memmem::find(lower.as_bytes(), word.as_bytes()).is_some())
}

fn has_word(text: &str, word: &str) -> bool {
    memchr::memmem::find(text.to_ascii_lowercase().as_bytes(), word.as_bytes()).is_some()
}

/// Whether a string that comes after this is a secret.
fn is_secret(before: &str, is_about_users: bool) -> bool {
    // A list of secrets: `BY 'a', 'b'`.
    let mut rest = before.trim_end();
    while let Some(shorter) = rest.strip_suffix(',').map(str::trim_end).and_then(|rest| rest.strip_suffix(HIDDEN)) {
        rest = shorter.trim_end();
    }
    let rest = rest.trim_end_matches(['=', '(', ' ', '\t', '\n', '`', '"']);
    let word_start = rest.rfind(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
    let word = rest.get(word_start..).unwrap_or_default().to_ascii_lowercase();
    if SECRET_WORDS.iter().any(|secret| word.ends_with(secret)) {
        return true;
    }
    match word.as_str() {
        // The last one is of a statement that cannot be read.
        "by" | "salt" | "key" | "identified" => is_about_users,
        // `HEADER(NAME 'Authorization' VALUE '…')`.
        "value" => has_word(before, "header"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        for (text, shown) in [
            (
                "CREATE USER u IDENTIFIED BY 'x' HOST IP '1.1.1.1'",
                "CREATE USER u IDENTIFIED BY '[HIDDEN]' HOST IP '1.1.1.1'",
            ),
            (
                "create user u identified with sha256_hash by 'AB' salt 'CD', bcrypt_password by 'it\\'s'",
                "create user u identified with sha256_hash by '[HIDDEN]' salt '[HIDDEN]', bcrypt_password by '[HIDDEN]'",
            ),
            (
                "SOURCE(CLICKHOUSE(USER 'u' PASSWORD 'p' DB 'd'))",
                "SOURCE(CLICKHOUSE(USER 'u' PASSWORD '[HIDDEN]' DB 'd'))",
            ),
            (
                "SOURCE(HTTP(URL 'http://a:b@c/d' HEADERS(HEADER(NAME 'N' VALUE 'v'))))",
                "SOURCE(HTTP(URL 'http://a:[HIDDEN]@c/d' HEADERS(HEADER(NAME 'N' VALUE '[HIDDEN]'))))",
            ),
            (
                "CREATE NAMED COLLECTION c AS aws_secret_access_key = 'k', b = 'x'",
                "CREATE NAMED COLLECTION c AS aws_secret_access_key = '[HIDDEN]', b = 'x'",
            ),
            ("CREATE USER u IDENTIFIED BY 'x", "CREATE USER u IDENTIFIED BY '[HIDDEN]'"),
            ("CREATE USER u IDENTIFIED 'x'", "CREATE USER u IDENTIFIED '[HIDDEN]'"),
            ("SELECT 'x' AS y ORDER BY 'z'", "SELECT 'x' AS y ORDER BY 'z'"),
            ("SELECT * FROM t WHERE password = 'abcdefgh'", "SELECT * FROM t WHERE password = 'abcdefgh'"),
        ] {
            assert_eq!(masked(text), shown);
            assert!(!text.starts_with("SELECT") || matches!(masked(text), Cow::Borrowed(_)));
        }
    }
}
