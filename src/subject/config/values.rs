//! Reads the values of a subject in `hapax.yaml`.

use std::path::{Component, Path};
use std::time::Duration;

use mock_services::catalog::{self, ServedHost, read_served_hosts};
use mock_services::examples;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, words_of};
use yaml_reader::{Node, NodeKind, Reader, listed, nearest, shown};

use crate::domain::real_host;
use crate::scenario::{ClaimedOutcome, split_can, unknown_api};
use crate::subject::template::Template;
use crate::subject::words::split;
use crate::subject::{ClaimSource, HostError, HostPattern};

/// The shortest time for which an agent over HTTP can be watched.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);
/// The usual time for an agent that hapax starts. It is stopped then: what would come later is never seen.
pub(super) const WATCH_OF_STARTED: Duration = Duration::from_secs(3);

/// A program and its arguments: a list, or one text.
pub(crate) fn read_command(reader: &Reader, node: &Node) -> Option<Vec<String>> {
    match &node.kind {
        NodeKind::Text(text) => match split(text) {
            Ok(words) => Some(words),
            Err((message, help)) => {
                reader.report_with_help(node.span, message, help);
                None
            }
        },
        NodeKind::List(items) if !items.is_empty() => items
            .iter()
            .map(|item| reader.text(item).map(str::to_owned))
            .collect::<Vec<_>>()
            .into_iter()
            .collect(),
        _ => reader.unexpected(node, "a command: [python, agent.py] or \"python agent.py\""),
    }
}

/// Variables with templates.
pub(super) fn read_env(reader: &Reader, node: &Node) -> Vec<(String, Template)> {
    let mut env = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        if let Some(why) = name_problem(&key.name) {
            reader.report(key.span, why);
        }
        let Some(text) = reader.text(node) else { continue };
        match Template::parse(text) {
            Ok(template) => env.push((key.name.clone(), template)),
            Err(error) => reader.report_with_help(node.span, error.message, error.help),
        }
    }
    env
}

/// The files of a home directory.
pub(super) fn read_home(reader: &Reader, node: &Node) -> Vec<(String, Template)> {
    let mut files = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        let is_inside = Path::new(&key.name).components().all(|part| matches!(part, Component::Normal(_)));
        if key.name.is_empty() || !is_inside {
            let message = format!("`{}` is not a file in a home directory", shown(&key.name));
            reader.report_with_help(key.span, message, "write a path relative to it: .config/agent.json");
        }
        let Some(text) = reader.text(node) else { continue };
        match Template::parse(text) {
            Ok(template) => files.push((key.name.clone(), template)),
            Err(error) => reader.report_with_help(node.span, error.message, error.help),
        }
    }
    files
}

/// Names of variables.
pub(super) fn read_passed(reader: &Reader, node: &Node) -> Vec<String> {
    let mut names = Vec::new();
    for node in reader.list(node).unwrap_or_default() {
        let Some(name) = reader.text(node) else { continue };
        match name_problem(name) {
            Some(why) => reader.report(node.span, why),
            None => names.push(name.to_owned()),
        }
    }
    names
}

/// Hosts outside of a trial.
pub(super) fn read_hosts(
    reader: &Reader,
    node: &Node,
    parse: fn(&str) -> Result<HostPattern, HostError>,
) -> Vec<HostPattern> {
    let mut hosts = Vec::new();
    for node in reader.list(node).unwrap_or_default() {
        match reader.text(node).map(parse) {
            Some(Ok(host)) => hosts.push(host),
            Some(Err(HostError { message, help })) => reader.report_with_help(node.span, message, help),
            None => {}
        }
    }
    hosts
}

/// The hosts that services answer for: `{payment: [pay.internal.example]}`. `others` are those of the whole file.
pub(super) fn read_served(
    reader: &Reader,
    node: &Node,
    others: &[(String, ServedHost)],
) -> Vec<(String, ServedHost)> {
    let mut all: Vec<(String, ServedHost)> = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        if catalog::find(&key.name).is_none() {
            let help = match nearest(&key.name, catalog::names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "it is one of {}; the file of your own service can have `hosts` itself",
                    listed(catalog::names())
                ),
            };
            reader.report_with_help(key.span, format!("there is no service `{}`", shown(&key.name)), help);
        }
        let items = reader.list(node).unwrap_or_default();
        let hosts = read_served_hosts(reader, node);
        for host in hosts {
            let earlier = all.iter().chain(others).find(|(_, other)| *other == host);
            let real = real_host(host.as_str()).map(|(service, _)| service);
            let owner = earlier.map(|(service, _)| service.as_str()).or(real);
            if let Some(owner) = owner.filter(|owner| *owner != key.name) {
                let is_this = |item: &&Node| {
                    item.as_text().is_some_and(|text| text.eq_ignore_ascii_case(host.as_str()))
                };
                let span = items.iter().find(is_this).map_or(node.span, |item| item.span);
                let message =
                    format!("the host `{}` belongs to the service `{owner}` already", shown(host.as_str()));
                let help = "a host belongs to one service; remove it here or there";
                reader.report_with_help(span, message, help);
                continue;
            }
            all.push((key.name.clone(), host));
        }
    }
    all
}

