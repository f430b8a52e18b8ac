//! The tools of a server, and what their calls without faults show: which write, where their effects are
//! counted, and which only read.

use std::collections::BTreeMap;
use std::future::Future;

use mock_services::result_text::is_without_content;

use super::ServerTest;
use super::arguments::CallArguments;
use super::judge::{EffectSource, ToolFacts};
use super::observed::{ObservedTrial, form, short};
use super::patience::Patience;
use super::scenarios::CalledTool;
use super::startup::{is_made_by_a_call, without_startup};
use super::variables::needs_credential;
use crate::certify::statement::CertifiedFinding;
use crate::certify::{CertifyError, OnEvent, typeable};
use crate::domain::FindingKind;
use crate::mcp::client::{CallOutcome, DriverStep, ListedTool, TRIAL_PLACEHOLDER, ToolCall};

/// A server with this many tools is asked with one call whether it needs a credential.
const MANY_TOOLS: usize = 8;
/// The maximum number of operations of one tool that are made to fail.
const MAX_OPERATIONS: usize = 3;
/// The number of callers at once in the scenario about them; the trials with more callers go further.
const CALLERS_AT_ONCE: u32 = 8;

/// A tool and how it is called.
pub(super) struct ServerTool {
    pub(super) listed: ListedTool,
    pub(super) call: CallArguments,
    /// Its name in the ids of cases.
    pub(super) id: String,
    /// What is known of it, if it writes.
    pub(super) facts: Option<ToolFacts>,
}

impl ServerTool {
    /// The tool, as the scenarios need it.
    pub(super) fn called<'a>(
        &'a self,
        facts: &'a ToolFacts,
        over_http: bool,
        patience: Patience,
    ) -> CalledTool<'a> {
        CalledTool {
            name: &self.listed.name,
            call: &self.call,
            source: &facts.source,
            callers: u32::try_from(facts.callers).unwrap_or(u32::MAX),
            over_http,
            patience,
        }
    }

    fn call(&self, arguments: serde_json::Map<String, serde_json::Value>) -> ToolCall {
        ToolCall { tool: self.listed.name.clone(), arguments }
    }

    /// The call of the read, and the steps that show whether it counts the effects of this tool.
    fn counting_steps(
        &self,
        verify: &str,
        tools: &[ServerTool],
    ) -> Result<(ToolCall, Vec<DriverStep>), String> {
        let Some(read) = tools.iter().find(|tool| tool.listed.name == verify) else {
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
        let read = read.call(read.call.arguments.clone());
        let steps = vec![
            DriverStep::List,
            DriverStep::Count(read.clone()),
            DriverStep::Call(self.call(self.call.with_key(1))),
            DriverStep::Count(read.clone()),
            DriverStep::Call(self.call(other)),
            DriverStep::Count(read.clone()),
            DriverStep::List,
        ];
        Ok((read, steps))
    }
}

