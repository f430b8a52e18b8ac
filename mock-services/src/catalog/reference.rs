//! The reference of a service, as a Markdown page: its endpoints, operations, effects and options, and what it
//! does not have.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use yaml_reader::shape::{Field, Rule, Shape};

use super::{ClientValue, EndpointDescription, FieldKind, RealEndpoint, ServiceDescription};
use crate::fault::ReplyKind;
use crate::service::{Operation, OperationKind};

/// The reference of a service.
#[must_use]
pub fn reference(service: &ServiceDescription) -> String {
    let mut page = format!("# The service `{}`\n", service.name);
    paragraph(&mut page, &service.about);
    paragraph(
        &mut page,
        &format!(
            "This page is generated from the catalog of services (`hapax list --service {}`). Parameters, effects \
             and faults work as [scenarios.md](../scenarios.md) and [faults.md](../faults.md) say.",
            service.name
        ),
    );
    clients(&mut page, service);
    endpoints(&mut page, service);
    operations(&mut page, service);
    effects(&mut page, service);
    kinds(&mut page, service);
    faults(&mut page, service);
    options(&mut page, service);
    not_there(&mut page, service);
    page
}

/// Adds a paragraph with lines of at most 110 columns.
fn paragraph(page: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    let mut column = 0;
    page.push('\n');
    for word in text.split_whitespace() {
        if column > 0 && column + 1 + word.chars().count() > 110 {
            page.push('\n');
            column = 0;
        }
        if column > 0 {
            page.push(' ');
            column += 1;
        }
        page.push_str(word);
        column += word.chars().count();
    }
    page.push('\n');
}

fn heading(page: &mut String, text: &str) {
    page.push_str("\n## ");
    page.push_str(text);
    page.push('\n');
}

