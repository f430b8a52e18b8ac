//! The seed of a run where the user names none.

use super::RunError;

/// A seed that nobody can foresee. It has 48 bits, as those of trials: it can be typed, and no reader of JSON
/// rounds it.
///
/// # Errors
/// When the system gives no random number.
pub fn random_seed() -> Result<u64, RunError> {
    getrandom::u64().map(|bits| bits >> 16).map_err(|error| RunError::Seed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_seeds_are_the_same() {
        let seeds: std::collections::BTreeSet<u64> = (0..100).map(|_| random_seed().unwrap()).collect();
        assert_eq!(seeds.len(), 100);
        assert!(seeds.iter().all(|seed| *seed < 1 << 48));
    }
}
