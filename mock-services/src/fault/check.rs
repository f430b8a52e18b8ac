//! Checks whether a fault can apply to the services of a trial. It does not depend on YAML: an objection
//! names a part of the fault, and the reader of the fault knows the place of that part.

use std::time::Duration;

use super::shadow::find_shadowing_fault;
use super::words::STATUSES;
use super::{After, Attempts, Commit, Fault, Lag, Reply, StatusReply, Trigger, Truncation};
use crate::service::{Operation, OperationKind};
use crate::yaml::{listed, nearest, shown, write_duration, write_flow, write_size};

/// The longest delay of an answer.
const LONGEST_DELAY: Duration = Duration::from_secs(600);

/// The sizes that an answer can be padded to.
const SMALLEST_OVERSIZE: u64 = 1_000;
const LARGEST_OVERSIZE: u64 = 256_000_000;

/// Headers that the wire sends itself; others would break the answer's framing.
const RESERVED_HEADERS: [&str; 3] = ["Content-Length", "Transfer-Encoding", "Connection"];

/// Why a fault is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objection {
    /// The part of the fault that it concerns.
    pub part: FaultPart,
    /// What is wrong, and why.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

/// Why a list of faults is not accepted: each objection with the number of its fault, from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct Objections(pub Vec<(usize, Objection)>);

