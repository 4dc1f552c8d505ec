//! What a start would make of a configuration, found out without one.

use squall_types::Result;

use crate::access::AccessControl;
use crate::config::{Config, ConfigSource, Findings};

/// Reads a configuration with its users, and its certificates where it names some, as the start of a server does.
///
/// # Errors
/// Where the start would fail because something is wrong; what it would refuse because it guards something is among the findings.
pub fn check_config(source: &ConfigSource) -> Result<Findings> {
    let mut config = Config::read(source)?;
    AccessControl::configured(&config.users, &config.server.default_profile, &mut config.findings.warnings)?;
    if !config.is_certificate_generated {
        config.tls.server_config()?;
    }
    Ok(config.findings)
}
