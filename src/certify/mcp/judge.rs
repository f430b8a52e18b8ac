//! What a trial says about its question. The rules are in docs/mcp-servers.md; they count effects at the
//! backend, and compare them with what the tool said.

use mock_services::fault::{CommitKind, Fault};
use serde::{Deserialize, Serialize};

use super::cases::TrialSetup;
use super::observed::ObservedTrial;
use super::questions::McpQuestion;
use super::text::{counted_effects, number, short};
use crate::certify::ProbeOutcome;
use crate::mcp::client::{CallOutcome, ToolCall, leaves_outcome_open};

/// How much of the text of a tool is quoted.
const QUOTED: usize = 80;

/// What is known of a tool from its call without faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolFacts {
    /// Its name.
    pub(super) name: String,
    /// The number of effects of one call.
    pub(super) effects: usize,
    /// The effect, for the words of sentences.
    pub(super) effect: String,
    /// Whether its card says that the same call again changes nothing.
    pub(super) idempotent_hint: bool,
    /// Whether the calls have a key.
    pub(super) keyed: bool,
    /// The number of callers at once.
    pub(super) callers: usize,
    /// Where its effects are counted.
    pub(super) source: EffectSource,
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

/// What a trial says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgment {
    pub(super) outcome: ProbeOutcome,
    pub(super) sentence: String,
}

fn held(sentence: String) -> Judgment {
    Judgment { outcome: ProbeOutcome::Held, sentence }
}

fn failed(sentence: String) -> Judgment {
    Judgment { outcome: ProbeOutcome::Failed, sentence }
}

fn void(sentence: String) -> Judgment {
    Judgment { outcome: ProbeOutcome::Void, sentence }
}

/// Judges a trial.
pub(super) fn judge(tool: &ToolFacts, setup: &TrialSetup, seen: &ObservedTrial) -> Judgment {
    if let Some(why) = unusable(setup, seen) {
        return void(why);
    }
    if matches!(tool.source, EffectSource::Read { .. }) && seen.counts.len() < 2 {
        return void("its effects were not counted before and after".to_owned());
    }
    let judging = Judging { tool, setup, seen };
    match setup.question {
        McpQuestion::SameCallTwice => judging.same_call_twice(),
        McpQuestion::OneKeyTwice => judging.one_key_twice(),
        McpQuestion::TwoKeys => judging.two_keys(),
        McpQuestion::OneKeyOtherArguments => judging.other_arguments(),
        McpQuestion::CallersAtOnce => judging.callers(),
        McpQuestion::Cancelled => judging.cancelled(),
        McpQuestion::ConnectionLost => judging.connection_lost(),
        McpQuestion::KilledAfterEffect => judging.killed(),
        McpQuestion::ReplyLost | McpQuestion::ErrorAfterEffect | McpQuestion::RequestLost => {
            judging.backend_failed()
        }
        McpQuestion::BackendLies => judging.backend_lies(),
    }
}

/// Why a trial shows nothing.
fn unusable(setup: &TrialSetup, seen: &ObservedTrial) -> Option<String> {
    if let Some(why) = seen.unstartable.as_ref().or(seen.not_connected.as_ref()) {
        return Some(format!("the server could not be used: {}", short(why, 200)));
    }
    // What it does at a host that hapax does not serve is not counted.
    if let Some(host) = seen.escaped.first() {
        return Some(format!("it calls {host}, which is not a service of the trial; see --ignore"));
    }
    if let Some(host) = seen.untrusted.first() {
        return Some(format!("it does not accept the certificate of hapax for {host}; see --ignore"));
    }
    if let Some(what) = seen.unsupported.first() {
        return Some(format!("hapax does not have {what} yet"));
    }
    if let Some(why) = &seen.not_counted {
        return Some(format!("its effects could not be counted: {}", short(why, 200)));
    }
    if seen.calls.is_empty() {
        return Some("no call was made".to_owned());
    }
    let (operation, ..) = setup.fault.as_ref().filter(|_| !seen.fault_applied)?;
    Some(format!("no {operation} reached the backend, so nothing failed"))
}

struct Judging<'a> {
    tool: &'a ToolFacts,
    setup: &'a TrialSetup,
    seen: &'a ObservedTrial,
}

impl ToolFacts {
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

    fn counted(&self) -> String {
        match &self.tool.source {
            EffectSource::Backend(_) => counted_effects(self.made(), &self.tool.effect),
            EffectSource::Read { .. } if self.made() < 2 => format!("{} entry", number(self.made())),
            EffectSource::Read { .. } => format!("{} entries", number(self.made())),
        }
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
        self.outcome(call) == Some(CallOutcome::Ok)
    }

    fn any_ok(&self) -> bool {
        self.seen.calls.iter().any(|call| call.outcome == CallOutcome::Ok)
    }

    /// Two calls without a key are two operations, unless the card says otherwise.
    fn same_call_twice(&self) -> Judgment {
        let sentence = self.result("twice");
        match self.made() {
            made if made < self.once() && self.any_ok() => {
                failed(format!("{sentence}, and it says that it worked"))
            }
            made if made < self.once() => void(sentence),
            made if self.tool.idempotent_hint && made > self.once() => {
                failed(format!("{sentence}, although idempotentHint is true"))
            }
            made if made > 2 * self.once() => failed(sentence),
            _ => held(sentence),
        }
    }

    fn one_key_twice(&self) -> Judgment {
        self.once_in_all(self.result("twice with one key"))
    }

