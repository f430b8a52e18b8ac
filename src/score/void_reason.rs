//! Why a trial is void: every reason with its words. Nothing reads the words again.

use std::fmt;

use mock_services::catalog::{ApiDescription, apis};
use yaml_reader::shown;

use super::barrier::callers;
use super::slow_start::{SLOW_START, SlowStart};
use crate::domain::{APPROVALS, OrderMiss, SHARED_KEY, VoidCause, VoidOwner};
use crate::scenario::can_line;

/// The maximum number of characters of a line.
const MAX_LINE: usize = 200;
/// The maximum number of characters of the output of a command.
const MAX_OUTPUT: usize = 2_000;

/// A reason for which a trial is void.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum VoidReason {
    /// A caller, or the whole subject, could not be started.
    Unstartable { caller: Option<u32>, error: String },
    /// The subject asked for something that the service in hapax does not have.
    MissingFeature(String),
    /// A service cannot say what the real one would answer: why.
    Undecided(String),
    /// A model was asked about the task so often, and never offered a tool.
    NoToolsOffered(usize),
    /// The command that is run before each trial failed.
    Unprepared { error: String },
    /// The subject sent no request to a service that the scenario requires.
    ServiceUnused(String),
    /// A planned fault did not fire.
    FaultNotFired { fault: String, unmet: Unmet },
    /// A planned interrupt did not fire.
    InterruptNotFired { interrupt: String, unmet: Unmet },
    /// This effect was reverted after the last start had begun.
    RevertedTooLate { effect: String },
    /// An agent was interrupted before it had accepted its task.
    NotAccepted,
    /// The subject did not ask for an approval: of this operation, if the scenario names one.
    NotAsked { operation: Option<String> },
    /// Not all answers came that were planned.
    NotAnswered { operation: String, planned: u32, given: usize },
    /// A copy of an event could not be delivered: why.
    NotDelivered(String),
    /// Not all copies of events arrived that were planned.
    CopiesMissing { planned: u32, arrived: u32 },
    /// Every event was answered with this status: nobody takes events there.
    NobodyReceives(u16),
    /// Two deliveries did not overlap.
    NoOverlap { overlap: String, unmet: Unmet },
    /// The first of two overlapping deliveries went on before the second had shown what it does.
    SecondUnfinished,
    /// A hang had to be ended before the client's own timeout.
    TimeoutNotReached { attempt: String, seconds: u64 },
    /// The time limit ended soon after the first request.
    SlowStart(SlowStart),
    /// The subject ended and left processes running.
    LeftRunning(u64),
    /// Requests were not answered when an agent over HTTP was no longer watched.
    Unanswered(u64),
    /// A request was being sent when an agent over HTTP was no longer watched.
    StillSending,
    /// The subject used another API of a service than the case needs.
    OtherApi {
        operation: String,
        used: &'static ApiDescription,
        needed: Vec<String>,
        can: Vec<String>,
        /// Whether the status of a fault, which is that of the API that is needed, answered a request to another one.
        answered: bool,
    },
    /// A read whose query holds everything that an intent asks for.
    WriteInQuery { attempt: String },
    /// The writes of two intents have this value at the place of the key that the user chose.
    SharedKey { service: String, place: String, value: String },
    /// The subject reached the real host that a service of the trial replaces.
    RealServiceReached { host: String, service: &'static str },
    /// A client asked the proxy for a service of the trial.
    ProxyNotBypassed { service: String, host: String, port: u16 },
    /// A client did not accept the certificate of a service of the trial.
    CertificateRefused { host: String, port: u16 },
    /// The callers could not be let in in the order of the scenario.
    OrderMissed(OrderMiss),
    /// Clients of these callers gave up at the barrier.
    GaveUpAtBarrier(Vec<u32>),
    /// Only these callers, which came after the barrier had opened, had effects.
    OnlyLateEffects(Vec<u32>),
    /// Only one caller reached the barrier in time, and others may have been too slow.
    TooSlow { met: u32, slow: Vec<u32> },
    /// No two callers ran at the same time; at most this one reached the barrier.
    NotTogether { met: Option<u32> },
    /// No service received a request, and nothing was due.
    NoRequest,
    /// The ledger is not complete: why.
    Torn(String),
}

/// Why a planned fault or interrupt did not fire.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Unmet {
    /// None of so many attempts of its operation met it.
    Attempts { operation: String, made: usize },
    /// Its moment was reached, but it did not take effect: why.
    NoEffect(String),
}

