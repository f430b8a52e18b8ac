//! Faults that can never fire because earlier ones fire on all of their attempts.

use super::{Attempts, Fault, Trigger};
use crate::service::Fields;

/// An earlier fault because of which this one can never fire, by itself or together with other faults.
pub(super) fn find_shadowing_fault<'a>(fault: &Fault, earlier: &'a [Fault]) -> Option<&'a Fault> {
    let certain = || {
        earlier
            .iter()
            .filter(|earlier| earlier.trigger.chance.is_none() && earlier.trigger.on == fault.trigger.on)
            // One that cuts an answer at a place counts only the answers that have the place.
            .filter(|earlier| earlier.reply.cut_place().is_none())
    };
    // A fault on every attempt also fires on those that match a narrower trigger.
    if let Some(wider) = certain()
        .find(|earlier| takes_every(&earlier.trigger.attempts) && is_wider(&earlier.trigger, &fault.trigger))
    {
        return Some(wider);
    }
    // Otherwise the numbers mean the same attempts only where all the rest is the same.
    let same: Vec<&Fault> = certain()
        .filter(|earlier| {
            is_wider(&earlier.trigger, &fault.trigger) && is_wider(&fault.trigger, &earlier.trigger)
        })
        .collect();
    let mut covered: Vec<(u32, u32)> =
        same.iter().flat_map(|earlier| spans(&earlier.trigger.attempts)).collect();
    covered.sort_unstable();
    let wanted = spans(&fault.trigger.attempts);
    (!wanted.is_empty() && wanted.iter().all(|span| is_covered(*span, &covered)))
        .then(|| same.first().copied())
        .flatten()
}

fn takes_every(attempts: &Attempts) -> bool {
    is_covered((1, u32::MAX), &spans(attempts))
}

/// Whether every attempt that fits the second fits the first.
fn is_wider(wide: &Trigger, narrow: &Trigger) -> bool {
    wide.caller.is_none_or(|caller| narrow.caller == Some(caller))
        && (wide.any_effect || !narrow.any_effect)
        && holds(&narrow.fields, &wide.fields)
}

fn holds(fields: &Fields, wanted: &Fields) -> bool {
    wanted.iter().all(|(name, value)| fields.get(name) == Some(value))
}

/// The attempts as spans, both ends included; those that hold nothing are left out.
fn spans(attempts: &Attempts) -> Vec<(u32, u32)> {
    let spans = match attempts {
        Attempts::Every => vec![(1, u32::MAX)],
        Attempts::These(numbers) => numbers.iter().map(|number| (*number, *number)).collect(),
        Attempts::Span(first, last) => vec![(*first, *last)],
    };
    spans.into_iter().filter(|(first, last)| first <= last).collect()
}

/// Whether the sorted spans leave no gap in this one.
fn is_covered((first, last): (u32, u32), spans: &[(u32, u32)]) -> bool {
    let mut next = u64::from(first);
    for (from, to) in spans {
        if u64::from(*from) <= next {
            next = next.max(u64::from(*to) + 1);
        }
    }
    next > u64::from(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Application, Plan, read_line};
    use crate::service::Operation;
    use proptest::prelude::*;
    use yaml_reader::Source;

    fn fault(line: &str) -> Fault {
        let operations = [
            Operation::write("payment.charge", &["order"], &["order"]),
            Operation::write("payment.refund", &[], &[]),
        ];
        read_line(&Source::new("line", line), &operations, None)
            .unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn is_taken(line: &str, earlier: &[&str]) -> bool {
        let earlier: Vec<Fault> = earlier.iter().map(|line| fault(line)).collect();
        find_shadowing_fault(&fault(line), &earlier).is_some()
    }

    #[test]
    fn a_fault_on_attempts_that_earlier_ones_take_can_never_fire() {
        for (line, earlier) in [
            ("payment.charge#1 reply=drop", vec!["payment.charge reply=reset"]),
            (
                "payment.charge#2..4 reply=drop",
                vec!["payment.charge#4 reply=reset", "payment.charge#1..3 reply=ok"],
            ),
            ("payment.charge#[2, 3] reply=drop", vec!["payment.charge#1..3 reply=reset"]),
            ("payment.charge#every reply=drop", vec!["payment.charge#every reply=reset"]),
            ("payment.charge#7 reply=drop where.order=o1 caller=2", vec!["payment.charge#every reply=reset"]),
            (
                "payment.charge#1 reply=drop where.order=o1",
                vec!["payment.charge#1 reply=reset where.order=o1"],
            ),
            ("payment.charge#1 reply=drop chance=0.5", vec!["payment.charge#1 reply=reset"]),
        ] {
            assert!(is_taken(line, &earlier), "{line} after {earlier:?}");
        }
    }

    #[test]
    fn a_fault_that_has_an_attempt_left_can_fire() {
        for (line, earlier) in [
            ("payment.charge#1 reply=drop", vec![]),
            ("payment.charge#2 reply=drop", vec!["payment.charge#1 reply=reset"]),
            ("payment.charge#1..3 reply=drop", vec!["payment.charge#[1, 3] reply=reset"]),
            ("payment.charge#every reply=drop", vec!["payment.charge#1..9 reply=reset"]),
            ("payment.charge#1 reply=drop", vec!["payment.charge#1 reply=reset chance=0.9"]),
            ("payment.charge#1 reply=drop", vec!["payment.charge#every reply=reset where.order=o1"]),
            ("payment.charge#1 reply=drop where.order=o1", vec!["payment.charge#1 reply=reset"]),
            ("payment.charge#1 reply=drop caller=1", vec!["payment.charge#1 reply=reset caller=2"]),
            ("payment.refund#1 reply=drop", vec!["payment.charge#1 reply=reset"]),
        ] {
            assert!(!is_taken(line, &earlier), "{line} after {earlier:?}");
        }
    }

    fn attempts() -> impl Strategy<Value = Attempts> {
        prop_oneof![
            Just(Attempts::Every),
            proptest::collection::vec(1u32..6, 1..3).prop_map(Attempts::These),
            (1u32..6, 0u32..4).prop_map(|(first, more)| Attempts::Span(first, first + more)),
        ]
    }

    proptest! {
        #[test]
        fn the_plan_agrees(all in proptest::collection::vec(attempts(), 1..5)) {
            let faults: Vec<Fault> = all.into_iter().map(|attempts| {
                let mut fault = fault("payment.charge reply=drop");
                fault.trigger.attempts = attempts;
                fault
            }).collect();
            let mut plan = Plan::new(0, faults.clone());
            for id in 1..=20 {
                let fields = Fields::new();
                let operation = "payment.charge";
                let attempt =
                    crate::fault::Attempt { id, operation, caller: 1, fields: &fields, share: crate::service::TaskShare::Full };
                plan.choose(&attempt, |_| Application::Possible);
            }
            for (index, fired) in plan.fired().into_iter().enumerate() {
                prop_assert_eq!(fired.attempts.is_empty(), find_shadowing_fault(&faults[index], &faults[..index]).is_some());
            }
        }
    }
}
