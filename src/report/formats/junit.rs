//! `junit.xml`: a scenario is a suite, a case is a test, a finding is a failure, void is an error. It follows
//! the schema of Jenkins, the strictest one of CI systems; `tests/junit.rs` checks this.

use std::time::Duration;

use quick_junit::{
    NonSuccessKind, Property, Report as Junit, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

use crate::domain::{CapturedOutput, Promise};
use crate::report::formats::plain_text::{case_headline, case_text, output_text};
use crate::results::Ledgers;
use crate::results::tally::control_outcome_of;
use crate::results::tally::result_of;
use crate::results::{CaseReport, Report, TrialReport};
use crate::score::TrialStatus;
use crate::text::ci_commands;
use crate::text::line;

/// The maximum number of characters of the output of the subject.
const MAX_OUTPUT: usize = 16_000;

/// The run as JUnit XML.
///
/// # Errors
/// When the XML cannot be written, which does not happen with plain text in memory.
pub fn junit(report: &Report, ledgers: &Ledgers) -> Result<String, SerializeError> {
    let mut out = Junit::new("hapax");
    out.set_time(Duration::from_millis(report.duration_ms));
    let mut suites: Vec<TestSuite> = Vec::new();
    for case in &report.cases {
        let suite = suite(&mut suites, &case.scenario, report);
        suite.extra.insert("file".into(), line(&case.file, 500).into());
        suite.add_test_case(test(case, ledgers));
        let time = suite.time.unwrap_or_default() + time_of(case);
        suite.set_time(time);
    }
    for skipped in &report.skipped {
        let scenario = skipped.id.split_once('@').map_or(skipped.id.as_str(), |(scenario, _)| scenario);
        let mut status = TestCaseStatus::skipped();
        status.set_message(line(&skipped.why, 500));
        let mut test = TestCase::new(line(&skipped.id, 500), status);
        test.set_classname(line(scenario, 500)).set_time(Duration::ZERO);
        suite(&mut suites, scenario, report).add_test_case(test);
    }
    out.add_test_suites(suites);
    out.to_string().map(|xml| ci_commands::markup(&without_skipped_in_all(xml)).into_owned())
}

/// The schema has the number of skipped tests only for each suite.
fn without_skipped_in_all(xml: String) -> String {
    let Some((before, rest)) = xml.split_once(" skipped=\"") else { return xml };
    let after = rest.split_once('"').map_or("", |(_, after)| after);
    format!("{before}{after}")
}

fn suite<'a>(suites: &'a mut Vec<TestSuite>, scenario: &str, report: &Report) -> &'a mut TestSuite {
    let name = line(scenario, 500);
    let index = suites.iter().position(|suite| suite.name.as_str() == name).unwrap_or_else(|| {
        let mut suite = TestSuite::new(name.as_str());
        suite.set_time(Duration::ZERO);
        suite.add_property(Property::new("subject", line(&report.subject, 500)));
        suite.add_property(Property::new("seed", report.seed.to_string()));
        if report.promise() != Promise::default() {
            suite.add_property(Property::new("promise", report.promise().as_str()));
        }
        suites.push(suite);
        suites.len() - 1
    });
    &mut suites[index]
}

fn time_of(case: &CaseReport) -> Duration {
    Duration::from_millis(case.trials.iter().map(|trial| trial.duration_ms).sum())
}

fn test(case: &CaseReport, ledgers: &Ledgers) -> TestCase {
    let result = result_of(case);
    let failed = |kind, type_name: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(type_name).set_message(case_headline(case)).set_description(case_text(case, ledgers));
        status
    };
    let status = match result {
        TrialStatus::Pass => TestCaseStatus::success(),
        TrialStatus::Fail => failed(NonSuccessKind::Failure, control_outcome_of(case).as_str()),
        TrialStatus::Void => failed(NonSuccessKind::Error, "void"),
    };
    let mut test = TestCase::new(line(&case.id, 500), status);
    test.set_classname(line(&case.scenario, 500)).set_time(time_of(case));
    if let Some(trial) = case.trials.iter().find(|trial| trial.verdict.result == TrialStatus::Fail) {
        push_output(&mut test, trial);
    }
    test
}

fn push_output(test: &mut TestCase, trial: &TrialReport) {
    let stdout = output_text(trial, |output: &CapturedOutput| &output.stdout, MAX_OUTPUT);
    let stderr = output_text(trial, |output: &CapturedOutput| &output.stderr, MAX_OUTPUT);
    if !stdout.is_empty() {
        test.set_system_out(stdout);
    }
    if !stderr.is_empty() {
        test.set_system_err(stderr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_run_as_ci_systems_read_it() {
        let (report, ledgers) = sample::run();
        insta::assert_snapshot!(junit(&report, &ledgers).unwrap());
    }

    #[test]
    fn characters_that_are_not_xml_are_removed_and_markup_is_escaped() {
        let (report, ledgers) = sample::run_of(vec![sample::hostile(sample::HOSTILE)]);
        let xml = junit(&report, &ledgers).unwrap();
        assert!(
            !xml.chars().any(|character| character.is_control() && character != '\n' && character != '\t'),
            "{xml:?}"
        );
        assert!(!xml.contains("<script>") && !xml.contains("<img"), "{xml}");
        assert_eq!(xml.matches("<testcase ").count(), 2);
        assert_eq!(xml.matches("</testcase>").count(), 2);
    }
}
