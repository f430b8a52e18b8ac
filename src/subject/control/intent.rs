//! The identity of an intent, and the idempotency keys that are derived from it.

use std::cell::Cell;

use mock_services::catalog::{self, FieldRole, StoredValue};
use mock_services::service::Value;
use sha2::{Digest, Sha256};

use super::wire::ToolRequest;
use crate::scenario::Step;

/// The field of a step that says for which time the same is due, if it is due again.
pub(super) const OCCURRENCE: &str = "occurrence";

/// The identity of the intent of a step: its operation and all its fields except free text.
///
/// A step that adds an amount and has no order is a separate intent for each caller: twelve callers that
/// count a visit mean twelve visits.
pub(super) fn identity(step: &Step, caller: &str) -> String {
    let fields = step.with.iter().filter(|(name, _)| !catalog::field(&step.operation, name).is_free_text());
    let own = is_per_caller(step).then(|| format!("caller {caller}"));
    hashed(step, fields, own.as_deref())
}

/// The identity of a task: of all its intents that the callers share.
pub(super) fn task_identity(steps: &[Step]) -> String {
    let shared: Vec<String> =
        steps.iter().filter(|step| !is_per_caller(step)).map(|step| identity(step, "")).collect();
    hex(&Sha256::digest(shared.join(" ").as_bytes()))
}

/// A key that is derived from the operation and the content of a step: the same content has the same key, also where it
/// is due again.
pub(super) fn derived_key(step: &Step) -> String {
    hashed(step, step.with.iter().filter(|(name, _)| *name != OCCURRENCE), None)
}

/// A key that is derived from a whole request.
pub(super) fn request_key(request: &ToolRequest) -> String {
    hex(&Sha256::digest(format!("{request:?}").as_bytes()))
}

/// Whether the step is a separate intent for each caller.
pub(super) fn is_per_caller(step: &Step) -> bool {
    let moves = catalog::store_change(&step.operation).is_some_and(|change| match change.value {
        StoredValue::Added { .. } => true,
        StoredValue::Set { add, .. } => step.with.get(add).is_some(),
        StoredValue::Removed => false,
    });
    let is_purpose = |name| catalog::field(&step.operation, name).role == FieldRole::Purpose;
    moves && !step.with.iter().any(|(name, _)| is_purpose(name))
}

/// Whether two steps are about the same object: the most specific identifying field has the same value.
pub(super) fn is_about_the_same(one: &Step, other: &Step) -> bool {
    let field = catalog::fields(&one.operation)
        .filter(|field| matches!(field.role, FieldRole::Purpose | FieldRole::Object))
        .find(|field| one.with.get(field.name).is_some());
    one.operation == other.operation
        && field.is_some_and(|field| one.with.get(field.name) == other.with.get(field.name))
}

/// Keys for single use. They are derived from the caller and its start, so that the same run has the same
/// keys.
#[derive(Debug)]
pub(super) struct FreshKeys {
    stem: String,
    count: Cell<u64>,
}

impl FreshKeys {
    /// The keys of one start of a caller; starts are numbered from 1.
    pub(super) fn new(caller: &str, start: u32) -> Self {
        FreshKeys { stem: format!("caller {caller} start {start}"), count: Cell::new(0) }
    }

    /// The next key.
    pub(super) fn next(&self) -> String {
        self.count.set(self.count.get() + 1);
        hex(&Sha256::digest(format!("{} key {}", self.stem, self.count.get()).as_bytes()))
    }
}

fn hashed<'a>(step: &Step, fields: impl Iterator<Item = (&'a str, &'a Value)>, own: Option<&str>) -> String {
    let mut fields: Vec<(&str, String)> = fields.map(|(name, value)| (name, canonical(value))).collect();
    fields.sort();
    hex(&Sha256::digest(serde_json::json!([step.operation, fields, own]).to_string()))
}

