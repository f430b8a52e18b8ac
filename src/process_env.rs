//! The environment of the hapax process, which no other module reads. (The options of the command line that can
//! be set by a variable name it in their definition, and clap reads it.)

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Every variable whose name and value are valid Unicode.
pub(crate) fn all() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The value of a variable, if it is set and valid Unicode.
pub(crate) fn text(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The value of a variable, if it is set and not empty.
pub(crate) fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether a variable is set, with any value.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Whether a folder of PATH has an executable file with this name.
pub(crate) fn is_in_path(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program = |folder: PathBuf| {
        std::fs::metadata(folder.join(program))
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    value("PATH").is_some_and(|path| std::env::split_paths(&path).any(is_program))
}

/// The width of the terminal that the user asks for.
pub(crate) fn columns() -> Option<usize> {
    text("COLUMNS")?.parse().ok()
}

/// Whether the terminal is one that is known to show links (OSC 8). Others may print the address as text.
pub(crate) fn has_terminal_links() -> bool {
    let is_one_of = |name: &str, known: &[&str]| text(name).is_some_and(|value| known.contains(&&*value));
    let vte = text("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    vte.is_some_and(|version| version >= 5000)
        || is_set("WT_SESSION")
        || is_set("KONSOLE_VERSION")
        || is_one_of("TERM", &["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm"])
        || is_one_of("TERM_PROGRAM", &["iTerm.app", "WezTerm", "vscode", "ghostty", "zed", "Hyper", "Tabby"])
}

/// Whether a CI system runs hapax.
pub(crate) fn is_ci() -> bool {
    is_set("CI")
}

/// Whether GitHub runs hapax, and reads annotations from its output.
pub(crate) fn is_github_actions() -> bool {
    value("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// The file that GitHub shows with the step.
pub(crate) fn github_step_summary() -> Option<PathBuf> {
    value("GITHUB_STEP_SUMMARY").map(PathBuf::from)
}

/// The path of an executable: as it is written if it has a slash, otherwise from `PATH`.
pub(crate) fn find_executable(program: &str, folder: &Path) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if program.contains('/') {
        return Some(folder.join(program)).filter(is_file);
    }
    let path = value("PATH").filter(|_| !program.is_empty())?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(is_file)
}
