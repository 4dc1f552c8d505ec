//! Where one backup lies: `Disk('backups', 'name')` or `File('name')`, a folder or, by the name's ending, an archive.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use squall_sql::ast::{self, Literal};
use squall_types::{Error, ErrorCode, Result};

use super::archive::ArchiveKind;
use super::config::BackupsConfig;

/// A place for a backup that the configuration allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// As it is written in statements.
    text: String,
    /// The folder or the archive's file.
    pub path: PathBuf,
    /// What the archive's files are encrypted with.
    pub password: Option<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Location {
    /// Reads what stands after TO, FROM and `base_backup =`.
    ///
    /// # Errors
    /// `INVALID_CONFIG_PARAMETER` where the configuration allows none, `BAD_ARGUMENTS` where it does not allow this one.
    pub fn read(function: &ast::Function, config: &BackupsConfig) -> Result<Self> {
        let arguments = function.arguments.iter().map(text).collect::<Result<Vec<String>>>()?;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let quoted: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
        let text = format!("{}({})", function.name, quoted.join(", "));
        let path = match (function.name.as_str(), &arguments[..]) {
            ("File", [path]) => file(Path::new(path), config)?,
            ("Disk", [disk, path]) => on_disk(disk, Path::new(path), config)?,
            ("File" | "Disk", _) => {
                let message = format!("Backup engine {} takes File('path') or Disk('disk', 'path')", function.name);
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
            ("S3" | "AzureBlobStorage" | "Memory" | "Null", _) => {
                return Err(Error::not_implemented(format!("Backup engine {}", function.name)));
            }
            _ => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Not found backup engine '{}'", function.name),
                ));
            }
        };
        Ok(Self { text, path, password: None })
    }

    /// The same place, of an archive with this password.
    #[must_use]
    pub fn with_password(self, password: Option<String>) -> Self {
        Self { password, ..self }
    }

    /// The archive that the name's ending asks for; `None` is a folder.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for archives that are not written here, `BAD_ARGUMENTS` for a password of what is not encrypted.
    pub fn archive(&self) -> Result<Option<ArchiveKind>> {
        let kind = ArchiveKind::of(&self.path)?;
        if self.password.is_some() && kind != Some(ArchiveKind::Zip) {
            let message = format!("Password is not applicable, {self} cannot be encrypted: only .zip archives can");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(kind)
    }
}

fn text(expression: &ast::Expression) -> Result<String> {
    match expression.as_literal() {
        Some(Literal::String(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        _ => Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Arguments of a backup engine must be strings")),
    }
}

fn file(path: &Path, config: &BackupsConfig) -> Result<PathBuf> {
    let Some(first) = config.allowed_paths.first() else {
        return Err(Error::new(
            ErrorCode::INVALID_CONFIG_PARAMETER,
            "The 'backups.allowed_path' configuration parameter is not set, cannot use 'File' backup engine.",
        ));
    };
    let path = plain(&first.join(path))?;
    if config.allowed_paths.iter().any(|allowed| path.starts_with(allowed) && path != *allowed) {
        return Ok(path);
    }
    Err(Error::new(
        ErrorCode::BAD_ARGUMENTS,
        format!(
            "Path '{}' is not allowed for backups, see the 'backups.allowed_path' configuration parameter",
            path.display()
        ),
    ))
}

fn on_disk(disk: &str, path: &Path, config: &BackupsConfig) -> Result<PathBuf> {
    if config.allowed_disks.is_empty() {
        return Err(Error::new(
            ErrorCode::INVALID_CONFIG_PARAMETER,
            "The 'backups.allowed_disk' configuration parameter is not set, cannot use 'Disk' backup engine.",
        ));
    }
    if !config.allowed_disks.iter().any(|allowed| allowed == disk) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Disk '{disk}' is not allowed for backups, see the 'backups.allowed_disk' configuration parameter"),
        ));
    }
    let folder = config.disks.get(disk).ok_or_else(|| {
        Error::new(
            ErrorCode::UNKNOWN_DISK,
            format!("Unknown disk {disk}: storage_configuration has no local disk of this name"),
        )
    })?;
    let within = plain(path)?;
    if within.is_absolute() || within.as_os_str().is_empty() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Path '{}' to backup must be inside the specified disk '{disk}'", path.display()),
        ));
    }
    Ok(folder.join(within))
}

/// The path without `.`; one that climbs with `..` is refused.
fn plain(path: &Path) -> Result<PathBuf> {
    if path.components().any(|component| component == Component::ParentDir) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Path '{}' to backup must not contain '..'", path.display()),
        ));
    }
    Ok(path.components().filter(|component| *component != Component::CurDir).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str, config: &BackupsConfig) -> Result<PathBuf> {
        let statement = squall_sql::parse(&format!("BACKUP TABLE t TO {text}"), &squall_sql::ParserLimits::default());
        let Ok(ast::Statement::Backup(backup)) = statement else { panic!("{text}") };
        Location::read(&backup.location, config).map(|location| location.path)
    }

    #[test]
    fn only_allowed_places_are_used() {
        let config = BackupsConfig {
            allowed_paths: vec!["/backups".into(), "/more".into()],
            allowed_disks: vec!["b".to_owned(), "unheard".to_owned()],
            disks: [("b".to_owned(), "/disk/b".into()), ("c".to_owned(), "/disk/c".into())].into(),
        };
        let nothing = BackupsConfig::default();
        assert_eq!(location("File('x/y')", &config).unwrap(), Path::new("/backups/x/y"));
        assert_eq!(location("File('/more/./x.tar.gz')", &config).unwrap(), Path::new("/more/x.tar.gz"));
        assert_eq!(location("Disk('b', 'x')", &config).unwrap(), Path::new("/disk/b/x"));
        for (text, config, code) in [
            ("File('x')", &nothing, ErrorCode::INVALID_CONFIG_PARAMETER),
            ("Disk('b', 'x')", &nothing, ErrorCode::INVALID_CONFIG_PARAMETER),
            ("File('/backups')", &config, ErrorCode::BAD_ARGUMENTS),
            ("File('/backupsx/y')", &config, ErrorCode::BAD_ARGUMENTS),
            ("File('../etc')", &config, ErrorCode::BAD_ARGUMENTS),
            ("File('/more/../etc')", &config, ErrorCode::BAD_ARGUMENTS),
            ("Disk('c', 'x')", &config, ErrorCode::BAD_ARGUMENTS),
            ("Disk('b', '/x')", &config, ErrorCode::BAD_ARGUMENTS),
            ("Disk('b', '')", &config, ErrorCode::BAD_ARGUMENTS),
            ("Disk('unheard', 'x')", &config, ErrorCode::UNKNOWN_DISK),
            ("File(1)", &config, ErrorCode::BAD_ARGUMENTS),
            ("File()", &config, ErrorCode::BAD_ARGUMENTS),
            ("S3('https://x')", &config, ErrorCode::NOT_IMPLEMENTED),
            ("Tape('x')", &config, ErrorCode::BAD_ARGUMENTS),
        ] {
            assert_eq!(location(text, config).unwrap_err().code, code, "{text}");
        }
    }
}
