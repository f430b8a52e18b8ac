//! A command written as one text, split into its words as a shell would, without being one, and words written
//! for a shell. Pure.

/// What only a shell understands.
const SHELL: [&str; 9] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>&1"];

/// The words of a command, or what is wrong with it and what would be right.
pub(crate) fn split(text: &str) -> Result<Vec<String>, (String, &'static str)> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    let mut rest = text.chars();
    let mut finish = |word: &mut Option<String>, is_quoted: &mut bool| {
        let Some(word) = word.take() else { return Ok(()) };
        if !std::mem::take(is_quoted) && SHELL.contains(&word.as_str()) {
            return Err((
                format!("`{word}` is for a shell, and a command is started without one"),
                "write [sh, -c, \"...\"]",
            ));
        }
        words.push(word);
        Ok(())
    };
    while let Some(character) = rest.next() {
        match character {
            '\'' | '"' => {
                is_quoted = true;
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some(end) if end == character => break,
                        Some('\\') if character == '"' => match rest.next() {
                            Some(escaped @ ('"' | '\\')) => word.push(escaped),
                            Some(other) => word.extend(['\\', other]),
                            None => {}
                        },
                        Some(other) => word.push(other),
                        None => {
                            return Err((
                                format!("the quote {character} is not closed"),
                                "close it, or write a list: [python, agent.py]",
                            ));
                        }
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            _ if character.is_whitespace() => finish(&mut word, &mut is_quoted)?,
            _ => word.get_or_insert_default().push(character),
        }
    }
    finish(&mut word, &mut is_quoted)?;
    if words.is_empty() {
        Err(("a command names a program".to_owned(), "for example: python agent.py"))
    } else {
        Ok(words)
    }
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
