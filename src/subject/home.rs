//! A home directory of its own: its files are written before the first start of a caller. What the subject writes into
//! it is kept, and nothing of the user's own configuration is in it.

use std::path::PathBuf;

use super::environment::filled;
use super::{Settings, Start};

/// Writes the files that are not there yet.
pub(super) fn write(settings: &Settings, start: &Start) -> Result<(), String> {
    let Some(files) = &settings.home else { return Ok(()) };
    let (home, work) = (start.home(), start.work_dir());
    let failed = |path: &PathBuf, error| format!("cannot write {}: {error}", path.display());
    for folder in [&home, &work] {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    }
    for (name, template) in files {
        let path = home.join(name);
        if path.exists() {
            continue;
        }
        let Some(text) = filled(template, settings, start) else {
            return Err(format!(
                "the file {name} of its home directory names a service that this case does not have; add it to every \
                 case (`--with SERVICE`), or its tools (`via: mcp`)"
            ));
        };
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written.and_then(|()| std::fs::write(&path, text)).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// The directory in which it starts.
pub(super) fn directory(settings: &Settings, start: &Start) -> Option<PathBuf> {
    settings.directory.clone().or_else(|| settings.home.as_ref().map(|_| start.work_dir()))
}