    /// The effects of one call, although it was called more than once.
    fn once_in_all(&self, sentence: String) -> Judgment {
        match self.made() {
            made if made > self.once() => failed(sentence),
            made if made == self.once() => held(sentence),
            _ if self.any_ok() => failed(format!("{sentence}, and it says that it worked")),
            _ => void(sentence),
        }
    }

    fn two_keys(&self) -> Judgment {
        let sentence = self.result("with two keys");
        match self.made() {
            made if made == 2 * self.once() => held(sentence),
            made if made > 2 * self.once() => failed(sentence),
            _ if self.is_ok(0) && self.is_ok(1) => {
                failed(format!("{sentence}, so the second operation is lost, and it says that it worked"))
            }
            _ => void(sentence),
        }
    }

    fn other_arguments(&self) -> Judgment {
        let sentence = self.result("with one key and other arguments");
        match self.made() {
            made if made > self.once() => failed(format!("{sentence}: the key is ignored")),
            made if made < self.once() => void(sentence),
            _ if self.is_ok(1) => {
                failed(format!("{sentence}; the second call says that it worked, and nothing of it happened"))
            }
            _ => held(format!("{sentence}; the second call is refused")),
        }
    }

    fn callers(&self) -> Judgment {
        let sentence = self.result(&format!("by {} callers at once", number(self.tool.callers)));
        if self.tool.keyed || self.tool.idempotent_hint {
            return self.once_in_all(sentence);
        }
        let worked = self.seen.calls.iter().filter(|call| call.outcome == CallOutcome::Ok).count();
        match self.made() {
            made if made > self.tool.callers * self.once() => failed(sentence),
            made if made == 0 && worked == 0 => void(sentence),
            0 => failed(format!("{sentence}, and it says that it worked")),
            // A tool that recognizes a repeated call does it once; any other number loses operations.
            made if made != self.once() && made < worked * self.once() => {
                failed(format!("{sentence}, and {} say that it worked", number(worked)))
            }
            _ => held(sentence),
        }
    }

    /// The backend commits nothing and is silent; what happens after the cancellation should not have
    /// happened.
    fn cancelled(&self) -> Judgment {
        let name = &self.tool.name;
        if self.outcome(0) != Some(CallOutcome::NotAwaited) {
            return void(format!("`{name}` could not be cancelled: it had ended"));
        }
        if !self.reached_before_the_end() {
            return void(format!("`{name}` had not reached the backend when it was cancelled"));
        }
        match (self.made(), self.seen.alive) {
            (0, Some(true)) => {
                held(format!("`{name}` cancelled before the effect → nothing happens afterwards"))
            }
            (0, _) => failed(format!("`{name}` cancelled → the server no longer answers")),
            _ => failed(format!("`{name}` cancelled before the effect → {} afterwards", self.counted())),
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

    fn connection_lost(&self) -> Judgment {
        if !self.reached_before_the_end() {
            return void("the call had not reached the backend when its connection was closed".to_owned());
        }
        self.once_in_all(self.result("with a lost connection, then the same call again"))
    }

    fn killed(&self) -> Judgment {
        if self.seen.starts < 2 {
            return void("the server was not killed: the effect did not happen".to_owned());
        }
        self.once_in_all(self.result("killed after the effect, then the same call again"))
    }

    /// A call, and the same call again if the first one failed and did not say that its outcome is open.
    fn backend_failed(&self) -> Judgment {
        let first = self.seen.calls.first();
        let said = match first {
            Some(call) if call.outcome == CallOutcome::Ok => "it says that it worked".to_owned(),
            Some(call) if call.text.is_empty() => "it says nothing".to_owned(),
            Some(call) => format!("it says \"{}\"", short(&call.text, QUOTED)),
            None => String::new(),
        };
        let again = if self.seen.calls.len() > 1 { ", and is called again" } else { "" };
        let sentence = format!(
            "`{}`: {}; {said}{again} → {}; {}",
            self.tool.name,
            self.failure(),
            self.counted(),
            self.keys()
        );
        match self.made() {
            made if made > self.once() && self.seen.calls.len() == 1 => {
                failed(format!("{sentence}: its own client repeats the request"))
            }
            made if made > self.once() => failed(sentence),
            made if made == self.once() => held(sentence),
            _ if self.any_ok() => failed(format!("{sentence}, so its success is wrong")),
            _ => held(sentence),
        }
    }

    /// What the backend did.
    fn failure(&self) -> String {
        let fault = self.setup.fault.as_ref().and_then(|(operation, commit, reply)| {
            format!("{operation} commit={commit} reply={reply}").parse::<Fault>().ok()
        });
        let Some(fault) = fault else { return String::new() };
        let commit = match fault.commit.kind() {
            CommitKind::Now => "the backend commits",
            CommitKind::Never => "the backend commits nothing",
            _ => "the backend commits later",
        };
        format!("{commit} and {}", fault.reply.service_words())
    }

    /// A tool cannot see that its backend lies, unless it reads back: a success is not a failure of the tool.
    fn backend_lies(&self) -> Judgment {
        let name = &self.tool.name;
        match (self.made(), self.seen.last_is_ok()) {
            (0, true) => Judgment {
                outcome: ProbeOutcome::NotAsked,
                sentence: format!("`{name}` believes the success of its backend and does not read back"),
            },
            (0, false) => held(format!("`{name}` notices that its backend did nothing, and says so")),
            _ => held(format!("`{name}` notices that its backend did nothing → {}", self.counted())),
        }
    }
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
