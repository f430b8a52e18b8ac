//! How a profile refuses a key.

use serde_json::Value;
use yaml_reader::{Node, NodeKind};

use crate::idempotency::{Idempotency, KeyError, RefusalRules};
use crate::service::{Answer, Context};

/// Why a key is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum KeyRefusal {
    /// The profile wants a key and there is none.
    Missing,
    /// The key is empty or too long.
    Length,
    /// The first request with this key is still running.
    InFlight,
    /// The key was used with other parameters.
    OtherPayload,
    /// The key was used for another endpoint.
    OtherEndpoint {
        /// The one it was first used for.
        first: String,
    },
    /// The request was made before, and is not replayed.
    Used {
        /// The endpoint of the first.
        first: String,
    },
    /// The lifetime of the key is over.
    Ended,
    /// The service fails because another request with this key is still running.
    Failed,
}

impl KeyRefusal {
    /// The answer of that profile; `None` if the service fails as it always does. `id` is that of what the first
    /// request made. `own` returns the answer in the form of the service's own errors, if it has one.
    pub(in crate::engine) fn answer(
        &self,
        rules: &Idempotency,
        (key, endpoint, id): (&str, &str, &str),
        own: impl FnOnce(&KeyError<'_>) -> Option<Answer>,
    ) -> Option<Answer> {
        let profile = rules.name();
        let rules = rules.rules();
        let (refusal, first) = match self {
            KeyRefusal::Missing => (rules.missing(), ""),
            KeyRefusal::Length => (&rules.refusals.length, ""),
            KeyRefusal::InFlight => (&rules.refusals.in_flight, ""),
            KeyRefusal::OtherPayload => (&rules.refusals.other_body, endpoint),
            KeyRefusal::OtherEndpoint { first } => (rules.other_endpoint(), first.as_str()),
            KeyRefusal::Used { first } => (&rules.refusals.used, first.as_str()),
            KeyRefusal::Ended => (&rules.refusals.ended, ""),
            KeyRefusal::Failed => return None,
        };
        let RefusalRules { status, code, kind, message, headers, body } = refusal;
        let value = |name: &str| match name {
            "key" => Some(key),
            "path" => Some(path(endpoint)),
            "first_path" => Some(path(first)),
            "id" => Some(id),
            _ => None,
        };
        let error = KeyError {
            profile,
            status: *status,
            code: code.as_deref(),
            kind: kind.as_deref().unwrap_or_default(),
            message: filled(message, value),
            id,
        };
        let own = if body.is_some() { None } else { own(&error) };
        Some(own.unwrap_or_else(|| {
            let body = filled_body(body.as_ref().unwrap_or(&rules.body), &error, key);
            let mut answer = Answer::json(*status, &body);
            if let Some(content_type) = &rules.content_type {
                answer.set_header("Content-Type", content_type.as_str());
            }
            headers
                .iter()
                .fold(answer, |answer, (name, text)| answer.with_header(name.clone(), filled(text, value)))
        }))
    }
}

/// Marks an answer as replayed, if the rules do so.
pub(in crate::engine) fn mark_replayed(
    answer: &mut Answer,
    rules: &Idempotency,
    key: &str,
    context: &Context,
) {
    let time = context.now.as_millisecond().to_string();
    for (name, text) in &rules.rules().marker {
        let text = filled(text, |name| match name {
            "key" => Some(key),
            "time" => Some(time.as_str()),
            _ => None,
        });
        answer.headers.push((name.clone().into(), text.into()));
    }
}

/// The id of what an answer shows.
pub(in crate::engine) fn made_id(answer: &Answer) -> Option<String> {
    let mut body = Vec::new();
    answer.write_body(&mut body);
    let body: Value = serde_json::from_slice(&body).ok()?;
    let id = body.get("id").or_else(|| body.get("data")?.get("id"))?;
    id.as_str().map(str::to_owned).or_else(|| id.as_i64().map(|id| id.to_string()))
}

/// The path of an endpoint, which is a method and a path.
fn path(endpoint: &str) -> &str {
    endpoint.split_once(' ').map_or(endpoint, |(_, path)| path)
}

/// The text with the values of its `{names}`. What stands in a value is not looked up again.
fn filled<'a>(template: &str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let (mut text, mut rest) = (String::with_capacity(template.len()), template);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        match after.split_once('}').and_then(|(name, after)| Some((value(name)?, after))) {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

/// The body of a refusal, with the values of this one. A member without a value is left out.
fn filled_body(template: &Node, error: &KeyError<'_>, key: &str) -> Option<Node> {
    let text = |text: &str| NodeKind::Text(text.to_owned());
    let kind = match &template.kind {
        NodeKind::Map(entries) => NodeKind::Map(
            entries
                .iter()
                .filter_map(|(name, node)| Some((name.clone(), filled_body(node, error, key)?)))
                .collect(),
        ),
        NodeKind::List(items) => {
            NodeKind::List(items.iter().filter_map(|item| filled_body(item, error, key)).collect())
        }
        NodeKind::Text(name) => match name.as_str() {
            "{status}" => NodeKind::Integer(error.status.into()),
            "{code}" => text(error.code?),
            "{type}" => text(error.kind),
            "{message}" => text(&error.message),
            "{key}" => text(key),
            "{id}" if error.id.is_empty() => return None,
            "{id}" => text(error.id),
            other => text(other),
        },
        other => other.clone(),
    };
    Some(Node::new(kind, template.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_a_message_have_their_values_and_values_are_not_read_again() {
        let value = |name: &str| match name {
            "key" => Some("{path}"),
            "path" => Some("/x"),
            _ => None,
        };
        assert_eq!(filled("a {key} b {path} {other} {", value), "a {path} b /x {other} {");
    }
}
