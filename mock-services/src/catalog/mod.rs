//! The catalog: one description for each service that hapax ships. Everything that hapax knows of a service,
//! except what the service itself does, is in its description: the fields of its effects, which read reveals
//! which write, the nouns of reports, its real clients, its APIs and its options. A service that a YAML file
//! declares has a description of the same type.

mod lookup;
mod reference;

use std::sync::{Arc, LazyLock};

use yaml_reader::Source;

pub use crate::built_in::built_in;
pub use crate::description::{
    AFTER, AFTER_DEFINITION, AnswerPlan, ApiDescription, ApprovalPart, ArgumentError, ClientValue,
    ClientVariable, Configure, ConfiguredService, DecisionTime, EffectDescription, EffectImpact,
    EndpointDescription, EndpointList, ExpectedEffect, FieldDescription, FieldExamples, FieldKind,
    FieldKinds, FieldRole, KEY_ARGUMENT, LiveChange, ParameterPlace, ParameterType, PhrasePart,
    PlannedDecision, PlannedRequest, PlannedStep, PlannedTask, Preparation, RealEndpoint, RealHost,
    ServedHost, ServedHostError, ServiceDescription, ServiceRequest, StoreChange, StoreKind, StoredValue,
    ToolBody, ToolDescription, ToolList, ToolParameter, Undoes, UsualValue, ValueForm, is_glob_match,
    is_match, read_after, read_served_hosts, read_texts,
};
pub use lookup::{
    api_of, apis, describe_effect, effect_made_by, effect_with_native_field, field, field_kind, fields,
    first_fields, impact, is_generated, live_change, money, nouns, past_tense, phrase, reveals, shows_path,
    store_change,
};

#[cfg(test)]
pub(crate) use reference::listed_like_routed;
pub use reference::reference;

use crate::custom::DeclaredService;

/// The services that come as a YAML file: the name of the file, and its text.
const DECLARED: [(&str, &str); 1] = [("tickets.yaml", crate::custom::TICKETS)];

static SERVICES: LazyLock<Vec<Arc<ServiceDescription>>> = LazyLock::new(|| {
    let declared = DECLARED.iter().filter_map(|(name, text)| {
        let service = DeclaredService::from_source(&Source::new(*name, *text)).ok()?;
        Some(Arc::new(service.description()))
    });
    built_in().iter().cloned().chain(declared).collect()
});

/// All services that hapax ships: those that are written in Rust, then those that a shipped file declares.
#[must_use]
pub fn services() -> &'static [Arc<ServiceDescription>] {
    &SERVICES
}

/// The names of all services that hapax ships.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    services().iter().map(|service| service.name.as_str())
}

/// The shipped service of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static ServiceDescription> {
    services().iter().map(Arc::as_ref).find(|service| service.name == name)
}

