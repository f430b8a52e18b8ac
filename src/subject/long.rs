//! Tasks and steps that are too long for a variable: the system refuses to start a program with one of 128
//! KiB.

use std::io;
use std::path::Path;

/// The longest value that is handed over in a variable.
const MOST: usize = 100 * 1000;
/// What may be that long, and the variable that names its file.
const LONG: [(&str, &str, &str); 2] =
    [("HAPAX_TASK", "HAPAX_TASK_FILE", "task.txt"), ("HAPAX_STEPS", "HAPAX_STEPS_FILE", "steps.json")];

/// Puts what is too long into a file beside the state of the caller, and names the file instead.
pub(super) fn into_files(env: &mut Vec<(String, String)>, directory: &Path) -> io::Result<()> {
    for (variable, names, file) in LONG {
        let Some(at) = env.iter().position(|(name, value)| name == variable && value.len() > MOST) else {
            continue;
        };
        let (_, value) = env.swap_remove(at);
        let path = directory.join(file);
        std::fs::write(&path, value)?;
        env.push((names.to_owned(), path.to_string_lossy().into_owned()));
    }
    Ok(())
}
