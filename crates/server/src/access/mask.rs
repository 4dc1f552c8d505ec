//! Secrets in texts that others may see: in logs, in the process list, in SHOW CREATE, in errors. What stands where a password, a key or a
//! token stands is not shown. It works on tokens, so that a statement which cannot be read is treated like any other.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use squall_sql::{PlainKind, plain_tokens};

/// What stands in the place of a secret.
const HIDDEN: &str = "'[HIDDEN]'";
/// Words after which a string is a secret, in lower case. A word that ends so is one, too: `aws_secret_access_key`.
const SECRET_WORDS: &[&str] =
    &["password", "secret", "secret_access_key", "secret_key", "access_token", "token", "private_key", "api_key"];
/// Words that make it worth looking at a statement that is no query, in lower case.
const SUSPICIOUS: &[&str] =
    &["identified", "password", "secret", "token", "private_key", "api_key", "credentials", "header", "collection"];

/// Functions and engines that take secrets among their arguments, in lower case, and which those are.
const CALLS: &[(&str, Secrets)] = &[
    ("remote", Secrets::OfRemote),
    ("remotesecure", Secrets::OfRemote),
    ("mysql", Secrets::At(&[4])),
    ("postgresql", Secrets::At(&[4])),
    ("mongodb", Secrets::At(&[4])),
    // As a function, and as an engine.
    ("redis", Secrets::At(&[2, 4])),
    ("s3", Secrets::OfS3(0)),
    ("s3queue", Secrets::OfS3(0)),
    ("gcs", Secrets::OfS3(0)),
    ("oss", Secrets::OfS3(0)),
    ("cosn", Secrets::OfS3(0)),
    ("hudi", Secrets::OfS3(0)),
    ("deltalake", Secrets::OfS3(0)),
    ("deltalakes3", Secrets::OfS3(0)),
    ("iceberg", Secrets::OfS3(0)),
    ("icebergs3", Secrets::OfS3(0)),
    ("paimon", Secrets::OfS3(0)),
    ("s3cluster", Secrets::OfS3(1)),
    ("hudicluster", Secrets::OfS3(1)),
    ("deltalakecluster", Secrets::OfS3(1)),
    ("icebergcluster", Secrets::OfS3(1)),
    ("icebergs3cluster", Secrets::OfS3(1)),
    ("azureblobstorage", Secrets::At(&[4])),
    ("azurequeue", Secrets::At(&[4])),
    ("icebergazure", Secrets::At(&[4])),
    ("azureblobstoragecluster", Secrets::At(&[5])),
    ("encrypt", Secrets::From(1)),
    ("decrypt", Secrets::From(1)),
    ("trydecrypt", Secrets::From(1)),
    ("aes_encrypt_mysql", Secrets::From(1)),
    ("aes_decrypt_mysql", Secrets::From(1)),
    // `headers('Authorization' = '…')`.
    ("headers", Secrets::AfterEquals),
];

/// Which arguments of a call are secrets, counted from 0.
#[derive(Clone, Copy)]
enum Secrets {
    At(&'static [usize]),
    From(usize),
    /// After a URL in this place: the second of two keys, and a token that may follow them. A format there, or the word that says that there are
    /// none, is no key.
    OfS3(usize),
    /// After an address and a table: what follows the user's name.
    OfRemote,
    AfterEquals,
}

/// What one of the patterns below needs: every text is looked through for it, few have it.
static CANDIDATES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    Regex::new(&format!("(?i)://|password|pwd|accountkey|sharedaccess|{}", names.join("|"))).ok()
});
/// A call that may have secrets among its arguments.
static SUSPICIOUS_CALLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    Regex::new(&format!(r"(?i)\b(?:{})\b", names.join("|"))).ok()
});
/// Such a call with its bracket: messages also name functions alone.
static QUOTED_CALLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    Regex::new(&format!(r#"(?is)[`"]?\b(?:{})\b[`"]?\s*(?:/\*.*?\*/\s*)*\("#, names.join("|"))).ok()
});
/// A user's name with a password before a host.
static USERINFO: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"://([^\s:/@'?#]*):[^\s@']+@").ok());
/// A string that is a connection string with a password.
static CONNECTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)'[^']*\b(?:password|pwd|accountkey|sharedaccesssignature)\s*=").ok());

fn finds(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// A text without its secrets.
pub fn masked(text: &str) -> Cow<'_, str> {
    let is_definition = is_suspicious_definition(text);
    if is_definition || has_secrets_of_calls(text) {
        Cow::Owned(Mask::new(text, is_definition).run())
    } else {
        Cow::Borrowed(text)
    }
}