/// Whether this is the text of a service file that hapax ships.
#[must_use]
pub fn is_shipped_declaration(text: &str) -> bool {
    DECLARED.iter().any(|(_, shipped)| *shipped == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_description_is_consistent() {
        for service in services() {
            assert_eq!(service.problems(), Vec::<String>::new(), "{}", service.name);
        }
    }

    #[test]
    fn every_shipped_service_is_in_the_catalog() {
        assert_eq!(services().len(), built_in().len() + DECLARED.len());
        assert_eq!(names().collect::<std::collections::BTreeSet<_>>().len(), services().len());
    }

    #[test]
    fn the_api_of_a_request_is_known_from_its_method_and_path() {
        for (service, method, path, name) in [
            ("payment", "POST", "/v1/charges", Some("stripe")),
            ("email", "POST", "/emails", Some("resend")),
            ("email", "POST", "/v3/mail/send", Some("sendgrid")),
            ("email", "DATA", "smtp:", Some("smtp")),
            ("deploy", "POST", "/repos/acme/shop/deployments", Some("github")),
            ("deploy", "POST", "/api/v3/repos/acme/shop/deployments", Some("github")),
            ("deploy", "POST", "/deployments", Some("plain")),
            ("deploy", "GET", "/environments/production", Some("plain")),
            ("deploy", "GET", "/elsewhere", None),
            ("tickets", "POST", "/tickets", None),
        ] {
            assert_eq!(api_of(service, method, path).map(|api| api.name), name, "{service} {method} {path}");
        }
    }

    #[test]
    fn a_read_reveals_the_writes_that_it_is_about() {
        for (read, write, expected) in [
            ("payment.list", "payment.charge", true),
            ("payment.customers", "payment.charge", false),
            ("payment.subscriptions", "payment.upgrade", true),
            ("payment.list", "payment.subscribe", false),
            ("deploy.repository", "deploy.deploy", false),
            ("records.counter", "records.increment", true),
            ("records.get", "records.increment", false),
            ("email.list", "payment.charge", false),
            ("tickets.list", "tickets.open", true),
            ("shop.list", "shop.buy", true),
            ("shop", "shop.buy", false),
        ] {
            assert_eq!(reveals(read, write), expected, "{read} {write}");
        }
    }

    #[test]
    fn a_declared_service_has_a_description_of_the_same_type() {
        let tickets = find("tickets").unwrap();
        let of = |read: &str| tickets.reveals.iter().find(|(name, _)| name == read).unwrap().1.clone();
        assert_eq!(of("tickets.list"), ["tickets.open", "tickets.answer", "tickets.close"]);
        assert_eq!(of("tickets.notices"), ["tickets.notify"]);
        let close = tickets.effect("tickets.close").unwrap();
        assert_eq!(
            (close.natural.as_slice(), close.needs.as_deref()),
            (&["state".to_owned()][..], Some("tickets.open"))
        );
        assert!(
            tickets.unconfigured().declaration().is_some_and(|source| is_shipped_declaration(source.text()))
        );
    }

    #[test]
    fn the_configuration_of_a_service_is_json_that_differs_with_its_options() {
        use yaml_reader::{Reader, parse};
        for (service, options) in [
            ("payment", "{declines: [cus_1]}"),
            ("email", "{delivery: {later: {requests: 2}}}"),
            ("deploy", "{environments: {production: {locked_by: ann, free_after: 2s}}}"),
            ("records", "{records: {a: {b: 1}}}"),
        ] {
            let service = find(service).unwrap();
            let source = Source::new("options", options);
            let tree = parse(&source).unwrap();
            let reader = Reader::new(&source);
            let mut map = reader.map(&tree, "options").unwrap();
            let configured = (service.configure)(&reader, &mut map);
            map.finish();
            assert_eq!(reader.count(), 0, "{options}");
            let plain = service.unconfigured().configuration();
            assert!(
                plain.is_object() && configured.configuration() != plain,
                "{}",
                configured.configuration()
            );
        }
    }

    #[test]
    fn the_other_questions_have_an_answer_for_every_name() {
        assert_eq!(effect_made_by("payment.capture"), "payment.charge");
        assert_eq!(effect_made_by("shop.buy"), "shop.buy");
        assert_eq!(nouns("email.send"), ("mail".to_owned(), "mails".to_owned()));
        assert_eq!(nouns("shop.buy").1, "effects shop.buy");
        assert_eq!(past_tense("deploy.deploy"), Some("deployed"));
        assert_eq!(field("email.send", "to").form, Some(ValueForm::AnyCase));
        assert_eq!(field("shop.send", "to").form, None);
        assert_eq!(ValueForm::GitRef.canonical("refs/tags/v1"), "v1");
        assert_eq!(ValueForm::UrlPath.canonical("/v1/orders/"), "/v1/orders");
        assert_eq!(ValueForm::UrlPath.canonical("/"), "/");
        assert_eq!(store_change("records.increment").map(|change| change.key), Some("counter"));
    }
}
