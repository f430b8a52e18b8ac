//! Checks that need all parts of a case: intents that overlap, faults and interrupts that can never happen,
//! and expectations that no subject can meet.

use std::time::Duration;

use mock_services::catalog;
use mock_services::fault::{Attempts, Commit, Fault, FaultPart, PlacedFault, ReplyContent};
use mock_services::service::Fields;
use yaml_reader::Reader;

use super::callers::within_timeout;
use super::interrupts::PlacedInterrupt;
use crate::scenario::expect::{Expected, PlacedIntent};
use crate::scenario::known::KnownServices;
use crate::scenario::{ClaimedOutcome, Intent, InterruptAction, Reached, Step, Then};

/// The parts of a case that must be consistent.
pub(super) struct CaseParts<'a> {
    pub(super) known: &'a KnownServices,
    pub(super) faults: &'a [PlacedFault],
    pub(super) interrupts: &'a [PlacedInterrupt],
    pub(super) expected: &'a Expected,
    /// All steps of all callers and turns.
    pub(super) steps: Vec<&'a Step>,
    pub(super) timeout: Duration,
    pub(super) callers: u32,
    /// Whether the subject receives events, and claims nothing.
    pub(super) has_events: bool,
    /// Whether the subject is started again after its first start.
    pub(super) starts_again: bool,
}

/// Reports inconsistencies.
pub(super) fn check(reader: &Reader, parts: &CaseParts<'_>) {
    overlaps(reader, &parts.expected.intents);
    parts.waits(reader);
    parts.replies(reader);
    parts.budgets(reader);
    parts.least(reader);
    parts.expected_effects(reader);
    parts.reverts(reader);
    parts.claims(reader);
}

/// Reports two intents that one effect could satisfy.
fn overlaps(reader: &Reader, intents: &[PlacedIntent]) {
    for (index, later) in intents.iter().enumerate() {
        let fits = |earlier: &&PlacedIntent| {
            earlier.intent.effect == later.intent.effect
                && !contradict(&earlier.intent.selector, &later.intent.selector)
        };
        if intents[..index].iter().any(|earlier| fits(&earlier)) {
            let message = format!("one {} can satisfy both this and an earlier entry", later.intent.effect);
            let help =
                "add a field to `where` that distinguishes them, or merge them into one entry with `times`";
            reader.report_with_help(later.span, message, help);
        }
    }
}

/// Whether no effect can match both selectors.
pub(in crate::scenario) fn contradict(one: &Fields, other: &Fields) -> bool {
    one.iter().any(|(name, value)| {
        other.get(name).is_some_and(|wanted| !value.meets(wanted) && !wanted.meets(value))
    })
}

/// Whether a fault applies to every caller and every request.
fn is_unconditional(fault: &Fault) -> bool {
    fault.trigger.fields.is_empty() && fault.trigger.caller.is_none() && fault.trigger.chance.is_none()
}

fn first_attempt(attempts: &Attempts) -> Option<u32> {
    match attempts {
        Attempts::Every => Some(1),
        Attempts::These(numbers) => numbers.iter().copied().min(),
        Attempts::Span(first, _) => Some(*first),
    }
}

fn times_text(times: u64) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