/// The problem with the name of a variable.
fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Some(format!("`{}` is not a valid variable name", shown(name)));
    }
    name.starts_with("HAPAX_")
        .then(|| format!("`{}` is reserved: hapax sets the variables that start with HAPAX_", shown(name)))
}

/// A duration that is not zero.
pub(super) fn read_time(reader: &Reader, node: &Node) -> Option<Duration> {
    let time = reader.duration(node)?;
    if time.is_zero() {
        reader.report(node.span, "the duration must be greater than zero");
        return None;
    }
    Some(time)
}

/// How long an agent over HTTP is watched after its response.
pub(super) fn read_watch(reader: &Reader, node: &Node) -> Option<Duration> {
    let time = reader.duration(node)?;
    if time < SHORTEST_WATCH {
        let help = "write at least 1s: what the agent does after its response counts";
        reader.report_with_help(node.span, "`watch` is shorter than a second", help);
        return None;
    }
    Some(time)
}

/// The names of fields in scenarios and in the requests of the subject. A field that an API has by nature is
/// read from the request itself: another name for it would hide what really happened.
pub(super) fn read_fields(reader: &Reader, node: &Node) -> Vec<(String, String)> {
    let fields = read_text_map(reader, node);
    for (key, node) in reader.entries(node).unwrap_or_default() {
        if let Some(effect) = catalog::effect_with_native_field(&key.name) {
            let name = shown(&key.name);
            let help = format!(
                "remove it: hapax reads `{name}` of {effect} from the request itself. Only labels such as an \
                 order, for which an API has no field of its own, can have another name; a service of your \
                 own names its fields in its file"
            );
            reader.report_with_help(key.span, format!("`{name}` cannot have another name"), help);
        }
        let target = node.as_text().unwrap_or_default();
        let is_words = |effect: &str| catalog::field(effect, target).is_free_text();
        if let Some(effect) = catalog::effect_with_native_field(target).filter(|effect| !is_words(effect)) {
            let target = shown(target);
            let help = "write where your requests have the label: metadata.order_id, or description";
            let message = format!("`{target}` of {effect} is not free for another meaning");
            reader.report_with_help(node.span, message, help);
        }
    }
    fields
}

fn read_text_map(reader: &Reader, node: &Node) -> Vec<(String, String)> {
    let entries = reader.entries(node).unwrap_or_default().iter();
    entries.filter_map(|(key, node)| Some((key.name.clone(), reader.text(node)?.to_owned()))).collect()
}

/// Operations, each with the name of a tool. Those of shipped services are checked; other services declare their
/// own.
pub(super) fn read_tools(reader: &Reader, node: &Node) -> Vec<(String, String)> {
    let shipped = shipped_operations();
    for (key, _) in reader.entries(node).unwrap_or_default() {
        let service = key.name.split_once('.').map(|(service, _)| service);
        let is_shipped = service.is_none_or(|service| catalog::find(service).is_some());
        if is_shipped && !shipped.contains(&key.name) {
            let help = match nearest(&key.name, shipped.iter().map(|name| &**name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write an operation and a tool: {{{}: charge_card}}", examples::OPERATION),
            };
            reader.report_with_help(key.span, format!("there is no operation `{}`", shown(&key.name)), help);
        }
    }
    read_text_map(reader, node)
}

/// Operations. Those of shipped services are checked; other services declare their own.
pub(super) fn read_operations(reader: &Reader, node: &Node) -> Vec<String> {
    let mut operations = Vec::new();
    for node in reader.list(node).unwrap_or_default() {
        match reader.text(node).map(checked_operation) {
            Some(Ok(operation)) => operations.push(operation),
            Some(Err((message, help))) => reader.report_with_help(node.span, message, help),
            None => {}
        }
    }
    operations
}

/// An operation that a subject supports: `payment.charge`, `email.send via smtp`, or a service for all its
/// operations.
///
/// # Errors
/// A message and what to do about it, if a shipped service has no such operation.
pub fn checked_operation(entry: &str) -> Result<String, (String, String)> {
    let shipped = shipped_operations();
    let (name, via) = split_can(entry);
    if let Some(problem) = via.and_then(|via| unknown_api(name, via)) {
        return Err(problem);
    }
    let service = name.split_once('.').map(|(service, _)| format!("{service}."));
    let is_shipped = |prefix: &String| shipped.iter().any(|known| known.starts_with(prefix));
    let is_known = match &service {
        Some(prefix) if is_shipped(prefix) => {
            name.ends_with(".*") || shipped.iter().any(|known| known == name)
        }
        Some(_) => true,
        // The name of a service means all its operations.
        None => is_shipped(&format!("{name}.")),
    };
    if is_known {
        return Ok(via.map_or_else(|| name.to_owned(), |via| format!("{name} via {via}")));
    }
    let help = match nearest(name, shipped.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if is_name(name) => {
            format!(
                "write `{name}.*` for all operations of your own service, or one operation: {}",
                examples::OPERATION
            )
        }
        None => format!("write a service and an operation: {}", examples::OPERATION),
    };
    Err((format!("unknown operation `{}`", shown(name)), help))
}

/// A variable and its template: `STRIPE_BASE=${payment.url}`.
///
/// # Errors
/// A message and what to do about it, if the name or the template is wrong.
pub fn checked_variable(text: &str) -> Result<(String, Template), (String, String)> {
    let form = || format!("write NAME=VALUE, for example {}", examples::VARIABLE);
    let Some((name, value)) = text.split_once('=') else {
        return Err((format!("`{}` has no `=`", shown(text)), form()));
    };
    if let Some(problem) = name_problem(name) {
        return Err((problem, form()));
    }
    let template = Template::parse(value).map_err(|error| (error.message, error.help))?;
    Ok((name.to_owned(), template))
}

/// Whether a text can be the name of a service.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn shipped_operations() -> Vec<String> {
    let operations = catalog::services().iter().flat_map(|service| &service.operations);
    operations.map(|operation| operation.name.to_string()).collect()
}

