//! Findings of intents in one list (`each`): the same problem in many of them is one finding.

use yaml_reader::shown;

use super::{FindingContext, duplicates, lost, unexpected};
use crate::score::verdict::Finding;

/// The maximum number of further members of a list that are named.
const MAX_NAMED_MEMBERS: usize = 3;

/// The findings of all intents, in their order; within a list one for each kind.
pub(super) fn of_intents(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let (mut found, mut groups): (Vec<Finding>, Vec<Group>) = (Vec::new(), Vec::new());
    for index in 0..context.terms.intents.len() {
        let list = context
            .terms
            .lists
            .iter()
            .position(|list| (list.first..list.first.saturating_add(list.count)).contains(&index));
        let all = [
            duplicates::finding(context, index),
            lost::finding(context, index),
            unexpected::altered(context, index),
        ];
        for finding in all.into_iter().flatten() {
            let alike = |group: &&mut Group| {
                let first = &found[group.finding];
                Some(group.list) == list && first.kind == finding.kind && first.fails == finding.fails
            };
            if let Some(group) = groups.iter_mut().find(alike) {
                group.others.push(index);
                found[group.finding].entries.extend(finding.entries);
            } else {
                groups.extend(list.map(|list| Group { list, finding: found.len(), others: Vec::new() }));
                found.push(finding);
            }
        }
    }
    for group in groups.iter().filter(|group| !group.others.is_empty()) {
        let (of, more) = (context.terms.lists[group.list].count, group.others.len());
        let names: Vec<String> =
            group.others.iter().take(MAX_NAMED_MEMBERS).map(|index| name(context, *index)).collect();
        let rest = if more > MAX_NAMED_MEMBERS {
            format!(" and {} others", more - MAX_NAMED_MEMBERS)
        } else {
            String::new()
        };
        let text =
            format!(" The same is true of {more} more of the {of} in this list: {}{rest}.", names.join(", "));
        found[group.finding].message.push_str(&text);
    }
    found
}

/// Members of one list with the same kind of finding.
struct Group {
    list: usize,
    /// The index of the finding of the first of them.
    finding: usize,
    /// The indexes of the other intents.
    others: Vec<usize>,
}

/// The value that distinguishes a member: the field in which it differs from its neighbor in the list.
fn name(context: &FindingContext<'_, '_>, index: usize) -> String {
    let intents = &context.terms.intents;
    let neighbour = if index == 0 { intents.get(1) } else { intents.get(index - 1) };
    let differs = |(name, value): &(&str, &mock_services::service::Value)| {
        neighbour.is_none_or(|neighbour| neighbour.selector.get(name) != Some(value))
    };
    intents[index]
        .selector
        .iter()
        .find(differs)
        .map_or_else(String::new, |(_, value)| shown(&value.to_string()))
}
