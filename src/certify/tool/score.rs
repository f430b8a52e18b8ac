//! The score of a command-line tool, 0 to 3, from the results of its questions. Pure.
//!
//! | score | what was observed |
//! | --- | --- |
//! | 0 | no command has one effect when it is called twice with one key |
//! | 1 | some mutating command has |
//! | 2 | every mutating command has, its second answer is `noop`, and every answer has `effect` |
//! | 3 | also a dry run, a refusal of other arguments, one effect when it is killed or called eight times at once, and exit statuses that differ |

use super::file::{CommandKind, ToolFile};
use super::questions::ToolQuestion;
use crate::certify::results::{QuestionResult, QuestionStatus};

/// What a score of 2 needs, for every mutating command.
const FOR_TWO: [ToolQuestion; 5] = [
    ToolQuestion::KeyAccepted,
    ToolQuestion::SameKeyOneEffect,
    ToolQuestion::SameKeyNoop,
    ToolQuestion::AnotherKey,
    ToolQuestion::EffectReported,
];
/// What a score of 3 needs besides.
const FOR_THREE: [ToolQuestion; 5] = [
    ToolQuestion::SameKeyOtherArguments,
    ToolQuestion::DryRun,
    ToolQuestion::KilledMidway,
    ToolQuestion::EightAtOnce,
    ToolQuestion::ExitStatuses,
];

/// The score.
pub(super) fn score_of(file: &ToolFile, results: &[QuestionResult]) -> u8 {
    let held = |command: &str, question: ToolQuestion| {
        results.iter().any(|result| {
            result.tool == command
                && result.question == question.as_str()
                && result.result == QuestionStatus::Held
        })
    };
    let mutating: Vec<&str> = file
        .commands
        .iter()
        .filter(|command| command.kind == CommandKind::Mutating)
        .map(|command| command.name.as_str())
        .collect();
    let all = |questions: &[ToolQuestion]| {
        !mutating.is_empty()
            && mutating.iter().all(|command| questions.iter().all(|question| held(command, *question)))
    };
    if all(&FOR_TWO) {
        return if all(&FOR_THREE) { 3 } else { 2 };
    }
    u8::from(mutating.iter().any(|command| held(command, ToolQuestion::SameKeyOneEffect)))
}

/// What keeps a tool from the next score, one sentence for each command.
pub(super) fn remarks(file: &ToolFile, results: &[QuestionResult], score: u8) -> Vec<String> {
    let questions: &[ToolQuestion] = match score {
        0 => &[ToolQuestion::SameKeyOneEffect],
        1 => &FOR_TWO,
        2 => &FOR_THREE,
        _ => &[],
    };
    let missing = |command: &str| -> Vec<&'static str> {
        questions
            .iter()
            .filter(|question| {
                !results.iter().any(|result| {
                    result.tool == command
                        && result.question == question.as_str()
                        && result.result == QuestionStatus::Held
                })
            })
            .map(|question| question.as_str())
            .collect()
    };
    let next = score + 1;
    let mutating = file.commands.iter().filter(|command| command.kind == CommandKind::Mutating);
    mutating
        .map(|command| (command.name.as_str(), missing(&command.name)))
        .filter(|(_, missing)| !missing.is_empty())
        .map(|(command, missing)| {
            format!("`{command}`: not observed for a score of {next}: {}.", missing.join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::tool::file::ToolCommand;

    fn file(names: &[&str]) -> ToolFile {
        let command = |name: &&str| ToolCommand {
            name: (*name).to_owned(),
            kind: CommandKind::Mutating,
            run: vec!["tool".to_owned()],
            prepare: Vec::new(),
            key: None,
            dry_run: None,
            state: None,
            other: None,
            fails: None,
            leave_out: Vec::new(),
        };
        ToolFile {
            name: "tool".to_owned(),
            version: None,
            timeout: std::time::Duration::from_secs(1),
            pass: Vec::new(),
            reset: None,
            commands: names.iter().map(command).collect(),
        }
    }

    fn held(command: &str, questions: &[ToolQuestion]) -> Vec<QuestionResult> {
        let result = |question: &ToolQuestion| QuestionResult {
            tool: command.to_owned(),
            question: question.as_str().to_owned(),
            trials: 29,
            failures: 0,
            voids: 0,
            second_tries: 0,
            result: QuestionStatus::Held,
            level: 0.9,
            sentence: String::new(),
            evidence: Vec::new(),
        };
        questions.iter().map(result).collect()
    }

    #[test]
    fn a_score_is_given_only_for_what_was_observed_of_every_command() {
        let file = file(&["add", "remove"]);
        let everything = [FOR_TWO, FOR_THREE].concat();
        assert_eq!(score_of(&file, &[]), 0);
        assert_eq!(score_of(&file, &held("add", &everything)), 1);
        assert_eq!(score_of(&file, &held("add", &[ToolQuestion::SameKeyOneEffect])), 1);
        assert_eq!(score_of(&file, &held("add", &[ToolQuestion::EffectReported])), 0);
        let two = [held("add", &FOR_TWO), held("remove", &FOR_TWO)].concat();
        assert_eq!(score_of(&file, &two), 2);
        let three = [held("add", &everything), held("remove", &everything)].concat();
        assert_eq!(score_of(&file, &three), 3);
        for missing in 0..three.len() {
            let mut fewer = three.clone();
            fewer[missing].result = QuestionStatus::NotAsked;
            assert!(score_of(&file, &fewer) < 3, "{:?}", fewer[missing]);
        }
    }

    #[test]
    fn what_is_missing_for_the_next_score_is_named() {
        let remarks = remarks(&file(&["add"]), &held("add", &FOR_TWO), 2);
        assert_eq!(
            remarks,
            ["`add`: not observed for a score of 3: same-key-other-arguments, dry-run, killed-midway, \
         eight-at-once, exit-statuses."]
        );
    }
}
