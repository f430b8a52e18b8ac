//! Finds numbers that cannot be stored exactly. JSON allows numbers of any length; a number that would be
//! returned changed is refused.

/// The first number in a JSON text that would be returned changed.
pub(crate) fn first_inexact(json: &str) -> Option<&str> {
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[at..];
        if let Some(text) = rest.strip_prefix('"') {
            rest = after_string(text);
            continue;
        }
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let (number, remaining) = rest.split_at(end);
        if !is_exact(number) {
            return Some(number);
        }
        rest = remaining;
    }
    None
}

/// The rest of the text after the closing quote.
fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return &text[at + 1..],
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    ""
}

fn is_exact(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    // Compared as this crate reads and writes it: of two shortest decimal forms, other implementations may
    // choose the other one.
    let kept = serde_json::from_str::<f64>(number).and_then(|kept| serde_json::to_string(&kept));
    kept.is_ok_and(|kept| DecimalNumber::parse(&kept) == DecimalNumber::parse(number))
}

/// A number in canonical form: its digits without leading and trailing zeros, and a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct DecimalNumber {
    negative: bool,
    digits: String,
    power: i64,
}

impl DecimalNumber {
    /// `None` when the power of ten is out of range.
    fn parse(number: &str) -> Option<Self> {
        let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole.trim_start_matches('-'), fraction].concat();
        let digits = all.trim_end_matches('0');
        let fraction_digits = i64::try_from(fraction.len()).ok()?;
        let zeros = i64::try_from(all.len() - digits.len()).ok()?;
        let digits = digits.trim_start_matches('0').to_owned();
        let power = power.parse::<i64>().ok()?.checked_sub(fraction_digits)?.checked_add(zeros)?;
        let power = if digits.is_empty() { 0 } else { power };
        Some(DecimalNumber { negative: mantissa.starts_with('-'), digits, power })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_that_would_be_returned_changed_is_found() {
        for (json, found) in [
            (r#"{"value": 12345678901234567890123}"#, "12345678901234567890123"),
            (r#"[1, -9223372036854775809]"#, "-9223372036854775809"),
            ("18446744073709551617", "18446744073709551617"),
            (r#"{"a \\\" 1": [0.12345678901234567890]}"#, "0.12345678901234567890"),
            ("1e-400", "1e-400"),
        ] {
            assert_eq!(first_inexact(json), Some(found), "{json}");
        }
    }

    #[test]
    fn a_number_that_is_returned_equal_is_exact_in_any_notation() {
        for json in [
            r#"{"12345678901234567890123": "12345678901234567890123 \" 1e999"}"#,
            "[9223372036854775807, -9223372036854775808, 18446744073709551615, -0, 0, 0.0, -0.0e7]",
            "[0.1, 1.10, 1e22, 1E+2, 100e-2, 49.99, 10000000000000000000000, 5e-324, 1.7976931348623157e308]",
            "[1453191361994089.2]",
        ] {
            assert_eq!(first_inexact(json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn every_finite_float_is_exact(number in proptest::num::f64::NORMAL) {
            let json = serde_json::json!([number]).to_string();
            prop_assert_eq!(first_inexact(&json), None);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            first_inexact(&text);
        }
    }
}