/// The message of an error without the secrets of the statement that it quotes.
pub fn masked_message(message: &str) -> Cow<'_, str> {
    let call = QUOTED_CALLS.as_ref().and_then(|calls| calls.find(message));
    let (before, from_call) = message.split_at(call.map_or(message.len(), |call| call.start()));
    match (without_userinfo(before), from_call) {
        (before, "") => before,
        (before, from_call) => Cow::Owned(format!("{before}{}", Mask::new(from_call, false).run())),
    }
}

/// Whether there may be secrets in a text; where it is broken, nobody can tell which of its strings they are.
pub fn is_suspicious(text: &str) -> bool {
    is_suspicious_definition(text) || has_secrets_of_calls(text)
}

fn has_secrets_of_calls(text: &str) -> bool {
    finds(&CANDIDATES, text) && [&SUSPICIOUS_CALLS, &USERINFO, &CONNECTION].iter().any(|pattern| finds(pattern, text))
}

/// Whether a text is a statement that words tell the secrets of. What only reads or fills tables names columns by such words.
fn is_suspicious_definition(text: &str) -> bool {
    let first = text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    if ["SELECT", "INSERT", "WITH", "SHOW"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    SUSPICIOUS.iter().any(|word| memchr::memmem::find(lower.as_bytes(), word.as_bytes()).is_some())
}

/// `scheme://user:password@host` without the password.
fn without_userinfo(text: &str) -> Cow<'_, str> {
    match &*USERINFO {
        Some(pattern) => pattern.replace_all(text, "://$1:[HIDDEN]@"),
        None => Cow::Borrowed(text),
    }
}

/// A text on its way to one without secrets.
struct Mask<'a> {
    text: &'a str,
    /// Whether words tell what is a secret.
    is_definition: bool,
    /// The brackets that are open.
    calls: Vec<Call>,
    /// What the next string would be the value of: the last word, where nothing but `=`, brackets and secrets came since.
    word: String,
    is_about_users: bool,
    is_about_headers: bool,
    is_named_collection: bool,
}

/// A bracket that is open, and what stands before it.
struct Call {
    name: String,
    argument: usize,
    /// Whether the second argument names a database and a table at once.
    names_whole_table: bool,
    /// Whether what follows a URL of S3 is no key.
    has_no_keys: bool,
    is_after_equals: bool,
}

impl Call {
    fn secrets(&self) -> Option<Secrets> {
        CALLS.iter().find(|(name, _)| *name == self.name).map(|(_, secrets)| *secrets)
    }

    /// Whether a string is a secret as an argument.
    fn hides(&self, own: &str) -> bool {
        match self.secrets() {
            Some(Secrets::OfS3(url)) => match self.argument.checked_sub(url) {
                Some(2) => !self.has_no_keys,
                Some(3) => !self.has_no_keys && !is_format(own),
                _ => false,
            },
            Some(Secrets::At(arguments)) => arguments.contains(&self.argument),
            Some(Secrets::From(first)) => self.argument >= first,
            Some(Secrets::OfRemote) => self.argument >= if self.names_whole_table { 3 } else { 4 },
            Some(Secrets::AfterEquals) => self.is_after_equals,
            None => false,
        }
    }
}

/// Whether an argument is a format's name, or `NOSIGN`, where a key might stand.
fn is_format(own: &str) -> bool {
    let text = own.trim_matches(['\'', '`', '"']);
    text == "NOSIGN" || text.eq_ignore_ascii_case("auto") || squall_formats::check_format(text).is_ok()
}

impl<'a> Mask<'a> {
    fn new(text: &'a str, is_definition: bool) -> Self {
        Self {
            text,
            is_definition,
            calls: Vec::new(),
            word: String::new(),
            is_about_users: false,
            is_about_headers: false,
            is_named_collection: false,
        }
    }

    fn run(mut self) -> String {
        let (mut out, mut end) = (String::with_capacity(self.text.len()), 0);
        let mut previous = PlainKind::Other;
        let mut was_hidden = false;
        for token in plain_tokens(self.text) {
            let Some(own) = self.text.get(token.start..token.end) else { continue };
            // Between tokens are blanks and comments.
            out.push_str(&without_userinfo(self.text.get(end..token.start).unwrap_or_default()));
            end = token.end;
            let is_value = matches!(token.kind, PlainKind::String)
                || (self.is_named_collection && token.kind == PlainKind::Number);
            let hides = is_value && self.is_secret(own);
            match token.kind {
                PlainKind::String | PlainKind::Number if hides => out.push_str(HIDDEN),
                _ => out.push_str(&without_userinfo(own)),
            }
            self.go_on(token.kind, own, previous, was_hidden, hides);
            (previous, was_hidden) = (token.kind, hides);
        }
        out.push_str(&without_userinfo(self.text.get(end..).unwrap_or_default()));
        out
    }

