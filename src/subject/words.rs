//! A command written as one text, split into its words as a shell would, without being one, and words written
//! for a shell. Pure.

/// Operators of a shell.
const OPERATORS: [&str; 9] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>&1"];

/// The words of a command, or its problem and a suggestion.
pub(crate) fn split(text: &str) -> Result<Vec<String>, (String, &'static str)> {
    let words = shlex::split(text).ok_or_else(|| {
        ("a quote is not closed".to_owned(), "close it, or write a list: [python, agent.py]")
    })?;
    // An operator is a word of its own between blanks; within quotes it is text.
    let is_operator = |word: &&String| {
        OPERATORS.contains(&word.as_str()) && text.split_whitespace().any(|bare| bare == word.as_str())
    };
    if let Some(operator) = words.iter().find(is_operator) {
        return Err((
            format!("`{operator}` is for a shell, and a command is started without one"),
            "write [sh, -c, \"...\"]",
        ));
    }
    if words.is_empty() {
        return Err(("the command is empty".to_owned(), "for example: python agent.py"));
    }
    Ok(words)
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_at_spaces_and_held_together_by_quotes() {
        let cases: [(&str, &[&str]); 5] = [
            ("python agent.py", &["python", "agent.py"]),
            ("  sh -c 'echo \"a  b\"' ", &["sh", "-c", "echo \"a  b\""]),
            (r#"run "a \"b\" \n" c\ d"#, &["run", r#"a "b" \n"#, "c d"]),
            ("a '' b\tc\nd", &["a", "", "b", "c", "d"]),
            ("grep '|' file", &["grep", "|", "file"]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_refused() {
        for text in ["", "  ", "python 'agent.py", "a \"b\\\"", "python agent.py | tee log", "a && b"] {
            assert!(split(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_words_survive_single_quotes(words in proptest::collection::vec("[^']*", 1..5)) {
            let text: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assert_eq!(split(&text.join(" ")), Ok(words));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = split(&text);
        }
    }
}
