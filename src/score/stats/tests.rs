use proptest::prelude::*;

use super::*;

fn near(have: f64, want: f64, within: f64) {
    assert!((have - want).abs() <= within, "{have} is not {want}");
}

/// The worked examples in Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
/// Medicine 17 (1998), method 3.
#[test]
fn the_wilson_interval_is_that_of_newcombes_table() {
    for (passes, trials, low, high) in
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
    {
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
