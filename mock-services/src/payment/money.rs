//! Currencies, the amounts that Stripe accepts in them, and their format in messages.

use super::errors::{PaymentError, Refused};
use crate::money::decimal_amount;

/// A currency that Stripe supports: its code, its minimum amount and its symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Currency {
    /// The code in lowercase.
    pub(crate) code: &'static str,
    minimum: i64,
    sign: &'static str,
}

const fn currency(code: &'static str, minimum: i64, sign: &'static str) -> Currency {
    Currency { code, minimum, sign }
}

const CURRENCIES: &[Currency] = &[
    currency("usd", 50, "$"),
    currency("eur", 50, "€"),
    currency("gbp", 30, "£"),
    currency("jpy", 50, "¥"),
    currency("aed", 200, ""),
    currency("ars", 50, ""),
    currency("aud", 50, "$"),
    currency("bgn", 100, ""),
    currency("brl", 50, "R$"),
    currency("cad", 50, "$"),
    currency("chf", 50, ""),
    currency("clp", 50, "$"),
    currency("cny", 50, "¥"),
    currency("cop", 50, "$"),
    currency("czk", 1500, ""),
    currency("dkk", 250, ""),
    currency("egp", 50, ""),
    currency("hkd", 400, "$"),
    currency("huf", 17500, ""),
    currency("idr", 50, ""),
    currency("ils", 50, "₪"),
    currency("inr", 50, "₹"),
    currency("krw", 50, "₩"),
    currency("mxn", 1000, "$"),
    currency("myr", 200, ""),
    currency("nok", 300, ""),
    currency("nzd", 50, "$"),
    currency("pen", 50, ""),
    currency("php", 50, "₱"),
    currency("pln", 200, ""),
    currency("ron", 200, ""),
    currency("sar", 50, ""),
    currency("sek", 300, ""),
    currency("sgd", 50, "$"),
    currency("thb", 1000, ""),
    currency("try", 50, ""),
    currency("twd", 50, "$"),
    currency("uah", 50, ""),
    currency("vnd", 50, "₫"),
    currency("xaf", 50, ""),
    currency("xof", 50, ""),
    currency("zar", 50, ""),
];

/// The maximum amount of a charge.
const MAX_AMOUNT: i64 = 99_999_999;

impl Currency {
    /// The currency of a code in any letter case.
    pub(crate) fn read(code: &str) -> Result<Currency, Refused> {
        CURRENCIES.iter().find(|other| other.code.eq_ignore_ascii_case(code)).copied().ok_or_else(|| {
            let known: Vec<_> = CURRENCIES.iter().map(|other| other.code).collect();
            let message = format!(
                "Invalid currency: {}. Stripe currently supports these currencies: {}",
                code.to_lowercase(),
                known.join(", ")
            );
            Box::new(PaymentError::invalid(message).param("currency"))
        })
    }

    /// The currency of a code that was read before.
    pub(crate) fn known(code: &'static str) -> Currency {
        CURRENCIES.iter().find(|other| other.code == code).copied().unwrap_or(currency(code, 50, ""))
    }

    /// An amount as in messages: `$49.99`.
    pub(crate) fn show(self, amount: i64) -> String {
        let (sign, code) = (self.sign, self.code);
        let number = decimal_amount(amount, code);
        if sign.is_empty() { format!("{number} {code}") } else { format!("{sign}{number}") }
    }

    /// Checks that an amount can be charged in this currency.
    pub(crate) fn check(self, amount: i64) -> Result<(), Refused> {
        let (limit, word, code) = match amount {
            amount if amount < 1 => return Err(Box::new(below_one("amount"))),
            amount if amount < self.minimum => (self.minimum, "at least", "amount_too_small"),
            amount if amount > MAX_AMOUNT => (MAX_AMOUNT, "no more than", "amount_too_large"),
            _ => return Ok(()),
        };
        let shown = self.show(limit);
        let unit = if self.sign.is_empty() { String::new() } else { format!(" {}", self.code) };
        Err(Box::new(
            PaymentError::invalid(format!("Amount must be {word} {shown}{unit}")).code(code).param("amount"),
        ))
    }
}

/// The error for a number below 1.
pub(crate) fn below_one(param: &'static str) -> PaymentError {
    PaymentError::invalid("This value must be greater than or equal to 1.")
        .code("parameter_invalid_integer")
        .param(param)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_read_in_any_letter_case_and_an_unknown_one_is_refused() {
        assert_eq!(Currency::read("USD").unwrap().code, "usd");
        assert!(Currency::read("xxx").is_err() && Currency::read("").is_err());
    }

    #[test]
    fn amounts_are_checked_against_the_minimum_of_their_currency() {
        let usd = Currency::known("usd");
        assert!(usd.check(50).is_ok() && usd.check(99_999_999).is_ok());
        for amount in [i64::MIN, -1, 0, 1, 49, 100_000_000, i64::MAX] {
            assert!(usd.check(amount).is_err(), "{amount}");
        }
        assert!(Currency::known("gbp").check(30).is_ok());
    }

    #[test]
    fn amounts_have_the_format_of_stripe() {
        assert_eq!(Currency::known("usd").show(4999), "$49.99");
        assert_eq!(Currency::known("jpy").show(50), "¥50");
        assert_eq!(Currency::known("sek").show(305), "3.05 sek");
        assert_eq!(Currency::known("usd").show(i64::MIN).len(), "$-92233720368547758.08".len());
    }
}