/// The shape of `claim`.
pub(super) const CLAIM: Shape = Shape::OneOf(&[Shape::Words(|| words_of(&claim_words())), CLAIM_MAP.shape()]);
static CLAIM_MAP: MapShape<2> =
    MapShape::new([optional("exit-status", OUTCOMES), optional("patterns", OUTCOMES)])
        .needs(Rule::OneOf(&["exit-status", "patterns"]));
const OUTCOMES: Shape = Shape::MapOf(
    &Shape::Any,
    &Shape::Words(|| ClaimedOutcome::FINAL.map(ClaimedOutcome::as_str).to_vec()),
    Count::ANY,
);

fn claim_words() -> Vec<(&'static str, ClaimSource)> {
    let services = catalog::services().iter().filter(|service| service.claim_field.is_some());
    let services =
        services.map(|service| (service.name.as_str(), ClaimSource::Service(service.name.clone())));
    let words = [
        ("result-file", ClaimSource::ResultFile),
        ("last-line", ClaimSource::LastLine),
        ("optional", ClaimSource::Optional),
    ];
    words.into_iter().chain(services).collect()
}

/// The words for sources of claims.
pub(crate) fn claim_names() -> Vec<&'static str> {
    words_of(&claim_words())
}

/// The source of the claim that a word names.
pub(crate) fn claim_named(name: &str) -> Option<ClaimSource> {
    claim_words().into_iter().find(|(word, _)| *word == name).map(|(_, source)| source)
}

/// The source of the claim.
pub(super) fn read_claim(reader: &Reader, node: &Node) -> Option<ClaimSource> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        let words = claim_words();
        let Some(source) = node.as_text().and_then(|text| words.iter().find(|(word, _)| *word == text))
        else {
            let help = "or {exit-status: {0: done, 3: unknown}}, or {patterns: {\"order placed\": done}}";
            let expected = listed(words_of(&words));
            let message = format!("expected {expected}, found {}", node.describe());
            reader.report_with_help(node.span, message, help);
            return None;
        };
        return Some(source.1.clone());
    }
    let [statuses, patterns] = reader.fields(node, "`claim`", &CLAIM_MAP)?;
    match (statuses, patterns) {
        (Some(statuses), None) => read_statuses(reader, statuses).map(ClaimSource::ExitStatus),
        (None, Some(patterns)) => read_outcomes(reader, patterns).map(ClaimSource::Patterns),
        _ => {
            let help = "for example {exit-status: {0: done, 3: unknown}}";
            let place = node.place();
            reader.report_with_help(place, "`claim` needs exactly one of `exit-status` and `patterns`", help);
            None
        }
    }
}

fn read_statuses(reader: &Reader, node: &Node) -> Option<Vec<(i32, ClaimedOutcome)>> {
    let mut statuses = Vec::new();
    for ((text, outcome), (key, _)) in read_outcomes(reader, node)?.into_iter().zip(reader.entries(node)?) {
        match text.parse::<u8>() {
            Ok(status) => statuses.push((status.into(), outcome)),
            Err(_) => reader
                .report(key.span, format!("expected an exit status from 0 to 255, found `{}`", shown(&text))),
        }
    }
    Some(statuses)
}

/// Texts and their outcomes; `None` if there is a problem.
pub(super) fn read_outcomes(reader: &Reader, node: &Node) -> Option<Vec<(String, ClaimedOutcome)>> {
    let words = ClaimedOutcome::FINAL.map(|outcome| (outcome.as_str(), outcome));
    let before = reader.count();
    let mut all = Vec::new();
    for (key, node) in reader.entries(node)? {
        if key.name.is_empty() {
            reader.report(key.span, "the text is empty, so it would match every output");
        }
        all.extend(reader.one_of(node, &words).map(|outcome| (key.name.clone(), outcome)));
    }
    (reader.count() == before).then_some(all)
}
