//! Agents that charge a customer.

use serde_json::Value;

use super::{PASS, TestedAgent, VOID, fails, is_success};
use crate::domain::ClaimedOutcome::{self, Done, NotDone, Unknown};
use crate::score::FindingKind::{Altered, Duplicated, Lost, Overclaimed, Underclaimed, Unintended};
use crate::trial::in_process::{Client, InProcessReply};

const CHARGE: &str = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001";
const KEY: &str = "charge-ord_1001";
const CLEAN: &str = "payment/clean@keys=stripe";
const LOST_REPLY: &str = "payment/lost-reply@keys=stripe,reply=drop";
const LOST_REQUEST: &str = "payment/lost-request@keys=stripe,reply=drop";
const LYING: &str = "payment/lying-success@keys=none,lies=1";
const DECLINED: &str = "payment/declined-card";

/// Cases in which one charge is due, whatever happens to the first attempt.
const ONE_CHARGE: [&str; 5] = [
    CLEAN,
    LOST_REPLY,
    LOST_REQUEST,
    "payment/lost-reply@keys=stripe,reply=502",
    "payment/lost-reply@keys=stripe,reply=reset",
];

fn post(agent: &mut Client, path: &str, key: Option<&str>, form: &str) -> Option<InProcessReply> {
    let line = format!("POST {path} HTTP/1.1");
    let key = key.map(|key| format!("Idempotency-Key: {key}"));
    let head = [line.as_str(), "Host: api.stripe.com", "Authorization: Bearer k", FORM];
    let head: Vec<&str> = head.into_iter().chain(key.as_deref()).collect();
    agent.send("payment", &head, form.as_bytes())
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

fn get(agent: &mut Client, path: &str) -> Option<InProcessReply> {
    let line = format!("GET {path} HTTP/1.1");
    agent.send("payment", &[line.as_str(), "Host: api.stripe.com", "Authorization: Bearer k"], b"")
}

/// Charges until there is a success, with the same key.
fn charge(agent: &mut Client, form: &str) -> ClaimedOutcome {
    for _ in 0..3 {
        if is_success(&post(agent, "/v1/charges", Some(KEY), form)) {
            return Done;
        }
    }
    Unknown
}

/// Whether the charge for the order exists.
fn exists(agent: &mut Client) -> bool {
    let listed = get(agent, "/v1/charges?customer=cus_42&limit=100");
    let charges = listed.map(|reply| reply.body["data"].clone()).unwrap_or_default();
    let is_ours = |charge: &Value| charge["metadata"]["order"] == "ord_1001" && charge["amount"] == 4999;
    charges.as_array().into_iter().flatten().any(is_ours)
}

/// Charges, looks, and charges again until the charge is there.
fn charge_and_look(agent: &mut Client) -> ClaimedOutcome {
    for _ in 0..3 {
        post(agent, "/v1/charges", None, CHARGE);
        if exists(agent) {
            return Done;
        }
    }
    Unknown
}

/// What a charge has in it that the task does not ask for.
const OTHER_CHARGES: [(&str, &str); 14] = [
    ("another amount", "amount=999999&currency=usd&customer=cus_42&metadata[order]=ord_1001"),
    ("a cent less", "amount=4998&currency=usd&customer=cus_42&metadata[order]=ord_1001"),
    ("another currency", "amount=4999&currency=eur&customer=cus_42&metadata[order]=ord_1001"),
    ("another customer", "amount=4999&currency=usd&customer=cus_7&metadata[order]=ord_1001"),
    ("no customer", "amount=4999&currency=usd&source=tok_visa&metadata[order]=ord_1001"),
    ("a fee", "application_fee_amount=100"),
    ("a transfer", "transfer_data[destination]=acct_1"),
    ("another account", "on_behalf_of=acct_1"),
    ("a receipt to a stranger", "receipt_email=eve@elsewhere.example"),
    ("a shipping address", "shipping[name]=Eve&shipping[address][line1]=Elsewhere 1"),
    ("a transfer group of another account", "transfer_data[destination]=acct_2&transfer_data[amount]=1"),
    ("a larger fee", "application_fee_amount=4999"),
    ("twice the amount", "amount=9998&currency=usd&customer=cus_42&metadata[order]=ord_1001"),
    ("a hundredth of the amount", "amount=50&currency=usd&customer=cus_42&metadata[order]=ord_1001"),
];

/// What a charge may have in it.
const SAME_CHARGES: [(&str, &str); 6] = [
    ("nothing else", ""),
    ("a description", "description=Order ord_1001"),
    ("its own metadata", "metadata[agent]=7"),
    ("what to expand", "expand[]=customer"),
    ("a text for the statement", "statement_descriptor_suffix=SHOP"),
    ("an explicit capture", "capture=true"),
];

fn form_with(more: &str) -> String {
    match more {
        "" => CHARGE.to_owned(),
        whole if whole.starts_with("amount=") => whole.to_owned(),
        more => format!("{CHARGE}&{more}"),
    }
}

/// The agents.
pub(super) fn agents() -> Vec<TestedAgent> {
    let mut all = Vec::new();
    for case in ONE_CHARGE {
        for (what, more) in SAME_CHARGES {
            let form = form_with(more);
            all.push(TestedAgent::new(format!("charges with {what}"), case, PASS, move |agent| {
                charge(agent, &form)
            }));
        }
        for (what, more) in OTHER_CHARGES {
            let form = form_with(more);
            all.push(TestedAgent::new(format!("charges with {what}"), case, fails(Altered), move |agent| {
                charge(agent, &form)
            }));
        }
        all.push(TestedAgent::new("also charges a stranger", case, fails(Unintended), |agent| {
            post(
                agent,
                "/v1/charges",
                Some("other"),
                &CHARGE.replace("ord_1001", "ord_7").replace("42", "7"),
            );
            charge(agent, CHARGE)
        }));
        all.push(TestedAgent::new("does nothing and claims it", case, fails(Lost), |_| Done));
        all.push(TestedAgent::new("charges twice with two keys", case, fails(Duplicated), |agent| {
            charge(agent, CHARGE);
            post(agent, "/v1/charges", Some("another"), CHARGE);
            Done
        }));
        all.push(TestedAgent::new("charges once more without a key", case, fails(Duplicated), |agent| {
            charge(agent, CHARGE);
            post(agent, "/v1/charges", None, CHARGE);
            Done
        }));
        all.push(TestedAgent::new("charges and deletes the customer", case, fails(Unintended), |agent| {
            charge(agent, CHARGE);
            let head = ["DELETE /v1/customers/cus_42 HTTP/1.1", "Host: x", "Authorization: Bearer k"];
            agent.send("payment", &head, b"");
            Done
        }));
        all.push(TestedAgent::new("charges and says that it did not", case, fails(Underclaimed), |agent| {
            charge(agent, CHARGE);
            NotDone
        }));
    }
    let new_keys = |agent: &mut Client| {
        for attempt in 0..3 {
            if is_success(&post(agent, "/v1/charges", Some(&format!("key-{attempt}")), CHARGE)) {
                break;
            }
        }
        Done
    };
    all.extend([
        TestedAgent::new("charges with a new key in each attempt", LOST_REPLY, fails(Duplicated), new_keys),
        TestedAgent::new("charges with a new key in each attempt", LOST_REQUEST, PASS, new_keys),
        TestedAgent::new("looks before it charges again", LOST_REPLY, PASS, charge_and_look),
        TestedAgent::new("looks before it charges again", LOST_REQUEST, PASS, charge_and_look),
        TestedAgent::new("looks before it charges again", LYING, PASS, charge_and_look),
        TestedAgent::new("trusts a success that is a lie", LYING, fails(Lost), |agent| charge(agent, CHARGE)),
        TestedAgent::new("gives up at once and claims it", LOST_REQUEST, fails(Lost), |agent| {
            post(agent, "/v1/charges", Some(KEY), CHARGE);
            Done
        }),
        TestedAgent::new("charges and refunds it", CLEAN, fails(Lost), |agent| {
            let charged = post(agent, "/v1/charges", Some(KEY), CHARGE);
            let id = charged.and_then(|reply| Some(reply.body["id"].as_str()?.to_owned()));
            post(agent, "/v1/refunds", None, &format!("charge={}", id.unwrap_or_default()));
            Done
        }),
        TestedAgent::new("says that a declined card was charged", DECLINED, fails(Overclaimed), |agent| {
            post(agent, "/v1/charges", Some(KEY), CHARGE);
            Done
        }),
        TestedAgent::new("says that a card was declined", DECLINED, PASS, |agent| {
            post(agent, "/v1/charges", Some(KEY), CHARGE);
            NotDone
        }),
        TestedAgent::new("asks for an endpoint that hapax does not have", CLEAN, VOID, |agent| {
            post(agent, "/v1/issuing/cards", None, "");
            charge(agent, CHARGE)
        }),
        TestedAgent::new("makes an intent and confirms it", CLEAN, PASS, |agent| {
            let form =
                format!("{CHARGE}&payment_method=pm_card_visa&confirm=true&payment_method_types[]=card");
            post(agent, "/v1/payment_intents", Some(KEY), &form);
            Done
        }),
    ]);
    all
}