/// A value as text; the order of a list is ignored.
fn canonical(value: &Value) -> String {
    match value {
        Value::List(members) => {
            let mut members = members.clone();
            members.sort();
            format!("{members:?}")
        }
        single => single.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes.get(..16).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;
    use proptest::prelude::*;

    use super::*;

    fn step(operation: &str, with: Fields) -> Step {
        Step { operation: operation.to_owned(), with }
    }

    fn charge(order: &str, amount: i64) -> Step {
        step(
            "payment.charge",
            Fields::new().with("order", order).with("customer", "cus_42").with("amount", amount),
        )
    }

    #[test]
    fn equal_charges_for_two_orders_are_two_intents() {
        assert_ne!(identity(&charge("ord_1", 4999), "1"), identity(&charge("ord_2", 4999), "1"));
        assert_ne!(identity(&charge("ord_1", 4999), "1"), identity(&charge("ord_1", 5000), "1"));
        assert_ne!(derived_key(&charge("ord_1", 4999)), derived_key(&charge("ord_2", 4999)));
    }

    #[test]
    fn all_callers_of_one_task_share_the_intent_unless_they_count() {
        assert_eq!(identity(&charge("ord_1", 1), "1"), identity(&charge("ord_1", 1), "2"));
        let count = step("records.increment", Fields::new().with("counter", "visits"));
        assert_ne!(identity(&count, "1"), identity(&count, "2"));
        let named = step("records.increment", Fields::new().with("counter", "visits").with("order", "ord_1"));
        assert_eq!(identity(&named, "1"), identity(&named, "2"));
    }

    #[test]
    fn callers_share_a_task_regardless_of_their_own_tasks() {
        let own = |by: i64| step("records.increment", Fields::new().with("counter", "visits").with("by", by));
        assert_eq!(
            task_identity(&[charge("ord_1", 1), own(1)]),
            task_identity(&[charge("ord_1", 1), own(2)])
        );
        assert_ne!(task_identity(&[charge("ord_1", 1)]), task_identity(&[charge("ord_2", 1)]));
        assert_ne!(
            task_identity(&[charge("ord_1", 1), charge("ord_2", 1)]),
            task_identity(&[charge("ord_2", 1), charge("ord_1", 1)])
        );
    }

    #[test]
    fn other_words_are_the_same_intent_and_another_key() {
        let mail = |text: &str| {
            step(
                "email.send",
                Fields::new().with("to", "a@x.example").with("subject", "Hi").with("text", text),
            )
        };
        assert_eq!(identity(&mail("one"), "1"), identity(&mail("two"), "1"));
        assert_ne!(derived_key(&mail("one")), derived_key(&mail("two")));
        let mut again = mail("one");
        again.with.set(OCCURRENCE, 2);
        assert_ne!(identity(&again, "1"), identity(&mail("one"), "1"), "it is due again");
        assert_eq!(derived_key(&again), derived_key(&mail("one")), "the content is the same");
    }

    #[test]
    fn a_step_with_another_amount_is_about_the_same_order() {
        assert!(is_about_the_same(&charge("ord_1", 1), &charge("ord_1", 2)));
        assert!(!is_about_the_same(&charge("ord_1", 1), &charge("ord_2", 1)));
        assert!(!is_about_the_same(
            &charge("ord_1", 1),
            &step("payment.refund", Fields::new().with("order", "ord_1"))
        ));
        assert!(!is_about_the_same(&step("a.b", Fields::new()), &step("a.b", Fields::new())));
    }

    proptest! {
        #[test]
        fn the_order_of_fields_means_nothing(a in "[a-z]{1,6}", b in "[a-z]{1,6}") {
            let one = step("x.y", Fields::new().with("p", a.as_str()).with("q", b.as_str()));
            let other = step("x.y", Fields::new().with("q", b.as_str()).with("p", a.as_str()));
            prop_assert_eq!(identity(&one, "1"), identity(&other, "1"));
            prop_assert_eq!(derived_key(&one), derived_key(&other));
        }

        #[test]
        fn values_cannot_be_shifted_from_one_field_into_the_next(a in "[a-z,\" ]{0,6}", b in "[a-z,\" ]{0,6}") {
            let one = step("x.y", Fields::new().with("p", format!("{a}{b}")).with("q", ""));
            let other = step("x.y", Fields::new().with("p", a.as_str()).with("q", b.as_str()));
            prop_assert_eq!(derived_key(&one) == derived_key(&other), b.is_empty());
        }
    }

    #[test]
    fn fresh_keys_differ_within_a_start_and_between_callers_and_starts() {
        let all = [("1", 1), ("2", 1), ("1", 2), ("12", 1), ("1", 21)]
            .map(|(caller, start)| FreshKeys::new(caller, start));
        let keys: std::collections::BTreeSet<String> =
            all.iter().flat_map(|keys| (0..100).map(|_| keys.next())).collect();
        assert_eq!(keys.len(), 500);
    }
}
