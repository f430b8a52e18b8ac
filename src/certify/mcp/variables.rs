//! The variables of the environment that a server reads, found in its files: for a server that misses one of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The maximum number of files and of bytes that are read.
const MAX_FILES: usize = 2_000;
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The maximum number of variables that are named.
const MAX_NAMES: usize = 24;
/// What stands before the name of a variable.
const BEFORE: [&str; 7] = [
    "process.env.",
    "process.env[\"",
    "process.env['",
    "os.environ[\"",
    "os.environ['",
    "os.environ.get(",
    "os.getenv(",
];
/// Variables of the system and of the run time.
const COMMON: [&str; 12] = [
    "PATH",
    "HOME",
    "NODE_ENV",
    "DEBUG",
    "USER",
    "SHELL",
    "TERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CI",
    "PORT",
    "LOG_LEVEL",
];

/// Whether a text says that a credential is missing.
pub(super) fn needs_credential(text: &str) -> bool {
    const THINGS: [&str; 9] = [
        "api key",
        "api_key",
        "apikey",
        "token",
        "credential",
        "secret",
        "environment variable",
        "unauthorized",
        "authenticat",
    ];
    const MISSING: [&str; 9] =
        ["missing", "required", "not set", "not provided", "must be", "undefined", "no ", "invalid", "need"];
    let text = text.to_lowercase();
    THINGS.iter().any(|thing| text.contains(thing)) && MISSING.iter().any(|missing| text.contains(missing))
}

/// The variables that the program reads, sorted: those of its package, or of the files that the command names.
pub(super) fn read_by(program: &[String]) -> Vec<String> {
    let mut names = BTreeSet::new();
    let (mut files, mut bytes) = (0, 0);
    let mut waiting: Vec<PathBuf> = program.iter().filter_map(|word| source_of(Path::new(word))).collect();
    while let Some(path) = waiting.pop().filter(|_| files < MAX_FILES && bytes < MAX_BYTES) {
        if path.is_dir() {
            let is_own = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                !name.starts_with('.') && name != "node_modules" && !path.is_symlink()
            };
            let inside = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
            waiting.extend(inside.filter(is_own));
        } else if is_source(&path) {
            let text = fs::read(&path).unwrap_or_default();
            (files, bytes) = (files + 1, bytes + text.len() as u64);
            names.extend(names_in(&String::from_utf8_lossy(&text)));
        }
    }
    names.into_iter().take(MAX_NAMES).collect()
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["js", "mjs", "cjs", "ts", "py"].contains(&extension)
}

/// The folder of the package to which a file of a command belongs, or the file.
fn source_of(word: &Path) -> Option<PathBuf> {
    // A command of a package is a link to its file.
    let file = fs::canonicalize(word).ok().filter(|path| path.is_file())?;
    let is_package = |folder: &&Path| folder.join("package.json").is_file();
    if let Some(package) = file.ancestors().skip(1).find(is_package).filter(|_| is_source(&file)) {
        return Some(package.to_owned());
    }
    // A command of a Python package is beside the interpreter, and names its module.
    let text = fs::read_to_string(&file).unwrap_or_default();
    let module =
        text.lines().find_map(|line| line.strip_prefix("from "))?.split([' ', '.']).next()?.to_owned();
    let libraries = fs::read_dir(file.parent()?.parent()?.join("lib")).ok()?.flatten();
    let mut found = libraries.map(|library| library.path().join("site-packages").join(&module));
    found.find(|path| path.is_dir()).or_else(|| is_source(&file).then_some(file))
}

/// The names of variables in a source text.
fn names_in(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for before in BEFORE {
        for part in text.split(before).skip(1) {
            let part = part.trim_start_matches(['"', '\'', ' ']);
            let is_letter =
                |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
            let end = part.find(|letter| !is_letter(letter)).unwrap_or(part.len());
            let name = &part[..end];
            if name.len() > 2
                && name.starts_with(|first: char| first.is_ascii_uppercase())
                && !COMMON.contains(&name)
            {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_package_are_found_in_its_files_and_not_in_those_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("server/package.json", "{}");
        write(
            "server/dist/index.js",
            "const key = process.env.ACME_TOKEN ?? process.env['ACME_URL']; process.env.HOME",
        );
        write("server/node_modules/other/index.js", "process.env.OTHER_TOKEN");
        let program = folder.path().join("server/dist/index.js").to_string_lossy().into_owned();
        assert_eq!(read_by(&["node".to_owned(), program]), ["ACME_TOKEN", "ACME_URL"]);
        assert_eq!(names_in("os.environ.get(\"A_KEY\", \"\") os.getenv('B_KEY')").len(), 2);
    }

    #[test]
    fn a_text_about_a_missing_credential_is_recognized() {
        for text in [
            "ACME_TOKEN environment variable is required",
            "Missing API key",
            "401 Unauthorized: invalid token",
        ] {
            assert!(needs_credential(text), "{text}");
        }
        for text in ["name is required", "no such file", "the token bucket is full"] {
            assert!(!needs_credential(text), "{text}");
        }
    }
}