fn table(page: &mut String, names: &[&str], rows: &[Vec<String>]) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "\n| {} |", names.join(" | "));
    let _ = writeln!(page, "|{}", " --- |".repeat(names.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn codes<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

fn clients(page: &mut String, service: &ServiceDescription) {
    if service.variables.is_empty() && service.hosts.is_empty() {
        return;
    }
    heading(page, "Clients");
    if !service.variables.is_empty() {
        let variable = |variable: &super::ClientVariable| {
            let value = match variable.value {
                ClientValue::Url => "the URL".to_owned(),
                ClientValue::UrlWithPath(path) => format!("the URL with `{path}`"),
                ClientValue::Key => "the key".to_owned(),
                ClientValue::Fixed(text) => code(text),
            };
            format!("`{}` ({value})", variable.name)
        };
        let variables: Vec<String> = service.variables.iter().map(variable).collect();
        paragraph(page, &format!("Variables that real clients read: {}.", variables.join(", ")));
    }
    if !service.hosts.is_empty() {
        let row = |host: &super::RealHost| vec![code(host.host), host.setting.to_owned()];
        let rows: Vec<Vec<String>> = service.hosts.iter().map(row).collect();
        table(page, &["real host", "how a client reaches the mock; in a sealed run nothing is to do"], &rows);
    }
}

fn endpoints(page: &mut String, service: &ServiceDescription) {
    let all = (service.endpoints)();
    if all.is_empty() {
        return;
    }
    heading(page, "Endpoints");
    let api_of = |endpoint: &EndpointDescription| {
        (service.api_of)(&endpoint.method, &endpoint.example_path("1")).unwrap_or_default()
    };
    for of_api in all.chunk_by(|one, other| api_of(one) == api_of(other)) {
        let api = service.apis.iter().find(|api| of_api.first().is_some_and(|one| api_of(one) == api.name));
        if let Some(api) = api.filter(|_| service.apis.len() > 1) {
            let _ = writeln!(page, "\n### {} (`via: {}`)", capital(api.title), api.name);
            paragraph(page, &api_difference(api));
        }
        let row = |endpoint: &EndpointDescription| {
            let mut parameters = codes(endpoint.parameters.iter().map(String::as_str));
            if !endpoint.unsupported.is_empty() {
                let refused = codes(endpoint.unsupported.iter().map(String::as_str));
                let gap = if parameters.is_empty() { "" } else { ". " };
                let _ = write!(parameters, "{gap}Not supported: {refused}");
            }
            let operations = match endpoint.operations.as_slice() {
                [] => "always refused".to_owned(),
                names => codes(names.iter().map(String::as_str)),
            };
            vec![format!("`{} {}`", endpoint.method, endpoint.path), operations, parameters]
        };
        let rows: Vec<Vec<String>> = of_api.iter().map(row).collect();
        table(page, &["endpoint", "operation", "parameters"], &rows);
    }
    for api in service.apis.iter().filter(|api| !all.iter().any(|one| api_of(one) == api.name)) {
        let _ = writeln!(page, "\n### {} (`via: {}`)", capital(api.title), api.name);
        paragraph(page, &format!("{} It has no endpoints.", api_difference(api)));
    }
}

/// How an API differs from the others, as a sentence.
fn api_difference(api: &super::ApiDescription) -> String {
    match api.differs.strip_prefix("which ") {
        Some(rest) => format!("It {rest}."),
        None => format!("{}.", capital(api.differs)),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

fn operations(page: &mut String, service: &ServiceDescription) {
    heading(page, "Operations");
    paragraph(
        page,
        "A request is one operation. A fault, a step, `attempts` and `can` name it. `where` of a fault can name its \
         fields.",
    );
    let row = |operation: &Operation| {
        let reveals = service.reveals.iter().find(|(read, _)| *read == operation.name);
        let kind = match (operation.kind, reveals) {
            (OperationKind::Write, _) => "write".to_owned(),
            (OperationKind::Read, Some((_, writes))) if !writes.is_empty() => {
                format!("read; shows {}", codes(writes.iter().map(String::as_str)))
            }
            (OperationKind::Read, _) => "read".to_owned(),
        };
        vec![code(&operation.name), kind, codes(operation.fields.iter().map(AsRef::as_ref))]
    };
    let rows: Vec<Vec<String>> = service.operations.iter().map(row).collect();
    table(page, &["operation", "kind", "fields of the request"], &rows);
}

fn effects(page: &mut String, service: &ServiceDescription) {
    if service.effects.is_empty() {
        return;
    }
    heading(page, "Effects");
    paragraph(
        page,
        "What the ledger counts. `expect.effects` can name these fields. A field with a usual value has that value \
         in an intent that does not name it.",
    );
    let row = |effect: &super::EffectDescription| {
        let usual = effect.usual.iter().map(|usual| format!("`{}`: {}", usual.field, usual.value));
        let mut notes: Vec<String> = Vec::new();
        if effect.is_cost {
            notes.push("any number passes unless the scenario names it".to_owned());
        }
        if !effect.made_by.is_empty() {
            notes.push(format!("also made by {}", codes(effect.made_by.iter().copied())));
        }
        if let Some(undoes) = &effect.undoes {
            notes.push(format!("undoes `{}`", undoes.effect));
        }
        let usual: Vec<String> = usual.collect();
        if !usual.is_empty() {
            notes.push(format!("usual values: {}", usual.join(", ")));
        }
        let noun = effect.noun.map(|(one, _)| one).unwrap_or_default();
        vec![
            code(&effect.name),
            noun.to_owned(),
            codes(effect.carried.iter().map(String::as_str)),
            notes.join("; "),
        ]
    };
    let rows: Vec<Vec<String>> = service.effects.iter().map(row).collect();
    table(page, &["effect", "is", "fields", "notes"], &rows);
    let names = |effect: &&Operation| {
        effect.kind == OperationKind::Write
            && !service
                .effects
                .iter()
                .any(|known| known.name == effect.name || known.made_by.contains(&effect.name.as_ref()))
    };
    let without: Vec<&str> = service.operations.iter().filter(names).map(|one| one.name.as_ref()).collect();
    if !without.is_empty() {
        paragraph(page, &format!("Writes without an effect that counts: {}.", codes(without)));
    }
}

fn kinds(page: &mut String, service: &ServiceDescription) {
    let names = service.field_names();
    let of = |kind: FieldKind| {
        let names = names.iter().copied().filter(move |name| service.kind_of(name) == Some(kind));
        codes(names)
    };
    let with_fields = FieldKind::ALL.into_iter().filter(|kind| !of(*kind).is_empty());
    let rows: Vec<Vec<String>> =
        with_fields.map(|kind| vec![kind.as_str().to_owned(), of(kind), kind.meaning().to_owned()]).collect();
    if rows.is_empty() {
        return;
    }
    heading(page, "Kinds of fields");
    paragraph(
        page,
        "An agent can send more than the task asks for. Whether that is wrong depends on what the field says.",
    );
    table(page, &["kind", "fields", "when it is wrong"], &rows);
}

/// The words of the replies that only a read can have, or of all others.
fn replies(only_for_reads: bool) -> String {
    let is_wanted = |kind: &ReplyKind| kind.facts().content.is_for_reads() == only_for_reads;
    codes(ReplyKind::ALL.into_iter().filter(is_wanted).map(ReplyKind::as_str))
}

fn faults(page: &mut String, service: &ServiceDescription) {
    heading(page, "Faults");
    let of = |kind: OperationKind| service.operations.iter().filter(move |one| one.kind == kind);
    if of(OperationKind::Write).next().is_some() {
        paragraph(
            page,
            &format!(
                "Every write takes every `commit` (`now`, `never`, `later`, `twice`, `reverts`) with every `reply` ({}).",
                replies(false)
            ),
        );
    }
    if of(OperationKind::Read).next().is_some() {
        let also = replies(true);
        paragraph(page, &format!("A read commits nothing, so it takes a `reply` only, and also {also}."));
    }
    let named = |which: fn(&Operation) -> bool| -> Vec<&str> {
        service.operations.iter().filter(|one| which(one)).map(|one| one.name.as_ref()).collect()
    };
    let lists = named(|operation| operation.list);
    if !lists.is_empty() {
        paragraph(page, &format!("A part of a list can be committed (`{{part: 0.5}}`) in {}.", codes(lists)));
    }
    let generates = named(|operation| operation.generates);
    if !generates.is_empty() {
        paragraph(
            page,
            &format!(
                "An answer can be cut at a `word`, in the `arguments` and before the `end-marker` in {}.",
                codes(generates)
            ),
        );
    }
    paragraph(
        page,
        &format!(
            "Idempotency keys are treated as in the profile `{}`, unless the scenario says otherwise.",
            service.profile.name()
        ),
    );
}

fn options(page: &mut String, service: &ServiceDescription) {
    if service.options.is_empty() {
        return;
    }
    heading(page, "Options");
    paragraph(
        page,
        &format!(
            "In `services: {{ {}: {{ … }} }}` of a scenario, beside `idempotency` and `hosts`:",
            service.name
        ),
    );
    let row = |field: &Field| vec![code(field.name), shown_shape(&field.shape)];
    let rows: Vec<Vec<String>> = service.options.iter().map(row).collect();
    table(page, &["option", "value"], &rows);
}

fn shown_shape(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Integer(i64::MIN, _) => "a whole number".to_owned(),
        Shape::Integer(least, _) => format!("a whole number from {least}"),
        Shape::Words(words) => codes(words()),
        Shape::Ref("after") => "a time: `{requests: 2}`, `2s` or `settle`".to_owned(),
        Shape::List(items, _) => format!("a list: {}", shown_shape(items)),
        Shape::MapOf(Shape::Any, values, _) => format!("a map of names to values: {}", shown_shape(values)),
        Shape::MapOf(_, values, _) => format!("a map of operations to values: {}", shown_shape(values)),
        Shape::Map(fields, rule) => {
            let key = |field: &Field| {
                let must = if field.is_required { ", required" } else { "" };
                format!("`{}` ({}{must})", field.name, shown_shape(&field.shape))
            };
            let which = if matches!(rule, Rule::OneOf(_)) { "one of " } else { "" };
            format!("a map with {which}{}", fields.iter().map(key).collect::<Vec<_>>().join(", "))
        }
        Shape::OneOf(shapes) => shapes.iter().map(shown_shape).collect::<Vec<_>>().join("; or "),
        _ => "any value".to_owned(),
    }
}

fn not_there(page: &mut String, service: &ServiceDescription) {
    let (has, real) = ((service.endpoints)(), (service.real_endpoints)());
    let missing: Vec<&RealEndpoint> =
        real.iter().filter(|endpoint| !has.iter().any(|known| known.is(endpoint))).collect();
    if missing.is_empty() && service.not_there.is_empty() {
        return;
    }
    heading(page, "What is not there");
    if !service.not_there.is_empty() {
        page.push('\n');
    }
    for sentence in service.not_there {
        let _ = writeln!(page, "- {sentence}");
    }
    if missing.is_empty() {
        return;
    }
    paragraph(
        page,
        &format!(
            "The real APIs have {} more endpoints. A request for one of them gets a 501, and the trial is void: it \
             proves nothing against the subject. By the first parts of their paths, with the number of endpoints:",
            missing.len()
        ),
    );
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for endpoint in missing {
        *groups.entry(group(&endpoint.path)).or_default() += 1;
    }
    let groups: Vec<String> = groups.iter().map(|(path, count)| format!("`{path}` {count}")).collect();
    paragraph(page, &format!("{}.", groups.join(", ")));
}

/// The first parts of a path: the version and the type of object.
fn group(path: &str) -> String {
    let is_version = |part: &str| part.len() == 2 && part.starts_with('v');
    let parts: Vec<&str> = path.split('/').skip(1).take_while(|part| !part.starts_with('{')).collect();
    let depth = if parts.first().is_some_and(|first| is_version(first)) { 2 } else { 1 };
    format!("/{}", parts.into_iter().take(depth).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
pub(crate) use tests::listed_like_routed;

#[cfg(test)]
mod tests {
    //! Compares the endpoints of a reference with what a service answers.

    use super::*;
    use crate::catalog::services;
    use crate::service::{Context, Ids, Request, Service};

    fn answer_status<S: Service>(service: &S, method: &str, path: &str) -> (Option<u16>, bool) {
        let context = Context {
            now: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
            ids: Ids::new(1, "service", 1, 1, 0),
        };
        let request = Request::new(method, path).header("User-Agent", "test");
        let refusal = service.recognize(&request, &context).err();
        let is_lacking = refusal.as_ref().is_some_and(|answer| answer.missing_feature().is_some());
        (refusal.map(|answer| answer.status), is_lacking)
    }

    /// Asserts that a service has all endpoints of its reference, and lacks all others of the real APIs.
    pub(crate) fn listed_like_routed<S: Service>(
        service: &S,
        endpoints: &[EndpointDescription],
        real: &[RealEndpoint],
    ) {
        for endpoint in endpoints {
            let (status, is_lacking) = answer_status(service, &endpoint.method, &endpoint.example_path("1"));
            // The object with the id 1 can be missing where the endpoint exists.
            let is_found = status != Some(404) || endpoint.path.contains('{');
            assert!(
                !is_lacking && is_found && status != Some(405),
                "{} {}: {status:?}",
                endpoint.method,
                endpoint.path
            );
            let is_real = real.is_empty() || real.iter().any(|real| endpoint.is(real));
            assert!(is_real, "the real API does not have {} {}", endpoint.method, endpoint.path);
        }
        for real in real {
            let path = EndpointDescription::new(&real.method, &real.path, &[], &[]).example_path("1");
            let (status, is_lacking) = answer_status(service, &real.method, &path);
            let is_listed = endpoints.iter().any(|endpoint| endpoint.is(real));
            assert!(is_listed || is_lacking || matches!(status, Some(404 | 405)), "{real:?}: {status:?}");
        }
    }

    #[test]
    fn the_endpoints_of_a_service_have_all_its_operations() {
        for service in services() {
            let endpoints = (service.endpoints)();
            for operation in &service.operations {
                let is_listed =
                    endpoints.iter().any(|one| one.operations.iter().any(|name| *name == operation.name));
                assert!(is_listed, "no endpoint of the reference has {}", operation.name);
            }
            for name in endpoints.iter().flat_map(|endpoint| &endpoint.operations) {
                assert!(service.operations.iter().any(|one| one.name == *name), "there is no {name}");
            }
            assert!(!service.about.is_empty(), "{}", service.name);
        }
    }

    #[test]
    fn the_reference_of_a_service_has_a_section_for_each_part() {
        let payment = reference(crate::catalog::find("payment").unwrap());
        for part in [
            "## Kinds of fields",
            "## Clients",
            "## Endpoints",
            "## Operations",
            "## Effects",
            "## Faults",
            "## Options",
            "## What is not there",
        ] {
            assert!(payment.contains(part), "{part}");
        }
        assert!(payment.contains("| `POST /v1/products` | `payment.product` |"), "{payment}");
        assert!(payment.contains("`/v1/invoices` "), "{payment}");
        let tickets = reference(crate::catalog::find("tickets").unwrap());
        assert!(tickets.contains("| `POST /tickets/{id}/close` | `tickets.close` |"), "{tickets}");
    }
}
