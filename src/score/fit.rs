//! Whether an effect fits an intent. A field that an effect does not carry contradicts nothing.

use mock_services::service::Value;

use super::effects::{Effect, Names};
use crate::scenario::Intent;

/// How well an effect fits an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fit {
    /// Whether nothing that it carries contradicts what it must be like.
    pub(super) agrees: bool,
    /// How many fields of `where` it carries, all of which agree.
    pub(super) carried: u16,
}

/// How the effect fits the intent; `None` where it does not.
pub(super) fn fit(intent: &Intent, effect: &Effect<'_>, names: Names<'_>) -> Option<Fit> {
    if intent.effect != effect.name {
        return None;
    }
    let mut carried = 0_u16;
    for (name, wanted) in intent.which.iter() {
        if let Some(have) = names.value(effect.fields, name) {
            if !is_as(have, wanted) {
                return None;
            }
            carried = carried.saturating_add(1);
        }
    }
    let agrees = contradictions(intent, effect, names).next().is_none();
    (carried > 0 || agrees).then_some(Fit { agrees, carried })
}

/// Whether a value is the one that was asked for. One of several is not: a mail to two is no mail to one of them.
fn is_as(have: &Value, wanted: &Value) -> bool {
    let is_several = matches!(have, Value::List(members) if members.len() != 1) && !matches!(wanted, Value::List(_));
    !is_several && have.meets(wanted)
}

/// The fields in which an effect is not as asked.
pub(super) fn contradictions<'t>(
    intent: &'t Intent,
    effect: &Effect<'t>,
    names: Names<'t>,
) -> impl Iterator<Item = (&'t str, &'t Value, &'t Value)> {
    let fields = effect.fields;
    intent.like.iter().filter_map(move |(name, wanted)| {
        let have = names.value(fields, name)?;
        (!is_as(have, wanted)).then_some((name, have, wanted))
    })
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
