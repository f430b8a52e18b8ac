//! Mail over the Resend API, the SendGrid API or SMTP, depending on `via` of the step. The delivery status is
//! read for each recipient.

use serde_json::{Value, json};

use super::{Observation, Tool, ToolError, members, only, read, required, rows, text, word};
use crate::scenario::Step;
use crate::subject::control::intent::OCCURRENCE;
use crate::subject::control::smtp::Mail;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

pub(super) const TOOL: Tool = Tool {
    service: "email",
    facts: |_, _, _| Ok(Value::Null),
    write: |step, _, _| write(step),
    observe: |wire, step, _| observe(wire, step),
};

const SENDER: &str = "shop@shop.example";
const READ: &str = "/v3/messages?limit=1000";

fn write(step: &Step) -> Result<ToolRequest, ToolError> {
    match step.operation.as_str() {
        "email.send" => {}
        "email.list" => return Ok(ToolRequest::new("email", "GET", READ, Content::Nothing)),
        _ => return Err(super::unknown(step)),
    }
    let to = members(step, "to");
    if to.is_empty() {
        return Err(ToolError::Impossible("email.send needs the field `to`".to_owned()));
    }
    let subject = required(step, "subject")?;
    let from = text(step, "from").unwrap_or_else(|| SENDER.to_owned());
    let words = text(step, "text").unwrap_or_else(|| subject.clone());
    let order = text(step, "order");
    match text(step, "via").as_deref() {
        Some("smtp") => {
            let message = message(&from, &to, &subject, &words, order.as_deref());
            Ok(ToolRequest::new("email", "DATA", "", Content::Mail(Mail { from, to, message })))
        }
        Some("sendgrid") => {
            let each: Vec<Value> = to.iter().map(|to| json!({"to": [{"email": to}]})).collect();
            let mut body = json!({"from": {"email": from}, "subject": subject, "personalizations": each,
                "content": [{"type": "text/plain", "value": words}]});
            if let Some(order) = order {
                body["custom_args"] = json!({ "order": order });
            }
            Ok(ToolRequest::new("email", "POST", "/v3/mail/send", Content::Json(body)))
        }
        None | Some("resend") => {
            let mut body = json!({"from": from, "to": to, "subject": subject, "text": words});
            if let Some(order) = order {
                body["tags"] = json!([{"name": "order", "value": order}]);
            }
            Ok(ToolRequest::new("email", "POST", "/emails", Content::Json(body)))
        }
        Some(other) => {
            Err(ToolError::Impossible(format!("unknown `via: {other}`; expected resend, sendgrid or smtp")))
        }
    }
}

fn message(from: &str, to: &[String], subject: &str, words: &str, order: Option<&str>) -> String {
    let plain = |text: &str| text.replace(['\r', '\n'], " ");
    let arguments = order.map(|order| format!("X-SMTPAPI: {}\r\n", json!({"unique_args": {"order": order}})));
    let words = words.replace("\r\n", "\n").replace('\n', "\r\n");
    format!(
        "From: {}\r\nTo: {}\r\nSubject: {}\r\n{}Content-Type: text/plain; charset=utf-8\r\n\r\n{words}",
        plain(from),
        plain(&to.join(", ")),
        plain(subject),
        arguments.unwrap_or_default(),
    )
}

/// The delivery status of a mail for one recipient, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeliveryStatus {
    Delivered,
    Accepted,
    Bounced,
    NotFound,
}

fn observe(wire: &Wire<'_>, step: &Step) -> Result<Observation, ToolError> {
    if step.operation == "email.list" {
        return Ok(Observation::Done);
    }
    let mut path = READ.to_owned();
    if let Some(order) = text(step, "order") {
        let order = order.replace('\\', "\\\\").replace('"', "\\\"");
        path = format!("{path}&query={}", escaped(&format!("unique_args[\"order\"]=\"{order}\"")));
    }
    let records = rows(read(wire, "email", &path)?, "messages");
    Ok(observation(step, &records))
}

