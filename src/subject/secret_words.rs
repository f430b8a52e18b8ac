//! Secrets among the words of a command, and names that say that a value is secret. Pure.

use std::ops::Range;

use mock_services::ledger::secret_parts;

/// Parts of names whose values are secret.
const SECRET_NAME_PARTS: [&str; 9] =
    ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "DSN"];
/// Words of options that have such a part in them and are about something else.
const ORDINARY_WORDS: [&str; 9] =
    ["AUTHOR", "AUTHORS", "BYPASS", "KEYBOARD", "KEYWORD", "KEYWORDS", "PASSES", "PASSTHROUGH", "TOKENS"];
/// The last words of options whose value says where a secret is.
const PLACES: [&str; 6] = ["DIR", "ENV", "FILE", "ID", "NAME", "PATH"];
/// What is shown in place of a secret.
const HIDDEN: &str = "[hidden]";

/// Whether the name of a variable says that its value is secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
}

/// A secret in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandSecret {
    /// The option or the variable that it is the value of; otherwise the program.
    pub(crate) name: String,
    pub(crate) value: String,
    /// The word that it is in, and where it is there.
    word: usize,
    range: Range<usize>,
}

/// The secrets in the words of a command, in order. A variable of a shell is not one.
pub(crate) fn command_secrets(words: &[String]) -> Vec<CommandSecret> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| words[before].as_str());
        let option = before.filter(|before| before.starts_with('-') && !before.contains('='));
        let (name, value) = match word.split_once('=') {
            Some((name, _)) if is_name(name) => (Some(name), name.len() + 1),
            _ => (option.filter(|_| !word.starts_with('-')), 0),
        };
        let is_named = name.is_some_and(is_secret_option) && is_secret_word(&word[value..]);
        let whole = is_named.then_some(value..word.len());
        let parts = whole.map_or_else(|| secret_parts(word), |whole| vec![whole]);
        for part in parts.into_iter().filter(|part| !part.is_empty() && !word[part.clone()].contains('$')) {
            let name = name.unwrap_or(&words[0]).to_owned();
            found.push(CommandSecret {
                name,
                value: word[part.clone()].to_owned(),
                word: index,
                range: part,
            });
        }
    }
    found
}

/// The command as reports name it: its words, without secrets.
pub(crate) fn shown_command(words: &[String]) -> String {
    let mut shown = words.to_vec();
    for secret in command_secrets(words).iter().rev() {
        shown[secret.word].replace_range(secret.range.clone(), HIDDEN);
    }
    shown.join(" ")
}

/// Whether it can be the name of an option or a variable.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether the name of an option or a variable says that its value is secret, and not where a secret is.
pub(super) fn is_secret_option(name: &str) -> bool {
    let upper = name.to_uppercase();
    let words: Vec<&str> = upper.split(['-', '_', '.']).filter(|word| !word.is_empty()).collect();
    let is_place = words.last().is_some_and(|last| PLACES.contains(last));
    !is_place && words.iter().any(|word| is_secret_name(word) && !ORDINARY_WORDS.contains(word))
}

/// Whether a value is one word that is not a number or a switch.
pub(super) fn is_secret_word(value: &str) -> bool {
    let is_plain = ["true", "false", "yes", "no", "on", "off", "none"].contains(&value);
    !is_plain && !value.is_empty() && !value.contains(char::is_whitespace) && value.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        command.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn secrets_of_a_command_are_hidden_and_named() {
        for (command, shown, name) in [
            ("agent|--token|abcdef", "agent --token [hidden]", "--token"),
            ("agent|--password=abc|x", "agent --password=[hidden] x", "--password"),
            ("agent|postgres://u:abc@h/db", "agent postgres://u:[hidden]@h/db", "agent"),
            ("env|DB_PASSWORD=abc|agent", "env DB_PASSWORD=[hidden] agent", "DB_PASSWORD"),
            ("sh|-c|agent --api-key abc", "sh -c agent --api-key [hidden]", "-c"),
            ("agent|sk_live_51ABCDEFGHIJKLMNOPQR", "agent [hidden]", "agent"),
            ("agent|--dsn|postgres://u:abc@h", "agent --dsn [hidden]", "--dsn"),
        ] {
            let words = words(command);
            assert_eq!(shown_command(&words), shown);
            assert_eq!(
                command_secrets(&words).into_iter().map(|secret| secret.name).collect::<Vec<_>>(),
                [name]
            );
        }
    }

    #[test]
    fn ordinary_words_of_a_command_stay() {
        for command in [
            "python3|agent.py|--max-tokens|100|--author|ann|--passes=3",
            "agent|--token-file|/run/token|--api-key-env|MY_KEY|--auth=false|--token|--verbose",
            "sh|-c|agent --token \"$TOKEN\" --password=$PASSWORD",
            "curl|http://127.0.0.1:4001/v1/charges|--key|5",
            "./agent|order=ord_1001|task-4f3a9c2b1d7e8f60aa",
        ] {
            let words = words(command);
            assert_eq!(shown_command(&words), words.join(" "));
        }
    }
}
