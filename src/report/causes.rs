//! What to fix first: findings grouped by what to change, rather than by case or by kind of effect.

use std::collections::BTreeMap;

use super::model::{CaseReport, Report};
use crate::report::text::words;
use crate::score::{FindingKind, Remedy};

/// One change, and the findings that it fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureCause<'a> {
    /// What to change.
    pub(crate) remedy: Remedy,
    /// The kind of its first finding.
    pub(crate) kind: FindingKind,
    /// The advice that most of its trials get, for their effect.
    pub(crate) fix: &'a str,
    /// The first finding with this advice, as an example.
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
    let mut causes: BTreeMap<Remedy, FailureCause<'a>> = BTreeMap::new();
    let mut fixes: BTreeMap<(Remedy, &str), (usize, &'a str, &'a str)> = BTreeMap::new();
    for case in cases {
        for trial in &case.trials {
            let mut seen = Vec::new();
            for finding in trial.verdict.findings.iter().filter(|finding| finding.fails) {
                let remedy = finding.remedy;
                if seen.contains(&remedy) {
                    continue;
                }
                seen.push(remedy);
                let (fix, example) = (finding.fix.as_str(), finding.message.as_str());
                fixes.entry((remedy, fix)).or_insert((0, fix, example)).0 += 1;
                let cause = causes.entry(remedy).or_insert_with(|| FailureCause {
                    remedy,
                    kind: finding.kind,
                    fix,
                    example,
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
    for cause in causes.values_mut() {
        let of_cause = fixes.iter().filter(|((remedy, _), _)| *remedy == cause.remedy);
        if let Some((_, (_, fix, example))) = of_cause.max_by_key(|(_, (trials, ..))| *trials) {
            (cause.fix, cause.example) = (fix, example);
        }
    }
    let mut causes: Vec<FailureCause<'a>> = causes.into_values().collect();
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.cases.len(), cause.trials)));
    causes
}

/// What to change first for a case: the remedy of its first finding that fails.
pub(crate) fn first_remedy(case: &CaseReport) -> Option<Remedy> {
    let findings = case.trials.iter().flat_map(|trial| &trial.verdict.findings);
    findings.filter(|finding| finding.fails).map(|finding| finding.remedy).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn findings_with_one_remedy_are_one_cause_and_the_widest_comes_first() {
        let (report, _) = sample::run();
        let causes = causes(&report);
        assert_eq!(causes[0].kind, FindingKind::Duplicated);
        assert_eq!(causes[0].cases.len(), 3, "{causes:?}");
        assert!(causes.windows(2).all(|pair| pair[0].cases.len() >= pair[1].cases.len()));
    }

    #[test]
    fn the_advice_of_a_cause_is_the_one_that_most_trials_get() {
        let (mut report, _) = sample::run();
        for (place, case) in report.cases.iter_mut().enumerate() {
            for finding in case.trials.iter_mut().flat_map(|trial| &mut trial.verdict.findings) {
                finding.remedy = Remedy::SameKey;
                finding.fix =
                    if place == 0 { "for the refund".to_owned() } else { "for the charge".to_owned() };
            }
        }
        let causes = causes(&report);
        assert_eq!((causes.len(), causes[0].fix), (1, "for the charge"));
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
