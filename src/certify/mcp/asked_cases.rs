//! The cases of the questions, and their judgment. They are saved with the evidence, so that the trials can be judged
//! again when a certificate is verified.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cases::TrialSetup;
use super::judge::{ToolFacts, judge};
use super::observed::ObservedTrial;
use super::questions::McpQuestion;
use super::run_cases::{ObservedCase, read_observed};
use crate::certify::ramp::TRIALS_EACH;
use crate::certify::{CallersHeld, ProbeOutcome, ProbeTrial};

/// The file with the cases.
const ASKED_FILE: &str = "asked.json";
/// The folder of the first tries.
pub(super) const QUESTIONS: &str = "questions";
/// The folder of the second tries of void trials.
pub(super) const SECOND_TRIES: &str = "second-tries";

/// A case of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedCase {
    /// The place of the tool in the list.
    pub(super) tool: usize,
    /// The place of the case among those of its question.
    pub(super) place: u32,
    pub(super) facts: ToolFacts,
    pub(super) setup: TrialSetup,
}

/// The cases of one run, by their ids.
pub(super) type CasesOfRun = BTreeMap<String, AskedCase>;

/// All cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedCases {
    /// The number of trials of each question.
    pub(super) trials: u32,
    /// The cases of the questions.
    pub(super) questions: CasesOfRun,
    /// The cases of the ramp, by the number of callers.
    pub(super) callers: BTreeMap<u32, CasesOfRun>,
}

/// A trial of a question, with what it showed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AskedTrial {
    pub(super) tool: usize,
    pub(super) name: String,
    pub(super) question: McpQuestion,
    pub(super) number: u32,
    pub(super) second_try: bool,
    pub(super) seen: ObservedTrial,
    pub(super) outcome: ProbeOutcome,
    pub(super) sentence: String,
}

impl AskedTrial {
    /// The trial, for the certificate.
    pub(super) fn probe_trial(&self) -> ProbeTrial {
        ProbeTrial {
            tool: self.name.clone(),
            question: self.question.as_str().to_owned(),
            trial: self.number,
            second_try: self.second_try,
            outcome: self.outcome,
            sentence: self.sentence.clone(),
            evidence: self.seen.evidence(),
        }
    }
}

impl AskedCases {
    /// How many trials of each case are void.
    pub(super) fn voids(&self, first: &[ObservedCase]) -> BTreeMap<String, u32> {
        let mut voids = BTreeMap::new();
        for case in first {
            for (number, seen) in &case.trials {
                let trial = self.judged(&case.id, *number, seen, false);
                if trial.is_some_and(|trial| trial.outcome == ProbeOutcome::Void) {
                    *voids.entry(case.id.clone()).or_default() += 1;
                }
            }
        }
        voids
    }

    /// The trials, judged: each second try stands for the void trial of its case that comes next.
    pub(super) fn judge(&self, first: &[ObservedCase], second: &[ObservedCase]) -> Vec<AskedTrial> {
        let mut judged: Vec<AskedTrial> = Vec::new();
        for case in first {
            let again = second.iter().find(|other| other.id == case.id);
            let mut again = again.into_iter().flat_map(|case| &case.trials);
            for (number, seen) in &case.trials {
                let Some(trial) = self.judged(&case.id, *number, seen, false) else { continue };
                let is_void = trial.outcome == ProbeOutcome::Void;
                judged.push(trial);
                if is_void && let Some((_, seen)) = again.next() {
                    judged.extend(self.judged(&case.id, *number, seen, true));
                }
            }
        }
        judged.sort_by_key(|trial| (trial.tool, trial.question as usize, trial.number, trial.second_try));
        judged
    }

    fn judged(&self, id: &str, number: u32, seen: &ObservedTrial, second_try: bool) -> Option<AskedTrial> {
        let AskedCase { tool, place, facts, setup } = self.questions.get(id)?;
        let judgment = judge(facts, setup, seen);
        Some(AskedTrial {
            tool: *tool,
            name: facts.name.clone(),
            question: setup.question,
            number: place.saturating_mul(self.trials).saturating_add(number),
            second_try,
            seen: seen.clone(),
            outcome: judgment.outcome,
            sentence: judgment.sentence,
        })
    }

    /// Whether every trial with this number of callers was made and holds.
    pub(super) fn callers_hold(&self, count: u32, observed: &[ObservedCase]) -> bool {
        let Some(cases) = self.callers.get(&count) else { return false };
        let holds = |(id, case): (&String, &AskedCase)| {
            let trials = observed.iter().find(|observed| observed.id == *id).map(|observed| &observed.trials);
            trials.is_some_and(|trials| {
                let is_held = |seen| judge(&case.facts, &case.setup, seen).outcome == ProbeOutcome::Held;
                trials.len() == TRIALS_EACH as usize && trials.iter().all(|(_, seen)| is_held(seen))
            })
        };
        !cases.is_empty() && cases.iter().all(holds)
    }

