//! Where the parts of a run are: in folders, in tar archives, or on standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::archive;
use crate::results::store::{LEDGER_FILE, REPORT_FILE, StoreError};

/// A part, as a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSource {
    /// How the user named it.
    pub name: String,
    /// The folder that has its files.
    pub folder: PathBuf,
}

/// The parts that were named, and the folder into which archives were unpacked.
#[derive(Debug, Default)]
pub struct PartSources {
    /// In the order in which they were named.
    pub parts: Vec<PartSource>,
    /// Removed when it is dropped.
    pub unpacked: Option<TempDir>,
}

impl PartSources {
    /// Finds the parts: `-` is an archive on `input`, a file is an archive, and everything else is the folder of a part.
    ///
    /// # Errors
    /// When an archive cannot be read, or holds no run.
    pub fn find(paths: &[PathBuf], input: impl Read) -> Result<Self, StoreError> {
        PartSources::find_all(paths, input, None)
    }

    /// The same for parts that are folders of several runs, and have this file beside them.
    ///
    /// # Errors
    /// When an archive cannot be read, or holds no such part.
    pub fn find_with(marker: &str, paths: &[PathBuf], input: impl Read) -> Result<Self, StoreError> {
        PartSources::find_all(paths, input, Some(marker))
    }

    fn find_all(paths: &[PathBuf], mut input: impl Read, marker: Option<&str>) -> Result<Self, StoreError> {
        let files: Vec<&str> = [REPORT_FILE, LEDGER_FILE].into_iter().chain(marker).collect();
        let mut sources = PartSources::default();
        for path in paths {
            let is_input = path == Path::new("-");
            if !is_input && !path.is_file() {
                sources.parts.push(PartSource { name: path.display().to_string(), folder: path.clone() });
                continue;
            }
            let failed = |error| StoreError::Read { path: path.clone(), error };
            let to = match &sources.unpacked {
                Some(folder) => folder.path().to_owned(),
                None => sources.unpacked.insert(tempfile::tempdir().map_err(failed)?).path().to_owned(),
            };
            // Of one part there can be several numbered folders.
            let first = fs::read_dir(&to).map_err(failed)?.count();
            let found = match is_input {
                true => archive::unpack(&mut input, &to, first, &files),
                false => File::open(path).and_then(|file| archive::unpack(file, &to, first, &files)),
            }
            .map_err(failed)?;
            let found = match marker {
                Some(marker) => below(marker, found).map_err(failed)?,
                None => found,
            };
            if found.is_empty() {
                let missing = format!("the archive holds no {}", marker.unwrap_or(REPORT_FILE));
                return Err(failed(io::Error::new(io::ErrorKind::NotFound, missing)));
            }
            let shown = if is_input { "standard input".to_owned() } else { path.display().to_string() };
            sources.parts.extend(
                found
                    .into_iter()
                    .map(|(name, folder)| PartSource { name: format!("{shown}: {name}"), folder }),
            );
        }
        Ok(sources)
    }
}

/// The folders that have this file, with the other ones moved to where they are below them.
fn below(marker: &str, found: Vec<(String, PathBuf)>) -> io::Result<Vec<(String, PathBuf)>> {
    let (roots, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, folder)| folder.join(marker).is_file());
    for (name, folder) in others {
        let place = roots.iter().find_map(|(root, to)| {
            let relative = Path::new(&name).strip_prefix(root).ok()?;
            let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
            is_plain.then(|| to.join(relative))
        });
        if let Some(place) = place {
            fs::create_dir_all(&place)?;
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                fs::rename(entry.path(), place.join(entry.file_name()))?;
            }
        }
    }
    Ok(roots)
}
