//! Currencies, the amounts that Stripe accepts in them, and their format in messages.

use super::errors::{PaymentError, Refused};

/// A currency that Stripe supports: its code, its minimum amount and its symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Currency {
    /// The code in lowercase.
    pub(crate) code: &'static str,
    minimum: i64,
    sign: &'static str,
    decimals: bool,
}

const fn with(code: &'static str, minimum: i64, sign: &'static str) -> Currency {
    Currency { code, minimum, sign, decimals: true }
}

const fn whole(code: &'static str, minimum: i64, sign: &'static str) -> Currency {
    Currency { code, minimum, sign, decimals: false }
}

const CURRENCIES: &[Currency] = &[
    with("usd", 50, "$"),
    with("eur", 50, "€"),
    with("gbp", 30, "£"),
    whole("jpy", 50, "¥"),
    with("aed", 200, ""),
    with("ars", 50, ""),
    with("aud", 50, "$"),
    with("bgn", 100, ""),
    with("brl", 50, "R$"),
    with("cad", 50, "$"),
    with("chf", 50, ""),
    whole("clp", 50, "$"),
    with("cny", 50, "¥"),
    with("cop", 50, "$"),
    with("czk", 1500, ""),
    with("dkk", 250, ""),
    with("egp", 50, ""),
    with("hkd", 400, "$"),
    with("huf", 17500, ""),
    with("idr", 50, ""),
    with("ils", 50, "₪"),
    with("inr", 50, "₹"),
    whole("krw", 50, "₩"),
    with("mxn", 1000, "$"),
    with("myr", 200, ""),
    with("nok", 300, ""),
    with("nzd", 50, "$"),
    with("pen", 50, ""),
    with("php", 50, "₱"),
    with("pln", 200, ""),
    with("ron", 200, ""),
    with("sar", 50, ""),
    with("sek", 300, ""),
    with("sgd", 50, "$"),
    with("thb", 1000, ""),
    with("try", 50, ""),
    with("twd", 50, "$"),
    with("uah", 50, ""),
    whole("vnd", 50, "₫"),
    whole("xaf", 50, ""),
    whole("xof", 50, ""),
    with("zar", 50, ""),
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
        CURRENCIES.iter().find(|other| other.code == code).copied().unwrap_or(with(code, 50, ""))
    }

    /// An amount as in messages: `$49.99`.
    pub(crate) fn show(self, amount: i64) -> String {
        let (sign, code) = (self.sign, self.code);
        let number = if self.decimals {
            format!("{}.{:02}", amount / 100, (amount % 100).abs())
        } else {
            amount.to_string()
        };
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
