//! The part of the admin API for the events that `--send-to` sends.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::answers::refusal;
use super::routes::AdminState;
use crate::serve::outbox::ListedEvent;

#[derive(Serialize)]
pub(super) struct Events {
    /// Whether there is a receiver.
    has_receiver: bool,
    /// Whether new events wait until somebody sends them.
    held: bool,
    events: Vec<ListedEvent>,
}

/// A copy to send.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedCopy {
    id: String,
    #[serde(default)]
    signature: Signature,
}

#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Signature {
    #[default]
    Right,
    Wrong,
}

pub(super) async fn list(State(admin): AdminState) -> Json<Events> {
    let (events, held) = admin.outbox.listed();
    Json(Events { has_receiver: admin.outbox.has_receiver(), held, events })
}

/// Sends copies of events, one after another, in the order of the body.
pub(super) async fn send(State(admin): AdminState, body: String) -> Response {
    let wanted: Vec<WantedCopy> = match serde_json::from_str(&body) {
        Ok(wanted) => wanted,
        Err(error) => {
            return refusal(
                StatusCode::UNPROCESSABLE_ENTITY,
                &format!("the copies to send cannot be read: {error}"),
                "send a list: [{\"id\": \"evt_1\", \"signature\": \"wrong\"}]",
            );
        }
    };
    let wanted: Vec<(String, bool)> =
        wanted.into_iter().map(|copy| (copy.id, copy.signature == Signature::Wrong)).collect();
    match admin.outbox.send_by_hand(&wanted) {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(id) => refusal(
            StatusCode::NOT_FOUND,
            &format!("there is no event `{}`", yaml_reader::shown(&id)),
            "GET /v1/events lists the events; they need `hapax serve --send-to URL`",
        ),
    }
}

/// New events wait until somebody sends them.
pub(super) async fn hold(State(admin): AdminState) -> StatusCode {
    admin.outbox.hold(true);
    StatusCode::NO_CONTENT
}

/// New events are sent at once; those that wait still do.
pub(super) async fn release(State(admin): AdminState) -> StatusCode {
    admin.outbox.hold(false);
    StatusCode::NO_CONTENT
}
