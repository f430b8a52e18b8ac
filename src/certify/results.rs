//! Trials of probes, and the result of each question for each tool. Pure.

use std::collections::BTreeMap;

use mock_services::word_enum;
use serde::{Deserialize, Serialize};

use super::bound::lower_bound;

/// The maximum number of evidence lines of a result.
const MAX_EVIDENCE: usize = 12;

word_enum! {
    /// What one trial of a probe showed.
    pub enum ProbeOutcome {
        /// What the question asks for was observed.
        Held => "held",
        /// Its opposite was observed.
        Failed => "failed",
        /// Neither: the probe could not be carried out as planned.
        Void => "void",
        /// The question does not apply to this tool, or could not be asked; it is not a trial.
        NotAsked => "not-asked",
    }
}

/// One trial of one question for one tool: what a battery writes down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeTrial {
    /// The tool: a tool of a server, a command of a command-line tool, or the agent.
    pub tool: String,
    /// The id of the question, such as `same-call-twice`, or the scenario.
    pub question: String,
    /// The number of the trial within its tool and question, from 1.
    pub trial: u32,
    /// Whether it is the second try of a trial that was void.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub second_try: bool,
    /// What it showed.
    pub outcome: ProbeOutcome,
    /// What happened, in one sentence.
    pub sentence: String,
    /// What was seen: calls, answers, state, entries of a ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

word_enum! {
    /// The result of a question for a tool.
    pub enum QuestionStatus {
        /// Every trial held, and there are enough for the level that was asked for.
        Held => "held",
        /// A trial failed.
        Failed => "failed",
        /// No trial failed, but trials stayed void or are too few for the level.
        Unsure => "unsure",
        /// It was not asked: the sentence says why.
        NotAsked => "not-asked",
    }
}

/// The result of one question for one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct QuestionResult {
    /// The tool.
    pub tool: String,
    /// The id of the question.
    pub question: String,
    /// How many trials held or failed.
    pub trials: u64,
    /// How many of them failed.
    pub failures: u64,
    /// How many stayed void after their second try.
    pub voids: u64,
    /// How many void trials were tried a second time.
    pub second_tries: u64,
    /// The result.
    pub result: QuestionStatus,
    /// The exact lower bound of the share of trials that hold.
    pub level: f64,
    /// The sentence that matters: that of the first failed trial, else of the first void, else of the first.
    pub sentence: String,
    /// What was seen in that trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// The results by tool and question, in the order in which the trials name them first.
///
/// A void trial counts as void unless its second try, a trial with the same number and
/// [`ProbeTrial::second_try`], held or failed.
#[must_use]
pub fn question_results(trials: &[ProbeTrial], level: f64, confidence: f64) -> Vec<QuestionResult> {
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut groups: BTreeMap<(&str, &str), Vec<&ProbeTrial>> = BTreeMap::new();
    for trial in trials {
        let key = (trial.tool.as_str(), trial.question.as_str());
        let group = groups.entry(key).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(trial);
    }
    let result =
        |key: (&str, &str)| groups.get(&key).map(|group| question_result(key, group, level, confidence));
    order.into_iter().filter_map(result).collect()
}

