//! The verdict of a trial. The rules are in docs/mcp-servers.md; they count effects at the backend, and compare
//! them with what the tool said.

use mock_services::catalog;
use mock_services::fault::{CommitKind, Fault};
use serde::{Deserialize, Serialize};

use super::cases::ServerCase;
use super::observed::{ObservedTrial, SeenCall, form, short};
use super::scenarios::ServerScenario;
use super::startup::without_startup;
use crate::certify::trials::CaseVerdict;
use crate::domain::{FindingKind, VoidCause, VoidOwner, is_default};
use crate::mcp::client::{CallOutcome, ToolCall, leaves_outcome_open};

/// How much of the text of a tool is quoted.
const QUOTED: usize = 80;
/// The numbers that are written as words.
const NUMBERS: [&str; 13] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// What is known of a tool from its call without faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolFacts {
    pub(super) name: String,
    /// The number of effects of one call.
    pub(super) effects: usize,
    /// The effect, for the words of messages.
    pub(super) effect: String,
    /// Whether its annotations say that the same call again changes nothing.
    pub(super) idempotent_hint: bool,
    /// Whether the calls have a key.
    pub(super) keyed: bool,
    /// The number of callers at once.
    pub(super) callers: usize,
    /// Where its effects are counted.
    pub(super) source: EffectSource,
    /// Whether it also writes after its answer when nothing fails: then that is how it works.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) is_late: bool,
    /// The form of the text with which it worked, if that text says neither that it worked nor that it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unclear_success: Option<String>,
}

/// Where the effects of a tool are counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EffectSource {
    /// In the ledger of the services that stand in for its backend: the operations of its effects.
    Backend(Vec<String>),
    /// In the result of a tool of the server that reads.
    Read {
        /// The call of the tool that reads.
        call: ToolCall,
        /// How often an effect of one call names the trial there.
        occurrences: usize,
    },
}

/// The fault of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackendFault {
    pub(super) operation: String,
    /// What the backend does, as a clause.
    pub(super) failure: String,
}

impl BackendFault {
    pub(super) fn new(fault: &Fault) -> Self {
        let commit = match fault.commit.kind() {
            CommitKind::Now => "the backend commits",
            CommitKind::Never => "the backend commits nothing",
            _ => "the backend commits later",
        };
        let failure = format!("{commit} and {}", fault.reply.service_words());
        BackendFault { operation: fault.trigger.on.clone(), failure }
    }
}

/// What a trial shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgment {
    pub(super) verdict: CaseVerdict,
    pub(super) finding: Option<FindingKind>,
    /// Why it is void, if it is.
    pub(super) void: Option<VoidCause>,
    pub(super) message: String,
}

fn pass(message: String) -> Judgment {
    Judgment { verdict: CaseVerdict::Pass, finding: None, void: None, message }
}

fn fail(kind: FindingKind, message: String) -> Judgment {
    Judgment { verdict: CaseVerdict::Fail, finding: Some(kind), void: None, message }
}

fn void(why: NothingShown, message: String) -> Judgment {
    Judgment { verdict: CaseVerdict::Void, finding: None, void: Some(why.cause()), message }
}

/// Why a trial shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NothingShown {
    Unusable,
    Escaped,
    CertificateRefused,
    MissingFeature,
    NotCounted,
    NoCall,
    FaultNotFired,
    /// No call succeeded, and there was no effect.
    NotDone,
    /// The text of the call says neither that it worked nor that it failed.
    UnclearText,
    /// The call ended before it could be cancelled.
    Ended,
    /// The call had not reached the backend when it was cancelled or its connection was closed.
    NotReached,
    NotKilled,
}

