//! Checks whether a fault can apply to the services of a trial. It does not depend on YAML: an objection
//! names a part of the fault, and the reader of the fault knows the place of that part.

use std::time::Duration;

use yaml_reader::{listed, nearest, shown, write_duration, write_flow};

use super::reply::ReplyCheck;
use super::shadow::find_shadowing_fault;
use super::{After, Attempts, Commit, Fault, Trigger};
use crate::service::{Operation, OperationKind};

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
    /// One field of its `where`, by its index there.
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
    let operation = operations.iter().find(|operation| operation.name == fault.trigger.on);
    match operation {
        Some(operation) => {
            found.operation(fault, operation, operations);
            found.fields(&fault.trigger, operation);
        }
        None => found.unknown_operation(&fault.trigger.on, operations),
    }
    found.trigger(&fault.trigger, callers);
    found.commit(fault.commit);
    ReplyCheck { fault, operation, operations, found: &mut found.0 }.run();
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
            Commit::Reverts(After::Requests(0) | After::Time(Duration::ZERO)) => {
                let message = "it would be gone before anybody can see it";
                self.object(
                    FaultPart::Commit,
                    message,
                    "wait for 1 request or more, or write `commit: never`",
                );
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
