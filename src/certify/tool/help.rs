//! The commands that the help of a tool lists, as common libraries for command lines write it. Pure.

/// What begins the name or the description of a command that writes.
const WRITING: [&str; 38] = [
    "create", "add", "new", "insert", "update", "set", "edit", "modify", "delete", "remove", "rm", "destroy",
    "purge", "send", "post", "put", "push", "publish", "upload", "deploys", "apply", "cancel", "refund",
    "pay", "charge", "transfer", "merge", "close", "reopen", "rename", "move", "write", "import", "rollback",
    "trigger", "invite", "revoke", "approve",
];

/// The words that start the tool, before the name of a command: what all commands begin with.
pub(super) fn start_of(runs: &[&[String]]) -> Option<Vec<String>> {
    // The words of each command up to its first option or value, without the last, which is its name.
    let start = |run: &&[String]| -> Vec<String> {
        let is_word = |word: &&String| !word.starts_with('-') && !word.contains("${");
        let mut words: Vec<String> = run.iter().take_while(is_word).cloned().collect();
        words.pop();
        words
    };
    let starts: Vec<Vec<String>> = runs.iter().map(start).collect();
    let shortest = starts.iter().min_by_key(|words| words.len())?;
    let is_shared = |count: &usize| starts.iter().all(|words| words.starts_with(&shortest[..*count]));
    let count = (1..=shortest.len()).rev().find(is_shared)?;
    Some(shortest[..count].to_vec())
}

/// The names of the commands that a help text shows as writing.
pub(super) fn writes_in(help: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in help.lines().filter(|line| line.starts_with([' ', '\t'])) {
        // A name, at least two spaces, and what the command does.
        let Some((name, about)) = line.trim_start().split_once("  ") else { continue };
        let name = name.split(',').next().unwrap_or(name).trim().trim_end_matches(':');
        let is_name =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_:".contains(letter);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_name) {
            continue;
        }
        let first = about.split_whitespace().next().unwrap_or_default().to_lowercase();
        let mut words = name.split(['-', '_', ':']).chain([first.trim_end_matches(['.', ','])]);
        if words.any(is_writing) && !found.contains(&name.to_owned()) {
            found.push(name.to_owned());
        }
    }
    found
}

fn is_writing(word: &str) -> bool {
    WRITING.iter().any(|verb| {
        let stem = verb.strip_suffix('s').unwrap_or(verb);
        word.strip_prefix(stem).is_some_and(|end| ["", "s", "es"].contains(&end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_start_of_a_tool_is_what_its_commands_share() {
        let start = |runs: &[&str]| {
            let runs: Vec<Vec<String>> = runs.iter().map(|run| words(run)).collect();
            start_of(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        assert_eq!(start(&["./todo add ${value}", "./todo list"]), Some(words("./todo")));
        assert_eq!(start(&["python3 t.py items add --name x"]), Some(words("python3 t.py items")));
        assert_eq!(start(&["gh issue create --title x", "gh pr create"]), Some(words("gh")));
        assert_eq!(start(&["./add ${value}"]), None);
    }

    #[test]
    fn commands_that_write_are_found_in_the_help_of_common_libraries() {
        let help = "Usage: todo [OPTIONS] COMMAND\n\nCommands:\n  add, a      Add an item\n  list        List items, \
                    also deleted ones\n  mail        Sends the list\n  delete-all: Empties the list\n  wipe:       \
                    Removes everything\n  help        Print help\n\nOptions:\n  -d, --delete  Delete\n      --set X \
                    Set\n";
        assert_eq!(writes_in(help), ["add", "mail", "wipe"]);
        assert_eq!(writes_in("no help here"), Vec::<String>::new());
    }
}