    /// Writes the cases.
    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join(ASKED_FILE), serde_json::to_vec(self)?)
    }
}

/// The folder of a number of callers.
pub(super) fn callers_folder(count: u32) -> String {
    format!("callers-{count:04}")
}

/// A ramp of callers before the first number.
pub(super) fn empty_ramp() -> CallersHeld {
    CallersHeld {
        question: McpQuestion::CallersAtOnce.as_str().to_owned(),
        held: 0,
        broke_at: None,
        tried: Vec::new(),
        trials_each: TRIALS_EACH,
    }
}

/// Judges the trials in the folder of a certification again: those that were made, and the ramp of callers.
///
/// # Errors
/// When a file cannot be read.
pub(in crate::certify) fn judge_again(folder: &Path) -> io::Result<(Vec<ProbeTrial>, Option<CallersHeld>)> {
    let asked: AskedCases = serde_json::from_slice(&std::fs::read(folder.join(ASKED_FILE))?)?;
    let first = read_observed(&folder.join(QUESTIONS))?;
    let second = match folder.join(SECOND_TRIES) {
        path if path.is_dir() => read_observed(&path)?,
        _ => Vec::new(),
    };
    let mut held = empty_ramp();
    for count in asked.callers.keys() {
        let holds = asked.callers_hold(*count, &read_observed(&folder.join(callers_folder(*count)))?);
        held.add(*count, holds);
    }
    let trials = asked.judge(&first, &second).iter().map(AskedTrial::probe_trial).collect();
    Ok((trials, (!held.tried.is_empty()).then_some(held)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::mcp::judge::EffectSource;
    use crate::certify::mcp::observed::SeenCall;
    use crate::mcp::client::CallOutcome;

    fn asked() -> AskedCases {
        let facts = ToolFacts {
            name: "send".to_owned(),
            effects: 1,
            effect: "email.send".to_owned(),
            idempotent_hint: false,
            keyed: true,
            callers: 2,
            source: EffectSource::Backend(vec!["email.send".to_owned()]),
        };
        let setup = TrialSetup::new(McpQuestion::CallersAtOnce, Vec::new());
        let case = AskedCase { tool: 0, place: 0, facts, setup };
        let of_run = CasesOfRun::from([("mcp/send".to_owned(), case)]);
        AskedCases { trials: 1, questions: of_run.clone(), callers: BTreeMap::from([(2, of_run)]) }
    }

    fn observed(effects: usize, trials: u32) -> Vec<ObservedCase> {
        let call = SeenCall { outcome: CallOutcome::Ok, text: "sent".to_owned(), ended_at: None };
        let seen = ObservedTrial {
            calls: vec![call; 2],
            effects: vec![("email.send".to_owned(), "email.send".to_owned()); effects],
            ..ObservedTrial::default()
        };
        vec![ObservedCase {
            id: "mcp/send".to_owned(),
            trials: (1..=trials).map(|number| (number, seen.clone())).collect(),
        }]
    }

    #[test]
    fn a_number_of_callers_holds_only_if_every_trial_was_made_and_holds() {
        let asked = asked();
        assert!(asked.callers_hold(2, &observed(1, TRIALS_EACH)));
        assert!(!asked.callers_hold(2, &observed(2, TRIALS_EACH)));
        assert!(!asked.callers_hold(2, &observed(1, TRIALS_EACH - 1)));
        assert!(!asked.callers_hold(2, &[]));
        assert!(!asked.callers_hold(4, &observed(1, TRIALS_EACH)));
    }

    #[test]
    fn a_second_try_stands_for_a_void_trial_and_not_for_a_failure() {
        let asked = asked();
        let judged = asked.judge(&observed(2, 1), &observed(1, 1));
        assert_eq!(judged.iter().map(|trial| trial.outcome).collect::<Vec<_>>(), [ProbeOutcome::Failed]);
        let mut void = observed(1, 1);
        void[0].trials[0].1.not_connected = Some("gone".to_owned());
        assert_eq!(asked.voids(&void), BTreeMap::from([("mcp/send".to_owned(), 1)]));
        let judged = asked.judge(&void, &observed(1, 1));
        let shown: Vec<_> = judged.iter().map(|trial| (trial.outcome, trial.second_try)).collect();
        assert_eq!(shown, [(ProbeOutcome::Void, false), (ProbeOutcome::Held, true)]);
    }
}
