//! Finds scenario files: in the binary, and in the files and folders that a user names. It opens none of
//! them.

use std::path::{Path, PathBuf};

use include_dir::Dir;

use crate::scenario::files::SHIPPED;

/// The folder of a user's own scenarios.
pub(super) const OWN: &str = "scenarios";
/// The largest number of files in a folder, at any depth.
const MAX_FILES: usize = 10_000;
/// The maximum depth of nested folders.
const MAX_DEPTH: usize = 32;

/// A scenario file that was found.
#[derive(Debug, Clone)]
pub(super) struct FoundFile {
    /// The scenario's name.
    pub(super) name: String,
    /// Where it comes from.
    pub(super) origin: Origin,
}

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// On the disk.
    Disk(PathBuf),
    /// In the binary.
    Shipped(PathBuf),
}

/// The scenarios in the binary.
pub(super) fn in_binary() -> Vec<FoundFile> {
    fn gather(dir: &'static Dir<'static>, all: &mut Vec<FoundFile>) {
        for file in dir.files().filter(|file| is_scenario_path(file.path())) {
            let path = file.path().to_owned();
            all.push(FoundFile { name: name_of(&path), origin: Origin::Shipped(path) });
        }
        dir.dirs().for_each(|inner| gather(inner, all));
    }
    let mut all = Vec::new();
    gather(&SHIPPED, &mut all);
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// The scenarios in a file or folder on the disk, relative to `base`; empty when the path does not exist.
pub(super) fn on_disk(base: &Path, path: &Path) -> Result<Vec<FoundFile>, String> {
    let full = base.join(path);
    let Ok(kind) = std::fs::metadata(&full) else { return Ok(Vec::new()) };
    if kind.is_file() {
        let name =
            below_scenarios(path).unwrap_or_else(|| PathBuf::from(path.file_name().unwrap_or_default()));
        return Ok(vec![FoundFile { name: name_of(&name), origin: Origin::Disk(path.to_owned()) }]);
    }
    let mut paths = Vec::new();
    if kind.is_dir() {
        walk(base, path, 0, &mut paths)?;
    }
    let name = |file: &PathBuf| {
        let below = below_scenarios(file).or_else(|| file.strip_prefix(path).ok().map(Path::to_owned));
        name_of(&below.unwrap_or_else(|| file.clone()))
    };
    Ok(paths.iter().map(|file| FoundFile { name: name(file), origin: Origin::Disk(file.clone()) }).collect())
}

/// All scenario files below a folder, sorted. Does not follow links to folders, because they can form a
/// cycle.
fn walk(base: &Path, folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot read folder {}: {error}", folder.display());
    if depth > MAX_DEPTH {
        return Err(format!("folders are nested more than {MAX_DEPTH} levels deep"));
    }
    let mut entries: Vec<_> =
        std::fs::read_dir(base.join(folder)).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = folder.join(entry.file_name());
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(base, &path, depth + 1, paths)?;
        } else if is_scenario_path(&path) {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            return Err(format!("more than {MAX_FILES} scenario files in this folder"));
        }
    }
    Ok(())
}

fn is_scenario_path(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The path below the innermost folder named `scenarios`.
fn below_scenarios(path: &Path) -> Option<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let last = parts.iter().rposition(|part| part.as_os_str() == OWN)?;
    (last + 1 < parts.len()).then(|| parts[last + 1..].iter().collect())
}

fn name_of(path: &Path) -> String {
    path.with_extension("").to_string_lossy().replace('\\', "/")
}
