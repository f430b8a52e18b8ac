//! Rules over several records that were broken, and places at which something else is live than expected.

use yaml_reader::shown;

use super::FindingContext;
use crate::score::end_state::{Breach, BrokenInvariant, NotLive};
use crate::score::verdict::{Finding, FindingKind, Remedy};

/// The findings of rules over several records.
pub(super) fn broken(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    context.broken.iter().map(broken_one).collect()
}

fn broken_one(broken: &BrokenInvariant<'_>) -> Finding {
    let invariant = broken.invariant;
    let what = if invariant.counter { "counter" } else { "record" };
    let names: Vec<String> = invariant.keys.iter().map(|key| shown(key).to_string()).collect();
    let names = names.join(", ");
    let at = |range: Option<crate::scenario::NumberRange>| {
        range.map(|range| range.to_string()).unwrap_or_default()
    };
    let message = match &broken.breach {
        Breach::SumChanged { start, end } => {
            format!(
                "The sum of the {what}s {names} was {start} at the start and {end} at the end; it should stay."
            )
        }
        Breach::Sum(sum) => {
            format!(
                "A write made the sum of the {what}s {names} {sum}; it should always be {}.",
                at(invariant.sum)
            )
        }
        Breach::One { key, value } => {
            format!(
                "A write made the {what} {} {value}; it should always be {}.",
                shown(key),
                at(invariant.each)
            )
        }
        Breach::NotANumber { key } => {
            format!("A write made the {what} {} something that is not a whole number.", shown(key))
        }
    };
    Finding {
        message,
        fix: "Read everything that the rule is about, write with a condition on all of it (a version, a lock, one record \
              for both), and start over where something has changed since."
            .to_owned(),
        entries: broken.entries.clone(),
        ..Finding::new(FindingKind::Record)
    }
}

/// The findings of places at which something else is live.
pub(super) fn not_live(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    context.not_live.iter().map(not_live_at).collect()
}

fn not_live_at(found: &NotLive<'_>) -> Finding {
    let named = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "nothing".to_owned(), |value| shown(value).to_string())
    };
    let message = format!(
        "At the end, {} is live at {}; {} should be.",
        named(&found.actual),
        shown(&found.due.place),
        named(&found.due.value)
    );
    let (remedy, fix) = if found.entries.is_empty() {
        (Remedy::WholeTask, "Do what the task asks for, and read what is live.")
    } else {
        (
            FindingKind::Record.remedy(),
            "Before you deploy, read what is live, and never put an older version over a newer one; afterwards, read what \
             is live again.",
        )
    };
    Finding {
        remedy,
        message,
        fix: fix.to_owned(),
        entries: found.entries.clone(),
        ..Finding::new(FindingKind::Record)
    }
}
