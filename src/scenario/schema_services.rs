//! The part of the schema that describes how services are set up.

use mock_services::idempotency::Profile;
use serde_json::{Value, json};

use super::schema::{flag, list, map_of, object, or_name, reference, text, whole, word};

/// The services, each with its settings; others are the user's own and name their file.
pub(super) fn services() -> Value {
    let set_up = |keys: Vec<(&'static str, Value)>| {
        let all = [("idempotency", idempotency())].into_iter().chain(keys);
        json!({ "anyOf": [object(all, &[]), { "type": "null" }, reference("name")] })
    };
    let texts = || list(text());
    let environment =
        object([("version", text()), ("locked_by", text()), ("free_after", reference("after"))], &[]);
    let rollout = object([("steps", whole(1)), ("each", reference("after"))], &["steps", "each"]);
    let charge = [("amount", whole(1)), ("currency", text()), ("customer", text()), ("order", text())];
    let charge = object(charge, &["amount"]);
    let counter = or_name(json!({ "type": "integer" }));
    let own = object([("idempotency", idempotency()), ("file", text())], &["file"]);
    or_name(json!({
        "type": "object",
        "properties": {
            "payment": set_up(vec![("declines", texts()), ("customers", texts()), ("charges", list(or_name(charge)))]),
            "email": set_up(vec![("delivery", delivery()), ("addresses", map_of(delivery()))]),
            "deploy": set_up(vec![
                ("environments", map_of(or_name(environment))),
                ("rollout", or_name(rollout)),
                ("asynchronous", reference("after")),
            ]),
            "records": set_up(vec![
                ("records", map_of(json!(true))),
                ("counters", map_of(counter)),
                ("require_if_match", flag()),
            ]),
            "tickets": set_up(vec![("file", text())]),
        },
        "additionalProperties": or_name(own),
    }))
}

fn idempotency() -> Value {
    let profile = || word(Profile::ALL.map(Profile::name));
    json!({ "anyOf": [profile(), object([("profile", profile()), ("lifetime", reference("after"))], &["profile"])] })
}

fn delivery() -> Value {
    let after = |name: &'static str| object([(name, reference("after"))], &[name]);
    json!({ "anyOf": [word(["now", "never", "later", "bounced"]), after("later"), after("bounced")] })
}
