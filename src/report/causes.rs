//! What to fix first: findings grouped by the kind of change that fixes them, rather than by case or by kind of effect.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::HarmRank;
use crate::results::{CaseReport, Report};
use crate::score::{Finding, FindingKind, Remedy};
use crate::text::words;

/// One kind of change, and the findings that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureCause<'a> {
    /// What kind of change it is.
    pub(crate) remedy: Remedy,
    /// How harmful the worst of its findings is.
    harm: HarmRank,
    /// The cases and trials with such a finding.
    pub(crate) reach: Reach<'a>,
    /// The different advice for this kind of change, the most harmful first.
    pub(crate) fixes: Vec<CauseFix<'a>>,
}

/// One advice, and the findings that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CauseFix<'a> {
    /// The kind of its first finding.
    pub(crate) kind: FindingKind,
    harm: HarmRank,
    /// The advice, which is that of every finding.
    pub(crate) fix: &'a str,
    /// The first finding, as an example.
    pub(crate) example: &'a str,
    /// The cases and trials with such a finding.
    pub(crate) reach: Reach<'a>,
}

/// The cases and trials that have a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reach<'a> {
    /// The ids of the cases, each once.
    pub(crate) cases: Vec<&'a str>,
    /// How many trials.
    pub(crate) trials: usize,
}

impl<'a> Reach<'a> {
    fn add_trial(&mut self, case: &'a CaseReport) {
        self.trials += 1;
        if self.cases.last() != Some(&case.id.as_str()) {
            self.cases.push(&case.id);
        }
    }

    /// How many trials and cases it has.
    pub(crate) fn words(&self) -> String {
        format!("{} in {}", words::counted(self.trials, "trial"), words::counted(self.cases.len(), "case"))
    }
}

/// The causes of all findings that fail: the most harmful first, then the one that affects the most cases.
pub(crate) fn causes(report: &Report) -> Vec<FailureCause<'_>> {
    causes_of(report.cases.iter())
}

/// The causes of the findings of these cases.
pub(crate) fn causes_of<'a>(cases: impl Iterator<Item = &'a CaseReport>) -> Vec<FailureCause<'a>> {
    let mut reaches: BTreeMap<Remedy, Reach<'a>> = BTreeMap::new();
    let mut fixes: BTreeMap<CauseKey<'a>, CauseFix<'a>> = BTreeMap::new();
    for case in cases {
        for trial in &case.trials {
            for remedy in trial.verdict.failing().map(|finding| finding.remedy).collect::<BTreeSet<Remedy>>()
            {
                reaches.entry(remedy).or_default().add_trial(case);
            }
            let mut seen = BTreeSet::new();
            for finding in trial.verdict.failing() {
                let fix = fixes.entry(key_of(finding)).or_insert_with(|| CauseFix {
                    kind: finding.kind,
                    harm: HarmRank::Note,
                    fix: &finding.fix,
                    example: &finding.message,
                    reach: Reach::default(),
                });
                fix.harm = fix.harm.min(finding.kind.harm());
                if seen.insert(key_of(finding)) {
                    fix.reach.add_trial(case);
                }
            }
        }
    }
    let mut causes: Vec<FailureCause<'a>> = reaches
        .into_iter()
        .map(|(remedy, reach)| FailureCause { remedy, harm: HarmRank::Note, reach, fixes: Vec::new() })
        .collect();
    for ((remedy, _), fix) in fixes {
        if let Some(cause) = causes.iter_mut().find(|cause| cause.remedy == remedy) {
            cause.harm = cause.harm.min(fix.harm);
            cause.fixes.push(fix);
        }
    }
    for cause in &mut causes {
        cause.fixes.sort_by_key(|fix| order(fix.harm, &fix.reach));
    }
    causes.sort_by_key(|cause| order(cause.harm, &cause.reach));
    causes
}

/// The most harmful first, then the one that affects the most cases and trials.
const fn order(harm: HarmRank, reach: &Reach<'_>) -> (HarmRank, Reverse<(usize, usize)>) {
    (harm, Reverse((reach.cases.len(), reach.trials)))
}

/// `1 other fix`, `2 other fixes`.
pub(crate) fn other_fixes(count: usize) -> String {
    if count == 1 { "1 other fix".to_owned() } else { format!("{count} other fixes") }
}

