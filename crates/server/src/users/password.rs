//! How a user proves who it is. Comparisons take the same time whatever differs.

use sha2::{Digest, Sha256};

use super::certificate::CertificateNames;

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
    /// The password itself.
    Plaintext(String),
    /// The SHA-256 of the password.
    Sha256([u8; 32]),
    /// A certificate with one of these names.
    Certificate(CertificateNames),
    /// A way that is not here: nobody gets in.
    Unsupported(&'static str),
}

impl std::fmt::Debug for Authentication {
    /// The kind only: passwords do not go to logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.type_name())
    }
}

impl Authentication {
    /// `system.users`' name of the kind.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::NoPassword => "no_password",
            Self::Plaintext(_) => "plaintext_password",
            Self::Sha256(_) => "sha256_password",
            Self::Certificate(_) => "ssl_certificate",
            Self::Unsupported(name) => name,
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
            Self::Plaintext(known) => same(&sha256(known.as_bytes()), &sha256(password)),
            Self::Sha256(known) => same(known, &sha256(password)),
            Self::Certificate(_) | Self::Unsupported(_) => false,
        }
    }

    /// Reads the 64 hexadecimal digits of `password_sha256_hex`.
    pub(super) fn sha256_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self::Sha256(hash))
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Equality without an early end.
fn same(left: &[u8; 32], right: &[u8; 32]) -> bool {
    let difference = left.iter().zip(right).fold(0, |difference, (left, right)| difference | (left ^ right));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_checked() {
        let hex = "65e84be33532fb784c48129675f9eff3a682b27168c0ea744b2cf58ee02337c5";
        for authentication in [Authentication::Plaintext("qwerty".to_owned()), Authentication::sha256_hex(hex).unwrap()]
        {
            assert!(authentication.check(Proof::Password(b"qwerty")));
            assert!(!authentication.check(Proof::Password(b"qwert")));
            assert!(!authentication.check(Proof::Password(b"")));
            assert!(!format!("{authentication:?}").contains("qwerty"));
        }
        assert!(Authentication::NoPassword.check(Proof::Password(b"anything")));
        assert!(Authentication::sha256_hex("abc").is_none());
        assert!(Authentication::sha256_hex(&"g".repeat(64)).is_none());
    }
}
