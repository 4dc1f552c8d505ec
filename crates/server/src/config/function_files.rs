//! Files that functions look into: lists of top-level domains, and regions with their names. They are read with the configuration.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_functions::TopLevelDomains;
use squall_functions::regions::{EmbeddedRegions, Regions, parse_region_names};
use squall_types::{Error, ErrorCode, Result};

use super::element::Element;

/// What the files say.
#[derive(Clone, Debug, Default)]
pub struct FunctionFiles {
    /// `top_level_domains_lists`, by name.
    pub top_level_domains: HashMap<String, Arc<TopLevelDomains>>,
    /// `path_to_regions_hierarchy_file` and `path_to_regions_names_files`.
    pub regions: Option<Arc<EmbeddedRegions>>,
}

impl FunctionFiles {
    /// Reads the files that the configuration names; `path` is the folder of data.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub(super) fn read(root: &Element, path: &Path) -> Result<Self> {
        let mut files = Self::default();
        if let Some(lists) = root.child("top_level_domains_lists") {
            let folder = root.child("top_level_domains_path").map_or("top_level_domains", Element::trimmed);
            let folder = path.join(folder);
            for list in &lists.children {
                let text = read(&folder.join(list.trimmed()))?;
                files.top_level_domains.insert(list.name.clone(), Arc::new(TopLevelDomains::parse(&text)));
            }
        }
        let file = |name: &str| root.child(name).map(Element::trimmed).filter(|file| !file.is_empty());
        if let (Some(hierarchy), Some(names)) =
            (file("path_to_regions_hierarchy_file"), file("path_to_regions_names_files"))
        {
            files.regions = Some(Arc::new(regions(&path.join(hierarchy), &path.join(names))?));
        }
        Ok(files)
    }

    /// Whether an element is read here.
    pub(super) fn reads(name: &str) -> bool {
        matches!(
            name,
            "top_level_domains_lists"
                | "top_level_domains_path"
                | "path_to_regions_hierarchy_file"
                | "path_to_regions_names_files"
        )
    }
}

/// The hierarchy of a file and those beside it, whose names go on with `_` and a key; and the names in a folder, `regions_names_en.txt`.
fn regions(hierarchy: &Path, names: &Path) -> Result<EmbeddedRegions> {
    let mut embedded = EmbeddedRegions::default();
    let hierarchy_of = |file: &Path| Ok::<_, Error>(Arc::new(Regions::parse(&read(file)?)));
    embedded.hierarchies.insert(String::new(), hierarchy_of(hierarchy)?);
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let prefix = stem(hierarchy) + "_";
    for file in files_in(hierarchy.parent().unwrap_or(Path::new(".")))? {
        if let Some(key) = stem(&file).strip_prefix(&prefix).filter(|_| file.extension() == hierarchy.extension()) {
            embedded.hierarchies.insert(key.to_owned(), hierarchy_of(&file)?);
        }
    }
    for file in files_in(names)? {
        if let Some(language) = stem(&file).strip_prefix("regions_names_") {
            embedded.names.insert(language.to_owned(), parse_region_names(&read(&file)?));
        }
    }
    Ok(embedded)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot read {}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|error| cannot_read(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| cannot_read(folder, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}
