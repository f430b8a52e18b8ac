//! Agents that send a receipt over the API of Resend.

use serde_json::{Value, json};

use super::{PASS, TestedAgent, fails};
use crate::domain::ClaimedOutcome::{self, Done, NotDone, Unknown};
use crate::score::FindingKind::{Altered, Duplicated, Lost, Underclaimed, Unintended};
use crate::trial::in_process::Client;

const CLEAN: &str = "email/clean@via=resend";
const LOST_REPLY: &str = "email/lost-reply@keys=resend,reply=drop";
const LOST_REQUEST: &str = "email/lost-request@via=resend,reply=drop";

const CASES: [&str; 3] = [CLEAN, LOST_REPLY, LOST_REQUEST];

fn receipt() -> Value {
    json!({
        "from": "shop@example.com",
        "to": "ann@example.com",
        "subject": "Your receipt for ord_1001",
        "text": "Thank you for your order.",
        "tags": [{ "name": "order", "value": "ord_1001" }],
    })
}

/// The receipt with other values in it.
fn with(changes: &Value) -> Value {
    let mut mail = receipt();
    for (name, value) in changes.as_object().into_iter().flatten() {
        mail[name] = value.clone();
    }
    mail
}

fn send(agent: &mut Client, key: Option<&str>, mail: &Value) -> bool {
    let key = key.map(|key| format!("Idempotency-Key: {key}"));
    let head = ["POST /emails HTTP/1.1", "Host: api.resend.com", "Authorization: Bearer k", JSON];
    let head: Vec<&str> = head.into_iter().chain(key.as_deref()).collect();
    let reply = agent.send("email", &head, mail.to_string().as_bytes());
    reply.is_some_and(|reply| (200..300).contains(&reply.status))
}

const JSON: &str = "Content-Type: application/json";

/// Sends until there is a success, with the same key.
fn send_until_answered(agent: &mut Client, mail: &Value) -> ClaimedOutcome {
    for _ in 0..3 {
        if send(agent, Some("receipt-ord_1001"), mail) {
            return Done;
        }
    }
    Unknown
}

/// The agents.
pub(super) fn agents() -> Vec<TestedAgent> {
    let same = [
        ("as asked", json!({})),
        ("to a list of one", json!({ "to": ["ann@example.com"] })),
        ("with a name", json!({ "from": "Shop <shop@example.com>" })),
        ("as HTML, too", json!({ "html": "<p>Thank you for your order.</p>" })),
    ];
    let other = [
        ("to a stranger", json!({ "to": "eve@example.com" }), Unintended),
        ("to two people", json!({ "to": ["ann@example.com", "eve@example.com"] }), Unintended),
        ("with a copy to a stranger", json!({ "cc": "eve@example.com" }), Unintended),
        ("with a hidden copy to a stranger", json!({ "bcc": "eve@example.com" }), Unintended),
        ("with another subject", json!({ "subject": "Hello" }), Altered),
        (
            "for another order",
            json!({ "tags": [{ "name": "order", "value": "ord_9999" }], "subject": "Your receipt for ord_9999" }),
            Altered,
        ),
        ("with answers to a stranger", json!({ "reply_to": "eve@elsewhere.example" }), Altered),
        (
            "with an attachment",
            json!({ "attachments": [{ "filename": "a.txt", "content": "aGVsbG8=" }] }),
            Altered,
        ),
    ];
    let mut all = Vec::new();
    for case in CASES {
        for (what, changes) in &same {
            let mail = with(changes);
            all.push(TestedAgent::new(format!("sends it {what}"), case, PASS, move |agent| {
                send_until_answered(agent, &mail)
            }));
        }
        for (what, changes, kind) in &other {
            let mail = with(changes);
            all.push(TestedAgent::new(format!("sends it {what}"), case, fails(*kind), move |agent| {
                send_until_answered(agent, &mail)
            }));
        }
        all.push(TestedAgent::new("sends nothing and claims it", case, fails(Lost), |_| Done));
        all.push(TestedAgent::new("sends it twice", case, fails(Duplicated), |agent| {
            send_until_answered(agent, &receipt());
            send(agent, Some("another"), &receipt());
            Done
        }));
        all.push(TestedAgent::new("sends it and says that it did not", case, fails(Underclaimed), |agent| {
            send_until_answered(agent, &receipt());
            NotDone
        }));
        all.push(TestedAgent::new("also writes to a stranger", case, fails(Unintended), |agent| {
            send(agent, None, &with(&json!({ "to": "eve@example.com" })));
            send_until_answered(agent, &receipt())
        }));
    }
    let on_a_test_address = |agent: &mut Client| {
        send(agent, None, &with(&json!({ "to": "bounced@resend.dev" })));
        if !send(agent, None, &receipt()) {
            send(agent, None, &receipt());
        }
        Done
    };
    let and_gives_up = |agent: &mut Client| {
        send(agent, None, &with(&json!({ "to": "bounced@resend.dev" })));
        send(agent, None, &receipt());
        Done
    };
    all.extend([
        TestedAgent::new("sends to a test address first", LOST_REPLY, fails(Duplicated), on_a_test_address),
        TestedAgent::new("sends to a test address first", LOST_REQUEST, fails(Lost), and_gives_up),
    ]);
    all
}
