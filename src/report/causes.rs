//! What to fix first: findings grouped by their cause rather than by case. One fix is one cause.

use std::collections::HashMap;

use super::model::Report;
use crate::report::text::words;
use crate::score::FindingKind;

/// One cause, and the findings that it explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureCause<'a> {
    pub(crate) kind: FindingKind,
    pub(crate) fix: &'a str,
    /// The first finding of that kind, as an example.
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
    let mut causes: Vec<FailureCause<'_>> = Vec::new();
    let mut places: HashMap<(FindingKind, &str), usize> = HashMap::new();
    for case in &report.cases {
        for trial in &case.trials {
            let mut seen = Vec::new();
            for finding in trial.verdict.findings.iter().filter(|finding| finding.fails) {
                let (kind, fix, example) = (finding.kind, finding.fix.as_str(), finding.message.as_str());
                let place = *places.entry((kind, fix)).or_insert_with(|| {
                    causes.push(FailureCause { kind, fix, example, cases: Vec::new(), trials: 0 });
                    causes.len() - 1
                });
                if seen.contains(&place) {
                    continue;
                }
                seen.push(place);
                causes[place].trials += 1;
                if causes[place].cases.last() != Some(&case.id.as_str()) {
                    causes[place].cases.push(&case.id);
                }
            }
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.cases.len(), cause.trials)));
    causes
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
