//! The data of a card in addition to its number: its expiry date and security code.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::errors::{PaymentError, Refused};

/// How many years in the future a card can expire.
const MAX_EXPIRY_YEARS: i64 = 50;

/// The card data of a request; missing values count as valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CardData {
    month: Option<i64>,
    year: Option<i64>,
    wrong_cvc: bool,
}

impl CardData {
    /// Reads the values next to the number. A value that is not a number is as invalid as 0.
    pub(crate) fn read<'p>(nested: impl Fn(&str) -> Option<&'p str>) -> Self {
        let integer = |name: &str| nested(name).map(|text| text.trim().parse().unwrap_or_default());
        let is_cvc =
            |text: &str| matches!(text.len(), 3 | 4) && text.bytes().all(|byte| byte.is_ascii_digit());
        CardData {
            month: integer("exp_month"),
            year: integer("exp_year").map(|year| if (1..100).contains(&year) { year + 2000 } else { year }),
            wrong_cvc: nested("cvc").is_some_and(|text| !is_cvc(text)),
        }
    }

    /// Refuses values that no card can have now.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), Refused> {
        let wrong = |code, param, what: &str| {
            let message = format!("Your card's {what} is invalid.");
            Err(Box::new(PaymentError::new(402, "card_error", message).code(code).param(param).executed()))
        };
        let today = now.to_zoned(TimeZone::UTC);
        let (this_year, this_month) = (i64::from(today.year()), i64::from(today.month()));
        let is_over = self.year == Some(this_year) && self.month.is_some_and(|month| month < this_month);
        if self.month.is_some_and(|month| !(1..=12).contains(&month)) || is_over {
            return wrong("invalid_expiry_month", "exp_month", "expiration month");
        }
        if self.year.is_some_and(|year| !(this_year..=this_year + MAX_EXPIRY_YEARS).contains(&year)) {
            return wrong("invalid_expiry_year", "exp_year", "expiration year");
        }
        if self.wrong_cvc {
            return wrong("invalid_cvc", "cvc", "security code");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(month: &str, year: &str, cvc: &str) -> bool {
        let values = [("exp_month", month), ("exp_year", year), ("cvc", cvc)];
        let nested = |wanted: &str| values.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        // The middle of January 2027.
        CardData::read(nested).check(Timestamp::from_second(1_800_000_000).unwrap()).is_ok()
    }

    #[test]
    fn a_card_is_valid_until_the_end_of_its_month() {
        for (month, year) in [("1", "2027"), ("01", "27"), ("12", "2077"), ("8", "2030")] {
            assert!(is_right(month, year, "123"), "{month}/{year}");
        }
        for (month, year) in [
            ("12", "2026"),
            ("8", "2020"),
            ("13", "2030"),
            ("0", "2030"),
            ("x", "2030"),
            ("1", "y"),
            ("1", "2078"),
        ] {
            assert!(!is_right(month, year, "123"), "{month}/{year}");
        }
    }

    #[test]
    fn a_security_code_has_three_or_four_digits() {
        assert!(
            is_right("1", "2030", "1234") && !is_right("1", "2030", "99") && !is_right("1", "2030", "abc")
        );
    }

    #[test]
    fn missing_values_are_valid() {
        assert!(CardData::read(|_| None).check(Timestamp::UNIX_EPOCH).is_ok());
    }
}
