//! The writes that faults are put on, each with what has to be there before it.

use serde_json::json;

use super::ask::Ask;
use super::world::World;

/// A way to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Charge,
    Intent,
    Confirm,
    Refund,
    Capture,
    Subscribe,
    Upgrade,
    Unsubscribe,
    Resend,
    Batch,
    SendGrid,
    Smtp,
    Github,
    Plain,
    Put,
    Delete,
    Increment,
    PendingReply,
    Notify,
}

/// What an operation is.
pub(crate) struct Facts {
    pub(crate) service: &'static str,
    pub(crate) name: &'static str,
    /// The status of its answer.
    pub(crate) status: u16,
    /// How many effects it leaves.
    pub(crate) effects: usize,
    /// How many more it leaves when it comes a second time, without a key.
    pub(crate) again: usize,
    /// Reads that show what was done.
    pub(crate) read: &'static str,
}

const FOUR: [&str; 4] = ["ann@x.example", "bob@x.example", "cy@x.example", "dee@x.example"];

impl Op {
    pub(crate) const ALL: [Op; 19] = [
        Op::Charge,
        Op::Intent,
        Op::Confirm,
        Op::Refund,
        Op::Capture,
        Op::Subscribe,
        Op::Upgrade,
        Op::Unsubscribe,
        Op::Resend,
        Op::Batch,
        Op::SendGrid,
        Op::Smtp,
        Op::Github,
        Op::Plain,
        Op::Put,
        Op::Delete,
        Op::Increment,
        Op::PendingReply,
        Op::Notify,
    ];

    pub(crate) const fn facts(self) -> Facts {
        match self {
            Op::Charge | Op::Intent => payment("payment.charge", 1),
            // Its intent has succeeded, so the service refuses the second.
            Op::Confirm => payment("payment.charge", 0),
            Op::Refund => payment("payment.refund", 1),
            Op::Capture => payment("payment.capture", 0),
            Op::Subscribe => payment("payment.subscribe", 1),
            Op::Upgrade => payment("payment.upgrade", 0),
            Op::Unsubscribe => payment("payment.unsubscribe", 0),
            Op::Resend | Op::Batch => email(200),
            Op::SendGrid => email(202),
            Op::Smtp => email(250),
            Op::Github => deploy("/repos/acme/shop/deployments", 1),
            // The version is live already when it comes again.
            Op::Plain => deploy("/deployments", 0),
            Op::Put => records("records.put", 201, 1),
            Op::Delete => records("records.delete", 204, 0),
            Op::Increment => records("records.increment", 200, 1),
            Op::PendingReply => Facts {
                service: "tickets",
                name: "tickets.open",
                status: 201,
                effects: 1,
                again: 1,
                read: "/tickets",
            },
            Op::Notify => Facts {
                service: "tickets",
                name: "tickets.notify",
                status: 202,
                effects: 4,
                again: 4,
                read: "/notices",
            },
        }
    }

    pub(crate) const fn is_list(self) -> bool {
        self.facts().effects > 1
    }

