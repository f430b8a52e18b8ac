//! Numbers, shares and times in words.

use std::fmt::Write as _;

/// `1 case`, `2 cases`.
#[must_use]
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A time that was measured in milliseconds.
#[must_use]
pub(crate) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
    }
}

/// A share as a percentage; 0 % and 100 % are never the result of rounding.
#[must_use]
pub(crate) fn percent(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    match rounded {
        _ if share >= 1.0 => "100 %".to_owned(),
        _ if share <= 0.0 => "0 %".to_owned(),
        _ if rounded >= 100.0 => "99.9 %".to_owned(),
        _ if rounded <= 0.0 => "0.1 %".to_owned(),
        _ => format!("{rounded} %"),
    }
}

/// `1, 2, 5..8`: consecutive numbers are one range.
#[must_use]
pub(crate) fn numbers(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let mut out = String::new();
    for (first, last) in runs {
        let comma = if out.is_empty() { "" } else { ", " };
        // Writing into a string cannot fail.
        let _ = match last - first {
            0 => write!(out, "{comma}{first}"),
            1 => write!(out, "{comma}{first}, {last}"),
            _ => write!(out, "{comma}{first}..{last}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_nothing_are_never_the_result_of_rounding() {
        assert_eq!(percent(0.99999), "99.9 %");
        assert_eq!(percent(0.00001), "0.1 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.5), "50 %");
        assert_eq!(percent(2.0 / 3.0), "66.7 %");
    }

    #[test]
    fn numbers_in_a_row_are_drawn_together() {
        assert_eq!(numbers([1, 2, 5, 6, 7, 8, 12]), "1, 2, 5..8, 12");
        assert_eq!(numbers([]), "");
    }

    #[test]
    fn a_time_has_the_unit_that_suits_it() {
        assert_eq!([duration(7), duration(4_250), duration(125_000)], ["7 ms", "4.2 s", "2 min 5 s"]);
    }
}