impl CaseParts<'_> {
    /// Reports replies that come only after the time limit.
    fn waits(&self, reader: &Reader) {
        for placed in self.faults.iter().filter(|placed| !placed.malformed.contains(&FaultPart::Reply)) {
            let reply = &placed.fault.reply;
            if let Some(time) = reply.takes() {
                let what = format!("this {}", reply.kind());
                within_timeout(reader, placed.places.of(FaultPart::Reply), &what, time, self.timeout);
            }
        }
    }

    /// Reports interrupts that wait for a reply of which no byte is sent.
    fn replies(&self, reader: &Reader) {
        for placed in
            self.interrupts.iter().filter(|placed| placed.interrupt.when.reached == Reached::Replied)
        {
            let when = &placed.interrupt.when;
            let applies = |fault: &&PlacedFault| {
                let trigger = &fault.fault.trigger;
                fault.malformed.is_empty()
                    && trigger.on == when.operation
                    && trigger.attempts.include(when.attempt)
            };
            let Some(fault) = self.faults.iter().find(applies).map(|fault| &fault.fault) else { continue };
            if is_unconditional(fault) && fault.reply.kind().facts().content == ReplyContent::Nothing {
                let message = format!(
                    "`replied` never happens: the fault on attempt {} of {} sends no reply (`{}`)",
                    when.attempt,
                    when.operation,
                    fault.reply.kind()
                );
                let help = "write `committed` instead of `replied`, or choose a reply that sends something";
                reader.report_with_help(placed.when, message, help);
            }
        }
    }

    fn budget(&self, operation: &str) -> Option<u32> {
        self.expected
            .attempts
            .iter()
            .find(|(budget, _)| budget.operation == operation)
            .and_then(|(budget, _)| budget.at_most)
    }

    /// Reports faults and interrupts at attempts beyond the allowed number.
    fn budgets(&self, reader: &Reader) {
        let too_late = |operation: &str, attempt: u32| self.budget(operation).filter(|most| attempt > *most);
        let message = |what: &str, attempt: u32, most: u32| {
            format!("this {what} needs attempt {attempt}, but `expect.attempts` allows at most {most}")
        };
        let help = "allow more attempts, choose an earlier attempt, or write `optional: true`";
        for placed in self.faults.iter().filter(|placed| !placed.fault.optional) {
            let trigger = &placed.fault.trigger;
            if let Some(attempt) = first_attempt(&trigger.attempts)
                && let Some(most) = too_late(&trigger.on, attempt)
            {
                let message = message("fault", attempt, most);
                reader.report_with_help(placed.places.of(FaultPart::Attempt), message, help);
            }
        }
        for placed in self.interrupts.iter().filter(|placed| !placed.interrupt.optional) {
            let when = &placed.interrupt.when;
            if let Some(most) = too_late(&when.operation, when.attempt) {
                let message = message("interrupt", when.attempt, most);
                reader.report_with_help(placed.when, message, help);
            }
        }
    }

    /// Reports minimum attempts that no subject can reach, because an interrupt ends the only caller before.
    fn least(&self, reader: &Reader) {
        for (budget, span) in self.expected.attempts.iter().filter(|(budget, _)| budget.at_least > 0) {
            let ends = self.interrupts.iter().map(|placed| &placed.interrupt).filter(|interrupt| {
                let when = &interrupt.when;
                !interrupt.optional
                    && interrupt.action == InterruptAction::Kill
                    && interrupt.then == Then::End
                    && when.operation == budget.operation
            });
            let last = ends.filter(|_| self.callers == 1).map(|interrupt| interrupt.when.attempt).min();
            if let Some(last) = last.filter(|last| *last < budget.at_least) {
                let message = format!(
                    "impossible to meet: at least {} attempts of {} are expected, but an interrupt ends the \
                     subject at \
                     attempt {last}",
                    budget.at_least, budget.operation,
                );
                reader.report_with_help(
                    *span,
                    message,
                    format!("lower the minimum to {last}, or let the interrupt restart the subject"),
                );
            }
        }
    }

    /// Whether a fault reverts the effect.
    fn is_reverted(&self, effect: &str) -> bool {
        let reverts =
            |fault: &Fault| fault.trigger.on == effect && matches!(fault.commit, Commit::Reverts(_));
        self.faults.iter().any(|placed| placed.malformed.is_empty() && reverts(&placed.fault))
    }

    /// Reports effects that have to be made again by a start that never comes.
    fn reverts(&self, reader: &Reader) {
        for placed in self.expected.intents.iter().filter(|placed| placed.intent.stands) {
            if !self.starts_again && self.is_reverted(&placed.intent.effect) {
                let message = format!("no start can find out that {} was reverted", placed.intent.effect);
                let help = "add one of `turns` that asks for it after the revert, or leave `stands` out";
                reader.report_with_help(placed.span, message, help);
            }
        }
    }

    /// Reports expected effects that can never happen.
    fn expected_effects(&self, reader: &Reader) {
        let expected = self.expected.intents.iter().filter(|placed| placed.intent.least() > 0);
        for placed in expected {
            let effect = placed.intent.effect.as_str();
            if self.is_made_otherwise(effect) {
                continue;
            }
            if self.never_commits(effect) {
                let message =
                    format!("impossible to meet: the faults keep every attempt of {effect} from committing");
                let help = "let one attempt commit, or expect `times: 0`";
                reader.report_with_help(placed.span, message, help);
            }
        }
        for (budget, span) in &self.expected.attempts {
            let same = self.expected.intents.iter().filter(|placed| placed.intent.effect == budget.operation);
            let again = |intent: &Intent| u64::from(intent.stands && self.is_reverted(&intent.effect));
            let times: u64 =
                same.map(|placed| u64::from(placed.intent.least()) + again(&placed.intent)).sum();
            let by_another = self.is_made_otherwise(&budget.operation);
            let many = self.known.find(&budget.operation).is_none_or(|operation| operation.list);
            let doubled = self.faults.iter().any(|placed| placed.fault.commit == Commit::Twice);
            let Some(at_most) = budget.at_most else { continue };
            // One attempt on a list can produce many effects, but no attempt produces none.
            if !by_another
                && ((times > 0 && at_most == 0) || (!many && !doubled && times > u64::from(at_most)))
            {
                let message = format!(
                    "impossible to meet: {} is expected {}, but {} allowed",
                    budget.operation,
                    times_text(times),
                    match at_most {
                        0 => "no attempt is".to_owned(),
                        1 => "at most 1 attempt is".to_owned(),
                        _ => format!("at most {at_most} attempts are"),
                    },
                );
                reader.report_with_help(*span, message, format!("write {times} or more"));
            }
        }
    }

    /// Whether a step makes the effect by an operation of another name, as a capture makes a charge.
    fn is_made_otherwise(&self, effect: &str) -> bool {
        let makes =
            |step: &&Step| step.operation != effect && catalog::effect_made_by(&step.operation) == effect;
        self.steps.iter().any(makes)
    }

    /// Whether no allowed attempt produces the effect.
    fn never_commits(&self, operation: &str) -> bool {
        let faults: Vec<&Fault> = self
            .faults
            .iter()
            .filter(|placed| placed.malformed.is_empty() && placed.fault.trigger.on == operation)
            .map(|placed| &placed.fault)
            .collect();
        let never = |attempt: Option<u32>| {
            let applies = |fault: &&&Fault| match attempt {
                Some(number) => fault.trigger.attempts.include(number),
                None => fault.trigger.attempts == Attempts::Every,
            };
            faults
                .iter()
                .find(applies)
                .is_some_and(|fault| is_unconditional(fault) && fault.commit == Commit::Never)
        };
        match self.budget(operation) {
            Some(most) if (1..=1000).contains(&most) => (1..=most).all(|number| never(Some(number))),
            // Without a maximum, only a fault on every attempt prevents the effect.
            _ => faults.len() == 1 && never(None),
        }
    }

    /// Reports accepted claims that no successful subject can make.
    fn claims(&self, reader: &Reader) {
        let claim = &self.expected.claim;
        let is_due = self.expected.intents.iter().any(|placed| placed.intent.least() > 0);
        if is_due && !claim.is_empty() && claim.iter().all(|outcome| *outcome == ClaimedOutcome::NotDone) {
            let message = "impossible to meet: `not-done` is false once the expected effects have happened";
            reader.report_with_help(self.expected.claim_span, message, "accept `done`, or expect `times: 0`");
        }
        if let Some(span) =
            self.expected.nothing.filter(|_| !self.expected.expects_state() && !self.has_events)
        {
            let message = "no effect is expected, so every claim would pass, also a false one";
            let help = "add `claim: not-done`, or `claim: done` where the task is done without an effect";
            reader.report_with_help(span, message, help);
        }
    }
}
