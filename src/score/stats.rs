//! Statistics over many trials: the confidence interval of a share, the probability of a row of passes, and
//! whether two shares differ significantly. It takes and returns plain numbers.

/// The Wilson score interval of a share, with that confidence (0.95).
///
/// Without a trial: `(0, 1)`.
#[must_use]
pub fn wilson(passes: u64, trials: u64, confidence: f64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let passes = passes.min(trials);
    wilson_share(passes as f64 / trials as f64, trials as f64, confidence)
}

/// The same from a share and the number of its trials, which need not be whole.
pub(super) fn wilson_share(share: f64, trials: f64, confidence: f64) -> (f64, f64) {
    let z = normal_quantile(0.5 + confidence.clamp(0.0, 0.999_999) / 2.0);
    let middle = share + z * z / (2.0 * trials);
    let reach = z * (share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)).sqrt();
    let scale = 1.0 + z * z / trials;
    // At the ends the formula is exact, but floating point is not.
    let low = if share <= 0.0 { 0.0 } else { ((middle - reach) / scale).max(0.0) };
    let high = if share >= 1.0 { 1.0 } else { ((middle + reach) / scale).min(1.0) };
    (low, high)
}

/// pass^k: the probability that all of `k` trials pass, estimated without bias from `passes` of `trials`.
/// `None` if there were fewer than `k` trials.
#[must_use]
pub fn pass_hat_k(passes: u64, trials: u64, k: u64) -> Option<f64> {
    if k == 0 || trials < k {
        return None;
    }
    if passes < k {
        return Some(0.0);
    }
    Some((0..k).map(|drawn| (passes.min(trials) - drawn) as f64 / (trials - drawn) as f64).product())
}

/// Fisher's exact test, two-sided: the probability of a difference at least as large as that between `a` of
/// `a_all` and `b` of `b_all` by chance.
#[must_use]
pub fn fisher_exact(a: u64, a_all: u64, b: u64, b_all: u64) -> f64 {
    let (a, b) = (a.min(a_all), b.min(b_all));
    let (hits, all) = (a + b, a_all + b_all);
    let factorials = ln_factorials(all);
    let ln_choose =
        |n: u64, k: u64| factorials[n as usize] - factorials[k as usize] - factorials[(n - k) as usize];
    let chance = |x: u64| (ln_choose(a_all, x) + ln_choose(b_all, hits - x) - ln_choose(all, hits)).exp();
    // Equal probabilities must be equal although they were computed in another order.
    let observed = chance(a) * (1.0 + 1e-7);
    let lowest = hits.saturating_sub(b_all);
    let sum: f64 = (lowest..=hits.min(a_all)).map(chance).filter(|chance| *chance <= observed).sum();
    sum.min(1.0)
}

fn ln_factorials(limit: u64) -> Vec<f64> {
    let mut sum = 0.0;
    let above = (1..=limit).map(|number| {
        sum += (number as f64).ln();
        sum
    });
    std::iter::once(0.0).chain(above).collect()
}

/// The quantile of the standard normal distribution, by Acklam's rational approximation (relative error below
/// 1.2e-9).
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const TAIL: f64 = 0.024_25;
    let polynomial = |factors: &[f64], x: f64| factors.iter().fold(0.0, |sum, factor| sum * x + factor);
    if p < TAIL {
        let q = (-2.0 * p.ln()).sqrt();
        return polynomial(&C, q) / polynomial(&D, q);
    }
    if p > 1.0 - TAIL {
        return -normal_quantile(1.0 - p);
    }
    let q = p - 0.5;
    let r = q * q;
    polynomial(&A, r) * q / polynomial(&B, r)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(have: f64, want: f64, within: f64) {
        assert!((have - want).abs() <= within, "{have} is not {want}");
    }

    /// The worked examples in Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
    /// Medicine 17 (1998), method 3.
    #[test]
    fn the_wilson_interval_is_that_of_newcombes_table() {
        for (passes, trials, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (have_low, have_high) = wilson(passes, trials, 0.95);
            near(have_low, low, 0.000_05);
            near(have_high, high, 0.000_05);
        }
    }

    #[test]
    fn with_no_trial_nothing_is_known() {
        assert_eq!(wilson(0, 0, 0.95), (0.0, 1.0));
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in [
            (0.975, 1.959_963_985),
            (0.995, 2.575_829_304),
            (0.95, 1.644_853_627),
            (0.5, 0.0),
            (0.001, -3.090_232_306),
        ] {
            near(normal_quantile(p), z, 1e-7);
        }
    }

    /// `C(c, k) / C(n, k)`, the estimate of the tau-bench paper.
    #[test]
    fn pass_hat_k_counts_the_ways_to_draw_passes_alone() {
        near(pass_hat_k(3, 5, 2).unwrap(), 3.0 / 10.0, 1e-12);
        near(pass_hat_k(7, 8, 4).unwrap(), 35.0 / 70.0, 1e-12);
        assert_eq!(pass_hat_k(5, 5, 5), Some(1.0));
        assert_eq!(pass_hat_k(1, 5, 2), Some(0.0));
        assert_eq!(pass_hat_k(1, 1, 2), None, "two trials cannot be judged from one");
        assert_eq!(pass_hat_k(1, 1, 0), None);
    }

    /// Fisher's lady who tastes tea; the example of scipy's documentation; convictions of twins (Fisher 1962), as
    /// in R's.
    #[test]
    fn the_exact_test_gives_the_published_values() {
        near(fisher_exact(3, 4, 1, 4), 0.485_714_285_7, 1e-9);
        near(fisher_exact(8, 10, 1, 6), 0.034_965_034_97, 1e-9);
        near(fisher_exact(2, 17, 10, 13), 0.000_536_7, 5e-8);
    }

    #[test]
    fn equal_shares_differ_by_chance_alone() {
        near(fisher_exact(5, 10, 5, 10), 1.0, 1e-9);
        near(fisher_exact(0, 0, 3, 3), 1.0, 1e-9);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_share_and_stays_within_bounds(
            trials in 1u64..2000,
            part in 0.0f64..=1.0,
            confidence in 0.5f64..0.999,
        ) {
            let passes = (trials as f64 * part) as u64;
            let (low, high) = wilson(passes, trials, confidence);
            let share = passes as f64 / trials as f64;
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            prop_assert!(low <= share + 1e-12 && share <= high + 1e-12);
        }

        #[test]
        fn the_exact_test_does_not_care_which_side_is_named_first(
            a in 0u64..40,
            more in 0u64..40,
            b in 0u64..40,
            rest in 0u64..40,
        ) {
            let one = fisher_exact(a, a + more, b, b + rest);
            let other = fisher_exact(b, b + rest, a, a + more);
            prop_assert!((0.0..=1.0).contains(&one));
            prop_assert!((one - other).abs() < 1e-9);
        }
    }
}
