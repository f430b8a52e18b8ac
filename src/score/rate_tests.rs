use proptest::prelude::*;

use super::*;
use crate::score::stats::wilson;

fn near(have: f64, want: f64, within: f64) {
    assert!((have - want).abs() <= within, "{have} is not {want}");
}

fn tried(scenario: &str, passes: u64, trials: u64) -> CaseTrials<'_> {
    CaseTrials { scenario, passes, trials }
}

/// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998),
/// method 3.
#[test]
fn one_scenario_has_the_wilson_interval_of_newcombes_table() {
    for (passes, trials, low, high) in
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]
    {
        let (have_low, have_high) = Rate::from_cases([tried("a", passes, trials)]).interval(0.95);
        near(have_low, low, 0.000_05);
        near(have_high, high, 0.000_05);
    }
}

#[test]
fn if_all_trials_have_the_same_result_the_interval_is_wilsons() {
    let rate = Rate::from_cases([tried("a", 10, 10), tried("b", 20, 20)]);
    assert_eq!(rate.interval(0.95), wilson(30, 30, 0.95));
    assert_eq!((rate.design_effect, rate.cases, rate.scenarios), (1.0, 2, 2));
}

/// Ten scenarios of ten trials, five of which always pass: `V = 10/9 · 10 · 25 / 10000`, `W = 0.25 / 100`, so
/// that a hundred trials are worth nine.
#[test]
fn equal_trials_of_a_scenario_count_little_more_than_one() {
    let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    let cases = names.iter().enumerate().map(|(index, name)| tried(name, if index < 5 { 10 } else { 0 }, 10));
    let rate = Rate::from_cases(cases);
    near(rate.design_effect, 100.0 / 9.0, 1e-9);
    near(rate.effective_trials(), 9.0, 1e-9);
    let (low, high) = rate.interval(0.95);
    let (want_low, want_high) = wilson_share(0.5, 9.0, 0.95);
    near(low, want_low, 1e-12);
    near(high, want_high, 1e-12);
}

#[test]
fn scenarios_that_do_not_differ_cost_nothing() {
    let rate = Rate::from_cases([tried("a", 8, 10), tried("b", 8, 10), tried("b", 16, 20)]);
    assert_eq!(rate.design_effect, 1.0);
    assert_eq!(rate.interval(0.95), wilson(32, 40, 0.95));
}

#[test]
fn with_nothing_proved_nothing_is_known() {
    let rate = Rate::from_cases([tried("a", 0, 0)]);
    assert_eq!((rate.share(), rate.interval(0.95), rate.cases), (None, (0.0, 1.0), 0));
    assert_eq!(rate.require(0.5, 0.95), Required::Inconclusive { enough: None });
}

/// All of n pass: the one-sided bound is `n / (n + z²)` with `z = 1.644854`, so 99 % takes `99 · 2.705543 =
/// 267.8` trials.
#[test]
fn ninety_nine_in_a_hundred_take_268_passes_in_a_row() {
    assert_eq!(
        Rate::from_cases([tried("a", 267, 267)]).require(0.99, 0.95),
        Required::Inconclusive { enough: Some(268) }
    );
    assert_eq!(Rate::from_cases([tried("a", 268, 268)]).require(0.99, 0.95), Required::Met);
    let ten_cases = Rate::from_cases((0..10).map(|_| tried("a", 1, 1)));
    assert_eq!(
        ten_cases.require(0.99, 0.95),
        Required::Inconclusive { enough: Some(27) },
        "268 over ten cases"
    );
}

#[test]
fn a_share_that_is_far_too_low_is_not_met() {
    assert_eq!(Rate::from_cases([tried("a", 50, 100)]).require(0.9, 0.95), Required::NotMet);
}

#[test]
fn no_number_of_trials_separates_equal_shares() {
    assert_eq!(
        Rate::from_cases([tried("a", 9, 10)]).require(0.9, 0.95),
        Required::Inconclusive { enough: None }
    );
    assert_eq!(
        Rate::from_cases([tried("a", 10, 10)]).require(1.0, 0.95),
        Required::Inconclusive { enough: None }
    );
}

