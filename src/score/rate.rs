//! How often a subject passes: the share of the trials of a run that pass, its confidence interval, and
//! whether it is enough. It takes and returns plain numbers.
//!
//! Trials of one scenario are similar, so a thousand of them show less than a thousand trials of different
//! scenarios. The interval of a run is therefore clustered by scenario. With `x` passes of `n` trials in each
//! of `m` scenarios, `N` trials in all and the share `p = Σx / N`:
//!
//! ```text
//! between scenarios   V = m / (m - 1) · Σ (x - p·n)² / N²        the variance of a ratio, by its linear part
//! without clusters    W = p · (1 - p) / N
//! design effect       D = max(1, V / W)
//! effective trials    E = max(1, N / D)
//! interval            Wilson's, of the share p in E trials
//! ```
//!
//! With one scenario, or where all trials come to the same, nothing is known about the difference between
//! scenarios: `D` is 1, and the interval is Wilson's own. Wilson's interval over the effective number of
//! trials is the one that Franco, Little, Louis and Slud recommend ("Comparative study of confidence
//! intervals for proportions in complex sample surveys", 2019).

use std::collections::BTreeMap;

use super::stats::wilson_share;

/// The maximum number of trials of a case that is proposed.
const MAX_PROPOSED_TRIALS: u32 = 10_000;

/// The trials of one case that passed or failed, without void ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseTrials<'a> {
    /// The scenario of the case.
    pub scenario: &'a str,
    /// How many passed.
    pub passes: u64,
    /// How many passed or failed.
    pub trials: u64,
}

/// How often the trials of a run pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// How many passed.
    pub passes: u64,
    /// How many passed or failed.
    pub trials: u64,
    /// How many cases have such a trial.
    pub cases: u64,
    /// How many scenarios have.
    pub scenarios: u64,
    /// How many times more trials are needed than if the scenarios did not differ; at least 1.
    pub design_effect: f64,
}

/// What a run says about a required share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// The true share is at least as high, at the confidence.
    Met,
    /// The true share is lower, at the confidence.
    NotMet,
    /// The trials are too few to tell.
    Inconclusive {
        /// How many trials of each case would be enough if they passed as often as these; `None` if no number
        /// would be enough, or there was no trial.
        enough: Option<u32>,
    },
}

impl Rate {
    /// The rate over these cases.
    #[must_use]
    pub fn from_cases<'a>(cases: impl IntoIterator<Item = CaseTrials<'a>>) -> Self {
        let mut scenarios: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut count = 0;
        for case in cases.into_iter().filter(|case| case.trials > 0) {
            let scenario = scenarios.entry(case.scenario).or_default();
            scenario.0 += case.passes.min(case.trials);
            scenario.1 += case.trials;
            count += 1;
        }
        let clusters: Vec<(u64, u64)> = scenarios.into_values().collect();
        let passes = clusters.iter().map(|(passes, _)| passes).sum();
        let trials = clusters.iter().map(|(_, trials)| trials).sum();
        let design_effect = design_effect(&clusters, passes, trials);
        Rate { passes, trials, cases: count, scenarios: clusters.len() as u64, design_effect }
    }

    /// The share that passed, pass@1; `None` without a trial.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.passes as f64 / self.trials as f64)
    }

    /// The effective number of trials.
    #[must_use]
    pub fn effective_trials(&self) -> f64 {
        (self.trials as f64 / self.design_effect).max(1.0)
    }

    /// The confidence interval of the true share (for 0.95); `(0, 1)` without a trial.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        self.share().map_or((0.0, 1.0), |share| wilson_share(share, self.effective_trials(), confidence))
    }

    /// The lower and the upper bound of the true share, each with that confidence.
    #[must_use]
    pub fn bounds(&self, confidence: f64) -> (f64, f64) {
        self.interval(one_sided(confidence))
    }

    /// Whether the true share is at least `required`, with that confidence.
    #[must_use]
    pub fn require(&self, required: f64, confidence: f64) -> Required {
        match decision(self.bounds(confidence), required) {
            Some(true) => Required::Met,
            Some(false) => Required::NotMet,
            None => Required::Inconclusive { enough: self.enough(required, confidence) },
        }
    }

    /// The smallest number of trials of each case that would be enough, if the share and the difference
    /// between the scenarios stay the same.
    fn enough(&self, required: f64, confidence: f64) -> Option<u32> {
        let (share, cases) = (self.share()?, self.cases as f64);
        let tells = |trials: u32| {
            let effective = self.effective_of(f64::from(trials) * cases);
            decision(wilson_share(share, effective, one_sided(confidence)), required).is_some()
        };
        if !tells(MAX_PROPOSED_TRIALS) {
            return None;
        }
        // More trials give a narrower interval, so a binary search works.
        let (mut too_few, mut enough) = (0, MAX_PROPOSED_TRIALS);
        while too_few + 1 < enough {
            let middle = too_few + (enough - too_few) / 2;
            if tells(middle) { enough = middle } else { too_few = middle }
        }
        Some(enough)
    }

    /// The effective number of that many trials. The similarity of the trials of a scenario is a property of
    /// the scenarios, so the design effect grows with the trials of each: `D = 1 + (N / m - 1) · ρ`.
    fn effective_of(&self, trials: f64) -> f64 {
        let scenarios = self.scenarios.max(1) as f64;
        let each = self.trials as f64 / scenarios;
        let alike = if each > 1.0 { ((self.design_effect - 1.0) / (each - 1.0)).min(1.0) } else { 0.0 };
        let design_effect = 1.0 + (trials / scenarios - 1.0).max(0.0) * alike;
        (trials / design_effect).max(1.0)
    }
}

/// The confidence of the two-sided interval whose bounds each have this confidence.
fn one_sided(confidence: f64) -> f64 {
    (2.0 * confidence - 1.0).max(0.0)
}

/// Whether the true share is as high as required; `None` if the bounds do not show it.
fn decision((low, high): (f64, f64), required: f64) -> Option<bool> {
    if low >= required {
        Some(true)
    } else if high < required {
        Some(false)
    } else {
        None
    }
}

fn design_effect(clusters: &[(u64, u64)], passes: u64, trials: u64) -> f64 {
    // If all trials have the same result, there is no variance to compare with.
    if clusters.len() < 2 || passes == 0 || passes >= trials {
        return 1.0;
    }
    let (count, trials) = (clusters.len() as f64, trials as f64);
    let share = passes as f64 / trials;
    let squares: f64 =
        clusters.iter().map(|(passes, trials)| (*passes as f64 - share * *trials as f64).powi(2)).sum();
    let between = count / (count - 1.0) * squares / (trials * trials);
    let without = share * (1.0 - share) / trials;
    (between / without).max(1.0)
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
