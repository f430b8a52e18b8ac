//! The service in the catalog, and its options in a scenario.

use std::sync::Arc;

use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Shape, optional};
use yaml_reader::{Map, Reader};

use super::answers::{ANSWER, read_answers};
use super::unique::{UNIQUE, read_unique};
use super::{Web, WebOptions};
use crate::description::{
    ConfiguredService, EffectDescription, EndpointDescription, FieldDescription, FieldKind, FieldKinds,
    FieldRole, PhrasePart, ServiceDescription, ValueForm, read_texts,
};
use crate::services::{Builder, ServiceOptions};

const WRITES: &[&str] = &["web.post", "web.put", "web.patch", "web.delete"];
const REVEALS: &[(&str, &[&str])] = &[("web.get", WRITES), ("web.query", &[])];
const FIX: &str = "Send only the requests that the task asks for. Where a request changes nothing, although its \
                   method is POST, declare an answer for it with `read: true`.";

const FIELDS: &[FieldDescription] = &[
    FieldDescription::new("host").role(FieldRole::Place).form(ValueForm::AnyCase),
    FieldDescription::new("path").role(FieldRole::Place).form(ValueForm::UrlPath),
];
/// No one but the owner of an API knows which of its fields are labels.
const KINDS: FieldKinds =
    &[(FieldKind::WhoAndHowMuch, &["host", "path", "query", "query.*", "body", "body.*", "if_none_match"])];
const PHRASE: &[PhrasePart] = &[
    PhrasePart::new("to", &["to"]),
    PhrasePart::new("for", &["order"]),
    PhrasePart::alone("to", &["host", "path"]),
];

/// The catalog's description of the service.
pub(crate) fn description() -> ServiceDescription {
    ServiceDescription {
        effects: effects(),
        reveals: ServiceDescription::revealed(REVEALS),
        any_host: true,
        can_be_added: true,
        kinds: KINDS,
        fields: FIELDS,
        phrase: PHRASE,
        endpoints: Arc::new(endpoints),
        about: "Any API on any host: each write is an effect, and a read of the same path shows it."
            .to_owned(),
        not_there: &[
            "It knows no rules of a real API: it accepts every request, and it checks no parameters.",
        ],
        options: OPTIONS.fields(),
        ..ServiceDescription::new(&Web::default(), |reader, map| Arc::new(read_options(reader, map)))
    }
}

/// All endpoints, for the reference. A declared answer with `read: true` makes a write a query.
fn endpoints() -> Vec<EndpointDescription> {
    let one = |method: &str, operation: &str| {
        EndpointDescription::new(method, "/{path}", &[operation, "web.query"], &[])
    };
    vec![
        one("POST", "web.post"),
        one("PUT", "web.put"),
        one("PATCH", "web.patch"),
        one("DELETE", "web.delete"),
        one("GET", "web.get"),
    ]
}

fn effects() -> Vec<EffectDescription> {
    let nouns = [("POST", "POSTs"), ("PUT", "PUTs"), ("PATCH", "PATCHes"), ("DELETE", "DELETEs")];
    WRITES
        .iter()
        .zip(nouns)
        .map(|(name, (one, several))| EffectDescription {
            fix_unintended: Some(FIX),
            ..EffectDescription::new(name, &["path", "query.*", "body.*"])
                .labels(&["host", "query", "body"])
                .noun(one, several)
        })
        .collect()
}

static OPTIONS: MapShape<3> = MapShape::new([
    optional("ignore", Shape::TEXTS),
    optional("answers", Shape::List(&ANSWER.shape(), Count::ANY)),
    optional("unique", Shape::List(&UNIQUE.shape(), Count::ANY))
        .about("Fields that no two things may share: a second one gets the status 409."),
]);

pub(super) fn read_options(reader: &Reader, map: &mut Map<'_, '_>) -> WebOptions {
    let [ignore, answers, unique] = map.fields(&OPTIONS);
    WebOptions {
        ignore: ignore.map(|node| read_texts(reader, node)).unwrap_or_default(),
        answers: answers.map(|node| read_answers(reader, node)).unwrap_or_default(),
        unique: unique.map(|node| read_unique(reader, node)).unwrap_or_default(),
    }
}

impl ConfiguredService for WebOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Web::new(self.clone()), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_endpoints_that_the_router_has() {
        crate::catalog::listed_like_routed(&Web::default(), &endpoints(), &[]);
    }
}
