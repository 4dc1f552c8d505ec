//! How several configuration files become one tree, by ClickHouse's rules: files of `conf.d` and `config.d` beside the main one in
//! alphabetical order, `replace` and `remove`, then the substitutions `incl` and `from_env`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use squall_types::{Error, ErrorCode, Result};

use super::element::{Element, FILE_BYTES_MAX};

/// The file of substitutions where no `include_from` names one.
const INCLUDE_FROM_DEFAULT: &str = "/etc/metrika.xml";

/// A merged tree and what an operator should know of it.
#[derive(Debug)]
pub struct Merged {
    /// The root element.
    pub root: Element,
    /// The files that were read, the main one first.
    pub files: Vec<PathBuf>,
    /// Warnings, each with file and element.
    pub warnings: Vec<String>,
}

/// Reads `file`, merges the files beside it and substitutes.
///
/// # Errors
/// Where a file cannot be read or parsed, or a substitution that is not optional cannot be made.
pub fn load(file: &Path) -> Result<Merged> {
    let mut root = read(file)?;
    let mut files = vec![file.to_owned()];
    for beside in files_beside(file)? {
        let with = read(&beside)?;
        if !same_root(&root.name, &with.name) {
            return Err(with.error(format!("the root element must be <{}>, as in {}", root.name, file.display())));
        }
        merge(&mut root, with)?;
        files.push(beside);
    }
    let mut warnings = Vec::new();
    let include_from = match root.child("include_from") {
        Some(element) => {
            let mut element = element.clone();
            from_env(&mut element, &|name| std::env::var(name).ok())?;
            Some(file.parent().unwrap_or(Path::new(".")).join(element.trimmed()))
        }
        None => Some(PathBuf::from(INCLUDE_FROM_DEFAULT)).filter(|path| path.exists()),
    };
    let included = match include_from {
        Some(path) => {
            let included = read(&path)?;
            files.push(path);
            Some(included)
        }
        None => None,
    };
    substitute(&mut root, included.as_ref(), &|name| std::env::var(name).ok(), &mut warnings)?;
    Ok(Merged { root, files, warnings })
}

fn read(file: &Path) -> Result<Element> {
    let name = file.display().to_string();
    let fail = |error: std::io::Error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorCode::FILE_DOESNT_EXIST,
            _ => ErrorCode::CANNOT_OPEN_FILE,
        };
        Error::new(code, format!("Cannot read the configuration file {name}: {error}"))
    };
    let bytes = std::fs::metadata(file).map_err(fail)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(Error::new(
            ErrorCode::CANNOT_OPEN_FILE,
            format!("The configuration file {name} has {bytes} bytes, more than {FILE_BYTES_MAX}"),
        ));
    }
    Element::parse(&name, &std::fs::read_to_string(file).map_err(fail)?)
}

