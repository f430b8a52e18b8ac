//! What can be done to one call: the cells of the square of commit and reply that make sense for it, and the moments at
//! which its caller is interrupted.

use mock_services::fault::{OtherObject, Reply};
use mock_services::service::Fields;
use mock_services::word_enum;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::search::SearchLimits;
use crate::domain::is_default;
use crate::scenario::Reached;

/// One request of a caller, as the faults of a scenario count it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// The caller, from 1.
    pub caller: u32,
    /// The full name of the operation.
    pub operation: String,
    /// The number of the attempt among those of this caller at this operation, from 1.
    pub attempt: u32,
    /// Whether it is a write.
    pub write: bool,
    /// How it can be answered about something else, if it is a read that can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherAnswer>,
    /// Whether it had several effects, of which a part can be committed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_list: bool,
    /// Whether it has no idempotency key although the case says that the service takes one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_keyless: bool,
    /// Whether it is answered with what is stored under its key, so that it commits nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_replay: bool,
}

/// What the answer to a read says in place of the truth, so that it is about something else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OtherAnswer {
    /// The field.
    pub field: String,
    /// Its value.
    pub value: String,
    /// The number of the attempt among those whose answers this changes: faults count no others.
    pub attempt: u32,
}

impl OtherAnswer {
    /// Whether an answer with this body becomes another one. The ledger cuts what is long: then the part that it has must
    /// have the field, with a value that is no list and no map.
    pub(super) fn changes(&self, body: &str) -> bool {
        if serde_json::from_str::<IgnoredAny>(body).is_err() {
            let name = format!("\"{}\"", self.field);
            let is_scalar = |value: &str| !value.trim_start().starts_with(['[', '{']);
            return body
                .split(&name)
                .skip(1)
                .any(|rest| rest.trim_start().strip_prefix(':').is_some_and(is_scalar));
        }
        let fields = Fields::new().with(&self.field, self.value.as_str());
        Reply::Other(OtherObject(fields)).can_change(body.as_bytes())
    }
}

impl Call {
    /// Whether another one is the same request of the same caller, as faults and interrupts count it.
    pub(super) fn is_same(&self, other: &Call) -> bool {
        (self.caller, &self.operation, self.attempt) == (other.caller, &other.operation, other.attempt)
    }

    /// Makes it the attempt before.
    pub(super) fn make_earlier(&mut self) {
        self.attempt = self.attempt.saturating_sub(1).max(1);
        if let Some(other) = &mut self.other {
            other.attempt = other.attempt.saturating_sub(1).max(1);
        }
    }

    /// It in words: `the second payment.charge of caller 2`.
    pub(super) fn words(&self, callers: u32) -> String {
        let number = match self.attempt {
            1 => "first".to_owned(),
            2 => "second".to_owned(),
            3 => "third".to_owned(),
            other => format!("{other}th"),
        };
        let whose = if callers > 1 { format!(" of caller {}", self.caller) } else { String::new() };
        format!("the {number} {}{whose}", self.operation)
    }
}

