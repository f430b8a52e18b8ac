//! The score of a command-line tool, 0 to 3, from the verdicts of its scenarios. Pure.
//!
//! | score | what was observed |
//! | --- | --- |
//! | 0 | no command has one effect when it is called twice with one key |
//! | 1 | some mutating command has |
//! | 2 | every mutating command has, its second answer is `noop`, and every answer has `effect` |
//! | 3 | also a dry run, a refusal of other arguments, one effect when it is killed or called eight times at once, and exit statuses that differ |

use super::file::{ToolCommand, ToolFile};
use super::scenarios::ToolScenario;
use crate::certify::statement::CertifiedFinding;
use crate::certify::trials::{CaseVerdict, Conclusion};

/// What a score needs besides what the score below it needs: 1 of some mutating command, the others of all.
const NEEDED: [&[ToolScenario]; 3] = [
    &[ToolScenario::SameKeyTwice],
    &[
        ToolScenario::KeyAccepted,
        ToolScenario::SameKeyTwice,
        ToolScenario::SameKeyNoop,
        ToolScenario::AnotherKey,
        ToolScenario::EffectReported,
    ],
    &[
        ToolScenario::SameKeyOtherArguments,
        ToolScenario::DryRun,
        ToolScenario::KilledMidway,
        ToolScenario::CallersAtOnce,
        ToolScenario::ExitStatuses,
    ],
];

pub(super) fn score_of(file: &ToolFile, conclusion: &Conclusion) -> u8 {
    let [one, two, three] = NEEDED;
    let has = |needed: &[ToolScenario]| {
        let has = |command: &ToolCommand| missing(command, conclusion, needed).is_empty();
        (file.mutating().any(has), file.mutating().all(has))
    };
    match (has(one), has(two), has(three)) {
        ((false, _), ..) => 0,
        (_, (_, false), _) => 1,
        (_, _, (_, false)) => 2,
        _ => 3,
    }
}

fn missing(command: &ToolCommand, conclusion: &Conclusion, needed: &[ToolScenario]) -> Vec<&'static str> {
    let is_missing =
        |scenario: &&ToolScenario| conclusion.verdict_of(&command.scenario(**scenario)) != CaseVerdict::Pass;
    needed.iter().filter(is_missing).map(|scenario| scenario.as_str()).collect()
}

/// What keeps a tool from the next score, one finding for each command.
pub(super) fn findings(file: &ToolFile, conclusion: &Conclusion, score: u8) -> Vec<CertifiedFinding> {
    let Some(needed) = NEEDED.get(usize::from(score)) else { return Vec::new() };
    let next = score + 1;
    let finding = |command: &ToolCommand| {
        let missing = missing(command, conclusion, needed).join(", ");
        (!missing.is_empty()).then(|| CertifiedFinding {
            kind: "score".to_owned(),
            fails: false,
            message: format!("`{}`: not observed for a score of {next}: {missing}.", command.name),
            fix: String::new(),
        })
    };
    file.mutating().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use yaml_reader::Source;

    use super::*;
    use crate::certify::trials::{AskedLevel, TrialRecord};

    fn file(names: &[&str]) -> ToolFile {
        let state = "{ run: t list, count: lines }";
        let commands: String =
            names.iter().map(|name| format!("  {name}: {{ kind: mutating, run: t {name} }}\n")).collect();
        let text = format!("tool: t\nstate: {state}\ncommands:\n{commands}");
        ToolFile::read(&Source::new("tool.yaml", text), Path::new(".")).unwrap()
    }

    fn passing(command: &str, scenarios: &[ToolScenario]) -> Vec<TrialRecord> {
        let trial = |scenario: &ToolScenario| TrialRecord {
            verdict: CaseVerdict::Pass,
            ..TrialRecord::skipped(&format!("{command}/{scenario}"), "")
        };
        scenarios.iter().map(trial).collect()
    }

    fn concluded(trials: &[TrialRecord]) -> Conclusion {
        Conclusion::new(trials, AskedLevel { level: 0.0, confidence: 0.95 })
    }

    #[test]
    fn a_score_is_given_only_for_what_was_observed_of_every_command() {
        let file = file(&["add", "remove"]);
        let score = |trials: &[TrialRecord]| score_of(&file, &concluded(trials));
        let everything = [NEEDED[1], NEEDED[2]].concat();
        assert_eq!(score(&[]), 0);
        assert_eq!(score(&passing("add", &everything)), 1);
        assert_eq!(score(&passing("add", NEEDED[0])), 1);
        assert_eq!(score(&passing("add", &[ToolScenario::EffectReported])), 0);
        assert_eq!(score(&[passing("add", NEEDED[1]), passing("remove", NEEDED[1])].concat()), 2);
        let three = [passing("add", &everything), passing("remove", &everything)].concat();
        assert_eq!(score(&three), 3);
        for missing in 0..three.len() {
            let mut fewer = three.clone();
            fewer[missing].verdict = CaseVerdict::Skipped;
            assert!(score(&fewer) < 3, "{:?}", fewer[missing]);
        }
    }

    #[test]
    fn what_is_missing_for_the_next_score_is_named() {
        let found = findings(&file(&["add"]), &concluded(&passing("add", NEEDED[1])), 2);
        assert_eq!(
            found[0].message,
            "`add`: not observed for a score of 3: same-key-other-arguments, dry-run, killed-midway, \
             callers-at-once, exit-statuses."
        );
    }
}
