//! A run as TAP, version 14: a case is a test point, with its problems in a YAML block.

use std::fmt::Write as _;

use serde_json::json;

use crate::report::formats::plain_text::case_headline;
use crate::results::tally::control_outcome_of;
use crate::results::tally::{count, result_of};
use crate::results::{CaseReport, Report};
use crate::score::TrialStatus;
use crate::text::ci_commands;
use crate::text::line;

/// The run as TAP.
#[must_use]
pub fn tap(report: &Report) -> String {
    let mut out = format!("TAP version 14\n1..{}\n", report.cases.len() + report.skipped.len());
    for (index, case) in report.cases.iter().enumerate() {
        let ok = if result_of(case) == TrialStatus::Pass { "ok" } else { "not ok" };
        let _ = writeln!(out, "{ok} {} - {}", index + 1, description(&case.id));
        if result_of(case) != TrialStatus::Pass {
            push_block(&mut out, case);
        }
    }
    for (index, skipped) in report.skipped.iter().enumerate() {
        let number = report.cases.len() + index + 1;
        let _ = writeln!(
            out,
            "ok {number} - {} # SKIP {}",
            description(&skipped.id),
            ci_commands::text(&line(&skipped.why, 500))
        );
    }
    out
}

fn push_block(out: &mut String, case: &CaseReport) {
    let count = count(&case.trials);
    let fixes = case.trials.iter().flat_map(|trial| &trial.verdict.findings).filter(|finding| finding.fails);
    let mut fixes: Vec<String> = fixes.map(|finding| line(&finding.fix, 1_000)).collect();
    fixes.dedup();
    let rows = [
        ("result", json!(result_of(case).as_str())),
        ("verdict", json!(control_outcome_of(case).as_str())),
        ("message", json!(case_headline(case))),
        ("fix", json!(fixes.first())),
        ("at", json!({ "file": case.file, "line": case.line })),
        ("trials", json!({ "passed": count.pass, "failed": count.fail, "void": count.void })),
        (
            "again",
            json!(
                case.trials
                    .iter()
                    .find(|trial| trial.verdict.result != TrialStatus::Pass)
                    .map(|trial| &trial.replay)
            ),
        ),
    ];
    // JSON is YAML, with unambiguous quotes.
    out.push_str("  ---\n");
    for (name, value) in rows {
        let _ = writeln!(out, "  {name}: {}", ci_commands::json(&value.to_string()));
    }
    out.push_str("  ...\n");
}

/// A `#` would begin a directive.
fn description(id: &str) -> String {
    line(id, 500).replace('\\', "\\\\").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_run_as_tap() {
        let (report, _) = sample::run();
        insta::assert_snapshot!(tap(&report));
    }

    #[test]
    fn a_name_cannot_become_a_directive() {
        let (mut case, saved) = sample::lost();
        case.id = "x # SKIP\nok 2".to_owned();
        let text = tap(&sample::run_of(vec![(case, saved)]).0);
        assert!(text.contains("not ok 1 - x \\# SKIP\\\\nok 2\n"), "{text}");
    }
}
