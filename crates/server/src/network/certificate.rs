//! A certificate that the server makes for itself, so that TLS can be tried without an authority.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd};
use squall_types::{Error, ErrorCode, Result};

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

fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())
    });
    written.map_err(|error| {
        Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot write the file {}: {error}", path.display()))
    })
}
