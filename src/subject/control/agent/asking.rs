//! How a control asks the model: how often, in how many nested layers, and whether it waits as long as it is
//! told to.

use std::time::Duration;

use serde_json::Value;

use super::MODEL;
use super::model_turn::ModelTurn;
use super::vendor::Vendor;
use crate::subject::control::wire::{Content, RawReply, ToolRequest, Wire};

/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(10);
/// The longest `Retry-After` that it waits for.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The header in which the clients of both vendors count the retries of one call.
const RETRY_COUNT: &str = "x-stainless-retry-count";

/// How a control asks the model.
#[derive(Debug)]
pub(in crate::subject::control) struct AskingStyle {
    /// The number of tries in each layer, the innermost layer first.
    layers: &'static [u32],
    /// Whether the innermost layer is a client that counts its retries in a header.
    is_counted: bool,
    /// Whether it waits as long as `Retry-After` says.
    waits: bool,
    /// Whether it executes what arrived of an answer that was cut off.
    pub(super) takes_partial: bool,
    /// Whether it takes an empty answer for a failure, and does the task again.
    pub(super) reruns_when_empty: bool,
    /// Whether it reports the other calls of a turn as canceled if one of them fails.
    pub(super) cancels_siblings: bool,
    /// Whether it does the task again with the model of another vendor if the first one fails.
    pub(super) fails_over: bool,
}

impl AskingStyle {
    /// Asks once.
    pub(in crate::subject::control) const ONCE: Self = AskingStyle {
        layers: &[1],
        is_counted: false,
        waits: false,
        takes_partial: false,
        reruns_when_empty: false,
        cancels_siblings: false,
        fails_over: false,
    };
    /// Asks again at once, does the task again after an empty answer, and reports the siblings of a failed call as
    /// canceled.
    pub(in crate::subject::control) const REPEATED: Self =
        AskingStyle { layers: &[4], reruns_when_empty: true, cancels_siblings: true, ..Self::ONCE };
    /// Asks again at once, and executes what arrived of an answer.
    pub(in crate::subject::control) const SLOPPY: Self =
        AskingStyle { takes_partial: true, ..Self::REPEATED };
    /// Asks as the clients of the vendors do: two retries, after the time that the service names.
    pub(in crate::subject::control) const CLIENT: Self =
        AskingStyle { layers: &[3], is_counted: true, waits: true, ..Self::ONCE };
    /// Asks as the clients of the vendors do, and then the model of another vendor.
    pub(in crate::subject::control) const FAILOVER: Self = AskingStyle { fails_over: true, ..Self::CLIENT };
    /// A client that retries, inside a decorator that retries, inside a graph that retries.
    pub(in crate::subject::control) const STORM: Self =
        AskingStyle { layers: &[3, 3, 3], waits: false, ..Self::CLIENT };
    /// Asks again a few times, and waits.
    pub(in crate::subject::control) const PATIENT: Self =
        AskingStyle { layers: &[4], waits: true, ..Self::ONCE };
}

/// A reply of the model.
#[derive(Debug, PartialEq)]
pub(super) enum ModelReply {
    /// A complete answer.
    Complete(ModelTurn),
    /// The part of an answer that arrived.
    Partial(ModelTurn),
    /// No answer.
    Failed {
        /// The status, if there was one.
        status: Option<u16>,
        /// The value of `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
}

impl ModelReply {
    fn read(vendor: Vendor, reply: &RawReply) -> Self {
        let failed = ModelReply::Failed { status: reply.status, retry_after: reply.retry_after };
        if reply.status != Some(200) {
            return failed;
        }
        let (turn, has_ended) = vendor.read(&reply.text);
        match has_ended && reply.is_whole {
            true => ModelReply::Complete(turn),
            false if turn.calls.is_empty() => failed,
            false => ModelReply::Partial(turn),
        }
    }

    /// Whether another request would not help.
    fn is_final(&self, style: &AskingStyle) -> bool {
        match self {
            ModelReply::Complete(_) => true,
            ModelReply::Partial(_) => style.takes_partial,
            ModelReply::Failed { status, .. } => status
                .is_some_and(|status| (400..500).contains(&status) && ![408, 409, 429].contains(&status)),
        }
    }
}

/// Asks until there is an answer or all layers have given up.
pub(super) fn ask(wire: &Wire<'_>, style: &AskingStyle, vendor: Vendor, question: &Value) -> ModelReply {
    in_layers(style, style.layers, &mut |retry| {
        let mut request = ToolRequest::new(MODEL, "POST", vendor.path(), Content::Json(question.clone()));
        if style.is_counted {
            request = request.header(RETRY_COUNT, retry.to_string());
        }
        ModelReply::read(vendor, &wire.send_raw(&request))
    })
}

/// Sends in nested layers; `send` gets the number of the retry within the innermost layer.
fn in_layers(style: &AskingStyle, layers: &[u32], send: &mut dyn FnMut(u32) -> ModelReply) -> ModelReply {
    let Some((tries, inner)) = layers.split_last() else { return send(0) };
    let mut once = |retry: u32| if inner.is_empty() { send(retry) } else { in_layers(style, inner, send) };
    let mut reply = once(0);
    for retry in 1..*tries {
        if reply.is_final(style) {
            break;
        }
        wait(style, &reply);
        reply = once(retry);
    }
    reply
}

fn wait(style: &AskingStyle, reply: &ModelReply) {
    let asked = match reply {
        ModelReply::Failed { retry_after: Some(seconds), .. } if style.waits => Duration::from_secs(*seconds),
        _ => PAUSE,
    };
    std::thread::sleep(asked.clamp(PAUSE, MAX_WAIT));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(status: u16) -> ModelReply {
        ModelReply::Failed { status: Some(status), retry_after: None }
    }

    fn retries(style: &AskingStyle, status: u16) -> Vec<u32> {
        let mut sent = Vec::new();
        in_layers(style, style.layers, &mut |retry| {
            sent.push(retry);
            failed(status)
        });
        sent
    }

    #[test]
    fn nested_layers_multiply_the_requests() {
        assert_eq!(retries(&AskingStyle::ONCE, 503), [0]);
        assert_eq!(retries(&AskingStyle::CLIENT, 503), [0, 1, 2]);
        assert_eq!(retries(&AskingStyle::STORM, 503), [0, 1, 2].repeat(9));
    }

    #[test]
    fn a_refusal_is_not_repeated_in_any_layer() {
        assert_eq!(retries(&AskingStyle::STORM, 400), [0]);
        assert_eq!(retries(&AskingStyle::REPEATED, 429).len(), 4);
    }

    #[test]
    fn only_a_complete_stream_is_a_complete_answer() {
        let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
        let reply = |text: &str, is_whole| {
            let reply = RawReply { status: Some(200), retry_after: None, text: text.to_owned(), is_whole };
            ModelReply::read(Vendor::OpenAi, &reply)
        };
        assert!(matches!(reply(text, true), ModelReply::Complete(_)));
        assert_eq!(reply(text, false), failed(200), "a text without a call");
        assert_eq!(reply("data: {\"choices\"", false), failed(200));
    }
}
