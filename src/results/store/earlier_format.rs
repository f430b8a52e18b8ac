//! Reads `report.json` of format 2. It differs in one thing: `framework` and `agent` were said of more retries than
//! they are now, and nothing in the report says which of them it was.

use crate::results::model::{REPORT_VERSION, Report};
use crate::score::RetriedBy;

/// The format before this one.
pub(super) const VERSION: u32 = 2;

/// A report of that format, as one of this format.
pub(super) fn read(text: &str) -> Result<Report, serde_json::Error> {
    let mut report: Report = serde_json::from_str(text)?;
    report.report = REPORT_VERSION;
    let trials = report.cases.iter_mut().flat_map(|case| &mut case.trials);
    for verdict in trials.map(|trial| &mut trial.verdict) {
        let each = verdict.retries.iter_mut().map(|retry| &mut retry.by);
        for by in each.chain([&mut verdict.retried_by]) {
            if matches!(by, RetriedBy::Framework | RetriedBy::Agent) {
                *by = RetriedBy::NotSure;
            }
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_whose_meaning_has_changed_are_not_taken_over() {
        let (report, _) = crate::results::sample::run();
        for (then, now) in [
            (RetriedBy::Framework, RetriedBy::NotSure),
            (RetriedBy::Agent, RetriedBy::NotSure),
            (RetriedBy::Client, RetriedBy::Client),
            (RetriedBy::Nobody, RetriedBy::Nobody),
        ] {
            let mut earlier = report.clone();
            earlier.report = VERSION;
            earlier.cases[0].trials[0].verdict.retried_by = then;
            let text = serde_json::to_string(&earlier).unwrap();
            let read = read(&text).unwrap();
            assert_eq!((read.report, read.cases[0].trials[0].verdict.retried_by), (REPORT_VERSION, now));
        }
    }
}
