//! The command that tests an agent with a task of its own, from what it did in a trial with another task.

use mock_services::catalog::nouns;
use mock_services::ledger::{Entry, Event};

use crate::results::OwnTask;

/// The command for the first effect that is not due, if there is one. `command` is how the subject is named on the
/// command line.
pub(super) fn own_task(entries: &[Entry], unintended: &[u64], command: &str) -> Option<String> {
    let (effect, fields) = entries.iter().find_map(|entry| match &entry.event {
        Event::Committed { effect, fields, .. } if unintended.contains(&entry.n) => Some((effect, fields)),
        _ => None,
    })?;
    let task = OwnTask::of_effect(effect, fields)?;
    Some(format!("hapax run --task 'WHAT YOU ASK IT TO DO' --expect {} {command}", expected(&task)))
}

/// The command for a task that says what the agent does anyway.
pub(super) fn ready_command(task: &OwnTask, command: &str) -> String {
    let (noun, _) = nouns(&task.effect);
    // No value has a quote in it.
    let asked = format!("'Make this {noun}: {}'", named(task));
    format!("hapax run --task {asked} --expect {} {command}", expected(task))
}

/// The fields of an effect and their values, for people.
pub(super) fn named(task: &OwnTask) -> String {
    task.fields.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn expected(OwnTask { effect, fields }: &OwnTask) -> String {
    let named: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let separator = if named.is_empty() { "" } else { ":" };
    format!("'{effect}{separator}{}'", named.join(","))
}

#[cfg(test)]
mod tests {
    use mock_services::ledger::CommitTiming;
    use mock_services::service::Fields;

    use super::*;

    #[test]
    fn what_an_agent_did_becomes_the_expectation_of_its_own_task() {
        let fields = Fields::new()
            .with("amount", 500)
            .with("customer", "cus_9")
            .with("currency", "usd")
            .with("x", "y");
        let event = Event::Committed {
            attempt: 1,
            effect: "payment.charge".into(),
            id: "ch_1".into(),
            fields,
            timing: CommitTiming::Now,
        };
        let entries = [Entry { n: 4, at: 0, wall: 0, event }];
        let command = own_task(&entries, &[4], "-- python agent.py").unwrap();
        let expected = "--expect 'payment.charge:";
        assert!(command.contains(expected) && command.contains("customer=cus_9"), "{command}");
        assert!(command.ends_with(" -- python agent.py"), "{command}");
        assert_eq!(own_task(&entries, &[], ""), None);
    }
}