/// The files of `conf.d` and of the folder named as the file with `.d`, sorted by their whole path.
pub(super) fn files_beside(file: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![file.with_file_name("conf.d"), file.with_extension("d")];
    folders.dedup();
    for folder in folders {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                let message = format!("Cannot list the folder {}: {error}", folder.display());
                return Err(Error::new(ErrorCode::CANNOT_OPEN_FILE, message));
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_ours = path.extension().is_some_and(|extension| extension == "xml" || extension == "conf");
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_ours && !hidden && path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Both names of ClickHouse's root element are one.
fn same_root(left: &str, right: &str) -> bool {
    let own = |name| matches!(name, "clickhouse" | "yandex");
    left == right || (own(left) && own(right))
}

/// Merges `with` into `base`. An element meets the first of the same name and attributes that no earlier one has met; `replace`
/// takes its place, `remove` deletes it, otherwise their children are merged and its text gives way.
///
/// # Errors
/// Where an element has both attributes.
pub fn merge(base: &mut Element, with: Element) -> Result<()> {
    base.text = with.text;
    // Positions in `base.children` that are not met yet; a removed one leaves a gap until the end.
    let mut slots: Vec<Option<Element>> = std::mem::take(&mut base.children).into_iter().map(Some).collect();
    let mut met = vec![false; slots.len()];
    let mut appended = VecDeque::new();
    for mut child in with.children {
        let (remove, replace) = (child.flag("remove"), child.flag("replace"));
        if remove && replace {
            return Err(child.error("has both attributes, 'remove' and 'replace'"));
        }
        let found = slots.iter().zip(&met).position(|(slot, met)| {
            !met && slot.as_ref().is_some_and(|known| known.name == child.name && identity(known) == identity(&child))
        });
        match found {
            Some(at) => {
                met[at] = true;
                if remove {
                    slots[at] = None;
                } else if replace {
                    child.take_attribute("replace");
                    slots[at] = Some(child);
                } else if let Some(known) = &mut slots[at] {
                    for name in ["incl", "from_env", "optional"] {
                        if let Some(value) = child.take_attribute(name) {
                            known.take_attribute(name);
                            known.attributes.push((name.to_owned(), value));
                        }
                    }
                    known.origin = child.origin.clone();
                    merge(known, child)?;
                }
            }
            None if remove => {}
            None => {
                child.take_attribute("replace");
                appended.push_back(child);
            }
        }
    }
    base.children = slots.into_iter().flatten().chain(appended).collect();
    Ok(())
}

/// The attributes that tell elements of one name apart, sorted; not those that say how to merge.
fn identity(element: &Element) -> Vec<&(String, String)> {
    const HOW: [&str; 8] =
        ["replace", "remove", "incl", "from_env", "from_zk", "optional", "merge", "hide_in_preprocessed"];
    let mut attributes: Vec<_> = element.attributes.iter().filter(|(name, _)| !HOW.contains(&name.as_str())).collect();
    attributes.sort();
    attributes
}

/// Carries out `incl`, `from_env` and `<include>` in the whole tree.
fn substitute(
    element: &mut Element,
    included: Option<&Element>,
    environment: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    from_env(element, environment)?;
    if let Some(name) = element.take_attribute("from_zk")
        && !element.flag("optional")
    {
        return Err(element.error(format!("from_zk=\"{name}\": there is no ZooKeeper to read from")));
    }
    if let Some(name) = element.take_attribute("incl") {
        let replace = element.flag("replace");
        match included.and_then(|included| included.child(&name)) {
            Some(source) => {
                if replace {
                    element.children.clear();
                    element.text.clear();
                    element.take_attribute("replace");
                }
                if !source.text.is_empty() {
                    element.text.clone_from(&source.text);
                }
                element.children.extend(source.children.iter().cloned());
            }
            // Stock files name substitutions that nobody defines: that is only worth a warning where there is a file of them.
            None if included.is_none()
                || element.flag("optional")
                || !element.children.is_empty()
                || !element.text.is_empty() => {}
            None => warnings.push(format!("{}: element <{}>: Include not found: {name}", element.origin, element.name)),
        }
    }
    let mut children = Vec::with_capacity(element.children.len());
    for mut child in std::mem::take(&mut element.children) {
        substitute(&mut child, included, environment, warnings)?;
        if child.name == "include" {
            children.append(&mut child.children);
        } else {
            children.push(child);
        }
    }
    element.children = children;
    Ok(())
}

/// Gives an element the value of the environment variable that its `from_env` names.
fn from_env(element: &mut Element, environment: &dyn Fn(&str) -> Option<String>) -> Result<()> {
    let Some(name) = element.take_attribute("from_env") else { return Ok(()) };
    match environment(&name) {
        Some(value) => {
            if !element.text.is_empty() && !element.flag("replace") {
                return Err(element.error("has a value and no 'replace' attribute, so from_env cannot give it another"));
            }
            element.text = value;
            Ok(())
        }
        None if element.flag("optional") => Ok(()),
        None => Err(element.error(format!("the environment variable {name} is not set"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Element {
        Element::parse("f.xml", text).unwrap()
    }

    fn merged(base: &str, with: &str) -> Element {
        let mut base = parse(base);
        merge(&mut base, parse(with)).unwrap();
        base
    }

    fn show(element: &Element) -> String {
        let attributes: String = element.attributes.iter().map(|(name, value)| format!(" {name}='{value}'")).collect();
        let inside: String = element.children.iter().map(show).collect();
        format!("<{}{attributes}>{}{inside}</{}>", element.name, element.text, element.name)
    }

    #[test]
    fn elements_merge_by_name_and_attributes() {
        for (base, with, expected) in [
            ("<c><a>1</a></c>", "<c><a>2</a></c>", "<c><a>2</a></c>"),
            ("<c><a><x>1</x></a></c>", "<c><a><y>2</y></a></c>", "<c><a><x>1</x><y>2</y></a></c>"),
            ("<c><a><x>1</x></a></c>", "<c><a replace='1'><y>2</y></a></c>", "<c><a><y>2</y></a></c>"),
            ("<c><a>1</a><b>2</b></c>", "<c><a remove='1'/></c>", "<c><b>2</b></c>"),
            ("<c><a>1</a><a>2</a></c>", "<c><a>3</a></c>", "<c><a>3</a><a>2</a></c>"),
            ("<c><a>1</a></c>", "<c><a>2</a><a>3</a></c>", "<c><a>2</a><a>3</a></c>"),
            ("<c><a n='1'>1</a></c>", "<c><a n='2'>2</a></c>", "<c><a n='1'>1</a><a n='2'>2</a></c>"),
            ("<c/>", "<c><a replace='1'>2</a><b remove='1'/></c>", "<c><a>2</a></c>"),
        ] {
            assert_eq!(show(&merged(base, with)), expected, "{base} with {with}");
        }
        assert!(merge(&mut parse("<c/>"), parse("<c><a remove='1' replace='1'/></c>")).is_err());
    }

    #[test]
    fn substitutions_come_from_the_environment_and_from_a_file() {
        let environment = |name: &str| (name == "PORT").then(|| "8124".to_owned());
        let included = parse("<clickhouse><servers><one>1</one></servers></clickhouse>");
        let mut root = parse(
            "<c><p from_env='PORT'/><s incl='servers'/><t incl='none' optional='true'/><u incl='none'/><include incl='servers'/></c>",
        );
        let mut warnings = Vec::new();
        substitute(&mut root, Some(&included), &environment, &mut warnings).unwrap();
        assert_eq!(show(&root), "<c><p>8124</p><s><one>1</one></s><t optional='true'></t><u></u><one>1</one></c>");
        assert_eq!(warnings, ["f.xml:1: element <u>: Include not found: none"]);
        let mut missing = parse("<c><p from_env='NONE'/></c>");
        let error = substitute(&mut missing, None, &environment, &mut warnings).unwrap_err();
        assert!(error.message.contains("environment variable NONE"));
    }

    #[test]
    fn folders_beside_are_merged_in_order() {
        let folder = std::env::temp_dir().join(format!("squall-merge-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("config.d")).unwrap();
        std::fs::create_dir_all(folder.join("conf.d")).unwrap();
        let main = folder.join("config.xml");
        std::fs::write(&main, "<yandex><a>0</a></yandex>").unwrap();
        std::fs::write(folder.join("config.d/20.xml"), "<clickhouse><a>20</a></clickhouse>").unwrap();
        std::fs::write(folder.join("config.d/10.xml"), "<clickhouse><a>10</a><b>10</b></clickhouse>").unwrap();
        std::fs::write(folder.join("config.d/.hidden.xml"), "<clickhouse><a>no</a></clickhouse>").unwrap();
        std::fs::write(folder.join("config.d/note.txt"), "no").unwrap();
        std::fs::write(folder.join("conf.d/99.xml"), "<clickhouse><a>99</a><b>99</b></clickhouse>").unwrap();
        let merged = load(&main).unwrap();
        assert_eq!(show(&merged.root), "<yandex><a>20</a><b>10</b></yandex>");
        assert_eq!(merged.files.len(), 4);
        std::fs::write(folder.join("config.d/30.xml"), "<other/>").unwrap();
        assert!(load(&main).unwrap_err().message.contains("root element must be <yandex>"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
