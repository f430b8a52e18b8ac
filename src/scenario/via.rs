//! `via`: the APIs through which operations must be done, otherwise the trial is void. A lock that only one
//! API has does not stop a client of another API.

use mock_services::catalog;
use yaml_reader::shape::{Count, Shape};
use yaml_reader::{Node, NodeKind, Reader, listed, nearest, shown};

use super::known::KnownServices;
use super::{Step, ViaDue};

pub(super) const VIA: Shape = Shape::MapOf(&Shape::Ref("operation_name"), &APIS, Count::ANY);
const APIS: Shape = Shape::OneOf(&[API, Shape::List(&API, Count::SOME)]);
const API: Shape = Shape::Words(|| {
    let services = catalog::services().iter();
    services.flat_map(|service| catalog::apis(&service.name)).map(|api| api.name).collect()
});

/// Reads `via`: an operation, and the API or the list of APIs through which it must be done.
pub(super) fn read_via(reader: &Reader, known: &KnownServices, node: &Node) -> Vec<ViaDue> {
    let mut all = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        let Some(operation) = known.named(reader, &key.name, key.span) else { continue };
        let nodes = match &node.kind {
            NodeKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let apis: Vec<String> =
            nodes.iter().filter_map(|node| read_api(reader, &operation.name, node)).collect();
        if nodes.is_empty() {
            reader.report_with_help(
                node.span,
                "this list is empty",
                "list the APIs that are accepted, or remove the operation",
            );
        }
        all.push(ViaDue { operation: operation.name.to_string(), apis });
    }
    all
}

/// The name of an API of the service to which the operation belongs.
pub(super) fn read_api(reader: &Reader, operation: &str, node: &Node) -> Option<String> {
    let name = reader.text(node)?;
    match unknown_api(operation, name) {
        None => Some(name.to_owned()),
        Some((message, help)) => {
            reader.report_with_help(node.span, message, help);
            None
        }
    }
}

/// The problem with the name of an API, and a suggestion; `None` if the service of the operation has it.
pub(crate) fn unknown_api(operation: &str, name: &str) -> Option<(String, String)> {
    let service = operation.split('.').next().unwrap_or_default();
    let names: Vec<&str> = catalog::apis(service).iter().map(|api| api.name).collect();
    if names.contains(&name) {
        return None;
    }
    let help = match nearest(name, names.iter().copied()) {
        _ if names.is_empty() => "it has a single API without a name; remove `via`".to_owned(),
        Some(near) => format!("did you mean `{near}`? it can be {}", listed(names)),
        None => format!("it can be {}", listed(names)),
    };
    Some((format!("the service `{service}` has no API `{}`", shown(name)), help))
}

/// Reports steps that use another API than `via`: the trials of the controls would be void.
pub(super) fn check_via(reader: &Reader, node: Option<&Node>, via: &[ViaDue], steps: &[&Step]) {
    let Some(node) = node else { return };
    for due in via {
        let others = steps
            .iter()
            .filter(|step| step.operation == due.operation)
            .filter_map(|step| step.with.get("via"));
        if let Some(other) = others.map(ToString::to_string).find(|api| !due.apis.contains(api)) {
            let message =
                format!("a step does {} via `{}`, which is not in this list", due.operation, shown(&other));
            reader.report_with_help(node.span, message, "add that API here, or change the step");
        }
    }
}

#[cfg(test)]
mod tests {
    use mock_services::fault::Reply;

    use crate::scenario::{Case, shipped};

    fn needs<'c>(case: &'c Case, operation: &str) -> Vec<&'c str> {
        let due = case.terms.via.iter().filter(|due| due.operation == operation);
        due.flat_map(|due| &due.apis).map(String::as_str).collect()
    }

    #[test]
    fn shipped_cases_that_need_one_api_name_it() {
        for case in shipped().unwrap() {
            for setup in &case.services {
                if setup.name != "deploy" {
                    continue;
                }
                let options = setup.service.configuration();
                let environments = options["environments"].as_array().unwrap();
                let is_locked = environments.iter().any(|environment| !environment["locked_by"].is_null());
                // GitHub's API has no locks, rollouts and queues.
                if is_locked || options["rollout"] != "at-once" || !options["asynchronous"].is_null() {
                    assert_eq!(needs(&case, "deploy.deploy"), ["plain"], "{}", case.id);
                }
            }
            // Status codes of SMTP.
            let is_smtp_status = |status: u16| matches!(status, 421 | 450..=459 | 550..=559);
            let is_smtp = |reply: &Reply| reply.forced_status().is_some_and(is_smtp_status);
            if case.faults.iter().any(|fault| fault.trigger.on == "email.send" && is_smtp(&fault.reply)) {
                assert_eq!(needs(&case, "email.send"), ["smtp"], "{}", case.id);
            }
        }
    }
}
