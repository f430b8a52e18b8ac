//! A clock that is a day ahead for one program: the library libfaketime is loaded before the others. A program that is
//! linked statically does not load it, and sees the true time.

use std::path::{Path, PathBuf};

use crate::process_env;

/// Names the library, where it is not in a usual place.
const LIBRARY_VARIABLE: &str = "HAPAX_LIBFAKETIME";
/// Where distributions put its folder.
const LIBRARY_FOLDERS: [&str; 3] = ["/usr/lib", "/usr/local/lib", "/usr/lib64"];
/// Its place below these, or below one more folder there.
const LIBRARY: &str = "faketime/libfaketime.so.1";
/// The variable with the libraries that are loaded first.
const PRELOAD: &str = "LD_PRELOAD";

/// The library of this machine.
///
/// # Errors
/// That there is none, and how to get it.
pub fn library() -> Result<PathBuf, String> {
    let named = process_env::text(LIBRARY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = named {
        return match path.is_file() {
            true => Ok(path),
            false => Err(format!("{LIBRARY_VARIABLE} names {}, which is not a file", path.display())),
        };
    }
    let below = |folder: &str| -> Vec<PathBuf> {
        let inner = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        [PathBuf::from(folder)].into_iter().chain(inner).collect()
    };
    let mut places =
        LIBRARY_FOLDERS.iter().flat_map(|folder| below(folder)).map(|folder| folder.join(LIBRARY));
    places.find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "the next day needs the library libfaketime: install it (the package `faketime` or `libfaketime`), or name \
             its file in {LIBRARY_VARIABLE}"
        )
    })
}

/// Sets the clock of a program with this environment a day ahead.
pub(super) fn set(env: &mut Vec<(String, String)>, library: &Path) {
    let library = library.to_string_lossy();
    let others = env.iter().find(|(name, _)| name == PRELOAD).map(|(_, others)| format!(":{others}"));
    let preload = format!("{library}{}", others.unwrap_or_default());
    env.retain(|(name, _)| name != PRELOAD);
    let variables = [
        (PRELOAD, preload.as_str()),
        ("FAKETIME", "+1d"),
        // The time that has passed stays true, and so do the times of files.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("NO_FAKE_STAT", "1"),
    ];
    env.extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_user_are_loaded_after_it() {
        let mut env = vec![(PRELOAD.to_owned(), "/a.so".to_owned()), ("HOME".to_owned(), "/".to_owned())];
        set(&mut env, Path::new("/f.so"));
        let preloads: Vec<&str> =
            env.iter().filter(|(name, _)| name == PRELOAD).map(|(_, value)| value.as_str()).collect();
        assert_eq!(preloads, ["/f.so:/a.so"]);
        assert!(env.contains(&("FAKETIME".to_owned(), "+1d".to_owned())), "{env:?}");
    }
}
