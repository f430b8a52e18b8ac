//! `requires` of a scenario: the services that the subject itself must use, such as a language model.
//! Subjects that do not use them skip the scenario, because they could pass without being tested.

use mock_services::catalog;
use mock_services::yaml::shape::{Count, Shape};
use mock_services::yaml::{Node, NodeKind, Reader, listed, shown};

use super::ServiceSetup;

pub(super) const REQUIRES: Shape = Shape::OneOf(&[SERVICE, Shape::List(&SERVICE, Count::SOME)]);
const SERVICE: Shape = Shape::Words(|| optional_services().collect());

/// Reads `requires`: the name of a service, or a list of names.
pub(super) fn read_requires(reader: &Reader, services: &[ServiceSetup], node: &Node) -> Vec<String> {
    let nodes = match &node.kind {
        NodeKind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if nodes.is_empty() {
        let help = "list the services that the subject must use, or remove `requires`";
        reader.report_with_help(node.span, "this list is empty", help);
    }
    let mut names: Vec<String> = Vec::new();
    for node in nodes {
        let Some(name) = reader.text(node) else { continue };
        if !optional_services().any(|known| known == name) {
            let help =
                format!("it can be {}; a service of the steps is always used", listed(optional_services()));
            reader.report_with_help(node.span, format!("`{}` cannot be required", shown(name)), help);
        } else if !services.iter().any(|setup| setup.name == name) {
            let help = format!("add `{name}: {{}}` to `services`, or remove it here");
            reader.report_with_help(node.span, format!("the scenario has no service `{name}`"), help);
        } else if !names.iter().any(|have| have == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The services that some subjects use and others do not.
fn optional_services() -> impl Iterator<Item = &'static str> + Clone {
    catalog::services().iter().filter(|service| service.can_be_added).map(|service| service.name.as_str())
}
