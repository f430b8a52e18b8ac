//! The output of `serve`: a line for each entry of the ledger and, at the end, what was committed, how often,
//! and by which attempts. Text of callers is escaped.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use mock_services::ledger::{Audience, Entry, Event};
use mock_services::service::{Fields, Operation};
use yaml_reader::shown;

use super::StoppedServices;
use super::ranges::{grouped, ranges};
use crate::text::line as escaped_line;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const FAINT: Style = Style::new().dimmed();

/// The maximum number of groups that are listed; those that were committed more than once have priority.
const MAX_GROUPS: usize = 40;

/// The line of an entry; `None` for entries that are not shown.
#[must_use]
pub fn line(entry: &Entry) -> Option<String> {
    let words = entry.event.words(Audience::Log, escaped_line)?;
    let style = match &entry.event {
        Event::Received(_) | Event::Noted { .. } => Style::new(),
        Event::Committed { .. } => GOOD,
        Event::Fault { .. } | Event::Unsent { .. } | Event::Replied { whole: false, .. } => BAD,
        _ => FAINT,
    };
    let seconds = entry.at as f64 / 1_000_000.0;
    Some(format!("{seconds:>9.3}  {style}{:<9}{style:#}  {}", words.label, words.detail))
}

/// Fields as `name=value`, each after two spaces.
pub(super) fn fields(fields: &Fields) -> String {
    fields.iter().map(|(name, value)| format!("  {}={}", shown(name), shown(&value.to_string()))).collect()
}

/// Effects with the same identity.
#[derive(Debug, PartialEq, Eq)]
pub struct EffectGroup {
    /// The effect.
    pub effect: String,
    /// The fields that identify it.
    pub identity: Fields,
    /// How often it was committed.
    pub times: usize,
    /// The attempts that caused it, sorted; 0 stands for a change that no attempt caused.
    pub attempts: Vec<u64>,
}

/// All effects of a ledger, grouped by identity, in the order of their first commit.
#[must_use]
pub fn groups(entries: &[Entry], operations: &[Operation]) -> Vec<EffectGroup> {
    let mut groups: Vec<EffectGroup> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let Event::Committed { attempt, effect, fields: about, .. } = &entry.event else { continue };
        let identity = identity(effect, about, operations);
        let index = *known.entry(format!("{effect}{}", fields(&identity))).or_insert(groups.len());
        if index == groups.len() {
            groups.push(EffectGroup { effect: effect.to_string(), identity, times: 0, attempts: Vec::new() });
        }
        groups[index].times += 1;
        groups[index].attempts.push(*attempt);
    }
    for group in &mut groups {
        group.attempts.sort_unstable();
        group.attempts.dedup();
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
pub fn summary(ended: &StoppedServices) -> String {
    let mut text = String::from("\n");
    let groups = groups(&ended.entries, &ended.operations);
    if groups.is_empty() {
        text.push_str("Nothing was committed.\n");
    } else {
        text.push_str("Committed:\n");
    }
    let listed = listed(&groups);
    let width = listed.iter().map(|group| group.effect.len()).max().unwrap_or_default();
    for group in &listed {
        let times =
            if group.times == 1 { "once".to_owned() } else { format!("{} times", grouped(group.times)) };
        let by = match group.attempts.as_slice() {
            [0] => "by itself".to_owned(),
            [attempt] => format!("by attempt {attempt}"),
            attempts => format!("by attempts {}", ranges(attempts)),
        };
        let _ = writeln!(text, "  {:<width$}  {times:<9}{}  {by}", group.effect, fields(&group.identity));
    }
    text.push_str(&unlisted(&groups, &listed));
    text.push_str(&counts(&ended.entries));
    for fired in &ended.fired {
        let what = match fired.attempts.as_slice() {
            [] if fired.seen == 0 => "did not fire: no attempt matched".to_owned(),
            [] if fired.seen == 1 => "did not fire: 1 attempt matched, but not the selected one".to_owned(),
            [] => format!("did not fire: {} attempts matched, but not the selected one", fired.seen),
            [attempt] => format!("fired on attempt {attempt}"),
            attempts => {
                let mut attempts = attempts.to_vec();
                attempts.sort_unstable();
                format!("fired on attempts {}", ranges(&attempts))
            }
        };
        let _ = writeln!(text, "Fault {}: {what}", fired.fault);
    }
    text
}

/// The groups that are shown, in their order.
fn listed(groups: &[EffectGroup]) -> Vec<&EffectGroup> {
    let mut indexes: Vec<usize> = (0..groups.len()).collect();
    indexes.sort_by_key(|index| groups[*index].times == 1);
    indexes.truncate(MAX_GROUPS);
    indexes.sort_unstable();
    indexes.into_iter().map(|index| &groups[index]).collect()
}

/// The number of groups that are not shown.
fn unlisted(groups: &[EffectGroup], listed: &[&EffectGroup]) -> String {
    let more = groups.len() - listed.len();
    if more == 0 {
        return String::new();
    }
    let (all, shown) = (
        groups.iter().filter(|group| group.times > 1).count(),
        listed.iter().filter(|group| group.times > 1).count(),
    );
    let repeated = match all - shown {
        0 => "each committed once".to_owned(),
        several => format!("{} of them committed more than once", grouped(several)),
    };
    format!("  and {} more, {repeated}; the ledger has all of them (--ledger FILE)\n", grouped(more))
}

fn counts(entries: &[Entry]) -> String {
    let (mut attempts, mut refused, mut keys) = (0, 0, BTreeSet::new());
    for entry in entries {
        match &entry.event {
            Event::Received(received) => {
                attempts += 1;
                keys.extend(received.key.clone());
            }
            Event::Refused(_) => refused += 1,
            _ => {}
        }
    }
    let counted =
        |count: usize, what: &str| format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" });
    let keys = match keys.len() {
        0 => "without a key".to_owned(),
        count => format!("with {}", counted(count, "different key")),
    };
    format!("{} {keys}; {} refused.\n", counted(attempts, "attempt"), counted(refused, "request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(commits: impl Iterator<Item = (u64, String)>) -> StoppedServices {
        let entry = |(attempt, order): (u64, String)| Entry {
            n: attempt,
            at: 0,
            wall: 0,
            event: Event::Committed {
                attempt,
                effect: "tickets.open".into(),
                id: "t".into(),
                fields: Fields::new().with("order", order),
                timing: mock_services::ledger::CommitTiming::Now,
            },
        };
        let operations = vec![Operation::write("tickets.open", &[], &["order"])];
        StoppedServices {
            entries: commits.map(entry).collect(),
            fired: Vec::new(),
            operations,
            expected: Vec::new(),
            evidence_removed: false,
            armed: Vec::new(),
        }
    }

    #[test]
    fn many_attempts_are_one_range_with_a_count() {
        let text = summary(&ended((1..=195_481).map(|attempt| (attempt, "1".to_owned()))));
        assert!(
            text.contains("195,481 times") && text.contains("by attempts 1-195481 (195,481)\n"),
            "{text}"
        );
        assert!(text.len() < 400, "{text}");
    }

    #[test]
    fn of_many_effects_those_that_were_repeated_are_listed() {
        let text = summary(&ended((1..=1_000).map(|attempt| (attempt, (attempt % 999).to_string()))));
        assert!(text.contains("2 times    order=1  by attempts 1, 1000"), "{text}");
        assert!(text.contains("and 959 more, each committed once"), "{text}");
        assert!(text.lines().count() < 50, "{text}");
    }
}
