//! How effects were matched to an intent, as text.

use mock_services::yaml::shown;

use super::assignment::IntentEffects;
use super::effects::Effect;
use crate::fit::{FoundValue, Rule};
use crate::scenario::{Intent, Terms};

/// The maximum number of entries that are named one by one.
const MAX_NAMED_ENTRIES: usize = 6;

/// The matching of one intent, as text.
pub(super) fn why(terms: &Terms, intent: &Intent, taken: &IntentEffects, effects: &[Effect<'_>]) -> String {
    let rule = Rule::new(terms);
    let mut parts = vec![match intent.at_least {
        Some(least) => format!("{least} to {} due", intent.times),
        None => format!("{} due", intent.times),
    }];
    let mut list = |places: &[usize], word: &str| {
        for place in places.iter().take(MAX_NAMED_ENTRIES) {
            let effect = &effects[*place];
            parts.push(format!("entry {} {word}: {}", effect.n, reason(intent, effect, rule)));
        }
        if places.len() > MAX_NAMED_ENTRIES {
            parts.push(format!("and {} more that {word}", places.len() - MAX_NAMED_ENTRIES));
        }
    };
    list(&taken.counted, "counts");
    list(&taken.surplus, "is surplus");
    list(&taken.compensated, "is surplus and was refunded in full");
    list(&taken.taken_back, "does not count because it was refunded in full");
    if taken.all().is_empty() {
        parts.push("no effect fits".to_owned());
    }
    parts.join("; ")
}

/// Why an effect fits.
fn reason(intent: &Intent, effect: &Effect<'_>, rule: Rule<'_>) -> String {
    let carried = |name: &str| rule.names().value(effect.fields, name);
    let agreeing: Vec<String> = intent
        .selector
        .iter()
        .filter_map(|(name, _)| {
            carried(name).map(|value| format!("its {} is {}", shown(name), shown(&value.to_string())))
        })
        .collect();
    let mut words = match (agreeing.is_empty(), intent.selector.is_empty()) {
        (false, _) => agreeing.join(" and "),
        (true, true) => "nothing that it carries contradicts".to_owned(),
        (true, false) => {
            let missing: Vec<String> = intent.selector.iter().map(|(name, _)| shown(name)).collect();
            format!("it carries no {}, and nothing that it carries contradicts", missing.join(" and no "))
        }
    };
    for contradiction in rule.contradictions(intent, effect.fields) {
        let (name, wanted) = (shown(contradiction.name), shown(&contradiction.wanted.to_string()));
        words.push_str(&match contradiction.found {
            FoundValue::Value(actual) => {
                format!(", but its {name} is {} and not {wanted}", shown(&actual.to_string()))
            }
            FoundValue::Missing => format!(", but it has no {name}, which should be {wanted}"),
            FoundValue::Mentioned(other) => format!(", but it names {} and not {wanted}", shown(&other)),
        });
    }
    words
}
