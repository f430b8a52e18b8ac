//! Lines that GitHub shows beside the scenario: `::error file=…,line=…::`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::report::formats::plain_text::case_headline;
use crate::results::Report;
use crate::results::tally::{result_of, worst_first};
use crate::scenario::BUILT_IN;
use crate::score::TrialStatus;
use crate::text::ci_commands;
use crate::text::line;
use crate::text::words::counted;

/// The maximum number of annotations that GitHub shows for a step.
const MAX_ANNOTATIONS: usize = 10;
/// The maximum number of characters of a message.
const MAX_TEXT: usize = 1_000;

/// One line for each position in a scenario file at which a case failed or is void, worst first, without those
/// that are known to fail.
#[must_use]
pub fn annotations(report: &Report, known: &BTreeSet<String>) -> String {
    let mut places: Vec<(&str, usize, TrialStatus, String, usize)> = Vec::new();
    for case in worst_first(report) {
        let result = result_of(case);
        if result == TrialStatus::Pass || known.contains(&case.id) {
            continue;
        }
        match places.iter_mut().find(|(file, at, ..)| (*file, *at) == (case.file.as_str(), case.line)) {
            Some((.., more)) => *more += 1,
            None => places.push((
                &case.file,
                case.line,
                result,
                format!("{}: {}", line(&case.id, 300), case_headline(case)),
                0,
            )),
        }
    }
    let mut out = String::new();
    for (file, at, result, message, more) in places.iter().take(MAX_ANNOTATIONS) {
        let (level, title) = if *result == TrialStatus::Fail {
            ("error", "hapax: failed")
        } else {
            ("warning", "hapax: void")
        };
        let more = if *more == 0 {
            String::new()
        } else {
            format!("\nAnd {} of this scenario.", counted(*more, "more case"))
        };
        let message = data(&ci_commands::text(&format!("{}{more}", line(message, MAX_TEXT))));
        // A file that is built in is not in the repository of the user.
        let location = match file.starts_with(BUILT_IN) {
            true => String::new(),
            false => format!("file={},line={at},", property(&line(file, 300))),
        };
        let _ = writeln!(out, "::{level} {location}title={}::{message}", property(title));
    }
    out
}

/// A message must not end its line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property must not end early.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn what_failed_is_shown_at_the_line_of_its_scenario() {
        let (report, _) = sample::run();
        insta::assert_snapshot!(annotations(&report, &BTreeSet::new()));
    }

    #[test]
    fn a_known_failure_is_not_shown() {
        let (report, _) = sample::run_of(vec![sample::lost()]);
        let known = BTreeSet::from([report.cases[0].id.clone()]);
        assert_eq!(annotations(&report, &known), "");
    }

    #[test]
    fn text_cannot_inject_a_command() {
        let (mut case, saved) = sample::hostile("100%\r\n::error::mine");
        case.file = "a,line=9::b\n::warning::c".to_owned();
        let (report, _) = sample::run_of(vec![(case, saved)]);
        let text = annotations(&report, &BTreeSet::new());
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(text.matches("line=3,").count(), 1);
        assert!(text.starts_with("::error file=a%2Cline=9%3A%3Ab"), "{text}");
    }

    #[test]
    fn cases_of_one_scenario_share_a_line() {
        let (report, _) =
            sample::run_of(vec![sample::double_charge("none"), sample::double_charge("stripe")]);
        let text = annotations(&report, &BTreeSet::new());
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("%0AAnd 1 more case of this scenario."), "{text}");
    }
}