#[test]
fn more_trials_do_not_help_where_the_scenarios_differ() {
    let rate = Rate::from_cases([tried("a", 100, 100), tried("b", 100, 100), tried("c", 70, 100)]);
    assert_eq!(rate.require(0.95, 0.95), Required::Inconclusive { enough: None });
}

fn cases() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    let case =
        (0u8..6, 1u64..40).prop_flat_map(|(scenario, trials)| (Just(scenario), 0..=trials, Just(trials)));
    proptest::collection::vec(case, 1..20)
}

fn rate_of(cases: &[(u8, u64, u64)], times: u64) -> Rate {
    let names = ["a", "b", "c", "d", "e", "f"];
    Rate::from_cases(cases.iter().map(|(scenario, passes, trials)| {
        tried(names[usize::from(*scenario)], passes * times, trials * times)
    }))
}

proptest! {
    #[test]
    fn an_interval_holds_its_share_and_is_no_narrower_than_without_clusters(
        cases in cases(),
        confidence in 0.5f64..0.999,
    ) {
        let rate = rate_of(&cases, 1);
        let (low, high) = rate.interval(confidence);
        let share = rate.share().unwrap();
        prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
        prop_assert!(low <= share + 1e-12 && share <= high + 1e-12);
        let (plain_low, plain_high) = wilson(rate.passes, rate.trials, confidence);
        prop_assert!(high - low >= plain_high - plain_low - 1e-12);
    }

    #[test]
    fn more_trials_of_one_scenario_narrow_the_interval(
        trials in 1u64..200,
        part in 0.0f64..=1.0,
        times in 2u64..20,
    ) {
        let passes = (trials as f64 * part) as u64;
        let width = |times: u64| {
            let (low, high) = rate_of(&[(0, passes, trials)], times).interval(0.95);
            high - low
        };
        prop_assert!(width(times) < width(1));
    }

    #[test]
    fn more_trials_of_the_same_never_widen_the_interval(cases in cases(), times in 2u64..20) {
        let width = |times: u64| {
            let (low, high) = rate_of(&cases, times).interval(0.95);
            high - low
        };
        prop_assert!(width(times) <= width(1) + 1e-9);
    }

    #[test]
    fn more_confidence_is_a_wider_interval(cases in cases(), low in 0.5f64..0.9, more in 0.01f64..0.09) {
        let rate = rate_of(&cases, 1);
        let ((less_low, less_high), (more_low, more_high)) = (rate.interval(low), rate.interval(low + more));
        prop_assert!(more_low <= less_low && less_high <= more_high);
    }

    #[test]
    fn one_more_pass_in_place_of_a_failure_never_lowers_the_bounds(trials in 1u64..200, part in 0.0f64..1.0) {
        let passes = ((trials as f64 * part) as u64).min(trials - 1);
        let bounds = |passes| rate_of(&[(0, passes, trials)], 1).bounds(0.95);
        let (before, after) = (bounds(passes), bounds(passes + 1));
        prop_assert!(before.0 <= after.0 && before.1 <= after.1);
    }

    #[test]
    fn asking_for_less_is_never_harder(cases in cases(), required in 0.0f64..1.0, less in 0.0f64..1.0) {
        let rate = rate_of(&cases, 1);
        if rate.require(required, 0.95) == Required::Met {
            prop_assert_eq!(rate.require(required * less, 0.95), Required::Met);
        }
        if rate.require(required * less, 0.95) == Required::NotMet {
            prop_assert_eq!(rate.require(required, 0.95), Required::NotMet);
        }
    }

    #[test]
    fn as_many_trials_as_are_said_to_do_do(cases in 1u64..30, required in 0.5f64..0.999) {
        let passing = |trials: u64| Rate::from_cases((0..cases).map(|_| tried("a", trials, trials)));
        if let Required::Inconclusive { enough: Some(enough) } = passing(1).require(required, 0.95) {
            let enough = u64::from(enough);
            prop_assert_eq!(passing(enough).require(required, 0.95), Required::Met);
            prop_assert!(passing(enough - 1).require(required, 0.95) != Required::Met);
        }
    }
}