word_enum! {
    /// What is done to a call, the cheapest and most telling first.
    pub enum Cell {
        /// Committed, and the reply is lost.
        LostReply => "lost-reply",
        /// The caller is killed when it is committed, and started again.
        KillCommitted => "kill-committed",
        /// Refused with a 503, nothing is committed.
        Unavailable => "unavailable",
        /// A read is answered from an older state.
        Stale => "stale",
        /// A read is answered about another object.
        Other => "other",
        /// Answered with a 500; a write is committed.
        ErrorAfterCommit => "error-after-commit",
        /// Refused with a 429, nothing is committed.
        RateLimited => "rate-limited",
        /// Answered with a 500, nothing is committed.
        Failed => "failed",
        /// The caller is killed when it has the reply, and started again.
        KillReplied => "kill-replied",
        /// The caller is killed when the request is received, nothing is committed, and it is started again.
        KillReceived => "kill-received",
        /// The reply is lost, and it is committed while the caller goes on.
        LateCommit => "late-commit",
        /// The connection is closed, nothing is committed.
        LostRequest => "lost-request",
        /// Committed, and answered with a 429.
        LimitedAfterCommit => "limited-after-commit",
        /// Committed, and answered with a 503.
        UnavailableAfterCommit => "unavailable-after-commit",
        /// Answered with a 502; a write is committed.
        BadGateway => "bad-gateway",
        /// Answered with a 504; a write is committed.
        GatewayTimeout => "gateway-timeout",
        /// Answered with a 408; a write is committed.
        RequestTimeout => "request-timeout",
        /// A part of a list is committed, and the reply is lost.
        PartLost => "part-lost",
        /// A part of a list is committed, and it is answered with a 500.
        PartFailed => "part-failed",
        /// The network delivers the request twice.
        Twice => "twice",
        /// The body of the reply does not parse.
        Garbled => "garbled",
        /// The caller is killed when it is committed, and started on another machine.
        ElsewhereCommitted => "elsewhere-committed",
        /// The caller is killed when it has the reply, and started on another machine.
        ElsewhereReplied => "elsewhere-replied",
        /// The caller is killed when it is committed, and started on the next day.
        NextDayCommitted => "next-day-committed",
        /// The reply is cut in the middle.
        Truncated => "truncated",
        /// Acknowledged, and committed later.
        LateAcknowledged => "late-acknowledged",
        /// Answered with a 503 while it is committed later.
        LateCommitUnavailable => "late-commit-unavailable",
        /// The connection is reset after the commit.
        Reset => "reset",
        /// The caller is killed when the request is received, nothing is committed, and it is started on another machine.
        ElsewhereReceived => "elsewhere-received",
        /// The caller is asked to stop when it is committed, and started again.
        StopCommitted => "stop-committed",
        /// The caller is asked to stop when it has the reply, and started again.
        StopReplied => "stop-replied",
        /// The caller is asked to stop when the request is received, and started again.
        StopReceived => "stop-received",
        /// No reply comes for a while, then the connection is closed; it is committed.
        Hang => "hang",
        /// The caller is frozen for a while when it has the reply.
        FreezeReplied => "freeze-replied",
        /// The caller is frozen for a while when it is committed.
        FreezeCommitted => "freeze-committed",
        /// The caller is frozen for a while when the request is received.
        FreezeReceived => "freeze-received",
        /// The caller is frozen when it has the reply, for longer than a lease, while another caller goes on.
        FreezeLong => "freeze-long",
        /// No reply comes until the client gives up; it is committed.
        Timeout => "timeout",
        /// Acknowledged, and nothing is committed.
        Lie => "lie",
    }
}

/// How a caller is interrupted, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellInterrupt {
    Kill,
    KillElsewhere,
    KillNextDay,
    Stop,
    Freeze,
    FreezeLong,
}

/// What is written into a scenario for a cell.
enum WrittenCell {
    /// The value of `commit`, that of `reply`, and both in words about `{call}`.
    Fault(&'static str, &'static str, &'static str),
    /// It is committed, and answered with this status.
    Status(u16),
    /// What is done at this moment.
    Interrupt(Reached, CellInterrupt),
}

/// What a caller can know after a cell: failures of two cells of one family at one call have one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CellFamily {
    /// It happened, or will, and the caller is not told.
    Untold,
    /// It did not happen.
    NotDone,
    /// A read gave no answer.
    NoAnswer,
    /// A read gave a wrong answer.
    WrongAnswer,
    /// The caller began again after it was told.
    Restarted,
    /// It was told of what did not happen.
    Lied,
    /// It was told of what happened only later.
    ToldEarly,
    /// A part of it happened.
    Partly,
    /// It came twice.
    Repeated,
}

use Cell::*;

impl Cell {
    /// The cells that are tried on a call.
    pub(super) fn of(call: &Call, limits: &SearchLimits) -> impl Iterator<Item = Cell> {
        let SearchLimits { lies, timeouts, next_day, interrupts, leases, .. } = *limits;
        let is_tried = move |cell: &Cell| match cell {
            Lie => lies,
            Timeout => timeouts,
            FreezeLong => leases && interrupts,
            NextDayCommitted => next_day && interrupts,
            _ => interrupts || !cell.is_interrupt(),
        };
        Cell::ALL.into_iter().filter(move |cell| is_tried(cell) && cell.fits(call))
    }

    /// Whether it makes sense for a call.
    pub(super) fn fits(self, call: &Call) -> bool {
        match self {
            Stale => !call.write,
            Other => !call.write && call.other.is_some(),
            PartLost | PartFailed => call.is_list,
            Twice => call.is_keyless,
            // A read commits nothing.
            LimitedAfterCommit
            | UnavailableAfterCommit
            | LateAcknowledged
            | LateCommit
            | LateCommitUnavailable
            | LostRequest
            | Failed
            | Lie => call.write,
            _ => {
                let commits = call.write && !call.is_replay;
                commits || !matches!(self.written(), WrittenCell::Interrupt(Reached::Committed, _))
            }
        }
    }