impl NothingShown {
    /// The word of each, and whose it is.
    fn cause(self) -> VoidCause {
        use VoidOwner::{Machine, Subject};
        let (reason, owner) = match self {
            NothingShown::Unusable => ("server-unusable", Machine),
            NothingShown::Escaped => ("escaped", Subject),
            NothingShown::CertificateRefused => ("certificate-refused", Subject),
            NothingShown::MissingFeature => ("missing-feature", Subject),
            NothingShown::NotCounted => ("not-counted", Subject),
            NothingShown::NoCall => ("no-call", Subject),
            NothingShown::FaultNotFired => ("fault-not-fired", Subject),
            NothingShown::NotDone => ("not-done", Subject),
            NothingShown::UnclearText => ("unclear-text", Subject),
            NothingShown::Ended => ("ended", Subject),
            NothingShown::NotReached => ("not-reached", Machine),
            NothingShown::NotKilled => ("not-killed", Subject),
        };
        VoidCause::new(reason, owner)
    }
}

/// A success that the tool reports wrongly.
fn overclaimed(message: &str) -> Judgment {
    fail(FindingKind::Overclaimed, format!("{message}, and it says that it worked"))
}

/// Judges a trial.
pub(super) fn judge(case: &ServerCase, seen: &ObservedTrial) -> Judgment {
    let ServerCase { kind, tool, fault, startup, .. } = case;
    let seen = &without_startup(seen, startup);
    if let Some((why, message)) = nothing_shown(fault.as_ref(), seen) {
        return void(why, message);
    }
    if matches!(tool.source, EffectSource::Read { .. }) && seen.counts.len() < 2 {
        return void(NothingShown::NotCounted, "its effects were not counted before and after".to_owned());
    }
    let judging = Judging { tool, seen };
    if let Some(late) = judging.late_write() {
        return late;
    }
    match kind {
        ServerScenario::SameCallTwice => judging.same_call_twice(),
        ServerScenario::SameKeyTwice => judging.once_in_all(judging.result("twice with one key")),
        ServerScenario::AnotherKey => judging.another_key(),
        ServerScenario::SameKeyOtherArguments => judging.other_arguments(),
        ServerScenario::CallersAtOnce => judging.callers(),
        ServerScenario::Cancelled => judging.cancelled(),
        ServerScenario::LostConnection => judging.lost_connection(),
        ServerScenario::KilledAfterEffect => judging.killed(),
        ServerScenario::LostReply | ServerScenario::ErrorAfterEffect | ServerScenario::LostRequest => {
            judging.backend_failed(fault.as_ref().map_or("", |fault| &fault.failure))
        }
        ServerScenario::LyingSuccess => judging.lying_success(),
    }
}

/// Why a trial shows nothing, and the same as a sentence.
fn nothing_shown(fault: Option<&BackendFault>, seen: &ObservedTrial) -> Option<(NothingShown, String)> {
    if let Some(why) = seen.unstartable.as_ref().or(seen.not_connected.as_ref()) {
        let message = format!("the server could not be used: {}", short(why, 200));
        return Some((NothingShown::Unusable, message));
    }
    // What it does at a host that hapax does not serve is not counted.
    if let Some(host) = seen.escaped.first() {
        let message = format!("it calls {host}, which is not a service of the trial; see --ignore");
        return Some((NothingShown::Escaped, message));
    }
    if let Some(host) = seen.untrusted.first() {
        let message = format!("it does not accept the certificate of hapax for {host}; see --ignore");
        return Some((NothingShown::CertificateRefused, message));
    }
    if let Some(what) = seen.unsupported.first() {
        return Some((NothingShown::MissingFeature, format!("hapax does not have {what} yet")));
    }
    if let Some(why) = &seen.not_counted {
        let message = format!("its effects could not be counted: {}", short(why, 200));
        return Some((NothingShown::NotCounted, message));
    }
    if seen.calls.is_empty() {
        return Some((NothingShown::NoCall, "no call was made".to_owned()));
    }
    let fault = fault.filter(|_| seen.faulted.is_empty())?;
    let message = format!("no {} reached the backend, so nothing failed", fault.operation);
    Some((NothingShown::FaultNotFired, message))
}

struct Judging<'a> {
    tool: &'a ToolFacts,
    seen: &'a ObservedTrial,
}

