//! The command that tests an agent with a task of its own, from what it did in a trial with another task.

use mock_services::catalog;
use mock_services::ledger::{Entry, Event};

/// How many fields of the effect are named.
const MAX_FIELDS: usize = 3;

/// The command for the first effect that is not due, if there is one. `command` is how the subject is named on the
/// command line.
pub(super) fn own_task(entries: &[Entry], unintended: &[u64], command: &str) -> Option<String> {
    let (effect, fields) = entries.iter().find_map(|entry| match &entry.event {
        Event::Committed { effect, fields, .. } if unintended.contains(&entry.n) => Some((effect, fields)),
        _ => None,
    })?;
    let service = effect.split('.').next().unwrap_or_default();
    let natural = &catalog::find(service)?.effect(effect)?.natural;
    let is_plain = |text: &str| !text.is_empty() && !text.contains([',', '"', '\'', '[', '\n']);
    let named = natural.iter().filter_map(|name| Some((name, fields.get(name)?.to_string())));
    let named = named.filter(|(_, value)| is_plain(value)).take(MAX_FIELDS);
    let named: Vec<String> = named.map(|(name, value)| format!("{name}={value}")).collect();
    let separator = if named.is_empty() { "" } else { ":" };
    let expected = format!("'{effect}{separator}{}'", named.join(","));
    Some(format!("hapax run --task 'WHAT YOU ASK IT TO DO' --expect {expected} {command}"))
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
