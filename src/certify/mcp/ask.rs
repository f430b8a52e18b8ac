//! Asks the questions, and ramps the callers.

use std::collections::BTreeMap;
use std::future::Future;

use super::battery::{Battery, McpError};
use super::cases::TrialSetup;
use super::judge::{ToolFacts, judge};
use super::known_tools::KnownTool;
use super::observed::ObservedTrial;
use super::questions::{AskedTool, McpQuestion};
use crate::certify::ramp::{TRIALS_EACH, numbers};
use crate::certify::{CallersHeld, ProbeOutcome, ProbeTrial};
use crate::run::RunEvent;

/// A trial of a question, with what it showed.
pub(super) struct AskedTrial {
    pub(super) tool: usize,
    pub(super) question: McpQuestion,
    pub(super) number: u32,
    pub(super) second_try: bool,
    pub(super) seen: ObservedTrial,
    pub(super) outcome: ProbeOutcome,
    pub(super) sentence: String,
}

impl<F: Future<Output = ()>> Battery<'_, F> {
    /// Asks all questions of all tools that write. A trial that is void is tried a second time.
    pub(super) async fn ask(
        &mut self,
        tools: &[KnownTool],
        facts: &[Option<ToolFacts>],
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Vec<AskedTrial>, McpError> {
        let (mut cases, mut setups) = (Vec::new(), BTreeMap::new());
        for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
            let Some(facts) = facts else { continue };
            let asked = self.asked(tool, facts);
            for &question in &self.options.questions {
                let of_question = asked.trials(question).unwrap_or_default();
                let ways = u32::try_from(of_question.len()).unwrap_or(u32::MAX).max(1);
                let each = self.options.trials.div_ceil(ways);
                for (place, setup) in of_question.into_iter().enumerate() {
                    let name = format!("{index}-{}-{question}-{place}", tool.card.name);
                    let case = self.maker.case(&name, &setup).map_err(McpError::Services)?;
                    setups.insert(case.id.clone(), (index, place, setup));
                    cases.push((case, each));
                }
            }
        }
        if cases.is_empty() || self.runner.interrupted {
            return Ok(Vec::new());
        }
        let again: BTreeMap<String, _> =
            cases.iter().map(|(case, _)| (case.id.clone(), case.clone())).collect();
        let results = self.runner.run("questions", cases, on).await?;
        let mut asked = Vec::new();
        let mut voids: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for case in results {
            for (number, seen) in case.trials {
                let Some(trial) = self.judged(&setups, facts, &case.id, number, seen, false) else {
                    continue;
                };
                if trial.outcome == ProbeOutcome::Void {
                    voids.entry(case.id.clone()).or_default().push(number);
                }
                asked.push(trial);
            }
        }
        if !voids.is_empty() && !self.runner.interrupted {
            let count = |numbers: &Vec<u32>| u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let tried =
                voids.iter().filter_map(|(id, numbers)| Some((again.get(id)?.clone(), count(numbers))));
            let results = self.runner.run("second-tries", tried.collect(), on).await?;
            for case in results {
                let numbers = voids.get(&case.id).cloned().unwrap_or_default();
                for (number, (_, seen)) in numbers.into_iter().zip(case.trials) {
                    asked.extend(self.judged(&setups, facts, &case.id, number, seen, true));
                }
            }
        }
        asked.sort_by_key(|trial| (trial.tool, trial.question as usize, trial.number, trial.second_try));
        Ok(asked)
    }

    fn asked<'t>(&self, tool: &'t KnownTool, facts: &'t ToolFacts) -> AskedTool<'t> {
        AskedTool {
            name: &tool.card.name,
            call: &tool.call,
            source: &facts.source,
            callers: u32::try_from(facts.callers).unwrap_or(u32::MAX),
            over_http: self.options.url.is_some(),
        }
    }

    fn judged(
        &self,
        setups: &BTreeMap<String, (usize, usize, TrialSetup)>,
        facts: &[Option<ToolFacts>],
        id: &str,
        number: u32,
        seen: ObservedTrial,
        second_try: bool,
    ) -> Option<AskedTrial> {
        let (tool, place, setup) = setups.get(id)?;
        let facts = facts.get(*tool)?.as_ref()?;
        let judgment = judge(facts, setup, &seen);
        let place = u32::try_from(*place).unwrap_or(u32::MAX);
        Some(AskedTrial {
            tool: *tool,
            question: setup.question,
            number: place.saturating_mul(self.options.trials).saturating_add(number),
            second_try,
            seen,
            outcome: judgment.outcome,
            sentence: judgment.sentence,
        })
    }

    /// The trials for the certificate, with a line for each question that was not asked.
    pub(super) fn probe_trials(
        &self,
        tools: &[KnownTool],
        facts: &[Option<ToolFacts>],
        asked: &[AskedTrial],
    ) -> Vec<ProbeTrial> {
        let mut trials = Vec::new();
        for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
            let Some(facts) = facts else { continue };
            for &question in &self.options.questions {
                let of = |sentence: String| ProbeTrial {
                    tool: facts.name.clone(),
                    question: question.word().to_owned(),
                    trial: 1,
                    second_try: false,
                    outcome: ProbeOutcome::NotAsked,
                    sentence,
                    evidence: Vec::new(),
                };
                if let Err(why) = self.asked(tool, facts).trials(question) {
                    trials.push(of(why.to_owned()));
                }
                let mine = asked.iter().filter(|trial| trial.tool == index && trial.question == question);
                trials.extend(mine.map(|trial| ProbeTrial {
                    trial: trial.number,
                    second_try: trial.second_try,
                    outcome: trial.outcome,
                    evidence: trial.seen.evidence(),
                    ..of(trial.sentence.clone())
                }));
            }
        }
        trials
    }

    /// Doubles the number of callers until a trial does not hold or the largest number is reached. `None` if no
    /// tool can be called by several at once.
    pub(super) async fn ramp(
        &mut self,
        tools: &[KnownTool],
        facts: &[Option<ToolFacts>],
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Option<CallersHeld>, McpError> {
        let question = McpQuestion::CallersAtOnce;
        let mut held = CallersHeld {
            question: question.word().to_owned(),
            held: 0,
            broke_at: None,
            tried: Vec::new(),
            trials_each: TRIALS_EACH,
        };
        for count in numbers(self.options.callers) {
            let (mut cases, mut setups) = (Vec::new(), BTreeMap::new());
            for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
                let Some(facts) = facts else { continue };
                let callers = usize::try_from(count).unwrap_or(usize::MAX);
                let facts = ToolFacts { callers, ..facts.clone() };
                for setup in self.asked(tool, &facts).trials(question).unwrap_or_default() {
                    let name = format!("{index}-{}-{count}", tool.card.name);
                    let case = self.maker.case(&name, &setup).map_err(McpError::Services)?;
                    setups.insert(case.id.clone(), (facts.clone(), setup));
                    cases.push((case, TRIALS_EACH));
                }
            }
            if cases.is_empty() || self.runner.interrupted {
                break;
            }
            let results = self.runner.run(&format!("callers-{count:04}"), cases, on).await?;
            if self.runner.interrupted {
                break;
            }
            let holds = |id: &String, seen: &ObservedTrial| {
                setups
                    .get(id)
                    .is_some_and(|(facts, setup)| judge(facts, setup, seen).outcome == ProbeOutcome::Held)
            };
            held.tried.push(count);
            if results.iter().all(|case| case.trials.iter().all(|(_, seen)| holds(&case.id, seen))) {
                held.held = count;
            } else {
                held.broke_at = Some(count);
                break;
            }
        }
        Ok((!held.tried.is_empty()).then_some(held))
    }
}
