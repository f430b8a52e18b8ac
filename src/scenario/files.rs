//! Scenario files where they stand: on the disk, or in the binary. It reads texts and knows nothing of what
//! they say.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use include_dir::{Dir, include_dir};
use mock_services::yaml::{MAX_BYTES, Source};

/// The scenarios that come with hapax.
pub(super) static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/scenarios");

/// The folder of a scenario, from which it can name other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Folder {
    /// One on the disk, as the user would name it, seen from `base`.
    Disk {
        /// Where paths begin.
        base: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// One in the binary, by its path there.
    Shipped(PathBuf),
}

impl Folder {
    /// The text of a file in this folder.
    pub(super) fn read(&self, path: &str) -> Result<Source, String> {
        match self {
            Folder::Disk { base, folder } => {
                let path = folder.join(path);
                disk_source(&base.join(folder), plain(&path).display().to_string(), &base.join(&path))
            }
            Folder::Shipped(folder) => {
                let path = plain(&folder.join(path));
                let file = SHIPPED.get_file(&path).ok_or("there is no such file")?;
                let text = file.contents_utf8().ok_or("it is no text")?;
                Ok(Source::new(shown_path(&path), text))
            }
        }
    }
}

/// A file on the disk that a scenario in `folder` names, or the scenario itself. What is outside of the
/// folder, a link that leads out of it included, may be any file of this machine: problems show none of its
/// text.
pub(super) fn disk_source(folder: &Path, name: String, path: &Path) -> Result<Source, String> {
    let text = read_text(path)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_inside = match (std::fs::canonicalize(folder), std::fs::canonicalize(path)) {
        (Ok(folder), Ok(path)) => path.starts_with(folder),
        _ => false,
    };
    Ok(if is_inside { Source::new(name, text) } else { Source::withheld(name, text) })
}

/// How a shipped file is called in messages.
pub(super) fn shown_path(path: &Path) -> String {
    Path::new("scenarios").join(path).display().to_string()
}

/// The path without `.`, and without `..` where it leads back.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            other => plain.push(other),
        }
        plain
    })
}

/// Reads a file from a user, but little more of it than the parser would take, and nothing that has no end.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let told = |error: std::io::Error| error.to_string();
    if !std::fs::metadata(path).map_err(told)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(told)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes, and at most so many are read"));
    }
    String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())
}
