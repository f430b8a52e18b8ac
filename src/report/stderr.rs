//! The last lines that a subject wrote to its standard error, for starts that did not end well.

use mock_services::ledger::{Entry, Event};

use crate::domain::{EndEvent, StartEnd, SubjectEvent};
use crate::results::TrialReport;
use crate::text::line;

/// The maximum number of lines: enough for the end of a traceback.
const MAX_LINES: usize = 12;
/// The maximum number of characters of a line.
const MAX_CHARACTERS: usize = 400;

/// The last lines of a start that exited with another status than 0, or was ended by a signal that hapax did
/// not send; or an entry of the ledger that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LastLines {
    /// Which start ended, and how: `caller 1, start 1 exited with status 1`; or which entry cannot be read.
    pub(crate) head: String,
    /// The lines, escaped, with their indentation.
    pub(crate) lines: Vec<String>,
}

/// The last lines of a text, escaped. Indentation is kept, because tracebacks need it.
pub(crate) fn last_lines(stderr: &str) -> Vec<String> {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(MAX_LINES));
    last.map(|text| line(&text.replace('\t', "    "), MAX_CHARACTERS)).collect()
}

/// The last lines of every start of a trial that did not end well and wrote something, and the entries that
/// cannot be read.
pub(crate) fn of_bad_ends(trial: &TrialReport, entries: &[Entry]) -> Vec<LastLines> {
    let mut found = Vec::new();
    for entry in entries {
        match SubjectEvent::from_event(&entry.event) {
            Ok(Some(SubjectEvent::Ended(end))) => {
                found.extend(of_end(trial, entries, caller_of(entry).unwrap_or(1), &end));
            }
            Ok(_) => {}
            Err(error) => {
                let error = line(&error.to_string(), MAX_CHARACTERS);
                let head = format!("entry {} of the ledger cannot be read: {error}", entry.n);
                found.push(LastLines { head, lines: Vec::new() });
            }
        }
    }
    found
}

/// The caller and the number of every start that did not end well.
pub(crate) fn bad_ends(entries: &[Entry]) -> Vec<(u32, u32)> {
    let ended = entries.iter().filter_map(|entry| match SubjectEvent::from_event(&entry.event) {
        Ok(Some(SubjectEvent::Ended(end))) => Some((caller_of(entry).unwrap_or(1), end)),
        _ => None,
    });
    let is_bad = |caller: u32, end: &EndEvent| end_words(entries, caller, end).is_some();
    ended.filter(|(caller, end)| is_bad(*caller, end)).map(|(caller, end)| (caller, end.start)).collect()
}

/// How a start ended that did not end well.
fn end_words(entries: &[Entry], caller: u32, event: &EndEvent) -> Option<String> {
    match event.end {
        StartEnd::Exited(0) => None,
        StartEnd::Exited(status) => Some(format!("exited with status {status}")),
        // A start that was killed on purpose has not ended badly.
        StartEnd::Signaled(_) if was_interrupted(entries, caller) => None,
        StartEnd::Signaled(signal) => Some(format!("was ended by signal {signal}")),
        StartEnd::Answered(_) | StartEnd::NoAnswer | StartEnd::TimeUp | StartEnd::OverLimit => None,
    }
}

fn of_end(trial: &TrialReport, entries: &[Entry], caller: u32, event: &EndEvent) -> Option<LastLines> {
    let end = end_words(entries, caller, event)?;
    let start = event.start;
    let output = trial.output.iter().find(|output| output.caller == caller && output.start == start)?;
    let lines = last_lines(&output.stderr);
    let head = format!("caller {caller}, start {start} {end}");
    (!lines.is_empty()).then_some(LastLines { head, lines })
}

fn was_interrupted(entries: &[Entry], caller: u32) -> bool {
    // An entry that cannot be read is reported by the caller of this function.
    let is_interrupt = |entry: &Entry| {
        matches!(SubjectEvent::from_event(&entry.event), Ok(Some(SubjectEvent::Interrupted(_))))
    };
    entries.iter().any(|entry| caller_of(entry) == Some(caller) && is_interrupt(entry))
}

/// The caller that a note is about.
fn caller_of(entry: &Entry) -> Option<u32> {
    let Event::Noted { caller, .. } = &entry.event else { return None };
    *caller
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::results::sample;

    #[test]
    fn an_entry_that_cannot_be_read_is_shown() {
        let (case, mut saved) = sample::pass(1);
        assert_eq!(of_bad_ends(&case.trials[0], &saved.entries), []);
        let fields = Fields::new().with("start", "two");
        let event = Event::Noted { name: "ended".into(), caller: Some(1), fields };
        saved.entries.push(Entry { n: 99, at: 0, wall: 0, event });
        let found = of_bad_ends(&case.trials[0], &saved.entries);
        assert_eq!(found.len(), 1);
        assert!(found[0].head.starts_with("entry 99 of the ledger cannot be read: "), "{}", found[0].head);
    }

    #[test]
    fn the_end_is_kept_with_its_indentation_and_escaped() {
        let text = format!("{}Traceback:\n\tFile \"agent.py\"\n\n  boom \u{1b}[31m\n", "noise\n".repeat(50));
        let lines = last_lines(&text);
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[MAX_LINES - 3..], ["Traceback:", "    File \"agent.py\"", "  boom \\u{1b}[31m"]);
        assert_eq!(last_lines(" \n"), Vec::<String>::new());
    }
}
