//! Two command-line tools, which `hapax certify --cli` runs as controls: one without keys (score 0), and one that
//! does everything that a tool can do (score 3). Both keep a list in a file of their working directory.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// The file with the list.
const LIST: &str = "list.txt";
/// The exit status of a failure that can be retried (EX_TEMPFAIL).
const RETRYABLE: u8 = 75;
/// The exit status of a failure that cannot (EX_USAGE).
const USAGE: u8 = 64;
/// How long the work takes before and after the effect, so that a call can be killed midway.
const WORK: Duration = Duration::from_millis(20);

/// The arguments of a control tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct ControlToolArguments {
    /// Whether it takes keys.
    pub(crate) with_keys: bool,
    /// `add`, `list` or `busy`.
    pub(crate) action: String,
    /// The text to add.
    pub(crate) text: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) dry_run: bool,
}

/// Runs a control tool in this directory; returns what it prints and its exit status.
pub(crate) fn control_tool(arguments: &ControlToolArguments, directory: &Path) -> io::Result<(String, u8)> {
    let list = directory.join(LIST);
    match arguments.action.as_str() {
        "list" => Ok((texts(&read(&list)?), 0)),
        "busy" => Ok((refusal("busy"), RETRYABLE)),
        "add" if arguments.text.is_none() => Ok((refusal("no text"), USAGE)),
        "add" if arguments.with_keys => add_with_key(arguments, &list, directory),
        "add" if arguments.key.is_some() || arguments.dry_run => Ok((refusal("unknown option"), USAGE)),
        "add" => {
            append(&list, "", arguments.text.as_deref().unwrap_or_default())?;
            Ok(("added\n".to_owned(), 0))
        }
        _ => Ok((refusal("unknown action"), USAGE)),
    }
}

fn add_with_key(arguments: &ControlToolArguments, list: &Path, directory: &Path) -> io::Result<(String, u8)> {
    let text = arguments.text.as_deref().unwrap_or_default();
    let key = arguments.key.as_deref().unwrap_or_default();
    // The lock is released when the process ends, however it ends.
    let lock = File::options().create(true).append(true).open(directory.join("lock"))?;
    lock.lock()?;
    std::thread::sleep(WORK);
    let entries = read(list)?;
    let earlier = entries
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(used, _)| !key.is_empty() && *used == key);
    let answer = |effect: &str| format!("{{\"data\": {{\"effect\": \"{effect}\"}}}}\n");
    match earlier {
        Some((_, added)) if added == text => Ok((answer("noop"), 0)),
        Some(_) => Ok((refusal("this key was used with another text"), USAGE)),
        None if arguments.dry_run => Ok((answer("would_create"), 0)),
        None => {
            append(list, key, text)?;
            std::thread::sleep(WORK);
            Ok((answer("created"), 0))
        }
    }
}

fn refusal(why: &str) -> String {
    format!("{{\"error\": \"{why}\"}}\n")
}

/// The texts of the list, without the keys.
fn texts(entries: &str) -> String {
    entries.lines().filter_map(|line| line.split_once('\t')).map(|(_, text)| format!("{text}\n")).collect()
}

fn read(list: &Path) -> io::Result<String> {
    let mut entries = String::new();
    match File::open(list) {
        Ok(mut file) => file.read_to_string(&mut entries).map(|_| entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(entries),
        Err(error) => Err(error),
    }
}

/// Adds a line. Key and text are written at once, so that a killed call has written both or neither.
fn append(list: &Path, key: &str, text: &str) -> io::Result<()> {
    let clean = |text: &str| text.replace(['\t', '\n'], " ");
    let line = format!("{}\t{}\n", clean(key), clean(text));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(list)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(folder: &Path, with_keys: bool, text: &str, key: Option<&str>, dry_run: bool) -> (String, u8) {
        let arguments = ControlToolArguments {
            with_keys,
            action: "add".to_owned(),
            text: Some(text.to_owned()),
            key: key.map(str::to_owned),
            dry_run,
        };
        control_tool(&arguments, folder).unwrap()
    }

    fn list(folder: &Path) -> String {
        let arguments = ControlToolArguments { action: "list".to_owned(), ..ControlToolArguments::default() };
        control_tool(&arguments, folder).unwrap().0
    }

    #[test]
    fn the_tool_with_keys_does_everything() {
        let folder = tempfile::tempdir().unwrap();
        let call = |text: &str, key, dry_run| call(folder.path(), true, text, key, dry_run);
        assert!(call("milk", Some("a"), true).0.contains("would_create"));
        assert_eq!(list(folder.path()), "");
        assert!(call("milk", Some("a"), false).0.contains("created"));
        assert!(call("milk", Some("a"), false).0.contains("noop"));
        assert_eq!(call("eggs", Some("a"), false).1, USAGE);
        assert!(call("milk", Some("b"), false).0.contains("created"));
        assert_eq!(list(folder.path()), "milk\nmilk\n");
    }

    #[test]
    fn the_tool_without_keys_adds_every_time_and_refuses_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let call = |key| call(folder.path(), false, "milk", key, false);
        assert_eq!(call(None).1, 0);
        assert_eq!(call(None).1, 0);
        assert_eq!(call(Some("a")).1, USAGE);
        assert_eq!(list(folder.path()), "milk\nmilk\n");
    }
}
