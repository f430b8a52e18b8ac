//! Shortens lists of attempt numbers: consecutive numbers become ranges, and the number of ranges is limited.
//! Pure.

/// The maximum number of ranges that are shown.
const MAX_RANGES: usize = 8;
/// A longer list of numbers is followed by its count.
const MAX_UNCOUNTED: usize = 4;

/// Sorted numbers as `1, 2`, as `1-195481 (195,481)`, or as the first ranges, the last one and the count.
pub(super) fn ranges(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let mut words: Vec<String> =
        runs.iter().take(MAX_RANGES).map(|(first, last)| run(*first, *last)).collect();
    if let Some((first, last)) = runs.last().filter(|_| runs.len() > MAX_RANGES) {
        words.push("...".to_owned());
        words.push(run(*first, *last));
    }
    let count =
        if numbers.len() > MAX_UNCOUNTED { format!(" ({})", grouped(numbers.len())) } else { String::new() };
    format!("{}{count}", words.join(", "))
}

fn run(first: u64, last: u64) -> String {
    match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    }
}

/// A count with a comma between thousands.
pub(super) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_numbers_are_one_range_and_many_numbers_are_counted() {
        assert_eq!(ranges(&[1]), "1");
        assert_eq!(ranges(&[1, 2]), "1, 2");
        assert_eq!(ranges(&[1, 2, 3, 7]), "1-3, 7");
        assert_eq!(ranges(&[2, 3, 4, 5, 6, 9]), "2-6, 9 (6)");
        assert_eq!(ranges(&(1..=195_481).collect::<Vec<_>>()), "1-195481 (195,481)");
        let odd: Vec<u64> = (0..5_000).map(|half| 2 * half + 1).collect();
        assert_eq!(ranges(&odd), "1, 3, 5, 7, 9, 11, 13, 15, ..., 9999 (5,000)");
    }

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!(
            [0, 12, 999, 1_000, 195_481, 1_234_567].map(grouped),
            ["0", "12", "999", "1,000", "195,481", "1,234,567"]
        );
    }
}