    /// Whether a string is a secret where it stands.
    fn is_secret(&self, own: &str) -> bool {
        let quote = own.chars().next().unwrap_or_default();
        let has_no_end = matches!(quote, '\'' | '\u{2018}')
            && (own.len() < 2 || !own.ends_with(['\'', '\u{2019}']) || own.ends_with("\\'"));
        let in_call = match self.calls.last() {
            // The names of headers are none, whatever stands around them.
            Some(call) if matches!(call.secrets(), Some(Secrets::AfterEquals)) => call.hides(own),
            _ => self.calls.iter().any(|call| call.hides(own)),
        };
        let is_value_in_call = self.calls.last().is_some_and(|call| call.secrets().is_some()) && self.is_secret_word();
        let by_word = self.is_definition && (self.is_secret_word() || self.is_secret_of_statement());
        has_no_end || in_call || is_value_in_call || by_word || self.is_named_collection || finds(&CONNECTION, own)
    }

    fn is_secret_word(&self) -> bool {
        SECRET_WORDS.iter().any(|secret| self.word.ends_with(secret))
    }

    fn is_secret_of_statement(&self) -> bool {
        match self.word.as_str() {
            // The last one is of a statement that cannot be read.
            "by" | "salt" | "key" | "identified" => self.is_about_users,
            // `HEADER(NAME 'Authorization' VALUE '…')`.
            "value" => self.is_about_headers,
            _ => false,
        }
    }

