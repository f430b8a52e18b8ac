//! The questions, and for each the faults and the calls that ask it.

use std::borrow::Cow;
use std::time::Duration;

use mock_services::word_enum;

use super::arguments::CallArguments;
use super::cases::TrialSetup;
use super::judge::EffectSource;
use crate::mcp::client::{DriverStep, ToolCall};

/// The reply of a backend that is too late for a connection that is closed after [`CLOSE_AFTER`].
const LATE_REPLY: &str = "{ delay: 3s }";
/// When a connection is closed, and when a call is cancelled: by then, the call has reached the backend.
const CLOSE_AFTER: Duration = Duration::from_secs(1);
/// How long the backend says nothing to a call that is cancelled.
const HANG: &str = "{ hang: { release: 3s } }";
/// How long a server is watched after a cancelled call: longer than the hang.
const WATCH_AFTER_CANCEL: Duration = Duration::from_secs(4);

word_enum! {
    /// A question about a tool that writes.
    pub enum McpQuestion {
        /// The same call twice, without a key.
        SameCallTwice => "same-call-twice",
        /// The same call twice, with one key.
        OneKeyTwice => "one-key-twice",
        /// The same call twice, with two keys.
        TwoKeys => "two-keys",
        /// Two calls with one key and different arguments.
        OneKeyOtherArguments => "one-key-other-arguments",
        /// Many callers at once with the same call.
        CallersAtOnce => "callers-at-once",
        /// A call that is cancelled while the backend says nothing.
        Cancelled => "cancelled",
        /// A call whose connection is lost after it was sent, and then the same call again.
        ConnectionLost => "connection-lost",
        /// The server is killed after the effect and started again, and then the same call again.
        KilledAfterEffect => "killed-after-effect",
        /// The backend commits, and its reply is lost.
        ReplyLost => "reply-lost",
        /// The backend commits, and replies with an error.
        ErrorAfterEffect => "error-after-effect",
        /// The backend commits nothing, and its reply is lost or an error.
        RequestLost => "request-lost",
        /// The backend commits nothing, and replies with success.
        BackendLies => "backend-lies",
    }
}

impl McpQuestion {
    /// All of them, in the order of the table.
    pub const EVERY: [McpQuestion; 12] = [
        McpQuestion::SameCallTwice,
        McpQuestion::OneKeyTwice,
        McpQuestion::TwoKeys,
        McpQuestion::OneKeyOtherArguments,
        McpQuestion::CallersAtOnce,
        McpQuestion::Cancelled,
        McpQuestion::ConnectionLost,
        McpQuestion::KilledAfterEffect,
        McpQuestion::ReplyLost,
        McpQuestion::ErrorAfterEffect,
        McpQuestion::RequestLost,
        McpQuestion::BackendLies,
    ];
}

/// The combinations of commit and reply of a question about a failing backend.
fn cells(question: McpQuestion) -> Vec<(&'static str, &'static str)> {
    const LOST: [&str; 5] = ["drop", "reset", "{ hang: { release: 2s } }", "truncate", "garble"];
    const ERRORS: [&str; 4] = ["{ status: 500 }", "{ status: 502 }", "{ status: 503 }", "{ status: 429 }"];
    const COMMITTED: [&str; 2] = ["now", "{ later: { requests: 2 } }"];
    let product = |commits: &[&'static str], replies: &[&'static str]| {
        commits
            .iter()
            .flat_map(|commit| replies.iter().map(move |reply| (*commit, *reply)).collect::<Vec<_>>())
            .collect()
    };
    match question {
        McpQuestion::ReplyLost => product(&COMMITTED, &LOST),
        McpQuestion::ErrorAfterEffect => product(&COMMITTED, &ERRORS),
        McpQuestion::RequestLost => product(&["never"], &[&LOST[..], &ERRORS[..]].concat()),
        McpQuestion::BackendLies => vec![("never", "ok")],
        _ => Vec::new(),
    }
}

/// What a question needs to know of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedTool<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its arguments.
    pub(super) call: &'a CallArguments,
    /// Where its effects are counted.
    pub(super) source: &'a EffectSource,
    /// How many callers call it at once.
    pub(super) callers: u32,
    /// Whether the server serves HTTP, so that a caller is a session.
    pub(super) over_http: bool,
}

/// Why a question is not asked of a tool whose effects a read counts.
const NO_BACKEND: &str = "its effects are counted by a read, so hapax cannot make its backend fail";

