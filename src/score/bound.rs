//! The exact one-sided bound of a share (Clopper and Pearson), and how many trials a level needs. Pure.

/// The largest number of trials that a level can ask for.
const MAX_TRIALS: u64 = 10_000_000;
/// How many times the interval of the bound is halved: more than a `f64` has bits.
const HALVINGS: u32 = 64;

/// The exact lower bound of the share of trials that pass, with that one-sided confidence: the share for
/// which as many passing trials as these, or more, have the probability `1 - confidence`.
///
/// Without a trial, or if no trial passes, it is 0.
pub(crate) fn lower_bound(passes: u64, trials: u64, confidence: f64) -> f64 {
    let passes = passes.min(trials);
    if passes == 0 {
        return 0.0;
    }
    let alpha = 1.0 - confidence.clamp(0.0, 0.999_999_999);
    if passes == trials {
        return (alpha.ln() / trials as f64).exp();
    }
    let failures = trials - passes;
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..HALVINGS {
        let share = f64::midpoint(low, high);
        if at_most(failures, trials, 1.0 - share) < alpha { low = share } else { high = share }
    }
    low
}

/// The smallest number of trials that shows this level with that confidence, if every trial passes: 299 for
/// 0.99 with 0.95. `None` if it would be more than ten million.
pub(crate) fn trials_needed(level: f64, confidence: f64) -> Option<u64> {
    if level <= 0.0 {
        return Some(1);
    }
    let estimate = ((1.0 - confidence).ln() / level.ln()).ceil();
    if !estimate.is_finite() || estimate > MAX_TRIALS as f64 {
        return None;
    }
    // The estimate is right up to rounding.
    let estimate = (estimate as u64).max(1);
    (estimate.saturating_sub(1).max(1)..=estimate + 1)
        .find(|trials| lower_bound(*trials, *trials, confidence) >= level)
}

/// The probability of at most `count` failures in `trials` trials that fail with probability `chance` each.
fn at_most(count: u64, trials: u64, chance: f64) -> f64 {
    if chance <= 0.0 {
        return 1.0;
    }
    if chance >= 1.0 {
        return if count >= trials { 1.0 } else { 0.0 };
    }
    let ln_odds = chance.ln() - (-chance).ln_1p();
    let mut ln_term = trials as f64 * (-chance).ln_1p();
    let mut sum = ln_term.exp();
    for failures in 1..=count.min(trials) {
        ln_term += ((trials - failures + 1) as f64).ln() - (failures as f64).ln() + ln_odds;
        sum += ln_term.exp();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_numbers_of_trials_are_those_of_the_published_tables() {
        // "Success-run" sample sizes: ln(1 - confidence) / ln(level), rounded up.
        let published = [
            (0.99, 0.95, 299),
            (0.95, 0.95, 59),
            (0.90, 0.90, 22),
            (0.90, 0.95, 29),
            (0.99, 0.99, 459),
            (0.95, 0.90, 45),
            (0.99, 0.90, 230),
            (0.999, 0.95, 2995),
            (0.80, 0.90, 11),
            (0.50, 0.95, 5),
        ];
        for (level, confidence, trials) in published {
            assert_eq!(trials_needed(level, confidence), Some(trials), "{level} with {confidence}");
        }
        assert_eq!(trials_needed(0.0, 0.95), Some(1));
        assert_eq!(trials_needed(1.0, 0.95), None);
        assert_eq!(trials_needed(0.999_999_999, 0.999), None);
    }

    #[test]
    fn two_hundred_sixty_eight_trials_show_a_share_of_99_percent_with_93_percent_confidence_only() {
        assert!(lower_bound(268, 268, 0.95) < 0.99);
        assert!(lower_bound(268, 268, 0.932) >= 0.99);
        assert!(lower_bound(268, 268, 0.933) < 0.99);
    }

    #[test]
    fn the_bound_with_failures_is_that_of_the_published_tables() {
        // One-sided 95 % lower limits (Clopper and Pearson): for example 9 of 10 and 95 of 100.
        let published = [
            (9, 10, 0.605_84),
            (8, 10, 0.493_10),
            (5, 10, 0.222_44),
            (95, 100, 0.897_75),
            (298, 299, 0.984_22),
        ];
        for (passes, trials, bound) in published {
            let found = lower_bound(passes, trials, 0.95);
            assert!((found - bound).abs() < 1e-4, "{passes} of {trials}: {found}");
        }
        assert_eq!(lower_bound(0, 10, 0.95).to_bits(), 0.0_f64.to_bits());
        assert_eq!(lower_bound(0, 0, 0.95).to_bits(), 0.0_f64.to_bits());
    }

    proptest! {
        #[test]
        fn the_needed_number_is_the_smallest_that_is_enough(level in 0.01..0.9999_f64, confidence in 0.5..0.999_f64) {
            let trials = trials_needed(level, confidence).unwrap();
            prop_assert!(lower_bound(trials, trials, confidence) >= level);
            prop_assert!(trials == 1 || lower_bound(trials - 1, trials - 1, confidence) < level);
        }

        #[test]
        fn the_bound_is_below_the_share_and_falls_with_every_failure(
            trials in 1..400_u64, failures in 0..400_u64, confidence in 0.6..0.999_f64,
        ) {
            let failures = failures.min(trials);
            let bound = lower_bound(trials - failures, trials, confidence);
            prop_assert!((0.0..=1.0).contains(&bound));
            prop_assert!(bound <= (trials - failures) as f64 / trials as f64 + 1e-12);
            if failures < trials {
                prop_assert!(lower_bound(trials - failures - 1, trials, confidence) < bound);
            }
            prop_assert!(lower_bound(trials - failures, trials, (confidence + 1.0) / 2.0) <= bound);
        }

        #[test]
        fn at_the_bound_the_observed_result_has_the_probability_that_the_confidence_leaves(
            trials in 2..200_u64, failures in 1..50_u64, confidence in 0.6..0.999_f64,
        ) {
            let failures = failures.min(trials - 1);
            let bound = lower_bound(trials - failures, trials, confidence);
            prop_assert!((at_most(failures, trials, 1.0 - bound) - (1.0 - confidence)).abs() < 1e-6);
        }
    }
}
