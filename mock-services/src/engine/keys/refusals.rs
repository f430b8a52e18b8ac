//! How a profile refuses a key.

use yaml_reader::{Node, NodeKind};

use crate::idempotency::{KeyError, Profile, RefusalRules};
use crate::service::Answer;

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
}

impl KeyRefusal {
    /// The answer of that profile. `own` returns it in the form of the service's own errors, if it has one.
    pub(in crate::engine) fn answer(
        &self,
        profile: Profile,
        key: &str,
        endpoint: &str,
        own: impl FnOnce(&KeyError) -> Option<Answer>,
    ) -> Answer {
        let rules = profile.rules();
        let (refusal, first) = match self {
            KeyRefusal::Missing => (rules.missing(), ""),
            KeyRefusal::Length => (rules.length(), ""),
            KeyRefusal::InFlight => (rules.in_flight(), ""),
            KeyRefusal::OtherPayload => (rules.other_body(), ""),
            KeyRefusal::OtherEndpoint { first } => (rules.other_endpoint(), first.as_str()),
        };
        let RefusalRules { status, code, kind, message, headers } = refusal;
        let message = filled(message, |name| match name {
            "key" => Some(key),
            "path" => Some(path(endpoint)),
            "first_path" => Some(path(first)),
            _ => None,
        });
        let error = KeyError {
            profile,
            status: *status,
            code: code.as_deref(),
            kind: kind.as_deref().unwrap_or_default(),
            message,
        };
        own(&error).unwrap_or_else(|| {
            let body = filled_body(&rules.body, &error);
            let mut answer = Answer::json(*status, &body);
            if let Some(content_type) = &rules.content_type {
                answer.set_header("Content-Type", content_type.as_str());
            }
            headers
                .iter()
                .fold(answer, |answer, (name, value)| answer.with_header(name.as_str(), value.as_str()))
        })
    }
}

/// The path of an endpoint, which is a method and a path.
fn path(endpoint: &str) -> &str {
    endpoint.split_once(' ').map_or(endpoint, |(_, path)| path)
}

/// The text with the values of its `{names}`. What stands in a value is not looked up again.
fn filled<'a>(template: &'a str, value: impl Fn(&str) -> Option<&'a str>) -> String {
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
fn filled_body(template: &Node, error: &KeyError) -> Option<Node> {
    let text = |text: &str| NodeKind::Text(text.to_owned());
    let kind = match &template.kind {
        NodeKind::Map(entries) => NodeKind::Map(
            entries.iter().filter_map(|(key, node)| Some((key.clone(), filled_body(node, error)?))).collect(),
        ),
        NodeKind::Text(name) => match name.as_str() {
            "{status}" => NodeKind::Integer(error.status.into()),
            "{code}" => text(error.code?),
            "{type}" => text(error.kind),
            "{message}" => text(&error.message),
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
