//! `mcp` of a scenario: how well the tools are described to agents that get them over MCP. And which cases
//! can be done with tools at all.

use std::borrow::Cow;

use mock_services::catalog::{self, ServiceDescription};
use yaml_reader::shape::{MapShape, Shape, optional};
use yaml_reader::{Node, Reader};

use super::{Case, Step};
use crate::domain::{KeyDescription, ToolCards, ToolHints};

/// The words of `hints`.
const HINT_WORDS: [&str; 3] =
    [ToolHints::Right.as_str(), ToolHints::Absent.as_str(), ToolHints::Wrong.as_str()];
/// The words of `key_description`.
const KEY_WORDS: [&str; 2] = [KeyDescription::PerOperation.as_str(), KeyDescription::PerRequest.as_str()];

pub(super) static MCP: MapShape<2> = MapShape::new([
    optional("hints", Shape::Words(|| HINT_WORDS.to_vec())),
    optional("key_description", Shape::Words(|| KEY_WORDS.to_vec())),
]);

/// Reads `mcp`.
pub(super) fn read_mcp(reader: &Reader, node: &Node) -> ToolCards {
    let Some([hints, keys]) = reader.fields(node, "`mcp`", &MCP) else { return ToolCards::default() };
    let hint_words = ToolHints::ALL.map(|hints| (hints.as_str(), hints));
    let key_words = KeyDescription::ALL.map(|description| (description.as_str(), description));
    ToolCards {
        hints: hints.and_then(|node| reader.one_of(node, &hint_words)).unwrap_or_default(),
        key_description: keys.and_then(|node| reader.one_of(node, &key_words)).unwrap_or_default(),
    }
}

/// The description of a service of the case.
fn description(case: &Case, service: &str) -> Option<Cow<'static, ServiceDescription>> {
    match case.services.iter().find(|setup| setup.name == service) {
        Some(setup) => setup.description(),
        None => catalog::find(service).map(Cow::Borrowed),
    }
}

/// Whether a service of the case is offered as tools.
pub(crate) fn has_tools(case: &Case, service: &str) -> bool {
    description(case, service).is_some_and(|service| !(service.tools)().is_empty())
}

/// What the case needs and no tool offers; `None` if it can be done with tools.
pub(crate) fn not_offered_as_tools(case: &Case) -> Option<String> {
    let described = |operation: &str| description(case, operation.split('.').next().unwrap_or_default());
    let works = std::iter::once(&case.work).chain(&case.each).chain(&case.turns);
    let steps: Vec<&Step> = works.flat_map(|work| &work.steps).collect();
    let done = steps.iter().map(|step| step.operation.as_str());
    let due = case.terms.intents.iter().filter(|intent| intent.times > 0);
    let mut all = done.chain(due.map(|intent| intent.effect.as_str()));
    let without = |operation: &&str| described(operation).is_none_or(|service| (service.tools)().is_empty());
    if let Some(operation) = all.find(without) {
        return Some(operation.to_owned());
    }
    let by_case = case.terms.via.iter().map(|due| (due.operation.as_str(), due.apis.clone()));
    let by_steps = steps.iter().filter_map(|step| {
        Some((step.operation.as_str(), vec![step.with.get("via").map(ToString::to_string)?]))
    });
    by_case
        .chain(by_steps)
        .find(|(operation, apis)| {
            described(operation)
                .is_none_or(|service| !apis.iter().any(|api| offers(&service, operation, api)))
        })
        .map(|(operation, apis)| format!("{operation} via {}", apis.join(" or ")))
}

/// Whether a tool does the operation through this API.
fn offers(service: &ServiceDescription, operation: &str, api: &str) -> bool {
    let of_api = |method: &str, path: &str| (service.api_of)(method, path) == Some(api);
    (service.tools)().iter().any(|tool| tool.operation == operation && of_api(tool.method, &tool.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::shipped;

    #[test]
    fn only_cases_that_need_smtp_or_any_host_cannot_be_done_with_tools() {
        let (mut offered, mut missing) = (0, Vec::new());
        for case in shipped().unwrap() {
            match not_offered_as_tools(&case) {
                None => offered += 1,
                Some(needs) => missing.push(needs),
            }
        }
        missing.sort();
        missing.dedup();
        let is_any_host = |needs: &str| {
            catalog::services()
                .iter()
                .any(|service| service.any_host && needs.starts_with(&format!("{}.", service.name)))
        };
        missing.retain(|needs| !is_any_host(needs));
        assert_eq!(missing, ["email.send via smtp"]);
        assert!(offered > 100, "{offered}");
    }
}
