//! What the idempotency keys of a profile of the user's own identify: which intents were done under which value. A
//! value that two intents have identifies neither, and a service that repeated its answer for it would hide a
//! duplicate.

use std::collections::BTreeMap;

use mock_services::service::Fields;

use super::history::{Effect, TrialHistory, service_of};
use super::verdict::KeyUse;
use super::void_reason::VoidReason;
use crate::fit::Rule;
use crate::scenario::{OwnKey, Terms};

/// An effect that was asked for with a key at a place that the user chose.
struct KeyedEffect<'a> {
    own: &'a OwnKey,
    value: &'a str,
    /// Everything that makes the same value another key.
    slot: Vec<String>,
    /// The indexes of the intents that it fits.
    intents: Vec<usize>,
    /// What the request asks for. One that is sent again has the same key, and may do a part that the first left.
    asked_for: (&'a str, &'a str, &'a Fields),
}

fn keyed_effects<'a>(terms: &'a Terms, history: &'a TrialHistory<'a>) -> Vec<KeyedEffect<'a>> {
    if terms.own_keys.is_empty() {
        return Vec::new();
    }
    let rule = Rule::new(terms);
    let keyed = |effect: &'a Effect<'a>| {
        let own = terms.own_keys.iter().find(|own| own.service == service_of(effect.name))?;
        let received = history.attempt(effect.attempt)?.received;
        let fits = |index: &usize| rule.fit(&terms.intents[*index], effect.name, effect.fields).is_some();
        let mut slot = Vec::new();
        if own.per_endpoint {
            slot.push(format!("{} {}", received.method, received.path));
        }
        slot.extend(own.identity.iter().map(|name| value_of(&received.fields, name)));
        Some(KeyedEffect {
            own,
            value: received.key.as_deref()?,
            slot,
            intents: (0..terms.intents.len()).filter(fits).collect(),
            asked_for: (&received.method, &received.path, &received.fields),
        })
    };
    history.effects.iter().chain(&history.withheld).filter_map(keyed).collect()
}

fn value_of(fields: &Fields, name: &str) -> String {
    let value = fields.get(name).or_else(|| fields.get(&format!("body.{name}")));
    value.map(ToString::to_string).unwrap_or_default()
}

/// The values of the keys at places that the user chose, each with the intents that were done under it.
pub(super) fn key_uses(terms: &Terms, history: &TrialHistory<'_>) -> Vec<KeyUse> {
    let mut uses: BTreeMap<(&str, &str), KeyUse> = BTreeMap::new();
    for keyed in keyed_effects(terms, history).iter().filter(|keyed| !keyed.intents.is_empty()) {
        let OwnKey { service, place, .. } = keyed.own;
        let found = uses.entry((service.as_str(), keyed.value)).or_insert_with(|| KeyUse {
            service: service.clone(),
            place: place.clone(),
            value: keyed.value.to_owned(),
            intents: Vec::new(),
        });
        found.intents.extend(&keyed.intents);
        found.intents.sort_unstable();
        found.intents.dedup();
    }
    uses.into_values().collect()
}

/// One reason for each value that two different intents have.
pub(super) fn void_reasons(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let effects = keyed_effects(terms, history);
    let mut reasons: Vec<VoidReason> = Vec::new();
    for (at, one) in effects.iter().enumerate() {
        let is_other = |other: &&KeyedEffect<'_>| {
            let is_same_key =
                one.own.service == other.own.service && one.value == other.value && one.slot == other.slot;
            let shares_intent = || one.intents.iter().any(|intent| other.intents.contains(intent));
            is_same_key
                && one.asked_for != other.asked_for
                && !one.intents.is_empty()
                && !other.intents.is_empty()
                && !shares_intent()
        };
        if effects[at + 1..].iter().find(is_other).is_some() {
            let OwnKey { service, place, .. } = one.own;
            let (service, place, value) = (service.clone(), place.clone(), one.value.to_owned());
            reasons.push(VoidReason::SharedKey { service, place, value });
        }
    }
    reasons.dedup();
    reasons
}

#[cfg(test)]
mod tests {
    use mock_services::ledger::CommitTiming;

    use super::*;
    use crate::scenario::ClaimedOutcome;
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::{TrialStatus, Verdict, score};

