//! The last lines that a subject wrote to its standard error, for starts that did not end well.

use mock_services::ledger::{Entry, Event};
use mock_services::service::{Fields, Value};

use super::model::TrialReport;
use super::text::line;
use crate::trial::notes;

/// So many lines: enough for the end of a traceback.
const LINES: usize = 12;
/// So many characters of each.
const CHARACTERS: usize = 400;

/// The last lines of a start that exited with another status than 0, or was ended by a signal that hapax did
/// not send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LastLines {
    /// Which start ended, and how: `caller 1, start 1 exited with status 1`.
    pub(crate) head: String,
    /// The lines, made harmless, with their indentation.
    pub(crate) lines: Vec<String>,
}

/// The last lines of a text, made harmless. Indentation is kept: a traceback is read by it.
pub(crate) fn last_lines(stderr: &str) -> Vec<String> {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LINES));
    last.map(|text| line(&text.replace('\t', "    "), CHARACTERS)).collect()
}

/// The last lines of every start of a trial that did not end well and wrote something.
pub(crate) fn of_bad_ends(trial: &TrialReport, entries: &[Entry]) -> Vec<LastLines> {
    let ends = entries.iter().filter_map(|entry| match &entry.event {
        Event::Noted { name, caller, fields } if name == notes::ENDED => {
            Some((caller.unwrap_or(1), bad_end(fields)?, fields))
        }
        _ => None,
    });
    let found = ends.filter_map(|(caller, how, fields)| {
        let start: u32 = fields.get("start").map(Value::to_string)?.parse().ok()?;
        // Whoever is killed on purpose has not ended badly.
        let by_hapax = how.starts_with("was ended") && was_struck(entries, caller);
        let output = trial.output.iter().find(|output| output.caller == caller && output.start == start)?;
        let lines = last_lines(&output.stderr);
        (!by_hapax && !lines.is_empty())
            .then(|| LastLines { head: format!("caller {caller}, start {start} {how}"), lines })
    });
    found.collect()
}

fn bad_end(fields: &Fields) -> Option<String> {
    let text = |name: &str| fields.get(name).map(Value::to_string).unwrap_or_default();
    match (text("how").as_str(), text("status").as_str()) {
        ("exited", "0") => None,
        ("exited", status) => Some(format!("exited with status {status}")),
        ("signalled", signal) => Some(format!("was ended by signal {signal}")),
        _ => None,
    }
}

fn was_struck(entries: &[Entry], who: u32) -> bool {
    let struck = |entry: &Entry| matches!(&entry.event, Event::Noted { name, caller, .. } if name == notes::STRUCK && *caller == Some(who));
    entries.iter().any(struck)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_with_its_indentation_and_made_harmless() {
        let text = format!("{}Traceback:\n\tFile \"agent.py\"\n\n  boom \u{1b}[31m\n", "noise\n".repeat(50));
        let lines = last_lines(&text);
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[LINES - 3..], ["Traceback:", "    File \"agent.py\"", "  boom \\u{1b}[31m"]);
        assert_eq!(last_lines(" \n"), Vec::<String>::new());
    }
}