fn question_result(
    (tool, question): (&str, &str),
    trials: &[&ProbeTrial],
    level: f64,
    confidence: f64,
) -> QuestionResult {
    // The worst of the first tries and second tries of each number counts, except that a second try replaces
    // a void first try.
    let mut by_number: BTreeMap<u32, &ProbeTrial> = BTreeMap::new();
    let mut second_tries = 0;
    for trial in trials.iter().filter(|trial| trial.outcome != ProbeOutcome::NotAsked) {
        second_tries += u64::from(trial.second_try);
        let kept = by_number.entry(trial.trial).or_insert(trial);
        let replaces = kept.outcome == ProbeOutcome::Void && trial.second_try;
        if replaces || trial.outcome == ProbeOutcome::Failed {
            *kept = trial;
        }
    }
    let count =
        |outcome: ProbeOutcome| by_number.values().filter(|trial| trial.outcome == outcome).count() as u64;
    let (held, failures, voids) =
        (count(ProbeOutcome::Held), count(ProbeOutcome::Failed), count(ProbeOutcome::Void));
    let bound = lower_bound(held, held + failures, confidence);
    let result = match (held + failures + voids, failures, voids) {
        (0, _, _) => QuestionStatus::NotAsked,
        (_, 1.., _) => QuestionStatus::Failed,
        (_, _, 0) if bound >= level => QuestionStatus::Held,
        _ => QuestionStatus::Unsure,
    };
    let first = |outcome: ProbeOutcome| by_number.values().find(|trial| trial.outcome == outcome).copied();
    let said = first(ProbeOutcome::Failed)
        .or_else(|| first(ProbeOutcome::Void))
        .or_else(|| first(ProbeOutcome::Held))
        .or_else(|| trials.first().copied());
    QuestionResult {
        tool: tool.to_owned(),
        question: question.to_owned(),
        trials: held + failures,
        failures,
        voids,
        second_tries,
        result,
        level: bound,
        sentence: said.map(|trial| trial.sentence.clone()).unwrap_or_default(),
        evidence: said
            .map(|trial| trial.evidence.iter().take(MAX_EVIDENCE).cloned().collect())
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(number: u32, outcome: ProbeOutcome) -> ProbeTrial {
        ProbeTrial {
            tool: "create".to_owned(),
            question: "same-call-twice".to_owned(),
            trial: number,
            second_try: false,
            outcome,
            sentence: format!("trial {number} {outcome}"),
            evidence: vec![format!("evidence of trial {number}")],
        }
    }

    fn result(trials: &[ProbeTrial]) -> QuestionResult {
        let mut results = question_results(trials, 0.5, 0.95);
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    fn held(count: u32) -> Vec<ProbeTrial> {
        (1..=count).map(|number| trial(number, ProbeOutcome::Held)).collect()
    }

    #[test]
    fn a_question_holds_only_with_enough_trials() {
        assert_eq!(result(&held(5)).result, QuestionStatus::Held);
        assert_eq!(result(&held(4)).result, QuestionStatus::Unsure);
    }

    #[test]
    fn one_failure_fails_a_question_and_gives_it_its_sentence() {
        let mut trials = held(40);
        trials[7].outcome = ProbeOutcome::Failed;
        trials[7].sentence = "two effects".to_owned();
        trials[9].outcome = ProbeOutcome::Void;
        let result = result(&trials);
        assert_eq!((result.result, result.failures, result.voids), (QuestionStatus::Failed, 1, 1));
        assert_eq!(result.sentence, "two effects");
        assert_eq!(result.evidence, ["evidence of trial 8"]);
    }

    #[test]
    fn a_void_trial_leaves_a_question_unsure_unless_its_second_try_holds() {
        let mut trials = held(40);
        trials[3].outcome = ProbeOutcome::Void;
        let unsure = result(&trials);
        assert_eq!((unsure.result, unsure.voids, unsure.second_tries), (QuestionStatus::Unsure, 1, 0));
        trials.push(ProbeTrial { second_try: true, ..trial(4, ProbeOutcome::Held) });
        let again = result(&trials);
        assert_eq!((again.result, again.voids, again.second_tries), (QuestionStatus::Held, 0, 1));
        assert_eq!(again.trials, 40);
    }

    #[test]
    fn a_second_try_never_replaces_a_failure() {
        let mut trials = held(40);
        trials[3].outcome = ProbeOutcome::Failed;
        trials.push(ProbeTrial { second_try: true, ..trial(4, ProbeOutcome::Held) });
        assert_eq!(result(&trials).result, QuestionStatus::Failed);
        trials[3].outcome = ProbeOutcome::Void;
        trials.last_mut().unwrap().outcome = ProbeOutcome::Failed;
        assert_eq!(result(&trials).result, QuestionStatus::Failed);
    }

    #[test]
    fn a_question_that_was_not_asked_is_not_a_trial() {
        let result = result(&[trial(1, ProbeOutcome::NotAsked)]);
        assert_eq!((result.result, result.trials), (QuestionStatus::NotAsked, 0));
        assert_eq!(result.sentence, "trial 1 not-asked");
    }
}
