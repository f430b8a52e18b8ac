//! Where the parts of a run are: in folders, in tar archives, or on standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::archive;
use crate::results::store::StoreError;

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
    pub fn find(paths: &[PathBuf], mut input: impl Read) -> Result<Self, StoreError> {
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
            let first = sources.parts.len();
            let found = match is_input {
                true => archive::unpack(&mut input, &to, first),
                false => File::open(path).and_then(|file| archive::unpack(file, &to, first)),
            }
            .map_err(failed)?;
            if found.is_empty() {
                let error = io::Error::new(io::ErrorKind::NotFound, "the archive holds no report.json");
                return Err(failed(error));
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
