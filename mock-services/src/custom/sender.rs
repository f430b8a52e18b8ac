//! What a declared service sends: each item as JSON.

use serde_json::json;

use super::{Custom, Items};
use crate::sender::DECLARED;
use crate::service::{Ids, ServiceEvent};

/// The events of the changes that the file says are sent, in their order.
pub(super) fn events(custom: &Custom, items: &Items) -> Vec<ServiceEvent> {
    let sent = items.sent().enumerate().map(|(number, change)| {
        let facts = change.facts(custom.operations[change.operation()].name.clone());
        let id = Ids::new(number as u64, &facts.id, 0, 0, 0).alphanumeric("evt_", 24);
        let data = serde_json::to_value(&facts.fields).unwrap_or_default();
        let body = json!({ "id": id, "type": facts.effect, "data": { "id": facts.id, "object": data } });
        ServiceEvent {
            kind: facts.effect.clone().into_owned(),
            effect: facts.effect.into_owned(),
            fields: facts.fields,
            id,
            sender: DECLARED.name,
            body: body.to_string(),
        }
    });
    sent.collect()
}
