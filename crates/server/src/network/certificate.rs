//! A certificate that the server makes for itself, so that TLS can be tried without an authority.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use squall_types::{Error, ErrorCode, Result};
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::Oid;
use x509_parser::objects::{oid_registry, oid2sn};
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

/// The certificate's last year: far enough that no night ends because of it.
const LAST_YEAR: i32 = 2049;

/// Makes a key and a certificate for these host names and addresses, signed by itself, in two PEM files. Files that are there stay.
///
/// # Errors
/// Where the files cannot be written.
pub fn generate_certificate(certificate_file: &Path, private_key_file: &Path, names: Vec<String>) -> Result<()> {
    if certificate_file.exists() && private_key_file.exists() {
        return Ok(());
    }
    let cannot_sign = |error: rcgen::Error| {
        Error::new(ErrorCode::OPENSSL_ERROR, format!("Cannot generate a certificate for {}: {error}", names.join(", ")))
    };
    let mut parameters = CertificateParams::new(names.clone()).map_err(cannot_sign)?;
    parameters.distinguished_name.push(DnType::CommonName, names.first().map_or("Squall", String::as_str));
    parameters.not_after = date_time_ymd(LAST_YEAR, 12, 31);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(cannot_sign)?;
    let certificate = parameters.self_signed(&key).map_err(cannot_sign)?;
    write(private_key_file, &key.serialize_pem(), 0o600)?;
    write(certificate_file, &certificate.pem(), 0o644)?;
    tracing::info!(target: "CertificateReloader", "Generated the certificate {} for {}", certificate_file.display(), names.join(", "));
    Ok(())
}

/// What the first certificate of a PEM file says of itself, as `showCertificate()` names it.
///
/// # Errors
/// Where the file cannot be read or holds no certificate.
pub fn certificate_entries(file: &Path) -> Result<Vec<(&'static str, String)>> {
    let wrong = |error: &dyn Display| {
        Error::new(ErrorCode::OPENSSL_ERROR, format!("The certificate {}: {error}", file.display()))
    };
    let der = CertificateDer::from_pem_file(file).map_err(|error| wrong(&error))?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|error| wrong(&error))?;
    let name = |name: &X509Name<'_>| format!("/{}", name.to_string().replace(", ", "/"));
    let algorithm = |oid: &Oid<'_>| match oid2sn(oid, oid_registry()) {
        Ok(known) => known.to_owned(),
        Err(_) => oid.to_id_string(),
    };
    Ok(vec![
        ("version", certificate.version().0.saturating_add(1).to_string()),
        ("serial_number", certificate.raw_serial_as_string().replace(':', "").to_ascii_uppercase()),
        ("signature_algo", algorithm(&certificate.signature_algorithm.algorithm)),
        ("issuer", name(certificate.issuer())),
        ("not_before", moment(certificate.validity().not_before.timestamp())),
        ("not_after", moment(certificate.validity().not_after.timestamp())),
        ("subject", name(certificate.subject())),
        ("pkey_algo", algorithm(&certificate.public_key().algorithm.algorithm)),
    ])
}

/// Seconds since 1970 as OpenSSL writes a time.
fn moment(seconds: i64) -> String {
    match chrono::DateTime::from_timestamp(seconds, 0) {
        Some(time) => time.format("%b %e %H:%M:%S %Y GMT").to_string(),
        None => seconds.to_string(),
    }
}

fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())
    });
    written.map_err(|error| {
        Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot write the file {}: {error}", path.display()))
    })
}
