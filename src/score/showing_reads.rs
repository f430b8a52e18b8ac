//! Whether a read could show a write: it is of the same kind of object, and asks for nothing that the write
//! does not have. A list of another customer, or another object by its id, shows nothing about it.

use mock_services::catalog::{self, ValueForm};
use mock_services::service::{Fields, Value};

use super::history::{Attempt, TrialHistory};
use crate::fit::names_another;

/// Whether the read could show that the write has happened.
pub(super) fn could_show(history: &TrialHistory<'_>, read: &Attempt<'_>, write: &Attempt<'_>) -> bool {
    if !catalog::reveals(read.operation(), write.operation())
        || !catalog::shows_path(read.service(), &read.received.path, &write.received.path)
    {
        return false;
    }
    let effects = write.effects.iter().map(|index| &history.effects[*index]);
    let mut written: Vec<&Fields> = vec![&write.received.fields];
    written.extend(effects.clone().map(|effect| effect.fields));
    let ids: Vec<&str> = effects.map(|effect| effect.id).collect();
    read.received
        .fields
        .iter()
        .all(|(name, asked)| is_possible(write.operation(), name, asked, &written, &ids))
}

/// Whether a write with these fields and ids can be among what a read asks for in this field.
fn is_possible(operation: &str, name: &str, asked: &Value, written: &[&Fields], ids: &[&str]) -> bool {
    if catalog::field(operation, name).role == catalog::FieldRole::Generated || name == "id" {
        let asked = asked.to_string();
        let mut values = written.iter().flat_map(|fields| fields.iter()).map(|(_, value)| value.to_string());
        return ids.contains(&asked.as_str()) || values.any(|value| value == asked);
    }
    let mut values = written.iter().filter_map(|fields| fields.get(name)).peekable();
    if values.peek().is_some() {
        return values.any(|value| is_compatible(operation, name, asked, value));
    }
    // A query in words: it can name the order of something else.
    let Value::Text(query) = asked else { return true };
    !written.iter().flat_map(|fields| fields.iter()).any(|(_, value)| names_another(value, query))
}

fn is_compatible(operation: &str, name: &str, asked: &Value, written: &Value) -> bool {
    if asked.meets(written) || written.meets(asked) {
        return true;
    }
    let (Value::Text(asked), Value::Text(written)) = (asked, written) else { return false };
    match catalog::field(operation, name).form {
        // What is written to a collection stands below it, and a collection lists what is below it.
        Some(form @ ValueForm::UrlPath) => {
            let (asked, written) = (form.canonical(asked), form.canonical(written));
            asked.starts_with(&written) || written.starts_with(&asked)
        }
        Some(form) => form.canonical(asked) == form.canonical(written),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;

    use super::*;
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};

    /// Whether a read with these fields could show the charge of order `o_1` for `cus_42`.
    fn shows(operation: &str, path: &str, asked: &Fields) -> bool {
        let mut script = LedgerScript::new();
        script.path = "/v1/charges".to_owned();
        let fields = charge("o_1", 10).with("customer", "cus_42");
        script.write("payment.charge", Some("k1"), &fields, Sees::Cut(ReplyKind::Drop));
        script.path = path.to_owned();
        let read = script.received(operation, None, asked);
        script.replied(read, Sees::Ok);
        let (terms, entries) = (terms([due("o_1", 10, 1)]), script.end());
        let history = TrialHistory::new(&terms, &entries);
        could_show(&history, &history.attempts[1], &history.attempts[0])
    }

    #[test]
    fn a_read_shows_the_objects_that_it_asks_for() {
        let all = Fields::new();
        let list = |asked: &Fields| shows("payment.list", "/v1/charges", asked);
        assert!(list(&all));
        assert!(list(&all.clone().with("customer", "cus_42")));
        assert!(!list(&all.clone().with("customer", "cus_99")), "the charges of another customer");
        assert!(!shows("payment.list", "/v1/refunds", &all), "a list of refunds");
        assert!(!shows("payment.list", "/v1/payment_intents", &all), "the charge has no intent");
        assert!(!shows("payment.get", "/v1/balance", &all.clone().with("object", "balance")));
        assert!(!shows("payment.customers", "/v1/customers", &all));
    }

    #[test]
    fn an_object_is_shown_by_its_own_id_only() {
        let get = |id: &str| shows("payment.get", "/v1/charges/ch", &Fields::new().with("id", id));
        assert!(get("ch_1"), "the id that the service gave the charge");
        assert!(!get("ch_of_somebody_else"));
    }

    #[test]
    fn a_search_for_another_order_shows_nothing() {
        let search =
            |query: &str| shows("payment.search", "/v1/charges/search", &Fields::new().with("query", query));
        assert!(search("metadata['order']:'o_1'"));
        assert!(search("created>1700000000"));
        assert!(!search("metadata['order']:'o_2'"));
        assert!(!search("customer:'cus_99'"));
    }
}