impl Objections {
    fn message(&self) -> String {
        let line = |(fault, objection): &(usize, Objection)| {
            format!("fault {}: {}; {}", fault + 1, objection.message, objection.help)
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A part of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPart {
    /// The fault as a whole.
    Fault,
    /// Its operation.
    On,
    /// Its attempts.
    Attempt,
    /// One field of its `where`, by its place there.
    Field(usize),
    /// Its caller.
    Caller,
    /// Its chance.
    Chance,
    /// What is committed.
    Commit,
    /// What the caller sees.
    Reply,
}

/// All objections to one fault. `callers` is how many there are, where that is known.
#[must_use]
pub(crate) fn check(fault: &Fault, operations: &[Operation], callers: Option<u32>) -> Vec<Objection> {
    let mut found = FaultChecks(Vec::new());
    match operations.iter().find(|operation| operation.name == fault.trigger.on) {
        Some(operation) => {
            found.operation(fault, operation, operations);
            found.fields(&fault.trigger, operation);
        }
        None => found.unknown_operation(&fault.trigger.on, operations),
    }
    found.trigger(&fault.trigger, callers);
    found.commit(fault.commit);
    found.reply(fault);
    found.0
}

/// The same for a list of faults, each objection with the number of its fault; also finds faults that can
/// never fire.
#[must_use]
pub(crate) fn check_all(
    faults: &[Fault],
    operations: &[Operation],
    callers: Option<u32>,
) -> Vec<(usize, Objection)> {
    check_behind(&[], faults, operations, callers)
}

/// The same for faults that are armed after others; `left` has those with the attempts that they have not
/// seen yet.
pub(crate) fn check_behind(
    left: &[Fault],
    faults: &[Fault],
    operations: &[Operation],
    callers: Option<u32>,
) -> Vec<(usize, Objection)> {
    let mut all = Vec::new();
    let mut earlier_ones = left.to_vec();
    for (index, fault) in faults.iter().enumerate() {
        all.extend(check(fault, operations, callers).into_iter().map(|objection| (index, objection)));
        if let Some(earlier) = find_shadowing_fault(fault, &earlier_ones) {
            let message = format!(
                "this fault can never fire: an earlier one takes all of its attempts, `{}`",
                shown(&earlier.to_string())
            );
            let help = "choose other attempts, put it first, or delete one of the two".to_owned();
            all.push((index, Objection { part: FaultPart::Attempt, message, help }));
        }
        earlier_ones.push(fault.clone());
    }
    all
}

struct FaultChecks(Vec<Objection>);

impl FaultChecks {
    fn object(&mut self, part: FaultPart, message: impl Into<String>, help: impl Into<String>) {
        self.0.push(Objection { part, message: message.into(), help: help.into() });
    }

    fn unknown_operation(&mut self, on: &str, operations: &[Operation]) {
        let names = || operations.iter().map(|operation| operation.name.as_ref());
        let service = on.split_once('.').map(|(service, _)| format!("{service}."));
        let same_service: Vec<&str> =
            names().filter(|name| service.as_ref().is_some_and(|prefix| name.starts_with(prefix))).collect();
        let all = if same_service.is_empty() { names().collect() } else { same_service };
        let among = listed(all.iter().copied());
        let help = match nearest(on, names()) {
            Some(near) => format!("did you mean `{near}`? it can be {among}"),
            None => format!("it can be {among}"),
        };
        self.object(FaultPart::On, format!("there is no operation `{}`", shown(on)), help);
    }

    fn operation(&mut self, fault: &Fault, operation: &Operation, operations: &[Operation]) {
        let name = &operation.name;
        let others = |fits: fn(&Operation) -> bool| {
            listed(
                operations
                    .iter()
                    .filter(|operation| fits(operation))
                    .map(|operation| operation.name.as_ref()),
            )
        };
        let is_read = operation.kind == OperationKind::Read;
        if is_read && fault.commit != Commit::Now {
            let word = write_flow(&fault.commit.node());
            let writes = others(|operation| operation.kind == OperationKind::Write);
            self.object(
                FaultPart::Commit,
                format!("{name} is a read: it commits nothing, so `{word}` cannot apply"),
                format!("leave `commit` out, or put the fault on a write: {writes}"),
            );
        } else if matches!(fault.commit, Commit::Part(_)) && !operation.list {
            let help = if operations.iter().any(|operation| operation.list) {
                format!(
                    "use `now` or `never`, or put the fault on an operation on a list: {}",
                    others(|operation| operation.list)
                )
            } else {
                "use `now` or `never`; none of these services has an operation on a list".to_owned()
            };
            self.object(
                FaultPart::Commit,
                format!("{name} makes one effect, so no part of it can be committed"),
                help,
            );
        }
        match &fault.reply {
            Reply::Stale(_) if !is_read => self.object(
                FaultPart::Reply,
                format!(
                    "{name} is a write, and only a read can be `stale`: a write is always decided on \
                    the present state"
                ),
                format!(
                    "put the fault on a read: {}",
                    others(|operation| operation.kind == OperationKind::Read)
                ),
            ),
            Reply::Truncate(Truncation::At(place)) if !operation.generates => self.object(
                FaultPart::Reply,
                format!(
                    "the answer to {name} is not generated by a model, so it cannot be cut at `{}`",
                    place.as_str()
                ),
                "use `truncate`, which cuts the middle of the body",
            ),
            Reply::Status(StatusReply { kept: true, .. }) if is_read => self.object(
                FaultPart::Reply,
                format!("{name} is a read: its answer is kept under no key, so `kept` cannot apply"),
                "leave `kept` out",
            ),
            _ => {}
        }
    }

    fn fields(&mut self, trigger: &Trigger, operation: &Operation) {
        let known = || operation.fields.iter().map(|name| name.as_ref());
        for (index, (field, _)) in
            trigger.fields.iter().enumerate().filter(|(_, (field, _))| !operation.has_field(field))
        {
            let message = format!(
                "requests of {} have no field `{}`, so this would never fire",
                operation.name,
                shown(field)
            );
            let help = match nearest(field, known()) {
                _ if operation.fields.is_empty() => "leave it out of `where`".to_owned(),
                Some(near) => format!("did you mean `{near}`? it can be {}", listed(known())),
                None => format!("it can be {}", listed(known())),
            };
            self.object(FaultPart::Field(index), message, help);
        }
    }

    fn trigger(&mut self, trigger: &Trigger, callers: Option<u32>) {
        match &trigger.attempts {
            Attempts::These(numbers) if numbers.is_empty() => {
                self.object(
                    FaultPart::Attempt,
                    "the list of attempts is empty, so this would never fire",
                    "name one, or write `every`",
                );
            }
            Attempts::These(numbers) if numbers.contains(&0) => {
                self.object(
                    FaultPart::Attempt,
                    "there is no attempt 0: attempts are counted from 1",
                    "write 1 for the first",
                );
            }
            Attempts::Span(0, _) => {
                self.object(
                    FaultPart::Attempt,
                    "there is no attempt 0: attempts are counted from 1",
                    "begin with 1",
                );
            }
            Attempts::Span(first, last) if first > last => {
                let message = format!("{first}..{last} holds no attempt: the first number is the larger");
                self.object(FaultPart::Attempt, message, format!("write {}..{first}", (*last).max(1)));
            }
            _ => {}
        }
        match (trigger.caller, callers) {
            (Some(0), _) => self.object(
                FaultPart::Caller,
                "there is no caller 0: callers are counted from 1",
                "write 1 for the first",
            ),
            (Some(caller), Some(callers)) if caller > callers => {
                let message = format!(
                    "there is no caller {caller}: callers are counted from 1, and the last is {callers}"
                );
                self.object(
                    FaultPart::Caller,
                    message,
                    "choose one of them, or leave `caller` out to mean any caller",
                );
            }
            _ => {}
        }
        if let Some(chance) = trigger.chance
            && !(chance > 0.0 && chance <= 1.0)
        {
            let help = "0.2 is one time in five; leave `chance` out to mean always";
            self.object(
                FaultPart::Chance,
                format!("a chance is above 0 and at most 1, and this is {chance:?}"),
                help,
            );
        }
    }

    fn commit(&mut self, commit: Commit) {
        match commit {
            Commit::Part(fraction) if !(fraction > 0.0 && fraction < 1.0) => {
                let message =
                    format!("a part is more than nothing and less than all, and this is {fraction:?}");
                self.object(
                    FaultPart::Commit,
                    message,
                    "choose a number between 0 and 1, or write `never` or `now`",
                );
            }
            Commit::LaterWithin(first, last) if first >= last => {
                let (first, last) = (write_duration(first), write_duration(last));
                let message =
                    format!("no time lies between {first} and {last}: the first must be the shorter");
                let help = if first == last {
                    format!("write {{later: {first}}}")
                } else {
                    format!("write {{later: {last}..{first}}}")
                };
                self.object(FaultPart::Commit, message, help);
            }
            Commit::Later(After::Requests(0)) => {
                let message = "after 0 more requests is not later but now";
                self.object(FaultPart::Commit, message, "wait for 1 or more, or write `commit: now`");
            }
            _ => {}
        }
    }

    fn reply(&mut self, fault: &Fault) {
        match &fault.reply {
            Reply::Delay(time) | Reply::DelayBody(time) => self.wait("delay", *time),
            Reply::Drip(time) => self.wait("drip", *time),
            Reply::Hang { release: Some(release) } => self.wait("hang", *release),
            Reply::Stale(Lag::Reads(0)) => {
                let message = "a read that misses changes for 0 reads is not stale";
                self.object(FaultPart::Reply, message, "write 1 or more, or `reply: ok`");
            }
            Reply::Oversize(size) if !(SMALLEST_OVERSIZE..=LARGEST_OVERSIZE).contains(size) => {
                let (least, most) = (write_size(SMALLEST_OVERSIZE), write_size(LARGEST_OVERSIZE));
                let message =
                    format!("a reply of {} cannot be sent: it can have {least} to {most}", write_size(*size));
                self.object(FaultPart::Reply, message, "6MB is more than many clients and platforms take");
            }
            Reply::Status(reply) => self.status(reply, fault.commit),
            _ => {}
        }
    }

    fn wait(&mut self, word: &str, time: Duration) {
        if time > LONGEST_DELAY {
            let message = format!(
                "a {word} of {} is too long: at most {}",
                write_duration(time),
                write_duration(LONGEST_DELAY)
            );
            self.object(
                FaultPart::Reply,
                message,
                "no caller waits so long; for a reply that never comes write `drop` or `hang`",
            );
        }
    }

    fn status(&mut self, reply: &StatusReply, commit: Commit) {
        let status = reply.status;
        if !STATUSES.contains(&status) {
            let help = "choose one from 200 to 599; for no answer at all write `drop`, `reset` or `hang`";
            self.object(FaultPart::Reply, format!("{status} is not a final status"), help);
        }
        if matches!(status, 204 | 304) && reply.body.as_ref().is_some_and(|body| !body.is_empty()) {
            self.object(
                FaultPart::Reply,
                format!("an answer with the status {status} has no body"),
                "leave `body` out",
            );
        }
        if reply.kept && matches!(commit, Commit::Later(_) | Commit::LaterWithin(..)) {
            self.object(
                FaultPart::Reply,
                "`kept` and `later` contradict each other: kept, the service has finished with this answer; \
                 later, it has not",
                "leave `kept` out, or choose another `commit`",
            );
        }
        for (name, value) in &reply.headers {
            self.header(name, value);
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(allowed) {
            let help = "letters, digits and dashes, as in `Retry-After`";
            self.object(FaultPart::Reply, format!("`{}` cannot be the name of a header", shown(name)), help);
        } else if RESERVED_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            let help = "leave it out; to cut an answer short write `reply: truncate`";
            self.object(FaultPart::Reply, format!("`{name}` is set by the wire and cannot be chosen"), help);
        }
        if value.chars().any(|character| character.is_control() && character != '\t') {
            let message = format!(
                "the header `{}` has a value with a line break or another control character",
                shown(name)
            );
            self.object(FaultPart::Reply, message, "write it on one line");
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
