//! The writes that faults are applied to, each with its preparation.

use serde_json::json;

use super::request::TestRequest;
use super::services::TestServices;

/// A write operation over one of the APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteCase {
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
    WebPost,
    WebPut,
    WebDelete,
    Generate,
    GenerateStream,
    OpenTicket,
    Notify,
    Ask,
    Withdraw,
}

/// The properties of a write.
pub(crate) struct WriteProperties {
    pub(crate) service: &'static str,
    pub(crate) name: &'static str,
    /// The status of its response.
    pub(crate) status: u16,
    /// The number of its effects.
    pub(crate) effects: usize,
    /// The number of further effects when it is repeated without a key.
    pub(crate) again: usize,
    /// A read that shows its effects.
    pub(crate) read: &'static str,
}

const RECIPIENTS: [&str; 4] = ["ann@x.example", "bob@x.example", "cy@x.example", "dee@x.example"];

impl WriteCase {
    pub(crate) const ALL: [WriteCase; 26] = [
        WriteCase::Charge,
        WriteCase::Intent,
        WriteCase::Confirm,
        WriteCase::Refund,
        WriteCase::Capture,
        WriteCase::Subscribe,
        WriteCase::Upgrade,
        WriteCase::Unsubscribe,
        WriteCase::Resend,
        WriteCase::Batch,
        WriteCase::SendGrid,
        WriteCase::Smtp,
        WriteCase::Github,
        WriteCase::Plain,
        WriteCase::Put,
        WriteCase::Delete,
        WriteCase::Increment,
        WriteCase::WebPost,
        WriteCase::WebPut,
        WriteCase::WebDelete,
        WriteCase::Generate,
        WriteCase::GenerateStream,
        WriteCase::OpenTicket,
        WriteCase::Notify,
        WriteCase::Ask,
        WriteCase::Withdraw,
    ];

    pub(crate) const fn facts(self) -> WriteProperties {
        match self {
            WriteCase::Charge | WriteCase::Intent => payment("payment.charge", 1),
            // Its intent has succeeded, so the service refuses the second confirmation.
            WriteCase::Confirm => payment("payment.charge", 0),
            WriteCase::Refund => payment("payment.refund", 1),
            WriteCase::Capture => payment("payment.capture", 0),
            WriteCase::Subscribe => payment("payment.subscribe", 1),
            WriteCase::Upgrade => payment("payment.upgrade", 0),
            WriteCase::Unsubscribe => payment("payment.unsubscribe", 0),
            WriteCase::Resend | WriteCase::Batch => email(200),
            WriteCase::SendGrid => email(202),
            WriteCase::Smtp => email(250),
            WriteCase::Github => deploy("/repos/acme/shop/deployments", 1),
            // The version is already live when it is repeated.
            WriteCase::Plain => deploy("/deployments", 0),
            WriteCase::Put => records("records.put", 201, 1),
            WriteCase::Delete => records("records.delete", 204, 0),
            WriteCase::Increment => records("records.increment", 200, 1),
            WriteCase::WebPost => web("web.post", 201),
            WriteCase::WebPut => web("web.put", 200),
            WriteCase::WebDelete => web("web.delete", 200),
            WriteCase::Generate | WriteCase::GenerateStream => WriteProperties {
                service: "model",
                name: "model.generate",
                status: 200,
                effects: 1,
                again: 1,
                read: "/v1/models",
            },
            WriteCase::OpenTicket => WriteProperties {
                service: "tickets",
                name: "tickets.open",
                status: 201,
                effects: 1,
                again: 1,
                read: "/tickets",
            },
            WriteCase::Notify => WriteProperties {
                service: "tickets",
                name: "tickets.notify",
                status: 202,
                effects: 4,
                again: 4,
                read: "/notices",
            },
            WriteCase::Ask => approval("approval.request", 201, 1),
            WriteCase::Withdraw => approval("approval.cancel", 200, 0),
        }
    }

    pub(crate) const fn is_list(self) -> bool {
        self.facts().effects > 1
    }

