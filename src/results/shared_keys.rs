//! Idempotency keys of a profile of the user's own that have one value in trials of different tasks: such a place has no
//! key, because a client writes the same there whatever it does. Pure.

use std::collections::BTreeMap;

use mock_services::service::Fields;

use super::model::CaseReport;
use crate::scenario::Intent;
use crate::score::{KeyUse, Verdict};

/// The fields that say where a request goes, and not what it is about.
const PLACES: [&str; 2] = ["host", "path"];

/// A value at the place of the key that trials of two different tasks have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedKey {
    pub(crate) service: String,
    /// The place that the user chose: `body.currency`.
    pub(crate) place: String,
    pub(crate) value: String,
    /// The ids of two cases with different tasks.
    pub(crate) cases: [String; 2],
}

impl SharedKey {
    /// Whether a trial had a key at that place of that service, and so shows nothing.
    pub(crate) fn concerns(&self, verdict: &Verdict) -> bool {
        verdict.key_uses.iter().any(|used| used.service == self.service && used.place == self.place)
    }
}

/// A use of a key, and the case in which it was used.
type CaseUse<'c> = (&'c CaseReport, &'c KeyUse);

/// The values of a key that two different tasks have, one for each service and place.
pub(crate) fn shared_keys<'c>(all: impl IntoIterator<Item = &'c CaseReport>) -> Vec<SharedKey> {
    // The cases in which a value was used, with the intents that were done under it.
    let mut used: BTreeMap<(&str, &str, &str), Vec<CaseUse<'_>>> = BTreeMap::new();
    for case in all {
        for key in case.trials.iter().flat_map(|trial| &trial.verdict.key_uses) {
            let cases = used.entry((&key.service, &key.place, &key.value)).or_default();
            if !cases.iter().any(|(have, _)| have.id == case.id) {
                cases.push((case, key));
            }
        }
    }
    let mut shared: Vec<SharedKey> = Vec::new();
    for ((service, place, value), cases) in used {
        let is_known = shared.iter().any(|found| found.service == service && found.place == place);
        let pairs = cases.iter().enumerate();
        let mut pairs = pairs.flat_map(|(at, one)| cases[at + 1..].iter().map(move |other| (*one, *other)));
        if let Some((one, other)) = pairs.find(|(one, other)| !is_known && are_unrelated(*one, *other)) {
            let [service, place, value] = [service, place, value].map(str::to_owned);
            shared.push(SharedKey {
                service,
                place,
                value,
                cases: [one.0, other.0].map(|case| case.id.clone()),
            });
        }
    }
    shared
}

/// Whether what was done under the key in both cases is about different things.
fn are_unrelated(one: (&CaseReport, &KeyUse), other: (&CaseReport, &KeyUse)) -> bool {
    fn intents<'c>((case, key): (&'c CaseReport, &'c KeyUse)) -> impl Iterator<Item = &'c Intent> {
        key.intents.iter().filter_map(move |index| case.terms.intents.get(*index))
    }
    let names_the_same = || words(&one.0.task).any(|word| words(&other.0.task).any(|have| have == word));
    intents(one).next().is_some()
        && intents(other).next().is_some()
        && intents(one).all(|mine| {
            intents(other).all(|theirs| match difference(&mine.selector, &theirs.selector) {
                Difference::Identifier => true,
                // A key can be made of something else that both tasks name, such as the order of two mails.
                Difference::Name => !names_the_same(),
                Difference::None => false,
            })
        })
}

/// In what the things differ that two intents are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// In a value with digits, such as the id of an order.
    Identifier,
    /// In other values, such as the address of a person.
    Name,
    /// In nothing, or it is not known.
    None,
}

fn difference(one: &Fields, other: &Fields) -> Difference {
    let mut found = Difference::None;
    for (name, mine) in one.iter().filter(|(name, _)| !PLACES.contains(&&**name)) {
        let Some(theirs) = other.get(name) else { continue };
        if mine == theirs {
            return Difference::None;
        }
        let has_digit = |text: String| text.chars().any(|character| character.is_ascii_digit());
        let is_identifier = has_digit(mine.to_string()) && has_digit(theirs.to_string());
        found = match (is_identifier, found) {
            (true, _) | (_, Difference::Identifier) => Difference::Identifier,
            _ => Difference::Name,
        };
    }
    found
}

/// The words of a task that identify something: those with a digit.
fn words(task: &str) -> impl Iterator<Item = &str> {
    let parts = task.split(|character: char| !(character.is_alphanumeric() || "_-@".contains(character)));
    parts.filter(|word| word.chars().any(|character| character.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Report, result, sample};
    use crate::score::TrialStatus;

    /// A passed trial with this task and key; the selector of its intent is this.
    fn case(id: &str, task: &str, selector: Fields, value: &str) -> CaseReport {
        let mut verdict = sample::verdict(TrialStatus::Pass, crate::score::Outcome::ExactlyOnce);
        verdict.key_uses = vec![KeyUse {
            service: "payment".to_owned(),
            place: "body.currency".to_owned(),
            value: value.to_owned(),
            intents: vec![0],
        }];
        let mut case = sample::case(id, &[], "A charge.", verdict);
        case.task = task.to_owned();
        case.terms.intents[0].selector = selector;
        case
    }

    fn report_of(cases: Vec<CaseReport>) -> Report {
        let mut report = sample::run_of(Vec::new()).0;
        report.planned = cases.len() as u64;
        Report { cases, ..report }
    }

    fn order(id: &str, order: &str, value: &str) -> CaseReport {
        case(id, &format!("Charge customer cus_42 for {order}."), Fields::new().with("order", order), value)
    }

    #[test]
    fn one_value_for_two_tasks_is_no_key_and_the_run_does_not_pass() {
        let report = report_of(vec![order("a", "ord_1", "usd"), order("b", "ord_2", "usd")]);
        let found = shared_keys(&report.cases);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].cases, ["a", "b"].map(str::to_owned));
        assert_eq!(result(&report), TrialStatus::Void);
    }

    #[test]
    fn a_value_for_each_task_is_a_key_and_so_is_one_of_the_same_task() {
        for second in [order("b", "ord_2", "k2"), order("b", "ord_1", "k1")] {
            let report = report_of(vec![order("a", "ord_1", "k1"), second]);
            assert_eq!(shared_keys(&report.cases), []);
            assert_eq!(result(&report), TrialStatus::Pass);
        }
    }

    #[test]
    fn a_key_of_what_both_tasks_name_is_a_key() {
        let to = |id: &str, who: &str, order: &str| {
            let task = format!("Send {who} the receipt for {order}.");
            case(id, &task, Fields::new().with("to", who), "k")
        };
        let shared = |second: CaseReport| shared_keys(&[to("a", "ann@example.com", "ord_1"), second]).len();
        assert_eq!(shared(to("b", "bob@example.com", "ord_1")), 0);
        assert_eq!(shared(to("b", "bob@example.com", "ord_2")), 1);
    }

    #[test]
    fn intents_without_a_common_field_are_not_compared() {
        let by_customer = case("b", "Charge cus_9.", Fields::new().with("customer", "cus_9"), "usd");
        let report = report_of(vec![order("a", "ord_1", "usd"), by_customer]);
        assert_eq!(shared_keys(&report.cases), []);
    }
}
