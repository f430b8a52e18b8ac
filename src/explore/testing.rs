//! What a trial showed, and a failure, for tests of what is decided, kept and shown.

use super::found::{CarefulResult, WrittenScenario};
use super::{Call, Cell, ExploredFailure, Schedule, TriedResult, TriedTrial};
use crate::domain::FindingKind;

/// A failure of the second charge with this cell, in so many of so many trials.
pub(super) fn failure(cell: Cell, failed: (u32, u32)) -> ExploredFailure {
    let call = Call {
        caller: 1,
        operation: "payment.charge".to_owned(),
        attempt: 2,
        write: true,
        other: None,
        is_list: false,
        is_keyless: false,
        is_replay: false,
    };
    let schedule = Schedule::without_faults(1).with(&call, cell);
    ExploredFailure {
        name: schedule.name(),
        when: schedule.words(),
        first: "no reply to the second payment.charge comes".to_owned(),
        kind: FindingKind::Duplicated,
        kinds: vec![FindingKind::Duplicated],
        message: "2 charges for order 8. \u{1b}[31mred".to_owned(),
        fix: "Derive the key from the order.".to_owned(),
        cause: String::new(),
        timeline:
            "   0.285  caller 1 ───► payment  payment.charge#1\n   0.286  caller 1   ✗╌ payment  no reply\n"
                .to_owned(),
        found_at: 3,
        failed,
        also: 1,
        written: WrittenScenario {
            file: format!("search/found/{}.yaml", schedule.name()).into(),
            controls: [("careful", "pass"), ("naive", "duplicated")]
                .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
                .to_vec(),
            careful: CarefulResult::Passes,
        },
        schedule,
    }
}

/// What a trial without calls showed.
pub(super) fn tried(result: TriedResult) -> TriedTrial {
    TriedTrial {
        result,
        kinds: Vec::new(),
        message: String::new(),
        fix: String::new(),
        cause: String::new(),
        timeline: String::new(),
        calls: Vec::new(),
        requests: 0,
        turns: Vec::new(),
        view: String::new(),
        took_ms: 1,
    }
}
