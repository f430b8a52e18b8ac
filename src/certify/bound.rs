//! The exact one-sided bound of a share (Clopper and Pearson), and how many trials a level needs. Pure.

/// The largest number of trials that a level can ask for.
const MAX_TRIALS: u64 = 10_000_000;
/// How many times the interval of the bound is halved: more than a `f64` has bits.
const HALVINGS: u32 = 64;

/// The exact lower bound of the share of trials that hold, with that one-sided confidence: the share for
/// which as many holding trials as these, or more, have the probability `1 - confidence`.
///
/// Without a trial, or where no trial holds, it is 0.
#[must_use]
pub fn lower_bound(held: u64, trials: u64, confidence: f64) -> f64 {
    let held = held.min(trials);
    if held == 0 {
        return 0.0;
    }
    let alpha = 1.0 - confidence.clamp(0.0, 0.999_999_999);
    if held == trials {
        return (alpha.ln() / trials as f64).exp();
    }
    let failures = trials - held;
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..HALVINGS {
        let share = f64::midpoint(low, high);
        if at_most(failures, trials, 1.0 - share) < alpha { low = share } else { high = share }
    }
    low
}

/// The smallest number of trials that shows this level with that confidence, if every trial holds: 299 for
/// 0.99 with 0.95. `None` where it would be more than ten million.
#[must_use]
pub fn trials_needed(level: f64, confidence: f64) -> Option<u64> {
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
mod tests;
