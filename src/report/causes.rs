//! What to fix first: findings grouped by their fix, rather than by case or by kind of effect.

use std::collections::BTreeMap;

use super::model::{CaseReport, Report};
use crate::report::text::words;
use crate::score::{Finding, FindingKind, Remedy};

/// One fix, and the findings that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureCause<'a> {
    /// What kind of change it is.
    pub(crate) remedy: Remedy,
    /// The kind of its first finding.
    pub(crate) kind: FindingKind,
    /// The advice, which is that of every finding.
    pub(crate) fix: &'a str,
    /// The first finding, as an example.
    pub(crate) example: &'a str,
    /// The ids of the cases, each once.
    pub(crate) cases: Vec<&'a str>,
    /// How many trials.
    pub(crate) trials: usize,
}

impl FailureCause<'_> {
    /// How many trials and cases it affects.
    pub(crate) fn reach(&self) -> String {
        format!("{} in {}", words::counted(self.trials, "trial"), words::counted(self.cases.len(), "case"))
    }
}

/// The causes of all findings that fail, the one that affects the most cases first.
pub(crate) fn causes(report: &Report) -> Vec<FailureCause<'_>> {
    causes_of(report.cases.iter())
}

/// The causes of the findings of these cases.
pub(crate) fn causes_of<'a>(cases: impl Iterator<Item = &'a CaseReport>) -> Vec<FailureCause<'a>> {
    let mut causes: BTreeMap<CauseKey<'a>, FailureCause<'a>> = BTreeMap::new();
    for case in cases {
        for trial in &case.trials {
            let mut seen = Vec::new();
            for finding in trial.verdict.findings.iter().filter(|finding| finding.fails) {
                let key = key_of(finding);
                if seen.contains(&key) {
                    continue;
                }
                seen.push(key);
                let cause = causes.entry(key).or_insert_with(|| FailureCause {
                    remedy: finding.remedy,
                    kind: finding.kind,
                    fix: &finding.fix,
                    example: &finding.message,
                    cases: Vec::new(),
                    trials: 0,
                });
                cause.trials += 1;
                if cause.cases.last() != Some(&case.id.as_str()) {
                    cause.cases.push(&case.id);
                }
            }
        }
    }
    let mut causes: Vec<FailureCause<'a>> = causes.into_values().collect();
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.cases.len(), cause.trials)));
    causes
}

/// What findings with the same cause have in common.
pub(crate) type CauseKey<'a> = (Remedy, &'a str);

fn key_of(finding: &Finding) -> CauseKey<'_> {
    (finding.remedy, &finding.fix)
}

/// What to change first for a case: the cause of its first finding that fails.
pub(crate) fn first_cause(case: &CaseReport) -> Option<CauseKey<'_>> {
    let mut findings = case.trials.iter().flat_map(|trial| &trial.verdict.findings);
    findings.find(|finding| finding.fails).map(key_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn findings_with_one_fix_are_one_cause_and_the_widest_comes_first() {
        let (report, _) = sample::run();
        let causes = causes(&report);
        assert_eq!(causes[0].kind, FindingKind::Duplicated);
        assert_eq!(causes[0].cases.len(), 2, "{causes:?}");
        assert!(causes.windows(2).all(|pair| pair[0].cases.len() >= pair[1].cases.len()));
    }

    /// The advice that is shown for a cause is then true of every case that is listed below it.
    #[test]
    fn findings_with_another_fix_are_another_cause() {
        let (mut report, _) = sample::run();
        for (place, case) in report.cases.iter_mut().enumerate() {
            for finding in case.trials.iter_mut().flat_map(|trial| &mut trial.verdict.findings) {
                finding.remedy = Remedy::WholeTask;
                finding.fix = if place == 0 { "it was not attempted".to_owned() } else { "retry".to_owned() };
            }
        }
        let causes = causes(&report);
        let fixes: Vec<&str> = causes.iter().map(|cause| cause.fix).collect();
        assert_eq!(fixes, ["retry", "it was not attempted"]);
        assert_eq!(causes[1].cases, [report.cases[0].id.as_str()]);
    }

    #[test]
    fn findings_that_do_not_fail_are_not_causes() {
        let (mut report, _) = sample::run();
        for case in &mut report.cases {
            for finding in case.trials.iter_mut().flat_map(|trial| &mut trial.verdict.findings) {
                finding.fails = false;
            }
        }
        assert_eq!(causes(&report), []);
    }
}
