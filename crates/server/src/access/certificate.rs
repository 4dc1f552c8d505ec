//! Whom a certificate names. A user may be known by a client's certificate instead of a password: that an authority of the server signed it
//! was seen in the handshake, and here it is only asked whose it is.

use std::collections::BTreeSet;

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// The names of a certificate, or those of which a user's must have one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CertificateNames {
    /// Common names of the subject.
    pub common_names: BTreeSet<String>,
    /// Alternative names of the subject, `DNS:host.example` or `URI:scheme://…`.
    pub alternative_names: BTreeSet<String>,
}

impl CertificateNames {
    /// The names in a certificate; none where it cannot be read.
    pub fn of_certificate(der: &[u8]) -> Self {
        let Ok((_, certificate)) = X509Certificate::from_der(der) else { return Self::default() };
        let common_names =
            certificate.subject().iter_common_name().filter_map(|name| Some(name.as_str().ok()?.to_owned()));
        let alternative = certificate.subject_alternative_name().ok().flatten();
        let alternative_names =
            alternative.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
                GeneralName::DNSName(name) => Some(format!("DNS:{name}")),
                GeneralName::URI(name) => Some(format!("URI:{name}")),
                _ => None,
            });
        Self { common_names: common_names.collect(), alternative_names: alternative_names.collect() }
    }

    /// Whether nobody is named.
    pub fn is_empty(&self) -> bool {
        self.common_names.is_empty() && self.alternative_names.is_empty()
    }

    /// Whether a certificate of these names has one of those asked for here. One `*` in what is asked for stands for anything but `/`.
    pub fn admit(&self, shown: &Self) -> bool {
        let any = |wanted: &BTreeSet<String>, shown: &BTreeSet<String>| {
            wanted.iter().any(|wanted| shown.iter().any(|shown| is_match(wanted, shown)))
        };
        any(&self.common_names, &shown.common_names) || any(&self.alternative_names, &shown.alternative_names)
    }
}

fn is_match(wanted: &str, shown: &str) -> bool {
    let Some((prefix, suffix)) = wanted.split_once('*') else { return wanted == shown };
    let anything = shown.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    anything.is_some_and(|anything| !anything.contains('/'))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn names(common: &[&str], alternative: &[&str]) -> CertificateNames {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        CertificateNames { common_names: owned(common), alternative_names: owned(alternative) }
    }

    #[test]
    fn certificates_tell_their_names() {
        let mut parameters = CertificateParams::new(vec!["a.example".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, "robot");
        parameters.distinguished_name.push(DnType::OrganizationName, "Example");
        parameters.subject_alt_names.push(SanType::URI("spiffe://x/y".try_into().unwrap()));
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let read = CertificateNames::of_certificate(certificate.der());
        assert_eq!(read, names(&["robot"], &["DNS:a.example", "URI:spiffe://x/y"]));
        assert!(CertificateNames::of_certificate(b"no certificate").is_empty());
    }

    #[test]
    fn one_name_is_enough_and_of_the_right_kind() {
        let shown = names(&["robot"], &["URI:spiffe://x/prod/report"]);
        for (wanted, is_admitted) in [
            (names(&["other", "robot"], &[]), true),
            (names(&["rob"], &[]), false),
            (names(&[], &["robot"]), false),
            (names(&[], &["URI:spiffe://x/*/report"]), true),
            (names(&[], &["URI:spiffe://*/report"]), false),
            (names(&[], &["URI:spiffe://x/prod/report*report"]), false),
            (names(&["*"], &[]), true),
            (names(&[], &[]), false),
        ] {
            assert_eq!(wanted.admit(&shown), is_admitted, "{wanted:?}");
        }
    }
}