    /// Its place among all cells.
    pub(super) fn rank(self) -> usize {
        Cell::ALL.iter().position(|cell| *cell == self).unwrap_or(Cell::ALL.len())
    }

    /// By how much later than the first it is tried. Those that a caller can hardly tell from another one come late.
    pub(super) fn lateness(self) -> usize {
        match self {
            LostReply => 0,
            KillCommitted | Unavailable | Stale | Other | PartLost | Twice => 1,
            ErrorAfterCommit | RateLimited | LimitedAfterCommit | LateCommit | Garbled | KillReplied
            | KillReceived | ElsewhereCommitted => 2,
            LostRequest | PartFailed | ElsewhereReplied => 3,
            Reset
            | Failed
            | Truncated
            | UnavailableAfterCommit
            | LateCommitUnavailable
            | LateAcknowledged
            | ElsewhereReceived => 4,
            BadGateway | GatewayTimeout | RequestTimeout | FreezeLong | NextDayCommitted => 5,
            StopCommitted | StopReplied | StopReceived => 6,
            Hang | FreezeReplied | FreezeCommitted | FreezeReceived | Timeout | Lie => 8,
        }
    }

    /// Whether it interrupts the caller.
    pub(super) fn is_interrupt(self) -> bool {
        matches!(self.written(), WrittenCell::Interrupt(..))
    }

    pub(super) fn family(self, write: bool) -> CellFamily {
        match (self.written(), self) {
            (WrittenCell::Interrupt(moment, _), _) if !write || moment == Reached::Replied => {
                CellFamily::Restarted
            }
            (
                WrittenCell::Interrupt(Reached::Received, CellInterrupt::Kill | CellInterrupt::KillElsewhere),
                _,
            ) => CellFamily::NotDone,
            (WrittenCell::Interrupt(..), _) => CellFamily::Untold,
            (_, Stale | Other) => CellFamily::WrongAnswer,
            (_, Lie) => CellFamily::Lied,
            (_, LateAcknowledged) => CellFamily::ToldEarly,
            (_, PartLost | PartFailed) => CellFamily::Partly,
            (_, Twice) => CellFamily::Repeated,
            (_, Unavailable | LostRequest | RateLimited | Failed) if write => CellFamily::NotDone,
            _ if write => CellFamily::Untold,
            _ => CellFamily::NoAnswer,
        }
    }

    fn written(self) -> WrittenCell {
        use CellInterrupt::{Freeze, Kill, KillElsewhere, KillNextDay, Stop};
        use Reached::{Committed, Received, Replied};
        use WrittenCell::{Fault, Interrupt, Status};
        match self {
            LostReply => Fault("now", "drop", "the reply to {call} is lost"),
            Unavailable => Fault("never", "{ status: 503 }", "{call} is refused with a 503"),
            Stale => Fault("now", "{ stale: { reads: 1 } }", "{call} is answered from an older state"),
            Other => Fault("now", "{ other: {field} }", "{call} is answered about something else"),
            ErrorAfterCommit => Status(500),
            LimitedAfterCommit => Status(429),
            UnavailableAfterCommit => Status(503),
            BadGateway => Status(502),
            GatewayTimeout => Status(504),
            RequestTimeout => Status(408),
            Failed => Fault("never", "{ status: 500 }", "{call} fails with a 500"),
            PartLost => Fault("{ part: 0.5 }", "drop", "a part of {call} is done and its reply is lost"),
            PartFailed => Fault(
                "{ part: 0.5 }",
                "{ status: 500 }",
                "a part of {call} is done and it is answered with a 500",
            ),
            Twice => Fault("twice", "ok", "{call} is delivered twice"),
            LateAcknowledged => {
                Fault("{ later: { requests: 2 } }", "ok", "{call} is acknowledged and done later")
            }
            LostRequest => Fault("never", "drop", "{call} is lost before it is done"),
            LateCommit => Fault(
                "{ later: { requests: 1 } }",
                "drop",
                "the reply to {call} is lost and it is done later",
            ),
            LateCommitUnavailable => Fault(
                "{ later: { requests: 2 } }",
                "{ status: 503 }",
                "{call} is answered with a 503 and done later",
            ),
            RateLimited => Fault("never", "{ status: 429 }", "{call} is refused with a 429"),
            Truncated => Fault("now", "truncate", "the reply to {call} is cut"),
            Garbled => Fault("now", "garble", "the reply to {call} does not parse"),
            Reset => Fault("now", "reset", "the connection is reset after {call}"),
            Hang => Fault("now", "{ hang: { release: 300ms } }", "no reply to {call} comes"),
            Timeout => {
                Fault("now", "{ hang: until-timeout }", "no reply to {call} comes until the client gives up")
            }
            Lie => Fault("never", "ok", "{call} is acknowledged and not done"),
            KillReceived => Interrupt(Received, Kill),
            KillCommitted => Interrupt(Committed, Kill),
            KillReplied => Interrupt(Replied, Kill),
            ElsewhereReceived => Interrupt(Received, KillElsewhere),
            ElsewhereCommitted => Interrupt(Committed, KillElsewhere),
            ElsewhereReplied => Interrupt(Replied, KillElsewhere),
            NextDayCommitted => Interrupt(Committed, KillNextDay),
            StopReceived => Interrupt(Received, Stop),
            StopCommitted => Interrupt(Committed, Stop),
            StopReplied => Interrupt(Replied, Stop),
            FreezeReceived => Interrupt(Received, Freeze),
            FreezeCommitted => Interrupt(Committed, Freeze),
            FreezeReplied => Interrupt(Replied, Freeze),
            FreezeLong => Interrupt(Replied, CellInterrupt::FreezeLong),
        }
    }

