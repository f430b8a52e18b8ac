//! Subjects that receive events: how one gets an event, and how it answers. A command is started for each event, with
//! the event in a file; an agent over HTTP runs, and gets a request for each.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

/// How a subject receives events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Receives {
    /// The path of an agent over HTTP for events; that of its URL by default.
    pub path: Option<String>,
}

/// An event as a subject gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedEvent {
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl ReceivedEvent {
    /// The method of the request.
    pub const METHOD: &'static str = "POST";

    /// The text of the file `HAPAX_EVENT_FILE`.
    #[must_use]
    pub fn file_text(&self) -> String {
        let headers: serde_json::Map<String, serde_json::Value> =
            self.headers.iter().map(|(name, value)| (name.to_lowercase(), json!(value))).collect();
        json!({ "method": Self::METHOD, "headers": headers, "body": self.body }).to_string()
    }
}

/// What an agent over HTTP is sent while it runs.
pub struct HttpDelivery {
    /// The event; `None` for the task.
    pub event: Option<ReceivedEvent>,
    /// Called when the agent has accepted the connection, before anything is sent.
    pub reached: Box<dyn FnOnce() + Send>,
    /// Gets the status of the answer; it is dropped if there is none.
    pub answer: oneshot::Sender<u16>,
}

impl fmt::Debug for HttpDelivery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HttpDelivery").field("event", &self.event).finish_non_exhaustive()
    }
}

/// The deliveries to an agent over HTTP that runs until no more come.
#[derive(Debug, Clone)]
pub struct DeliveryQueue {
    deliveries: Arc<Mutex<Option<mpsc::UnboundedReceiver<HttpDelivery>>>>,
    /// The time in which the agent must begin to listen.
    pub(super) listens_within: Duration,
}

impl DeliveryQueue {
    /// An empty queue, and where deliveries are put into it.
    #[must_use]
    pub fn new(listens_within: Duration) -> (mpsc::UnboundedSender<HttpDelivery>, Self) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (sender, DeliveryQueue { deliveries: Arc::new(Mutex::new(Some(receiver))), listens_within })
    }

    /// The deliveries; only the first call gets them.
    pub(super) fn take(&self) -> Option<mpsc::UnboundedReceiver<HttpDelivery>> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_method_the_headers_in_lower_case_and_the_body_as_it_was_signed() {
        let event = ReceivedEvent {
            headers: vec![("Stripe-Signature".to_owned(), "t=1,v1=ab".to_owned())],
            body: "{\n  \"id\": \"evt_1\"\n}".to_owned(),
        };
        let expected = r#"{"body":"{\n  \"id\": \"evt_1\"\n}","headers":{"stripe-signature":"t=1,v1=ab"},"method":"POST"}"#;
        assert_eq!(event.file_text(), expected);
    }
}
