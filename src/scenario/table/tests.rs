use mock_services::yaml::Source;

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
