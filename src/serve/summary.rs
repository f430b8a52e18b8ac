//! What was committed, how often, and by which attempts: the last thing that `serve` says.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use mock_services::ledger::{Entry, Event};
use mock_services::service::{Fields, Operation};

use super::{Ended, show};

/// Effects that are the same by the fields that identify them.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// The effect.
    pub effect: String,
    /// What tells it from others.
    pub identity: Fields,
    /// How often it was committed.
    pub times: usize,
    /// The attempts that caused it; 0 is what the world did by itself.
    pub attempts: Vec<u64>,
}

/// All effects of a ledger, those that are the same in one group, in the order of their first commit.
#[must_use]
pub fn groups(entries: &[Entry], operations: &[Operation]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let Event::Committed { attempt, effect, fields, .. } = &entry.event else { continue };
        let identity = identity(effect, fields, operations);
        let place = *known.entry(format!("{effect}{}", show::fields(&identity))).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { effect: effect.to_string(), identity, times: 0, attempts: Vec::new() });
        }
        groups[place].times += 1;
        if !groups[place].attempts.contains(attempt) {
            groups[place].attempts.push(*attempt);
        }
    }
    groups
}

fn identity(effect: &str, fields: &Fields, operations: &[Operation]) -> Fields {
    let operation = operations.iter().find(|operation| operation.name == effect);
    let mut identity = Fields::new();
    for name in operation.iter().flat_map(|operation| &operation.identity) {
        if let Some(value) = fields.get(name) {
            identity.set(name.clone(), value.clone());
        }
    }
    identity
}

/// The summary as a user sees it.
#[must_use]
pub fn render(ended: &Ended) -> String {
    let mut text = String::from("\n");
    let groups = groups(&ended.entries, &ended.operations);
    if groups.is_empty() {
        text.push_str("Nothing was committed.\n");
    } else {
        text.push_str("Committed:\n");
    }
    let width = groups.iter().map(|group| group.effect.len()).max().unwrap_or_default();
    for group in &groups {
        let times = if group.times == 1 { "once".to_owned() } else { format!("{} times", group.times) };
        let attempts: Vec<String> = group.attempts.iter().map(u64::to_string).collect();
        let by = match group.attempts.as_slice() {
            [0] => "by itself".to_owned(),
            [_] => format!("by attempt {}", attempts[0]),
            _ => format!("by attempts {}", attempts.join(", ")),
        };
        let _ = writeln!(text, "  {:<width$}  {times:<9}{}  {by}", group.effect, show::fields(&group.identity));
    }
    text.push_str(&counts(&ended.entries));
    for fired in &ended.fired {
        let what = match fired.attempts.as_slice() {
            [] if fired.seen == 0 => "did not fire: no such attempt came".to_owned(),
            [] => format!("did not fire: {} attempts fitted, none was meant", fired.seen),
            attempts => {
                let attempts: Vec<String> = attempts.iter().map(u64::to_string).collect();
                format!("fired on attempt {}", attempts.join(", "))
            }
        };
        let _ = writeln!(text, "Fault {}: {what}", fired.fault);
    }
    text
}

fn counts(entries: &[Entry]) -> String {
    let (mut attempts, mut refused, mut keys) = (0, 0, BTreeSet::new());
    for entry in entries {
        match &entry.event {
            Event::Received(received) => {
                attempts += 1;
                keys.extend(received.key.clone());
            }
            Event::Refused { .. } => refused += 1,
            _ => {}
        }
    }
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let keys = match keys.len() {
        0 => "without a key".to_owned(),
        count => format!("with {}", counted(count, "different key")),
    };
    format!("{} {keys}; {} refused.\n", counted(attempts, "attempt"), counted(refused, "request"))
}
