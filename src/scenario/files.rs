//! Reads the text of scenario files from the disk or from the binary, without interpreting it.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use include_dir::{Dir, include_dir};
use yaml_reader::{MAX_BYTES, Source};

/// The scenarios that come with hapax.
pub(super) static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/scenarios");

/// The folder of a scenario; paths in the scenario are relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Folder {
    /// A folder on the disk, relative to `base`.
    Disk {
        /// The base of relative paths.
        base: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// A folder in the binary, by its path there.
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
                Ok(Source::new(shown_path(&path), shipped_text(&path)?))
            }
        }
    }
}

/// The text of a file in the binary.
pub(super) fn shipped_text(path: &Path) -> Result<String, String> {
    let file = SHIPPED.get_file(path).ok_or("no such file")?;
    Ok(file.contents_utf8().ok_or("not a UTF-8 text")?.to_owned())
}

/// The scenario file itself, or a file on the disk that a scenario in `folder` refers to. A file outside of
/// the folder, also one behind a link, can be any file of this machine: problems show none of its text.
pub(super) fn disk_source(folder: &Path, name: String, path: &Path) -> Result<Source, String> {
    let text = read_text(path)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_inside = match (std::fs::canonicalize(folder), std::fs::canonicalize(path)) {
        (Ok(folder), Ok(path)) => path.starts_with(folder),
        _ => false,
    };
    Ok(if is_inside { Source::new(name, text) } else { Source::withheld(name, text) })
}

/// How the name of a file in the binary begins: it is not a path on the disk.
pub(crate) const BUILT_IN: &str = "built in: ";

/// The name of a shipped file in messages.
pub(super) fn shown_path(path: &Path) -> String {
    format!("{BUILT_IN}{}", path.display())
}

/// The path without `.`, and without `..` if a folder precedes it.
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

/// A file that another file or the command line names, relative to a folder.
pub(crate) fn own_file(folder: &Path, path: &str) -> Result<Source, String> {
    read_text(&folder.join(path)).map(|text| Source::new(path, text))
}

/// Reads a file of the user. Refuses special files and files that are larger than the parser accepts.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let message = |error: std::io::Error| error.to_string();
    if !std::fs::metadata(path).map_err(message)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(message)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(message)?;
    if bytes.len() > MAX_BYTES {
        return Err(format!("the file is larger than the maximum of {MAX_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "not a UTF-8 text".to_owned())
}
