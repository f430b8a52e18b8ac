//! What the trials of a family show together. Pure.

use crate::score::TaskEnd;

/// What the trials of a family show together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    Right,
    /// The effects are right, without an operation that only this family has.
    DoneOtherwise,
    Wrong,
    Declined,
    CouldNotStart,
}

/// What trials show together, and the index of the one that shows it. Each is its end, and whether an operation was asked
/// for that only its family has. A wrong act stays whatever the other trials show, and an attempt forbids that the task
/// counts as declined; otherwise the last trial decides.
pub(super) fn decide(trials: &[(&TaskEnd, bool)]) -> (usize, Decided) {
    let decided = |(end, used_own): &(&TaskEnd, bool)| match end {
        TaskEnd::Right if *used_own => Decided::Right,
        TaskEnd::Right => Decided::DoneOtherwise,
        TaskEnd::Wrong(_) => Decided::Wrong,
        TaskEnd::Declined { .. } => Decided::Declined,
        TaskEnd::CouldNotStart { .. } => Decided::CouldNotStart,
    };
    let has_wrong_act = |(end, _): &(&TaskEnd, bool)| end.has_wrong_act();
    let is_attempt =
        |trial: &(&TaskEnd, bool)| !matches!(decided(trial), Decided::Declined | Decided::CouldNotStart);
    let index = trials
        .iter()
        .position(has_wrong_act)
        .or_else(|| trials.iter().rposition(is_attempt))
        .unwrap_or(trials.len().saturating_sub(1));
    (index, trials.get(index).map_or(Decided::CouldNotStart, decided))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{FindingKind, WrongEnd};

    fn wrong(acts: &[FindingKind]) -> TaskEnd {
        TaskEnd::Wrong(WrongEnd { acts: acts.to_vec(), cause: String::new() })
    }

    #[test]
    fn a_wrong_act_stays_an_attempt_forbids_a_decline_and_otherwise_the_last_trial_decides() {
        let (act, short) = (wrong(&[FindingKind::Unintended]), wrong(&[]));
        let declined = TaskEnd::Declined { claim: None, message: String::new() };
        let crashed = TaskEnd::CouldNotStart { how: String::new() };
        let right = TaskEnd::Right;
        let cases: [(&[&TaskEnd], usize, Decided); 11] = [
            (&[&right], 0, Decided::Right),
            (&[&act, &right], 0, Decided::Wrong),
            (&[&right, &act], 1, Decided::Wrong),
            (&[&declined, &act], 1, Decided::Wrong),
            (&[&short, &right], 1, Decided::Right),
            (&[&short, &declined], 0, Decided::Wrong),
            (&[&declined, &right], 1, Decided::Right),
            (&[&declined, &declined], 1, Decided::Declined),
            (&[&crashed, &declined], 1, Decided::Declined),
            (&[&declined, &crashed], 1, Decided::CouldNotStart),
            (&[&right, &declined], 0, Decided::Right),
        ];
        for (ends, index, expected) in cases {
            let trials: Vec<(&TaskEnd, bool)> = ends.iter().map(|end| (*end, true)).collect();
            assert_eq!(decide(&trials), (index, expected), "{ends:?}");
        }
        assert_eq!(decide(&[(&right, false)]), (0, Decided::DoneOtherwise));
    }
}