    /// It at a call in words: `the reply to the first payment.charge is lost`.
    pub(super) fn words(self, call: &Call, callers: u32) -> String {
        let of = call.words(callers);
        match self.written() {
            WrittenCell::Fault(_, _, words) => words.replace("{call}", &of),
            WrittenCell::Status(status) if call.write => format!("{of} is done and answered with a {status}"),
            WrittenCell::Status(status) => format!("{of} is answered with a {status}"),
            WrittenCell::Interrupt(moment, interruption) => {
                let whose =
                    if callers > 1 { format!("caller {}", call.caller) } else { "the agent".to_owned() };
                let when = match moment {
                    Reached::Received if call.write => format!("before {of} is done"),
                    Reached::Received => format!("before it has the reply to {of}"),
                    Reached::Committed => format!("when {of} is done"),
                    Reached::Replied => format!("when it has the reply to {of}"),
                };
                let (what, then) = interruption.words();
                format!("{whose} is {what} {when}{then}")
            }
        }
    }

    /// It at a call as entries of `faults` and of `interrupts`.
    pub(super) fn yaml(self, call: &Call, callers: u32) -> CellYaml {
        let caller = if callers > 1 { format!(", caller: {}", call.caller) } else { String::new() };
        let Call { operation, attempt, .. } = call;
        let counted = |other: &OtherAnswer| other.attempt;
        let of_fault = call.other.as_ref().filter(|_| self == Other).map_or(*attempt, counted);
        let fault = |commit: &str, reply: &str| {
            let commit = if call.write { format!(", commit: {commit}") } else { String::new() };
            format!("{{ on: {operation}, attempt: {of_fault}{caller}{commit}, reply: {reply} }}")
        };
        let mut yaml = CellYaml::default();
        match self.written() {
            WrittenCell::Fault(commit, reply, _) => {
                let field = call.other.as_ref().map(|OtherAnswer { field, value, .. }| {
                    let (name, value) =
                        (yaml_reader::write_field_name(field), serde_json::Value::from(value.as_str()));
                    format!("{{ {name}: {value} }}")
                });
                yaml.fault = Some(fault(commit, &reply.replace("{field}", &field.unwrap_or_default())));
            }
            WrittenCell::Status(status) => {
                yaml.fault = Some(fault("now", &format!("{{ status: {status} }}")));
            }
            WrittenCell::Interrupt(moment, interruption) => {
                let when = format!("{{ {}: {operation}, attempt: {attempt}{caller} }}", moment.as_str());
                yaml.interrupt = Some(format!("{{ when: {when}, {} }}", interruption.yaml()));
                let kills = matches!(interruption, CellInterrupt::Kill | CellInterrupt::KillElsewhere);
                if kills && moment == Reached::Received && call.write {
                    // A service would still commit what it has received.
                    yaml.fault = Some(fault("never", "drop"));
                }
            }
        }
        yaml
    }
}

