//! The tools of a server, and what their calls without faults show: which write, where their effects are
//! counted, and which only read.

use std::collections::BTreeMap;
use std::future::Future;

use super::arguments::CallArguments;
use super::battery::{Battery, McpError};
use super::card::CardRemark;
use super::cases::TrialSetup;
use super::judge::{EffectSource, ToolFacts};
use super::observed::ObservedTrial;
use super::questions::McpQuestion;
use super::text::short;
use crate::mcp::client::{CallOutcome, DriverStep, ListedTool, TRIAL_PLACEHOLDER, ToolCall};
use crate::run::RunEvent;

/// The maximum number of operations of one tool that are made to fail.
const MAX_OPERATIONS: usize = 3;
/// The number of callers at once in the question about them; the ramp goes further.
const CALLERS_ASKED: u32 = 8;

/// A tool and how it is called.
pub(super) struct KnownTool {
    pub(super) card: ListedTool,
    pub(super) call: CallArguments,
}

/// What the calls without faults show.
pub(super) struct CalledTools {
    /// For each tool, what is known if it writes.
    pub(super) facts: Vec<Option<ToolFacts>>,
    /// The tools that only read.
    pub(super) reads: Vec<String>,
}

impl<F: Future<Output = ()>> Battery<'_, F> {
    /// The tools that are not left out.
    pub(super) fn known(&mut self, listed: Vec<ListedTool>) -> Vec<KnownTool> {
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        for name in self.options.tools.tools.keys().filter(|name| !names.contains(&name.as_str())) {
            self.not_tested
                .push(format!("`{name}`: the tools file names it, and the server does not list it"));
        }
        let mut known = Vec::new();
        let mut left_out = Vec::new();
        for card in listed {
            let settings = self.options.tools.tool(&card.name);
            if settings.skip {
                left_out.push(card.name);
                continue;
            }
            known.push(KnownTool { call: CallArguments::of(&card, &settings), card });
        }
        if !left_out.is_empty() {
            self.not_tested.push(format!("left out by the tools file: {}", left_out.join(", ")));
        }
        known
    }

    /// Calls the tools without faults: each once, and those whose effects a read counts twice. Of a server that
    /// already runs only the latter are called, since nothing else shows what a call does.
    pub(super) async fn call_without_faults(
        &mut self,
        tools: &[KnownTool],
        list: Option<&String>,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<CalledTools, McpError> {
        let is_running = self.options.is_running();
        let calls = match is_running {
            true => tools.iter().map(|_| None).collect(),
            false => self.call_each(tools, list, on).await?,
        };
        let mut facts: Vec<Option<ToolFacts>> =
            tools.iter().zip(&calls).map(|(tool, seen)| self.facts(tool, seen.as_ref()?)).collect();
        let counted = self.count_effects(tools, &calls, list, on).await?;
        let mut reads: Vec<String> = Vec::new();
        for (index, (tool, seen)) in tools.iter().zip(&calls).enumerate() {
            let counts = |facts: &ToolFacts| match &facts.source {
                EffectSource::Read { call, .. } => call.tool == tool.card.name,
                EffectSource::Backend(_) => false,
            };
            let only_read = seen.as_ref().is_some_and(|seen| seen.last_is_ok() && seen.writes.is_empty());
            let is_counted = counted.contains_key(&index);
            if counted.values().any(counts) || (only_read && !is_counted) {
                reads.push(tool.card.name.clone());
            }
        }
        for (index, counted) in counted {
            facts[index] = Some(counted);
        }
        if is_running {
            let settings = &self.options.tools;
            let is_known = |name: &&str| {
                settings.tool(name).verify.is_some()
                    || settings.tools.values().any(|tool| tool.verify.as_deref() == Some(name))
            };
            let names = tools.iter().map(|tool| tool.card.name.as_str());
            let others: Vec<&str> = names.filter(|name| !is_known(name)).collect();
            if !others.is_empty() {
                self.not_tested.push(format!(
                    "not called, since the tools file names no read that shows their effects (`verify`): {}",
                    others.join(", ")
                ));
            }
        }
        self.problems.sort();
        self.problems.dedup();
        Ok(CalledTools { facts, reads })
    }

    /// Calls each tool once. A tool that could not be called is listed, with the reason.
    async fn call_each(
        &mut self,
        tools: &[KnownTool],
        list: Option<&String>,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Vec<Option<ObservedTrial>>, McpError> {
        let (mut cases, mut ids) = (Vec::new(), BTreeMap::new());
        for (index, tool) in tools.iter().enumerate() {
            let call = ToolCall { tool: tool.card.name.clone(), arguments: tool.call.with_key(1) };
            let steps = vec![DriverStep::List, DriverStep::Call(call), DriverStep::List];
            let setup = TrialSetup::new(McpQuestion::SameCallTwice, vec![steps]);
            let case = self
                .maker
                .case(&format!("{index}-{}", tool.card.name), &setup)
                .map_err(McpError::Services)?;
            ids.insert(case.id.clone(), index);
            cases.push((case, 1));
        }
        let mut calls: Vec<Option<ObservedTrial>> = tools.iter().map(|_| None).collect();
        if cases.is_empty() {
            return Ok(calls);
        }
        let results = self.runner.run("calls", cases, on).await?;
        for case in results {
            let Some(index) = ids.get(&case.id) else { continue };
            let Some((_, seen)) = case.trials.into_iter().next() else { continue };
            let name = &tools[*index].card.name;
            self.note_server(&seen, name, list);
            if let Some(why) = not_callable(&seen) {
                self.not_tested.push(format!("`{name}` could not be called without faults: {why}"));
            }
            calls[*index] = Some(seen);
        }
        Ok(calls)
    }

    /// Calls each tool for which the tools file names a read, and whose effects are not at the backend, with two
    /// different arguments: the read must show both.
    async fn count_effects(
        &mut self,
        tools: &[KnownTool],
        calls: &[Option<ObservedTrial>],
        list: Option<&String>,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<BTreeMap<usize, ToolFacts>, McpError> {
        let (mut cases, mut asked) = (Vec::new(), BTreeMap::new());
        for (index, (tool, seen)) in tools.iter().zip(calls).enumerate() {
            let name = &tool.card.name;
            let Some(verify) = self.options.tools.tool(name).verify else { continue };
            if seen.as_ref().is_some_and(|seen| !seen.effects.is_empty() || not_callable(seen).is_some()) {
                continue;
            }
            match tool.counting_steps(&verify, tools) {
                Err(why) => self.not_tested.push(format!("`{name}`: {why}")),
                Ok((read, steps)) => {
                    let setup = TrialSetup::new(McpQuestion::SameCallTwice, vec![steps]);
                    let case = self
                        .maker
                        .case(&format!("{index}-{name}-counted"), &setup)
                        .map_err(McpError::Services)?;
                    asked.insert(case.id.clone(), (index, read));
                    cases.push((case, 1));
                }
            }
        }
        let mut counted = BTreeMap::new();
        if cases.is_empty() || self.runner.interrupted {
            return Ok(counted);
        }
        for case in self.runner.run("counted-calls", cases, on).await? {
            let Some((index, read)) = asked.get(&case.id) else { continue };
            let Some((_, seen)) = case.trials.into_iter().next() else { continue };
            let name = &tools[*index].card.name;
            self.note_server(&seen, name, list);
            match counted_once(&seen, &read.tool) {
                Ok(occurrences) => {
                    let source = EffectSource::Read { call: read.clone(), occurrences };
                    counted.insert(*index, self.facts_with(&tools[*index], 1, String::new(), source));
                }
                Err(why) => self.not_tested.push(format!("`{name}`: {why}")),
            }
        }
        Ok(counted)
    }

    /// Notes what a trial shows of the server itself.
    fn note_server(&mut self, seen: &ObservedTrial, name: &str, list: Option<&String>) {
        if seen.lists.iter().any(|digest| Some(digest) != list) {
            self.problems.push(format!(
                "the server changes its list of tools: it is another one when `{name}` is called"
            ));
        }
        if let Some((lines, first)) = &seen.noise {
            self.noise = Some(CardRemark {
                tool: "the server".to_owned(),
                field: "standard output".to_owned(),
                problem: format!("{lines} lines are not MCP messages, the first is `{}`", short(first, 80)),
                better: "write logs to standard error".to_owned(),
            });
        }
    }

    /// What is known of a tool that can be called and whose writes reach the backend.
    fn facts(&self, tool: &KnownTool, seen: &ObservedTrial) -> Option<ToolFacts> {
        if seen.effects.is_empty() || not_callable(seen).is_some() {
            return None;
        }
        let mut operations = seen.effect_operations();
        operations.truncate(MAX_OPERATIONS);
        let effect = seen.effects.first().map(|(effect, _)| effect.clone())?;
        Some(self.facts_with(tool, seen.effects.len(), effect, EffectSource::Backend(operations)))
    }

    fn facts_with(
        &self,
        tool: &KnownTool,
        effects: usize,
        effect: String,
        source: EffectSource,
    ) -> ToolFacts {
        let callers = self.options.callers.min(CALLERS_ASKED);
        ToolFacts {
            name: tool.card.name.clone(),
            effects,
            effect,
            idempotent_hint: tool.card.hint("idempotentHint") == Some(true),
            keyed: tool.call.key.is_some(),
            callers: usize::try_from(callers).unwrap_or(usize::MAX),
            source,
        }
    }
}

impl KnownTool {
    /// The call of the read, and the steps that show whether it counts the effects of this tool.
    fn counting_steps(
        &self,
        verify: &str,
        tools: &[KnownTool],
    ) -> Result<(ToolCall, Vec<DriverStep>), String> {
        let Some(read) = tools.iter().find(|tool| tool.card.name == verify) else {
            return Err(format!(
                "the server does not list `{verify}`, which the tools file names (`verify`)"
            ));
        };
        if !self.call.name_the_trial() {
            return Err(format!(
                "its effects cannot be told from others; put {TRIAL_PLACEHOLDER} into an argument that \
                 `{verify}` shows"
            ));
        }
        let Some(other) = self.call.other_with_key(2) else {
            return Err("hapax does not know which argument to change; name it in the tools file (`other`)"
                .to_owned());
        };
        let call = |tool: &KnownTool, arguments| ToolCall { tool: tool.card.name.clone(), arguments };
        let read = call(read, read.call.arguments.clone());
        let steps = vec![
            DriverStep::List,
            DriverStep::Count(read.clone()),
            DriverStep::Call(call(self, self.call.with_key(1))),
            DriverStep::Count(read.clone()),
            DriverStep::Call(call(self, other)),
            DriverStep::Count(read.clone()),
            DriverStep::List,
        ];
        Ok((read, steps))
    }
}

/// How often a read names the trial for one call; why it cannot count effects otherwise.
fn counted_once(seen: &ObservedTrial, read: &str) -> Result<usize, String> {
    if let Some(why) = not_callable(seen) {
        return Err(format!("it could not be called without faults: {why}"));
    }
    if let Some(why) = &seen.not_counted {
        return Err(format!("its effects cannot be counted: {}", short(why, 200)));
    }
    if let Some(call) = seen.calls.iter().find(|call| call.outcome != CallOutcome::Ok) {
        return Err(format!("it could not be called with other arguments: {}", short(&call.text, 200)));
    }
    let [before, between, after] = seen.counts[..] else {
        return Err("it could not be called twice without faults".to_owned());
    };
    match (between.saturating_sub(before), after.saturating_sub(between)) {
        (0, _) => Err(format!("`{read}` does not show what it writes, so its effects cannot be counted")),
        (first, second) if first == second => Ok(first),
        _ => Err(format!(
            "`{read}` does not show the second of two different calls as it shows the first, so its effects \
             cannot be counted"
        )),
    }
}

/// Why a call without faults shows nothing; `None` if it succeeded.
fn not_callable(seen: &ObservedTrial) -> Option<String> {
    let unusable = seen.unstartable.as_ref().or(seen.not_connected.as_ref()).map(|why| short(why, 300));
    let Some(call) = seen.calls.first() else {
        return Some(unusable.unwrap_or_else(|| "no call was made".to_owned()));
    };
    if call.outcome == CallOutcome::Ok {
        return unusable;
    }
    let mut why = short(&call.text, 200);
    if !seen.declined.is_empty() {
        why += &format!("; it asked for {}, which hapax declines", seen.declined.join(" and "));
    }
    if !seen.escaped.is_empty() {
        why += &format!(
            "; it wants to reach {}, and no service of the trial answers for it",
            seen.escaped.join(", ")
        );
    }
    if !seen.untrusted.is_empty() {
        why += &format!("; it does not accept the certificate for {}", seen.untrusted.join(", "));
    }
    if let Some(what) = seen.unsupported.first() {
        why += &format!("; hapax does not have {what} yet");
    }
    if !seen.effects.is_empty() {
        why += "; a write reached the backend, so it may need another answer: see --answers";
    }
    Some(why)
}
