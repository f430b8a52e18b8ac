//! The last lines that a subject wrote to its standard error, for starts that did not end well.

use std::collections::BTreeSet;

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
    /// Which start ended, and how: `caller 1, start 1 exited with status 1`, or for callers that ended in the same
    /// way with the same lines `12 callers exited with status 1`; or which entry cannot be read.
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

/// The last lines of every start of a trial that did not end well and wrote something, each once, and the entries
/// that cannot be read.
pub(crate) fn of_bad_ends(trial: &TrialReport, entries: &[Entry]) -> Vec<LastLines> {
    let mut ended: Vec<BadEnds> = Vec::new();
    let mut unreadable = Vec::new();
    for entry in entries {
        match SubjectEvent::from_event(&entry.event) {
            Ok(Some(SubjectEvent::Ended(end))) => {
                let caller = caller_of(entry).unwrap_or(1);
                let Some((how, lines)) = of_end(trial, entries, caller, &end) else { continue };
                match ended.iter_mut().find(|other| other.how == how && other.lines == lines) {
                    Some(alike) => alike.starts.push((caller, end.start)),
                    None => ended.push(BadEnds { starts: vec![(caller, end.start)], how, lines }),
                }
            }
            Ok(_) => {}
            Err(error) => {
                let error = line(&error.to_string(), MAX_CHARACTERS);
                let head = format!("entry {} of the ledger cannot be read: {error}", entry.n);
                unreadable.push(LastLines { head, lines: Vec::new() });
            }
        }
    }
    let shown = |ends: BadEnds| LastLines { head: ends.head(), lines: ends.lines };
    ended.into_iter().map(shown).chain(unreadable).collect()
}

/// Starts that ended in the same way with the same last lines.
struct BadEnds {
    /// The caller and the number of each start.
    starts: Vec<(u32, u32)>,
    how: String,
    lines: Vec<String>,
}

impl BadEnds {
    fn head(&self) -> String {
        let callers: BTreeSet<u32> = self.starts.iter().map(|(caller, _)| *caller).collect();
        let how = &self.how;
        match (self.starts.as_slice(), callers.len()) {
            ([(caller, start)], _) => format!("caller {caller}, start {start} {how}"),
            ([(caller, _), ..], 1) => format!("caller {caller}, {} starts: each {how}", self.starts.len()),
            (_, count) => format!("{count} callers: each {how}"),
        }
    }
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

/// How a start ended that did not end well, and its last lines.
fn of_end(
    trial: &TrialReport,
    entries: &[Entry],
    caller: u32,
    event: &EndEvent,
) -> Option<(String, Vec<String>)> {
    let end = end_words(entries, caller, event)?;
    let start = event.start;
    let output = trial.output.iter().find(|output| output.caller == caller && output.start == start)?;
    let lines = last_lines(&output.stderr);
    (!lines.is_empty()).then_some((end, lines))
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
    use crate::domain::CapturedOutput;
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
    fn equal_last_lines_of_several_callers_are_shown_once() {
        let (case, _) = sample::pass(1);
        let mut trial = case.trials[0].clone();
        let mut entries = Vec::new();
        trial.output.clear();
        for caller in 1..=12 {
            let stderr = if caller == 7 { "other\n" } else { "Traceback:\n  boom\n" };
            trial.output.push(CapturedOutput {
                caller,
                start: 1,
                stderr: stderr.to_owned(),
                ..CapturedOutput::default()
            });
            let end = StartEnd::Exited(1);
            let ended = EndEvent { start: 1, end, left_running: 0, claimed_before_limit: None };
            let event = SubjectEvent::Ended(ended).to_ledger(Some(caller));
            entries.push(Entry { n: u64::from(caller), at: 0, wall: 0, event });
        }
        let found = of_bad_ends(&trial, &entries);
        let heads: Vec<&str> = found.iter().map(|found| found.head.as_str()).collect();
        assert_eq!(
            heads,
            ["11 callers: each exited with status 1", "caller 7, start 1 exited with status 1"]
        );
        assert_eq!(found[0].lines, ["Traceback:", "  boom"]);
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
