//! Which scenario files there are: in the binary, and in the files and folders that a user names. It opens
//! none of them.

use std::path::{Path, PathBuf};

use include_dir::Dir;

use crate::scenario::files::SHIPPED;

/// Where a user's own scenarios stand.
pub(super) const OWN: &str = "scenarios";
/// How many files are read, and how deep folders may be nested.
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 32;

/// A scenario file that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The scenario's name.
    pub(super) name: String,
    /// Where it stands.
    pub(super) place: Place,
}

/// Where a file stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// On the disk.
    Disk(PathBuf),
    /// In the binary.
    Shipped(PathBuf),
}

/// The scenarios in the binary.
pub(super) fn in_binary() -> Vec<Found> {
    fn gather(dir: &'static Dir<'static>, all: &mut Vec<Found>) {
        for file in dir.files().filter(|file| is_scenario_path(file.path())) {
            let path = file.path().to_owned();
            all.push(Found { name: name_of(&path), place: Place::Shipped(path) });
        }
        dir.dirs().for_each(|inner| gather(inner, all));
    }
    let mut all = Vec::new();
    gather(&SHIPPED, &mut all);
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// The scenarios in a file or a folder of the disk, seen from `base`; none where there is neither.
pub(super) fn on_disk(base: &Path, path: &Path) -> Result<Vec<Found>, String> {
    let full = base.join(path);
    let Ok(kind) = std::fs::metadata(&full) else { return Ok(Vec::new()) };
    if kind.is_file() {
        let name =
            below_scenarios(path).unwrap_or_else(|| PathBuf::from(path.file_name().unwrap_or_default()));
        return Ok(vec![Found { name: name_of(&name), place: Place::Disk(path.to_owned()) }]);
    }
    let mut paths = Vec::new();
    if kind.is_dir() {
        walk(base, path, 0, &mut paths)?;
    }
    let name = |file: &PathBuf| {
        let below = below_scenarios(file).or_else(|| file.strip_prefix(path).ok().map(Path::to_owned));
        name_of(&below.unwrap_or_else(|| file.clone()))
    };
    Ok(paths.iter().map(|file| Found { name: name(file), place: Place::Disk(file.clone()) }).collect())
}

/// All scenario files below a folder, sorted. Links to folders are not followed: they could lead in a circle.
fn walk(base: &Path, folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot read the folder {}: {error}", folder.display());
    if depth > DEEPEST {
        return Err(format!("folders are nested more than {DEEPEST} deep"));
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
        if paths.len() > MOST_FILES {
            return Err(format!("there are more than {MOST_FILES} files here"));
        }
    }
    Ok(())
}

fn is_scenario_path(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// What is below the innermost folder called `scenarios`.
fn below_scenarios(path: &Path) -> Option<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let last = parts.iter().rposition(|part| part.as_os_str() == OWN)?;
    (last + 1 < parts.len()).then(|| parts[last + 1..].iter().collect())
}

fn name_of(path: &Path) -> String {
    path.with_extension("").to_string_lossy().replace('\\', "/")
}
