//! The effects that a user expects of a command, compared with the ledger.

use mock_services::catalog;
use mock_services::fault::Fired;
use mock_services::ledger::{Entry, Event};
use mock_services::service::Fields;

use super::ranges::ranges;
use super::{EndedCommand, StoppedServices, show};
use crate::scenario::CountedEffect;
use crate::text::line;

/// The maximum number of characters of a reason from the ledger.
const MAX_REASON: usize = 500;

impl StoppedServices {
    /// Where the ledger differs from what is expected, one line each; none if it does not. With no
    /// expectation, nothing is compared.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        if self.expected.is_empty() {
            return Vec::new();
        }
        let committed = self.entries.iter().filter_map(committed).collect::<Vec<_>>();
        let wrong = self.expected.iter().filter_map(|expected| {
            let found: Vec<u64> =
                committed.iter().filter(|effect| effect.is(expected)).map(|effect| effect.attempt).collect();
            let times = u32::try_from(found.len()).unwrap_or(u32::MAX);
            (times != expected.times).then(|| difference(expected, &found))
        });
        let others = committed
            .iter()
            .filter(|effect| !effect.is_cost() && !self.expected.iter().any(|expected| effect.is(expected)));
        let unexpected = others.map(|effect| {
            let CommittedEffect { name, fields, attempt } = effect;
            format!("{name}{} was not expected (attempt {attempt})", show::fields(fields))
        });
        wrong.chain(unexpected).collect()
    }
}

impl StoppedServices {
    /// The faults that did not fire although they had to: what they were for was not tested.
    #[must_use]
    pub fn unfired(&self) -> Vec<String> {
        let unfired = self.fired.iter().filter(|fired| must_still_fire(fired));
        unfired.map(|fired| fired.fault.to_string()).collect()
    }
}

impl StoppedServices {
    /// Why the comparison with what is expected proves nothing, if it does not. With no expectation, there is
    /// no reason.
    #[must_use]
    pub fn not_comparable(&self, command: EndedCommand) -> Option<String> {
        if self.expected.is_empty() {
            return None;
        }
        if self.evidence_removed {
            return Some(
                "the command reset the ledger, or cleared a fault before it fired, so --expect cannot be \
                 checked; do not use the admin API for that in a command with --expect"
                    .to_owned(),
            );
        }
        if !self.armed.is_empty() {
            let armed: Vec<String> =
                self.armed.iter().map(|fault| format!("`{}`", line(fault, MAX_REASON))).collect();
            return Some(format!(
                "the command armed faults over the admin API, so --expect proves nothing about a run without them: \
                 {}; arm them with --fault or --faults, or leave --admin out",
                armed.join(", ")
            ));
        }
        if let Some(reason) = self.entries.iter().find_map(not_answered_like_the_real_service) {
            return Some(reason);
        }
        let left = match command.left_running {
            0 => return None,
            1 => "a process that it started still runs".to_owned(),
            left => format!("{left} processes that it started still run"),
        };
        Some(format!(
            "the command has ended, and {left}, so --expect cannot be checked: what is done from now on is in no \
             ledger; let the command wait for its processes, or end them"
        ))
    }
}

/// Why a refused request leaves open what the real service does with it.
fn not_answered_like_the_real_service(entry: &Entry) -> Option<String> {
    let Event::Refused(refused) = &entry.event else { return None };
    match (&refused.unsupported, &refused.undecided) {
        (Some(what), _) => Some(format!(
            "hapax does not have {} yet, and the command asked for it, so --expect cannot be checked: open an \
             issue that names it, serve it from a service that you declare (docs/your-own-service.md), or let the \
             command do without it",
            line(what, MAX_REASON)
        )),
        (None, Some(why)) => Some(format!("--expect cannot be checked: {}", line(why, MAX_REASON))),
        (None, None) => None,
    }
}

/// Whether a fault has not fired although it has to.
pub(super) fn must_still_fire(fired: &Fired) -> bool {
    fired.attempts.is_empty() && !fired.fault.optional && fired.fault.trigger.chance.is_none()
}

struct CommittedEffect<'a> {
    name: &'a str,
    fields: &'a Fields,
    attempt: u64,
}