    /// Does what has to be done before, and gives the request itself.
    pub(crate) async fn ask(self, world: &World, caller: u32) -> Ask {
        let service = self.facts().service;
        let made = async |ask: Ask| {
            let seen = world.send_as(caller, service, &ask).await;
            assert!(seen.status().is_some_and(|status| status < 300), "{}", seen.text());
            seen
        };
        match self {
            Op::Charge => charge("ord_1"),
            Op::Intent => {
                let body = "amount=4999&currency=usd&customer=cus_42&confirm=true&payment_method=pm_card_visa&metadata[order]=ord_1";
                Ask::form("/v1/payment_intents", body)
            }
            Op::Confirm => {
                let body = "amount=4999&currency=usd&customer=cus_42&payment_method=pm_card_visa";
                let intent = made(Ask::form("/v1/payment_intents", body)).await.at("/id");
                Ask::form(format!("/v1/payment_intents/{intent}/confirm"), "")
            }
            Op::Refund => {
                let charge = made(charge("ord_1")).await.at("/id");
                Ask::form("/v1/refunds", &format!("charge={charge}&amount=1000"))
            }
            Op::Capture => {
                let held =
                    made(Ask::form("/v1/charges", "amount=4999&currency=usd&customer=cus_42&capture=false"))
                        .await;
                Ask::form(format!("/v1/charges/{}/capture", held.at("/id")), "")
            }
            Op::Subscribe => subscribe(),
            Op::Upgrade => {
                let begun = made(subscribe()).await;
                let (id, item) = (begun.at("/id"), begun.at("/items/data/0/id"));
                Ask::form(
                    format!("/v1/subscriptions/{id}"),
                    &format!("items[0][id]={item}&items[0][price]=price_pro"),
                )
            }
            Op::Unsubscribe => {
                Ask::delete(format!("/v1/subscriptions/{}", made(subscribe()).await.at("/id")))
            }
            Op::Resend => {
                let mail =
                    json!({"from": "shop@shop.example", "to": FOUR, "subject": "Hello", "text": "Hello"});
                Ask::json("POST", "/emails", &mail)
            }
            Op::Batch => {
                let mail = |to: &str| json!({"from": "shop@shop.example", "to": [to], "subject": "Hello", "text": "Hello"});
                Ask::json("POST", "/emails/batch", &FOUR.map(mail).to_vec().into())
            }
            Op::SendGrid => {
                let personal = FOUR.map(|to| json!({"to": [{"email": to}]}));
                let mail = json!({"from": {"email": "shop@shop.example"}, "subject": "Hello", "personalizations": personal,
                    "content": [{"type": "text/plain", "value": "Hello"}]});
                Ask::json("POST", "/v3/mail/send", &mail)
            }
            Op::Smtp => Ask::mail(&FOUR, "From: shop@shop.example\r\nSubject: Hello\r\n\r\nHello"),
            Op::Github => {
                let body = json!({"ref": "v2", "environment": "production", "required_contexts": []});
                Ask::json("POST", "/repos/acme/shop/deployments", &body)
            }
            Op::Plain => {
                Ask::json("POST", "/deployments", &json!({"environment": "production", "version": "v2"}))
            }
            Op::Put => put("stock", 1),
            Op::Delete => {
                made(put("stock", 1)).await;
                Ask::delete("/records/stock")
            }
            Op::Increment => Ask::json("POST", "/counters/visits/increment", &json!({"by": 2})),
            Op::PendingReply => Ask::json(
                "POST",
                "/tickets",
                &json!({"customer": "cus_42", "subject": "Late", "order": "ord_1"}),
            ),
            Op::Notify => Ask::json("POST", "/notices", &json!({"recipients": FOUR, "subject": "Late"})),
        }
    }
}

const fn payment(name: &'static str, again: usize) -> Facts {
    Facts { service: "payment", name, status: 200, effects: 1, again, read: "/v1/charges" }
}

const fn email(status: u16) -> Facts {
    Facts { service: "email", name: "email.send", status, effects: 4, again: 4, read: "/emails" }
}

const fn deploy(read: &'static str, again: usize) -> Facts {
    Facts { service: "deploy", name: "deploy.deploy", status: 201, effects: 1, again, read }
}

const fn records(name: &'static str, status: u16, again: usize) -> Facts {
    Facts { service: "records", name, status, effects: 1, again, read: "/records" }
}

/// A charge for an order.
pub(crate) fn charge(order: &str) -> Ask {
    Ask::form("/v1/charges", &format!("amount=4999&currency=usd&customer=cus_42&metadata[order]={order}"))
}

/// A record.
pub(crate) fn put(key: &str, value: i64) -> Ask {
    Ask::json("PUT", format!("/records/{key}"), &json!({"value": value}))
}

/// A mail to these.
pub(crate) fn mail(to: &[&str]) -> Ask {
    Ask::json(
        "POST",
        "/emails",
        &json!({"from": "shop@shop.example", "to": to, "subject": "Hello", "text": "Hello"}),
    )
}

/// A deployment over the plain API.
pub(crate) fn deploy_plain(version: &str) -> Ask {
    Ask::json("POST", "/deployments", &json!({"environment": "production", "version": version}))
}

fn subscribe() -> Ask {
    Ask::form("/v1/subscriptions", "customer=cus_42&items[0][price]=price_basic")
}