impl<F: Future<Output = ()>> ServerTest<'_, F> {
    /// The tools that the file does not skip.
    pub(super) fn known_tools(&mut self, listed: Vec<ListedTool>) -> Vec<ServerTool> {
        let file = &self.options.tools;
        let is_listed = |name: &str| listed.iter().any(|tool| tool.name == name);
        for name in file.tools.keys().filter(|name| !is_listed(name)) {
            self.not_tested
                .push(format!("`{name}`: the tools file names it, and the server does not list it"));
        }
        let (skipped, known): (Vec<ListedTool>, Vec<ListedTool>) =
            listed.into_iter().partition(|tool| file.tool(&tool.name).skip);
        if !skipped.is_empty() {
            let names: Vec<&str> = skipped.iter().map(|tool| tool.name.as_str()).collect();
            self.not_tested.push(format!("skipped by the tools file: {}", names.join(", ")));
        }
        let ids = typeable(known.iter().map(|tool| tool.name.as_str()));
        let tool = |(listed, id): (ListedTool, String)| {
            let call = CallArguments::new(&listed, &file.tool(&listed.name));
            ServerTool { call, listed, id, facts: None }
        };
        let (callable, others): (Vec<ServerTool>, Vec<ServerTool>) =
            known.into_iter().zip(ids).map(tool).partition(|tool| tool.call.missing.is_none());
        let why = |tool: &ServerTool| {
            tool.call.missing.as_ref().map(|why| format!("`{}`: {why}", tool.listed.name))
        };
        self.not_tested.extend(others.iter().filter_map(why));
        callable
    }

    /// Calls the tools without faults: each once, and those whose effects a read counts twice. Of a server that
    /// already runs only the latter are called, since nothing else shows what a call does. Returns the tools that
    /// only read.
    pub(super) async fn call_without_faults(
        &mut self,
        tools: &mut [ServerTool],
        list: Option<&String>,
        on: &mut OnEvent<'_>,
    ) -> Result<Vec<String>, CertifyError> {
        let is_running = self.options.is_running();
        let calls = match is_running {
            true => BTreeMap::new(),
            false => self.call_each(tools, list, on).await?,
        };
        for tool in tools.iter_mut() {
            let seen = calls.get(&tool.id).filter(|seen| not_callable(seen).is_none());
            tool.facts = seen.and_then(|seen| self.backend_facts(tool, seen));
        }
        self.count_effects(tools, &calls, list, on).await?;
        let counts = |name: &str| {
            let counts = |facts: &ToolFacts| match &facts.source {
                EffectSource::Read { call, .. } => call.tool == name,
                EffectSource::Backend(_) => false,
            };
            tools.iter().filter_map(|tool| tool.facts.as_ref()).any(counts)
        };
        let only_reads = |tool: &&ServerTool| {
            let seen = calls.get(&tool.id);
            let only_read = seen.is_some_and(|seen| seen.last_has_result() && seen.writes.is_empty());
            counts(&tool.listed.name) || (only_read && tool.facts.is_none())
        };
        let reads = tools.iter().filter(only_reads).map(|tool| tool.listed.name.clone()).collect();
        if is_running {
            let settings = &self.options.tools;
            let is_known = |name: &&str| {
                settings.tool(name).verify.is_some()
                    || settings.tools.values().any(|tool| tool.verify.as_deref() == Some(name))
            };
            let names = tools.iter().map(|tool| tool.listed.name.as_str());
            let others: Vec<&str> = names.filter(|name| !is_known(name)).collect();
            if !others.is_empty() {
                self.not_tested.push(format!(
                    "not called, since the tools file names no read that shows their effects (`verify`): {}",
                    others.join(", ")
                ));
            }
        }
        Ok(reads)
    }

    /// Calls each tool once. A tool that could not be called is listed, with the reason.
    async fn call_each(
        &mut self,
        tools: &[ServerTool],
        list: Option<&String>,
        on: &mut OnEvent<'_>,
    ) -> Result<BTreeMap<String, ObservedTrial>, CertifyError> {
        let steps = tools.iter().map(|tool| {
            let call = DriverStep::Call(tool.call(tool.call.with_key(1)));
            (tool.id.clone(), vec![DriverStep::List, call, DriverStep::List])
        });
        let steps: Vec<(String, Vec<DriverStep>)> = steps.collect();
        self.check_credential(&steps, on).await?;
        let calls = self.run_steps("calls", steps, on).await?;
        // What a call makes, too, is an effect wherever it comes from.
        self.maker.startup.retain(|known| !calls.iter().any(|(_, seen)| is_made_by_a_call(known, seen)));
        let startup = &self.maker.startup;
        let counted = calls.into_iter().map(|(id, seen)| (id, without_startup(&seen, startup)));
        let calls: BTreeMap<String, ObservedTrial> = counted.collect();
        for tool in tools {
            let Some(seen) = calls.get(&tool.id) else { continue };
            self.note_server(seen, &tool.listed.name, list);
            let name = &tool.listed.name;
            match not_callable(seen) {
                None => {}
                // It says that it failed, and it did not.
                Some(why) if !seen.effects.is_empty() => self.findings.push(CertifiedFinding {
                    kind: FindingKind::Underclaimed.as_str().to_owned(),
                    fails: false,
                    message: format!("`{name}` fails after its effect, without a fault: {why}."),
                    fix: "if the backend answers otherwise than hapax, declare its answer (--answers); if not, \
                          let the tool say that the effect happened"
                        .to_owned(),
                }),
                Some(why) => {
                    self.not_tested.push(format!("`{name}` could not be called without faults: {why}"));
                }
            }
        }
        Ok(calls)
    }

    /// Calls one tool of a server with many: if it needs a credential, all of them do.
    async fn check_credential(
        &mut self,
        steps: &[(String, Vec<DriverStep>)],
        on: &mut OnEvent<'_>,
    ) -> Result<(), CertifyError> {
        let Some(first) = steps.first().filter(|_| steps.len() >= MANY_TOOLS) else { return Ok(()) };
        let called = self.run_steps("first-call", vec![first.clone()], on).await?;
        let Some((_, seen)) = called.first() else { return Ok(()) };
        let seen = &without_startup(seen, &self.maker.startup);
        match not_callable(seen) {
            Some(why) if seen.writes.is_empty() && needs_credential(&why) => {
                Err(self.unusable(format!("`{}` says: {why}", first.0)))
            }
            _ => Ok(()),
        }
    }

    /// Calls each tool for which the tools file names a read, and whose effects are not at the backend, with two
    /// different arguments: the read must show both.
    async fn count_effects(
        &mut self,
        tools: &mut [ServerTool],
        calls: &BTreeMap<String, ObservedTrial>,
        list: Option<&String>,
        on: &mut OnEvent<'_>,
    ) -> Result<(), CertifyError> {
        let (mut steps, mut reads) = (Vec::new(), BTreeMap::new());
        for tool in tools.iter() {
            let Some(verify) = self.options.tools.tool(&tool.listed.name).verify else { continue };
            let seen = calls.get(&tool.id);
            if seen.is_some_and(|seen| !seen.effects.is_empty() || not_callable(seen).is_some()) {
                continue;
            }
            match tool.counting_steps(&verify, tools) {
                Err(why) => self.not_tested.push(format!("`{}`: {why}", tool.listed.name)),
                Ok((read, of_tool)) => {
                    steps.push((tool.id.clone(), of_tool));
                    reads.insert(tool.id.clone(), read);
                }
            }
        }
        for (id, seen) in self.run_steps("counted-calls", steps, on).await? {
            let (Some(read), Some(tool)) = (reads.remove(&id), tools.iter_mut().find(|tool| tool.id == id))
            else {
                continue;
            };
            self.note_server(&seen, &tool.listed.name, list);
            match counted_once(&seen, &read.tool) {
                Ok(occurrences) => {
                    let source = EffectSource::Read { call: read, occurrences };
                    let facts = self.facts(tool, 1, String::new(), source);
                    tool.facts = Some(ToolFacts { unclear_success: unclear_success(&seen), ..facts });
                }
                Err(why) => self.not_tested.push(format!("`{}`: {why}", tool.listed.name)),
            }
        }
        Ok(())
    }

    /// Notes what a trial shows of the server itself.
    fn note_server(&mut self, seen: &ObservedTrial, name: &str, list: Option<&String>) {
        if seen.lists.iter().any(|digest| Some(digest) != list) {
            self.findings.push(CertifiedFinding {
                kind: "tool-list".to_owned(),
                fails: true,
                message: format!(
                    "the server changes its list of tools: it is another one when `{name}` is called"
                ),
                fix: "list the same tools in every session".to_owned(),
            });
        }
        let is_noted = self.findings.iter().any(|finding| finding.kind == "output");
        if let Some((lines, first)) = seen.noise.as_ref().filter(|_| !is_noted) {
            let first = short(first, 80);
            self.findings.push(CertifiedFinding {
                kind: "output".to_owned(),
                fails: false,
                message: format!(
                    "{lines} lines of standard output are not MCP messages, the first is `{first}`"
                ),
                fix: "write logs to standard error".to_owned(),
            });
        }
    }

    /// What is known of a tool whose writes reach the backend.
    fn backend_facts(&self, tool: &ServerTool, seen: &ObservedTrial) -> Option<ToolFacts> {
        let effect = &seen.effects.first()?.effect;
        let mut operations = seen.effect_operations();
        operations.truncate(MAX_OPERATIONS);
        let source = EffectSource::Backend(operations);
        // If all of its writes come after its answer, it hands them to something else.
        let (all, late) = (seen.effects.len(), seen.late_effects());
        let effects = if late < all { all - late } else { all };
        let facts = self.facts(tool, effects, effect.clone(), source);
        Some(ToolFacts { unclear_success: unclear_success(seen), is_late: late == all, ..facts })
    }

    fn facts(&self, tool: &ServerTool, effects: usize, effect: String, source: EffectSource) -> ToolFacts {
        let callers = self.options.callers.min(CALLERS_AT_ONCE);
        ToolFacts {
            name: tool.listed.name.clone(),
            effects,
            effect,
            idempotent_hint: tool.listed.hint("idempotentHint") == Some(true),
            keyed: tool.call.key.is_some(),
            callers: usize::try_from(callers).unwrap_or(usize::MAX),
            source,
            is_late: false,
            unclear_success: None,
        }
    }
}

/// The form of the text of a call that worked, if the text does not say so. A text without content says nothing: an
/// error that is written as JSON has none either.
fn unclear_success(seen: &ObservedTrial) -> Option<String> {
    let call = seen.calls.first().filter(|call| call.outcome == CallOutcome::Unclear)?;
    (!is_without_content(&call.text)).then(|| form(&call.text))
}

/// How often a read names the trial for one call; why it cannot count effects otherwise.
fn counted_once(seen: &ObservedTrial, read: &str) -> Result<usize, String> {
    if let Some(why) = not_callable(seen) {
        return Err(format!("it could not be called without faults: {why}"));
    }
    if let Some(why) = &seen.not_counted {
        return Err(format!("its effects cannot be counted: {}", short(why, 200)));
    }
    if let Some(call) = seen.calls.iter().find(|call| !call.outcome.is_result()) {
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
    if call.outcome.is_result() {
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
    if let Some(write) = seen.writes.first() {
        why += &format!("; a write reached the backend: {}", write.request());
    }
    Some(why)
}