impl AskedTool<'_> {
    /// The trials that ask a question; where there is none, why it is not asked.
    pub(super) fn trials(&self, question: McpQuestion) -> Result<Vec<TrialSetup>, &'static str> {
        let plain = || self.step(&self.call.arguments);
        let keyed = |number| self.step(&self.call.with_key(number));
        let call = DriverStep::Call;
        let has_key = self.call.key.is_some();
        let only = |steps: Vec<DriverStep>| Ok(vec![self.setup(question, steps)]);
        match question {
            McpQuestion::SameCallTwice => match &self.call.key {
                Some(key) if key.required => Err("every call needs a key"),
                _ => only(vec![call(plain()), call(plain())]),
            },
            McpQuestion::OneKeyTwice | McpQuestion::TwoKeys | McpQuestion::OneKeyOtherArguments
                if !has_key =>
            {
                Err("it takes no key")
            }
            McpQuestion::OneKeyTwice => only(vec![call(keyed(1)), call(keyed(1))]),
            McpQuestion::TwoKeys => only(vec![call(keyed(1)), call(keyed(2))]),
            McpQuestion::OneKeyOtherArguments => match self.call.other_with_key(1) {
                Some(other) => only(vec![call(keyed(1)), call(self.step(&other))]),
                None => {
                    Err("hapax does not know which argument to change; name it in the tools file (`other`)")
                }
            },
            McpQuestion::CallersAtOnce if self.over_http => {
                only(vec![DriverStep::CallAtOnce { call: keyed(1), callers: self.callers }])
            }
            McpQuestion::CallersAtOnce => match self.source {
                EffectSource::Backend(operations) => Ok(vec![TrialSetup {
                    callers: self.callers,
                    meet: operations.first().cloned(),
                    ..self.setup(question, vec![call(keyed(1))])
                }]),
                EffectSource::Read { .. } => {
                    Err("its effects are counted by a read, and each caller has its own server")
                }
            },
            McpQuestion::Cancelled => {
                let step =
                    DriverStep::Cancel { call: keyed(1), after: CLOSE_AFTER, wait: WATCH_AFTER_CANCEL };
                self.with_faults(question, &[("never", HANG)], &[step])
            }
            McpQuestion::ConnectionLost => {
                let lose = DriverStep::LoseConnection { call: keyed(1), after: CLOSE_AFTER };
                match self.source {
                    EffectSource::Backend(_) => {
                        self.with_faults(question, &[("now", LATE_REPLY)], &[lose, call(keyed(1))])
                    }
                    EffectSource::Read { call: read, .. } => {
                        only(vec![lose, DriverStep::Count(read.clone()), call(keyed(1))])
                    }
                }
            }
            McpQuestion::KilledAfterEffect => {
                let EffectSource::Backend(operations) = self.source else { return Err(NO_BACKEND) };
                let killed = |operation: &String| TrialSetup {
                    kill_at: Some(operation.clone()),
                    ..TrialSetup::new(question, vec![vec![call(keyed(1))], vec![call(keyed(1))]])
                };
                Ok(operations.iter().map(killed).collect())
            }
            McpQuestion::ReplyLost | McpQuestion::ErrorAfterEffect | McpQuestion::RequestLost => {
                let again = DriverStep::CallAgainAfterError(keyed(1));
                self.with_faults(question, &cells(question), &[call(keyed(1)), again])
            }
            McpQuestion::BackendLies => self.with_faults(question, &cells(question), &[call(keyed(1))]),
        }
    }

    /// One trial for each operation and each combination of commit and reply.
    fn with_faults(
        &self,
        question: McpQuestion,
        cells: &[(&'static str, &'static str)],
        steps: &[DriverStep],
    ) -> Result<Vec<TrialSetup>, &'static str> {
        let EffectSource::Backend(operations) = self.source else { return Err(NO_BACKEND) };
        let one = |operation: &String| {
            let with = |(commit, reply): &(&'static str, &'static str)| TrialSetup {
                fault: Some((operation.clone(), Cow::Borrowed(*commit), Cow::Borrowed(*reply))),
                ..TrialSetup::new(question, vec![steps.to_vec()])
            };
            cells.iter().map(with).collect::<Vec<_>>()
        };
        Ok(operations.iter().flat_map(one).collect())
    }

    /// A trial without faults. Where a read counts the effects, it is asked before and after.
    fn setup(&self, question: McpQuestion, mut steps: Vec<DriverStep>) -> TrialSetup {
        if let EffectSource::Read { call, .. } = self.source {
            steps.insert(0, DriverStep::Count(call.clone()));
            steps.push(DriverStep::Count(call.clone()));
        }
        TrialSetup::new(question, vec![steps])
    }

    fn step(&self, arguments: &serde_json::Map<String, serde_json::Value>) -> ToolCall {
        ToolCall { tool: self.name.to_owned(), arguments: arguments.clone() }
    }
}