impl CellInterrupt {
    /// What is done to the caller, and what follows, in words.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            CellInterrupt::Kill => ("killed", " and restarted"),
            CellInterrupt::KillElsewhere => ("killed", " and restarted on another machine"),
            CellInterrupt::KillNextDay => ("killed", " and restarted on the next day"),
            CellInterrupt::Stop => ("asked to stop", " and restarted"),
            CellInterrupt::Freeze => ("frozen", ""),
            CellInterrupt::FreezeLong => ("frozen for 5 s", ""),
        }
    }

    /// Its keys in an entry of `interrupts`.
    const fn yaml(self) -> &'static str {
        match self {
            CellInterrupt::Kill => "do: kill, then: restart",
            CellInterrupt::KillElsewhere => "do: kill, then: { restart: { state: empty } }",
            CellInterrupt::KillNextDay => "do: kill, then: { restart: { day: next } }",
            CellInterrupt::Stop => "do: stop, then: restart",
            CellInterrupt::Freeze => "do: { freeze: 300ms }",
            CellInterrupt::FreezeLong => "do: { freeze: 5s }",
        }
    }
}

/// A cell at a call, as it is written in a scenario.
#[derive(Debug, Default)]
pub(super) struct CellYaml {
    /// The entry of `faults`.
    pub(super) fault: Option<String>,
    /// The entry of `interrupts`.
    pub(super) interrupt: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SearchLimits = SearchLimits {
        depth: 1,
        preemptions: 0,
        lies: true,
        timeouts: true,
        next_day: true,
        interrupts: true,
        leases: true,
        part: None,
        random: false,
        seed: 1,
    };

    #[test]
    fn every_cell_is_in_words_and_in_yaml() {
        let call = |write: bool| Call {
            caller: 2,
            operation: if write { "payment.charge" } else { "payment.get" }.to_owned(),
            attempt: 1,
            write,
            other: (!write).then(|| OtherAnswer {
                field: "order".to_owned(),
                value: "other-7".to_owned(),
                attempt: 1,
            }),
            is_list: write,
            is_keyless: write,
            is_replay: false,
        };
        let rows = [(true, 1), (false, 2)].map(|(write, callers)| {
            let call = call(write);
            let row = |cell: Cell| {
                let CellYaml { fault, interrupt } = cell.yaml(&call, callers);
                let yaml = [fault, interrupt].into_iter().flatten().collect::<Vec<_>>().join("\n  ");
                format!("{cell}: {}\n  {yaml}\n", cell.words(&call, callers))
            };
            Cell::of(&call, &LIMITS).map(row).collect::<String>()
        });
        insta::assert_snapshot!(rows.join("\n"));
    }

    #[test]
    fn a_replay_commits_nothing_so_it_has_no_moment_of_its_commit() {
        let call = |is_replay| Call {
            caller: 1,
            operation: "payment.charge".to_owned(),
            attempt: 2,
            write: true,
            other: None,
            is_list: false,
            is_keyless: false,
            is_replay,
        };
        let cells = |is_replay| Cell::of(&call(is_replay), &LIMITS).collect::<Vec<_>>();
        let (first, replay) = (cells(false), cells(true));
        let left_out: Vec<_> = first.into_iter().filter(|cell| !replay.contains(cell)).collect();
        assert_eq!(
            left_out,
            [KillCommitted, ElsewhereCommitted, NextDayCommitted, StopCommitted, FreezeCommitted]
        );
    }

    #[test]
    fn every_interrupt_at_every_moment_is_a_cell_of_a_write() {
        let all: Vec<_> = Cell::ALL
            .into_iter()
            .filter_map(|cell| match cell.written() {
                WrittenCell::Interrupt(moment, interruption) => Some((moment, interruption)),
                WrittenCell::Fault(..) | WrittenCell::Status(_) => None,
            })
            .collect();
        for moment in Reached::ALL {
            for interruption in [
                CellInterrupt::Kill,
                CellInterrupt::KillElsewhere,
                CellInterrupt::Stop,
                CellInterrupt::Freeze,
            ] {
                assert!(all.contains(&(moment, interruption)), "{moment:?} {interruption:?}");
            }
        }
    }
}
