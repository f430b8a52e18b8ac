//! The scenarios as Markdown tables: what each is about, and the expected outcomes of the controls.

use std::fmt::Write;

use super::load::counted;
use super::{Case, ControlOutcome};

/// A page with one table for each folder of scenarios, in the order of the cases.
#[must_use]
pub fn table_md(cases: &[Case]) -> String {
    let scenarios: Vec<&[Case]> = cases.chunk_by(|one, other| one.scenario == other.scenario).collect();
    let mut text = String::from("# Scenarios\n\n");
    let _ = writeln!(
        text,
        "{}, {}. `hapax list --markdown` generates this page; edit the scenarios, not the page.",
        counted(scenarios.len(), "scenario"),
        counted(cases.len(), "case")
    );
    text.push_str(
        "The last column has the expected outcome of each control. Where it differs between cases, it is \
         followed by\n\
         the number of cases. `hapax selftest` runs the controls and compares.\n",
    );
    for folder in scenarios.chunk_by(|one, other| folder_of(one) == folder_of(other)) {
        let name = folder.first().map_or("", |scenario| folder_of(scenario));
        let _ = write!(text, "\n## {}\n\n", if name.is_empty() { "Others" } else { name });
        text.push_str("| scenario | what it is about | cases | controls |\n| --- | --- | ---: | --- |\n");
        folder.iter().for_each(|scenario| row(&mut text, scenario));
    }
    text
}

fn row(text: &mut String, scenario: &[Case]) {
    let Some(first) = scenario.first() else { return };
    let short = first.scenario.rsplit('/').next().unwrap_or_default();
    let ending = first.file.rsplit('.').next().unwrap_or("yaml");
    let link = format!("[{}]({}.{ending})", escaped(short), first.scenario);
    let _ = writeln!(
        text,
        "| {link} | {} | {} | {} |",
        escaped(&first.about),
        scenario.len(),
        controls(scenario)
    );
}

/// The expected outcome of each control, in the order of the file.
fn controls(scenario: &[Case]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for term in scenario.iter().flat_map(|case| &case.controls) {
        if !names.contains(&term.control.as_str()) {
            names.push(&term.control);
        }
    }
    let outcomes: Vec<String> =
        names.into_iter().map(|name| format!("{name}: {}", outcome_of(scenario, name))).collect();
    let found = scenario.first().and_then(|case| case.found.as_ref());
    let found = found.map(|found| format!("found with {}: {}", escaped(&found.subject), found.finding));
    outcomes.into_iter().chain(found).collect::<Vec<_>>().join("; ")
}

fn outcome_of(scenario: &[Case], control: &str) -> String {
    let mut found: Vec<(ControlOutcome, usize)> = Vec::new();
    for term in scenario.iter().flat_map(|case| &case.controls).filter(|term| term.control == control) {
        match found.iter_mut().find(|(outcome, _)| *outcome == term.is) {
            Some((_, count)) => *count += 1,
            None => found.push((term.is, 1)),
        }
    }
    match found.as_slice() {
        [(outcome, _)] => outcome.as_str().to_owned(),
        several => several
            .iter()
            .map(|(outcome, count)| format!("{} {count}", outcome.as_str()))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn folder_of(scenario: &[Case]) -> &str {
    scenario.first().and_then(|case| case.scenario.rsplit_once('/')).map_or("", |(folder, _)| folder)
}

/// The text, escaped for a table cell.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use yaml_reader::Source;

    use super::*;
    use crate::scenario::read_scenario;

    fn cases(name: &str, about: &str) -> Vec<Case> {
        let text = format!(
            "about: {about}\ntask: Open a ticket.\n\
         steps: [{{ do: tickets.open, with: {{ customer: ann, subject: Broken }} }}]\n\
         matrix: {{ keys: [stripe, none] }}\n\
         services: {{ tickets: {{ idempotency: \"${{keys}}\" }} }}\n\
         faults: [{{ on: tickets.open, reply: drop }}]\n\
         expect: {{ effects: [{{ effect: tickets.open, where: {{ customer: ann }} }}] }}\n\
         controls:\n  naive: duplicated\n  keyed: [{{ when: {{ keys: none }}, is: duplicated }}, {{ is: \
         pass }}]\n"
        );
        read_scenario(&Source::new(format!("scenarios/{name}.yaml"), text), name).unwrap()
    }

    #[test]
    fn every_folder_has_a_table_and_every_scenario_a_line() {
        let mut all = cases("desk/lost", "The desk answers | nobody hears it.");
        all.extend(cases("desk/late", "Later."));
        all.extend(cases("mine", "Mine."));
        insta::assert_snapshot!(table_md(&all));
    }
}
