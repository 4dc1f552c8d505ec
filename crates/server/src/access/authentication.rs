//! How a user proves who it is. Passwords are kept as hashes; comparisons take the same time whatever differs.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::certificate::CertificateNames;

/// The rounds of SCRAM, as ClickHouse counts them.
const SCRAM_ROUNDS: u32 = 4096;

/// What a client shows to prove who it is.
#[derive(Clone, Copy, Debug)]
pub enum Proof<'a> {
    /// A password.
    Password(&'a [u8]),
    /// The names in a certificate that the server's authorities have signed.
    Certificate(&'a CertificateNames),
}

/// What a proof is checked against.
#[derive(Clone, PartialEq, Eq)]
pub enum Authentication {
    /// Nothing is asked for.
    NoPassword,
    /// The password itself, as a configuration file has it.
    Plaintext(String),
    /// The SHA-256 of the password and a salt.
    Sha256([u8; 32], String),
    /// The SHA-1 of the SHA-1 of the password.
    DoubleSha1([u8; 20]),
    /// The password under bcrypt.
    Bcrypt(String),
    /// The salted password of SCRAM-SHA-256, and the salt.
    ScramSha256([u8; 32], String),
    /// A certificate with one of these names.
    Certificate(CertificateNames),
    /// A way that is not here: nobody gets in.
    Unsupported(&'static str),
}

impl fmt::Debug for Authentication {
    /// The kind only: passwords do not go to logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

/// One way to come in.
#[derive(Clone, Debug)]
pub struct Method {
    /// What is asked for.
    pub authentication: Authentication,
    /// Seconds since 1970 at which it ends; none is never.
    pub valid_until: Option<i64>,
    /// A mark of the password that was right last, so that a slow hash is computed once: see [`Method::check`].
    proven: std::sync::Arc<AtomicU64>,
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.authentication == other.authentication && self.valid_until == other.valid_until
    }
}

impl From<Authentication> for Method {
    fn from(authentication: Authentication) -> Self {
        Self { authentication, valid_until: None, proven: Default::default() }
    }
}

/// What marks of passwords are made with; of this process alone.
static MARK_KEY: LazyLock<[u8; 32]> = LazyLock::new(rand::random);

impl Method {
    /// Whether the proof is right at a moment. A password under a slow hash that was right before is known again by a mark of 64 bits under a
    /// key that nobody knows: who guesses passwords cannot guess marks.
    pub fn check(&self, proof: Proof<'_>, now_seconds: i64) -> bool {
        if self.valid_until.is_some_and(|until| until <= now_seconds) {
            return false;
        }
        let mark = self.mark(proof);
        if mark.is_some_and(|mark| self.proven.load(Ordering::Relaxed) == mark) {
            return true;
        }
        let is_right = self.authentication.check(proof);
        if is_right && let Some(mark) = mark {
            self.proven.store(mark, Ordering::Relaxed);
        }
        is_right
    }

    /// Whether a check may take many milliseconds.
    pub fn is_slow(&self, proof: Proof<'_>) -> bool {
        self.mark(proof).is_some_and(|mark| self.proven.load(Ordering::Relaxed) != mark)
    }

    fn mark(&self, proof: Proof<'_>) -> Option<u64> {
        let (Authentication::Bcrypt(_) | Authentication::ScramSha256(..), Proof::Password(password)) =
            (&self.authentication, proof)
        else {
            return None;
        };
        let hash = Sha256::new().chain_update(*MARK_KEY).chain_update(password).finalize();
        let bytes = hash.get(..8)?.try_into().ok()?;
        // 0 is no mark.
        Some(u64::from_le_bytes(bytes).max(1))
    }
}

impl Authentication {
    /// `system.users`' name of the kind.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::NoPassword => "no_password",
            Self::Plaintext(_) => "plaintext_password",
            Self::Sha256(..) => "sha256_password",
            Self::DoubleSha1(_) => "double_sha1_password",
            Self::Bcrypt(_) => "bcrypt_password",
            Self::ScramSha256(..) => "scram_sha256_password",
            Self::Certificate(_) => "ssl_certificate",
            Self::Unsupported(name) => name,
        }
    }

    /// The number in `system.users.auth_type`.
    pub fn type_number(&self) -> i64 {
        match self.type_name() {
            "no_password" => 0,
            "plaintext_password" => 1,
            "sha256_password" => 2,
            "double_sha1_password" => 3,
            "ldap" => 4,
            "kerberos" => 5,
            "ssl_certificate" => 6,
            "bcrypt_password" => 7,
            "ssh_key" => 8,
            "http" => 9,
            "jwt" => 10,
            "scram_sha256_password" => 11,
            _ => 12,
        }
    }

    /// Whether who knows the user's name gets in.
    pub fn is_open(&self) -> bool {
        match self {
            Self::NoPassword => true,
            Self::Plaintext(password) => password.is_empty(),
            _ => false,
        }
    }

    /// Whether the proof is right.
    pub fn check(&self, proof: Proof<'_>) -> bool {
        let password = match (self, proof) {
            (Self::Certificate(wanted), Proof::Certificate(shown)) => return wanted.admit(shown),
            (_, Proof::Certificate(_)) => return false,
            (_, Proof::Password(password)) => password,
        };
        match self {
            // As in ClickHouse: a password given where none is asked for does no harm.
            Self::NoPassword => true,
            // Hashed first, so that neither length nor content shows in the time taken.
            Self::Plaintext(known) => same(&sha256(known.as_bytes(), ""), &sha256(password, "")),
            Self::Sha256(known, salt) => same(known, &sha256(password, salt)),
            Self::DoubleSha1(known) => same(known, &double_sha1(password)),
            Self::Bcrypt(known) => bcrypt::verify(password, known).unwrap_or(false),
            Self::ScramSha256(known, salt) => same(known, &scram_sha256(password, salt.as_bytes())),
            Self::Certificate(_) | Self::Unsupported(_) => false,
        }
    }

    /// The SHA-256 of a password with a new salt.
    pub fn of_password_sha256(password: &str) -> Self {
        let salt = new_salt();
        Self::Sha256(sha256(password.as_bytes(), &salt), salt)
    }

    /// The doubled SHA-1 of a password.
    pub fn of_password_double_sha1(password: &str) -> Self {
        Self::DoubleSha1(double_sha1(password.as_bytes()))
    }

    /// A password under bcrypt, of 2^`work` rounds; `None` where it cannot be: bcrypt takes 72 bytes.
    pub fn of_password_bcrypt(password: &str, work: u32) -> Option<Self> {
        if password.len() > 72 {
            return None;
        }
        bcrypt::hash(password, work.clamp(4, 31)).ok().map(Self::Bcrypt)
    }

    /// A password under SCRAM-SHA-256 with a new salt.
    pub fn of_password_scram(password: &str) -> Self {
        let salt = new_salt();
        Self::ScramSha256(scram_sha256(password.as_bytes(), salt.as_bytes()), salt)
    }
}