impl ToolFacts {
    /// Whether a call says that it worked.
    pub(super) fn says_ok(&self, call: &SeenCall) -> bool {
        match call.outcome {
            CallOutcome::Ok => true,
            CallOutcome::Unclear => self.unclear_success.as_ref() == Some(&form(&call.text)),
            _ => false,
        }
    }

    /// The text of a call that says neither that it worked nor that it failed.
    pub(super) fn unclear_text<'a>(&self, seen: &'a ObservedTrial) -> Option<&'a str> {
        let mut calls = seen.calls.iter();
        let call = calls.find(|call| call.outcome == CallOutcome::Unclear && !self.says_ok(call))?;
        Some(&call.text)
    }

    /// The number of effects that a trial shows.
    pub(super) fn made(&self, seen: &ObservedTrial) -> usize {
        match &self.source {
            EffectSource::Backend(_) => seen.effects.len(),
            EffectSource::Read { occurrences, .. } => {
                seen.counted().unwrap_or(0).div_ceil((*occurrences).max(1))
            }
        }
    }
}

impl Judging<'_> {
    /// The number of effects.
    fn made(&self) -> usize {
        self.tool.made(self.seen)
    }

    /// The effects of one call.
    fn once(&self) -> usize {
        self.tool.effects
    }

    /// The number of effects as words: `two mails`, `no charge`, `one DELETE and two POSTs`.
    fn counted(&self) -> String {
        let counted = |count: usize, (one, several): (String, String)| {
            format!("{} {}", number(count), if count < 2 { one } else { several })
        };
        if let EffectSource::Read { .. } = self.tool.source {
            return counted(self.made(), ("entry".to_owned(), "entries".to_owned()));
        }
        let mut kinds: Vec<(&str, usize)> = Vec::new();
        for seen in &self.seen.effects {
            match kinds.iter_mut().find(|(effect, _)| *effect == seen.effect) {
                Some((_, count)) => *count += 1,
                None => kinds.push((&seen.effect, 1)),
            }
        }
        if kinds.is_empty() {
            kinds.push((&self.tool.effect, 0));
        }
        kinds.sort_unstable();
        let words = kinds.into_iter().map(|(effect, count)| counted(count, catalog::nouns(effect)));
        joined(&words.collect::<Vec<_>>())
    }

    /// What is known of keys at the backend.
    fn keys(&self) -> String {
        match &self.tool.source {
            EffectSource::Backend(_) => self.keys_at_the_backend().to_owned(),
            EffectSource::Read { call, .. } => format!("counted by `{}`", call.tool),
        }
    }

    fn keys_at_the_backend(&self) -> &'static str {
        let keys: Vec<_> = self.seen.writes.iter().map(|write| write.key.as_deref()).collect();
        match keys.first() {
            None => "nothing reaches the backend",
            Some(None) => "no key reaches the backend",
            Some(first) if keys.len() > 1 && keys.iter().all(|key| key == first) => {
                "the same key reaches the backend"
            }
            Some(_) if keys.len() > 1 => "each time another key reaches the backend",
            Some(_) => "a key reaches the backend",
        }
    }

    fn result(&self, what: &str) -> String {
        format!("`{}` {what} → {}; {}", self.tool.name, self.counted(), self.keys())
    }

    fn outcome(&self, call: usize) -> Option<CallOutcome> {
        self.seen.calls.get(call).map(|call| call.outcome)
    }

    fn is_ok(&self, call: usize) -> bool {
        self.seen.calls.get(call).is_some_and(|call| self.tool.says_ok(call))
    }

    fn any_ok(&self) -> bool {
        self.seen.calls.iter().any(|call| self.tool.says_ok(call))
    }

    /// A write that came after the last answer: the caller takes the operation for finished.
    fn late_write(&self) -> Option<Judgment> {
        let late = self.seen.late_effects();
        if self.tool.is_late || late == 0 {
            return None;
        }
        let came = if late == 1 { "one of them comes" } else { "some of them come" };
        let message = self.result("answers and goes on writing");
        Some(fail(FindingKind::LateWrite, format!("{message}; {came} after its last answer")))
    }

    /// Two calls without a key are two operations, unless the annotations say otherwise.
    fn same_call_twice(&self) -> Judgment {
        let message = self.result("twice");
        match self.made() {
            made if made < self.once() && self.any_ok() => overclaimed(&message),
            made if made < self.once() => void(NothingShown::NotDone, message),
            made if self.tool.idempotent_hint && made > self.once() => {
                fail(FindingKind::Duplicated, format!("{message}, although idempotentHint is true"))
            }
            made if made > 2 * self.once() => fail(FindingKind::Duplicated, message),
            _ => pass(message),
        }
    }

    /// The effects of one call, although it was called more than once.
    fn once_in_all(&self, message: String) -> Judgment {
        match self.made() {
            made if made > self.once() => fail(FindingKind::Duplicated, message),
            made if made == self.once() => pass(message),
            _ if self.any_ok() => overclaimed(&message),
            _ => void(NothingShown::NotDone, message),
        }
    }

    fn another_key(&self) -> Judgment {
        let message = self.result("with two keys");
        match self.made() {
            made if made == 2 * self.once() => pass(message),
            made if made > 2 * self.once() => fail(FindingKind::Duplicated, message),
            _ if self.is_ok(0) && self.is_ok(1) => {
                overclaimed(&format!("{message}, so the second operation is lost"))
            }
            _ => void(NothingShown::NotDone, message),
        }
    }

    fn other_arguments(&self) -> Judgment {
        let message = self.result("with one key and other arguments");
        match self.made() {
            made if made > self.once() => {
                fail(FindingKind::Diverged, format!("{message}: the key is ignored"))
            }
            made if made < self.once() => void(NothingShown::NotDone, message),
            _ if self.is_ok(1) => fail(
                FindingKind::Overclaimed,
                format!("{message}; the second call says that it worked, and nothing of it happened"),
            ),
            _ => pass(format!("{message}; the second call is refused")),
        }
    }

    fn callers(&self) -> Judgment {
        let message = self.result(&format!("by {} callers at once", number(self.tool.callers)));
        if self.tool.keyed || self.tool.idempotent_hint {
            return self.once_in_all(message);
        }
        let worked = self.seen.calls.iter().filter(|call| self.tool.says_ok(call)).count();
        match self.made() {
            made if made > self.tool.callers * self.once() => fail(FindingKind::Duplicated, message),
            made if made == 0 && worked == 0 => void(NothingShown::NotDone, message),
            0 => overclaimed(&message),
            // A tool that recognizes a repeated call does it once; any other number loses operations.
            made if made != self.once() && made < worked * self.once() => fail(
                FindingKind::Overclaimed,
                format!("{message}, and {} say that it worked", number(worked)),
            ),
            _ => pass(message),
        }
    }

    /// The backend commits nothing and is silent; what happens after the cancellation should not have
    /// happened.
    fn cancelled(&self) -> Judgment {
        let name = &self.tool.name;
        if self.outcome(0) != Some(CallOutcome::NotAwaited) {
            return void(NothingShown::Ended, format!("`{name}` could not be cancelled: it had ended"));
        }
        if !self.reached_before_the_end() {
            let message = format!("`{name}` had not reached the backend when it was cancelled");
            return void(NothingShown::NotReached, message);
        }
        // What it did before it was cancelled is not what follows.
        let end = self.seen.calls.first().and_then(|call| call.ended_at).unwrap_or_default();
        let mut after = self.seen.clone();
        after.effects.retain(|effect| effect.at > end);
        let after = Judging { tool: self.tool, seen: &after };
        match (after.made(), self.seen.alive) {
            (0, Some(true)) => {
                pass(format!("`{name}` cancelled before the effect → nothing happens afterwards"))
            }
            (0, _) => fail(FindingKind::TimeUp, format!("`{name}` cancelled → the server no longer answers")),
            _ => fail(
                FindingKind::Unintended,
                format!("`{name}` cancelled before the effect → {} afterwards", after.counted()),
            ),
        }
    }

    /// Whether the first call had reached the backend when it was cancelled or its connection was closed.
    fn reached_before_the_end(&self) -> bool {
        if let EffectSource::Read { .. } = self.tool.source {
            let before_the_second_call = self.seen.counts.first().zip(self.seen.counts.get(1));
            return before_the_second_call.is_some_and(|(first, second)| second > first);
        }
        let end = self.seen.calls.first().and_then(|call| call.ended_at);
        let first = self.seen.writes.first().map(|write| write.at);
        first.zip(end).is_some_and(|(first, end)| first <= end)
    }

    fn lost_connection(&self) -> Judgment {
        if !self.reached_before_the_end() {
            let message = "the call had not reached the backend when its connection was closed";
            return void(NothingShown::NotReached, message.to_owned());
        }
        self.once_in_all(self.result("with a lost connection, then the same call again"))
    }

    fn killed(&self) -> Judgment {
        if self.seen.starts < 2 {
            let message = "the server was not killed: the effect did not happen";
            return void(NothingShown::NotKilled, message.to_owned());
        }
        self.once_in_all(self.result("killed after the effect, then the same call again"))
    }

    /// A call, and the same call again if the first one failed and did not say that its outcome is open.
    fn backend_failed(&self, failure: &str) -> Judgment {
        let said = match self.seen.calls.first() {
            Some(call) if self.tool.says_ok(call) => "it says that it worked".to_owned(),
            Some(call) if call.text.is_empty() => "it says nothing".to_owned(),
            Some(call) => format!("it says \"{}\"", short(&call.text, QUOTED)),
            None => String::new(),
        };
        let again = if self.seen.calls.len() > 1 { ", and is called again" } else { "" };
        let message =
            format!("`{}`: {failure}; {said}{again} → {}; {}", self.tool.name, self.counted(), self.keys());
        match self.made() {
            made if made > self.once() && self.seen.calls.len() == 1 => {
                fail(FindingKind::Duplicated, format!("{message}: its own client repeats the request"))
            }
            made if made > self.once() => fail(FindingKind::Duplicated, message),
            made if made < self.once() && self.any_ok() => {
                fail(FindingKind::Overclaimed, format!("{message}, so its success is wrong"))
            }
            // Nobody knows whether an agent would call again.
            made if made <= self.once() && self.tool.unclear_text(self.seen).is_some() => void(
                NothingShown::UnclearText,
                format!("{message}; its text says neither that it worked nor that it failed"),
            ),
            _ => pass(message),
        }
    }

    /// A tool cannot see that its backend lies, unless it reads back: a success is not a failure of the tool.
    fn lying_success(&self) -> Judgment {
        let name = &self.tool.name;
        if self.made() == 0
            && let Some(text) = self.tool.unclear_text(self.seen)
        {
            let text = short(text, QUOTED);
            let message =
                format!("`{name}` says \"{text}\", which says neither that it worked nor that it failed");
            return void(NothingShown::UnclearText, message);
        }
        match (self.made(), self.any_ok()) {
            (0, true) => Judgment {
                verdict: CaseVerdict::Skipped,
                finding: None,
                void: None,
                message: format!("`{name}` believes the success of its backend and does not read back"),
            },
            (0, false) => pass(format!("`{name}` notices that its backend did nothing, and says so")),
            _ => pass(format!("`{name}` notices that its backend did nothing → {}", self.counted())),
        }
    }
}

/// Texts as a sum: `a`, `a and b`, `a, b and c`.
fn joined(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A number as a word, if it is small.
fn number(count: usize) -> String {
    NUMBERS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// Whether a text asks to call again.
pub(super) fn says_try_again(text: &str) -> bool {
    let text = text.to_lowercase();
    let asks = ["try again", "retry", "try later", "please repeat", "call again"]
        .iter()
        .any(|word| text.contains(word));
    asks && !leaves_outcome_open(&text)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
