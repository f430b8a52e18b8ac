//! Smaller schedules that may fail as well: fewer things, plainer ones, earlier attempts, fewer callers. Pure.

use super::cell::{Call, Cell};
use super::schedule::Schedule;

/// Each schedule that is one step smaller, the smallest first.
pub(super) fn smaller(schedule: &Schedule) -> Vec<Schedule> {
    let mut all = Vec::new();
    for at in 0..schedule.injections.len() {
        let mut fewer = schedule.clone();
        let removed = fewer.injections.remove(at).call;
        all.push(fewer.clone());
        // Without the fault, what was the second attempt may be the first.
        let is_later = |call: &Call| {
            (call.caller, &call.operation) == (removed.caller, &removed.operation)
                && call.attempt > removed.attempt
        };
        let mut later =
            fewer.injections.iter_mut().map(|one| &mut one.call).filter(|call| is_later(call)).peekable();
        if later.peek().is_some() {
            later.for_each(Call::make_earlier);
            all.push(fewer);
        }
    }
    if !schedule.order.is_empty() {
        all.push(Schedule { order: Vec::new(), preemptions: 0, ..schedule.clone() });
        let mut shorter = schedule.clone();
        shorter.order.pop();
        all.push(shorter);
        let most = schedule.order.iter().chain(schedule.injections.iter().map(|one| &one.call.caller)).max();
        if schedule.callers > 2 && most.is_some_and(|most| *most < schedule.callers) {
            all.push(Schedule { callers: schedule.callers - 1, ..schedule.clone() });
        }
    }
    for (at, injection) in schedule.injections.iter().enumerate() {
        let call = &injection.call;
        if call.attempt > 1 {
            let mut earlier = schedule.clone();
            earlier.injections[at].call.make_earlier();
            all.push(earlier);
        }
        let family = injection.cell.family(call.write);
        let is_plainer = |cell: &Cell| {
            cell.fits(call) && cell.rank() < injection.cell.rank() && cell.family(call.write) == family
        };
        for cell in Cell::ALL.into_iter().filter(is_plainer) {
            let mut plainer = schedule.clone();
            plainer.injections[at].cell = cell;
            all.push(plainer);
        }
    }
    // Two faults on one call cannot both apply.
    all.retain(|schedule| {
        let calls: std::collections::BTreeSet<_> = schedule.injections.iter().map(|one| &one.call).collect();
        calls.len() == schedule.injections.len() && schedule.depth() > 0
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_smaller_and_ends() {
        let call = |operation: &str, attempt| Call {
            caller: 1,
            operation: operation.to_owned(),
            attempt,
            write: true,
            other: None,
            is_list: false,
            is_keyless: false,
            is_replay: false,
        };
        let start = Schedule::without_faults(1);
        let mut schedule = start
            .with(&call("payment.charge", 1), Cell::Hang)
            .with(&call("payment.charge", 3), Cell::StopReplied);
        let size = |schedule: &Schedule| {
            let of = |one: &crate::explore::Injection| one.cell.rank() + one.call.attempt as usize;
            schedule.injections.iter().map(|one| 100 + of(one)).sum::<usize>()
        };
        while let Some(next) = smaller(&schedule).pop() {
            assert!(size(&next) < size(&schedule), "{next:?}");
            schedule = next;
        }
        assert_eq!(schedule.injections.len(), 1);
    }
}