/// Bytes of hexadecimal digits; `None` where there are not exactly as many, or others.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let mut hash = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// Bytes as upper-case hexadecimal digits, as ClickHouse keeps them.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn new_salt() -> String {
    to_hex(&rand::random::<[u8; 32]>())
}

fn sha256(bytes: &[u8], salt: &str) -> [u8; 32] {
    Sha256::new().chain_update(bytes).chain_update(salt).finalize().into()
}

fn double_sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(Sha1::digest(bytes)).into()
}

/// PBKDF2 of one block, as RFC 5802 has it.
fn scram_sha256(password: &[u8], salt: &[u8]) -> [u8; 32] {
    let Ok(keyed) = Hmac::<Sha256>::new_from_slice(password) else { return [0; 32] };
    let mut round: [u8; 32] =
        keyed.clone().chain_update(salt).chain_update([0, 0, 0, 1]).finalize().into_bytes().into();
    let mut result = round;
    for _ in 1..SCRAM_ROUNDS {
        round = keyed.clone().chain_update(round).finalize().into_bytes().into();
        result.iter_mut().zip(round).for_each(|(byte, other)| *byte ^= other);
    }
    result
}

/// Equality without an early end.
fn same<const N: usize>(left: &[u8; N], right: &[u8; N]) -> bool {
    let difference = left.iter().zip(right).fold(0, |difference, (left, right)| difference | (left ^ right));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qwerty() -> Vec<Authentication> {
        let hex = "65e84be33532fb784c48129675f9eff3a682b27168c0ea744b2cf58ee02337c5";
        vec![
            Authentication::Plaintext("qwerty".to_owned()),
            Authentication::Sha256(from_hex(hex).unwrap(), String::new()),
            Authentication::of_password_sha256("qwerty"),
            Authentication::of_password_double_sha1("qwerty"),
            Authentication::of_password_bcrypt("qwerty", 4).unwrap(),
            Authentication::of_password_scram("qwerty"),
        ]
    }

    #[test]
    fn passwords_are_checked() {
        for authentication in qwerty() {
            let method = Method::from(authentication.clone());
            for _ in 0..2 {
                assert!(method.check(Proof::Password(b"qwerty"), 0), "{authentication:?}");
                assert!(!method.check(Proof::Password(b"qwert"), 0));
                assert!(!method.check(Proof::Password(b""), 0));
            }
            assert!(!format!("{method:?}").contains("qwerty"));
            assert!(!method.is_slow(Proof::Password(b"qwerty")));
            let ended = Method { valid_until: Some(100), ..method };
            assert!(ended.check(Proof::Password(b"qwerty"), 99) && !ended.check(Proof::Password(b"qwerty"), 100));
        }
        assert!(Authentication::NoPassword.check(Proof::Password(b"anything")));
        assert!(from_hex::<32>("abc").is_none() && from_hex::<32>(&"g".repeat(64)).is_none());
    }

    #[test]
    fn hashes_are_those_of_the_standards() {
        assert_eq!(to_hex(&double_sha1(b"qwerty")), "AA1420F182E88B9E5F874F6FBE7459291E8F4601");
        let salted = scram_sha256(b"pencil", b"W\"\xa1\\x");
        assert_eq!(salted, scram_sha256(b"pencil", b"W\"\xa1\\x"));
        assert_ne!(salted, scram_sha256(b"pencil", b"other"));
        assert!(Authentication::of_password_bcrypt(&"x".repeat(73), 4).is_none());
    }
}
