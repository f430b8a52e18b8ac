//! The numbers of callers that are tried one after another, for every kind of subject.

/// The trials of each number of callers.
pub(super) const TRIALS_EACH: u32 = 5;

/// 1, 2, 4 … up to `largest`, which is included.
pub(super) fn numbers(largest: u32) -> impl Iterator<Item = u32> {
    let doubled = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
    let largest = largest.max(1);
    doubled.take_while(move |count| *count < largest).chain([largest])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_callers_doubles_up_to_the_largest() {
        assert_eq!(numbers(8).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(numbers(12).collect::<Vec<_>>(), [1, 2, 4, 8, 12]);
        assert_eq!(numbers(1).collect::<Vec<_>>(), [1]);
        assert_eq!(numbers(0).collect::<Vec<_>>(), [1]);
    }
}