impl VoidReason {
    /// The word of each reason, and whose it is: the one table of owners. Whatever follows from a request or from
    /// the end of the subject is the subject's.
    pub(super) fn cause(&self) -> VoidCause {
        use VoidOwner::{Hapax, Machine, Subject};
        let (reason, owner) = match self {
            VoidReason::Unstartable { .. } => ("unstartable", Machine),
            VoidReason::MissingFeature(_) => ("missing-feature", Subject),
            VoidReason::Undecided(_) => ("undecided", Subject),
            VoidReason::NoToolsOffered(_) => ("no-tools-offered", Subject),
            VoidReason::Unprepared { .. } => ("unprepared", Machine),
            VoidReason::ServiceUnused(_) => ("service-unused", Subject),
            VoidReason::FaultNotFired { .. } => ("fault-not-fired", Subject),
            VoidReason::InterruptNotFired { unmet: Unmet::Attempts { .. }, .. } => {
                ("interrupt-not-fired", Subject)
            }
            VoidReason::InterruptNotFired { unmet: Unmet::NoEffect(_), .. } => ("interrupt-missed", Machine),
            VoidReason::RevertedTooLate { .. } => ("reverted-too-late", Subject),
            VoidReason::NotAccepted => ("not-accepted", Subject),
            VoidReason::NotAsked { .. } => ("not-asked", Subject),
            VoidReason::NotAnswered { .. } => ("not-answered", Subject),
            VoidReason::NotDelivered(_) => ("not-delivered", Subject),
            VoidReason::CopiesMissing { .. } => ("copies-missing", Machine),
            VoidReason::NobodyReceives(_) => ("nobody-receives", Subject),
            VoidReason::NoOverlap { unmet: Unmet::Attempts { .. }, .. } => ("no-overlap", Subject),
            VoidReason::NoOverlap { unmet: Unmet::NoEffect(_), .. } => ("freeze-missed", Machine),
            VoidReason::SecondUnfinished => ("second-unfinished", Machine),
            // hapax holds the request until it is its turn.
            VoidReason::OrderMissed(OrderMiss::GaveUp { .. }) => ("gave-up-while-held", Hapax),
            VoidReason::OrderMissed(_) => ("order-missed", Subject),
            VoidReason::TimeoutNotReached { .. } => ("timeout-not-reached", Subject),
            // It can sleep on purpose.
            VoidReason::SlowStart(_) => (SLOW_START, Subject),
            VoidReason::LeftRunning(_) => ("left-running", Subject),
            VoidReason::Unanswered(_) => ("unanswered", Subject),
            VoidReason::StillSending => ("still-sending", Subject),
            VoidReason::OtherApi { .. } => ("other-api", Subject),
            VoidReason::WriteInQuery { .. } => ("write-in-query", Subject),
            VoidReason::SharedKey { .. } => (SHARED_KEY, Subject),
            VoidReason::RealServiceReached { .. } => ("real-service-reached", Subject),
            VoidReason::ProxyNotBypassed { .. } => ("proxy-not-bypassed", Subject),
            VoidReason::CertificateRefused { .. } => ("certificate-refused", Subject),
            // hapax holds the request for as long as the other callers need.
            VoidReason::GaveUpAtBarrier(_) => ("gave-up-at-barrier", Hapax),
            VoidReason::OnlyLateEffects(_) => ("only-late-effects", Machine),
            VoidReason::TooSlow { .. } => ("too-slow", Machine),
            VoidReason::NotTogether { .. } => ("not-together", Subject),
            VoidReason::NoRequest => ("no-request", Subject),
            VoidReason::Torn(_) => ("torn-ledger", Hapax),
        };
        VoidCause::new(reason, owner)
    }
}

