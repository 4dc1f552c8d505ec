//! `system.licenses`: the libraries that the server contains, from the NOTICE that comes with it.

use std::sync::Arc;

use squall_storage::Table;

use super::table::SystemTable;
use super::value::text;

/// What `scripts/notice.py` writes: of each library a line `name version: licence`, and below it, indented, whose it is.
const NOTICE: &str = include_str!("../../../../NOTICE");

/// A library of the notice.
struct Library {
    name: &'static str,
    license: &'static str,
    owners: Vec<&'static str>,
}

pub(super) fn licenses() -> Arc<dyn Table> {
    let table = SystemTable::new("licenses", || Ok(libraries(NOTICE)))
        .column("library_name", "String", |row: &Library| text(row.name))
        .column("license_type", "String", |row| text(row.license))
        .constant("license_path", "String", text("NOTICE"))
        .column("license_text", "String", |row| text(row.owners.join("\n")));
    Arc::new(table)
}

/// The libraries, up to the texts of their licences.
fn libraries(notice: &'static str) -> Vec<Library> {
    let mut libraries: Vec<Library> = Vec::new();
    for line in notice.lines().take_while(|line| !line.starts_with("---")) {
        if line.starts_with(' ') {
            if let Some(library) = libraries.last_mut() {
                library.owners.push(line.trim());
            }
        } else if let Some((library, license)) = line.split_once(": ")
            && let Some((name, version)) = library.split_once(' ')
            && version.starts_with(|first: char| first.is_ascii_digit())
            && !version.contains(' ')
        {
            libraries.push(Library { name, license, owners: Vec::new() });
        }
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_a_licence() {
        let libraries = libraries(NOTICE);
        assert!(libraries.len() > 100, "{}", libraries.len());
        assert!(libraries.iter().all(|library| !library.license.is_empty()));
        assert!(
            libraries.iter().any(|library| library.name == "arrow-array" && library.license.contains("Apache-2.0"))
        );
    }
}