    /// What follows from a token for those after it.
    fn go_on(&mut self, kind: PlainKind, own: &str, previous: PlainKind, was_hidden: bool, is_hidden: bool) {
        let names_table = |call: &mut Call| call.names_whole_table |= call.argument == 1;
        if matches!(kind, PlainKind::Word | PlainKind::String)
            && let Some(call) = self.calls.last_mut()
            && matches!(call.secrets(), Some(Secrets::OfS3(url)) if call.argument == url + 1)
        {
            call.has_no_keys |= is_format(own);
        }
        match kind {
            PlainKind::Word => {
                let word = own.trim_matches(['`', '"']).to_ascii_lowercase();
                self.is_named_collection |= self.is_definition && word == "collection" && self.word == "named";
                self.is_about_users |= word == "identified";
                self.is_about_headers |= word.contains("header");
                self.word = word;
            }
            PlainKind::Open => {
                if let Some(outer) = self.calls.last_mut() {
                    names_table(outer);
                }
                let name = if previous == PlainKind::Word { self.word.clone() } else { String::new() };
                self.calls.push(Call {
                    name,
                    argument: 0,
                    names_whole_table: false,
                    has_no_keys: false,
                    is_after_equals: false,
                });
            }
            PlainKind::Close => {
                self.calls.pop();
                self.word.clear();
            }
            PlainKind::Comma => {
                if let Some(call) = self.calls.last_mut() {
                    call.argument += 1;
                    call.is_after_equals = false;
                }
                // A list of secrets: `BY 'a', 'b'`.
                if !was_hidden {
                    self.word.clear();
                }
            }
            PlainKind::Equals => {
                if let Some(call) = self.calls.last_mut() {
                    call.is_after_equals = true;
                }
            }
            PlainKind::Dot => self.calls.last_mut().into_iter().for_each(names_table),
            PlainKind::String if is_hidden => {}
            PlainKind::String => {
                if own.contains('.') {
                    self.calls.last_mut().into_iter().for_each(names_table);
                }
                self.word.clear();
            }
            PlainKind::Number | PlainKind::Other => self.word.clear(),
        }
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
            ("CREATE USER u IDENTIFIED BY /* ' */ 'x'", "CREATE USER u IDENTIFIED BY /* ' */ '[HIDDEN]'"),
            ("CREATE USER u IDENTIFIED BY $$x$$", "CREATE USER u IDENTIFIED BY '[HIDDEN]'"),
            ("CREATE USER u IDENTIFIED BY \u{2018}x\u{2019}", "CREATE USER u IDENTIFIED BY '[HIDDEN]'"),
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
                "CREATE NAMED COLLECTION c AS aws_secret_access_key = 'k', b = 'x', n = 17",
                "CREATE NAMED COLLECTION c AS aws_secret_access_key = '[HIDDEN]', b = '[HIDDEN]', n = '[HIDDEN]'",
            ),
            ("CREATE USER u IDENTIFIED BY 'x", "CREATE USER u IDENTIFIED BY '[HIDDEN]'"),
            ("CREATE USER u IDENTIFIED 'x'", "CREATE USER u IDENTIFIED '[HIDDEN]'"),
            (
                "BACKUP ALL TO File('b.zip') SETTINGS password = 'x'",
                "BACKUP ALL TO File('b.zip') SETTINGS password = '[HIDDEN]'",
            ),
            ("SELECT 'x' AS y ORDER BY 'z'", "SELECT 'x' AS y ORDER BY 'z'"),
            ("SELECT * FROM t WHERE password = 'abcdefgh'", "SELECT * FROM t WHERE password = 'abcdefgh'"),
        ] {
            assert_eq!(masked(text), shown);
            assert!(!text.starts_with("SELECT") || matches!(masked(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn secrets_of_functions_are_not_shown() {
        for (text, shown) in [
            ("SELECT * FROM remote('h', d, t, 'u', 'p')", "SELECT * FROM remote('h', d, t, 'u', '[HIDDEN]')"),
            ("SELECT * FROM remote('h', d.t, 'u', 'p')", "SELECT * FROM remote('h', d.t, 'u', '[HIDDEN]')"),
            ("SELECT * FROM remote('h', 'd.t', 'u', 'p')", "SELECT * FROM remote('h', 'd.t', 'u', '[HIDDEN]')"),
            (
                "SELECT * FROM Remote /* ( */ ('h', view(SELECT 1, 2), 'u', 'p'",
                "SELECT * FROM Remote /* ( */ ('h', view(SELECT 1, 2), 'u', '[HIDDEN]'",
            ),
            ("SELECT * FROM remoteSecure('h', d, t, 'u', 'p", "SELECT * FROM remoteSecure('h', d, t, 'u', '[HIDDEN]'"),
            ("INSERT INTO FUNCTION s3('u', 'k', 's', 'CSV')", "INSERT INTO FUNCTION s3('u', 'k', '[HIDDEN]', 'CSV')"),
            (
                "SELECT * FROM s3('u', 'k', 's', 't', CSV, 'x Int8')",
                "SELECT * FROM s3('u', 'k', '[HIDDEN]', '[HIDDEN]', CSV, 'x Int8')",
            ),
            ("SELECT * FROM s3('u', NOSIGN, 'CSV', 'x Int8')", "SELECT * FROM s3('u', NOSIGN, 'CSV', 'x Int8')"),
            ("SELECT * FROM gcs('u', 'auto', 'x Int8', 'gz')", "SELECT * FROM gcs('u', 'auto', 'x Int8', 'gz')"),
            (
                "SELECT * FROM s3Cluster('c', 'u', 'k', 's', 'TSV')",
                "SELECT * FROM s3Cluster('c', 'u', 'k', '[HIDDEN]', 'TSV')",
            ),
            (
                "SELECT * FROM s3(c, secret_access_key = 's', headers('a' = 'b'))",
                "SELECT * FROM s3(c, secret_access_key = '[HIDDEN]', headers('a' = '[HIDDEN]'))",
            ),
            (
                "SELECT * FROM `mysql`('h', 'd', 't', 'u', 'p', 1)",
                "SELECT * FROM `mysql`('h', 'd', 't', 'u', '[HIDDEN]', 1)",
            ),
            ("SELECT * FROM mysql(c, password = 'p')", "SELECT * FROM mysql(c, password = '[HIDDEN]')"),
            ("SELECT encrypt('aes-128-ecb', 'x', 'k')", "SELECT encrypt('aes-128-ecb', '[HIDDEN]', '[HIDDEN]')"),
            ("SELECT * FROM url('http://a:b@c/d', CSV)", "SELECT * FROM url('http://a:[HIDDEN]@c/d', CSV)"),
            ("SELECT * FROM odbc('DSN=x;PWD=y', 't')", "SELECT * FROM odbc('[HIDDEN]', 't')"),
            ("SELECT remote, mysql FROM t WHERE x = 'y'", "SELECT remote, mysql FROM t WHERE x = 'y'"),
            ("SELECT f('a', 'b', 'c', 'd', 'e')", "SELECT f('a', 'b', 'c', 'd', 'e')"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }

    #[test]
    fn errors_do_not_quote_secrets() {
        let message = "Table doesn't exist. In scope SELECT x FROM remote('h', d, t, 'u', 'p')";
        assert_eq!(
            masked_message(message),
            "Table doesn't exist. In scope SELECT x FROM remote('h', d, t, 'u', '[HIDDEN]')"
        );
        assert_eq!(
            masked_message("Function with name `encrypt` does not exist. In scope SELECT encrypt('aes', 'x', 'k')"),
            "Function with name `encrypt` does not exist. In scope SELECT encrypt('aes', '[HIDDEN]', '[HIDDEN]')"
        );
        assert_eq!(masked_message("Cannot read http://a:b@c/d"), "Cannot read http://a:[HIDDEN]@c/d");
        assert!(matches!(masked_message("It doesn't work"), Cow::Borrowed(_)));
    }
}
