//! A run as JSON lines: the run, then one line for each trial and for each case that was skipped.

use serde::Serialize;
use serde_json::json;

use crate::results::Report;
use crate::results::tally::Tally;
use crate::score::Verdict;
use crate::text::ci_commands;

/// One trial.
#[derive(Serialize)]
struct TrialLine<'a> {
    kind: &'static str,
    case: &'a str,
    scenario: &'a str,
    file: &'a str,
    line: usize,
    tags: &'a [String],
    trial: u32,
    seed: u64,
    ledger: &'a str,
    duration_ms: u64,
    replay: &'a str,
    verdict: &'a Verdict,
}

/// The run as JSON lines.
#[must_use]
pub fn jsonl(report: &Report) -> String {
    let count = Tally::new(report).cases;
    let first = json!({
        "kind": "run", "report": report.report, "hapax": report.hapax, "run": report.run,
        "subject": report.subject, "seed": report.seed, "started_at": report.started_at,
        "duration_ms": report.duration_ms, "trials": report.trials, "interrupted": report.interrupted,
        "planned": report.planned, "digest": report.digest,
        "cases": {
            "passed": count.pass, "failed": count.fail, "void": count.void, "skipped": report.skipped.len()
        },
    });
    let trials = report.cases.iter().flat_map(|case| {
        case.trials.iter().map(move |trial| TrialLine {
            kind: "trial",
            case: &case.id,
            scenario: &case.scenario,
            file: &case.file,
            line: case.line,
            tags: &case.tags,
            trial: trial.trial,
            seed: trial.seed,
            ledger: &trial.ledger,
            duration_ms: trial.duration_ms,
            replay: &trial.replay,
            verdict: &trial.verdict,
        })
    });
    let skipped = report
        .skipped
        .iter()
        .map(|skipped| json!({ "kind": "skipped", "case": skipped.id, "why": skipped.why }));
    let mut out = format!("{first}\n");
    // Plain data written into memory cannot fail.
    let lines = trials
        .filter_map(|trial| serde_json::to_string(&trial).ok())
        .chain(skipped.map(|skipped| skipped.to_string()));
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    ci_commands::json(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn each_line_is_a_json_object_that_says_what_it_is() {
        let (mut report, _) = sample::run();
        report.cases.push(sample::hostile(sample::HOSTILE).0);
        let text = jsonl(&report);
        let kinds: Vec<String> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(kinds.len(), 1 + 10 + 1);
        assert_eq!((kinds[0].as_str(), kinds[1].as_str(), kinds[11].as_str()), ("run", "trial", "skipped"));
    }

    #[test]
    fn one_trial_as_a_line() {
        let (report, _) = sample::run_of(vec![sample::lost()]);
        insta::assert_snapshot!(jsonl(&report));
    }
}