fn committed(entry: &Entry) -> Option<CommittedEffect<'_>> {
    match &entry.event {
        Event::Committed { attempt, effect, fields, .. } => {
            Some(CommittedEffect { name: effect, fields, attempt: *attempt })
        }
        _ => None,
    }
}

impl CommittedEffect<'_> {
    fn is(&self, expected: &CountedEffect) -> bool {
        self.name == expected.effect
            && self.fields.meet(&expected.fields)
            && expected.has_usual_values(self.fields)
    }

    /// Whether any number of them is accepted: costs, and steps beside a task, because no task says who is meant.
    fn is_cost(&self) -> bool {
        catalog::describe_effect(self.name).is_some_and(|effect| effect.is_cost || !effect.own.is_empty())
    }
}

fn difference(expected: &CountedEffect, attempts: &[u64]) -> String {
    let times = |times: usize| if times == 1 { "once".to_owned() } else { format!("{times} times") };
    let found = match attempts {
        [] => "it was not committed".to_owned(),
        [attempt] => format!("it was committed once (attempt {attempt})"),
        several => format!("it was committed {} (attempts {})", times(several.len()), ranges(several)),
    };
    let CountedEffect { effect, fields, times: wanted, .. } = expected;
    let wanted = times(usize::try_from(*wanted).unwrap_or(usize::MAX));
    format!("{effect}{} was expected {wanted}, and {found}", show::fields(fields))
}

#[cfg(test)]
mod tests {

    use mock_services::Clock;
    use mock_services::ledger::{CommitTiming, Ledger};

    use super::*;

    fn stopped(expected: &[&str], effects: &[(&'static str, Fields)]) -> StoppedServices {
        let ledger = Ledger::new("t", 1, Clock::default());
        for (attempt, (effect, fields)) in (1..).zip(effects) {
            ledger.append(Event::Committed {
                attempt,
                effect: (*effect).into(),
                id: "x".into(),
                fields: fields.clone(),
                timing: CommitTiming::Now,
            });
        }
        let texts: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        StoppedServices {
            entries: ledger.entries(),
            fired: Vec::new(),
            operations: Vec::new(),
            expected: CountedEffect::read(&texts, Vec::new()).unwrap(),
            evidence_removed: false,
            armed: Vec::new(),
        }
    }

    fn charge(order: &str) -> (&'static str, Fields) {
        ("payment.charge", Fields::new().with("order", order).with("amount", 4999))
    }

    fn differences(expected: &[&str], effects: &[(&'static str, Fields)]) -> String {
        stopped(expected, effects).differences().join("\n")
    }

    #[test]
    fn effects_as_expected_are_no_difference_and_generations_are_never_one() {
        let generation = ("model.generate", Fields::new());
        let expected = ["payment.charge:order=o1,amount=4999", "payment.charge:order=o2*2"];
        assert_eq!(differences(&expected, &[charge("o1"), charge("o2"), charge("o2"), generation]), "");
        assert_eq!(differences(&[], &[charge("o1")]), "");
    }

    #[test]
    fn a_field_that_is_not_expected_has_its_usual_value() {
        let with_fee = |fee: i64| {
            let (effect, fields) = charge("o1");
            (effect, fields.with("application_fee_amount", fee))
        };
        let expected = "payment.charge:order=o1";
        let found = differences(&[expected], &[with_fee(4000)]);
        assert!(found.contains("it was not committed"), "{found}");
        assert!(found.contains("application_fee_amount=4000 was not expected"), "{found}");
        let named = "payment.charge:order=o1,application_fee_amount=4000";
        assert_eq!(differences(&[named], &[with_fee(4000)]), "");
    }

    #[test]
    fn a_missing_a_repeated_and_an_unexpected_effect_are_differences() {
        let mail = ("email.send", Fields::new().with("to", "a@b.example"));
        let expected = ["payment.charge:order=o1", "payment.charge:order=o2", "payment.refund:order=o3"];
        let found = differences(&expected, &[charge("o1"), charge("o1"), charge("o2"), mail]);
        insta::assert_snapshot!(found);
    }

    #[test]
    fn an_expectation_with_a_mistake_is_refused_with_a_hint() {
        let read = CountedEffect::read(&["payment.chrge:order=o1".to_owned()], Vec::new());
        let problems = read.unwrap_err().to_string();
        assert!(problems.contains("did you mean `payment.charge`"), "{problems}");
    }
}