/// What findings with the same cause have in common.
pub(crate) type CauseKey<'a> = (Remedy, &'a str);

fn key_of(finding: &Finding) -> CauseKey<'_> {
    (finding.remedy, &finding.fix)
}

/// What to change first for a case: the cause of its first finding that fails.
pub(crate) fn first_cause(case: &CaseReport) -> Option<CauseKey<'_>> {
    case.trials.iter().flat_map(|trial| trial.verdict.failing()).next().map(key_of)
}

/// How harmful the worst failure of a case is.
pub(crate) fn harm_of(case: &CaseReport) -> Option<HarmRank> {
    let failing = case.trials.iter().flat_map(|trial| trial.verdict.failing());
    failing.map(|finding| finding.kind.harm()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    /// The run of the samples, with another remedy, fix and kind for the findings of each case.
    fn run_with(change: impl Fn(usize, &mut Finding)) -> Report {
        let (mut report, _) = sample::run();
        report.cases.retain(|case| case.trials.iter().any(|trial| !trial.verdict.findings.is_empty()));
        for (index, case) in report.cases.iter_mut().enumerate() {
            for finding in case.trials.iter_mut().flat_map(|trial| &mut trial.verdict.findings) {
                finding.fails = true;
                change(index, finding);
            }
        }
        report
    }

    #[test]
    fn findings_with_one_fix_are_one_cause_and_the_widest_comes_first() {
        let (report, _) = sample::run();
        let causes = causes(&report);
        assert_eq!(causes[0].fixes[0].kind, FindingKind::Duplicated);
        assert_eq!(causes[0].fixes[0].reach.cases.len(), 2, "{causes:?}");
        assert_eq!(causes[0].reach.cases.len(), 3, "{causes:?}");
        let order: Vec<_> = causes.iter().map(|cause| order(cause.harm, &cause.reach)).collect();
        assert!(order.is_sorted(), "{causes:?}");
    }

    /// The advice that is shown is then true of every case that is listed below it.
    #[test]
    fn one_kind_of_change_is_one_cause_with_each_of_its_fixes() {
        let report = run_with(|index, finding| {
            finding.kind = FindingKind::Lost;
            finding.remedy = Remedy::WholeTask;
            finding.fix = if index == 0 { "it was not attempted".to_owned() } else { "retry".to_owned() };
        });
        let causes = causes(&report);
        assert_eq!(causes.len(), 1, "{causes:?}");
        assert_eq!(causes[0].reach.cases.len(), report.cases.len());
        let fixes: Vec<&str> = causes[0].fixes.iter().map(|fix| fix.fix).collect();
        assert_eq!(fixes, ["retry", "it was not attempted"]);
        assert_eq!(causes[0].fixes[1].reach.cases, [report.cases[0].id.as_str()]);
    }

    #[test]
    fn a_wrong_effect_comes_before_a_wrong_claim_and_this_before_everything_else() {
        let report = run_with(|index, finding| {
            (finding.kind, finding.remedy) = match index {
                0 => (FindingKind::Lost, Remedy::WholeTask),
                1 => (FindingKind::Overclaimed, Remedy::TrueClaim),
                _ => (FindingKind::TimeUp, Remedy::EndInTime),
            };
        });
        assert!(report.cases.len() > 3, "the last kind is in the most cases");
        let remedies: Vec<Remedy> = causes(&report).iter().map(|cause| cause.remedy).collect();
        assert_eq!(remedies, [Remedy::WholeTask, Remedy::TrueClaim, Remedy::EndInTime]);
    }

    #[test]
    fn a_case_with_two_fixes_of_one_kind_of_change_is_counted_once() {
        let mut report = run_with(|_, finding| finding.remedy = Remedy::WholeTask);
        for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
            let more = trial.verdict.findings.clone();
            trial
                .verdict
                .findings
                .extend(more.into_iter().map(|finding| Finding { fix: "other".to_owned(), ..finding }));
        }
        let causes = causes(&report);
        assert_eq!(causes[0].reach.cases.len(), report.cases.len());
        assert!(causes[0].reach.trials <= report.cases.iter().map(|case| case.trials.len()).sum());
        assert!(causes[0].fixes.len() > 1);
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
