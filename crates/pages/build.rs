//! Bundles `web/` with npm and writes `assets.rs`, the list of its files. The work is done in Cargo's own folder, and only when a source
//! has changed. Where there is no Node.js, no npm or no network, the plain page of `plain/` is built in, and a warning says so. The
//! variable `SQUALL_PAGES` decides otherwise: `full` makes that an error, `plain` does not try.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the bundle is made of, in `web/`.
const SOURCES: [&str; 4] = ["build.mjs", "package.json", "package-lock.json", "src"];

fn main() -> Result<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let web = here.join("../../web");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", web.join(source).display());
    }
    println!("cargo:rerun-if-changed={}", here.join("plain").display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SQUALL_PAGES");
    let wanted = std::env::var("SQUALL_PAGES").unwrap_or_default();
    let bundled = if wanted == "plain" { Err("SQUALL_PAGES=plain".into()) } else { bundle(&web, &out.join("web")) };
    let list = match bundled {
        Ok(folder) => list_bundle(&folder)?,
        Err(why) if wanted == "full" => return Err(why),
        Err(why) => {
            println!(
                "cargo:warning=/play, /dashboard and /scheduler are built as plain pages: {why}. With Node.js 18 and npm, and \
                 SQUALL_PAGES=full to insist, they are whole."
            );
            list_plain(&here.join("plain"))?
        }
    };
    fs::write(out.join("assets.rs"), list)?;
    Ok(())
}

/// Runs npm and the bundler over a copy of the sources; the folder that they fill.
fn bundle(web: &Path, work: &Path) -> Result<PathBuf> {
    fs::create_dir_all(work)?;
    let _ = fs::remove_dir_all(work.join("src"));
    let lock_before = fs::read(work.join("package-lock.json")).unwrap_or_default();
    SOURCES.iter().try_for_each(|source| copy(&web.join(source), &work.join(source)))?;
    let lock = fs::read(work.join("package-lock.json"))?;
    let installed = work.join("node_modules/.package-lock.json");
    if lock != lock_before || !installed.exists() {
        // No script of a package runs, and nothing is asked for twice where there is no network.
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"];
        run(Command::new("npm").args(arguments).current_dir(work))?;
    }
    let dist = work.join("dist");
    let _ = fs::remove_dir_all(&dist);
    run(Command::new("node").args(["build.mjs", "dist"]).current_dir(work))?;
    Ok(dist)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program} cannot be run ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(5).collect();
    Err(format!("{program} failed ({})", lines.join("; ")).into())
}

/// The list of a bundle: each page is at its name, everything else under `/pages/` with a hash in its name.
fn list_bundle(folder: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let mut list = opening(false);
    for file in files {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { continue };
        match name.strip_suffix(".html") {
            Some(page) => add(&mut list, &format!("/{page}"), name, &file, true, false)?,
            None => add(&mut list, &format!("/pages/{name}"), name, &file, true, true)?,
        }
    }
    list.push_str("];\n");
    Ok(list)
}

/// The list of the plain page, which is in the place of all.
fn list_plain(folder: &Path) -> Result<String> {
    let mut list = opening(true);
    for page in ["/play", "/dashboard", "/scheduler"] {
        add(&mut list, page, "plain.html", &folder.join("plain.html"), false, false)?;
    }
    for file in ["plain.js", "plain.css"] {
        add(&mut list, &format!("/pages/{file}"), file, &folder.join(file), false, false)?;
    }
    list.push_str("];\n");
    Ok(list)
}

fn opening(is_plain: bool) -> String {
    format!(
        "/// Whether these are the plain pages, of a build without npm.\npub const IS_PLAIN: bool = {is_plain};\n\n\
         /// All files.\npub static ASSETS: &[Asset] = &[\n"
    )
}

fn add(list: &mut String, path: &str, name: &str, file: &Path, is_gzip: bool, is_immutable: bool) -> Result<()> {
    let content_type = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=UTF-8",
        Some("js") => "text/javascript; charset=UTF-8",
        Some("css") => "text/css; charset=UTF-8",
        Some("svg") => "image/svg+xml",
        _ => return Err(format!("{}: nobody knows its MIME type", file.display()).into()),
    };
    let file = file.canonicalize()?;
    writeln!(
        list,
        "    Asset {{ path: {path:?}, content_type: {content_type:?}, body: include_bytes!({:?}), is_gzip: {is_gzip}, \
         is_immutable: {is_immutable} }},",
        file.display().to_string()
    )?;
    Ok(())
}