    /// Two orders under keys at a place that the user chose.
    fn two_orders(own: OwnKey, keys: [&str; 2]) -> Verdict {
        let terms = Terms {
            own_keys: vec![own],
            claim: vec![ClaimedOutcome::Done],
            ..terms([due("o1", 10, 1), due("o2", 20, 1)])
        };
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some(keys[0]), "o1", 10, Sees::Ok);
        script.charge(Some(keys[1]), "o2", 20, Sees::Ok);
        script.claims(1, ClaimedOutcome::Done);
        score(&terms, &script.end(), None)
    }

    fn own(per_endpoint: bool, identity: &[&str]) -> OwnKey {
        OwnKey {
            service: "payment".to_owned(),
            place: "body.currency".to_owned(),
            per_endpoint,
            identity: identity.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn one_value_for_two_intents_is_no_key_and_never_passes() {
        let verdict = two_orders(own(false, &[]), ["usd", "usd"]);
        assert_eq!(verdict.result, TrialStatus::Void, "{:?}", verdict.findings);
        let reason = &verdict.void_because[0];
        assert!(reason.contains("`body.currency`") && reason.contains("`usd`"), "{reason}");
        assert!(reason.contains("key: header.Idempotency-Key"), "{reason}");
    }

    #[test]
    fn a_request_that_is_sent_again_for_the_part_that_it_left_has_the_same_key() {
        let terms = Terms {
            own_keys: vec![own(false, &[])],
            claim: vec![ClaimedOutcome::Done],
            ..terms([due("o1", 10, 1), due("o2", 20, 1)])
        };
        let both = Fields::new().with("orders", "o1, o2");
        let mut script = LedgerScript::new();
        script.started(1);
        for (order, amount, sees) in [("o1", 10, Sees::Status(500)), ("o2", 20, Sees::Ok)] {
            let attempt = script.received("payment.charge", Some("k1"), &both);
            script.committed(attempt, "payment.charge", &charge(order, amount), CommitTiming::Now);
            script.replied(attempt, sees);
        }
        script.claims(1, ClaimedOutcome::Done);
        let verdict = score(&terms, &script.end(), None);
        assert_eq!(verdict.result, TrialStatus::Pass, "{:?} {:?}", verdict.findings, verdict.void_because);
    }

    #[test]
    fn a_value_for_each_intent_is_a_key() {
        let verdict = two_orders(own(false, &[]), ["k1", "k2"]);
        assert_eq!(verdict.result, TrialStatus::Pass, "{:?}", verdict.void_because);
        let values: Vec<(&str, &[usize])> =
            verdict.key_uses.iter().map(|used| (used.value.as_str(), used.intents.as_slice())).collect();
        assert_eq!(values, [("k1", [0].as_slice()), ("k2", &[1])]);
    }

    #[test]
    fn a_field_that_belongs_to_the_key_makes_it_another_one() {
        assert_eq!(two_orders(own(false, &["amount"]), ["k", "k"]).result, TrialStatus::Pass);
        assert_eq!(two_orders(own(true, &[]), ["k", "k"]).result, TrialStatus::Void, "one endpoint");
    }

    #[test]
    fn one_key_for_many_attempts_of_one_intent_is_right() {
        let terms = Terms { own_keys: vec![own(false, &[])], ..terms([due("o1", 10, 1)]) };
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k"), "o1", 10, Sees::Status(503));
        for _ in 0..5 {
            script.write_without_commit(
                "payment.charge",
                Some("k"),
                &crate::score::testing::charge("o1", 10),
                Sees::Ok,
            );
        }
        script.claims(1, ClaimedOutcome::Done);
        let verdict = score(&terms, &script.end(), None);
        assert_eq!(verdict.result, TrialStatus::Pass, "{:?} {:?}", verdict.findings, verdict.void_because);
    }

    #[test]
    fn keys_of_a_shipped_profile_are_not_looked_at() {
        let two = terms([due("o1", 10, 1), due("o2", 20, 1)]);
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k"), "o1", 10, Sees::Ok);
        script.charge(Some("k"), "o2", 20, Sees::Ok);
        script.claims(1, ClaimedOutcome::Done);
        let verdict = score(&two, &script.end(), None);
        assert_eq!((verdict.result, verdict.key_uses.len()), (TrialStatus::Pass, 0));
    }
}