    /// Prepares the write, and returns its request.
    pub(crate) async fn request(self, services: &TestServices, caller: u32) -> TestRequest {
        let service = self.facts().service;
        let made = async |ask: TestRequest| {
            let seen = services.send_as(caller, service, &ask).await;
            assert!(seen.status().is_some_and(|status| status < 300), "{}", seen.text());
            seen
        };
        match self {
            WriteCase::Charge => charge("ord_1"),
            WriteCase::Intent => {
                let body = "amount=4999&currency=usd&customer=cus_42&confirm=true\
                            &payment_method=pm_card_visa&metadata[order]=ord_1";
                TestRequest::form("/v1/payment_intents", body)
            }
            WriteCase::Confirm => {
                let body = "amount=4999&currency=usd&customer=cus_42&payment_method=pm_card_visa";
                let intent = made(TestRequest::form("/v1/payment_intents", body)).await.at("/id");
                TestRequest::form(format!("/v1/payment_intents/{intent}/confirm"), "")
            }
            WriteCase::Refund => {
                let charge = made(charge("ord_1")).await.at("/id");
                TestRequest::form("/v1/refunds", &format!("charge={charge}&amount=1000"))
            }
            WriteCase::Capture => {
                let held = made(TestRequest::form(
                    "/v1/charges",
                    "amount=4999&currency=usd&customer=cus_42&capture=false",
                ))
                .await;
                TestRequest::form(format!("/v1/charges/{}/capture", held.at("/id")), "")
            }
            WriteCase::Subscribe => subscribe(),
            WriteCase::Upgrade => {
                let begun = made(subscribe()).await;
                let (id, item) = (begun.at("/id"), begun.at("/items/data/0/id"));
                TestRequest::form(
                    format!("/v1/subscriptions/{id}"),
                    &format!("items[0][id]={item}&items[0][price]=price_pro"),
                )
            }
            WriteCase::Unsubscribe => {
                TestRequest::delete(format!("/v1/subscriptions/{}", made(subscribe()).await.at("/id")))
            }
            WriteCase::Resend => {
                let mail = json!({"from": "shop@shop.example", "to": RECIPIENTS, "subject": "Hello",
                    "text": "Hello"});
                TestRequest::json("POST", "/emails", &mail)
            }
            WriteCase::Batch => {
                let mail = |to: &str| json!({"from": "shop@shop.example", "to": [to], "subject": "Hello", "text": "Hello"});
                TestRequest::json("POST", "/emails/batch", &RECIPIENTS.map(mail).to_vec().into())
            }
            WriteCase::SendGrid => {
                let personal = RECIPIENTS.map(|to| json!({"to": [{"email": to}]}));
                let mail = json!({"from": {"email": "shop@shop.example"}, "subject": "Hello",
                    "personalizations": personal,
                    "content": [{"type": "text/plain", "value": "Hello"}]});
                TestRequest::json("POST", "/v3/mail/send", &mail)
            }
            WriteCase::Smtp => {
                TestRequest::mail(&RECIPIENTS, "From: shop@shop.example\r\nSubject: Hello\r\n\r\nHello")
            }
            WriteCase::Github => {
                let body = json!({"ref": "v2", "environment": "production", "required_contexts": []});
                TestRequest::json("POST", "/repos/acme/shop/deployments", &body)
            }
            WriteCase::Plain => TestRequest::json(
                "POST",
                "/deployments",
                &json!({"environment": "production", "version": "v2"}),
            ),
            WriteCase::Put => put("stock", 1),
            WriteCase::Delete => {
                made(put("stock", 1)).await;
                TestRequest::delete("/records/stock")
            }
            WriteCase::Increment => {
                TestRequest::json("POST", "/counters/visits/increment", &json!({"by": 2}))
            }
            WriteCase::WebPost => {
                TestRequest::json("POST", "/v1/orders", &json!({"order": "ord_1", "amount": 4999}))
            }
            WriteCase::WebPut => TestRequest::json("PUT", "/v1/orders/7", &json!({"amount": 4999})),
            WriteCase::WebDelete => TestRequest::delete("/v1/orders/7"),
            WriteCase::Generate => {
                let body = json!({"model": "gpt-5.2", "messages": [{"role": "user", "content": "Hello"}]});
                TestRequest::json("POST", "/v1/chat/completions", &body)
            }
            WriteCase::GenerateStream => {
                let body = json!({"model": "claude-opus-4-6", "max_tokens": 100, "stream": true,
                    "messages": [{"role": "user", "content": "Hello"}]});
                TestRequest::json("POST", "/v1/messages", &body)
            }
            WriteCase::OpenTicket => TestRequest::json(
                "POST",
                "/tickets",
                &json!({"customer": "cus_42", "subject": "Late", "order": "ord_1"}),
            ),
            WriteCase::Notify => {
                TestRequest::json("POST", "/notices", &json!({"recipients": RECIPIENTS, "subject": "Late"}))
            }
            WriteCase::Ask => ask(),
            WriteCase::Withdraw => {
                let id = made(ask()).await.at("/id");
                TestRequest::json("POST", format!("/approvals/{id}/cancel"), &json!({}))
            }
        }
    }
}

const fn payment(name: &'static str, again: usize) -> WriteProperties {
    WriteProperties { service: "payment", name, status: 200, effects: 1, again, read: "/v1/charges" }
}

const fn email(status: u16) -> WriteProperties {
    WriteProperties { service: "email", name: "email.send", status, effects: 4, again: 4, read: "/emails" }
}

const fn deploy(read: &'static str, again: usize) -> WriteProperties {
    WriteProperties { service: "deploy", name: "deploy.deploy", status: 201, effects: 1, again, read }
}

const fn records(name: &'static str, status: u16, again: usize) -> WriteProperties {
    WriteProperties { service: "records", name, status, effects: 1, again, read: "/records" }
}

const fn web(name: &'static str, status: u16) -> WriteProperties {
    WriteProperties { service: "web", name, status, effects: 1, again: 1, read: "/v1/orders" }
}

const fn approval(name: &'static str, status: u16, again: usize) -> WriteProperties {
    WriteProperties { service: "approval", name, status, effects: 1, again, read: "/approvals" }
}

/// A question to a person.
fn ask() -> TestRequest {
    let fields = json!({"order": "ord_1", "amount": 1000});
    TestRequest::json("POST", "/approvals", &json!({"operation": "payment.refund", "fields": fields}))
}

/// A charge for an order.
pub(crate) fn charge(order: &str) -> TestRequest {
    TestRequest::form(
        "/v1/charges",
        &format!("amount=4999&currency=usd&customer=cus_42&metadata[order]={order}"),
    )
}

/// A record.
pub(crate) fn put(key: &str, value: i64) -> TestRequest {
    TestRequest::json("PUT", format!("/records/{key}"), &json!({"value": value}))
}

/// A mail to these.
pub(crate) fn mail(to: &[&str]) -> TestRequest {
    TestRequest::json(
        "POST",
        "/emails",
        &json!({"from": "shop@shop.example", "to": to, "subject": "Hello", "text": "Hello"}),
    )
}

fn subscribe() -> TestRequest {
    TestRequest::form("/v1/subscriptions", "customer=cus_42&items[0][price]=price_basic")
}