fn observation(step: &Step, records: &[Value]) -> Observation {
    let subject = text(step, "subject").unwrap_or_default();
    let occurrence = text(step, OCCURRENCE).and_then(|number| number.parse::<usize>().ok());
    let earlier = occurrence.map_or(0, |number| number.saturating_sub(1));
    let status = |to: &String| {
        let its = |record: &&Value| {
            word(record, "subject") == subject && word(record, "to_email").eq_ignore_ascii_case(to)
        };
        let statuses = records.iter().filter(its).map(|record| match word(record, "status") {
            "delivered" => DeliveryStatus::Delivered,
            "not_delivered" => DeliveryStatus::Bounced,
            _ => DeliveryStatus::Accepted,
        });
        // Where it is due again, the earlier ones do not count.
        let mut statuses: Vec<DeliveryStatus> = statuses.collect();
        statuses.sort();
        statuses.get(earlier).copied().unwrap_or(DeliveryStatus::NotFound)
    };
    let statuses: Vec<(String, DeliveryStatus)> = members(step, "to")
        .into_iter()
        .map(|to| (status(&to), to))
        .map(|(status, to)| (to, status))
        .collect();
    let all = |wanted: DeliveryStatus| statuses.iter().all(|(_, status)| *status == wanted);
    if all(DeliveryStatus::Delivered) {
        return Observation::Done;
    }
    if all(DeliveryStatus::NotFound) {
        return Observation::Absent;
    }
    if all(DeliveryStatus::Accepted) {
        return Observation::Accepted;
    }
    let rest: Vec<String> = statuses
        .iter()
        .filter(|(_, status)| matches!(status, DeliveryStatus::Accepted | DeliveryStatus::NotFound))
        .map(|(to, _)| to.clone())
        .collect();
    if rest.is_empty() { Observation::Failed } else { Observation::Partly(only(step, "to", rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_services::service::Fields;

    fn step(to: &[&str]) -> Step {
        let to: Vec<String> = to.iter().map(|to| (*to).to_owned()).collect();
        Step { operation: "email.send".to_owned(), with: Fields::new().with("to", to).with("subject", "Hi") }
    }

    fn record(to: &str, status: &str) -> Value {
        json!({"to_email": to, "subject": "Hi", "status": status})
    }

    #[test]
    fn a_mail_is_done_when_every_recipient_has_it() {
        let (both, ann) = (step(&["ann@x.example", "Bob@x.example"]), record("ann@x.example", "delivered"));
        assert_eq!(observation(&both, &[]), Observation::Absent);
        assert_eq!(
            observation(&both, &[ann.clone(), record("bob@x.example", "delivered")]),
            Observation::Done
        );
        assert_eq!(
            observation(&both, std::slice::from_ref(&ann)),
            Observation::Partly(only(&both, "to", vec!["Bob@x.example".to_owned()]))
        );
        assert_eq!(
            observation(&both, &[ann.clone(), record("bob@x.example", "not_delivered")]),
            Observation::Failed
        );
        let mut again = step(&["ann@x.example"]);
        again.with.set(OCCURRENCE, 2);
        assert_eq!(observation(&again, std::slice::from_ref(&ann)), Observation::Absent, "it is due again");
        assert_eq!(observation(&again, &[ann.clone(), ann.clone()]), Observation::Done);
        let processed = ["ann@x.example", "bob@x.example"].map(|to| record(to, "processed"));
        assert_eq!(observation(&both, &processed), Observation::Accepted);
        let other = json!({"to_email": "bob@x.example", "subject": "Other", "status": "delivered"});
        assert!(matches!(observation(&both, &[ann, other]), Observation::Partly(_)));
    }

    #[test]
    fn a_subject_cannot_inject_a_header() {
        let text = message(
            "a@x.example",
            &["b@x.example".to_owned()],
            "Hi\r\nBcc: c@x.example",
            ".\n.",
            Some("o\"1"),
        );
        assert!(text.contains("Subject: Hi  Bcc: c@x.example\r\n"), "{text}");
        assert!(text.contains("X-SMTPAPI: {\"unique_args\":{\"order\":\"o\\\"1\"}}\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n.\r\n."), "{text}");
    }

    #[test]
    fn each_api_has_its_own_request() {
        let mut mail = step(&["ann@x.example"]);
        assert_eq!(write(&mail).unwrap().path, "/emails");
        mail.with.set("via", "sendgrid");
        assert_eq!(write(&mail).unwrap().path, "/v3/mail/send");
        mail.with.set("via", "smtp");
        assert!(matches!(write(&mail).unwrap().content, Content::Mail(_)));
        mail.with.set("via", "pigeon");
        assert!(matches!(write(&mail), Err(ToolError::Impossible(_))));
    }
}
