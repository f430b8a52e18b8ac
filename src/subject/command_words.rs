//! Placeholders in the words of a command: `${task}` and other values of a start. Each word stays one word, and no shell
//! reads it. Pure.
//!
//! A word is filled in if it is nothing but a placeholder, or has the task, the home directory or a service that hapax
//! knows. Every other `${` belongs to the program: scripts of shells and of JavaScript are full of them.

use std::path::Path;

use mock_services::catalog;
use yaml_reader::shown;

use super::environment;
use super::template::{StartValue, TOOLS, Template, TemplateError};
use super::{Settings, Start};

/// The placeholder of the task.
const TASK: &str = "${task}";
/// The placeholder of a home directory of its own.
const HOME: &str = "${home}";
/// Programs that read an argument as a script.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];
/// The longest argument, in bytes: Linux does not start a program with one of 128 KiB.
const MAX_WORD_BYTES: usize = 131_071;

/// Checks the placeholders of a command. `is_http` is whether it starts an agent that gets its task over HTTP.
///
/// # Errors
/// What is wrong with the first word that has a problem.
pub(super) fn check(words: &[String], is_http: bool) -> Result<(), TemplateError> {
    for index in 0..words.len() {
        let Some(template) = template(words, index)? else { continue };
        let problem = |message: &str, help: &str| {
            Err(TemplateError { message: message.to_owned(), help: help.to_owned() })
        };
        if is_http && template.has(StartValue::Task) {
            let help = "remove it: the agent gets the task in the request (`http: {request: ...}`)";
            return problem("the command of an agent over HTTP cannot have the task", help);
        }
        if !is_http && template.has_port() {
            let help = "remove it, or say that the agent takes its tasks over HTTP (`http`)";
            return problem("`${port}` is only for agents over HTTP", help);
        }
    }
    Ok(())
}

/// Checks the placeholders of a command that is given on the command line.
///
/// # Errors
/// What is wrong with the first word that has a problem.
pub(crate) fn check_command(words: &[String]) -> Result<(), TemplateError> {
    check(words, false)
}

/// Whether a command has the task.
pub(crate) fn has_task(words: &[String]) -> bool {
    (0..words.len())
        .any(|index| matches!(template(words, index), Ok(Some(template)) if template.has(StartValue::Task)))
}

/// The words for this start.
pub(super) fn filled(words: Vec<String>, settings: &Settings, start: &Start) -> Result<Vec<String>, String> {
    let fill = |index: usize| {
        let word = &words[index];
        let Some(template) =
            template(&words, index).map_err(|error| format!("{}; {}", error.message, error.help))?
        else {
            return Ok(word.clone());
        };
        let Some(text) = environment::filled(&template, settings, start) else {
            return Err(format!(
                "the argument `{}` names a service that this case does not have; select other cases, or add the service \
                 to every case (--with)",
                shown(word)
            ));
        };
        if text.len() > MAX_WORD_BYTES {
            return Err(format!(
                "the task has {} bytes, and an argument can have {MAX_WORD_BYTES}; let the agent read it from its \
                 standard input (--stdin task) or from the file in HAPAX_TASK_FILE",
                start.task.len()
            ));
        }
        // A program cannot be started with a zero byte in an argument.
        Ok(text.replace('\0', "\u{fffd}"))
    };
    (0..words.len()).map(fill).collect()
}

/// The word as a template, if hapax fills it in.
fn template(words: &[String], index: usize) -> Result<Option<Template>, TemplateError> {
    let word = &words[index];
    let is_only = word.starts_with("${") && word.find('}') == Some(word.len() - 1);
    let has_known = || {
        let names = catalog::names().chain([TOOLS]);
        names.into_iter().any(|name| word.contains(&format!("${{{name}.")))
    };
    if index == 0 || !(is_only || word.contains(TASK) || word.contains(HOME) || has_known()) {
        return Ok(None);
    }
    let is_script = is_script(words, index);
    if is_script && !word.contains(TASK) {
        return Ok(None);
    }
    let template = Template::parse_word(word).map_err(|error| TemplateError {
        help: format!("{} (`$${{` is a literal `${{`)", error.help),
        ..error
    })?;
    if is_script && template.has(StartValue::Task) {
        return Err(TemplateError {
            message: "a shell would read the task as a part of its script".to_owned(),
            help: "write \"$HAPAX_TASK\" there, or the command without a shell; `$${task}` is a literal `${task}`"
                .to_owned(),
        });
    }
    Ok(Some(template))
}

/// Whether a shell reads this word as a script: the program is one, and an option with `c` comes before.
fn is_script(words: &[String], index: usize) -> bool {
    let is_shell = |word: &String| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| SHELLS.contains(&name))
    };
    let is_option = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let Some(shell) = words[..index].iter().position(is_shell) else { return false };
    words[shell..index].iter().any(is_option)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn only_words_with_the_task_or_a_placeholder_alone_are_filled_in() {
        for (command, has) in [
            (&["codex", "exec", "${task}"][..], true),
            (&["agent", "--message=${task}"], true),
            (&["agent", "Do this: ${task}"], true),
            (&["agent", "$${task}"], false),
            (&["sh", "-c", "agent ${HAPAX_TASK##* }"], false),
            (&["node", "-e", "`${process.env.HAPAX_TASK}`"], false),
            (&["${task}"], false),
        ] {
            assert!(check(&words(command), false).is_ok(), "{command:?}");
            assert_eq!(has_task(&words(command)), has, "{command:?}");
        }
    }

    #[test]
    fn what_cannot_be_filled_in_has_a_way_out() {
        let messages: Vec<String> = [
            &["codex", "exec", "${tsk}"][..],
            &["codex", "exec", "${prompt}"],
            &["codex", "exec", "${task} and ${prompt}"],
            &["codex", "exec", "--url=${payment.ulr}"],
            &["env", "A=b", "bash", "-lc", "codex exec \"${task}\""],
            &["codex", "--port", "${port}"],
        ]
        .iter()
        .map(|command| {
            let error = check(&words(command), false).unwrap_err();
            format!("{}\n  {}", error.message, error.help)
        })
        .collect();
        insta::assert_snapshot!(messages.join("\n"));
    }
}
