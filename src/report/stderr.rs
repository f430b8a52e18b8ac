//! The last lines that a subject wrote to its standard error, for starts that did not end well.

use mock_services::ledger::{Entry, Event};

use super::model::TrialReport;
use super::text::line;
use crate::domain::{EndEvent, StartEnd, SubjectEvent};

/// How many lines are kept: enough for the end of a traceback.
const LINES: usize = 12;
/// How many characters of each line are kept.
const CHARACTERS: usize = 400;

/// The last lines of a start that exited with another status than 0, or was ended by a signal that hapax did
/// not send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LastLines {
    /// Which start ended, and how: `caller 1, start 1 exited with status 1`.
    pub(crate) head: String,
    /// The lines, escaped, with their indentation.
    pub(crate) lines: Vec<String>,
}

/// The last lines of a text, escaped. Indentation is kept, because tracebacks need it.
pub(crate) fn last_lines(stderr: &str) -> Vec<String> {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LINES));
    last.map(|text| line(&text.replace('\t', "    "), CHARACTERS)).collect()
}

/// The last lines of every start of a trial that did not end well and wrote something.
pub(crate) fn of_bad_ends(trial: &TrialReport, entries: &[Entry]) -> Vec<LastLines> {
    let ends = entries.iter().filter_map(|entry| match (&entry.event, SubjectEvent::of(&entry.event)?) {
        (Event::Noted { caller, .. }, SubjectEvent::Ended(end)) => Some((caller.unwrap_or(1), end)),
        _ => None,
    });
    let found = ends.filter_map(|(caller, EndEvent { start, end, .. })| {
        let how = match end {
            StartEnd::Exited(0) => return None,
            StartEnd::Exited(status) => format!("exited with status {status}"),
            // A start that was killed on purpose has not ended badly.
            StartEnd::Signaled(_) if was_interrupted(entries, caller) => return None,
            StartEnd::Signaled(signal) => format!("was ended by signal {signal}"),
            StartEnd::Answered(_) | StartEnd::NoAnswer | StartEnd::TimeUp | StartEnd::OverLimit => {
                return None;
            }
        };
        let output = trial.output.iter().find(|output| output.caller == caller && output.start == start)?;
        let lines = last_lines(&output.stderr);
        let head = format!("caller {caller}, start {start} {how}");
        (!lines.is_empty()).then_some(LastLines { head, lines })
    });
    found.collect()
}

fn was_interrupted(entries: &[Entry], who: u32) -> bool {
    entries.iter().any(|entry| {
        matches!(&entry.event, Event::Noted { caller, .. } if *caller == Some(who))
            && matches!(SubjectEvent::of(&entry.event), Some(SubjectEvent::Interrupted(_)))
    })
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