impl fmt::Display for VoidReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VoidReason::Unstartable { caller: None, error } => {
                write!(out, "the subject could not be started: {}", cut(error))
            }
            VoidReason::Unstartable { caller: Some(caller), error } => {
                write!(out, "caller {caller} could not be started: {}", cut(error))
            }
            VoidReason::MissingFeature(feature) => write!(
                out,
                "hapax does not have {} yet, and the subject asked for it: open an issue that names it, serve \
                 it from a service that you declare (docs/your-own-service.md), or let the subject do without \
                 it in this test",
                cut(feature)
            ),
            VoidReason::Undecided(why) => out.write_str(&bounded(why, MAX_OUTPUT)),
            VoidReason::NoToolsOffered(asked) => {
                let times = if *asked == 1 { "once".to_owned() } else { format!("{asked} times") };
                write!(
                    out,
                    "the subject asked the model about the task {times} and never offered it a tool, so the scripted \
                     model could only answer with a text: let the subject send `tools` or a text protocol that the \
                     model speaks, or script the answers with `script`"
                )
            }
            VoidReason::Unprepared { error } => write!(
                out,
                "the command `before` of the subject failed, so the trial did not begin: {}",
                bounded(error, MAX_OUTPUT)
            ),
            VoidReason::ServiceUnused(service) => write!(
                out,
                "the scenario requires the service `{name}`, and the subject sent it no request: remove \
                 `{name}` from the settings of the subject, so that it skips such cases, or let its client use \
                 the address in HAPAX_{variable}_URL",
                name = cut(service),
                variable = cut(service).to_uppercase().replace('-', "_")
            ),
            VoidReason::FaultNotFired { fault, unmet } => {
                write!(out, "the fault `{}` did not fire: {unmet}", cut(fault))
            }
            VoidReason::InterruptNotFired { interrupt, unmet } => {
                write!(out, "the interrupt `{}` did not fire: {unmet}", cut(interrupt))
            }
            VoidReason::RevertedTooLate { effect } => write!(
                out,
                "{} was reverted after the last start had begun, so no start could find it gone: let the fault revert \
                 it earlier, or add a turn",
                cut(effect)
            ),
            VoidReason::NotAccepted => out.write_str(
                "the agent was interrupted before it had accepted its task, so a restart without the task shows \
                 nothing: answer 202 before the work begins, or remove `finds_work` for it in hapax.yaml",
            ),
            VoidReason::NotAsked { operation } => {
                let about = operation.as_ref().map(|name| format!(" of {}", cut(name))).unwrap_or_default();
                write!(
                    out,
                    "the subject did not ask for an approval{about}, so the answers of the scenario show nothing: let it \
                     end with the claim `waiting`, or remove `{APPROVALS}` from its settings, so that it skips such \
                     cases"
                )
            }
            VoidReason::NotAnswered { operation, planned, given } => write!(
                out,
                "{given} of {planned} answers about {} came: the subject ended before the others could come",
                cut(operation)
            ),
            VoidReason::NotDelivered(why) => {
                write!(out, "an event of the scenario was not delivered: {}", cut(why))
            }
            VoidReason::CopiesMissing { planned, arrived } => {
                write!(out, "{arrived} of {planned} copies of events arrived; run it again, or raise `timeout`")
            }
            VoidReason::NobodyReceives(status) => write!(
                out,
                "every event was answered with {status}: the subject takes no events at that path; set it with \
                 `receives: {{path: /hooks}}` in hapax.yaml"
            ),
            VoidReason::NoOverlap { overlap, unmet } => {
                write!(out, "the two deliveries did not overlap (`{}`): {unmet}", cut(overlap))
            }
            VoidReason::OrderMissed(miss) => {
                write!(out, "the callers were not let in in the order of the scenario: {}", miss.words())
            }
            VoidReason::SecondUnfinished => out.write_str(
                "the second worker had neither ended nor tried to write when the first went on, and was not seen to \
                 wait for a file lock of it: what it does while the first is frozen is not known; raise `within` of \
                 `freeze`, or let it wait with a file lock",
            ),
            VoidReason::TimeoutNotReached { attempt, seconds } => write!(
                out,
                "the client's timeout was not reached within {seconds} s: {attempt} got no reply, and the \
                 client was still waiting; write `client_timeout:` with a longer time for this subject in \
                 hapax.yaml, or give its client a timeout"
            ),
            VoidReason::LeftRunning(left) => {
                let processes = if *left == 1 { "a process".to_owned() } else { format!("{left} processes") };
                write!(
                    out,
                    "the subject ended and left {processes} running, which hapax ended: what they would have \
                     done is not known"
                )
            }
            VoidReason::Unanswered(unanswered) => {
                let requests = match unanswered {
                    1 => "a request was".to_owned(),
                    several => format!("{several} requests were"),
                };
                write!(
                    out,
                    "{requests} not answered when the time was over for which the agent is watched after its \
                     answer: what it would have done next is not known; raise `watch` in hapax.yaml"
                )
            }
            VoidReason::StillSending => out.write_str(
                "the agent was still sending a request when the time was over for which it is watched after \
                 its answer; raise `watch` in hapax.yaml",
            ),
            VoidReason::OtherApi { operation, used, needed, can, .. } => {
                let service = operation.split('.').next().unwrap_or_default();
                let needed = apis(service).iter().filter(|api| needed.iter().any(|name| name == api.name));
                let needed = needed.map(|api| api.title).collect::<Vec<_>>().join(" or ");
                let line = can_line(can, operation, used.name);
                let keep = if can.is_empty() { ", with everything else that it does" } else { "" };
                write!(
                    out,
                    "the subject did {operation} through {}, {}; this case needs {needed}: to skip such \
                     cases, write `{line}` for the subject in hapax.yaml{keep}",
                    used.title, used.differs
                )
            }
            VoidReason::WriteInQuery { attempt } => write!(
                out,
                "{attempt} is a read, but its query holds all values that the task asks for: whether the real \
                 API acts on it is not known; send them in the body of a write, and read with fewer of them"
            ),
            VoidReason::SharedKey { service, place, value } => write!(
                out,
                "writes of two different effects have the value `{}` at `{}`, where the idempotency rules of `{}` say \
                 that the key is: it identifies no request, so the service would take a second write for the first and \
                 hide it; name the header or the field with a new value for each effect, for example key: \
                 header.Idempotency-Key",
                cut(value),
                cut(place),
                cut(service)
            ),
            VoidReason::RealServiceReached { host, service } => write!(
                out,
                "the subject reached the real {}, which is allowed, although the service `{service}` of the \
                 trial replaces it: its effects there are not in the ledger",
                shown(host)
            ),
            VoidReason::ProxyNotBypassed { service, host, port } => write!(
                out,
                "a client of the subject asked the proxy for the service `{}` ({}:{port}) and was refused: it \
                 ignores NO_PROXY, which names this address; let it honor NO_PROXY, or use no proxy for \
                 127.0.0.1",
                shown(service),
                shown(host)
            ),
            VoidReason::CertificateRefused { host, port } => write!(
                out,
                "a client of the subject did not accept the certificate for {}:{port}: its trust store is \
                 compiled in, or was made after the start, so that the certificate authority of the run is \
                 not in it; let the client trust the file in SSL_CERT_FILE",
                shown(host)
            ),
            VoidReason::GaveUpAtBarrier(left) => write!(
                out,
                "{} gave up while waiting at the barrier; raise the client's own timeout or lower `within`",
                callers(left)
            ),
            VoidReason::OnlyLateEffects(late) => write!(
                out,
                "the only effects are of {}, which wrote after the barrier had opened without it; raise \
                 `within` so that all callers arrive in time",
                callers(late)
            ),
            VoidReason::SlowStart(SlowStart { first_request, stopped }) => write!(
                out,
                "{first_request} of {stopped} s had passed before its first request, so there was no time left for the \
                 task: give it more time with --timeout, or run fewer at once with --jobs"
            ),
            VoidReason::TooSlow { met, slow } => write!(
                out,
                "only caller {met} reached the barrier before it opened, and {} may have been too slow to run \
                 at the same time; raise `within` so that all callers arrive in time",
                callers(slow)
            ),
            VoidReason::NotTogether { met } => {
                match met {
                    Some(one) => write!(out, "only caller {one} reached the barrier")?,
                    None => out.write_str("no caller reached the barrier")?,
                }
                out.write_str(
                    ", so no two callers ran at the same time; let all of them write, or at least send a \
                     request before they wait for each other",
                )
            }
            VoidReason::NoRequest => {
                out.write_str("no service received a request, so the trial shows nothing about the subject")
            }
            VoidReason::Torn(problem) => write!(out, "the ledger is torn: {}", cut(problem)),
        }
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Attempts { operation, made } => {
                let operation = shown(operation);
                match made {
                    0 => write!(out, "there was no attempt of {operation}"),
                    1 => write!(out, "the only attempt of {operation} did not meet it"),
                    made => write!(out, "none of the {made} attempts of {operation} met it"),
                }
            }
            Unmet::NoEffect(why) => out.write_str(&cut(why)),
        }
    }
}

/// The text without control characters, shortened to more characters than [`shown`] allows.
pub(super) fn cut(text: &str) -> String {
    bounded(text, MAX_LINE)
}

pub(super) fn bounded(text: &str, limit: usize) -> String {
    let harmless = |character: char| if character.is_control() { ' ' } else { character };
    let mut out: String = text.chars().take(limit).map(harmless).collect();
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}
