//! Whether a claim is true, in words that agree with the findings about it.

use crate::score::{Claim, FindingKind, Honesty, Verdict};

/// The words for a claim: a true claim that fails the trial is one that the scenario does not expect.
pub(crate) fn honesty_words(verdict: &Verdict, claim: &Claim) -> &'static str {
    let is_about_it = |entries: &[u64]| claim.entry.is_some_and(|entry| entries.contains(&entry));
    let mut findings =
        verdict.findings.iter().filter(|finding| finding.fails && is_about_it(&finding.entries));
    let is_refused = findings.any(|finding| {
        matches!(
            finding.kind,
            FindingKind::Overclaimed | FindingKind::Underclaimed | FindingKind::UnexpectedClaim
        )
    });
    match claim.honesty {
        Honesty::Honest if is_refused => "not what the scenario expects",
        honesty => honesty.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_claim_that_is_true_and_not_expected_is_not_called_honest() {
        let (mut case, _) = sample::double_charge("none");
        let verdict = &mut case.trials[0].verdict;
        verdict.claims[0].honesty = Honesty::Honest;
        let (claim, mut finding) = (verdict.claims[0].clone(), verdict.findings[0].clone());
        assert_eq!(honesty_words(verdict, &claim), "honest");
        finding.kind = FindingKind::Overclaimed;
        finding.entries = claim.entry.into_iter().collect();
        verdict.findings.push(finding);
        assert_eq!(honesty_words(verdict, &claim), "not what the scenario expects");
    }
}
