//! Asks the questions, and ramps the callers.

use std::collections::BTreeMap;
use std::future::Future;

use super::asked_cases::{
    AskedCase, AskedCases, AskedTrial, CasesOfRun, QUESTIONS, SECOND_TRIES, callers_folder, empty_ramp,
};
use super::battery::{Battery, McpError};
use super::judge::ToolFacts;
use super::known_tools::KnownTool;
use super::questions::{AskedTool, McpQuestion};
use crate::certify::ramp::{TRIALS_EACH, numbers};
use crate::certify::{CallersHeld, ProbeOutcome, ProbeTrial};
use crate::run::RunEvent;
use crate::scenario::Case;

impl<F: Future<Output = ()>> Battery<'_, F> {
    /// Asks all questions of all tools that write. A trial that is void is tried a second time.
    pub(super) async fn ask(
        &mut self,
        tools: &[KnownTool],
        facts: &[Option<ToolFacts>],
        asked: &mut AskedCases,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Vec<AskedTrial>, McpError> {
        let mut cases = Vec::new();
        for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
            let Some(facts) = facts else { continue };
            for &question in &self.options.questions {
                let made = self.cases_of(index, tool, facts, question, &mut asked.questions)?;
                let ways = u32::try_from(made.len()).unwrap_or(u32::MAX).max(1);
                let each = self.options.trials.div_ceil(ways);
                cases.extend(made.into_iter().map(|case| (case, each)));
            }
        }
        asked.trials = self.options.trials;
        if cases.is_empty() || self.runner.interrupted {
            return Ok(Vec::new());
        }
        let again: BTreeMap<String, Case> =
            cases.iter().map(|(case, _)| (case.id.clone(), case.clone())).collect();
        let first = self.runner.run(QUESTIONS, cases, on).await?;
        let voids = asked.voids(&first);
        let mut second = Vec::new();
        if !voids.is_empty() && !self.runner.interrupted {
            let tried = voids.iter().filter_map(|(id, count)| Some((again.get(id)?.clone(), *count)));
            second = self.runner.run(SECOND_TRIES, tried.collect(), on).await?;
        }
        Ok(asked.judge(&first, &second))
    }

    /// The cases of a question about a tool, which are added to `asked`.
    fn cases_of(
        &self,
        index: usize,
        tool: &KnownTool,
        facts: &ToolFacts,
        question: McpQuestion,
        asked: &mut CasesOfRun,
    ) -> Result<Vec<Case>, McpError> {
        let mut cases = Vec::new();
        let setups = self.asked(tool, facts).trials(question).unwrap_or_default();
        for (place, setup) in (0..).zip(setups) {
            let name = format!("{index}-{}-{question}-{place}", tool.card.name);
            let case = self.maker.case(&name, &setup).map_err(McpError::Services)?;
            asked.insert(case.id.clone(), AskedCase { tool: index, place, facts: facts.clone(), setup });
            cases.push(case);
        }
        Ok(cases)
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
                if let Err(why) = self.asked(tool, facts).trials(question) {
                    trials.push(ProbeTrial {
                        tool: facts.name.clone(),
                        question: question.as_str().to_owned(),
                        trial: 1,
                        second_try: false,
                        outcome: ProbeOutcome::NotAsked,
                        sentence: why.to_owned(),
                        evidence: Vec::new(),
                    });
                }
                let mine = asked.iter().filter(|trial| trial.tool == index && trial.question == question);
                trials.extend(mine.map(AskedTrial::probe_trial));
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
        asked: &mut AskedCases,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Option<CallersHeld>, McpError> {
        let mut held = empty_ramp();
        for count in numbers(self.options.callers) {
            let (mut cases, mut of_run) = (Vec::new(), CasesOfRun::new());
            for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
                let Some(facts) = facts else { continue };
                let callers = usize::try_from(count).unwrap_or(usize::MAX);
                let facts = ToolFacts { callers, ..facts.clone() };
                let made = self.cases_of(index, tool, &facts, McpQuestion::CallersAtOnce, &mut of_run)?;
                cases.extend(made.into_iter().map(|case| (case, TRIALS_EACH)));
            }
            if cases.is_empty() || self.runner.interrupted {
                break;
            }
            let observed = self.runner.run(&callers_folder(count), cases, on).await?;
            if self.runner.interrupted {
                break;
            }
            asked.callers.insert(count, of_run);
            held.add(count, asked.callers_hold(count, &observed));
            if held.broke_at.is_some() {
                break;
            }
        }
        Ok((!held.tried.is_empty()).then_some(held))
    }
}
